"""Message sets of formats 0 and 1, the predecessors of record batches (LegacyRecord, AbstractLegacyRecordBatch).

     0  offset       8
     8  size         4   of the rest of the message
    12  crc          4   CRC-32 of the rest of the message
    16  magic        1
    17  attributes   1   bits 0-2 codec, in format 1: 3 log append time
    18  timestamp    8   in format 1 only
        key          4   the length, or -1 for null; then the key
        value        4   the length, or -1 for null; then the value

A message with a codec is a wrapper: its value is a compressed message set. A wrapper carries the offset of its last
inner message, so that a broker can skip it without decompressing it. The inner messages have absolute offsets in format
0. In format 1 they have relative offsets 0, 1, 2, ... (KIP-31), so that a broker does not have to rewrite them. The
timestamp of a wrapper with log append time applies to all inner messages (KIP-32). A wrapper from a producer may have
offset 0 regardless of its content; the inner offsets are then used unchanged.
"""

from struct import Struct
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Buffer

from .codecs import Codec, decompress
from .record import Record, invalid

_HEADER = Struct(">qiIbb")
_INT32 = Struct(">i")
_UINT32 = Struct(">I")
_INT64 = Struct(">q")
_MAGIC_ATTRIBUTES = (Struct(">bb"), Struct(">bbq"))

OVERHEAD = (14, 22)
"""The sizes of an empty message in formats 0 and 1, without the offset and size fields."""
_KEY_AT = (18, 26)
_CODEC_MASK = 0x07
_LOG_APPEND_TIME = 0x08


class MessageHeader(NamedTuple):
    """The header of a message."""

    size: int  # in bytes, including the offset and size fields
    offset: int
    crc: int
    magic: int
    attributes: int
    timestamp: int  # -1 in format 0


def read_header(buffer: Buffer, position: int) -> MessageHeader:
    """Read the header of the complete message at `position`. Raises KafkaError(CORRUPT_MESSAGE) if it is too short."""
    offset, length, crc, magic, attributes = _HEADER.unpack_from(buffer, position)
    if length < OVERHEAD[magic]:
        raise KafkaError(
            Code.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead ({OVERHEAD[magic]})",
        )
    timestamp = _INT64.unpack_from(buffer, position + 18)[0] if magic else -1
    return MessageHeader(length + 12, offset, crc, magic, attributes, timestamp)


def checksum(message: Buffer) -> int:
    """Compute the checksum of a complete message, which begins with its offset."""
    from zlib import crc32

    return crc32(message[16:])


def encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """Encode a message. The timestamp is ignored in format 0."""
    from zlib import crc32

    head = _MAGIC_ATTRIBUTES[magic].pack(magic, attributes, *(timestamp,) * magic)
    body = b"".join((head, _sized(key), _sized(value)))
    return b"".join((_INT64.pack(offset), _INT32.pack(len(body) + 4), _UINT32.pack(crc32(body)), body))


def _sized(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else _INT32.pack(len(data)) + data


def _field(message: Buffer, position: int) -> tuple[bytes | None, int]:
    """Read a key or value at `position`. Return its bytes (None for null) and its end."""
    size = -1
    if position + 4 <= len(message):
        (size,) = _INT32.unpack_from(message, position)
        position += 4
        if size < 0:
            return None, position
    if not 0 <= size <= len(message) - position:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, "a field extends beyond the end of its message")
    return bytes(message[position : position + size]), position + size


