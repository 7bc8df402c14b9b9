"""One sentence on each property that is acted on, for DescribeConfigs (KIP-569) and for whoever reads on.

Loaded when somebody asks for documentation, and not before.
"""

from kafkalet.properties import NO_EFFECT
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS
from .group_properties import properties_of_groups

NEWEST = (4, 4)

GROUPS = {
    "consumer.assignment.interval.ms": "How long the group keeps an assignment before it computes another.",
    "consumer.heartbeat.interval.ms": "How often members of the group are told to send heartbeats.",
    "consumer.session.timeout.ms": "How long a member of the group may be silent.",
    "interval.ms": "How often clients push their metrics.",
    "match": "Which clients are meant, by regular expressions; all of them without any.",
    "metrics": "The metrics that are wanted, by the beginnings of their names; * for all.",
}
"""Properties of groups, and of subscriptions to metrics of clients."""


def documentation_of(name: str) -> str:
    """What a property of a topic, a broker, a group or a subscription is for."""
    if (known := GROUPS.get(name)) is not None:
        return known
    for table in (TOPIC_PROPERTIES, BROKER_PROPERTIES, READ_AS_GIVEN):
        if (row := table.get(name)) is not None:
            return row.sentence
    for default in TOPIC_DEFAULTS:
        if default.name == name:
            if default.documentation:
                return default.documentation
            sentence = f"What {default.topic} is for a topic that does not say otherwise."
            return TOPIC_PROPERTIES[default.topic]._replace(documentation=sentence).sentence
    for property_ in properties_of_groups(NEWEST).values():
        if name in (property_.least, property_.most):
            bound = "The least" if name == property_.least else "The most"
            return f"{bound} that {property_.declared.name} of a group may be."
    return NO_EFFECT
