"""Replaying a partition of __consumer_offsets.

The version of a record's key determines which module replays it; the same module writes records of this kind:

    key     int16 version | message
            0, 1   committed offset             offsets
            2      classic group                classic
            3-8    consumer group (KIP-848)     consumer
            10-15  share group (KIP-932)        share
            16     regular expression           consumer
            17-23  streams group (KIP-1071)     streams

As in Kafka, records of an unknown kind are skipped, because a later release may have written them. Records that cannot
be decoded are also skipped, and an error is logged. Offsets in transactional batches stay pending until their marker is
replayed.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorShard.replay, CoordinatorLoaderImpl.
"""

import logging
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Any

from kafkalet.broker.cluster.state_log import NO_PRODUCER
from kafkalet.broker.quoting import shown
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.protocol.records.record import Record

from .classic.group import ClassicGroup, classic_group
from .classic.group import replay as replay_classic
from .classic.records import KEY_VERSION as CLASSIC_KEY_VERSION
from .consumer.group import ConsumerGroup
from .consumer.leaving import schedule_all_timeouts
from .group import GroupType
from .modern.group import ModernGroup
from .modern.group import replay as replay_modern
from .offsets_records import KEY_VERSIONS, decode_key, decode_value
from .shard import Shard

_LOG = logging.getLogger(__name__)

_VERSION = Struct(">h")
SHARE = range(10, 16)
STREAMS = range(17, 24)

Replay = Callable[[Shard, int, bytes, bytes | None, Batch], None]
"""Called with (shard, key version, key after its version, value including its version or None, batch of the record)."""


def _replay_offset(shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    group_id, topic, partition = decode_key(key)
    committed = None if value is None else decode_value(value, batch.base_offset)
    producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER
    shard.offsets.replay(group_id, topic, partition, committed, producer_id)


def _replay_of(version: int) -> Replay | None:
    """Return the function for records with this key version; None if there is none."""
    if version in KEY_VERSIONS:
        return _replay_offset
    if version == CLASSIC_KEY_VERSION:
        return replay_classic
    kind: type[ModernGroup[Any]] = ConsumerGroup
    if version in SHARE:  # most brokers never have such groups
        from .share.group import ShareGroup as kind
    elif version in STREAMS:
        from .streams.group import StreamsGroup as kind
    return partial(replay_modern, kind) if version in kind.record_types else None


def load(shard: Shard) -> Shard:
    """Replay the log of a new shard, then start the timers of its groups."""
    for batch, records in shard.log.read():
        if batch.is_control:
            committed = bool(records) and control_type(records[0]) is ControlType.COMMIT
            shard.offsets.transaction_ended(batch.producer_id, committed=committed)
            continue
        for record in records:
            _replay(shard, record, batch)
    for group_id in shard.offsets.groups():
        classic_group(shard, group_id, is_written=True)
    for group in list(shard.groups.values()):
        if isinstance(group, ClassicGroup):
            group.resume()
        elif isinstance(group, ConsumerGroup):
            schedule_all_timeouts(group)
        elif group.type is GroupType.SHARE:
            from .share.heartbeat import resume

            resume(group)
        else:
            from .streams.heartbeat import resume

            resume(group)
    return shard


def _replay(shard: Shard, record: Record, batch: Batch) -> None:
    key = bytes(record.key or b"")
    if len(key) < _VERSION.size:
        _LOG.warning("%r: skipping the record at offset %d: it has no key", shard.log.partition, record.offset)
        return
    (version,) = _VERSION.unpack_from(key)
    replay = _replay_of(version)
    if replay is None:
        _LOG.warning(
            "%r: skipping the record at offset %d: unknown key version %d", shard.log.partition, record.offset, version
        )
        return
    value = None if record.value is None else bytes(record.value)
    try:
        replay(shard, version, key[_VERSION.size :], value, batch)
    except ProtocolError as problem:
        _LOG.error("%r: skipping the record at offset %d: %s", shard.log.partition, record.offset, shown(problem))