def decode_message(message: Buffer, limit: int, *, check_inner_crcs: bool = False) -> list[Record]:
    """Decode the record of a message, or the records of a wrapper, with absolute offsets and effective timestamps.

    `message` is a complete message, which begins with its offset. Raises KafkaError as `decompress` does, with
    INVALID_RECORD for a malformed wrapper (including a nested one), with UNKNOWN_SERVER_ERROR for fields that extend
    beyond the message (an uncaught exception in Kafka), and, if `check_inner_crcs` is set, with CORRUPT_MESSAGE for a
    wrong inner checksum.
    """
    header = read_header(message, 0)
    key, position = _field(message, _KEY_AT[header.magic])
    value, _ = _field(message, position)
    codec = Codec.of(header.attributes & _CODEC_MASK)
    if codec is Codec.NONE:
        return [Record(header.offset, header.timestamp, key, value)]
    if codec is Codec.ZSTD:
        raise invalid(f"Invalid wrapper compressionType found in legacy deep record iterator {header.magic}")
    if value is None:
        raise invalid(f"Found invalid compressed record set with null value (magic = {header.magic})")
    return _decode_inner(header, decompress(codec, value, limit, header.magic), check_inner_crcs)


def _inner_messages(data: bytes) -> list[tuple[MessageHeader, bytes]]:
    """Split a decompressed wrapper into messages with their headers. An incomplete message at the end is ignored.

    Raises KafkaError with CORRUPT_MESSAGE for a size below the minimum, or with INVALID_RECORD for a message of format
    2.
    """
    messages = []
    position = 0
    while len(data) - position >= 12:
        (length,) = _INT32.unpack_from(data, position + 8)
        if length < OVERHEAD[0]:
            raise KafkaError(
                Code.CORRUPT_MESSAGE, f"Record size is less than the minimum record overhead ({OVERHEAD[0]})"
            )
        end = position + 12 + length
        if end > len(data):
            break
        message = data[position:end]
        if message[16] > 1:
            raise invalid(f"inner message has format {message[16]}; only formats 0 and 1 are allowed")
        messages.append((read_header(message, 0), message))
        position = end
    return messages


def _decode_inner(wrapper: MessageHeader, data: bytes, check_crcs: bool) -> list[Record]:
    messages = _inner_messages(data)
    if not messages:
        raise invalid("Found invalid compressed record set with no inner records")
    base_offset = 0
    if wrapper.magic and wrapper.offset != 0:
        last_inner_offset = messages[-1][0].offset
        base_offset = wrapper.offset - last_inner_offset
        if base_offset < 0:
            raise invalid(
                f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper.offset}'"
                f" is less than the last inner message offset '{last_inner_offset}' and it is not zero."
            )
    records = []
    for header, message in messages:
        if header.attributes & _CODEC_MASK:
            raise invalid("Inner messages must not be compressed")
        if check_crcs and checksum(message) != header.crc:
            raise KafkaError(
                Code.CORRUPT_MESSAGE,
                f"Record is corrupt (stored crc = {header.crc}, computed crc = {checksum(message)})",
            )
        key, position = _field(message, _KEY_AT[header.magic])
        value, _ = _field(message, position)
        append = wrapper.attributes & _LOG_APPEND_TIME and wrapper.magic and header.magic
        timestamp = wrapper.timestamp if append else header.timestamp
        records.append(Record(base_offset + header.offset, timestamp, key, value))
    return records


def set_offset(buffer: bytearray | memoryview, position: int, offset: int) -> None:
    """Set the offset of the message at `position`. The checksum does not cover the offset."""
    _INT64.pack_into(buffer, position, offset)


def set_timestamp(buffer: bytearray | memoryview, position: int, is_append_time: bool, timestamp: int) -> None:
    """Set the timestamp and timestamp type of the message at `position` (format 1), and update its checksum.

    If neither changes, the buffer is left as it is (ByteBufferLegacyRecordBatch.setMaxTimestamp).
    """
    header = read_header(buffer, position)
    if bool(header.attributes & _LOG_APPEND_TIME) == is_append_time and header.timestamp == timestamp:
        return
    buffer[position + 17] = header.attributes & _CODEC_MASK | (_LOG_APPEND_TIME if is_append_time else 0)
    _INT64.pack_into(buffer, position + 18, timestamp)
    _UINT32.pack_into(buffer, position + 12, checksum(memoryview(buffer)[position : position + header.size]))
