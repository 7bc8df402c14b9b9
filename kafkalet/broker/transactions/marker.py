"""A transaction marker in a single partition: the control batch that ends the transaction there.

The leader of the partition appends the marker with the producer's epoch and the epoch of the coordinator. The marker
has been written once all in-sync replicas have it. After a marker in __consumer_offsets, the group coordinator is
notified and commits or drops the transaction's offsets.

Source: kafka.server.KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin
from kafkalet.tasks.task import detached, until

if TYPE_CHECKING:  # avoids loading the group coordinator for transactions without offsets
    from kafkalet.broker.groups.coordinator import GroupCoordinator


class Marker(NamedTuple):
    """The end of a transaction, as written to each of its partitions."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int = 0


class Leader(Protocol):
    """What writing a marker requires of a leader's `Coordinators`."""

    node: Node

    @property
    def groups(self) -> GroupCoordinator: ...


@detached
async def write_marker(leader: Leader, topic: str, index: int, marker: Marker) -> Code:
    """Append a marker to a partition that this broker leads. Return NONE once all in-sync replicas have it.

    The errors are UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH,
    TRANSACTION_COORDINATOR_FENCED, UNSUPPORTED_FOR_MESSAGE_FORMAT and REQUEST_TIMED_OUT.
    """
    partition = leader.node.partitions.get((topic, index))
    if partition is None:
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    if partition.log.config.record_version < 2:
        return Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    try:
        last_offset = _append(partition, marker, leader.node.clock.now_ms())
    except KafkaError as error:
        return error.code
    code = await _replicated(leader.node, partition, last_offset)
    if code is Code.NONE and topic == CONSUMER_OFFSETS.name:
        leader.groups.transaction_ended(index, marker.producer_id, committed=marker.committed)
    return code


def _append(partition: Partition, marker: Marker, now_ms: int) -> int:
    """Append the marker and return its offset. Raises KafkaError."""
    log = partition.log_for(None)
    partition.check_replicas()
    as_built = log.config.keeps_built_batches
    batch = build_end_marker(
        EndMarker(ControlType.COMMIT if marker.committed else ControlType.ABORT, marker.coordinator_epoch),
        timestamp=now_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        base_offset=log.log_end_offset if as_built else 0,
        leader_epoch=partition.leader_epoch,
    )
    if as_built:
        return partition.append_built(batch, marker.transaction_version)
    return partition.append(bytearray(batch), Origin.COORDINATOR, marker.transaction_version).last_offset


async def _replicated(node: Node, partition: Partition, offset: int) -> Code:
    """Return the result of the replication of the marker at `offset`."""
    key, leader_epoch = (partition.topic, partition.index), partition.leader_epoch

    def check() -> Code | None:
        if node.partitions.get(key) is not partition:  # the topic was deleted, or the broker was stopped
            return Code.NOT_LEADER_OR_FOLLOWER
        if not partition.is_leader or partition.leader_epoch != leader_epoch:
            return Code.NOT_LEADER_OR_FOLLOWER
        return Code.NONE if partition.log.high_watermark > offset else None

    code = check()
    if code is not None:
        return code
    return await until(
        node.purgatory.park([key], node.config.request_timeout_ms, check, lambda: Code.REQUEST_TIMED_OUT)
    )
