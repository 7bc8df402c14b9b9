"""A transaction marker in a single partition: the control batch that ends the transaction there.

The leader of the partition appends the marker with the producer's epoch and the epoch of the coordinator. The marker
has been written once all in-sync replicas have it. After a marker in __consumer_offsets, the group coordinator is
notified and commits or drops the transaction's offsets.

Source: kafka.server.KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin

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
    """The part of a leader's `Coordinators` that is needed to write a marker."""

    node: Node

    @property
    def groups(self) -> GroupCoordinator: ...


def write_marker(
    leader: Leader,
    topic: str,
    index: int,
    marker: Marker,
    then: Callable[[Code], None],
) -> None:
    """Append a marker to a partition that this broker leads, and call `then` once all in-sync replicas have it.

    On failure, `then` is called with UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
    INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, UNSUPPORTED_FOR_MESSAGE_FORMAT or REQUEST_TIMED_OUT.
    """
    node = leader.node
    partition = node.partitions.get((topic, index))
    if partition is None:
        then(Code.UNKNOWN_TOPIC_OR_PARTITION)
        return
    if partition.log.config.record_version < 2:
        then(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        return
    try:
        last_offset = _append(partition, marker, node.clock.now_ms())
    except KafkaError as error:
        then(error.code)
        return
    written = _Written(leader, partition, last_offset, marker, then)
    if written.look() is None:
        node.purgatory.park([(topic, index)], node.config.request_timeout_ms, written.look, written.time_out)


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


class _Written:
    """A marker that is in the leader's log and waits for replication."""

    def __init__(
        self, leader: Leader, partition: Partition, offset: int, marker: Marker, then: Callable[[Code], None]
    ) -> None:
        self._leader = leader
        self._partition = partition
        self._leader_epoch = partition.leader_epoch
        self._offset = offset
        self._marker = marker
        self._then = then

    def look(self) -> Code | None:
        """If the result is known, pass it to the callback and return it. Otherwise return None."""
        partition = self._partition
        if self._leader.node.partitions.get((partition.topic, partition.index)) is not partition:
            return self._tell(Code.NOT_LEADER_OR_FOLLOWER)  # the topic was deleted, or the broker was stopped
        if not partition.is_leader or partition.leader_epoch != self._leader_epoch:
            return self._tell(Code.NOT_LEADER_OR_FOLLOWER)
        return self._tell(Code.NONE) if partition.log.high_watermark > self._offset else None

    def time_out(self) -> Code:
        return self._tell(Code.REQUEST_TIMED_OUT)

    def _tell(self, code: Code) -> Code:
        if code is Code.NONE and self._partition.topic == CONSUMER_OFFSETS.name:
            self._leader.groups.transaction_ended(
                self._partition.index, self._marker.producer_id, committed=self._marker.committed
            )
        self._then(code)
        return code
