"""The configuration of a broker: the properties it acts on, by Kafka's names, and the defaults they give to topics.

A property has up to four values; the first of these counts, and DescribeConfigs shows them all:

    per broker      set for this broker while it runs        (AlterConfigs, IncrementalAlterConfigs)
    cluster-wide    set for all brokers while they run       (the same, for the broker named "")
    static          given at start: --set, --config, Python
    default         Kafka's own

Two kinds of properties are acted on. Those of the broker itself are the attributes of `BrokerConfig`, one line each.
Those that give topics their defaults (`log.segment.bytes` for `segment.bytes`) are in `SYNONYMS`, and reach a log in
the `LogConfig` that `log_config` makes. What else Kafka has is in `kafkalet.broker.config.catalog`, which is loaded
when a caller names such a property, and not before: it is accepted and described, and has no effect.
"""

import logging
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast, overload

from kafkalet.broker.quoting import quoted
from kafkalet.properties import Check, InvalidProperty, Property, Type, Value, as_text, at_least, whole_number
from kafkalet.storage.config import LogConfig
from kafkalet.storage.topic_properties import DAY_MS, HOUR_MS, topic_properties

from .connection_overrides import check_overrides, check_together
from .release import Release

_LOG = logging.getLogger(__name__)

T = TypeVar("T", bound=Value)

MAX_INT = (1 << 31) - 1
MINUTE_MS = 60_000

Version = tuple[int, ...]


class Setting(Generic[T]):
    """An attribute of BrokerConfig that holds the value of a property: its default until the property is given."""

    __slots__ = ("attribute", "default", "is_dynamic", "is_internal", "property", "since")

    def __init__(
        self, property_: Property, default: T, *, dynamic: bool = False, internal: bool = False, since: Version = (0,)
    ) -> None:
        self.property = property_
        self.default = default
        self.is_dynamic = dynamic  # may be changed while the broker runs
        self.is_internal = internal  # accepted, never described
        self.since = since  # the release that brought it; accepted before, too
        self.attribute = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        # A given value lies in the instance's own dict, which Python looks at first.
        return self if instance is None else self.default


def boolean(name: str, default: bool, **options: Any) -> Setting[bool]:
    return Setting(Property(name, Type.BOOLEAN, str(default).lower()), default, **options)


def integer(name: str, default: int, least: int | None = None, **options: Any) -> Setting[int]:
    return Setting(
        Property(name, Type.INT, str(default), None if least is None else at_least(least)), default, **options
    )


def short(name: str, default: int, least: int | None = None, **options: Any) -> Setting[int]:
    return Setting(
        Property(name, Type.SHORT, str(default), None if least is None else at_least(least)), default, **options
    )


def long(name: str, default: int, least: int | None = None, **options: Any) -> Setting[int]:
    return Setting(
        Property(name, Type.LONG, str(default), None if least is None else at_least(least)), default, **options
    )


def text(name: str, default: str | None = None, check: Check | None = None, **options: Any) -> Setting[str | None]:
    return Setting(Property(name, Type.STRING, default, check), default, **options)


class Synonym(NamedTuple):
    """A property of brokers that gives topics a default; `factor` turns its unit into the topic's."""

    name: str
    factor: int = 1
    type: Type | None = None  # the topic property's own where None
    default: str | None = ""  # likewise where ""
    is_dynamic: bool = True


def _log(*names: str) -> dict[str, tuple[Synonym, ...]]:
    return {name: (Synonym(f"log.{name}"),) for name in names}


def _same(*names: str) -> dict[str, tuple[Synonym, ...]]:
    return {name: (Synonym(name),) for name in names}


