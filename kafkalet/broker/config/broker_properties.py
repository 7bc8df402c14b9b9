"""The table of broker properties that have an effect, with Kafka's names.

Each property is declared with its name, type, default, bounds, releases and update mode, a sentence of documentation,
and the part of the program that it affects.

BrokerProperties    properties of the broker itself; each one is an attribute of the configuration
READ_AS_GIVEN       properties whose defaults depend on the release; they are used only if they are set
TOPIC_DEFAULTS      properties that set defaults for topics (`log.segment.bytes` for `segment.bytes`)

`security_properties.py` contains the properties of listeners and security, and `without_effect.py` those that have no
effect. Both are loaded on demand; `catalog.py` joins all tables. Topic properties are in
`kafkalet.storage.topic_properties`, group properties in `group_properties.py`, and properties of client metrics
subscriptions in `client_metrics.py`.
"""

import sys
from collections.abc import Mapping
from functools import cache
from math import inf
from typing import Any, NamedTuple, Unpack, cast

from kafkalet.properties import (
    Check,
    Declaration,
    Options,
    Property,
    Type,
    Update,
    Value,
    Version,
    as_text,
    at_least,
    between,
)
from kafkalet.storage.topic_properties import DAY_MS, HOUR_MS, topic_properties

from .connection_overrides import check_overrides

MAX_INT = (1 << 31) - 1
MINUTE_MS = 60_000


# These functions are annotated with the type of the instance attribute, like dataclasses.field.


def boolean(name: str, default: bool, documentation: str, **options: Unpack[Options]) -> bool:
    return cast(bool, Declaration(Property(name, Type.BOOLEAN, str(default).lower()), documentation, **options))


def integer(
    name: str,
    default: int,
    documentation: str,
    *,
    least: int | None = None,
    most: float = inf,
    **options: Unpack[Options],
) -> int:
    return _number(Type.INT, name, default, documentation, least, options, most)


def short(name: str, default: int, documentation: str, *, least: int | None = None, **options: Unpack[Options]) -> int:
    return _number(Type.SHORT, name, default, documentation, least, options)


def long(name: str, default: int, documentation: str, *, least: int | None = None, **options: Unpack[Options]) -> int:
    return _number(Type.LONG, name, default, documentation, least, options)


def double(name: str, default: float, documentation: str, **options: Unpack[Options]) -> float:
    return cast(float, Declaration(Property(name, Type.DOUBLE, as_text(default)), documentation, **options))


def _number(
    type_: Type, name: str, default: int, documentation: str, least: int | None, options: Options, most: float = inf
) -> int:
    check = None if least is None else between(least, most)
    return cast(int, Declaration(Property(name, type_, str(default), check), documentation, **options))


def text(
    name: str, default: str | None, documentation: str, *, check: Check | None = None, **options: Unpack[Options]
) -> str | None:
    return cast(str, Declaration(Property(name, Type.STRING, default, check), documentation, **options))


def _text(name: str, default: str, documentation: str, **options: Unpack[Options]) -> str:
    return cast(str, text(name, default, documentation, **options))


