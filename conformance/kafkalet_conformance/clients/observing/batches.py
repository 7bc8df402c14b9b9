"""Checks the records of a Produce request: batches of format 2, and message sets of formats 0 and 1.

Records of uncompressed batches are located by their bytes in the request. In a compressed batch, the position is that
of the batch, and the explanation counts the bytes of the decompressed records.
"""

from struct import Struct
from typing import NamedTuple
from zlib import crc32

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import CONTROL, DELETE_HORIZON, HEADER, HEADER_SIZE, LOG_APPEND_TIME, TRANSACTIONAL
from kafkalet.protocol.records.codecs import LIMIT, Codec, decompress
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.record import decode_records, encode_records
from kafkalet.units import counted

from .finding import Claim, Severity
from .reading import MINIMAL, Path, Reading

_BATCH = "KIP-98, DefaultRecordBatch"
_VALIDATOR = "KIP-98, LogValidator"

ONE_BATCH = Claim("one-batch", "Since Produce v3, each partition has exactly one batch of format 2.", "KIP-98")
FORMAT = Claim("record-format", "The record format is one that the version allows.", "KIP-32, KIP-98")
BATCH_SIZE = Claim("batch-size", "The length of a batch or message covers exactly its bytes.", _BATCH)
CRC = Claim("crc", "The checksum of a batch or message is correct.", _BATCH)
ATTRIBUTES = Claim("batch-attributes", "A producer sets only the codec and the transactional bit.", _VALIDATOR)
CODEC = Claim("codec", "The compression codec is one that the version allows.", "KIP-110, ProduceRequest")
COMPRESSED = Claim("compressed-data", "Compressed records can be decompressed.", _BATCH)
BASE_OFFSET = Claim("base-offset", "A producer counts the offsets of a batch from 0.", _BATCH, Severity.NOTE)
COUNT = Claim("record-count", "A batch has records, and last_offset_delta is their number minus 1.", _VALIDATOR)
OFFSETS = Claim("record-offsets", "The offset deltas of the records are 0, 1, 2, and so on.", _VALIDATOR)
TIMESTAMPS = Claim("batch-timestamps", "max_timestamp is the largest timestamp of the records.", _VALIDATOR)
TIMESTAMP = Claim("record-timestamp", "A timestamp is not negative, or -1 if there is none.", "DefaultRecord")
RECORD = Claim("record", "The fields of a record fill exactly the length of the record.", "DefaultRecord.readFrom")
RECORD_NULL = Claim("record-null", "The length of a null key or value is -1.", "DefaultRecord.writeTo")
RECORD_ATTRIBUTES = Claim("record-attributes", "The attributes of a record are 0.", "DefaultRecord")
HEADER_KEY = Claim("header-key", "The key of a record header is a string of valid UTF-8.", "KIP-82")
IDEMPOTENCE = Claim("idempotence", "Producer id, epoch and base sequence are all set or all -1.", _VALIDATOR)
IDEMPOTENCE_NOTE = Claim(*IDEMPOTENCE[:3], Severity.NOTE)
INNER = Claim("inner-messages", "A wrapper contains uncompressed messages of its own format.", "KIP-31, KIP-32")

_LONGEST_VARINT = 5
_LONGEST_VARLONG = 10
_UNUSED_BITS = 0xFF80
_MESSAGE = Struct(">qiIbb")
_OVERHEAD = (14, 22)


class BatchSummary(NamedTuple):
    """The fields of a batch that other checks use."""

    position: int
    path: Path
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int
    is_transactional: bool


class _Broken(Exception):
    """The rest of the batch cannot be parsed."""


def check_records(reading: Reading, start: int, end: int, version: int, path: Path) -> list[BatchSummary]:
    """Check the records of one partition. Return summaries of the batches of format 2."""
    found: list[BatchSummary] = []
    entries = 0
    position = start
    while position < end:
        if end - position < 17:
            reading.complain(
                BATCH_SIZE, position, path, f"{counted(end - position, 'byte')} left, less than a batch header"
            )
            break
        entry: Path = (path, f"batch {entries}") if entries else path
        size = int.from_bytes(reading.data[position + 8 : position + 12], "big", signed=True) + 12
        magic = reading.data[position + 16]
        least = HEADER_SIZE if magic > 1 else 12 + _OVERHEAD[min(magic, 1)]
        if not least <= size <= end - position:
            text = f"the length is {size - 12}, but the partition has {end - position - 12} more bytes"
            if size < least:
                text = f"the length is {size - 12}; an entry of format {magic} has at least {least - 12} bytes"
            reading.complain(BATCH_SIZE, position + 8, entry, text)
            break
        if magic != 2 if version >= 3 else magic > (1 if version == 2 else 0):
            allowed = "2" if version >= 3 else "0 and 1" if version == 2 else "0"
            text = f"the magic is {magic}; version {version} allows {allowed}"
            reading.complain(FORMAT, position + 16, entry, text)
        if magic == 2:
            found.append(_Batch(reading, position, position + size, version, entry).check())
        elif magic < 2:
            _check_message(reading, reading.data[position : position + size], position, entry)
        entries += 1
        position += size
    if version >= 3 and entries != 1 and position >= end:
        reading.complain(ONE_BATCH, start, path, f"the partition has {entries} batches")
    return found


