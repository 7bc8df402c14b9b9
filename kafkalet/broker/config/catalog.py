"""The catalog of all broker properties of a Kafka release, whether or not they have an effect in kafkalet.

To keep startup fast, this module is imported only when a property that has no effect is set or described.
"""

import re
from collections.abc import Mapping
from functools import cache

from kafkalet.properties import Declaration, Version

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, topic_defaults_of
from .without_effect import declarations

# The prefix of a property for a single listener, or for one SASL mechanism of a listener.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[a-z0-9-]+\.)??(?=sasl|ssl|max|num|connections|principal)")

_WITHOUT_EFFECT = declarations()


@cache
def catalog(version: Version) -> Mapping[str, Declaration]:
    """Return all properties that DescribeConfigs returns for a broker of this release, sorted by name."""
    known = {}
    for row in (*_WITHOUT_EFFECT, *READ_AS_GIVEN.values(), *BROKER_PROPERTIES.values()):
        if not row.is_hidden and (declared := row.in_release(version)) is not None:
            known[row.name] = row._replace(declared=declared)
    known.update(topic_defaults_of(version))
    return dict(sorted(known.items()))


def known_property(name: str, version: Version) -> Declaration | None:
    """Return the property with this name, which may have a listener prefix, or None if it is unknown.

    Example: `listener.name.external.ssl.keystore.type`.
    """
    for row in _WITHOUT_EFFECT:
        if row.is_hidden and row.name == name:
            return row
    return catalog(version).get(_OF_LISTENER.sub("", name))
