"""The records of committed offsets in __consumer_offsets, byte for byte as Kafka writes them.

    key      int16 1 | group string | topic string | partition int32       (version 0 can be read)
    value    v1   int16 1 | offset int64 | metadata string | commit timestamp int64 | expire timestamp int64
             v3   int16 3 | offset int64 | leader epoch int32 | metadata string | commit timestamp int64
             v4   int16 4 | the fields of v3 in flexible encoding | tag 0: topic id

A record without a value is a tombstone. v1 is written for offsets with an explicit expiration time: clients can request
one in OffsetCommit v2-4, and brokers before KIP-211 set one on every offset. All other offsets are written as v3, or as
v4 since Kafka 4.1.

Almost no commit has metadata. For speed, commits without metadata are encoded and decoded by hand; all others use the
messages in kafkalet.protocol.messages.offsets_topic.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers, GroupMetadataManager.offsetCommitValue.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.messages.offsets_topic import OffsetCommitKey, OffsetCommitValue
from kafkalet.protocol.records.varint import encode
from kafkalet.protocol.wire import ZERO_UUID

KEY_VERSIONS = (0, 1)
NO_EPOCH = -1
NEVER = -1
NOT_WRITTEN = -1
REMEMBERED = 1000
"""The number of (group, topic) pairs for which `_Plain` is cached.

Building one takes 1.4 µs, twice as long as writing a record with it. Pairs whose names together are longer than
REMEMBERED_CHARACTERS are not cached: clients choose the names, and a group id can have 32,767 characters.
"""
REMEMBERED_CHARACTERS = 512

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_V3_PLAIN = Struct(">hqihq")  # version, offset, leader epoch, length of the metadata (0), commit timestamp
_V4_WITH_ID = Struct(">hqiBqBBB16s")  # the same fields, then one tag with the topic id
_ID_TAG = b"\1\0\x10"  # one tag, number 0, 16 bytes

_V3_SIZE, _V4_SIZE = 2 * _V3_PLAIN.size, 2 * _V4_WITH_ID.size  # zig-zag encoded
ONE_BYTE_DELTAS = 64


class CommittedOffset(NamedTuple):
    """A committed offset of a group in one partition."""

    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = NEVER
    """The expiration time requested by the client; -1 if the broker's configuration applies."""
    topic_id: bytes = ZERO_UUID
    """All zeros if unknown."""
    record_offset: int = NOT_WRITTEN
    """The base offset of the batch that contains the record. The committed offset with the highest one is valid."""


class OffsetKey(NamedTuple):
    """The group and partition that a committed offset belongs to."""

    group_id: str
    topic: str
    partition: int


Commit = tuple[str, int, CommittedOffset]
"""(topic, partition, committed offset)"""


def key_head(group_id: str, topic: str) -> bytes:
    """Return the part of a record key before the partition, which all partitions of a topic share."""
    group, name = group_id.encode(), topic.encode()
    return b"".join((b"\0\1", _INT16.pack(len(group)), group, _INT16.pack(len(name)), name))


def encode_key(head: bytes, partition: int) -> bytes:
    return head + _INT32.pack(partition)


def encode_value(committed: CommittedOffset, version: int) -> bytes:
    """Return the value of a record, including its version.

    The value's version is `version` (3 or 4), or 1 if the offset has an expiration time.
    """
    if committed.expire_timestamp_ms != NEVER:
        version = 1
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    return _INT16.pack(version) + value.encode(version)