class _Batch:
    """One batch of format 2."""

    def __init__(self, reading: Reading, start: int, end: int, version: int, path: Path) -> None:
        self.reading, self.start, self.end, self.version, self.path = reading, start, end, version, path

    def complain(self, claim: Claim, offset: int, text: str) -> None:
        self.reading.complain(claim, self.start + offset, self.path, text)

    def check(self) -> BatchSummary:
        data = self.reading.data
        header = HEADER.unpack_from(data, self.start)
        base_offset, _, _, _, crc, attributes, last_delta = header[:7]
        base_timestamp, max_timestamp, producer_id, epoch, sequence, count = header[7:]
        if base_offset != 0:
            self.complain(BASE_OFFSET, 0, f"base_offset is {base_offset}")
        actual = crc32c(memoryview(data)[self.start + 21 : self.end])
        if actual != crc:
            self.complain(CRC, 17, f"the checksum is {crc:#010x}, but that of the bytes is {actual:#010x}")
        self.attributes(attributes)
        if count < 1:
            self.complain(COUNT, 57, f"the batch has {counted(count, 'record')}")
        elif last_delta != count - 1:
            self.complain(COUNT, 23, f"last_offset_delta is {last_delta}, but the batch has {counted(count, 'record')}")
        self.idempotence(producer_id, epoch, sequence, attributes)
        payload, at = self.payload(attributes)
        if payload is not None and actual == crc and count > 0:
            largest = self.records(payload, at, count, base_timestamp)
            if largest is not None and largest != max_timestamp:
                self.complain(TIMESTAMPS, 35, f"max_timestamp is {max_timestamp}, but the largest is {largest}")
        is_transactional = bool(attributes & TRANSACTIONAL)
        return BatchSummary(self.start, self.path, producer_id, epoch, sequence, count, is_transactional)

    def attributes(self, attributes: int) -> None:
        forbidden = [
            (_UNUSED_BITS, "unused bits"),
            (LOG_APPEND_TIME, "the bit for LogAppendTime, which brokers set"),
            (CONTROL, "the bit for control batches, which brokers write"),
            (DELETE_HORIZON, "the bit for the delete horizon, which brokers set"),
        ]
        for bits, what in forbidden:
            if attributes & bits:
                self.complain(ATTRIBUTES, 21, f"the attributes {attributes & 0xFFFF:#06x} contain {what}")
        codec = attributes & 7
        if codec > Codec.ZSTD:
            self.complain(CODEC, 21, f"no codec has the number {codec}")
        elif codec == Codec.ZSTD and self.version < 7:
            self.complain(CODEC, 21, f"zstd needs version 7, not {self.version}")

    def idempotence(self, producer_id: int, epoch: int, sequence: int, attributes: int) -> None:
        values = f"producer_id is {producer_id}, producer_epoch {epoch}, base_sequence {sequence}"
        if producer_id == -1 and min(epoch, sequence) >= -1 and max(epoch, sequence) >= 0:
            self.complain(IDEMPOTENCE_NOTE, 43, values)  # brokers ignore both here, and some clients send 0
        elif min(producer_id, epoch, sequence) < -1 or len({producer_id < 0, epoch < 0, sequence < 0}) > 1:
            self.complain(IDEMPOTENCE, 43, values)
        elif attributes & TRANSACTIONAL and producer_id < 0:
            self.complain(IDEMPOTENCE, 43, f"the batch is transactional, but {values}")

    def payload(self, attributes: int) -> tuple[bytes | None, int | None]:
        """Return the records, and their position in the request unless they are compressed."""
        at = self.start + HEADER_SIZE
        data = self.reading.data[at : self.end]
        codec = attributes & 7
        if codec == Codec.NONE:
            return data, at
        if codec > Codec.ZSTD:
            return None, None
        try:
            return decompress(Codec(codec), data, LIMIT), None
        except KafkaError as error:
            if error.code is not Code.MESSAGE_TOO_LARGE:  # the limit of this function, not of the protocol
                self.complain(COMPRESSED, HEADER_SIZE, str(error))
            return None, None

    def records(self, payload: bytes, at: int | None, count: int, base_timestamp: int) -> int | None:
        """Check the records. Return the largest timestamp, or None if the records are malformed."""
        try:  # records that are equal to their own encoding have no defect in it
            records = decode_records(payload, count, 0, base_timestamp)
            if encode_records(records, 0, base_timestamp) == payload and all(
                record.offset == index and (not record.headers or _has_text_keys(record.headers))
                for index, record in enumerate(records)
            ):
                largest = max(record.timestamp for record in records)
                if min(record.timestamp for record in records) >= -1:
                    return largest
        except (KafkaError, UnicodeError):
            pass
        return _Records(self, payload, at, base_timestamp).check(count)


