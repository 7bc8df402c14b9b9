"""The table of the properties that a broker acts on, by Kafka's names.

One row holds all that is known of a property: its name, default, type, bounds and releases, whether it may change while
the broker runs, one sentence of documentation, and what it affects.

BrokerProperties    properties of the broker itself; the value is the attribute of that name
READ_AS_GIVEN       properties whose default differs from release to release, and which are read only if they are given
TOPIC_DEFAULTS      properties that give topics their defaults (`log.segment.bytes` for `segment.bytes`)

`without_effect.py` holds the rest of the table, the properties without effect, which few brokers have to load;
`catalog.py` joins both. Properties of topics are in `kafkalet.storage.topic_properties`, properties of groups in
`group_properties.py`, properties of subscriptions to metrics in `client_metrics.py`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Unpack, cast

from kafkalet.properties import Check, Declaration, Options, Property, Type, Update, Value, Version, at_least
from kafkalet.storage.topic_properties import DAY_MS, HOUR_MS, topic_properties

from .connection_overrides import check_overrides

MAX_INT = (1 << 31) - 1
MINUTE_MS = 60_000


# As with dataclasses.field, these say that they return the value which the attribute of an instance will have.


def boolean(name: str, default: bool, documentation: str, **options: Unpack[Options]) -> bool:
    return cast(bool, Declaration(Property(name, Type.BOOLEAN, str(default).lower()), documentation, **options))


def integer(
    name: str, default: int, documentation: str, *, least: int | None = None, **options: Unpack[Options]
) -> int:
    return _number(Type.INT, name, default, documentation, least, options)


def short(name: str, default: int, documentation: str, *, least: int | None = None, **options: Unpack[Options]) -> int:
    return _number(Type.SHORT, name, default, documentation, least, options)


def long(name: str, default: int, documentation: str, *, least: int | None = None, **options: Unpack[Options]) -> int:
    return _number(Type.LONG, name, default, documentation, least, options)


def _number(type_: Type, name: str, default: int, documentation: str, least: int | None, options: Options) -> int:
    check = None if least is None else at_least(least)
    return cast(int, Declaration(Property(name, type_, str(default), check), documentation, **options))


def text(
    name: str, default: str | None, documentation: str, *, check: Check | None = None, **options: Unpack[Options]
) -> str | None:
    return cast(str, Declaration(Property(name, Type.STRING, default, check), documentation, **options))


class BrokerProperties:
    """The properties of the broker itself. `since` is the release that brought one; it is accepted before, too."""

    # fmt: off
    # topics
    auto_create_topics_enable = boolean("auto.create.topics.enable", True,
        "Whether a Metadata request creates the topics that it names.")
    delete_topic_enable = boolean("delete.topic.enable", True, "Whether clients may delete topics.")
    num_partitions = integer("num.partitions", 1, "The partitions of a topic that is created without a number.",
        least=1)
    default_replication_factor = integer("default.replication.factor", 1,
        "The replicas of a topic that is created without a number.")

    # connections
    socket_request_max_bytes = integer("socket.request.max.bytes", 100 << 20, "The largest request that is read.",
        least=1)
    socket_send_buffer_bytes = integer("socket.send.buffer.bytes", 100 << 10,
        "The send buffer of a connection; the system's own if it is not given, or -1.")
    socket_receive_buffer_bytes = integer("socket.receive.buffer.bytes", 100 << 10,
        "The receive buffer of a connection; the system's own if it is not given, or -1.")
    connections_max_idle_ms = long("connections.max.idle.ms", 600_000,
        "After how much silence a connection is closed.")
    max_connections = integer("max.connections", MAX_INT,
        "How many connections may be open at once; further ones wait.", least=0, update=Update.CLUSTER_WIDE)
    max_connections_per_ip = integer("max.connections.per.ip", MAX_INT,
        "How many connections one address may have open at once; further ones are closed.", least=0,
        update=Update.CLUSTER_WIDE)
    # as in "10.0.0.1:100,other.host:3"
    max_connections_per_ip_overrides = text("max.connections.per.ip.overrides", "",
        "The same for single addresses, as host:number,host:number.", check=check_overrides,
        update=Update.CLUSTER_WIDE)

    # fetching
    fetch_max_bytes = integer("fetch.max.bytes", 55 << 20, "The most bytes that an answer to a fetch holds.",
        least=1024)
    max_incremental_fetch_session_cache_slots = integer("max.incremental.fetch.session.cache.slots", 1000,
        "How many incremental fetch sessions are remembered.", least=0)
    max_request_partition_size_limit = integer("max.request.partition.size.limit", 2000,
        "The most partitions that an answer to DescribeTopicPartitions holds.", least=1, since=(3, 0))
    replica_selector_class = text("replica.selector.class", None,
        "If it is given, consumers are sent to a replica of their rack, whatever the class.")
    broker_rack = text("broker.rack", None, "Where the broker stands; consumers of the same rack may read from it.")

    # replication
    replica_lag_time_max_ms = long("replica.lag.time.max.ms", 30_000,
        "How long a follower may lag before it is no longer in sync.")
    replica_high_watermark_checkpoint_interval_ms = long("replica.high.watermark.checkpoint.interval.ms", 5000,
        "How often the high watermarks are noted on disk.")

    # care of the logs
    log_retention_check_interval_ms = long("log.retention.check.interval.ms", 300_000,
        "How often a broker looks for segments to drop.", least=1)
    log_initial_task_delay_ms = long("log.initial.task.delay.ms", 30_000,
        "How long after its start a broker first looks for segments to drop.", least=0, is_hidden=True)

    # the internal topics of coordinators
    offsets_topic_num_partitions = integer("offsets.topic.num.partitions", 50,
        "The partitions of __consumer_offsets, where groups keep their offsets.", least=1)
    offsets_topic_replication_factor = short("offsets.topic.replication.factor", 3,
        "The replicas of __consumer_offsets; by default at most one for each broker.", least=1)
    offsets_topic_segment_bytes = integer("offsets.topic.segment.bytes", 100 << 20,
        "The segment size of __consumer_offsets.", least=1)
    transaction_state_log_num_partitions = integer("transaction.state.log.num.partitions", 50,
        "The partitions of __transaction_state, where transactions are kept.", least=1)
    transaction_state_log_replication_factor = short("transaction.state.log.replication.factor", 3,
        "The replicas of __transaction_state; by default at most one for each broker.", least=1)
    transaction_state_log_segment_bytes = integer("transaction.state.log.segment.bytes", 100 << 20,
        "The segment size of __transaction_state.", least=1)
    transaction_state_log_min_isr = integer("transaction.state.log.min.isr", 2,
        "How many replicas of __transaction_state have to be in sync.", least=1)

    # groups; Kafka waits 3 s for more members before the first rebalance, tests would rather not
    group_initial_rebalance_delay_ms = integer("group.initial.rebalance.delay.ms", 0,
        "How long an empty classic group waits for further members; if it is not given, only for clients that are "
        "seen coming.")
    group_min_session_timeout_ms = integer("group.min.session.timeout.ms", 6000,
        "The shortest session timeout a member of a classic group may ask for.")
    group_max_session_timeout_ms = integer("group.max.session.timeout.ms", 1_800_000,
        "The longest session timeout a member of a classic group may ask for.")
    group_max_size = integer("group.max.size", MAX_INT, "How many members a classic group may have.", least=1)
    offsets_commit_timeout_ms = integer("offsets.commit.timeout.ms", 5000,
        "How long a commit waits for the replicas of its topic.", least=1)
    offset_metadata_max_bytes = integer("offset.metadata.max.bytes", 4096,
        "How much text may be committed beside an offset.")
    offsets_retention_minutes = integer("offsets.retention.minutes", 10_080,
        "How long offsets are kept after their group has lost its last member.", least=1)
    offsets_retention_check_interval_ms = long("offsets.retention.check.interval.ms", 600_000,
        "How often expired offsets are looked for.", least=1)

    # transactions
    transaction_max_timeout_ms = integer("transaction.max.timeout.ms", 900_000,
        "The longest timeout a transactional producer may ask for.", least=1)
    transaction_partition_verification_enable = boolean("transaction.partition.verification.enable", True,
        "Whether the coordinator is asked before the first batch of a transaction.", update=Update.CLUSTER_WIDE,
        since=(3, 0))
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000,
        "How often overdue transactions are looked for.", least=1)
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000,
        "How often unused transactional ids are looked for.", least=1)
    transactional_id_expiration_ms = integer("transactional.id.expiration.ms", 7 * DAY_MS,
        "How long an unused transactional id is remembered.", least=1)
    request_timeout_ms = integer("request.timeout.ms", 30_000,
        "How long a coordinator waits for the replicas of its topic.")

    # groups of the consumer protocol
    group_consumer_session_timeout_ms = integer("group.consumer.session.timeout.ms", 45_000,
        "How long a member of a consumer group may be silent.", least=1, since=(3, 0))
    group_consumer_heartbeat_interval_ms = integer("group.consumer.heartbeat.interval.ms", 5000,
        "How often members of consumer groups are told to send heartbeats.", least=1, since=(3, 0))
    group_consumer_max_size = integer("group.consumer.max.size", MAX_INT,
        "How many members a consumer group may have.", least=1, since=(3, 0))
    group_consumer_assignment_interval_ms = integer("group.consumer.assignment.interval.ms", 1000,
        "How long a consumer group keeps an assignment before computing another.", least=0,
        update=Update.CLUSTER_WIDE, since=(4, 1))
    group_consumer_migration_policy = text("group.consumer.migration.policy", "bidirectional",
        "Whether groups may go from classic to consumer, and back.", since=(4, 0))
    group_consumer_regex_refresh_interval_ms = integer("group.consumer.regex.refresh.interval.ms", 600_000,
        "How often the topics that match a regular expression of a consumer group are looked up.", least=10_000,
        is_hidden=True)

    # quotas
    quota_window_num = integer("quota.window.num", 11, "How many windows the quotas of clients look back at.",
        least=1)
    quota_window_size_seconds = integer("quota.window.size.seconds", 1,
        "How long a window of the quotas of clients is.", least=1)
    controller_quota_window_num = integer("controller.quota.window.num", 11,
        "How many windows the quota of controller mutations looks back at.", least=1)
    controller_quota_window_size_seconds = integer("controller.quota.window.size.seconds", 1,
        "How long a window of the quota of controller mutations is.", least=1)

    # producers
    producer_id_expiration_ms = integer("producer.id.expiration.ms", DAY_MS,
        "How long a producer is remembered after its last batch.", least=1, update=Update.CLUSTER_WIDE, since=(3, 0))
    # fmt: on


BROKER_PROPERTIES: Mapping[str, Declaration] = {
    row.name: row._replace(affects=attribute)
    for attribute, row in vars(BrokerProperties).items()
    if isinstance(row, Declaration)
}
DEFAULT_VALUES: Mapping[str, Value] = {row.affects: row.declared.default_value() for row in BROKER_PROPERTIES.values()}
"""By attribute."""

_JAVA_ASSIGNORS = ",".join(
    f"org.apache.kafka.coordinator.group.assignor.{name}Assignor" for name in ("Uniform", "Range")
)

_BOUNDS_OF_GROUPS = (
    ("assignment.interval.ms", (4, 1), "0", "15000"),
    ("heartbeat.interval.ms", (3, 0), "5000", "15000"),
    ("session.timeout.ms", (3, 0), "45000", "60000"),
)

# `affects` names what of a BrokerConfig these are read with.
READ_AS_GIVEN: Mapping[str, Declaration] = {
    row.name: row
    for row in (
        Declaration(
            Property("broker.id", Type.INT, "-1"),
            "The id of the first broker, as node.id; the others count on from there.",
            "first_node_id",
        ),
        Declaration(
            Property("node.id", Type.INT, None),
            "The id of the first broker; the others count on from there.",
            "first_node_id",
            since=(3, 0),
            before={(4, 0): {"default": "-1"}},
        ),
        Declaration(
            Property("group.consumer.assignors", Type.LIST, "uniform,range"),
            "The assignors of consumer groups; the first one is for groups that name none.",
            "given",
            since=(3, 0),
            before={(4, 0): {"default": _JAVA_ASSIGNORS}},
        ),
        Declaration(
            Property("group.coordinator.rebalance.protocols", Type.LIST, "classic,consumer,streams"),
            "Whether consumer groups are served: with consumer in this list.",
            "given",
            since=(3, 0),
            before={(4, 0): {"default": "classic"}, (4, 1): {"default": "classic,consumer"}},
        ),
        *(
            Declaration(
                Property(f"group.consumer.{bound}.{name}", Type.INT, default),
                f"The {word} that consumer.{name} of a group may be.",
                "given",
                since=since,
            )
            for name, since, least, most in _BOUNDS_OF_GROUPS
            for bound, word, default in (("min", "least", least), ("max", "most", most))
        ),
    )
}

_AS_TOPIC: Any = object()
"""The topic's property decides."""