class BrokerProperties:
    """The properties of the broker itself.

    `since` is the release that introduced a property. Older releases accept the property, too.
    """

    # fmt: off
    # topics
    auto_create_topics_enable = boolean("auto.create.topics.enable", True,
        "Allows clients to create a missing topic by requesting its metadata.")
    delete_topic_enable = boolean("delete.topic.enable", True, "Allows clients to delete topics.")
    num_partitions = integer("num.partitions", 1, "Number of partitions of a topic that is created without one.",
        least=1)
    default_replication_factor = integer("default.replication.factor", 1,
        "Replication factor of a topic that is created without one.")

    # connections
    socket_request_max_bytes = integer("socket.request.max.bytes", 100 << 20, "Maximum size of a request in bytes.",
        least=1)
    socket_send_buffer_bytes = integer("socket.send.buffer.bytes", 100 << 10,
        "Size of a connection's send buffer in bytes. If unset or -1, the operating system chooses the size.")
    socket_receive_buffer_bytes = integer("socket.receive.buffer.bytes", 100 << 10,
        "Size of a connection's receive buffer in bytes. If unset or -1, the operating system chooses the size.")
    connections_max_idle_ms = long("connections.max.idle.ms", 600_000,
        "Time without requests after which a connection is closed.")
    max_connections = integer("max.connections", MAX_INT,
        "Maximum number of open connections. Further connections wait until another one is closed.", least=0,
        update=Update.CLUSTER_WIDE)
    max_connections_per_ip = integer("max.connections.per.ip", MAX_INT,
        "Maximum number of open connections per client address. Further connections are closed.", least=0,
        update=Update.CLUSTER_WIDE)
    max_connections_per_ip_overrides = text("max.connections.per.ip.overrides", "",
        "Values of max.connections.per.ip for individual hosts, for example 10.0.0.1:100,other.host:3.",
        check=check_overrides, update=Update.CLUSTER_WIDE)

    # fetching
    fetch_max_bytes = integer("fetch.max.bytes", 55 << 20, "Maximum number of bytes in a Fetch response.",
        least=1024)
    kafkalet_closing_fetch_wait = boolean("kafkalet.closing.fetch.wait", False,
        "Lets the waiting Fetch of a consumer that closes wait for its maximum time. It is not a property of Kafka, "
        "which always waits.", is_hidden=True)
    max_incremental_fetch_session_cache_slots = integer("max.incremental.fetch.session.cache.slots", 1000,
        "Maximum number of incremental fetch sessions.", least=0)
    max_request_partition_size_limit = integer("max.request.partition.size.limit", 2000,
        "Maximum number of partitions in a DescribeTopicPartitions response.", least=1, since=(3, 0))
    replica_selector_class = text("replica.selector.class", None,
        "If set to any class, consumers are redirected to a replica in their own rack.")
    broker_rack = text("broker.rack", None, "Rack of the broker. Consumers in the same rack may read from this broker.")

    # replication
    broker_session_timeout_ms = integer("broker.session.timeout.ms", 9000,
        "Time after which a broker that a test has killed, paused or cut off from the controller is fenced: others "
        "lead its partitions.", since=(3, 0))
    replica_lag_time_max_ms = long("replica.lag.time.max.ms", 30_000,
        "Time after which a follower that does not catch up with the leader is out of sync.")
    auto_leader_rebalance_enable = boolean("auto.leader.rebalance.enable", True,
        "Lets preferred leaders lead again, at regular intervals, if they are in sync.")
    leader_imbalance_check_interval_seconds = long("leader.imbalance.check.interval.seconds", 300,
        "Interval at which preferred leaders are elected. If it is below 1, it counts as 1.")
    unclean_leader_election_interval_ms = long("unclean.leader.election.interval.ms", 5 * MINUTE_MS,
        "Interval at which partitions without a leader get one that is out of sync, if their topics allow it.",
        least=1, since=(3, 9), is_hidden=True)
    replica_fetch_max_bytes = integer("replica.fetch.max.bytes", 1 << 20,
        "Maximum number of bytes that a replica copies at once, if its replication is throttled or if it is moved to "
        "another directory. It copies at least one batch.", least=0)
    replica_fetch_wait_max_ms = integer("replica.fetch.wait.max.ms", 500,
        "Interval of the empty responses to followers, which count in leader.replication.throttled.rate.")
    replica_high_watermark_checkpoint_interval_ms = long("replica.high.watermark.checkpoint.interval.ms", 5000,
        "Interval at which high watermarks are written to disk.")
    log_flush_offset_checkpoint_interval_ms = integer("log.flush.offset.checkpoint.interval.ms", 60_000,
        "Interval at which the offsets from which logs are recovered after a crash are written to disk.", least=0)
    log_flush_start_offset_checkpoint_interval_ms = integer("log.flush.start.offset.checkpoint.interval.ms", 60_000,
        "Interval at which log start offsets are written to disk.", least=0)

    # log maintenance
    log_retention_check_interval_ms = long("log.retention.check.interval.ms", 300_000,
        "Interval at which the broker looks for expired segments.", least=1)
    log_initial_task_delay_ms = long("log.initial.task.delay.ms", 30_000,
        "Time between the start of the broker and the first check for expired segments.", least=0, is_hidden=True)

    # compaction
    log_cleaner_enable = boolean("log.cleaner.enable", True,
        "Runs the log cleaner, which compacts topics with cleanup.policy=compact and applies their retention.")
    log_cleaner_threads = integer("log.cleaner.threads", 1,
        "Number that the buffers of the log cleaner are divided by. kafkalet cleans one log of a broker at a time.",
        least=0, update=Update.CLUSTER_WIDE)
    log_cleaner_backoff_ms = long("log.cleaner.backoff.ms", 15_000,
        "Interval at which the log cleaner looks for logs to clean.", least=0, update=Update.CLUSTER_WIDE)
    log_cleaner_dedupe_buffer_size = long("log.cleaner.dedupe.buffer.size", 128 << 20,
        "Size of the log cleaner's table of keys in bytes, with 24 bytes per key. If it gets full, the rest of the log "
        "is cleaned in another round.", update=Update.CLUSTER_WIDE)
    log_cleaner_io_buffer_load_factor = double("log.cleaner.io.buffer.load.factor", 0.9,
        "Fraction of log.cleaner.dedupe.buffer.size that may be used.", update=Update.CLUSTER_WIDE)
    log_cleaner_io_buffer_size = integer("log.cleaner.io.buffer.size", 512 << 10,
        "Size of the buffers of the log cleaner in bytes: it reads half of this size at once.", least=0,
        update=Update.CLUSTER_WIDE)
    log_cleaner_io_max_bytes_per_second = double("log.cleaner.io.max.bytes.per.second", sys.float_info.max,
        "Maximum number of bytes that the log cleaner reads and writes per second.", update=Update.CLUSTER_WIDE)

    # the internal topics of coordinators
    offsets_topic_num_partitions = integer("offsets.topic.num.partitions", 50,
        "Number of partitions of __consumer_offsets, the topic for groups and committed offsets.", least=1)
    offsets_topic_replication_factor = short("offsets.topic.replication.factor", 3,
        "Replication factor of __consumer_offsets. If unset, it does not exceed the number of brokers.", least=1)
    offsets_topic_segment_bytes = integer("offsets.topic.segment.bytes", 100 << 20,
        "Segment size of __consumer_offsets in bytes.", least=1)
    offsets_topic_compression_codec = integer("offsets.topic.compression.codec", 0,
        "Codec of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", least=0, most=4)
    transaction_state_log_num_partitions = integer("transaction.state.log.num.partitions", 50,
        "Number of partitions of __transaction_state, the topic for transactions.", least=1)
    transaction_state_log_replication_factor = short("transaction.state.log.replication.factor", 3,
        "Replication factor of __transaction_state. If unset, it does not exceed the number of brokers.", least=1)
    transaction_state_log_segment_bytes = integer("transaction.state.log.segment.bytes", 100 << 20,
        "Segment size of __transaction_state in bytes.", least=1)
    transaction_state_log_min_isr = integer("transaction.state.log.min.isr", 2,
        "Minimum number of in-sync replicas of __transaction_state.", least=1)
    share_coordinator_state_topic_num_partitions = integer("share.coordinator.state.topic.num.partitions", 50,
        "Number of partitions of __share_group_state, the topic for the records that share groups have consumed.",
        least=1, since=(4, 0))
    share_coordinator_state_topic_replication_factor = short("share.coordinator.state.topic.replication.factor", 3,
        "Replication factor of __share_group_state. If unset, it does not exceed the number of brokers.", least=1,
        since=(4, 0))
    share_coordinator_state_topic_segment_bytes = integer("share.coordinator.state.topic.segment.bytes", 100 << 20,
        "Segment size of __share_group_state in bytes.", least=1, since=(4, 0))
    share_coordinator_state_topic_compression_codec = integer("share.coordinator.state.topic.compression.codec", 0,
        "Codec of __share_group_state, as for offsets.topic.compression.codec.", least=0, most=4, since=(4, 0))
    share_coordinator_state_topic_min_isr = short("share.coordinator.state.topic.min.isr", 2,
        "Minimum number of in-sync replicas of __share_group_state.", least=1, since=(4, 0))
    share_coordinator_snapshot_update_records_per_snapshot = integer(
        "share.coordinator.snapshot.update.records.per.snapshot", 500,
        "Number of updates of a share partition in __share_group_state between two snapshots.", since=(4, 0))
    share_coordinator_write_timeout_ms = integer("share.coordinator.write.timeout.ms", 5000,
        "Time that the share coordinator waits for the replicas of __share_group_state.", least=1, since=(4, 0))

    # classic groups; in Kafka, the initial rebalance delay is 3 s, too long for most tests
    group_initial_rebalance_delay_ms = integer("group.initial.rebalance.delay.ms", 0,
        "Time that an empty classic group waits for more members. If unset, the group only waits for clients that "
        "have looked up its coordinator but not joined yet.")
    group_min_session_timeout_ms = integer("group.min.session.timeout.ms", 6000,
        "Shortest session timeout that a member of a classic group may request.")
    group_max_session_timeout_ms = integer("group.max.session.timeout.ms", 1_800_000,
        "Longest session timeout that a member of a classic group may request.")
    group_max_size = integer("group.max.size", MAX_INT, "Maximum number of members of a classic group.", least=1)
    offsets_commit_timeout_ms = integer("offsets.commit.timeout.ms", 5000,
        "Time that an offset commit waits for the replicas of __consumer_offsets.", least=1)
    offset_metadata_max_bytes = integer("offset.metadata.max.bytes", 4096,
        "Maximum size of the metadata of a committed offset in bytes.")
    offsets_retention_minutes = integer("offsets.retention.minutes", 10_080,
        "Time in minutes after which the offsets of a group without members expire.", least=1)
    offsets_retention_check_interval_ms = long("offsets.retention.check.interval.ms", 600_000,
        "Interval at which expired offsets are removed.", least=1)

    # transactions
    transaction_max_timeout_ms = integer("transaction.max.timeout.ms", 900_000,
        "Longest transaction timeout that a producer may request.", least=1)
    transaction_partition_verification_enable = boolean("transaction.partition.verification.enable", True,
        "Verifies a transaction with its coordinator before its first batch is appended to a partition.",
        update=Update.CLUSTER_WIDE, since=(3, 0))
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000,
        "Interval at which the coordinator aborts transactions that have timed out.", least=1)
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000,
        "Interval at which the coordinator removes expired transactional ids.", least=1)
    transactional_id_expiration_ms = integer("transactional.id.expiration.ms", 7 * DAY_MS,
        "Time after which an unused transactional id expires.", least=1)
    request_timeout_ms = integer("request.timeout.ms", 30_000,
        "Time that writes of the transaction coordinator wait for the replicas.")

    # groups of the consumer protocol
    group_consumer_session_timeout_ms = integer("group.consumer.session.timeout.ms", 45_000,
        "Time without a heartbeat after which a member is removed from a consumer group.", least=1, since=(3, 0))
    group_consumer_heartbeat_interval_ms = integer("group.consumer.heartbeat.interval.ms", 5000,
        "Heartbeat interval that the broker prescribes for members of consumer groups.", least=1, since=(3, 0))
    group_consumer_max_size = integer("group.consumer.max.size", MAX_INT,
        "Maximum number of members of a consumer group.", least=1, since=(3, 0))
    group_consumer_assignment_interval_ms = integer("group.consumer.assignment.interval.ms", 1000,
        "Minimum time between two target assignments of a consumer group.", least=0,
        update=Update.CLUSTER_WIDE, since=(4, 3))
    group_consumer_migration_policy = text("group.consumer.migration.policy", "bidirectional",
        "Allowed conversions between classic and consumer groups: upgrade, downgrade, bidirectional or disabled.",
        since=(4, 0))
    group_consumer_regex_refresh_interval_ms = integer("group.consumer.regex.refresh.interval.ms", 600_000,
        "Interval at which regular expressions of consumer groups are matched against the topics again.",
        least=10_000, is_hidden=True)

    # share groups
    group_share_session_timeout_ms = integer("group.share.session.timeout.ms", 45_000,
        "Time without a heartbeat after which a member is removed from a share group.", least=1, since=(3, 0))
    group_share_heartbeat_interval_ms = integer("group.share.heartbeat.interval.ms", 5000,
        "Heartbeat interval that the broker prescribes for members of share groups.", least=1, since=(3, 0))
    group_share_max_size = integer("group.share.max.size", 200,
        "Maximum number of members of a share group.", least=1, most=1000, since=(3, 0),
        before={(4, 0): {"type": Type.SHORT, "check": between(10, 1000)}})
    group_share_assignment_interval_ms = integer("group.share.assignment.interval.ms", 1000,
        "Minimum time between two target assignments of a share group.", least=0,
        update=Update.CLUSTER_WIDE, since=(4, 3))
    group_share_initialize_retry_interval_ms = integer("group.share.initialize.retry.interval.ms", 30_000,
        "Time after which the group coordinator tries again to initialize share partitions.", least=1, is_hidden=True)
    errors_deadletterqueue_topic_name_prefix = text("errors.deadletterqueue.topic.name.prefix", "dlq.",
        "The beginning of the names of all dead letter queues of share groups.", update=Update.CLUSTER_WIDE,
        since=(4, 4))
    errors_deadletterqueue_auto_create_topics_enable = boolean(
        "errors.deadletterqueue.auto.create.topics.enable", False,
        "Creates the dead letter queue of a share group when it is needed.", update=Update.CLUSTER_WIDE, since=(4, 4))
    group_share_record_lock_duration_ms = integer("group.share.record.lock.duration.ms", 30_000,
        "Time for which records are locked for the member of a share group that has acquired them.", least=1,
        since=(3, 0))
    group_share_delivery_count_limit = integer("group.share.delivery.count.limit", 5,
        "Maximum number of deliveries of a record to a share group.", least=2, most=10, since=(3, 0))
    group_share_partition_max_record_locks = integer("group.share.partition.max.record.locks", 2000,
        "Maximum number of records of a partition that are in flight in a share group.", least=100, most=10_000,
        since=(3, 0),
        before={(4, 1): {"default": "200"}})
    group_share_max_share_sessions = integer("group.share.max.share.sessions", 2000,
        "Maximum number of share sessions of a broker.", least=1, since=(4, 1))

    # streams groups
    group_streams_session_timeout_ms = integer("group.streams.session.timeout.ms", 45_000,
        "Time without a heartbeat after which a member is removed from a streams group.", least=1, since=(4, 1))
    group_streams_heartbeat_interval_ms = integer("group.streams.heartbeat.interval.ms", 5000,
        "Heartbeat interval that the broker prescribes for members of streams groups.", least=1, since=(4, 1))
    group_streams_max_size = integer("group.streams.max.size", MAX_INT,
        "Maximum number of members of a streams group.", least=1, since=(4, 1))
    group_streams_assignment_interval_ms = integer("group.streams.assignment.interval.ms", 1000,
        "Minimum time between two target assignments of a streams group.", least=0,
        update=Update.CLUSTER_WIDE, since=(4, 3))
    group_streams_initial_rebalance_delay_ms = integer("group.streams.initial.rebalance.delay.ms", 3000,
        "Time that the first rebalance of a new streams group waits for more members.", least=0, since=(4, 1))
    group_streams_num_standby_replicas = integer("group.streams.num.standby.replicas", 0,
        "Number of standby tasks of each stateful task of a streams group.", least=0, since=(4, 1))

    # quotas
    quota_window_num = integer("quota.window.num", 11,
        "Number of consecutive windows over which client quotas are measured.", least=1)
    quota_window_size_seconds = integer("quota.window.size.seconds", 1,
        "Length of a window of client quotas in seconds.", least=1)
    controller_quota_window_num = integer("controller.quota.window.num", 11,
        "Number of consecutive windows over which the quota of controller mutations is measured.", least=1)
    controller_quota_window_size_seconds = integer("controller.quota.window.size.seconds", 1,
        "Length of a window of the quota of controller mutations in seconds.", least=1)

    telemetry_max_bytes = integer("telemetry.max.bytes", 1 << 20,
        "Maximum size of the metrics that a client pushes in a request.", least=1, since=(3, 0))

    # tiered storage
    remote_log_storage_system_enable = boolean("remote.log.storage.system.enable", False,
        "Allows topics with tiered storage. Whatever remote.log.storage.manager.class.name is, remote storage is a "
        "folder as that of Kafka's LocalTieredStorage, in the directory rsm.config.dir or, by default, beside the "
        "data.",
        since=(3, 0))
    remote_log_manager_task_interval_ms = long("remote.log.manager.task.interval.ms", 30_000,
        "Interval at which segments are copied to remote storage, and expired ones deleted there.", least=1,
        since=(3, 0))
    remote_log_storage_manager_impl_prefix = _text("remote.log.storage.manager.impl.prefix", "rsm.config.",
        "Prefix of the properties of the remote storage, of which kafkalet has only `dir`.", since=(3, 0))
    remote_log_metadata_manager_impl_prefix = _text("remote.log.metadata.manager.impl.prefix", "rlmm.config.",
        "Prefix of the properties of __remote_log_metadata: remote.log.metadata.topic.num.partitions and so on.",
        since=(3, 0))

    # producers
    producer_id_expiration_ms = integer("producer.id.expiration.ms", DAY_MS,
        "Time after the last batch of a producer before its state expires.", least=1, update=Update.CLUSTER_WIDE,
        since=(3, 4))
    producer_id_expiration_check_interval_ms = integer("producer.id.expiration.check.interval.ms", 600_000,
        "Interval at which expired producers are removed.", least=1, is_hidden=True)
    # fmt: on