def _has_text_keys(headers: tuple[tuple[str, bytes | None], ...]) -> bool:
    """Return whether no key contains surrogates, which stand for invalid UTF-8."""
    return all(not any("\ud800" <= letter <= "\udfff" for letter in key) for key, _ in headers)


class _Records:
    """The records of one batch, checked one by one to find the defects."""

    def __init__(self, batch: _Batch, payload: bytes, at: int | None, base_timestamp: int) -> None:
        self.batch, self.payload, self.at, self.base_timestamp = batch, payload, at, base_timestamp
        self.position = 0
        self.index = 0

    def complain(self, claim: Claim, position: int, text: str) -> None:
        record: Path = (self.batch.path, f"record {self.index}")
        reading = self.batch.reading
        if self.at is None:
            reading.complain(claim, self.batch.start + HEADER_SIZE, record, f"{text} (decompressed byte {position})")
        else:
            reading.complain(claim, self.at + position, record, text)

    def varint(self, longest: int = _LONGEST_VARINT) -> int:
        data, start, at = self.payload, self.position, self.position
        number = shift = 0
        while True:
            if at >= len(data) or at - start >= longest:
                where = "the end of the batch" if at >= len(data) else f"{longest} bytes"
                self.complain(RECORD, start, f"a varint does not end before {where}")
                raise _Broken
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        self.position = at
        if byte == 0 and at - start > 1:
            self.complain(MINIMAL, start, f"the varint {data[start:at].hex()} is too long")
        number &= 0xFFFFFFFF if longest == _LONGEST_VARINT else 0xFFFFFFFFFFFFFFFF
        return (number >> 1) ^ -(number & 1)

    def sized(self, what: str, end: int) -> bytes | None:
        start = self.position
        size = self.varint()
        if size < 0:
            if size != -1:
                self.complain(RECORD_NULL, start, f"the length of the {what} is {size}; null has the length -1")
            return None
        if size > end - self.position:
            self.complain(RECORD, start, f"the {what} has {counted(size, 'byte')}, with {end - self.position} left")
            raise _Broken
        self.position += size
        return self.payload[self.position - size : self.position]

    def check(self, count: int) -> int | None:
        largest = -1
        try:
            for self.index in range(count):
                largest = max(largest, self.record())
        except _Broken:
            return None
        if self.position != len(self.payload):
            left = len(self.payload) - self.position
            self.complain(COUNT, self.position, f"{counted(left, 'byte')} after the last of {counted(count, 'record')}")
            return None
        return largest

    def record(self) -> int:
        """Check one record. Return its timestamp."""
        start = self.position
        size = self.varint()
        end = self.position + size
        if size < 0 or end > len(self.payload):
            self.complain(
                RECORD,
                start,
                f"the length is {size}, with {counted(len(self.payload) - start, 'byte')} left",
            )
            raise _Broken
        if self.position >= len(self.payload) or size < 1:
            self.complain(RECORD, start, f"the length of the record is {size}")
            raise _Broken
        attributes = self.payload[self.position]
        if attributes:
            self.complain(RECORD_ATTRIBUTES, self.position, f"the attributes are {attributes}")
        self.position += 1
        at = self.position
        timestamp = self.base_timestamp + self.varint(_LONGEST_VARLONG)
        if timestamp < -1:
            self.complain(TIMESTAMP, at, f"the timestamp is {timestamp}")
        at = self.position
        delta = self.varint()
        if delta != self.index:
            self.complain(OFFSETS, at, f"the offset delta of record {self.index} is {delta}")
        self.sized("key", end)
        self.sized("value", end)
        self.headers(end)
        if self.position != end:
            self.complain(
                RECORD,
                start,
                f"the length is {size}, but the fields have {counted(self.position - end + size, 'byte')}",
            )
            raise _Broken
        return timestamp

    def headers(self, end: int) -> None:
        start = self.position
        count = self.varint()
        if count < 0:
            self.complain(RECORD, start, f"the record has {count} headers")
            raise _Broken
        for _ in range(count):
            at = self.position
            key = self.sized("key of a header", end)
            if key is None:
                self.complain(HEADER_KEY, at, "the key of a header is null")
            else:
                try:
                    key.decode()
                except UnicodeDecodeError:
                    self.complain(HEADER_KEY, at, f"the key {key[:40].hex()} of a header is not valid UTF-8")
            self.sized("value of a header", end)


