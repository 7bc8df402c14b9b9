"""Every property that a Kafka broker of a release has, with and without effect here.

Loaded when a caller names or describes properties without effect, and not before: a broker starts without it.
"""

import re
from collections.abc import Mapping
from functools import cache

from kafkalet.properties import Declaration, Version

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, topic_defaults_of
from .without_effect import declarations

# Properties of one listener, and of one authentication mechanism in it.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[a-z0-9-]+\.)??(?=sasl|ssl|max|num|connections|principal)")

_WITHOUT_EFFECT = declarations()


@cache
def catalog(version: Version) -> Mapping[str, Declaration]:
    """All properties that a broker of that release describes, by name and in the order of their names."""
    known = {}
    for row in (*_WITHOUT_EFFECT, *READ_AS_GIVEN.values(), *BROKER_PROPERTIES.values()):
        if not row.is_hidden and (declared := row.in_release(version)) is not None:
            known[row.name] = row._replace(declared=declared)
    known.update(topic_defaults_of(version))
    return dict(sorted(known.items()))


def known_property(name: str, version: Version) -> Declaration | None:
    """The property of that name, also where it is one listener's own (`listener.name.external.ssl.keystore.type`)."""
    for row in _WITHOUT_EFFECT:
        if row.is_hidden and row.name == name:
            return row
    return catalog(version).get(_OF_LISTENER.sub("", name))