BROKER_PROPERTIES: Mapping[str, Declaration] = {
    row.name: row._replace(affects=attribute)
    for attribute, row in vars(BrokerProperties).items()
    if isinstance(row, Declaration)
}
DEFAULT_VALUES: Mapping[str, Value] = {row.affects: row.declared.default_value() for row in BROKER_PROPERTIES.values()}
"""The default values of BrokerConfig's attributes, keyed by attribute name."""

_JAVA_ASSIGNORS = ",".join(
    f"org.apache.kafka.coordinator.group.assignor.{name}Assignor" for name in ("Uniform", "Range")
)

_BOUNDS_OF_GROUPS = (
    *(
        bounds
        for kind in ("consumer", "share")
        for bounds in (
            (kind, "assignment.interval.ms", (4, 3), "0", "15000"),
            (kind, "heartbeat.interval.ms", (3, 0), "5000", "15000"),
            (kind, "session.timeout.ms", (3, 0), "45000", "60000"),
        )
    ),
    ("streams", "assignment.interval.ms", (4, 3), "0", "15000"),
    ("streams", "heartbeat.interval.ms", (4, 1), "5000", "15000"),
    ("streams", "session.timeout.ms", (4, 1), "45000", "60000"),
    ("share", "delivery.count.limit", (4, 3), "2", "10"),
    ("share", "partition.max.record.locks", (4, 3), "100", "4000"),
    ("share", "record.lock.duration.ms", (3, 0), "15000", "60000"),
)

