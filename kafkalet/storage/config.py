"""The configuration of a log: the parsed properties of its topic, and the emulated release's rules for logs.

LogConfig has one attribute for each topic property that affects a log, with the property's name in snake case and its
default in Kafka 4.4. Times are in milliseconds and sizes in bytes; -1 means "no limit" for the same properties as in
Kafka. The properties are declared in `topic_properties.py`. A `LogConfig` is immutable: to change the configuration,
the log gets a new one.

    LogConfig()                                               Kafka's defaults
    LogConfig(segment_bytes=1 << 20)                          in tests
    LogConfig.of({"retention.ms": "1000"}, rules)             from strings, validated as in Kafka
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kafkalet.properties import InvalidProperty, Value

from .topic_properties import FORMAT_VERSION, MAX_LONG, TOPIC_PROPERTIES, format_line, topic_properties

HIGH_WATERMARK, END_OF_ROUND, NOWHERE = "high watermark", "end of the round", "nowhere"
"""Values of `keeps_empty_batch_before`."""
RECORD, BATCH, COMPRESSED_BATCH = "record", "batch", "compressed batch"
"""Values of `place_of_max_timestamp`."""


class LogRules(NamedTuple):
    """The differences between releases that affect a log. The default values apply to Kafka 4.4."""

    # Selects the valid topic properties and their defaults.
    version: tuple[int, ...] = (4, 4)
    # If DeleteRecords removes part of an open transaction, the last stable offset rises to the new log start offset.
    lifts_unstable_to_log_start: bool = False
    # message.format.version selects the format on disk (removed by KIP-724).
    honors_message_format: bool = False
    # A batch that claims LogAppendTime is refused by every topic, not only by topics that use LogAppendTime.
    refuses_claimed_append_time: bool = False
    # The log cleaner gives tombstones and markers a delete horizon (KIP-534).
    sets_delete_horizons: bool = True
    # The offset before which the log cleaner keeps a batch even if it has no records left.
    keeps_empty_batch_before: str = HIGH_WATERMARK
    # A compacted segment has index entries for batches, not only one entry for each write of the log cleaner.
    indexes_each_batch: bool = True
    # Where the largest timestamp is found: at the first record that has it, or at the last offset of its batch,
    # either always or only if the batch is compressed or has LogAppendTime.
    place_of_max_timestamp: str = RECORD


NEWEST = LogRules()

INHERITED = -2
"""Local retention that is the same as the total retention."""

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
    # A negative number means no limit.
    retention_bytes: int = _default("retention.bytes")
    # With tiered storage: retention on the local disk (-2: the same as above), and what is not copied yet.
    remote_storage_enable: bool = _default("remote.storage.enable")
    remote_log_delete_on_disable: bool = _default("remote.log.delete.on.disable")
    remote_log_copy_disable: bool = _default("remote.log.copy.disable")
    local_retention_ms: int = _default("local.retention.ms")
    local_retention_bytes: int = _default("local.retention.bytes")
    remote_copy_lag_ms: int = _default("remote.copy.lag.ms")
    remote_copy_lag_bytes: int = _default("remote.copy.lag.bytes")
    file_delete_delay_ms: int = _default("file.delete.delay.ms")

    cleanup_policy: frozenset[str] = frozenset(_default("cleanup.policy"))
    min_compaction_lag_ms: int = _default("min.compaction.lag.ms")
    max_compaction_lag_ms: int = _default("max.compaction.lag.ms")
    min_cleanable_dirty_ratio: float = _default("min.cleanable.dirty.ratio")
    delete_retention_ms: int = _default("delete.retention.ms")

    max_message_bytes: int = _default("max.message.bytes")
    # Maximum size of a record in a compressed batch, after decompression (4.4).
    max_decompressed_message_bytes: int = _default("max.decompressed.message.bytes")
    message_timestamp_type: str = _default("message.timestamp.type")
    message_timestamp_before_max_ms: int = _default("message.timestamp.before.max.ms")
    message_timestamp_after_max_ms: int = _default("message.timestamp.after.max.ms")
    # producer, uncompressed, gzip, snappy, lz4 or zstd
    compression_type: str = _default("compression.type")
    compression_gzip_level: int = _default("compression.gzip.level")
    compression_lz4_level: int = _default("compression.lz4.level")
    compression_zstd_level: int = _default("compression.zstd.level")
    # The format on disk: 0, 1 or 2. It is 2 unless the release honors message.format.version.
    record_version: int = 2
    message_downconversion_enable: bool = _default("message.downconversion.enable")

    flush_messages: int = _default("flush.messages")
    flush_ms: int = _default("flush.ms")

    errors_deadletterqueue_group_enable: bool = _default("errors.deadletterqueue.group.enable")
    min_insync_replicas: int = _default("min.insync.replicas")
    unclean_leader_election_enable: bool = _default("unclean.leader.election.enable")
    # Replicas whose copying is throttled, as partition:broker, or * for all (KIP-73).
    leader_replication_throttled_replicas: tuple[str, ...] = _default("leader.replication.throttled.replicas")
    follower_replication_throttled_replicas: tuple[str, ...] = _default("follower.replication.throttled.replicas")

    # Rules of the emulated release; see LogRules.
    lifts_unstable_to_log_start: bool = False
    refuses_claimed_append_time: bool = False
    sets_delete_horizons: bool = True
    keeps_empty_batch_before: str = HIGH_WATERMARK
    indexes_each_batch: bool = True
    place_of_max_timestamp: str = RECORD

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes_old_segments(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def is_tiered(self) -> bool:
        """Whether segments may be in remote storage, if the broker has tiered storage."""
        return self.remote_storage_enable and not self.is_compacted

    def remote_copy_lag(self) -> tuple[int, int]:
        """Return the age in milliseconds at which segments are copied, and the number of newer bytes; -1: neither."""
        local = self.of_local_tier()
        lag_ms, lag_bytes = self.remote_copy_lag_ms, self.remote_copy_lag_bytes
        return (
            local.retention_ms if lag_ms < 0 else lag_ms,
            local.retention_bytes if lag_bytes < 0 else lag_bytes,
        )

    def of_local_tier(self) -> Self:
        """Return the configuration by which retention deletes segments that have been copied to remote storage."""
        ms, size = self.local_retention_ms, self.local_retention_bytes
        return self._replace(
            cleanup_policy=frozenset({"delete"}),
            retention_ms=self.retention_ms if ms == INHERITED else ms,
            retention_bytes=self.retention_bytes if size == INHERITED else size,
        )

    @property
    def stamps_append_time(self) -> bool:
        """Whether records get the append time as their timestamp (LogAppendTime)."""
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def max_segment_ms(self) -> int:
        """The maximum age of the active segment; `max.compaction.lag.ms` limits it for compacted logs."""
        if self.is_compacted and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms

    def draw_jitter_ms(self) -> int:
        """Return a random part of `segment.jitter.ms`, so that logs created together do not all roll at once."""
        if not self.segment_jitter_ms:
            return 0
        return int.from_bytes(os.urandom(4), "big") % min(self.segment_jitter_ms, self.segment_ms)

    @property
    def keeps_built_batches(self) -> bool:
        """Whether a coordinator's batch (v2, uncompressed, CreateTime) can be appended without validation."""
        return (
            self.compression_type in ("producer", "uncompressed")
            and self.record_version == 2
            and not self.stamps_append_time
        )

    @classmethod
    def of(cls, texts: Mapping[str, str], rules: LogRules = NEWEST) -> Self:
        """Return the configuration for these topic properties; missing properties get their defaults.

        Raises InvalidProperty for an invalid value, an unknown name, or values that contradict each other.
        """
        values = check(texts, rules)
        format_version = values.pop(FORMAT_VERSION, ".".join(str(part) for part in rules.version))
        both_sides = values.pop("message.timestamp.difference.max.ms", None)
        if both_sides is not None:  # replaced by the before and after limits of KIP-937, which override it
            values = {BEFORE_MAX_MS: both_sides, AFTER_MAX_MS: both_sides, **values}
        if "internal.segment.bytes" in values:
            values["segment.bytes"] = values.pop("internal.segment.bytes")
        effects = ((TOPIC_PROPERTIES[name].affects, value) for name, value in values.items())
        attributes: dict[str, Any] = {attribute: value for attribute, value in effects if attribute}
        if "cleanup.policy" in values:
            attributes["cleanup_policy"] = frozenset(attributes["cleanup_policy"])
        if rules.version < (4, 0):
            attributes.setdefault("message_timestamp_after_max_ms", MAX_LONG)
        if rules.honors_message_format:
            attributes["record_version"] = record_version(str(format_version))
        return cls(
            **attributes,
            lifts_unstable_to_log_start=rules.lifts_unstable_to_log_start,
            refuses_claimed_append_time=rules.refuses_claimed_append_time,
            sets_delete_horizons=rules.sets_delete_horizons,
            keeps_empty_batch_before=rules.keeps_empty_batch_before,
            indexes_each_batch=rules.indexes_each_batch,
            place_of_max_timestamp=rules.place_of_max_timestamp,
        )