def encode_commits(group_id: str, commits: Sequence[Commit], version: int) -> bytes:
    """Encode a batch of commits to the same bytes as `encode_records` would.

    Commits without metadata (almost all of them) use cached parts of their records (`_Plain`).
    """
    pieces: list[bytes] = []
    topic, plain = None, None
    for delta, (name, partition, committed) in enumerate(commits):
        if name != topic:
            is_short = len(group_id) + len(name) <= REMEMBERED_CHARACTERS
            topic, plain = name, _plain(group_id, name, version) if is_short else None
        offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id, _ = committed
        if metadata or expire_timestamp_ms != NEVER or delta >= ONE_BYTE_DELTAS or plain is None:
            pieces.append(_encode_commit(group_id, name, partition, committed, version, delta))
        elif version == 3:
            pieces.append(
                plain.pack(
                    plain.start, 2 * delta, plain.key, partition, _V3_SIZE, 3, offset, leader_epoch, 0,
                    commit_timestamp_ms, 0,
                )
            )  # fmt: skip
        elif topic_id != ZERO_UUID:
            pieces.append(
                plain.pack(
                    plain.start, 2 * delta, plain.key, partition, _V4_SIZE, 4, offset, leader_epoch, 1,
                    commit_timestamp_ms, 1, 0, 16, topic_id, 0,
                )
            )  # fmt: skip
        else:
            pieces.append(_encode_commit(group_id, name, partition, committed, version, delta))
    return b"".join(pieces)


class _Plain(NamedTuple):
    """The parts of a commit record that are the same for one group and topic.

    These are the record's size and attributes, and its key up to the partition. In the record, the offset delta lies
    between the two; here it is always a single byte.
    """

    start: bytes
    key: bytes
    pack: Callable[..., bytes]


@lru_cache(maxsize=REMEMBERED)
def _plain(group_id: str, topic: str, version: int) -> _Plain:
    head = key_head(group_id, topic)
    key = encode(len(head) + _INT32.size) + head
    rest = ">iBhqihqB" if version == 3 else ">iBhqiBqBBB16sB"
    start = encode(3 + len(key) + Struct(rest).size) + b"\0\0"
    return _Plain(start, key, Struct(f">{len(start)}sB{len(key)}s{rest[1:]}").pack)


def _encode_commit(
    group_id: str, topic: str, partition: int, committed: CommittedOffset, version: int, delta: int
) -> bytes:
    """Encode a commit record, with or without metadata."""
    key = encode_key(key_head(group_id, topic), partition)
    value = encode_value(committed, version)
    body = b"".join((b"\0\0", encode(delta), encode(len(key)), key, encode(len(value)), value, b"\0"))
    return encode(len(body)) + body


def decode_key(key: bytes, start: int = 0) -> OffsetKey:
    """Decode a key, starting after its version. Raises DecodeError."""
    found = OffsetCommitKey.decode(key, 1, start)
    return OffsetKey(found.group, found.topic, found.partition)


def decode_value(value: bytes, record_offset: int) -> CommittedOffset:
    """Decode a value, including its version, from a record written at `record_offset`. Raises DecodeError."""
    usual = _decode_usual(value, record_offset)
    if usual is not None:
        return usual
    if len(value) < _INT16.size:
        raise DecodeError(f"an offset commit value must have at least 2 bytes, not {len(value)}")
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


def _decode_usual(value: bytes, record_offset: int) -> CommittedOffset | None:
    """Decode a value without metadata; return None for all others.

    Hardly any client but Kafka Streams writes metadata.
    """
    size = len(value)
    if size == _V3_PLAIN.size and value.startswith(b"\0\3"):
        _, offset, leader_epoch, length, commit_timestamp_ms = _V3_PLAIN.unpack(value)
        if length == 0:
            return CommittedOffset(offset, leader_epoch, "", commit_timestamp_ms, NEVER, ZERO_UUID, record_offset)
    elif size == _V4_WITH_ID.size and value.startswith(b"\0\4"):
        _, offset, leader_epoch, length, commit_timestamp_ms, *tag, topic_id = _V4_WITH_ID.unpack(value)
        if length == 1 and bytes(tag) == _ID_TAG:
            return CommittedOffset(offset, leader_epoch, "", commit_timestamp_ms, NEVER, topic_id, record_offset)
    return None
