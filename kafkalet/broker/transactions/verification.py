"""What a partition asks the transaction coordinator: does this transaction reach here (KIP-890)?

Records of a transaction are refused unless the coordinator knows that they belong to it, so that a late batch cannot
begin a transaction that nobody will end. The partition asks once for each transaction: what is open in its log needs
no other word. What it asks depends on what the client knows:

    Produce v0-10, TxnOffsetCommit v0-3    VERIFY_FOR_OLD   is the partition in the transaction? else INVALID_TXN_STATE
    Produce v11, TxnOffsetCommit v4        VERIFY           the same, else TRANSACTION_ABORTABLE (KIP-1050)
    Produce v12-, TxnOffsetCommit v5-      ADD              let it be in the transaction (transaction version 2)

In Apache Kafka the question is an AddPartitionsToTxn to the broker that coordinates; here the brokers are one process.
A producer that has just ended its last transaction may be too early: then the broker asks again for a while (4.0).

Source: kafka.server.AddPartitionsToTxnManager, ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE, partition_of
from kafkalet.broker.config.release import Release
from kafkalet.broker.coordinators import Coordinators
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError

from .decisions import Producer
from .metadata import EPOCH_RISES_PER_TRANSACTION, TopicPartition

if TYPE_CHECKING:  # loaded for users who look at transactions
    from kafkalet.broker.views import TransactionView

Refusals = dict[TopicPartition, KafkaError]

RETRY_MS = 20
RETRY_MAX_MS = 100


class Operation(IntEnum):
    """What is asked of the coordinator."""

    VERIFY_FOR_OLD = 0
    VERIFY = 1
    ADD = 2

    @classmethod
    def of_produce(cls, version: int) -> Operation:
        """What Produce of that version has to ask."""
        return cls.ADD if version >= 12 else cls.VERIFY if version >= 11 else cls.VERIFY_FOR_OLD

    @classmethod
    def of_txn_offset_commit(cls, version: int) -> Operation:
        """What TxnOffsetCommit of that version has to ask."""
        return cls.ADD if version >= 5 else cls.VERIFY if version >= 4 else cls.VERIFY_FOR_OLD


class Transactions:
    """The transactions of a cluster, whoever of its brokers coordinates them.

    `coordinators_of` gives the coordinators of a running broker by its id.
    """

    def __init__(
        self,
        metadata: MetadataImage,
        clock: Clock,
        release: Release,
        coordinators_of: Callable[[int], Coordinators | None],
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._release = release
        self._coordinators_of = coordinators_of

    def view(self, transactional_id: str) -> TransactionView:
        """How a transactional id stands. TRANSACTIONAL_ID_NOT_FOUND if no producer has used it."""
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

    def verify(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        operation: Operation,
        then: Callable[[Refusals], None],
    ) -> None:
        """Ask the coordinator about partitions that the producer's records reach.

        `then` is called with a KafkaError for each that they must not reach: at once, or when the coordinator has
        written it down. Its codes are those of Kafka's coordinator, but INVALID_PRODUCER_EPOCH for PRODUCER_FENCED.
        """
        wanted = frozenset(partitions)
        clock = self._clock
        give_up_ms = clock.now_ms() + RETRY_MAX_MS

        def answered(codes: dict[TopicPartition, Code]) -> None:
            too_early = Code.CONCURRENT_TRANSACTIONS in codes.values()
            if too_early and self._release.asks_again_when_too_early and clock.now_ms() < give_up_ms:
                clock.call_later(RETRY_MS, ask)
            else:
                then({each: _refusal(code, operation) for each, code in codes.items() if code})

        def ask() -> None:
            self._ask(transactional_id, producer, wanted, operation, answered)

        ask()

    def _ask(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: frozenset[TopicPartition],
        operation: Operation,
        then: Callable[[dict[TopicPartition, Code]], None],
    ) -> None:
        leader = self._leader(transactional_id)
        if leader is None:
            then(dict.fromkeys(partitions, Code.COORDINATOR_NOT_AVAILABLE))
            return
        coordinator = leader.transactions
        if operation is Operation.ADD:

            def added(code: Code) -> None:
                then(dict.fromkeys(partitions, code))

            coordinator.add_partitions(transactional_id, producer, partitions, EPOCH_RISES_PER_TRANSACTION, added)
        else:
            then(coordinator.verify_partitions(transactional_id, producer, partitions))

    def _leader(self, transactional_id: str) -> Coordinators | None:
        """The coordinators of the broker that is responsible, None while no broker is."""
        topic = self._metadata.topics.get(TRANSACTION_STATE.name)
        if topic is None:
            return None
        return self._coordinators_of(topic.partitions[partition_of(transactional_id, len(topic.partitions))].leader)


def _refusal(code: Code, operation: Operation) -> KafkaError:
    if code is Code.PRODUCER_FENCED:
        return KafkaError(Code.INVALID_PRODUCER_EPOCH)
    if code is Code.TRANSACTION_ABORTABLE and operation is Operation.VERIFY_FOR_OLD:
        return KafkaError(Code.INVALID_TXN_STATE)
    return KafkaError(code)