# Here, `affects` names the method of BrokerConfig that reads the property.
# fmt: off
READ_AS_GIVEN: Mapping[str, Declaration] = {
    row.name: row
    for row in (
        Declaration(Property("broker.id", Type.INT, "-1"), "Synonym of node.id.", "first_node_id"),
        Declaration(Property("node.id", Type.INT, None),
            "Id of the first broker. The other brokers of a cluster have the following ids.", "first_node_id",
            since=(3, 0), before={(4, 0): {"default": "-1"}}),
        Declaration(Property("log.dirs", Type.LIST, None),
            "Directories of the logs; a partition is in one of them. If unset, log.dir. The data is kept; without both "
            "properties, it is in a temporary directory.", "given", before={(4, 1): {"type": Type.STRING}}),
        Declaration(Property("log.dir", Type.LIST, "/tmp/kafka-logs"),  # noqa: S108 - Kafka's default; not used here
            "Directory of the logs, or several, if log.dirs is unset.", "given",
            before={(4, 1): {"type": Type.STRING}}),
        Declaration(Property("cordoned.log.dirs", Type.LIST, ""),
            "Log directories that receive no new replicas, or *.", "given", since=(4, 1), update=Update.PER_BROKER),
        Declaration(Property("metadata.log.dir", Type.STRING, None),
            "Directory in which a metadata log of Apache Kafka is searched first, when a data directory is opened.",
            "given", since=(3, 0)),
        Declaration(Property("group.consumer.assignors", Type.LIST, "uniform,range"),
            "Assignors of consumer groups. The first one is the default.", "given",
            since=(3, 0), before={(4, 0): {"default": _JAVA_ASSIGNORS}}),
        Declaration(Property("group.coordinator.rebalance.protocols", Type.LIST, "classic,consumer,streams"),
            "Supported group protocols. Consumer groups require consumer in this list, streams groups require streams.",
            "given",
            since=(3, 0), before={(4, 0): {"default": "classic"}, (4, 1): {"default": "classic,consumer"}}),
        Declaration(Property("group.streams.rack.aware.assignment.tags", Type.LIST, ""),
            "Client tags that members of streams groups have to set.", "given", since=(4, 4)),
        *(
            Declaration(Property(f"group.{kind}.{bound}.{name}", Type.INT, default),
                f"{word} of the group property {kind}.{name}.", "given", since=since)
            for kind, name, since, least, most in _BOUNDS_OF_GROUPS
            for bound, word, default in (("min", "Minimum", least), ("max", "Maximum", most))
        ),
    )
}
# fmt: on

