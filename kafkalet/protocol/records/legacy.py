"""Message sets of formats 0 and 1."""

from struct import Struct
from typing import NamedTuple
from zlib import crc32

from .record import Record
from .varint import Buffer

_HEADER = Struct(">qiIbb")
_TIMESTAMP = Struct(">q")


class MessageHeader(NamedTuple):
    size: int
    offset: int
    crc: int
    magic: int
    attributes: int
    timestamp: int


def read_header(buffer: Buffer, position: int) -> MessageHeader:
    offset, length, crc, magic, attributes = _HEADER.unpack_from(buffer, position)
    timestamp = _TIMESTAMP.unpack_from(buffer, position + 18)[0] if magic else -1
    return MessageHeader(length + 12, offset, crc, magic, attributes, timestamp)


def checksum(message: Buffer) -> int:
    return crc32(message[16:])


def decode_message(message: Buffer, limit: int) -> list[Record]:
    raise NotImplementedError
