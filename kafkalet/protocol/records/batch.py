"""An entry of a log, seen through its header; the records in it stay the bytes they are.

A batch of format 2 (DefaultRecordBatch, KIP-98); all numbers are big-endian, sizes in bytes:

     0  base offset         8   given by the broker        } outside the checksum,
     8  length              4   of all that follows        } so that a broker may set them
    12  leader epoch        4   given by the broker        } without reading the records
    16  magic               1
    17  crc                 4   CRC-32C of all that follows
    21  attributes          2   bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 delete horizon
    23  last offset delta   4
    27  base timestamp      8
    35  max timestamp       8
    43  producer id         8
    51  producer epoch      2
    53  base sequence       4
    57  record count        4
    61  records                 compressed as one piece if the codec says so

An entry of formats 0 and 1 is a message, or a wrapper around compressed messages (legacy.py); it shares the first
twelve bytes and the place of magic. Its `Batch` shows what the message itself says: for a wrapper, the offset and
the timestamp of the last message in it.
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
LOG_OVERHEAD = 12
"""Bytes of offset and length, which `length` does not count."""
UP_TO_MAGIC = 17
"""So many bytes of an entry tell how to read the rest."""
MIN_LENGTH = 14
"""The smallest length an entry may have: an empty message of format 0."""

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
    """Whose clock the timestamps of an entry are from."""

    NO_TIMESTAMP_TYPE = -1  # format 0
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Batch:
    """A view of one complete entry, which starts at `position` of `buffer`; fields as the module's picture says.

    For formats 0 and 1: base_offset is the entry's offset, base_timestamp and max_timestamp its timestamp (-1 in
    format 0), count 1 or, for a wrapper, -1 (not known); leader_epoch and the producer's fields are -1.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "count",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "position",
        "producer_epoch",
        "producer_id",
        "size",
    )
    size: int  # in bytes, offset and length included
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
        """The position behind the entry."""
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """-1 without a base sequence; sequences go on with 0 behind 2,147,483,647."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> Codec:
        """Raises KafkaError(UNKNOWN_SERVER_ERROR) for a number that stands for none, as Kafka does."""
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
        """When a compacted log may drop the tombstones and markers in here (KIP-534); it lies in base timestamp."""
        return self.base_timestamp if self.magic > 1 and self.attributes & DELETE_HORIZON else None

    def view(self) -> memoryview:
        """The bytes of the entry, not copied."""
        return memoryview(self.buffer)[self.position : self.position + self.size]

    def to_bytes(self) -> bytes:
        return bytes(self.buffer[self.position : self.position + self.size])

    def computed_crc(self) -> int:
        """What `crc` has to be for the bytes that are there."""
        if self.magic < 2:
            return legacy.checksum(self.view())
        return crc32c(memoryview(self.buffer)[self.position + ATTRIBUTES_AT : self.position + self.size])

    def check_crc(self) -> None:
        """Raise KafkaError(CORRUPT_MESSAGE) if the bytes do not have the checksum the entry claims."""
        computed = self.computed_crc()
        if computed != self.crc:
            raise KafkaError(
                Code.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})"
            )

    def payload(self, limit: int = LIMIT) -> bytes:
        """The records of a batch of format 2 as they lie there, decompressed to at most `limit` bytes.

        Raises KafkaError: what `decompress` raises.
        """
        data = memoryview(self.buffer)[self.position + HEADER_SIZE : self.position + self.size]
        return decompress(self.codec, data, limit) if self.attributes & CODEC_MASK else bytes(data)

    def records(self, limit: int = LIMIT) -> list[Record]:
        """Decode: the records with absolute offsets and timestamps, those inside wrappers too.

        Under LogAppendTime every record has the batch's max timestamp. Raises KafkaError as `payload` and
        `decode_records` do. The checksum is not looked at.
        """
        if self.magic < 2:
            return legacy.decode_message(self.view(), limit)
        if self.count == 0:
            return []
        append_time = self.max_timestamp if self.attributes & LOG_APPEND_TIME else None
        return decode_records(self.payload(limit), self.count, self.base_offset, self.base_timestamp, append_time)

    def iterate(self, limit: int = LIMIT) -> Iterator[Record]:
        """The same records one by one. A batch of format 2 is decoded only as far as the caller reads."""
        if self.magic < 2:
            yield from legacy.decode_message(self.view(), limit)
        elif self.count > 0:
            append_time = self.max_timestamp if self.attributes & LOG_APPEND_TIME else None
            yield from iterate_records(
                self.payload(limit), self.count, self.base_offset, self.base_timestamp, append_time
            )


def increment_sequence(sequence: int, increment: int) -> int:
    """`sequence` + `increment`, around the corner behind 2,147,483,647 (DefaultRecordBatch.incrementSequence)."""
    return sequence + increment if sequence <= 0x7FFFFFFF - increment else sequence + increment - 0x80000000


def batches(buffer: Buffer, start: int = 0, end: int | None = None) -> Iterator[Batch]:
    """The complete entries of `buffer[start:end]`, in order; a last one that is cut off is left out.

    Raises KafkaError(CORRUPT_MESSAGE) at an entry whose length is below the minimum of its format or whose magic is
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


def assign(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Give the batch of format 2 at `position` its place in the log. Both fields lie outside the checksum."""
    INT64.pack_into(buffer, position, base_offset)
    INT32.pack_into(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def set_max_timestamp(
    buffer: bytearray | memoryview, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Set both fields of the batch of format 2 at `position`, and its checksum; without a change nothing is touched.

    Attribute bits without a meaning are cleared on the way (DefaultRecordBatch.setMaxTimestamp does so, too).
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
