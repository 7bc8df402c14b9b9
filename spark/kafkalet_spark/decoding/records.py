"""Decode the records of many entries into NumPy and Arrow columns.

    offset, timestamp, timestamp_type, row     NumPy columns
    key, value, headers                        Arrow columns, if requested

Batches of format 2 take the fast path: their payloads are put into one buffer, the starts of all records are found, all
fields are read column by column, and Arrow copies the bytes of keys and values. If this does not prove that a batch is
well-formed, the batch is read again by the full decoder, which either decodes it or raises an error.

Timestamps are those that a consumer sees: the record's own timestamp or, with LogAppendTime, the batch's max timestamp.
Offsets and timestamps wrap around at 64 bits, as in Java.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkalet.protocol.records.codecs import LIMIT
from kafkalet.protocol.records.record import Record, wrapped
from kafkalet.protocol.wire import Buffer

from .batches import Batches, Int64s, Mask
from .exactly import Unreadable, read_exactly
from .fields import RecordFields, read_fields, read_messages
from .headers import HEADERS, decoded_name, header_column, no_headers, read_headers
from .payloads import RECORD_BYTES, Payloads, payloads, slices
from .spans import binary_column
from .starts import SMALLEST_RECORD, record_starts

COLUMNS = frozenset({"offset", "timestamp", "key", "value", "headers"})
"""The columns that can be requested; offset and timestamp are always returned."""


class Records(NamedTuple):
    """One row per record, in log order."""

    offset: npt.NDArray[np.int64]
    timestamp: npt.NDArray[np.int64]  # in milliseconds, -1 for none
    timestamp_type: npt.NDArray[np.int32]  # 0: CreateTime, 1: LogAppendTime, -1: none (format 0)
    key: Any  # pa.BinaryArray, or None if not requested
    value: Any  # pa.BinaryArray, or None if not requested
    headers: Any  # pa.ListArray of HEADERS, null for a record without headers; or None if not requested
    row: npt.NDArray[np.int32]  # index of the entry in the given batches


def decode(buffer: Buffer, batches: Batches, want: Collection[str] = COLUMNS) -> Records:
    """Decode the records of all entries, including control batches. Checksums are not verified.

    Raises Unreadable for an entry that no consumer could read. All keys together must fit into 2 GiB, and so must all
    values.
    """
    return _joined(list(decode_all(buffer, batches, want, 1 << 30)), want)


def decode_all(
    buffer: Buffer,
    batches: Batches,
    want: Collection[str] = COLUMNS,
    max_bytes: int = 16 << 20,
    *,
    limit: int = LIMIT,
) -> Iterator[Records]:
    """Like `decode`, but yield pieces of about `max_bytes`. A piece is larger only if a single entry is.

    `row` is an index into all of `batches`, not into a piece. Records before an unreadable entry are yielded before
    Unreadable is raised. `limit` is the maximum decompressed size of an entry.
    """
    for records in decode_each(buffer, batches, want, max_bytes, limit=limit):
        if isinstance(records, Unreadable):
            raise records
        yield records


def decode_each(
    buffer: Buffer,
    batches: Batches,
    want: Collection[str] = COLUMNS,
    max_bytes: int = 16 << 20,
    *,
    limit: int = LIMIT,
) -> Iterator[Records | Unreadable]:
    """Like `decode_all`, but yield an Unreadable in place of an entry that cannot be read, instead of raising it."""
    is_legacy = batches.magic < 2
    rows = np.arange(batches.position.size)
    for alike in np.split(rows, np.flatnonzero(np.diff(is_legacy)) + 1):
        if alike.size and is_legacy[alike[0]]:
            for some in slices(batches.size[alike] + RECORD_BYTES, max_bytes):
                yield from _decode_messages(buffer, batches, alike[some], want, max_bytes, limit)
        elif alike.size:
            for piece in payloads(buffer, batches, alike, max_bytes, limit):
                if isinstance(piece, Unreadable):
                    yield piece
                else:
                    yield from _decode_piece(buffer, batches, piece, want, limit)


def _decode_messages(
    buffer: Buffer, batches: Batches, rows: Int64s, want: Collection[str], max_bytes: int, limit: int
) -> Iterator[Records | Unreadable]:
    """Decode entries of formats 0 and 1."""
    entries = batches.take(rows)
    messages = read_messages(np.frombuffer(buffer, np.uint8), entries)
    kind = timestamp_type(entries)
    for first, behind, is_sound in _stretches(messages.is_sound):
        if not is_sound:
            yield from _exact(buffer, batches, rows[first:behind], want, max_bytes, limit)
            continue
        some = slice(first, behind)
        yield Records(
            entries.base_offset[some],
            entries.base_timestamp[some],
            kind[some],
            binary_column(buffer, messages.key[some], messages.key_size[some]) if "key" in want else None,
            binary_column(buffer, messages.value[some], messages.value_size[some]) if "value" in want else None,
            no_headers(behind - first) if "headers" in want else None,
            rows[some].astype(np.int32),
        )


def timestamp_type(batches: Batches) -> npt.NDArray[np.int32]:
    """Return the timestamp types of the entries, as in Kafka's TimestampType: -1, 0 or 1."""
    return np.where(batches.magic == 0, np.int32(-1), batches.is_log_append_time.astype(np.int32))


