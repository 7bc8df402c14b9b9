"""Verification of transactional writes with the transaction coordinator (KIP-890).

A partition refuses transactional records unless the coordinator confirms that they belong to an open transaction.
Otherwise a late batch could start a transaction that no producer ever ends. There is one verification per transaction;
if the transaction is already open in the log, none is needed. The operation depends on the version of the request:

    Produce v0-10, TxnOffsetCommit v0-3    VERIFY_FOR_OLD   refuse with INVALID_TXN_STATE if not in the transaction
    Produce v11, TxnOffsetCommit v4        VERIFY           refuse with TRANSACTION_ABORTABLE instead (KIP-1050)
    Produce v12+, TxnOffsetCommit v5+      ADD              add the partition (transaction version 2)

Apache Kafka sends AddPartitionsToTxn to the coordinating broker; here, all brokers run in one process, so the
coordinator is called directly. If the previous transaction of the producer is still being completed, the broker retries
for a short time (4.0).

Source: kafka.server.AddPartitionsToTxnManager, ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE, partition_of
from kafkalet.broker.config.release import Release
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.delayed import after
from kafkalet.tasks.task import detached, until

from .decisions import Producer
from .metadata import EPOCH_RISES_PER_TRANSACTION, TopicPartition

if TYPE_CHECKING:  # loaded only when there are transactions, or when they are inspected
    from kafkalet.broker.cluster.node import Node
    from kafkalet.broker.views import TransactionView

    from .coordinator import TransactionCoordinator

Refusals = dict[TopicPartition, KafkaError]

RETRY_MS = 20
RETRY_MAX_MS = 100


class Operation(IntEnum):
    """The operation requested from the coordinator."""

    VERIFY_FOR_OLD = 0
    VERIFY = 1
    ADD = 2

    @classmethod
    def of_produce(cls, version: int) -> Operation:
        """Return the operation for a version of Produce."""
        return cls.ADD if version >= 12 else cls.VERIFY if version >= 11 else cls.VERIFY_FOR_OLD

    @classmethod
    def of_txn_offset_commit(cls, version: int) -> Operation:
        """Return the operation for a version of TxnOffsetCommit."""
        return cls.ADD if version >= 5 else cls.VERIFY if version >= 4 else cls.VERIFY_FOR_OLD


class Leader(Protocol):
    """What this module requires of the responsible broker's `Coordinators`."""

    node: Node

    @property
    def transactions(self) -> TransactionCoordinator: ...


class Transactions:
    """The transactions of a cluster, regardless of which broker coordinates them.

    Verifications are repeated in real time, which is measured by `clock`. `metadata` returns the metadata of now, and
    `coordinators_of` the coordinators of a running broker by its id. `node` is the broker that verifies.
    """

    def __init__(
        self,
        metadata: Callable[[], MetadataImage],
        clock: Clock,
        release: Release,
        coordinators_of: Callable[[int], Leader | None],
        node: Node | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._release = release
        self._coordinators_of = coordinators_of
        self._node = node

    def view(self, transactional_id: str) -> TransactionView:
        """Return the current state of a transactional id.

        Raises TRANSACTIONAL_ID_NOT_FOUND if no producer has used it.
        """
        from kafkalet.broker.views import TransactionView

        leader = self._leader(transactional_id)
        transaction = None if leader is None else leader.transactions.find(transactional_id)
        if leader is None or transaction is None:
            raise KafkaError(Code.TRANSACTIONAL_ID_NOT_FOUND, f"there is no transactional id {transactional_id}")
        known = transaction.metadata
        return TransactionView(
            transactional_id,
            known.state.title,
            known.producer_id,
            known.producer_epoch,
            known.timeout_ms,
            sorted(known.partitions),
            known.start_ms,
            leader.node.node_id,
        )

    @detached
    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], operation: Operation
    ) -> Refusals:
        """Ask the coordinator whether the producer may write to these partitions in its transaction.

        Returns a KafkaError for each refused partition, either immediately or once the coordinator has written the
        added partitions to its log. The codes are those of Kafka's coordinator, except that INVALID_PRODUCER_EPOCH
        replaces PRODUCER_FENCED.
        """
        wanted = frozenset(partitions)
        give_up_ms = self._clock.now_ms() + RETRY_MAX_MS
        codes = await self._ask(transactional_id, producer, wanted, operation)
        if self._release.retries_concurrent_transactions:
            while Code.CONCURRENT_TRANSACTIONS in codes.values() and self._clock.now_ms() < give_up_ms:
                await until(after(self._clock, RETRY_MS))
                codes = await self._ask(transactional_id, producer, wanted, operation)
        return {each: _refusal(code, operation) for each, code in codes.items() if code}

    async def _ask(
        self, transactional_id: str, producer: Producer, partitions: frozenset[TopicPartition], operation: Operation
    ) -> dict[TopicPartition, Code]:
        leader = self._leader(transactional_id)
        if leader is None:
            return dict.fromkeys(partitions, Code.COORDINATOR_NOT_AVAILABLE)
        if self._node is not None and not await until(self._node.response_of(leader.node)):
            return dict.fromkeys(partitions, Code.NETWORK_EXCEPTION)
        if operation is not Operation.ADD:
            return leader.transactions.verify_partitions(transactional_id, producer, partitions)
        code = await until(
            leader.transactions.add_partitions(transactional_id, producer, partitions, EPOCH_RISES_PER_TRANSACTION)
        )
        return dict.fromkeys(partitions, code)

    def _leader(self, transactional_id: str) -> Leader | None:
        """Return the coordinators of the broker responsible for this id, or None if there is none at the moment."""
        topic = self._metadata().topics.get(TRANSACTION_STATE.name)
        if topic is None:
            return None
        return self._coordinators_of(topic.partitions[partition_of(transactional_id, len(topic.partitions))].leader)


def _refusal(code: Code, operation: Operation) -> KafkaError:
    if code is Code.PRODUCER_FENCED:
        return KafkaError(Code.INVALID_PRODUCER_EPOCH)
    if code is Code.TRANSACTION_ABORTABLE and operation is Operation.VERIFY_FOR_OLD:
        return KafkaError(Code.INVALID_TXN_STATE)
    return KafkaError(code)