# Formats 0 and 1


def _check_message(reading: Reading, message: bytes, start: int, path: Path, wrapper: int | None = None) -> None:
    """Check a message of format 0 or 1. `wrapper` is the format of the message that contains it."""
    _, _, crc, magic, attributes = _MESSAGE.unpack_from(message)
    inside = "" if wrapper is None else " of an inner message"

    def complain(claim: Claim, offset: int, text: str) -> None:
        reading.complain(claim, start + (0 if wrapper is not None else offset), path, text)

    actual = crc32(memoryview(message)[16:])
    if actual != crc:
        complain(CRC, 12, f"the checksum{inside} is {crc:#010x}, but that of the bytes is {actual:#010x}")
        return
    codec = attributes & 7
    if attributes & 0xF8:
        complain(
            ATTRIBUTES, 17, f"the attributes{inside} {attributes & 0xFF:#04x} contain bits that a producer leaves 0"
        )
    if codec > Codec.LZ4:
        complain(CODEC, 17, f"no codec of format {magic} has the number {codec}")
        return
    if wrapper is not None and (codec or magic != wrapper):
        complain(INNER, 16, f"the format{inside} is {magic} and its codec {codec}; the wrapper has format {wrapper}")
    at = 12 + _OVERHEAD[magic] - 8
    value: bytes | None = None
    for what in ("key", "value"):
        size = int.from_bytes(message[at : at + 4], "big", signed=True)
        if size < -1:
            complain(RECORD_NULL, at, f"the length of the {what}{inside} is {size}; null has the length -1")
        if size > len(message) - at - 4:
            complain(RECORD, at, f"the {what}{inside} has {counted(size, 'byte')}, with {len(message) - at - 4} left")
            return
        at += 4
        value = None if size < 0 else message[at : at + size]
        at += max(size, 0)
    if at != len(message):
        complain(RECORD, at, f"{counted(len(message) - at, 'byte')} after the value{inside}")
    if codec:
        _check_wrapper(reading, value, codec, magic, start, path)


def _check_wrapper(reading: Reading, value: bytes | None, codec: int, magic: int, start: int, path: Path) -> None:
    if value is None:
        reading.complain(COMPRESSED, start, path, "the value of a compressed message is null")
        return
    try:
        data = decompress(Codec(codec), value, LIMIT, magic)
    except KafkaError as error:
        if error.code is not Code.MESSAGE_TOO_LARGE:
            reading.complain(COMPRESSED, start, path, str(error))
        return
    position = count = 0
    while position < len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big", signed=True) + 12
        inner_magic = data[position + 16] if position + 16 < len(data) else 0
        least = 12 + _OVERHEAD[min(inner_magic, 1)]
        if not least <= size <= len(data) - position or inner_magic > 1:
            text = f"an inner message of format {inner_magic} has the length {size - 12}"
            reading.complain(INNER, start, path, f"{text} (decompressed byte {position})")
            return
        if magic == 1:
            offset = int.from_bytes(data[position : position + 8], "big", signed=True)
            if offset != count:
                reading.complain(INNER, start, path, f"inner message {count} has the offset {offset} (KIP-31)")
        inner: Path = (path, f"message {count}")
        _check_message(reading, data[position : position + size], start, inner, magic)
        position += size
        count += 1
    if not count:
        reading.complain(INNER, start, path, "a compressed message contains no messages")