def _decode_piece(
    buffer: Buffer, batches: Batches, piece: Payloads, want: Collection[str], limit: int
) -> Iterator[Records | Unreadable]:
    """Decode a piece: all at once, or in several parts if some batches need the full decoder."""
    count = batches.count[piece.row].astype(np.int64)
    is_sound = (count > 0) & (count <= (piece.end - piece.start) // SMALLEST_RECORD)
    if is_sound.all():
        records, is_sound = _decode_fast(batches, piece, count, want)
        if records is not None:
            yield records
            return
    for first, behind, sound in _stretches(is_sound):
        if sound:
            yield from _decode_piece(buffer, batches, piece.part(first, behind), want, limit)
        else:
            yield from _exact(buffer, batches, piece.row[first:behind], want, 0, limit)


def _stretches(mask: Mask) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of equal values as (start, end, value)."""
    bounds = [0, *(np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist(), mask.size]
    for first, behind in pairwise(bounds):
        yield first, behind, bool(mask[first])


def _decode_fast(
    batches: Batches, piece: Payloads, count: Int64s, want: Collection[str]
) -> tuple[Records | None, Mask]:
    """Return the records and a mask that covers all batches, if all are proven to be well-formed. Otherwise, return
    None and a mask of the batches that are proven to be."""
    data = np.frombuffer(piece.buffer, np.uint8)
    start = record_starts(data, piece.start, piece.end, count)
    last = np.cumsum(count) - 1
    end = np.empty_like(start)
    end[:-1] = start[1:]
    end[last] = piece.end
    fields = read_fields(data, start, end)
    batch = np.repeat(np.arange(count.size), count)
    if not fields.is_sound.all():
        return None, _sound_batches(count.size, batch[~fields.is_sound])
    having = np.flatnonzero(fields.header_count)
    if having.size:
        headers, are_sound = read_headers(data, fields.headers[having], fields.header_count[having], end[having])
        if not are_sound.all():
            return None, _sound_batches(count.size, batch[having[~are_sound]])
    header = None
    if "headers" in want:
        header = header_column(piece.buffer, fields.header_count, headers) if having.size else no_headers(start.size)
    return _assembled(batches, piece, batch, fields, header, want), _sound_batches(count.size, batch[:0])


def _sound_batches(count: int, doubtful: Int64s) -> Mask:
    is_sound = np.ones(count, np.bool_)
    is_sound[doubtful] = False
    return is_sound


def _assembled(
    batches: Batches, piece: Payloads, batch: Int64s, fields: RecordFields, headers: Any, want: Collection[str]
) -> Records:
    append = batches.is_log_append_time[piece.row]
    timestamp = fields.timestamp_delta + batches.base_timestamp[piece.row][batch]
    if append.any():
        timestamp = np.where(append[batch], batches.max_timestamp[piece.row][batch], timestamp)
    return Records(
        fields.offset_delta + batches.base_offset[piece.row][batch],
        timestamp,
        append.astype(np.int32)[batch],
        binary_column(piece.buffer, fields.key, fields.key_size) if "key" in want else None,
        binary_column(piece.buffer, fields.value, fields.value_size) if "value" in want else None,
        headers,
        piece.row.astype(np.int32)[batch],
    )


def _exact(
    buffer: Buffer, batches: Batches, rows: Int64s, want: Collection[str], max_bytes: int, limit: int
) -> Iterator[Records | Unreadable]:
    """Decode entries with the full decoder, in pieces of about `max_bytes`."""
    found: list[tuple[int, Record]] = []
    cost = 0
    for row in rows.tolist():
        try:
            records = read_exactly(buffer, int(batches.position[row]), int(batches.size[row]), limit)
        except Unreadable as error:
            if found:
                yield _of_objects(batches, found, want)
            yield error
            found, cost = [], 0
            continue
        found += [(row, record) for record in records]
        cost += sum(len(record.key or b"") + len(record.value or b"") + RECORD_BYTES for record in records)
        if found and cost >= max_bytes:
            yield _of_objects(batches, found, want)
            found, cost = [], 0
    if found:
        yield _of_objects(batches, found, want)


def _of_objects(batches: Batches, found: list[tuple[int, Record]], want: Collection[str]) -> Records:
    row = np.array([row for row, _ in found], np.int32)
    records = [record for _, record in found]
    return Records(
        np.array([wrapped(record.offset) for record in records], np.int64),
        np.array([wrapped(record.timestamp) for record in records], np.int64),
        timestamp_type(batches)[row],
        pa.array([record.key for record in records], pa.binary()) if "key" in want else None,
        pa.array([record.value for record in records], pa.binary()) if "value" in want else None,
        pa.array([_headers_of(record) for record in records], HEADERS) if "headers" in want else None,
        row,
    )


def _headers_of(record: Record) -> list[tuple[str, bytes | None]] | None:
    return [(decoded_name(key.encode("utf-8", "surrogateescape")), value) for key, value in record.headers] or None


def _joined(pieces: list[Records], want: Collection[str]) -> Records:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return _nothing(want)
    columns = zip(*pieces, strict=True)
    return Records(*(_joined_column(list(column)) for column in columns))


def _joined_column(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else pa.concat_arrays(parts)


def _nothing(want: Collection[str]) -> Records:
    return Records(
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        pa.array([], pa.binary()) if "key" in want else None,
        pa.array([], pa.binary()) if "value" in want else None,
        no_headers(0) if "headers" in want else None,
        np.empty(0, np.int32),
    )
