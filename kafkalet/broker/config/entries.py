"""The entries of DescribeConfigs and CreateTopics: the value of a property, its source and its synonyms.

Synonyms are the values of a property at all levels, in the order of precedence. As in Kafka, the list starts at the
first entry that has the name of the property itself. If only `log.retention.hours` is set, for example,
`log.retention.ms` has no synonyms, and its source is DEFAULT (ConfigHelper.configSynonyms).
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkalet.broker.java_order import order_of_scala_map
from kafkalet.properties import Declaration, InvalidProperty, Property, as_text
from kafkalet.storage.topic_properties import topic_properties

from .broker_config import BrokerConfig
from .broker_properties import SYNONYMS, TOPIC_DEFAULTS
from .catalog import catalog, hidden_property, known_property
from .dynamic import REPLICATION_RATES

UNKNOWN_TYPE = 0


class Source(IntEnum):
    """The source of a value, as numbered in DescribeConfigs."""

    TOPIC = 1
    PER_BROKER = 2
    CLUSTER_WIDE = 3
    STATIC = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


class SynonymEntry(NamedTuple):
    name: str
    value: str | None
    source: Source


class Entry(NamedTuple):
    """A property of a topic, a broker, a group or a client metrics subscription."""

    name: str
    value: str | None
    source: Source
    config_type: int  # the number of a Type, or UNKNOWN_TYPE
    read_only: bool
    is_sensitive: bool
    synonyms: list[SynonymEntry]
    documentation: str | None = None  # if not None, it is returned even if the request does not ask for documentation


def topic_entries(topic: Mapping[str, str], config: BrokerConfig) -> Iterator[Entry]:
    """Yield the entries of a topic that has these properties, on a broker with this configuration."""
    defaults = config.topic_defaults()
    for property_ in topic_properties(config.release.version):
        name = property_.name
        if (property_.is_internal or property_.default is None) and name not in topic:
            continue
        text = topic.get(name, defaults.get(name, property_.default))
        value = None if text is None else normal(property_, text)
        names = [] if property_.is_internal else [synonym.name for synonym in SYNONYMS.get(name, ())]
        synonyms = _synonyms(names[0], names, config) if names else []
        if name in topic:
            synonyms.insert(0, SynonymEntry(name, value, Source.TOPIC))
        yield Entry(name, value, _source(synonyms), property_.type.value, False, False, synonyms)


_ORDER_WITH_ZOOKEEPER = """
compression.type leader.replication.throttled.replicas min.insync.replicas message.downconversion.enable
segment.jitter.ms cleanup.policy flush.ms follower.replication.throttled.replicas segment.bytes retention.ms
flush.messages message.format.version max.compaction.lag.ms file.delete.delay.ms max.message.bytes
min.compaction.lag.ms message.timestamp.type preallocate index.interval.bytes min.cleanable.dirty.ratio
unclean.leader.election.enable retention.bytes delete.retention.ms segment.ms message.timestamp.difference.max.ms
segment.index.bytes
"""
"""The order of topic properties in the results of CreateTopics, as recorded from Kafka 2.8."""


def new_topic_entries(topic: Mapping[str, str], config: BrokerConfig) -> Iterator[Entry]:
    """Yield the entries of a new topic for CreateTopics, sorted by name. The values are as written in the request.

    In releases with ZooKeeper, they are in the order of a hash map.
    """
    defaults = config.topic_defaults()
    known = sorted(topic_properties(config.release.version), key=lambda property_: property_.name)
    if not config.release.runs_without_zookeeper:
        is_scala = config.release.orders_new_properties_like_scala
        names = order_of_scala_map([each.name for each in known]) if is_scala else _ORDER_WITH_ZOOKEEPER.split()
        known.sort(key=lambda property_: names.index(property_.name))
    for property_ in known:
        name = property_.name
        if property_.default is None and name not in topic:
            continue
        value = topic.get(name, defaults.get(name, property_.default))
        source = Source.TOPIC if name in topic else _broker_source(name, config)
        yield Entry(name, value, source, property_.type.value, False, False, [])


def _broker_source(topic_property: str, config: BrokerConfig) -> Source:
    names = [synonym.name for synonym in SYNONYMS.get(topic_property, ())]
    for source, given in _levels(config):
        if any(name in given for name in names):
            return source
    return Source.DEFAULT


def broker_entries(config: BrokerConfig, facts: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the entries of a broker. `facts` contains values, such as the id, that the user did not set."""
    version = config.release.version
    given = {**facts, **config.given()}
    known = catalog(version)
    for name, entry in known.items():
        yield _broker_entry(name, entry, given.get(name, entry.declared.default), config, facts)
    for name in (name for name in given if name not in known):
        yield _broker_entry(name, known_property(name, version), given[name], config, facts)


