"""Encodes, decodes and validates the records inside a batch of format 2.

    length         varint   of the rest of the record
    attributes     1 byte   unused
    timestamp      varlong  delta from the base timestamp of the batch
    offset         varint   delta from the base offset of the batch
    key length     varint   negative for null
    key
    value length   varint   negative for null
    value
    header count   varint
    headers                 key length, key, value length (negative for null), value; lengths are varints

A record is well-formed if its fields end exactly where its length says. The records of a batch have to fill the payload
exactly (DefaultRecord.readFrom, DefaultRecordBatch.RecordIterator). Overlong varints are allowed. Timestamps overflow
at 64 bits as in Java.

There are two decoders. `read_record` is the slow one: it is exact and reports errors. The fast decoder has inline code
for one- and two-byte integers, and decodes runs of equally sized records column by column (runs.py); it leaves all
unusual input to the slow one. `walk.py` validates records in the same two ways without decoding them.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

from .interruption import check, check_at
from .runs import MOST_HEADERS, TIMESTAMP_BYTES, Run, Unusual, read_long, sweep
from .varint import SMALL, VarintTooLong, encode, read_varint, read_varlong

Headers = tuple[tuple[str, bytes | None], ...]
Row = tuple[int, int, bytes | None, bytes | None, Headers]


class Record(NamedTuple):
    """A record as a consumer receives it. `timestamp` is in milliseconds, or -1 if the record has none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def decode_records(
    payload: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None = None
) -> list[Record]:
    """Decode the `count` records of `payload`. If `append_time` is given, it is the timestamp of all records.

    Raises KafkaError as `read_record` does, or with INVALID_RECORD if there is data after the last record.
    """
    decoding = _Decoding(payload, base_offset, base_timestamp)
    try:
        if not -1 << 62 < base_timestamp < 1 << 62:
            raise Unusual
        sweep(payload, 0, len(payload), count, decoding)
        records = list(map(_make_record, decoding.rows))
    except (Unusual, IndexError):
        records = _decode_exactly(payload, count, base_offset, base_timestamp)
    if append_time is not None:
        return [record._replace(timestamp=append_time) for record in records]
    return records


LAZY_RECORDS = 1000


def iterate_records(
    payload: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None = None
) -> Iterator[Record]:
    """Iterate over the records that `decode_records` returns, decoding LAZY_RECORDS of them at a time.

    This is for callers that may not need all records. Raises KafkaError when the iteration reaches a malformed record.
    """
    position = 0
    for first in range(0, count, LAZY_RECORDS):
        check()
        until = min(count, first + LAZY_RECORDS)
        decoding = _Decoding(payload, base_offset, base_timestamp)
        try:
            if not -1 << 62 < base_timestamp < 1 << 62:
                raise Unusual
            position = decoding.one_by_one(position, first, until)
            records = list(map(_make_record, decoding.rows))
        except (Unusual, IndexError):
            records = []
            for _ in range(first, until):
                record, position = read_record(payload, position, base_offset, base_timestamp)
                records.append(record)
        if append_time is not None:
            records = [record._replace(timestamp=append_time) for record in records]
        yield from records
    check_nothing_left(payload, position)


_make_record = partial(tuple.__new__, Record)  # faster than Record(...), whose __new__ is a Python function


def invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_RECORD, message)


