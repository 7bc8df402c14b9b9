"""Transactional ids as records of __transaction_state.

    key     int16 version 0 | TransactionLogKey
    value   int16 version | TransactionLogValue; no value: the transactional id is forgotten

Version 0 of the value until the cluster runs at transaction version 1, whose values have tags: a log that was written
by a newer release can be read by an older one as long as it stays below. What older values lack is at its default.

Source: kafka.coordinator.transaction.TransactionLog.
"""

import logging
from struct import Struct

from kafkalet.protocol.messages.transactions_topic import TransactionLogKey, TransactionLogValue

from .metadata import Metadata, State

_LOG = logging.getLogger(__name__)
_VERSION = Struct(">h")
VERSION_0 = _VERSION.pack(0)


def encode_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return VERSION_0 + _VERSION.pack(len(name)) + name


def decode_key(key: bytes | None) -> str | None:
    """The transactional id, None for a key of a version that nobody knows."""
    if key is None or key[:2] != VERSION_0:
        _LOG.warning("__transaction_state has a key of an unknown version, which is passed over")
        return None
    return TransactionLogKey.decode(key[2:], 0).transactional_id


def encode_value(metadata: Metadata, version: int) -> bytes:
    """The value in `version` (0 or 1)."""
    topics = None
    if metadata.state is not State.EMPTY:
        by_topic: dict[str, list[int]] = {}
        for topic, index in sorted(metadata.partitions):
            by_topic.setdefault(topic, []).append(index)
        topics = [TransactionLogValue.Topic(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=topics,
        transaction_last_update_timestamp_ms=metadata.update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    if version >= 1:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.client_transaction_version = metadata.client_version
    return _VERSION.pack(version) + value.encode(version)


def decode_value(value: bytes) -> Metadata:
    """Raises ProtocolError, and ValueError for a state that nobody knows."""
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
