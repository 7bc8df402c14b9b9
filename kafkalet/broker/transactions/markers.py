"""Writes the markers of a decided transaction to all of its partitions.

If a leader has already seen a newer coordinator epoch or producer epoch, it refuses the marker. In that case this
coordinator has been replaced, and it leaves the transaction to its successor. After any other error, the coordinator
retries until it succeeds. Partitions that have been deleted need no marker. Since 4.3, Kafka takes partitions without a
leader for deleted, so that the transaction stays open in them (KRaftMetadataCache.getPartitionLeaderEndpoint).

Once all in-sync replicas of every partition have the marker, the completed transaction is appended to
__transaction_state.

Source: kafka.coordinator.transaction.TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

import logging
from collections.abc import Callable

from kafkalet.broker.cluster.metadata import NO_LEADER
from kafkalet.broker.cluster.node import Node
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code
from kafkalet.tasks.delayed import after
from kafkalet.tasks.task import detached, until

from .marker import Leader, Marker, write_marker
from .metadata import State, TopicPartition
from .shard import Transaction

_LOG = logging.getLogger(__name__)

RETRY_MS = 50
"""The delay before a failed operation is retried."""
FENCED = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED})
"""Errors that show that another producer or another coordinator has taken over."""
NO_MARKER_NEEDED = frozenset({Code.UNSUPPORTED_FOR_MESSAGE_FORMAT, Code.UNSUPPORTED_VERSION})


class Ending:
    """The completion of a decided transaction. `node` coordinates it; `leader` returns a running broker by its id.

    It stops when the shard is closed, because another coordinator will complete the transaction.
    """

    def __init__(self, node: Node, transaction: Transaction, leader: Callable[[int], Leader | None]) -> None:
        metadata = transaction.metadata
        self._node = node
        self._transaction = transaction
        self._shard = transaction.shard
        self._leader = leader
        self.completed = metadata.completed(node.clock.now_ms())
        """The metadata of the completed transaction, with the producer id and epoch to continue with."""
        self._marker = Marker(
            metadata.producer_id,
            metadata.producer_epoch,
            transaction.shard.coordinator_epoch,
            metadata.state is State.PREPARE_COMMIT,
            metadata.client_version if node.release.sends_transaction_versions else 0,
        )
        self._left = set(metadata.partitions)
        self._is_fenced = False
        """Whether a partition has refused the marker, so this coordinator cannot complete the transaction."""
        transaction.pending = self.completed.state

    @detached
    async def run(self) -> None:
        """Write the markers to all partitions, then append the completed transaction."""
        if self._is_over():
            return
        for marked in [self._mark(partition) for partition in sorted(self._left)]:
            await until(marked)
        while not self._left and not self._is_over():
            code = await self._shard.store(self._transaction, self.completed, stays_pending=self._is_temporary)
            if code is Code.NONE:
                self._transaction.has_failed_fence = False
            elif self._is_temporary(code):
                await until(after(self._node.real_clock, RETRY_MS))
                continue
            elif code is not Code.NOT_COORDINATOR:
                _LOG.error("%r cannot be completed: %s", self._transaction, code.name)
            return

    @detached
    async def _mark(self, partition: TopicPartition) -> None:
        """Write the marker to a partition, until that succeeds or a partition refuses it."""
        while not self._is_over():
            code = await self._write(partition)
            if self._is_over():
                return
            if code is Code.NONE or code in NO_MARKER_NEEDED:
                self._left.discard(partition)
                if self._left:
                    transaction = self._transaction
                    transaction.metadata = transaction.metadata._replace(partitions=frozenset(self._left))
                return
            if code in FENCED:
                topic, index = partition
                _LOG.info("%r: %s-%d has refused the marker: %s", self._transaction, quoted(topic), index, code.name)
                self._is_fenced = True
            if self._is_fenced:
                return
            await until(after(self._node.real_clock, RETRY_MS))

    async def _write(self, partition: TopicPartition) -> Code:
        state = self._node.metadata.partition(*partition)
        skips = self._node.release.skips_markers_without_leader
        if state is None or (skips and state.leader == NO_LEADER):  # deleted, or taken for deleted
            return Code.NONE
        leader = self._leader(state.leader)
        if leader is None:
            return Code.LEADER_NOT_AVAILABLE
        if not self._node.reaches(leader.node):  # another leader of the partition gets the marker only after this
            await until(self._node.response_of(leader.node, self._is_over))
            return Code.REQUEST_TIMED_OUT
        return await until(write_marker(leader, *partition, self._marker))

    def _is_over(self) -> bool:
        return not self._shard.is_open

    def _is_temporary(self, code: Code) -> bool:
        """Return whether the append failed temporarily, because too few replicas are in sync or the disk is full."""
        if code is Code.NOT_COORDINATOR:  # also returned if the log cannot be written
            return self._shard.leads
        return code is Code.COORDINATOR_NOT_AVAILABLE