def wrapped(number: int) -> int:
    """Wrap an integer to a signed 64-bit value, as addition in Java does on overflow."""
    return (number + 0x8000000000000000 & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def _read_bytes(payload: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(payload, position)
    if size < 0:
        return None, position
    end = position + size
    if end > len(payload):
        raise IndexError
    return payload[position:end], end


def _read_headers(payload: bytes, position: int) -> tuple[Headers, int]:
    """Read the header count and the headers. Invalid UTF-8 in header keys is kept as surrogate escapes."""
    count, position = read_varint(payload, position)
    if count < 0:
        raise invalid(f"Found invalid number of record headers {count}")
    if count > len(payload) - position:
        raise invalid(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    headers = []
    for index in range(count):
        check_at(index)
        key, position = _read_bytes(payload, position)
        if key is None:
            raise invalid("Invalid negative header key size")
        value, position = _read_bytes(payload, position)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), position


def read_record(payload: bytes, position: int, base_offset: int = 0, base_timestamp: int = 0) -> tuple[Record, int]:
    """Read the record at `position`. Return the record and its end.

    Raises KafkaError with INVALID_RECORD for a malformed record, or with UNKNOWN_SERVER_ERROR if its length is not a
    valid varint (an uncaught exception in Kafka).
    """
    try:
        size, start = read_varint(payload, position)
    except IndexError:
        raise invalid("Incorrect declared batch size, premature EOF reached") from None
    except VarintTooLong as error:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, str(error)) from None
    remaining = len(payload) - start
    if remaining < size:
        raise invalid(
            f"Invalid record size: expected {size} bytes in record payload, but instead the buffer has only"
            f" {remaining} remaining bytes."
        )
    try:
        timestamp_delta, end = read_varlong(payload, start + 1)
        offset_delta, end = read_varint(payload, end)
        key, end = _read_bytes(payload, end)
        value, end = _read_bytes(payload, end)
        headers, end = _read_headers(payload, end)
    except (IndexError, VarintTooLong):
        raise invalid("Found invalid record structure") from None
    if end - start != size:
        raise invalid(
            f"Invalid record size: expected to read {size} bytes in record payload, but instead read {end - start}"
        )
    return Record(base_offset + offset_delta, wrapped(base_timestamp + timestamp_delta), key, value, headers), end


def _decode_exactly(payload: bytes, count: int, base_offset: int, base_timestamp: int) -> list[Record]:
    records = []
    position = 0
    for index in range(count):
        check_at(index)
        record, position = read_record(payload, position, base_offset, base_timestamp)
        records.append(record)
    check_nothing_left(payload, position)
    return records


def check_nothing_left(payload: bytes, position: int) -> None:
    """Raise KafkaError(INVALID_RECORD) unless `position`, the end of the last record, is the end of the payload."""
    if position != len(payload):
        raise invalid("Incorrect declared batch size, records still remaining in file")


def _usual_headers(payload: bytes, p: int) -> tuple[Headers, int]:
    """Read the header count and the headers. Raises Unusual if a key length is negative, or for many headers."""
    count, p = read_long(payload, p)
    if count > MOST_HEADERS:
        raise Unusual
    odd = count
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count >> 1):
        size = payload[p]
        p += 1
        if size > 127:
            size, p = read_long(payload, p - 1)
        odd |= size
        end = p + (size >> 1)
        key = payload[p:end].decode("utf-8", "surrogateescape")
        size = payload[end]
        p = end + 1
        if size > 127:
            size, p = read_long(payload, end)
        if size & 1:
            headers.append((key, None))
        else:
            end = p + (size >> 1)
            headers.append((key, payload[p:end]))
            p = end
    if odd & 1:
        raise Unusual
    return tuple(headers), p


