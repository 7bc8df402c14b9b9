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

from kafkalet.properties import InvalidProperty, Value

from .topic_properties import DAY_MS, HOUR_MS, MAX_ARRAY, MAX_LONG, WEEK_MS, format_line, topic_properties


class LogRules(NamedTuple):
    """Where releases differ in what a log does. The defaults are those of 4.4."""

    # Decides which properties a topic may have, and their defaults.
    version: tuple[int, ...] = (4, 4)
    # DeleteRecords into an open transaction lifts the last stable offset to the new log start.
    lifts_unstable_to_log_start: bool = False
    # message.format.version decides the format on disk (KIP-724 ended it).
    honours_message_format: bool = False
    # A batch that claims LogAppendTime is refused by all topics, not only by those that stamp it themselves.
    refuses_claimed_append_time: bool = False


NEWEST = LogRules()

BEFORE_MAX_MS = "message.timestamp.before.max.ms"
AFTER_MAX_MS = "message.timestamp.after.max.ms"


class LogConfig(NamedTuple):
    """The configuration of one log."""

    segment_bytes: int = 1 << 30
    segment_ms: int = WEEK_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    preallocate: bool = False

    retention_ms: int = WEEK_MS
    # Any negative number is no limit.
    retention_bytes: int = -1
    local_retention_ms: int = -2
    local_retention_bytes: int = -2
    file_delete_delay_ms: int = 60_000

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    min_cleanable_dirty_ratio: float = 0.5

    max_message_bytes: int = (1 << 20) + 12
    # A record in a compressed batch may have so many bytes (4.4).
    max_decompressed_message_bytes: int = MAX_ARRAY
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = MAX_LONG
    message_timestamp_after_max_ms: int = HOUR_MS
    # producer, uncompressed, gzip, snappy, lz4 or zstd
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    # The format on disk: 0, 1 or 2. Other than 2 only where the release honours message.format.version.
    record_version: int = 2
    message_downconversion_enable: bool = True

    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG

    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()

    # Tiered storage is not emulated; its properties are kept and described.
    remote_storage_enable: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_copy_lag_ms: int = 0
    remote_copy_lag_bytes: int = -1
    errors_deadletterqueue_group_enable: bool = False

    # Rules of the emulated release, see LogRules.
    lifts_unstable_to_log_start: bool = False
    refuses_claimed_append_time: bool = False

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

    @property
    def keeps_built_batches(self) -> bool:
        """A batch of format 2, not compressed and with the time of its making, is kept as a broker has built it."""
        return (
            self.compression_type in ("producer", "uncompressed")
            and self.record_version == 2
            and not self.stamps_append_time
        )

    @classmethod
    def of(cls, texts: Mapping[str, str], rules: LogRules = NEWEST) -> Self:
        """The configuration that these properties of a topic make; what is not named has its default.

        Raises InvalidProperty for a value that is not allowed, for a name that no topic has, and for values that are
        allowed each but not together.
        """
        values = check(texts, rules)
        format_version = values.pop("message.format.version", ".".join(str(part) for part in rules.version))
        both_sides = values.pop("message.timestamp.difference.max.ms", None)
        if both_sides is not None:  # the one bound of the years before KIP-937, where its successors leave it alone
            values = {BEFORE_MAX_MS: both_sides, AFTER_MAX_MS: both_sides, **values}
        if "internal.segment.bytes" in values:
            values["segment.bytes"] = values.pop("internal.segment.bytes")
        attributes: dict[str, Any] = {attribute_of(name): value for name, value in values.items()}
        if "cleanup.policy" in values:
            attributes["cleanup_policy"] = frozenset(attributes["cleanup_policy"])
        if rules.version < (4, 0):
            attributes.setdefault(attribute_of(AFTER_MAX_MS), MAX_LONG)
        if rules.honours_message_format:
            attributes["record_version"] = record_version(str(format_version))
        return cls(
            **attributes,
            lifts_unstable_to_log_start=rules.lifts_unstable_to_log_start,
            refuses_claimed_append_time=rules.refuses_claimed_append_time,
        )


def attribute_of(name: str) -> str:
    """The attribute of LogConfig that holds a property of a topic: `segment.bytes` is in `segment_bytes`."""
    return name.replace(".", "_")


def record_version(format_version: str) -> int:
    """The record format, 0 to 2, of a `message.format.version` such as `0.9.0` or `2.8-IV1`."""
    numbers = [int(part) for part in format_line(format_version).partition("-")[0].split(".")]
    if numbers < [0, 10]:
        return 0
    return 1 if numbers < [0, 11] else 2


def check(texts: Mapping[str, str], rules: LogRules = NEWEST) -> dict[str, Value]:
    """The values of these properties of a topic, by name. Raises InvalidProperty like `LogConfig.of`."""
    properties = topic_properties(rules.version)
    if unknown := properties.unknown(texts):
        raise UnknownProperty(unknown[0], texts[unknown[0]])
    values = properties.parse(texts)
    least, most = values.get("min.compaction.lag.ms", 0), values.get("max.compaction.lag.ms", MAX_LONG)
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        reason = f"conflict with topic config setting max.compaction.lag.ms={most}"
        raise InvalidProperty("min.compaction.lag.ms", str(least), reason)
    return values


class UnknownProperty(InvalidProperty):
    """A name that no topic has in the emulated release."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(name, value, "no topic has it")
        self.args = (f"Unknown topic config name: {name}",)
