"""Every property that a Kafka broker has, also those without effect here: for whoever names or describes them.

Read from Kafka 2.8, 3.9, 4.0, 4.3 and 4.4 (DescribeConfigs). A release between two of these is described like the
younger one. One line a property in the modules of this room:

    name  type  default  [dynamic]  [>=least]  [releases]

where `null` is no default, `''` an empty one, `dynamic` a property that may change while the broker runs, `>=1` what
Kafka allows (told of dynamic ones only), and the releases are `3.0-4.0` (from 3.0 on, before 4.0), `4.1+`, or nothing
for all of them. Loaded on first use only: the serve path does not pay for it.
"""

import re
from typing import NamedTuple

from kafkalet.broker.config.broker_config import SETTINGS, SYNONYMS, broker_defaults
from kafkalet.properties import Property, Type, at_least

Version = tuple[int, ...]

# Properties of one listener, and of one authentication mechanism in it.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(?:[a-z0-9-]+\.)??(?=sasl|ssl|max|num|connections|principal)")

# Dynamic ones that may differ from broker to broker only (`DynamicBrokerConfig.PerBrokerConfigs`).
_PER_BROKER = re.compile(
    r"ssl\.|sasl\.|listeners$|advertised\.listeners$|listener\.|principal\.builder\.class$|cordoned\.log\.dirs$"
)


# Accepted by Kafka and never described, beside those that are acted on.
_HIDDEN = ("producer.id.expiration.check.interval.ms",)


class Known(NamedTuple):
    """A property as a release knows it."""

    declared: Property
    is_dynamic: bool

    @property
    def is_per_broker(self) -> bool:
        """May not be set for all brokers at once."""
        return self.is_dynamic and _PER_BROKER.match(self.declared.name) is not None

    @property
    def is_sensitive(self) -> bool:
        """Its value is never shown."""
        return self.declared.type is Type.PASSWORD


_CATALOGS: dict[Version, dict[str, Known]] = {}


def catalog(version: Version) -> dict[str, Known]:
    """All properties that a broker of that release describes, by name and in the order of their names."""
    if version not in _CATALOGS:
        known = {known.declared.name: known for known in _others(version)}
        for setting in SETTINGS.values():
            if not setting.is_internal and setting.since <= version:
                known[setting.property.name] = Known(setting.property, setting.is_dynamic)
        synonyms = {synonym.name: synonym for group in SYNONYMS.values() for synonym in group}
        for name, property_ in broker_defaults(version).items():
            known[name] = Known(property_, synonyms[name].is_dynamic)
        _CATALOGS[version] = dict(sorted(known.items()))
    return _CATALOGS[version]


def known_property(name: str, version: Version) -> Known | None:
    """The property of that name, also where it is one listener's own (`listener.name.external.ssl.keystore.type`)."""
    if name in _HIDDEN:
        return Known(Property(name, Type.INT, None), is_dynamic=False)
    return catalog(version).get(_OF_LISTENER.sub("", name))


def _others(version: Version) -> list[Known]:
    from . import controllers, coordinators, logs, network, security

    known = []
    for module in (controllers, coordinators, logs, network, security):
        for line in module.PROPERTIES.split("\n")[1:-1]:
            name, type_, default, *rest = line.split()
            dynamic = rest[:1] == ["dynamic"]
            least = [at_least(int(word[2:])) for word in rest if word.startswith(">=")]
            if _covers([word for word in rest[dynamic:] if not word.startswith(">=")], version):
                text = None if default == "null" else default.strip("'")
                known.append(Known(Property(name, Type[type_], text, *least), dynamic))
    return known


def _covers(releases: list[str], version: Version) -> bool:
    if not releases:
        return True
    since, _, until = releases[0].rstrip("+").partition("-")
    return _version(since) <= version and (not until or version < _version(until))


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))