def record_version(format_version: str) -> int:
    """Return the record format (0 to 2) for a `message.format.version` such as `0.9.0` or `2.8-IV1`."""
    numbers = [int(part) for part in format_line(format_version).partition("-")[0].split(".")]
    if numbers < [0, 10]:
        return 0
    return 1 if numbers < [0, 11] else 2


def check(texts: Mapping[str, str], rules: LogRules = NEWEST) -> dict[str, Value]:
    """Parse and check these topic properties; return the values, keyed by name.

    Raises InvalidProperty; see `LogConfig.of`.
    """
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


def check_tiers(config: LogConfig, *, is_possible: bool, was_tiered: bool) -> None:
    """Raise InvalidProperty if the properties for tiered storage contradict each other
    (LogConfig.validateTopicLogConfigValues).

    `is_possible` says whether the broker has remote storage, and `was_tiered` whether the topic has used it so far.
    """
    if not config.remote_storage_enable:
        if was_tiered and not config.remote_log_delete_on_disable:
            raise _contradiction("remote.storage.enable", _KEEPS_REMOTE_DATA)
        return
    if not is_possible:
        raise _contradiction("remote.storage.enable", _NO_TIERED_STORAGE)
    if config.cleanup_policy not in ({"delete"}, set()):
        raise _contradiction("cleanup.policy", _ONLY_DELETE)
    bounds = (
        ("bytes", config.retention_bytes, config.local_retention_bytes, config.remote_copy_lag_bytes),
        ("ms", config.retention_ms, config.local_retention_ms, config.remote_copy_lag_ms),
    )
    for unit, total, local, _ in bounds:
        if total > -1 and local == -1:
            reason = f"Value must not be -1 as retention.{unit} value is set as {total}."
            raise InvalidProperty(f"local.retention.{unit}", str(local), reason)
        if total > -1 and local > total:
            reason = f"Value must not be more than retention.{unit} property value: {total}"
            raise InvalidProperty(f"local.retention.{unit}", str(local), reason)
    for unit, total, local, lag in bounds:
        effective = total if local == INHERITED else local
        if 0 <= effective < lag:
            reason = f"Value must not exceed local.retention.{unit} (effective value: {effective})"
            raise InvalidProperty(f"remote.copy.lag.{unit}", str(lag), reason)
    for unit, total, local, _ in bounds:
        if config.remote_log_copy_disable and local not in (INHERITED, total):
            raise _contradiction("remote.log.copy.disable", _READ_ONLY.format(unit=unit))


_NO_TIERED_STORAGE = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)
_ONLY_DELETE = (
    "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list."
)
_KEEPS_REMOTE_DATA = (
    "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and "
    "turn to read only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable "
    "remote storage and delete all remote data, please set "
    "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
)
_READ_ONLY = (
    "When `remote.log.copy.disable` is set to true, the `local.retention.{unit}` and `retention.{unit}` must be set to "
    "the identical value because there will be no more logs copied to the remote storage."
)


def _contradiction(name: str, message: str) -> InvalidProperty:
    return InvalidProperty(name, "true", message, message)


class UnknownProperty(InvalidProperty):
    """The name is not a topic property of the emulated release."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(name, value, "not a topic property")
        self.args = (f"Unknown topic config name: {name}",)
