"""The documentation of a property, for DescribeConfigs (KIP-569) and for docs/configuration.md.

Most properties have a sentence in their table. Those that only stand for others get it from there: defaults of topics,
and bounds of the properties of groups. Loaded when a client asks for documentation, and not before.
"""

from kafkalet.properties import NO_EFFECT
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS
from .client_metrics import PROPERTIES
from .group_properties import GROUP_PROPERTIES


def documentation_of(name: str) -> str:
    """What a property of a topic, a broker, a group or a subscription is for."""
    for table in (TOPIC_PROPERTIES, BROKER_PROPERTIES, READ_AS_GIVEN, PROPERTIES):
        if (row := table.get(name)) is not None:
            return row.sentence
    if (default := TOPIC_DEFAULTS.get(name)) is not None:
        if default.documentation:
            return default.documentation
        sentence = f"What {default.topic} is for a topic that does not say otherwise."
        return TOPIC_PROPERTIES[default.topic]._replace(documentation=sentence).sentence
    for known in GROUP_PROPERTIES:
        if name == known.row.name:
            return known.row.sentence
        if name in (known.least, known.most):
            bound = "The least" if name == known.least else "The most"
            return f"{bound} that {known.row.name} of a group may be."
    return NO_EFFECT
