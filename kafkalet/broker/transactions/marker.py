"""One marker in one partition: the control batch with which a transaction ends there.

The coordinator has it appended by the partition's leader, in the producer's epoch and in the coordinator's own. It
counts when all in-sync replicas have it. A marker in __consumer_offsets is told to the group coordinator, which then
takes the transaction's offsets for committed, or forgets them.

Source: kafka.server.KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS
from kafkalet.broker.scheduling.purgatory import Purgatory
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin

if TYPE_CHECKING:  # a transaction that sends no offsets does without groups
    from kafkalet.broker.groups.coordinator import GroupCoordinator

LOOK_MS = 500
"""What happens on another broker may touch nobody where the waiting is done, so look from time to time."""


class Marker(NamedTuple):
    """The end of a transaction, as every partition is told."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int = 0


class Leader(Protocol):
    """What a marker needs of the broker that leads its partition (Coordinators have it)."""

    node: Node

    @property
    def groups(self) -> GroupCoordinator: ...


def write_marker(
    leader: Leader,
    topic: str,
    index: int,
    marker: Marker,
    then: Callable[[Code], None],
    purgatory: Purgatory | None = None,
) -> None:
    """Append a marker to a partition that this broker leads; `then` is called once all in-sync replicas have it.

    `purgatory` is that of whoever waits, if it is another broker's. What else `then` may be called with:
    UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH,
    TRANSACTION_COORDINATOR_FENCED, UNSUPPORTED_FOR_MESSAGE_FORMAT, REQUEST_TIMED_OUT.
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
        written.wait(purgatory or node.purgatory, node.config.request_timeout_ms)


def _append(partition: Partition, marker: Marker, now_ms: int) -> int:
    """The offset of the marker. Raises KafkaError."""
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
    """A marker that is in the leader's log."""

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
        """Tell whoever waits what has become of it, if that is known."""
        partition = self._partition
        if self._leader.node.partitions.get((partition.topic, partition.index)) is not partition:
            return self._tell(Code.NOT_LEADER_OR_FOLLOWER)  # the topic is deleted, or the broker has stopped
        if not partition.is_leader or partition.leader_epoch != self._leader_epoch:
            return self._tell(Code.NOT_LEADER_OR_FOLLOWER)
        return self._tell(Code.NONE) if partition.log.high_watermark > self._offset else None

    def wait(self, purgatory: Purgatory, left_ms: int) -> Code:
        """Look again when something happens, and now and then, for so long."""
        if left_ms <= 0:
            return self._tell(Code.REQUEST_TIMED_OUT)

        def once_more() -> Code:
            code = self.look()
            return self.wait(purgatory, left_ms - LOOK_MS) if code is None else code

        key = (self._partition.topic, self._partition.index)
        purgatory.park([key], min(left_ms, LOOK_MS), self.look, once_more)
        return Code.NONE

    def _tell(self, code: Code) -> Code:
        if code is Code.NONE and self._partition.topic == CONSUMER_OFFSETS.name:
            self._leader.groups.transaction_ended(
                self._partition.index, self._marker.producer_id, committed=self._marker.committed
            )
        self._then(code)
        return code