def _broker_entry(
    name: str, known: Declaration | None, text: str | None, config: BrokerConfig, facts: Mapping[str, str]
) -> Entry:
    rate = REPLICATION_RATES.get(name)
    is_sensitive = rate is None and (known is None or known.is_sensitive)
    value = text if known is None or text is None else normal(known.declared, text)
    synonyms = _synonyms(name, _with_synonyms(name), config, facts)
    if is_sensitive:
        value, synonyms = None, [synonym._replace(value=None) for synonym in synonyms]
    declared = rate if known is None else known.declared
    config_type = UNKNOWN_TYPE if declared is None else declared.type.value
    read_only = not config.release.lists_replication_rates if rate else known is None or not known.is_dynamic
    return Entry(name, value, _source(synonyms), config_type, read_only, is_sensitive, synonyms)


def cluster_entries(config: BrokerConfig) -> Iterator[Entry]:
    """Yield the entries of the properties that are set cluster-wide at runtime."""
    version = config.release.version
    for name, text in config.cluster_wide.items():
        entry = _broker_entry(name, known_property(name, version), text, config, {})
        synonyms = [synonym for synonym in entry.synonyms if synonym.source is Source.CLUSTER_WIDE]
        value = None if entry.is_sensitive else text
        yield entry._replace(value=value, source=_source(synonyms), synonyms=synonyms)


def normal(property_: Property, text: str) -> str:
    """Return a value in Kafka's notation: without surrounding spaces, and with `true` for `TRUE`."""
    try:
        return as_text(property_.type.parse(property_.name, text))
    except InvalidProperty:  # return an invalid value unchanged
        return text


def _with_synonyms(name: str) -> list[str]:
    """Return the synonyms of a broker property, including its own name, in the order of precedence."""
    default = TOPIC_DEFAULTS.get(name)
    return [name] if default is None else [synonym.name for synonym in SYNONYMS[default.topic]]


def _levels(config: BrokerConfig, facts: Mapping[str, str] | None = None) -> list[tuple[Source, Mapping[str, str]]]:
    return [
        (Source.PER_BROKER, config.per_broker),
        (Source.CLUSTER_WIDE, config.cluster_wide),
        (Source.STATIC, {**(facts or {}), **config.static}),
    ]


def _synonyms(
    name: str, names: list[str], config: BrokerConfig, facts: Mapping[str, str] | None = None
) -> list[SynonymEntry]:
    found = [
        SynonymEntry(other, given[other], source)
        for source, given in _levels(config, facts)
        for other in names
        if other in given
    ]
    known = catalog(config.release.version)
    for other in names:
        entry = known.get(other) or hidden_property(other)
        if entry is not None and entry.declared.default is not None:
            found.append(SynonymEntry(other, entry.declared.default, Source.DEFAULT))
    first = next((place for place, synonym in enumerate(found) if synonym.name == name), len(found))
    return found[first:]


def _source(synonyms: list[SynonymEntry]) -> Source:
    return synonyms[0].source if synonyms else Source.DEFAULT
