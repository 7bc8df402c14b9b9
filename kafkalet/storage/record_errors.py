"""Errors of single records, with the messages that Kafka sends to producers (LogValidator.validateRecord).

    no key, in a compacted topic                                            INVALID_RECORD
    a timestamp out of range, with CreateTime                               INVALID_TIMESTAMP
    the timestamp type LogAppendTime, which producers may not claim: if the topic uses LogAppendTime, or if the record
    has no timestamp; before Kafka 3.6 always                               INVALID_TIMESTAMP

At most one error is reported per record. A batch with an invalid record is refused as a whole: with INVALID_TIMESTAMP
if any record has that error, otherwise with INVALID_RECORD. The timestamp -1 means that there is no timestamp, and is
never out of range.
"""

from collections.abc import Iterable, Sequence

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import NO_TIMESTAMP
from kafkalet.protocol.records.record import Record, wrapped
from kafkalet.protocol.records.walk import WalkResult

from .config import LogConfig
from .refusals import RecordError, RecordsRefused
from .topic_properties import MAX_LONG

SHOWN = 3
"""The number of errors listed in the message for the whole batch."""


class RecordRules:
    """What a topic requires of each record at a given time. `partition` names the partition in error messages."""

    __slots__ = ("_config", "_now_ms", "_partition", "earliest", "latest", "needs_key")

    def __init__(self, config: LogConfig, now_ms: int, partition: str) -> None:
        self._config = config
        self._now_ms = now_ms
        self._partition = partition
        self.needs_key = config.is_compacted
        self.earliest: int | None = None
        """Bounds of the producer's timestamps, inclusive; None if there is no bound."""
        self.latest: int | None = None
        if not config.stamps_append_time:
            if config.message_timestamp_before_max_ms < MAX_LONG:
                self.earliest = now_ms - config.message_timestamp_before_max_ms
            if config.message_timestamp_after_max_ms < MAX_LONG:
                self.latest = now_ms + config.message_timestamp_after_max_ms
                # Kafka's 64-bit subtraction overflows for timestamps in the distant past, which then count as in the
                # future.
                underflow = now_ms - MAX_LONG - 1
                self.earliest = underflow if self.earliest is None else max(self.earliest, underflow)

    def without_key(self, index: int) -> RecordError:
        return RecordError(
            index, f"Compacted topic cannot accept message without key in topic partition {self._partition}"
        )

    def out_of_range(self, index: int, offset: int, timestamp: int) -> RecordError:
        earliest = wrapped(self._now_ms - self._config.message_timestamp_before_max_ms)
        latest = wrapped(self._now_ms + self._config.message_timestamp_after_max_ms)
        return RecordError(
            index,
            f"Timestamp {timestamp} of message with offset {offset} is out of range."
            f" The timestamp should be within [{earliest}, {latest}]",
        )

    def check_walked(self, walked: WalkResult) -> None:
        """Raise RecordsRefused if the pass over the records found missing keys or timestamps out of range."""
        if walked.null_keys or walked.bad_timestamps:
            keyless = [self.without_key(index) for index in walked.null_keys]
            late = [self.out_of_range(*bad) for bad in walked.bad_timestamps if bad[0] not in walked.null_keys]
            refuse(keyless, late)

    def refuses_append_time(self, timestamp: int) -> bool:
        """Return whether a record with this timestamp is invalid in a batch that claims LogAppendTime."""
        config = self._config
        return config.stamps_append_time or timestamp == NO_TIMESTAMP or config.refuses_claimed_append_time

    def check_records(self, records: Iterable[Record], *, claim_append_time: bool, skimmed: bool = False) -> None:
        """Raise RecordsRefused if any of the decoded records is invalid.

        `claim_append_time` means that their batch claims LogAppendTime. `skimmed` means that Kafka skips keys and
        values here (PartialDefaultRecord), which is visible in the error message.
        """
        keyless, late = [], []
        for index, record in enumerate(records):
            timestamp = record.timestamp
            if self.needs_key and record.key is None:
                keyless.append(self.without_key(index))
            elif not self._is_in_bounds(timestamp):
                late.append(self.out_of_range(index, record.offset, timestamp))
            elif claim_append_time and self.refuses_append_time(timestamp):
                late.append(_wrong_type(index, record, skimmed))
        if keyless or late:
            refuse(keyless, late)

    def _is_in_bounds(self, timestamp: int) -> bool:
        return timestamp == NO_TIMESTAMP or (
            (self.earliest is None or timestamp >= self.earliest) and (self.latest is None or timestamp <= self.latest)
        )


def _wrong_type(index: int, record: Record, skimmed: bool) -> RecordError:
    null = -1 if skimmed else 0
    key_bytes = null if record.key is None else len(record.key)
    value_bytes = null if record.value is None else len(record.value)
    return RecordError(
        index,
        f"Invalid timestamp type in message {'Partial' if skimmed else ''}DefaultRecord(offset={record.offset},"
        f" timestamp={record.timestamp}, key={key_bytes} bytes, value={value_bytes} bytes)."
        " Producer should not set timestamp type to LogAppendTime.",
    )


def refuse(records: Sequence[RecordError], timestamps: Sequence[RecordError]) -> None:
    """Raise RecordsRefused for records that are invalid or have an invalid timestamp; there is at least one."""
    errors = sorted([*records, *timestamps])
    if timestamps:
        raise RecordsRefused(
            Code.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors
        )
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{text}')" for index, text in errors[:SHOWN])
    raise RecordsRefused(
        Code.INVALID_RECORD,
        f"One or more records have been rejected due to {len(errors)} record errors in total,"
        f" and only showing the first three errors at most: [{shown}]",
        errors,
    )
