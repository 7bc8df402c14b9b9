"""The frame of a record in the metadata log of KRaft, and in `__remote_log_metadata`.

    frame version (unsigned varint: 1) | type (unsigned varint) | version (unsigned varint) | record

Source: org.apache.kafka.server.common.serialization.AbstractApiMessageSerde, MetadataRecordSerde.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from .errors import DecodeError
from .messages.metadata_records import RECORDS, MetadataRecord
from .messages.remote_log_records import RemoteLogRecord

FRAME_VERSION = 1

Framed = TypeVar("Framed", MetadataRecord, RemoteLogRecord)


class UnknownRecord(NamedTuple):
    """A record whose type or version is not declared, because it comes from a later release, or from one before 3.3."""

    type: int
    version: int


def encode_record(record: MetadataRecord | RemoteLogRecord, version: int) -> bytes:
    """Return the value of a record in the metadata log. Raises EncodeError, UnsupportedVersion."""
    head = bytes((FRAME_VERSION, record.TYPE, version))  # all numbers are below 128: one byte each
    return head + record.encode(version)


def decode_record(value: bytes) -> MetadataRecord | UnknownRecord:
    """Return the record in the value of an entry of the metadata log. Raises DecodeError."""
    return decode_framed(value, RECORDS)


def decode_framed(value: bytes, declarations: Mapping[int, type[Framed]]) -> Framed | UnknownRecord:
    """Return the record of one of these types in a frame. Raises DecodeError."""
    frame_version, position = _unsigned(value, 0)
    if frame_version != FRAME_VERSION:
        raise DecodeError(f"frame version {frame_version} is not supported; metadata records have version 1")
    number, position = _unsigned(value, position)
    version, position = _unsigned(value, position)
    declared = declarations.get(number)
    if declared is None or version not in declared.VERSIONS:
        return UnknownRecord(number, version)
    return declared.decode(value, version, position)


def _unsigned(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes. Return it with its end."""
    number = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            raise DecodeError(f"the frame of a metadata record ends after {len(data)} bytes")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 128:
            return number, position
    raise DecodeError("a number in the frame of a metadata record is longer than 5 bytes")
