"""Committed offsets as records of __consumer_offsets, byte for byte as Kafka writes them.

    key      int16 1 | group string | topic string | partition int32       (version 0 is read, too)
    value    v3   int16 3 | offset int64 | leader epoch int32 | metadata string | commit timestamp int64
             v1   int16 1 | offset | metadata | commit timestamp | expire timestamp int64
             v4   int16 4 | the fields of v3, flexible, and in tag 0 the id of the topic

A record without a value says that the offset is no more. v1 is written where a client has said how long its offset is
to be kept (OffsetCommit v2-4), v4 where it has named its topic by id. Written and read here by hand, because every
commit passes through; the messages in kafkalet.protocol.messages.offsets_topic say the same and are what tests
compare with.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers, GroupMetadataManager.offsetCommitValue.
"""

from struct import Struct
from typing import NamedTuple

from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.messages.offsets_topic import OffsetCommitKey, OffsetCommitValue
from kafkalet.protocol.wire import ZERO_UUID

KEY_VERSIONS = (0, 1)
NO_EPOCH = -1
NEVER = -1
NOT_WRITTEN = -1

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_V3_HEAD = Struct(">hqih")  # version, offset, leader epoch, length of the metadata
_V1_HEAD = Struct(">hqh")  # version, offset, length of the metadata
_V1_TAIL = Struct(">qq")
_INT64 = Struct(">q")
_V3_SIZE = _V3_HEAD.size + _INT64.size
_V3_EMPTY = Struct(">hqihq")  # without metadata


class CommittedOffset(NamedTuple):
    """How far a group has read in one partition, as it was committed."""

    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = NEVER
    """When it expires, where the client has said so; -1: by the broker's configuration."""
    topic_id: bytes = ZERO_UUID
    """Zero where the client has named the topic."""
    record_offset: int = NOT_WRITTEN
    """Where the batch with its record begins in the log: of two, the later one counts."""


class OffsetKey(NamedTuple):
    """Whose offset it is."""

    group_id: str
    topic: str
    partition: int


def key_head(group_id: str, topic: str) -> bytes:
    """The key of a record up to the partition, which is the same for all partitions of a topic."""
    group, name = group_id.encode("utf-8", "surrogatepass"), topic.encode("utf-8", "surrogatepass")
    return b"".join((b"\0\1", _INT16.pack(len(group)), group, _INT16.pack(len(name)), name))


def encode_key(head: bytes, partition: int) -> bytes:
    return head + _INT32.pack(partition)


def encode_value(committed: CommittedOffset) -> bytes:
    """The value of a record, in the version that has room for what is to be said."""
    offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id, _ = committed
    if expire_timestamp_ms == NEVER and topic_id == ZERO_UUID:
        if not metadata:
            return _V3_EMPTY.pack(3, offset, leader_epoch, 0, commit_timestamp_ms)
        text = metadata.encode("utf-8", "surrogatepass")
        return b"".join(
            (_V3_HEAD.pack(3, offset, leader_epoch, len(text)), text, _INT64.pack(commit_timestamp_ms)),
        )
    if expire_timestamp_ms != NEVER:
        text = metadata.encode("utf-8", "surrogatepass")
        tail = _V1_TAIL.pack(commit_timestamp_ms, expire_timestamp_ms)
        return b"".join((_V1_HEAD.pack(1, offset, len(text)), text, tail))
    value = OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=commit_timestamp_ms,
        topic_id=topic_id,
    )
    return _INT16.pack(4) + value.encode(4)


def decode_key(key: bytes, start: int = 0) -> OffsetKey:
    """The key after its version. Raises DecodeError."""
    found = OffsetCommitKey.decode(key, 1, start)
    return OffsetKey(found.group, found.topic, found.partition)


def decode_value(value: bytes, record_offset: int) -> CommittedOffset:
    """The value with its version, of a record that was written at `record_offset`. Raises DecodeError."""
    if len(value) >= _V3_SIZE and value[:2] == b"\0\3":
        _, offset, leader_epoch, length = _V3_HEAD.unpack_from(value)
        if len(value) == _V3_SIZE + length and length >= 0:
            end = _V3_HEAD.size + length
            metadata = value[_V3_HEAD.size : end].decode("utf-8", "replace") if length else ""
            (commit_timestamp_ms,) = _INT64.unpack_from(value, end)
            return CommittedOffset(offset, leader_epoch, metadata, commit_timestamp_ms, NEVER, ZERO_UUID, record_offset)
    if len(value) < _INT16.size:
        raise DecodeError(f"the value of an offset has {len(value)} bytes")
    (version,) = _INT16.unpack_from(value)
    found = OffsetCommitValue.decode(value, version, _INT16.size)
    return CommittedOffset(
        found.offset,
        found.leader_epoch,
        found.metadata,
        found.commit_timestamp,
        found.expire_timestamp,
        found.topic_id,
        record_offset,
    )