class _Decoding:
    """The fast decoder. It collects rows, which the caller converts to records."""

    __slots__ = ("base_offset", "base_timestamp", "payload", "rows")

    def __init__(self, payload: bytes, base_offset: int, base_timestamp: int) -> None:
        self.payload, self.base_offset, self.base_timestamp = payload, base_offset, base_timestamp
        self.rows: list[Row] = []

    def one_by_one(self, p: int, index: int, until: int) -> int:  # noqa: C901
        """Decode records individually. The varint code is inlined because a call costs as much as reading a field."""
        payload, base_offset, base_timestamp, add = (
            self.payload,
            self.base_offset,
            self.base_timestamp,
            self.rows.append,
        )
        key: bytes | None
        value: bytes | None
        headers: Headers
        first = base_offset + index
        for usual, offset in zip(range(2 * index, 2 * until, 2), range(first, first + until - index), strict=True):
            size = payload[p]
            if size < 128:
                p += 1
            elif (c := payload[p + 1]) < 128:
                p += 2
                size = c << 7 | size & 127
            else:
                size, p = read_long(payload, p)
            start = p
            delta = payload[p + 1]
            if delta < 128:
                p += 2
            elif (c := payload[p + 2]) < 128:
                p += 3
                delta = c << 7 | delta & 127
            else:
                delta, p = read_long(payload, p + 1, TIMESTAMP_BYTES)
            timestamp = base_timestamp + (~(delta >> 1) if delta & 1 else delta >> 1)
            delta = payload[p]
            if delta < 128:
                p += 1
            elif (c := payload[p + 1]) < 128:
                p += 2
                delta = c << 7 | delta & 127
            else:
                delta, p = read_long(payload, p)
            if delta != usual:
                offset = base_offset + (~(delta >> 1) if delta & 1 else delta >> 1)
            b = payload[p]
            if b < 128:
                p += 1
            else:
                b, p = read_long(payload, p)
            if b & 1:
                key = None
            else:
                end = p + (b >> 1)
                key = payload[p:end]
                p = end
            b = payload[p]
            if b < 128:
                p += 1
            elif (c := payload[p + 1]) < 128:
                p += 2
                b = c << 7 | b & 127
            else:
                b, p = read_long(payload, p)
            if b & 1:
                value = None
            else:
                end = p + (b >> 1)
                value = payload[p:end]
                p = end
            if payload[p]:
                headers, p = _usual_headers(payload, p)
            else:
                headers = ()
                p += 1
            if p - start << 1 != size:
                raise Unusual
            add((offset, timestamp, key, value, headers))
        return p

    def take_run(self, run: Run, index: int) -> None:
        payload = self.payload
        headers: Iterable[Headers] = repeat(())
        if run.shape.headers:
            columns = []
            for key, value in run.shape.headers:
                keys = [(name or b"").decode("utf-8", "surrogateescape") for name in run.field(payload, key)]
                columns.append(zip(keys, run.field(payload, value), strict=True))
            headers = zip(*columns, strict=True)
        deltas = run.timestamps()
        base = self.base_timestamp
        timestamps: Iterable[int] = repeat(base)
        if any(deltas):
            timestamps = [base + (~(delta >> 1) if delta & 1 else delta >> 1) for delta in deltas]
        first = self.base_offset + index
        self.rows += zip(
            range(first, first + run.length),
            timestamps,
            run.field(payload, run.shape.key),
            run.field(payload, run.shape.value),
            headers,
            strict=False,
        )


def _encode_headers(headers: Headers) -> bytes:
    pieces = [encode(len(headers))]
    for key, value in headers:
        name = key.encode("utf-8", "surrogateescape")
        pieces += (encode(len(name)), name)
        pieces += (b"\1",) if value is None else (encode(len(value)), value)
    return b"".join(pieces)


def encode_records(records: Iterable[Row], base_offset: int, base_timestamp: int) -> bytes:
    """Encode records. This is the inverse of `decode_records` (DefaultRecord.writeTo)."""
    pieces: list[bytes] = []
    extend = pieces.extend
    small, bound = SMALL, len(SMALL)
    for offset, timestamp, key, value, headers in records:
        number = timestamp - base_timestamp
        timestamp_delta = small[number] if 0 <= number < bound else encode(number)
        number = offset - base_offset
        offset_delta = small[number] if 0 <= number < bound else encode(number)
        if value is None:
            value_size, value, size = b"\1", b"", 0
        else:
            size = len(value)
            value_size = small[size] if size < bound else encode(size)
        if key is None:
            key_size, key = b"\1", b""
        else:
            number = len(key)
            size += number
            key_size = small[number] if number < bound else encode(number)
        header_bytes = _encode_headers(headers) if headers else b"\0"
        size += 1 + len(timestamp_delta) + len(offset_delta) + len(key_size) + len(value_size) + len(header_bytes)
        record_size = small[size] if size < bound else encode(size)
        extend((record_size, b"\0", timestamp_delta, offset_delta, key_size, key, value_size, value, header_bytes))
    return b"".join(pieces)
