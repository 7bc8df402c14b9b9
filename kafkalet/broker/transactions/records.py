"""The records of __transaction_state.

    key     int16 version 0 | TransactionLogKey
    value   int16 version | TransactionLogValue; a tombstone removes the transactional id

Values have version 0 until the cluster runs at transaction version 1; from then on they have version 1 and tagged
fields. As long as all values have version 0, an older release can read a newer release's log. Fields missing from older
values get their default values.

Source: kafka.coordinator.transaction.TransactionLog.
"""

import logging
from struct import Struct

from kafkalet.protocol.messages.transactions_topic import TransactionLogKey, TransactionLogValue
from kafkalet.protocol.tags import write_uvarint

from .metadata import Metadata, State, TopicPartition

_LOG = logging.getLogger(__name__)
_VERSION = Struct(">h")
_COUNT = Struct(">i")
_HEAD = Struct(">hqhib")  # version, producer id, epoch, timeout, state
_TIMES = Struct(">qq")
_LONG_TAG = Struct(">BBq")  # tag, size, value
_SHORT_TAG = Struct(">BBh")
VERSION_0 = _VERSION.pack(0)


def encode_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return VERSION_0 + _VERSION.pack(len(name)) + name


def decode_key(key: bytes | None) -> str | None:
    """Return the transactional id, or None for a key of an unknown version."""
    if key is None or key[:2] != VERSION_0:
        _LOG.warning("__transaction_state: skipping a key of an unknown version")
        return None
    return TransactionLogKey.decode(key[2:], 0).transactional_id


def encode_value(metadata: Metadata, version: int) -> bytes:
    """Encode a value in `version` (0 or 1).

    Values are encoded by hand for speed, because each transaction writes three of them.
    """
    known = metadata
    state = known.state
    head = _HEAD.pack(version, known.producer_id, known.producer_epoch, known.timeout_ms, state)
    times = _TIMES.pack(known.update_ms, known.start_ms)
    if version == 0:
        partitions = b"\xff\xff\xff\xff" if state is State.EMPTY else _partitions(known.partitions)
        return b"".join((head, partitions, times))
    partitions = b"\0" if state is State.EMPTY else _compact_partitions(known.partitions)
    tags = [
        layout.pack(tag, layout.size - 2, value)
        for tag, layout, value, default in (
            (0, _LONG_TAG, known.previous_producer_id, -1),
            (1, _LONG_TAG, known.next_producer_id, -1),
            (2, _SHORT_TAG, known.client_version, 0),
        )
        if value != default
    ]
    return b"".join((head, partitions, times, bytes((len(tags),)), *tags))


def _by_topic(partitions: frozenset[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions if len(partitions) == 1 else sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return by_topic


def _partitions(partitions: frozenset[TopicPartition]) -> bytes:
    topics = _by_topic(partitions)
    pieces = [_COUNT.pack(len(topics))]
    for topic, indexes in topics.items():
        pieces += (_VERSION.pack(len(topic)), topic.encode(), _COUNT.pack(len(indexes)))
        pieces.append(Struct(f">{len(indexes)}i").pack(*indexes))
    return b"".join(pieces)


def _compact_partitions(partitions: frozenset[TopicPartition]) -> bytes:
    topics = _by_topic(partitions)
    pieces = [write_uvarint(len(topics) + 1)]
    for topic, indexes in topics.items():
        pieces += (write_uvarint(len(topic) + 1), topic.encode(), write_uvarint(len(indexes) + 1))
        pieces += (Struct(f">{len(indexes)}i").pack(*indexes), b"\0")
    return b"".join(pieces)


def decode_value(value: bytes) -> Metadata:
    """Decode a value. Raises ProtocolError, or ValueError for an unknown state."""
    (version,) = _VERSION.unpack_from(value)
    read = TransactionLogValue.decode(value[2:], version)
    return Metadata(
        producer_id=read.producer_id,
        producer_epoch=read.producer_epoch,
        timeout_ms=read.transaction_timeout_ms,
        state=State(read.transaction_status),
        partitions=frozenset(
            (topic.topic, index) for topic in read.transaction_partitions or () for index in topic.partition_ids
        ),
        start_ms=read.transaction_start_timestamp_ms,
        update_ms=read.transaction_last_update_timestamp_ms,
        previous_producer_id=read.previous_producer_id,
        next_producer_id=read.next_producer_id,
        client_version=read.client_transaction_version,
    )