class TopicDefault(NamedTuple):
    """A property of brokers that gives topics a default; it exists in the releases that have the topic's property."""

    name: str
    topic: str  # the topic's property
    factor: int = 1  # turns its unit into the topic's
    type: Type = _AS_TOPIC
    default: str | None = _AS_TOPIC
    check: Check | None = _AS_TOPIC
    least: int | None = None  # smaller values count as this one
    update: Update = Update.CLUSTER_WIDE
    documentation: str = ""  # where it does more than that

    def declaration(self, topic: Property) -> Declaration:
        declared = Property(
            self.name,
            topic.type if self.type is _AS_TOPIC else self.type,
            topic.default if self.default is _AS_TOPIC else self.default,
            topic.check if self.check is _AS_TOPIC else self.check,
        )
        return Declaration(declared, self.documentation, self.topic, self.update)


# Several for one property of topics: the first one that is given wins (`ServerTopicConfigSynonyms`). Kafka takes a
# negative retention as "no limit"; a log that is to be flushed after less than no time is flushed at once.
_TOPIC_DEFAULTS = (
    TopicDefault("compression.type", "compression.type"),
    TopicDefault("compression.gzip.level", "compression.gzip.level"),
    TopicDefault("compression.lz4.level", "compression.lz4.level"),
    TopicDefault("compression.zstd.level", "compression.zstd.level"),
    TopicDefault("min.insync.replicas", "min.insync.replicas"),
    TopicDefault("unclean.leader.election.enable", "unclean.leader.election.enable"),
    TopicDefault("max.decompressed.message.bytes", "max.decompressed.message.bytes"),
    TopicDefault("log.cleanup.policy", "cleanup.policy"),
    TopicDefault("log.index.interval.bytes", "index.interval.bytes"),
    TopicDefault("log.local.retention.bytes", "local.retention.bytes"),
    TopicDefault("log.local.retention.ms", "local.retention.ms"),
    TopicDefault("log.preallocate", "preallocate"),
    TopicDefault("log.message.downconversion.enable", "message.downconversion.enable"),
    TopicDefault("log.message.timestamp.type", "message.timestamp.type"),
    TopicDefault("log.message.timestamp.difference.max.ms", "message.timestamp.difference.max.ms"),
    TopicDefault("log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"),
    TopicDefault("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"),
    TopicDefault("log.retention.bytes", "retention.bytes"),
    TopicDefault("log.segment.bytes", "segment.bytes"),
    TopicDefault("log.remote.copy.lag.bytes", "remote.copy.lag.bytes"),
    TopicDefault("log.remote.copy.lag.ms", "remote.copy.lag.ms"),
    TopicDefault("log.cleaner.delete.retention.ms", "delete.retention.ms"),
    TopicDefault("log.segment.delete.delay.ms", "file.delete.delay.ms"),
    TopicDefault("log.flush.interval.messages", "flush.messages", check=at_least(1)),
    TopicDefault("log.flush.interval.ms", "flush.ms", default=None, check=None, least=0),
    TopicDefault(
        "log.flush.scheduler.interval.ms",
        "flush.ms",
        least=0,
        update=Update.READ_ONLY,
        documentation="How often logs are looked at that flush.ms wants on disk, in a data directory that is kept; "
        "without it, never. Also what flush.ms is for a topic that does not say otherwise.",
    ),
    TopicDefault("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"),
    TopicDefault("message.max.bytes", "max.message.bytes"),
    TopicDefault("log.message.format.version", "message.format.version", update=Update.READ_ONLY),
    TopicDefault("log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"),
    TopicDefault("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"),
    TopicDefault("log.retention.ms", "retention.ms", default=None, check=None, least=-1),
    TopicDefault("log.retention.minutes", "retention.ms", MINUTE_MS, Type.INT, None, None, -1, Update.READ_ONLY),
    TopicDefault("log.retention.hours", "retention.ms", HOUR_MS, Type.INT, "168", None, -1, Update.READ_ONLY),
    TopicDefault("log.index.size.max.bytes", "segment.index.bytes", check=at_least(4)),
    TopicDefault("log.roll.jitter.ms", "segment.jitter.ms", default=None, check=None, least=-1),
    TopicDefault("log.roll.jitter.hours", "segment.jitter.ms", HOUR_MS, Type.INT, "0", None, -1, Update.READ_ONLY),
    TopicDefault("log.roll.ms", "segment.ms", default=None, check=None, least=-1),
    TopicDefault("log.roll.hours", "segment.ms", HOUR_MS, Type.INT, "168", None, -1, Update.READ_ONLY),
)

TOPIC_DEFAULTS: Mapping[str, TopicDefault] = {row.name: row for row in _TOPIC_DEFAULTS}
SYNONYMS: Mapping[str, tuple[TopicDefault, ...]] = {
    name: tuple(row for row in _TOPIC_DEFAULTS if row.topic == name)
    for name in {row.topic: None for row in _TOPIC_DEFAULTS}
}
"""The same rows by the topic's property."""


@cache
def topic_defaults_of(version: Version) -> Mapping[str, Declaration]:
    """The rows of TOPIC_DEFAULTS that a release has, by their names."""
    topic = topic_properties(version)
    return {row.name: row.declaration(topic[row.topic]) for row in _TOPIC_DEFAULTS if row.topic in topic}
