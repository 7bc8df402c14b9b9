"""Views of log entries: a view reads the header of an entry and leaves its records encoded.

An entry is a batch of format 2 or a legacy message. A batch has the following layout (DefaultRecordBatch, KIP-98). All
numbers are big-endian, and sizes are in bytes:

     0  base offset         8   assigned by the broker     } not covered by the checksum,
     8  length              4   of the rest of the batch   } so that a broker can set them
    12  leader epoch        4   assigned by the broker     } without reading the records
    16  magic               1
    17  crc                 4   CRC-32C of the rest of the batch
    21  attributes          2   bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 delete horizon
    23  last offset delta   4
    27  base timestamp      8
    35  max timestamp       8
    43  producer id         8
    51  producer epoch      2
    53  base sequence       4
    57  record count        4
    61  records                 compressed together, depending on the codec

An entry of format 0 or 1 is a message, or a wrapper that contains compressed messages (legacy.py). Its first twelve
bytes have the same layout, and the magic is at the same position. The `Batch` of such an entry contains the fields of
the message itself; for a wrapper, these are the offset of the last inner message and the largest timestamp.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

from . import legacy
from .codecs import LIMIT, Codec, decompress
from .crc32c import PATCH_FROM, crc32c, crc32c_patch
from .record import Record, decode_records, iterate_records

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
ENTRY_HEAD = Struct(">qi4xb6xi")
"""The beginning of a batch of format 2: base offset, length, magic and last offset delta."""
LOG_OVERHEAD = 12
"""The size of the base offset and length fields, which `length` does not include."""
UP_TO_MAGIC = 17
"""The size of an entry up to and including the magic, which determines the format of the rest."""
MIN_LENGTH = 14
"""The minimum `length` of an entry: an empty message of format 0."""

LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
MAX_TIMESTAMP_AT = 35
PRODUCER_ID_AT = 43
COUNT_AT = 57

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

INT32 = Struct(">i")
INT64 = Struct(">q")
_UINT32 = Struct(">I")
_ATTRIBUTES = Struct(">h")

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1


class TimestampType(IntEnum):
    """Whether the producer or the broker sets the timestamps of an entry."""

    NO_TIMESTAMP_TYPE = -1  # format 0
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Batch:
    """A view of a complete entry, which starts at `position` in `buffer`. The module docstring lists the fields.

    In formats 0 and 1, base_offset is the offset of the entry, base_timestamp and max_timestamp are its timestamp (-1
    in format 0), and count is 1, or -1 (unknown) for a wrapper. leader_epoch and the producer fields are -1.
    """

    __slots__ = (
        *("attributes", "base_offset", "base_sequence", "base_timestamp", "buffer", "count", "crc"),
        *("last_offset_delta", "leader_epoch", "magic", "max_timestamp", "position", "producer_epoch", "producer_id"),
        "size",
    )
    size: int  # in bytes, including the offset and length fields
    magic: int
    base_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position
        if buffer[position + MAGIC_AT] > 1:
            (
                self.base_offset,
                length,
                self.leader_epoch,
                self.magic,
                self.crc,
                self.attributes,
                self.last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.count,
            ) = HEADER.unpack_from(buffer, position)
            self.size = length + LOG_OVERHEAD
        else:
            self._init_legacy(buffer, position)

    def _init_legacy(self, buffer: Buffer, position: int) -> None:
        message = legacy.read_header(buffer, position)
        self.size, self.magic, self.crc, self.attributes = message.size, message.magic, message.crc, message.attributes
        self.base_offset, self.last_offset_delta = message.offset, 0
        self.base_timestamp = self.max_timestamp = message.timestamp
        self.count = -1 if message.attributes & CODEC_MASK else 1
        self.leader_epoch = NO_LEADER_EPOCH
        self.producer_id, self.producer_epoch, self.base_sequence = NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE

    def __repr__(self) -> str:
        return (
            f"<Batch of format {self.magic} at {self.position}, {self.size} bytes,"
            f" offsets {self.base_offset} to {self.last_offset}>"
        )

    @property
    def end(self) -> int:
        """The position of the first byte after the entry."""
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, or -1 if the batch has none. It wraps to 0 after 2,147,483,647."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> Codec:
        """The compression codec. Raises KafkaError(UNKNOWN_SERVER_ERROR) for an unknown id, as Kafka does."""
        return Codec.of(self.attributes & CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic > 1 and self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.magic > 1 and self.attributes & CONTROL != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which a compacted log may drop the tombstones and markers of this batch (KIP-534).

        None if the batch has no delete horizon. The time is stored in the base timestamp field.
        """
        return self.base_timestamp if self.magic > 1 and self.attributes & DELETE_HORIZON else None

    def view(self) -> memoryview:
        """Return the bytes of the entry without copying them."""
        return memoryview(self.buffer)[self.position : self.position + self.size]

    def to_bytes(self) -> bytes:
        return bytes(self.buffer[self.position : self.position + self.size])

    def place(self, buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
        """Set the base offset and leader epoch of a batch of format 2, as `assign` does.

        `buffer` contains the batch at `position`. It is either the buffer of this view or a writable copy, which this
        view then refers to.
        """
        assign(buffer, position, base_offset, leader_epoch)
        self.buffer, self.position, self.base_offset, self.leader_epoch = buffer, position, base_offset, leader_epoch

    def computed_crc(self) -> int:
        """Compute the checksum of the entry."""
        if self.magic < 2:
            return legacy.checksum(self.view())
        return crc32c(memoryview(self.buffer)[self.position + ATTRIBUTES_AT : self.position + self.size])

    def check_crc(self) -> None:
        """Raise KafkaError(CORRUPT_MESSAGE) if the stored checksum does not match the bytes of the entry."""
        computed = self.computed_crc()
        if computed != self.crc:
            raise KafkaError(
                Code.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})"
            )

    def payload(self, limit: int = LIMIT) -> bytes:
        """Return the encoded records of a batch of format 2, decompressed to at most `limit` bytes.

        Raises KafkaError as `decompress` does.
        """
        data = memoryview(self.buffer)[self.position + HEADER_SIZE : self.position + self.size]
        return decompress(self.codec, data, limit) if self.attributes & CODEC_MASK else bytes(data)

    def records(self, limit: int = LIMIT) -> list[Record]:
        """Decode the records, including those of a wrapper, with absolute offsets and timestamps.

        With LogAppendTime, all records have the max timestamp of the batch. Raises KafkaError as `payload` and
        `decode_records` do. The checksum is not verified.
        """
        if self.magic < 2:
            return legacy.decode_message(self.view(), limit)
        if self.count == 0:
            return []
        append_time = self.max_timestamp if self.attributes & LOG_APPEND_TIME else None
        return decode_records(self.payload(limit), self.count, self.base_offset, self.base_timestamp, append_time)

    def iterate(self, limit: int = LIMIT) -> Iterator[Record]:
        """Iterate over the records that `records` returns. A batch of format 2 is decoded lazily."""
        if self.magic < 2:
            yield from legacy.decode_message(self.view(), limit)
        elif self.count > 0:
            append_time = self.max_timestamp if self.attributes & LOG_APPEND_TIME else None
            yield from iterate_records(
                self.payload(limit), self.count, self.base_offset, self.base_timestamp, append_time
            )


