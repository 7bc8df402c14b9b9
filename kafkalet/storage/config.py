"""What a log obeys: the properties of its topic, parsed, and the rules of the emulated release that concern a log.

One attribute for each property of a topic that a log obeys, by its name in snake case, with the default of Kafka 4.4;
times in milliseconds, sizes in bytes, -1 where Kafka writes -1 for "no limit". The properties are declared in
`topic_properties.py`. A `LogConfig` is a value: a change of configuration is another `LogConfig`, handed to the log as
a whole.

    LogConfig()                                               Kafka's defaults
    LogConfig(segment_bytes=1 << 20)                          in tests
    LogConfig.of({"retention.ms": "1000"}, rules)             from texts, checked as Kafka checks them
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kafkalet.properties import InvalidProperty, Value

from .topic_properties import FORMAT_VERSION, MAX_LONG, TOPIC_PROPERTIES, format_line, topic_properties


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


def _default(name: str) -> Any:
    return TOPIC_PROPERTIES[name].declared.default_value()


class LogConfig(NamedTuple):
    """The configuration of one log."""

    segment_bytes: int = _default("segment.bytes")
    segment_ms: int = _default("segment.ms")
    segment_jitter_ms: int = _default("segment.jitter.ms")
    segment_index_bytes: int = _default("segment.index.bytes")
    index_interval_bytes: int = _default("index.interval.bytes")

    retention_ms: int = _default("retention.ms")
    # Any negative number is no limit.
    retention_bytes: int = _default("retention.bytes")
    file_delete_delay_ms: int = _default("file.delete.delay.ms")

    cleanup_policy: frozenset[str] = frozenset(_default("cleanup.policy"))
    max_compaction_lag_ms: int = _default("max.compaction.lag.ms")

    max_message_bytes: int = _default("max.message.bytes")
    # A record in a compressed batch may have so many bytes (4.4).
    max_decompressed_message_bytes: int = _default("max.decompressed.message.bytes")
    message_timestamp_type: str = _default("message.timestamp.type")
    message_timestamp_before_max_ms: int = _default("message.timestamp.before.max.ms")
    message_timestamp_after_max_ms: int = _default("message.timestamp.after.max.ms")
    # producer, uncompressed, gzip, snappy, lz4 or zstd
    compression_type: str = _default("compression.type")
    compression_gzip_level: int = _default("compression.gzip.level")
    compression_lz4_level: int = _default("compression.lz4.level")
    compression_zstd_level: int = _default("compression.zstd.level")
    # The format on disk: 0, 1 or 2. Other than 2 only where the release honours message.format.version.
    record_version: int = 2
    message_downconversion_enable: bool = _default("message.downconversion.enable")

    flush_messages: int = _default("flush.messages")
    flush_ms: int = _default("flush.ms")

    min_insync_replicas: int = _default("min.insync.replicas")
    unclean_leader_election_enable: bool = _default("unclean.leader.election.enable")

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
    def max_segment_ms(self) -> int:
        """How much time one segment may hold: a compacted log also rolls by `max.compaction.lag.ms`."""
        if self.is_compacted and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms

    def draw_jitter_ms(self) -> int:
        """Draw a random part of `segment.jitter.ms`, so that logs that were made together do not roll together."""
        if not self.segment_jitter_ms:
            return 0
        return int.from_bytes(os.urandom(4), "big") % min(self.segment_jitter_ms, self.segment_ms)

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
        format_version = values.pop(FORMAT_VERSION, ".".join(str(part) for part in rules.version))
        both_sides = values.pop("message.timestamp.difference.max.ms", None)
        if both_sides is not None:  # the one bound of the years before KIP-937, where its successors leave it alone
            values = {BEFORE_MAX_MS: both_sides, AFTER_MAX_MS: both_sides, **values}
        if "internal.segment.bytes" in values:
            values["segment.bytes"] = values.pop("internal.segment.bytes")
        effects = ((TOPIC_PROPERTIES[name].affects, value) for name, value in values.items())
        attributes: dict[str, Any] = {attribute: value for attribute, value in effects if attribute}
        if "cleanup.policy" in values:
            attributes["cleanup_policy"] = frozenset(attributes["cleanup_policy"])
        if rules.version < (4, 0):
            attributes.setdefault("message_timestamp_after_max_ms", MAX_LONG)
        if rules.honours_message_format:
            attributes["record_version"] = record_version(str(format_version))
        return cls(
            **attributes,
            lifts_unstable_to_log_start=rules.lifts_unstable_to_log_start,
            refuses_claimed_append_time=rules.refuses_claimed_append_time,
        )


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
