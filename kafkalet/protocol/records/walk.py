"""Validates the records of a produced batch without decoding them, and collects what the broker needs to know.

The rules of `record.py` apply. For a compressed batch, Kafka skips the fields of a record without checking its length
(DefaultRecord.readPartiallyFrom); `lengths_count=False` selects this behavior.

As in `record.py`, there is a fast reader for common records and runs. If the fast reader cannot process a record or
does not collect all details that the result needs, the exact reader starts over from the first record.
"""

from typing import NamedTuple

from kafkalet.protocol.wire import Buffer

from .effort import TakesLong
from .interruption import check_at
from .record import check_nothing_left, invalid, read_record, wrapped
from .runs import TIMESTAMP_BYTES, Run, Unusual, read_long, sweep
from .varint import VarintTooLong, read_varint, read_varlong

MOST_HEADERS = 32
"""The number of headers of a common record. With 2,000 such records, validation takes a few milliseconds."""


class WalkResult(NamedTuple):
    """The result of `walk_records`. The first record of the batch has index 0."""

    max_timestamp: int
    """The largest timestamp, or -1 if there are no records or no timestamp is above -1."""
    index_of_max_timestamp: int
    """The index of the first record with the max timestamp, or -1 if max_timestamp is -1."""
    offsets_in_order: bool
    """Whether the offset deltas are 0, 1, 2, ..."""
    null_keys: list[int]
    """The indexes of the records without a key, if `report_null_keys` is set."""
    bad_timestamps: list[tuple[int, int, int]]
    """(index, offset delta, timestamp) of each record before `earliest` or after `latest`; timestamp -1 is allowed."""


def walk_records(
    buffer: Buffer,
    start: int,
    end: int,
    count: int,
    base_timestamp: int,
    *,
    append_time: int | None = None,
    report_null_keys: bool = False,
    earliest: int | None = None,
    latest: int | None = None,
    lengths_count: bool = True,
    at_once: bool = False,
) -> WalkResult:
    """Check that `buffer[start:end]` consists of `count` well-formed records, and return what was found.

    `append_time`, if given, is the timestamp of all records (LogAppendTime). A memoryview is copied first; bytes and
    bytearray are not. Raises KafkaError as `read_record` does; with `at_once`, raises TakesLong if the exact reader is
    needed.
    """
    if isinstance(buffer, memoryview):
        buffer, start, end = bytes(buffer[start:end]), 0, end - start
    walking = _Walking(buffer)
    try:
        if not -1 << 62 < base_timestamp < 1 << 62:
            raise Unusual
        sweep(buffer, start, end, count, walking)
        return walking.result(base_timestamp, append_time, report_null_keys, earliest, latest)
    except (Unusual, IndexError):
        if at_once:
            raise TakesLong from None
        return _walk_exactly(
            bytes(buffer[start:end]),
            count,
            base_timestamp,
            append_time=append_time,
            report_null_keys=report_null_keys,
            earliest=earliest,
            latest=latest,
            lengths_count=lengths_count,
        )


def _usual_headers(buffer: bytes | bytearray, p: int) -> int:
    """Skip the header count and the headers, and return their end.

    Raises Unusual if a key length is negative, or if there are many headers.
    """
    count, p = read_long(buffer, p)
    if count > MOST_HEADERS:
        raise Unusual
    odd = count
    for _ in range(count >> 1):
        size = buffer[p]
        p += 1
        if size > 127:
            size, p = read_long(buffer, p - 1)
        odd |= size
        p += size >> 1
        size = buffer[p]
        p += 1
        if size > 127:
            size, p = read_long(buffer, p - 1)
        if not size & 1:
            p += size >> 1
    if odd & 1:
        raise Unusual
    return p


