"""The documentation of properties, for DescribeConfigs (KIP-569) and for docs/configuration.md.

Most properties are documented in their tables. The documentation of a property that sets a topic default or a bound of
a group property is derived from the topic or group property. The module is imported only on demand.
"""

from collections.abc import Mapping
from functools import cache

from kafkalet.properties import NO_EFFECT, Declaration
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS
from .client_metrics import PROPERTIES
from .group_properties import GROUP_PROPERTIES
from .security_properties import authorizer_properties, declarations


def documentation_of(name: str) -> str:
    """Return the documentation of a property of a topic, a broker, a group or a client metrics subscription."""
    for table in (TOPIC_PROPERTIES, BROKER_PROPERTIES, READ_AS_GIVEN, PROPERTIES):
        if (row := table.get(name)) is not None:
            return row.sentence
    if (default := TOPIC_DEFAULTS.get(name)) is not None:
        if default.documentation:
            return default.documentation
        sentence = f"Default of the topic property {default.topic}."
        return TOPIC_PROPERTIES[default.topic]._replace(documentation=sentence).sentence
    for known in GROUP_PROPERTIES:
        if name == known.row.name:
            return known.row.sentence
        if name in (known.least, known.most):
            bound = "Minimum" if name == known.least else "Maximum"
            return f"{bound} of the group property {known.row.name}."
    security = _security_properties().get(name)
    return NO_EFFECT if security is None else security.sentence


@cache
def _security_properties() -> Mapping[str, Declaration]:
    """Return the first declaration of each property."""
    return {**authorizer_properties(), **{row.name: row for row in reversed(declarations())}}