_AS_TOPIC: Any = object()
"""Stands for the value of the topic property, in a field of TopicDefault."""


class TopicDefault(NamedTuple):
    """A broker property that sets the default of a topic property. Both exist in the same releases."""

    name: str
    topic: str  # the name of the topic property
    factor: int = 1  # converts the value to the unit of the topic property
    type: Type = _AS_TOPIC
    default: str | None = _AS_TOPIC
    check: Check | None = _AS_TOPIC
    least: int | None = None  # smaller values are raised to this value
    update: Update = Update.CLUSTER_WIDE
    documentation: str = ""  # set only if the property has other effects, too

    def declaration(self, topic: Property) -> Declaration:
        declared = Property(
            self.name,
            topic.type if self.type is _AS_TOPIC else self.type,
            topic.default if self.default is _AS_TOPIC else self.default,
            topic.check if self.check is _AS_TOPIC else self.check,
        )
        return Declaration(declared, self.documentation, self.topic, self.update)


# If several rows have the same topic property, the first row that is set wins (`ServerTopicConfigSynonyms`). Negative
# retention times mean "no limit", and negative flush intervals mean 0.
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
        documentation="Interval at which the broker flushes logs whose flush.ms has passed. If unset, or with a "
        "temporary data directory, logs are not flushed by time. Also the default of the topic property flush.ms.",
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
"""The rows of TOPIC_DEFAULTS, grouped by topic property."""


@cache
def topic_defaults_of(version: Version) -> Mapping[str, Declaration]:
    """Return the rows of TOPIC_DEFAULTS that exist in a release, keyed by name."""
    topic = topic_properties(version)
    return {row.name: row.declaration(topic[row.topic]) for row in _TOPIC_DEFAULTS if row.topic in topic}