class _Walking:
    """The fast reader. It keeps the largest timestamp and a few flags.

    Timestamps are deltas in zig-zag encoding, so even numbers stand for deltas that are not negative.
    """

    __slots__ = ("buffer", "has_null_key", "index_of_largest", "largest", "seen")

    def __init__(self, buffer: bytes | bytearray) -> None:
        self.buffer = buffer
        self.largest = self.index_of_largest = -1
        self.seen = 0  # the bitwise OR of all zigzag-encoded timestamps: its lowest bit is set if any is negative
        self.has_null_key = False

    def one_by_one(self, p: int, index: int, until: int) -> int:  # noqa: C901
        """Validate records individually. The varint code is inlined because a call costs as much as reading a field."""
        buffer, largest, seen = self.buffer, self.largest, self.seen
        for offset in range(2 * index, 2 * until, 2):
            size = buffer[p]
            if size < 128:
                p += 1
            elif (c := buffer[p + 1]) < 128:
                p += 2
                size = c << 7 | size & 127
            else:
                size, p = read_long(buffer, p)
            end = p + (size >> 1)
            b = buffer[p + 1]
            if b < 128:
                p += 2
            elif (c := buffer[p + 2]) < 128:
                p += 3
                b = c << 7 | b & 127
            else:
                b, p = read_long(buffer, p + 1, TIMESTAMP_BYTES)
            seen |= b
            if b > largest:
                if b & 1:
                    raise Unusual
                largest = b
                self.index_of_largest = offset >> 1
            b = buffer[p]
            if b < 128:
                p += 1
            elif (c := buffer[p + 1]) < 128:
                p += 2
                b = c << 7 | b & 127
            else:
                b, p = read_long(buffer, p)
            if b != offset:
                raise Unusual
            b = buffer[p]
            if b < 128:
                p += 1
            else:
                b, p = read_long(buffer, p)
            if b & 1:
                self.has_null_key = True
            else:
                p += b >> 1
            b = buffer[p]
            if b < 128:
                p += 1
            elif (c := buffer[p + 1]) < 128:
                p += 2
                b = c << 7 | b & 127
            else:
                b, p = read_long(buffer, p)
            if not b & 1:
                p += b >> 1
            if buffer[p]:
                p = _usual_headers(buffer, p)
            else:
                p += 1
            if p != end or size & 1:
                raise Unusual
        self.largest, self.seen = largest, seen
        return p

    def take_run(self, run: Run, index: int) -> None:
        if run.has_negative_timestamp():
            self.seen |= 1
            deltas = run.timestamps()
            largest = max((delta for delta in deltas if not delta & 1), default=-1)
            if largest == self.largest == -1:
                raise Unusual
            first = deltas.index(largest) if largest > -1 else 0
        else:
            largest, first = run.largest_timestamp()
        if largest > self.largest:
            self.largest, self.index_of_largest = largest, index + first
        if run.shape.key is None:
            self.has_null_key = True

    def result(
        self,
        base_timestamp: int,
        append_time: int | None,
        report_null_keys: bool,
        earliest: int | None,
        latest: int | None,
    ) -> WalkResult:
        """Return the result. Raises Unusual if it needs details that this reader does not collect."""
        largest, smallest = base_timestamp + (self.largest >> 1), base_timestamp
        index = self.index_of_largest
        if append_time is not None:
            largest = smallest = append_time
            index = min(index, 0)
        elif self.seen & 1 and earliest is not None:
            raise Unusual
        if index < 0 or largest <= -1:
            largest = index = -1
        if report_null_keys and self.has_null_key:
            raise Unusual
        if (earliest is not None and smallest < earliest) or (latest is not None and largest > latest):
            raise Unusual
        return WalkResult(largest, index, True, [], [])


def _skip_record(payload: bytes, position: int) -> tuple[int, int, bool, int]:
    """Read a record of a compressed batch, ignoring its length.

    Return the timestamp delta, the offset delta, whether the record has a key, and its end. Raises
    KafkaError(INVALID_RECORD).
    """
    try:
        _, position = read_varint(payload, position)
        timestamp_delta, position = read_varlong(payload, position + 1)
        offset_delta, position = read_varint(payload, position)
        key_size, position = read_varint(payload, position)
        position += max(key_size, 0)
        value_size, position = read_varint(payload, position)
        header_count, position = read_varint(payload, position + max(value_size, 0))
        if header_count < 0:
            raise invalid(f"Found invalid number of record headers {header_count}")
        for index in range(header_count):
            check_at(index)
            size, position = read_varint(payload, position)
            if size < 0:
                raise invalid(f"Invalid negative header key size {size}")
            size, position = read_varint(payload, position + size)
            position += max(size, 0)
    except (IndexError, VarintTooLong):
        raise invalid("Found invalid record structure") from None
    if position > len(payload):
        raise invalid("Reached end of input stream before skipping all bytes.")
    return timestamp_delta, offset_delta, key_size >= 0, position


def _read_record(payload: bytes, position: int) -> tuple[int, int, bool, int]:
    """Read a record like `_skip_record`, but check its length."""
    record, end = read_record(payload, position)
    return record.timestamp, record.offset, record.key is not None, end


def _walk_exactly(
    payload: bytes,
    count: int,
    base_timestamp: int,
    *,
    append_time: int | None,
    report_null_keys: bool,
    earliest: int | None,
    latest: int | None,
    lengths_count: bool,
) -> WalkResult:
    """Return the result for any records. This function is slower than `_Walking`."""
    read = _read_record if lengths_count else _skip_record
    position = 0
    max_timestamp = index_of_max_timestamp = -1
    offsets_in_order = True
    null_keys = []
    bad_timestamps = []
    for index in range(count):
        check_at(index)
        timestamp_delta, offset_delta, has_key, position = read(payload, position)
        timestamp = wrapped(base_timestamp + timestamp_delta) if append_time is None else append_time
        if timestamp > max_timestamp:
            max_timestamp, index_of_max_timestamp = timestamp, index
        offsets_in_order = offsets_in_order and offset_delta == index
        if report_null_keys and not has_key:
            null_keys.append(index)
        too_early = earliest is not None and timestamp < earliest
        if timestamp != -1 and (too_early or (latest is not None and timestamp > latest)):
            bad_timestamps.append((index, offset_delta, timestamp))
    check_nothing_left(payload, position)
    return WalkResult(max_timestamp, index_of_max_timestamp, offsets_in_order, null_keys, bad_timestamps)