def increment_sequence(sequence: int, increment: int) -> int:
    """Return `sequence` + `increment`, wrapping to 0 after 2,147,483,647 (DefaultRecordBatch.incrementSequence)."""
    return sequence + increment if sequence <= 0x7FFFFFFF - increment else sequence + increment - 0x80000000


def batches(buffer: Buffer, start: int = 0, end: int | None = None) -> Iterator[Batch]:
    """Iterate over the complete entries of `buffer[start:end]`. An incomplete entry at the end is ignored.

    Raises KafkaError(CORRUPT_MESSAGE) for an entry whose length is below the minimum for its format or whose magic is
    unknown (ByteBufferLogInputStream).
    """
    end = len(buffer) if end is None else end
    position = start
    while end - position >= LOG_OVERHEAD:
        (length,) = INT32.unpack_from(buffer, position + LENGTH_AT)
        if length < MIN_LENGTH:
            raise KafkaError(
                Code.CORRUPT_MESSAGE,
                f"Record size {length} is less than the minimum record overhead ({MIN_LENGTH})",
            )
        if end - position < UP_TO_MAGIC:
            return
        magic = buffer[position + MAGIC_AT]
        if magic > 2:
            raise KafkaError(Code.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic - (magic >> 7 << 8)}")
        size = length + LOG_OVERHEAD
        if end - position < size:
            return
        if magic == 2 and size < HEADER_SIZE:
            raise KafkaError(
                Code.CORRUPT_MESSAGE,
                f"Record batch is corrupt (the size {size} is smaller than the minimum allowed overhead {HEADER_SIZE})",
            )
        yield Batch(buffer, position)
        position += size


def is_one_batch(buffer: Buffer) -> bool:
    """Return whether `buffer` is exactly one batch of format 2, as it usually is."""
    size = len(buffer)
    if size < HEADER_SIZE or buffer[MAGIC_AT] != 2:
        return False
    length: int = INT32.unpack_from(buffer, LENGTH_AT)[0]
    return length + LOG_OVERHEAD == size


def assign(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Set the base offset and leader epoch of the batch at `position` (format 2). The checksum covers neither."""
    INT64.pack_into(buffer, position, base_offset)
    INT32.pack_into(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def set_max_timestamp(
    buffer: bytearray | memoryview, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Set the timestamp type and max timestamp of the batch at `position` (format 2), and update its checksum.

    If a field changes, unused attribute bits are cleared (DefaultRecordBatch.setMaxTimestamp). Otherwise the buffer is
    left unchanged.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(buffer, position + ATTRIBUTES_AT)
    append = timestamp_type is TimestampType.LOG_APPEND_TIME
    if (attributes & LOG_APPEND_TIME != 0) == append and (
        INT64.unpack_from(buffer, position + MAX_TIMESTAMP_AT) == (max_timestamp,)
    ):
        return
    size = LOG_OVERHEAD + INT32.unpack_from(buffer, position + LENGTH_AT)[0]
    start, end = position + ATTRIBUTES_AT, position + PRODUCER_ID_AT
    old = bytes(buffer[start:end])
    _ATTRIBUTES.pack_into(buffer, start, attributes & 0x77 | (LOG_APPEND_TIME if append else 0))
    INT64.pack_into(buffer, position + MAX_TIMESTAMP_AT, max_timestamp)
    if size < PATCH_FROM:
        crc = crc32c(memoryview(buffer)[start : position + size])
    else:
        (crc,) = _UINT32.unpack_from(buffer, position + CRC_AT)
        crc = crc32c_patch(crc, old, buffer[start:end], size - PRODUCER_ID_AT)
    _UINT32.pack_into(buffer, position + CRC_AT, crc)
