"""Every property that a Kafka broker of a release has, with and without effect here.

Loaded when a caller names or describes properties without effect, and not before: a broker starts without it.
"""

import re

from kafkalet.properties import Declaration, Version

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, topic_defaults_of
from .without_effect import declarations

# Properties of one listener, and of one authentication mechanism in it.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[a-z0-9-]+\.)??(?=sasl|ssl|max|num|connections|principal)")

_WITHOUT_EFFECT = declarations()
_CATALOGS: dict[Version, dict[str, Declaration]] = {}


def catalog(version: Version) -> dict[str, Declaration]:
    """All properties that a broker of that release describes, by name and in the order of their names."""
    if version not in _CATALOGS:
        known = {}
        for row in (*_WITHOUT_EFFECT, *READ_AS_GIVEN.values(), *BROKER_PROPERTIES.values()):
            if not row.is_hidden and (declared := row.in_release(version)) is not None:
                known[row.name] = row._replace(declared=declared)
        known.update(topic_defaults_of(version))
        _CATALOGS[version] = dict(sorted(known.items()))
    return _CATALOGS[version]


def known_property(name: str, version: Version) -> Declaration | None:
    """The property of that name, also where it is one listener's own (`listener.name.external.ssl.keystore.type`)."""
    for row in _WITHOUT_EFFECT:
        if row.is_hidden and row.name == name:
            return row
    return catalog(version).get(_OF_LISTENER.sub("", name))