# By the topic's property; the first of a tuple that is given wins (`ServerTopicConfigSynonyms`).
SYNONYMS: Mapping[str, tuple[Synonym, ...]] = {
    **_same("compression.type", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
    **_same("min.insync.replicas", "unclean.leader.election.enable", "max.decompressed.message.bytes"),
    **_log("cleanup.policy", "index.interval.bytes", "local.retention.bytes", "local.retention.ms", "preallocate"),
    **_log("message.downconversion.enable", "message.timestamp.type", "message.timestamp.difference.max.ms"),
    **_log("message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "retention.bytes", "segment.bytes"),
    **_log("remote.copy.lag.bytes", "remote.copy.lag.ms"),
    "delete.retention.ms": (Synonym("log.cleaner.delete.retention.ms"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (
        Synonym("log.flush.interval.ms", default=None),
        Synonym("log.flush.scheduler.interval.ms", is_dynamic=False),
    ),
    "max.compaction.lag.ms": (Synonym("log.cleaner.max.compaction.lag.ms"),),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "message.format.version": (Synonym("log.message.format.version", is_dynamic=False),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (Synonym("log.cleaner.min.compaction.lag.ms"),),
    "retention.ms": (
        Synonym("log.retention.ms", default=None),
        Synonym("log.retention.minutes", MINUTE_MS, Type.INT, None, False),
        Synonym("log.retention.hours", HOUR_MS, Type.INT, "168", False),
    ),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (
        Synonym("log.roll.jitter.ms", default=None),
        Synonym("log.roll.jitter.hours", HOUR_MS, Type.INT, "0", False),
    ),
    "segment.ms": (
        Synonym("log.roll.ms", default=None),
        Synonym("log.roll.hours", HOUR_MS, Type.INT, "168", False),
    ),
}


NODE_IDS = ("node.id", "broker.id")
"""The names of a broker's id: Kafka's KRaft and ZooKeeper releases have one each, and either stands for both."""
DEFAULT_NODE_ID = 1

# Properties of brokers that may have other values than the topic's.
_BROKER_CHECKS: Mapping[str, Check | None] = {
    "log.flush.interval.messages": at_least(1),
    "log.flush.interval.ms": None,
    "log.index.size.max.bytes": at_least(4),
    "log.retention.ms": None,
    "log.roll.jitter.ms": None,
    "log.roll.ms": None,
}

READ_AS_GIVEN = frozenset({"broker.id", "group.consumer.assignors", "group.coordinator.rebalance.protocols", "node.id"})
"""Properties that are acted on although they are in the catalog: their defaults differ from release to release."""


class BrokerConfig:
    """What one broker is configured to do. Raises InvalidProperty for a value that is not allowed.

    The attributes follow a change at once: whoever asks later sees the new value.
    """

    # topics
    auto_create_topics_enable = boolean("auto.create.topics.enable", True)
    delete_topic_enable = boolean("delete.topic.enable", True)
    num_partitions = integer("num.partitions", 1, least=1)
    default_replication_factor = integer("default.replication.factor", 1)

    # connections
    socket_request_max_bytes = integer("socket.request.max.bytes", 100 << 20, least=1)
    socket_send_buffer_bytes = integer("socket.send.buffer.bytes", 100 << 10)
    socket_receive_buffer_bytes = integer("socket.receive.buffer.bytes", 100 << 10)
    connections_max_idle_ms = long("connections.max.idle.ms", 600_000)
    max_connections = integer("max.connections", MAX_INT, least=0, dynamic=True)
    max_connections_per_ip = integer("max.connections.per.ip", MAX_INT, least=0, dynamic=True)
    # as in "10.0.0.1:100,other.host:3"
    max_connections_per_ip_overrides = text("max.connections.per.ip.overrides", "", check_overrides, dynamic=True)

    # fetching
    fetch_max_bytes = integer("fetch.max.bytes", 55 << 20, least=1024)
    max_incremental_fetch_session_cache_slots = integer("max.incremental.fetch.session.cache.slots", 1000, least=0)
    max_request_partition_size_limit = integer("max.request.partition.size.limit", 2000, least=1, since=(3, 0))
    replica_selector_class = text("replica.selector.class")
    broker_rack = text("broker.rack")

    # replication
    replica_lag_time_max_ms = long("replica.lag.time.max.ms", 30_000)
    replica_high_watermark_checkpoint_interval_ms = long("replica.high.watermark.checkpoint.interval.ms", 5000)

    # care of the logs
    log_retention_check_interval_ms = long("log.retention.check.interval.ms", 300_000, least=1)
    log_initial_task_delay_ms = long("log.initial.task.delay.ms", 30_000, least=0, internal=True)

    # the internal topics of coordinators
    offsets_topic_num_partitions = integer("offsets.topic.num.partitions", 50, least=1)
    offsets_topic_replication_factor = short("offsets.topic.replication.factor", 3, least=1)
    offsets_topic_segment_bytes = integer("offsets.topic.segment.bytes", 100 << 20, least=1)
    transaction_state_log_num_partitions = integer("transaction.state.log.num.partitions", 50, least=1)
    transaction_state_log_replication_factor = short("transaction.state.log.replication.factor", 3, least=1)
    transaction_state_log_segment_bytes = integer("transaction.state.log.segment.bytes", 100 << 20, least=1)
    transaction_state_log_min_isr = integer("transaction.state.log.min.isr", 2, least=1)

    # groups; Kafka waits 3 s for more members before the first rebalance, tests would rather not
    group_initial_rebalance_delay_ms = integer("group.initial.rebalance.delay.ms", 0)
    group_min_session_timeout_ms = integer("group.min.session.timeout.ms", 6000)
    group_max_session_timeout_ms = integer("group.max.session.timeout.ms", 1_800_000)
    group_max_size = integer("group.max.size", MAX_INT, least=1)
    offsets_commit_timeout_ms = integer("offsets.commit.timeout.ms", 5000, least=1)
    offset_metadata_max_bytes = integer("offset.metadata.max.bytes", 4096)
    offsets_retention_minutes = integer("offsets.retention.minutes", 10_080, least=1)
    offsets_retention_check_interval_ms = long("offsets.retention.check.interval.ms", 600_000, least=1)

    # transactions
    transaction_max_timeout_ms = integer("transaction.max.timeout.ms", 900_000, least=1)
    transaction_partition_verification_enable = boolean(
        "transaction.partition.verification.enable", True, dynamic=True, since=(3, 0)
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, least=1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, least=1
    )
    transactional_id_expiration_ms = integer("transactional.id.expiration.ms", 7 * DAY_MS, least=1)
    request_timeout_ms = integer("request.timeout.ms", 30_000)

    # groups of the consumer protocol
    group_consumer_session_timeout_ms = integer("group.consumer.session.timeout.ms", 45_000, least=1, since=(3, 0))
    group_consumer_heartbeat_interval_ms = integer("group.consumer.heartbeat.interval.ms", 5000, least=1, since=(3, 0))
    group_consumer_max_size = integer("group.consumer.max.size", MAX_INT, least=1, since=(3, 0))
    group_consumer_assignment_interval_ms = integer(
        "group.consumer.assignment.interval.ms", 1000, least=0, dynamic=True, since=(4, 1)
    )
    group_consumer_migration_policy = text("group.consumer.migration.policy", "bidirectional", since=(4, 0))
    group_consumer_regex_refresh_interval_ms = integer(
        "group.consumer.regex.refresh.interval.ms", 600_000, least=10_000, internal=True
    )

    # quotas
    quota_window_num = integer("quota.window.num", 11, least=1)
    quota_window_size_seconds = integer("quota.window.size.seconds", 1, least=1)
    controller_quota_window_num = integer("controller.quota.window.num", 11, least=1)
    controller_quota_window_size_seconds = integer("controller.quota.window.size.seconds", 1, least=1)

    # producers
    producer_id_expiration_ms = integer("producer.id.expiration.ms", DAY_MS, least=1, dynamic=True, since=(3, 0))

    def __init__(self, static: Mapping[str, str] | None = None, release: Release | None = None) -> None:
        self.release = release or Release.of()
        self.static = dict(static or {})
        self.cluster_wide: Mapping[str, str] = {}
        self.per_broker: Mapping[str, str] = {}
        # Given names that Kafka has and that have no effect here, and names that Kafka does not have.
        self.without_effect: list[str] = []
        self.unknown: list[str] = []
        for name in self.static:
            if self.property(name) is None:
                self._note(name)
        self._apply()

    def for_broker(self, own: Mapping[str, str] | None = None) -> "BrokerConfig":
        """Another configuration with the same static properties, and `own` ones, for a broker that may be changed."""
        other = BrokerConfig.__new__(BrokerConfig)
        other.__dict__.update(self.__dict__)
        if own:
            other.static = {**self.static, **own}
            other._apply()
        return other

    def _note(self, name: str) -> None:
        from .catalog import known_property

        known = known_property(name, self.release.version)
        if known is not None:
            known.declared.parse(self.static[name])
        if name in READ_AS_GIVEN:
            return
        if known is None:
            self.unknown.append(name)
            _LOG.warning("property %s is not one of Kafka %s; it is ignored", quoted(name), self.release.name)
        else:
            self.without_effect.append(name)
            _LOG.info("property %s is known and has no effect here", quoted(name))

    def reconfigure(self, cluster_wide: Mapping[str, str], per_broker: Mapping[str, str]) -> None:
        """Take over what was set while running; raises InvalidProperty and changes nothing for a value not allowed."""
        before = self.cluster_wide, self.per_broker
        self.cluster_wide, self.per_broker = cluster_wide, per_broker
        try:
            self._apply()
        except InvalidProperty:
            self.cluster_wide, self.per_broker = before
            raise

    def cluster_wide_at_first(self) -> dict[str, str]:
        """The cluster-wide properties of a new cluster."""
        if not self.release.keeps_min_isr_in_cluster:
            return {}
        return {"min.insync.replicas": self.static.get("min.insync.replicas", "1")}

    def first_node_id(self, brokers: int = 1) -> int:
        """The id of the first of so many brokers: node.id or broker.id, 1 by default. Raises InvalidProperty."""
        ids = set()
        for name in NODE_IDS:
            if (text := self.static.get(name)) is not None:
                node_id = whole_number(text.strip())
                if node_id is None or not 0 <= node_id <= MAX_INT - brokers + 1:
                    reason = f"the ids of {brokers} brokers from there on have to lie between 0 and {MAX_INT}"
                    raise InvalidProperty(name, text, reason)
                ids.add(node_id)
        if len(ids) > 1:
            text = "You must set `node.id` to the same value as `broker.id`."
            raise InvalidProperty("node.id", self.static["node.id"], text, text)
        return ids.pop() if ids else DEFAULT_NODE_ID

    def given(self) -> dict[str, str]:
        """Every property that was given, with the value that counts."""
        return {**self.static, **self.cluster_wide, **self.per_broker}

    def property(self, name: str) -> Property | None:
        """The property of that name if this broker acts on it."""
        setting = SETTINGS.get(name)
        return setting.property if setting is not None else broker_defaults(self.release.version).get(name)

    def _apply(self) -> None:
        given = self.given()
        values: dict[str, Value] = {}
        for name, value in given.items():
            property_ = self.property(name)
            if property_ is not None:
                values[name] = property_.parse(value)
        check_together(values)
        self._topic_defaults = _topic_defaults(values, self.release.version)
        for name, setting in SETTINGS.items():
            self.__dict__.pop(setting.attribute, None)
            if name in values:
                self.__dict__[setting.attribute] = values[name]

    def topic_defaults(self) -> Mapping[str, str]:
        """Properties of topics that are by default other than Kafka's, because this broker's properties say so."""
        return self._topic_defaults

    def log_config(self, topic: Mapping[str, str]) -> LogConfig:
        """What the logs of a topic with these properties obey. Raises InvalidProperty."""
        return LogConfig.of({**self._topic_defaults, **topic}, self.release.log_rules)


SETTINGS: Mapping[str, Setting[Any]] = {
    setting.property.name: setting for setting in vars(BrokerConfig).values() if isinstance(setting, Setting)
}

_BROKER_DEFAULTS: dict[Version, dict[str, Property]] = {}


def broker_defaults(version: Version) -> dict[str, Property]:
    """The properties of brokers in SYNONYMS that a release has, by their names."""
    if version not in _BROKER_DEFAULTS:
        topic = topic_properties(version)
        _BROKER_DEFAULTS[version] = {
            synonym.name: _as_broker_property(topic[name], synonym)
            for name, synonyms in SYNONYMS.items()
            if name in topic
            for synonym in synonyms
        }
    return _BROKER_DEFAULTS[version]


def _as_broker_property(topic: Property, synonym: Synonym) -> Property:
    default = topic.default if synonym.default == "" else synonym.default
    if synonym.type is not None:
        return Property(synonym.name, synonym.type, default)
    return Property(synonym.name, topic.type, default, _BROKER_CHECKS.get(synonym.name, topic.check))


def _topic_defaults(values: Mapping[str, Value], version: Version) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for name, synonyms in SYNONYMS.items() if values else ():
        given = next((synonym for synonym in synonyms if synonym.name in values), None)
        if given is not None and name in topic_properties(version):
            value = values[given.name]
            if name in _LEAST:
                value = max(cast(int, value) * given.factor, _LEAST[name])
            defaults[name] = as_text(value)
    _refuse(("0",), "retention.ms", "must be unlimited (-1) or, greater than or equal to 1", values, defaults)
    _refuse(("-1", "0"), "segment.ms", "must be greater than or equal to 1", values, defaults)
    _refuse(("-1",), "segment.jitter.ms", "must be greater than or equal to 0", values, defaults)
    return defaults


# Of a negative retention Kafka makes "no limit", and a log that is to be flushed after less than no time is at once.
_LEAST = {"flush.ms": 0, "retention.ms": -1, "segment.jitter.ms": -1, "segment.ms": -1}


def _refuse(
    refused: tuple[str, ...],
    topic_property: str,
    rule: str,
    values: Mapping[str, Value],
    defaults: Mapping[str, str],
) -> None:
    """Raise InvalidProperty for what KafkaConfig requires of the broker's property, whichever of them was given."""
    if defaults.get(topic_property) in refused:
        name = next(synonym.name for synonym in SYNONYMS[topic_property] if synonym.name in values)
        raise InvalidProperty(name, as_text(values[name]), rule, f"requirement failed: {name} {rule}")
