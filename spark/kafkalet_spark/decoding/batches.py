"""Read the headers of many entries as columns, without touching their records.

Only the length of an entry shows where the next one begins, so a loop first follows the lengths and does nothing else.
NumPy then gathers all other fields of all entries. Runs of entries of the same length, which are common if each batch
has one record, are also found with NumPy: as long as the length field `size` bytes further on holds the same length,
the run continues.

The header fields of format 2 are described in `kafkalet.protocol.records.batch`, the message fields of formats 0 and 1
in `kafkalet.protocol.records.legacy`.
"""

from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from kafkalet.protocol.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    LENGTH_AT,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_LENGTH,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    UP_TO_MAGIC,
)
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.legacy import OVERHEAD
from kafkalet.protocol.wire import Buffer

from .exactly import Unreadable

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_LENGTH = Struct(">i")
_SMALLEST = np.array([LOG_OVERHEAD + OVERHEAD[0], LOG_OVERHEAD + OVERHEAD[1], HEADER_SIZE])

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""The fixed-size part of a format 2 batch (DefaultRecordBatch)."""
_MESSAGE = np.dtype(
    [("offset", ">i8"), ("length", ">i4"), ("crc", ">u4"), ("magic", "i1"), ("attributes", "i1"), ("timestamp", ">i8")]
)


class Batches(NamedTuple):
    """The headers of entries as columns: one row per entry, in the order of their positions.

    In formats 0 and 1, `base_offset` and `last_offset` are both the offset of the message, and both timestamps are its
    timestamp (-1 in format 0); `count` is 1, or -1 (unknown) for a compressed message; `leader_epoch` and the producer
    fields are -1.
    """

    position: npt.NDArray[np.int64]  # in the buffer
    size: npt.NDArray[np.int64]  # in bytes, including offset and length
    base_offset: npt.NDArray[np.int64]
    last_offset: npt.NDArray[np.int64]
    leader_epoch: npt.NDArray[np.int32]
    magic: npt.NDArray[np.int8]
    crc: npt.NDArray[np.uint32]  # as stored
    attributes: npt.NDArray[np.int16]
    base_timestamp: npt.NDArray[np.int64]
    max_timestamp: npt.NDArray[np.int64]
    producer_id: npt.NDArray[np.int64]
    producer_epoch: npt.NDArray[np.int16]
    base_sequence: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]  # type: ignore[assignment]  # hides tuple.count, which is not used here

    @property
    def codec(self) -> npt.NDArray[np.int16]:
        """The codec number, 0 to 7; see `kafkalet.protocol.records.codecs.Codec`."""
        return self.attributes & np.int16(CODEC_MASK)

    @property
    def is_transactional(self) -> Mask:
        return self._bit(TRANSACTIONAL, 2)

    @property
    def is_control(self) -> Mask:
        return self._bit(CONTROL, 2)

    @property
    def is_log_append_time(self) -> Mask:
        return self._bit(LOG_APPEND_TIME, 1)

    def _bit(self, bit: int, since_magic: int) -> Mask:
        is_set: Mask = (self.attributes & np.int16(bit)) != 0
        return is_set & (self.magic >= since_magic)

    @property
    def end(self) -> Int64s:
        """For each entry, the position after it."""
        return self.position + self.size

    def take(self, rows: npt.NDArray[np.int64] | Mask | slice) -> "Batches":
        """Return the rows selected by a mask, indexes or a slice."""
        columns: tuple[Any, ...] = self
        return Batches(*(column[rows] for column in columns))


def walk(buffer: Buffer, start: int = 0, end: int | None = None) -> tuple[Batches, int]:
    """Return the complete entries of `buffer[start:end]`, and the position at which they end: `end`, or the start of an
    incomplete entry.

    Raises Unreadable for an entry whose size is below the minimum for its format, or whose magic is unknown
    (ByteBufferLogInputStream).
    """
    batches, stop, unreadable = scan(buffer, start, end)
    if unreadable is not None:
        raise unreadable
    return batches, stop


def scan(buffer: Buffer, start: int = 0, end: int | None = None) -> tuple[Batches, int, Unreadable | None]:
    """Like `walk`, but return the error, together with the entries before it, instead of raising it."""
    end = len(buffer) if end is None else end
    data = np.frombuffer(buffer, np.uint8)
    positions, stop = _follow(buffer, data, start, end)
    position = np.array(positions, np.int64)
    size = np.append(position[1:], stop) - position
    magic = data[position + MAGIC_AT].view(np.int8)
    known = (magic >= 0) & (magic <= 2)
    possible = known & (size >= _SMALLEST[np.where(known, magic, 0)])
    unreadable = None
    if not possible.all():
        first = int(possible.argmin())
        stop = int(position[first])
        unreadable = Unreadable(stop, end - stop, _why_impossible(int(size[first]), int(magic[first])))
        position, size, magic = position[:first], size[:first], magic[:first]
    elif end - stop >= LOG_OVERHEAD:
        unreadable = _impossible_tail(buffer, stop, end)
    return _columns(data, position, size, magic), stop, unreadable


def _follow(buffer: Buffer, data: Bytes, start: int, end: int) -> tuple[list[int], int]:
    """Follow the lengths of the entries. Return the positions of the entries, and the position at which the walk
    stops."""
    positions: list[int] = []
    add = positions.append
    unpack = _LENGTH.unpack_from
    position, before, alike = start, 0, 0
    last = end - UP_TO_MAGIC
    while position <= last:
        size = unpack(buffer, position + LENGTH_AT)[0] + LOG_OVERHEAD
        if size < LOG_OVERHEAD + MIN_LENGTH or size > end - position:
            break
        add(position)
        position += size
        if size != before:
            before, alike = size, 0
        elif (alike := alike + 1) == 8:
            run = _run(data, position, size, end)
            positions.extend(range(position, position + run * size, size))
            position += run * size
            alike = 0 if run > 64 else -64  # wait a while before looking for a run again
    return positions, position


def _run(data: Bytes, position: int, size: int, end: int) -> int:
    """Return how many consecutive entries of `size` bytes begin at `position`."""
    most = (end - position) // size
    if most == 0:
        return 0
    alike: Any = True
    for index, byte in enumerate(_LENGTH.pack(size - LOG_OVERHEAD), position + LENGTH_AT):
        alike = (data[index : index + (most - 1) * size + 1 : size] == byte) & alike
    return most if alike.all() else int(alike.argmin())


def _why_impossible(size: int, magic: int) -> str:
    if not 0 <= magic <= 2:
        return f"its magic is {magic}"
    return f"its length is {size - LOG_OVERHEAD}, below the minimum of format {magic}"


def _impossible_tail(buffer: Buffer, position: int, end: int) -> Unreadable | None:
    """Return the error if the walk stopped at an impossible entry; None if the entry is only incomplete."""
    (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_AT)
    if length < MIN_LENGTH:
        return Unreadable(position, end - position, f"its length is {length}, below the minimum of all formats")
    if end - position < UP_TO_MAGIC:
        return None
    magic = buffer[position + MAGIC_AT]
    if magic > 2:
        return Unreadable(position, end - position, _why_impossible(0, magic - (magic >> 7 << 8)))
    return None


def _columns(data: Bytes, position: Int64s, size: Int64s, magic: npt.NDArray[np.int8]) -> Batches:
    if position.size == 0 or magic.min() > 1:
        return _of_batches(data, position, size)
    if magic.max() < 2:
        return _of_messages(data, position, size, magic)
    is_batch = magic > 1
    batches: tuple[Any, ...] = _of_batches(data, position[is_batch], size[is_batch])
    messages: tuple[Any, ...] = _of_messages(data, position[~is_batch], size[~is_batch], magic[~is_batch])
    columns: list[Any] = []
    for ours, theirs in zip(batches, messages, strict=True):
        column = np.empty(position.size, ours.dtype)
        column[is_batch], column[~is_batch] = ours, theirs
        columns.append(column)
    return Batches(*columns)


def _gathered(data: Bytes, position: Int64s, header: np.dtype[Any]) -> npt.NDArray[Any]:
    """Copy the bytes of all headers into an array, with one row of type `header` each."""
    if position.size == 0:
        return np.empty(0, header)
    windows = np.lib.stride_tricks.sliding_window_view(data, header.itemsize)
    return windows[position].view(header)[:, 0]


def _of_batches(data: Bytes, position: Int64s, size: Int64s) -> Batches:
    header = _gathered(data, position, HEADER)
    base_offset = header["base_offset"].astype(np.int64)
    return Batches(
        position,
        size,
        base_offset,
        base_offset + header["last_offset_delta"],
        header["leader_epoch"].astype(np.int32),
        header["magic"].astype(np.int8),
        header["crc"].astype(np.uint32),
        header["attributes"].astype(np.int16),
        header["base_timestamp"].astype(np.int64),
        header["max_timestamp"].astype(np.int64),
        header["producer_id"].astype(np.int64),
        header["producer_epoch"].astype(np.int16),
        header["base_sequence"].astype(np.int32),
        header["count"].astype(np.int32),
    )


def _of_messages(data: Bytes, position: Int64s, size: Int64s, magic: npt.NDArray[np.int8]) -> Batches:
    header = _gathered(data, position, _MESSAGE)  # even the smallest message of format 0 has this many bytes
    offset = header["offset"].astype(np.int64)
    attributes = header["attributes"].astype(np.int16)
    timestamp = np.where(magic > 0, header["timestamp"].astype(np.int64), NO_TIMESTAMP)

    def nothing(value: int, kind: Any) -> npt.NDArray[Any]:
        return np.full(position.size, value, kind)

    return Batches(
        position,
        size,
        offset,
        offset,
        nothing(NO_LEADER_EPOCH, np.int32),
        magic.astype(np.int8),
        header["crc"].astype(np.uint32),
        attributes,
        timestamp,
        timestamp,
        nothing(NO_PRODUCER_ID, np.int64),
        nothing(NO_PRODUCER_EPOCH, np.int16),
        nothing(NO_SEQUENCE, np.int32),
        np.where(attributes & np.int16(CODEC_MASK) != 0, np.int32(-1), np.int32(1)),
    )


def wrong_checksums(buffer: Buffer, batches: Batches) -> Int64s:
    """Return the indexes of the entries whose stored CRC does not match their content."""
    view = memoryview(buffer)
    computed = [
        crc32c(view[position + ATTRIBUTES_AT : end]) if magic > 1 else crc32(view[position + MAGIC_AT : end])
        for position, end, magic in zip(
            batches.position.tolist(), batches.end.tolist(), batches.magic.tolist(), strict=True
        )
    ]
    return np.flatnonzero(np.array(computed, np.uint32) != batches.crc)
