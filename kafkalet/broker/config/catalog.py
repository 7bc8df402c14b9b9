"""The catalog of all broker properties of a Kafka release, whether or not they have an effect in kafkalet.

To keep startup fast, this module is imported only when a property is set or described that is not in
`broker_properties.py`.
"""

import re
from collections.abc import Mapping
from functools import cache

from kafkalet.properties import Declaration, Version

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, topic_defaults_of
from .security_properties import authorizer_properties
from .security_properties import declarations as security_declarations
from .without_effect import declarations

# The prefix of a property for a single listener, or for one SASL mechanism of a listener.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[a-z0-9-]+\.)??(?=sasl|ssl|max|num|connections|principal)")

_ROWS = (*declarations(), *security_declarations(), *READ_AS_GIVEN.values(), *BROKER_PROPERTIES.values())


@cache
def catalog(version: Version) -> Mapping[str, Declaration]:
    """Return all properties that DescribeConfigs returns for a broker of this release, sorted by name."""
    known = {}
    for row in _ROWS:
        if not row.is_hidden and (declared := row.in_release(version)) is not None:
            known[row.name] = row._replace(declared=declared)
    known.update(topic_defaults_of(version))
    return dict(sorted(known.items()))


def known_property(name: str, version: Version) -> Declaration | None:
    """Return the property with this name, which may have a listener prefix, or None if it is unknown.

    Example: `listener.name.external.ssl.keystore.type`.
    """
    return hidden_property(name) or catalog(version).get(_OF_LISTENER.sub("", name))


def hidden_property(name: str) -> Declaration | None:
    """Return the property with this name that DescribeConfigs returns only if it is set."""
    return next((row for row in _ROWS if row.is_hidden and row.name == name), None)


def has_effect(name: str, version: Version) -> bool:
    """Return whether a property, which may have a listener prefix, takes effect in kafkalet."""
    known = known_property(name, version) or authorizer_properties().get(name)
    return known is not None and bool(known.affects)
