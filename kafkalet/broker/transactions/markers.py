"""Writes the markers of a decided transaction to all of its partitions.

If a leader has already seen a newer coordinator epoch or producer epoch, it refuses the marker. In that case this
coordinator has been replaced, and it leaves the transaction to its successor. After any other error, the coordinator
retries until it succeeds. Partitions that have been deleted need no marker.

Once all in-sync replicas of every partition have the marker, the completed transaction is appended to
__transaction_state.

Source: kafka.coordinator.transaction.TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

import logging
from collections.abc import Callable
from functools import partial

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.quoting import quoted
from kafkalet.clock import Timer
from kafkalet.protocol.errors import Code

from .marker import Leader, Marker, write_marker
from .metadata import State, TopicPartition
from .shard import Transaction

_LOG = logging.getLogger(__name__)

RETRY_MS = 50
"""The delay before a failed operation is retried."""
PASSED_OVER = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED})
"""Errors that show that another producer or another coordinator has taken over."""
NEEDS_NONE = frozenset({Code.UNSUPPORTED_FOR_MESSAGE_FORMAT, Code.UNSUPPORTED_VERSION})


class Ending:
    """The completion of a decided transaction. `node` coordinates it; `leader` returns a running broker by its id.

    `done` is called once, when the transaction has been completed or given up.
    """

    def __init__(
        self,
        node: Node,
        transaction: Transaction,
        leader: Callable[[int], Leader | None],
        done: Callable[[], None],
    ) -> None:
        metadata = transaction.metadata
        self._node = node
        self._transaction = transaction
        self._leader = leader
        self._completed = metadata.completed(node.clock.now_ms())
        self._marker = Marker(
            metadata.producer_id,
            metadata.producer_epoch,
            transaction.shard.coordinator_epoch,
            metadata.state is State.PREPARE_COMMIT,
            metadata.client_version if node.release.sends_transaction_versions else 0,
        )
        self._left = set(metadata.partitions)
        self._timers: dict[TopicPartition | None, Timer] = {}
        self._is_over = False
        self._is_given_up = False
        """True if a partition has refused the marker, so this coordinator cannot complete the transaction."""
        self._done = done
        transaction.pending = self._completed.state

    @property
    def producer_id(self) -> int:
        """The producer id with which the producer continues."""
        return self._completed.producer_id

    @property
    def producer_epoch(self) -> int:
        return self._completed.producer_epoch

    def start(self) -> None:
        """Write the markers to all partitions."""
        if not self._left:
            self._complete()
        for partition in sorted(self._left):
            self._write(partition)

    def stop(self) -> None:
        """Stop, because another coordinator will complete the transaction."""
        self._is_over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _write(self, partition: TopicPartition) -> None:
        state = self._node.metadata.partition(*partition)
        if state is None:
            self._has_marker(partition)
            return
        leader = self._leader(state.leader)
        if leader is None:
            self._try_later(partition)
        else:
            write_marker(leader, *partition, self._marker, partial(self._written, partition))

    def _written(self, partition: TopicPartition, code: Code) -> None:
        if self._is_over:
            return
        if code is Code.NONE or code in NEEDS_NONE:
            self._has_marker(partition)
        elif code in PASSED_OVER:
            topic, index = partition
            _LOG.info("%r: %s-%d has refused the marker: %s", self._transaction, quoted(topic), index, code.name)
            self._is_given_up = True
        else:
            self._try_later(partition)

    def _has_marker(self, partition: TopicPartition) -> None:
        self._left.discard(partition)
        if self._left:
            transaction = self._transaction
            transaction.metadata = transaction.metadata._replace(partitions=frozenset(self._left))
        else:
            self._complete()

    def _try_later(self, partition: TopicPartition) -> None:
        self._later(partition, lambda: self._write(partition))

    def _complete(self) -> None:
        self._transaction.shard.store(
            self._transaction,
            self._completed,
            self._stored,
            stays_pending=self._will_pass,
        )

    def _will_pass(self, code: Code) -> bool:
        """Whether the append failed temporarily, because too few replicas are in sync or the disk is full."""
        if code is Code.NOT_COORDINATOR:  # also returned if the log cannot be written
            return self._transaction.shard.leads
        return code is Code.COORDINATOR_NOT_AVAILABLE

    def _stored(self, code: Code) -> None:
        if self._will_pass(code):
            self._later(None, self._complete)
            return
        if code is Code.NONE:
            self._transaction.has_failed_fence = False
        elif code is not Code.NOT_COORDINATOR:
            _LOG.error("%r cannot be completed: %s", self._transaction, code.name)
        self.stop()
        self._done()

    def _later(self, key: TopicPartition | None, task: Callable[[], None]) -> None:
        if self._is_over or self._is_given_up:
            return

        def run() -> None:
            del self._timers[key]
            task()

        self._timers[key] = self._node.real_clock.call_later(RETRY_MS, run)
