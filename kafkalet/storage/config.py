"""What a log obeys: the properties of its topic, parsed, and the rules of the emulated release that concern a log.

One attribute for each property of a topic, by its name in snake case, with the default of Kafka 4.4; times in
milliseconds, sizes in bytes, -1 where Kafka writes -1 for "no limit". A `LogConfig` is a value: a change of
configuration is another `LogConfig`, handed to the log as a whole.

    LogConfig()                                               Kafka's defaults
    LogConfig(segment_bytes=1 << 20)                          in tests
    LogConfig.of({"retention.ms": "1000"}, rules)             from texts, checked as Kafka checks them
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kafkalet.properties import (
    InvalidProperty,
    Property,
    PropertySet,
    Type,
    Value,
    at_least,
    between,
    list_of,
    one_of,
)

MAX_LONG = (1 << 63) - 1
MAX_INT = (1 << 31) - 1
ONE_HOUR_MS = 60 * 60 * 1000
ONE_DAY_MS = 24 * ONE_HOUR_MS
SEVEN_DAYS_MS = 7 * ONE_DAY_MS


class LogRules(NamedTuple):
    """Where releases differ in what a log does and in what a topic may be told. The defaults are those of 4.4."""

    # DeleteRecords into an open transaction lifts the last stable offset to the new log start (3.9 and older).
    lifts_unstable_to_log_start: bool = False
    # message.format.version decides the format on disk (before 3.0; KIP-724 ended it).
    honours_message_format: bool = False
    # Topics still know message.format.version, message.downconversion.enable and
    # message.timestamp.difference.max.ms (before 4.0; KIP-896, KIP-937).
    knows_old_formats: bool = False
    # The smallest segment.bytes: 1 MiB since 4.0 (KIP-1030), before that the size of a record's head.
    least_segment_bytes: int = 1 << 20
    # The default of message.timestamp.after.max.ms: an hour since 4.0 (KIP-1030), no limit before.
    timestamp_after_max_ms: int = ONE_HOUR_MS


class LogConfig(NamedTuple):
    """The configuration of one log."""

    segment_bytes: int = 1 << 30
    segment_ms: int = SEVEN_DAYS_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    preallocate: bool = False

    retention_ms: int = SEVEN_DAYS_MS
    retention_bytes: int = -1
    local_retention_ms: int = -2
    local_retention_bytes: int = -2
    file_delete_delay_ms: int = 60_000

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    delete_retention_ms: int = ONE_DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    min_cleanable_dirty_ratio: float = 0.5

    max_message_bytes: int = (1 << 20) + 12
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = MAX_LONG
    message_timestamp_after_max_ms: int = ONE_HOUR_MS
    # producer, uncompressed, gzip, snappy, lz4 or zstd
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    # The format on disk: 0, 1, or 2. Other than 2 only where the release honours message.format.version.
    record_version: int = 2
    message_downconversion_enable: bool = True

    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG

    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    remote_storage_enable: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False

    # A rule of the emulated release, see LogRules.
    lifts_unstable_to_log_start: bool = False

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes_old_segments(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def stamps_append_time(self) -> bool:
        """Records get the time of their append, whatever the producer wrote."""
        return self.message_timestamp_type == "LogAppendTime"

    @classmethod
    def of(cls, texts: Mapping[str, str], rules: LogRules = LogRules()) -> Self:  # noqa: B008 - an immutable value
        """The configuration that these properties of a topic make; what is not named has its default.

        Raises InvalidProperty for a value that is not allowed, for a name that no topic has, and for values that are
        allowed each but not together.
        """
        properties = topic_properties(rules)
        if unknown := properties.unknown(texts):
            raise InvalidProperty(unknown[0], texts[unknown[0]], "Unknown topic config name: " + unknown[0])
        values = properties.parse(texts)
        check_together(values)
        attributes: dict[str, Any] = {
            "message_timestamp_after_max_ms": rules.timestamp_after_max_ms,
            "lifts_unstable_to_log_start": rules.lifts_unstable_to_log_start,
        }
        for name, value in values.items():
            if name == "message.format.version":
                if rules.honours_message_format:
                    attributes["record_version"] = record_version(str(value))
            elif name == "message.timestamp.difference.max.ms":
                _bound_both_sides(attributes, values)
            elif name == "cleanup.policy":
                assert isinstance(value, tuple)
                attributes["cleanup_policy"] = frozenset(value)
            elif name != "internal.segment.bytes":
                attributes[attribute_of(name)] = value
        if "internal.segment.bytes" in values:
            attributes["segment_bytes"] = values["internal.segment.bytes"]
        return cls(**attributes)


def attribute_of(name: str) -> str:
    """The attribute of LogConfig that holds a property of a topic: `segment.bytes` is in `segment_bytes`."""
    return name.replace(".", "_")


def _bound_both_sides(attributes: dict[str, Any], values: Mapping[str, Value]) -> None:
    """The one bound of the years before KIP-937 counts on each side that its own property leaves alone."""
    for side in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"):
        if side not in values:
            attributes[attribute_of(side)] = values["message.timestamp.difference.max.ms"]


def record_version(format_version: str) -> int:
    """The record format, 0 to 2, of a `message.format.version` such as `0.9.0` or `2.8-IV1`."""
    parts = [int(part) for part in format_version.split("-")[0].split(".")]
    if parts < [0, 10]:
        return 0
    return 1 if parts < [0, 11] else 2


def _is_format_version(value: Value) -> str | None:
    assert isinstance(value, str)
    numbers = value.split("-")[0].split(".")
    known = len(numbers) >= 2 and all(number.isdecimal() for number in numbers)
    return None if known else f"Version {value} is not a valid version"


def _is_gzip_level(value: Value) -> str | None:
    known = value == -1 or (isinstance(value, int) and 1 <= value <= 9)
    return None if known else "Value must be between 1 and 9 or equal to -1"


def _are_throttled_replicas(value: Value) -> str | None:
    assert isinstance(value, tuple)
    if value in ((), ("*",)):
        return None
    for entry in value:
        partition, colon, broker = entry.partition(":")
        if not (colon and partition.isdecimal() and broker.isdecimal()):
            return "[partitionId]:[brokerId],[partitionId]:[brokerId],... or * is expected"
    return None


def check_together(values: Mapping[str, Value]) -> None:
    """Raises InvalidProperty for values that contradict each other (`LogConfig.validateValues`)."""
    minimum, maximum = values.get("min.compaction.lag.ms", 0), values.get("max.compaction.lag.ms", MAX_LONG)
    assert isinstance(minimum, int)
    assert isinstance(maximum, int)
    if minimum > maximum:
        raise InvalidProperty(
            "max.compaction.lag.ms", str(maximum), f"conflict with topic config setting min.compaction.lag.ms={minimum}"
        )


_TABLES: dict[LogRules, PropertySet] = {}


def topic_properties(rules: LogRules = LogRules()) -> PropertySet:  # noqa: B008 - an immutable value
    """The properties a topic may have in a release of these rules, with their defaults."""
    if rules not in _TABLES:
        _TABLES[rules] = PropertySet(sorted(_declare(rules), key=lambda property_: property_.name))
    return _TABLES[rules]


def _declare(rules: LogRules) -> list[Property]:
    boolean, integer, long = Type.BOOLEAN, Type.INT, Type.LONG
    zero, one = at_least(0), at_least(1)
    day, week, most = str(ONE_DAY_MS), str(SEVEN_DAYS_MS), str(MAX_LONG)
    properties = [
        Property("cleanup.policy", Type.LIST, "delete", list_of("compact", "delete")),
        Property("compression.gzip.level", integer, "-1", _is_gzip_level),
        Property("compression.lz4.level", integer, "9", between(1, 17)),
        Property(
            "compression.type",
            Type.STRING,
            "producer",
            one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        Property("compression.zstd.level", integer, "3", between(-131072, 22)),
        Property("delete.retention.ms", long, day, zero),
        Property("file.delete.delay.ms", long, "60000", zero),
        Property("flush.messages", long, most, one),
        Property("flush.ms", long, most, zero),
        Property("follower.replication.throttled.replicas", Type.LIST, "", _are_throttled_replicas),
        Property("index.interval.bytes", integer, "4096", zero),
        Property("leader.replication.throttled.replicas", Type.LIST, "", _are_throttled_replicas),
        Property("local.retention.bytes", long, "-2", at_least(-2)),
        Property("local.retention.ms", long, "-2", at_least(-2)),
        Property("max.compaction.lag.ms", long, most, one),
        Property("max.message.bytes", integer, "1048588", zero),
        Property("message.timestamp.after.max.ms", long, str(rules.timestamp_after_max_ms), zero),
        Property("message.timestamp.before.max.ms", long, most, zero),
        Property("message.timestamp.type", Type.STRING, "CreateTime", one_of("CreateTime", "LogAppendTime")),
        Property("min.cleanable.dirty.ratio", Type.DOUBLE, "0.5", between(0, 1)),
        Property("min.compaction.lag.ms", long, "0", zero),
        Property("min.insync.replicas", integer, "1", one),
        Property("preallocate", boolean, "false"),
        Property("remote.storage.enable", boolean, "false"),
        Property("retention.bytes", long, "-1", at_least(-1)),
        Property("retention.ms", long, week, at_least(-1)),
        Property("segment.bytes", integer, "1073741824", at_least(rules.least_segment_bytes)),
        Property("segment.index.bytes", integer, "10485760", at_least(4)),
        Property("segment.jitter.ms", long, "0", zero),
        Property("segment.ms", long, week, one),
        Property("unclean.leader.election.enable", boolean, "false"),
    ]
    if rules.knows_old_formats:
        properties += [
            Property("message.downconversion.enable", boolean, "true"),
            Property("message.format.version", Type.STRING, "3.0-IV1", _is_format_version),
            Property("message.timestamp.difference.max.ms", long, most, zero),
        ]
    else:
        properties += [
            Property("internal.segment.bytes", integer, None, at_least(14)),
            Property("remote.log.copy.disable", boolean, "false"),
            Property("remote.log.delete.on.disable", boolean, "false"),
        ]
    return properties
