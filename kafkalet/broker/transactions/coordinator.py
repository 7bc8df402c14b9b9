"""The transaction coordinator of a broker.

Operations that may have to wait for replication take a callback `then`. It is called exactly once, immediately if the
result is available. Error codes are those of the newest version of a request; `for_version` converts them for older
clients.

Source: kafka.coordinator.transaction.TransactionCoordinator.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed

from .decisions import (
    End,
    Producer,
    add_partitions,
    end_transaction,
    fencing_epoch,
    initialize,
    verify_partition,
)
from .marker import Leader
from .markers import Ending
from .metadata import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARE_STATES,
    Metadata,
    State,
    TopicPartition,
)
from .shard import Shard, Transaction
from .timeouts import Timeouts

NO_IDS_LEFT = Code.COORDINATOR_LOAD_IN_PROGRESS
"""The error if no block of producer ids can be reserved; clients retry (RPCProducerIdManager.generateProducerId)."""


class Result(NamedTuple):
    """The result of a request, and the producer id and epoch to continue with, which are -1 after an error."""

    code: Code
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


def for_version(code: Code, version: int, knows_fenced: int) -> Code:
    """Replace PRODUCER_FENCED for clients that do not know this error (KIP-588).

    Clients know it if they use version `knows_fenced` of the request or later.
    """
    return Code.INVALID_PRODUCER_EPOCH if code is Code.PRODUCER_FENCED and version < knows_fenced else code


class TransactionCoordinator:
    """The transactions that the broker `node` coordinates.

    `partition_for` returns the partition of __transaction_state that stores a transactional id. If necessary, it first
    loads the partition's state. It raises NOT_COORDINATOR if another broker leads that partition. `take_producer_id`
    returns an unused producer id or raises StorageFailed. `leader` returns a running broker by its id; transaction
    markers are written on that broker.
    """

    def __init__(
        self,
        node: Node,
        partition_for: Callable[[str], int],
        take_producer_id: Callable[[], int],
        leader: Callable[[int], Leader | None],
    ) -> None:
        self._node = node
        self._partition_for = partition_for
        self._take_producer_id = take_producer_id
        self._leader = leader
        self._shards: dict[int, Shard] = {}
        self._epochs: dict[int, int] = {}
        """The leader epochs of the shards, by partition."""
        self._endings: dict[Transaction, Ending] = {}
        self._timeouts = Timeouts(node.clock, node.config, self._shards.values, self._abort)

    # Leadership

    def loaded(self) -> dict[int, int]:
        return self._epochs

    def load(self, log: StateLog) -> None:
        """Load the state of a partition that this broker now leads, and complete decided transactions."""
        shard = self._shards[log.index] = Shard(log, self._value_version, self._node.watchers.touch)
        self._epochs[log.index] = log.leader_epoch
        shard.load()
        if self._node.is_read_only:
            return
        for transaction in shard.transactions.values():
            if transaction.metadata.state in PREPARE_STATES:
                self._finish(transaction)
        self._timeouts.start()

    def unload(self, index: int) -> None:
        """Drop the state of a partition."""
        shard = self._shards.pop(index)
        del self._epochs[index]
        shard.is_open = False
        for transaction, ending in list(self._endings.items()):
            if transaction.shard is shard:
                ending.stop()
                del self._endings[transaction]
        if not self._shards:
            self._timeouts.stop()

    def _value_version(self) -> int:
        return 1 if self._transaction_version() >= 1 else 0

    def _transaction_version(self) -> int:
        """The transaction version of the cluster."""
        return self._node.feature_level("transaction.version")

    def _check_version(self, client_version: int) -> None:
        """Raise UNSUPPORTED_VERSION if the cluster's records cannot store the client's transaction version.

        Kafka does not check this, so there the transaction can never be completed.
        """
        if client_version and not self._transaction_version():
            raise KafkaError(Code.UNSUPPORTED_VERSION)

    # Lookup

    def find(self, transactional_id: str) -> Transaction | None:
        """Return the transaction of a transactional id, or None.

        Raises NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE.
        """
        return self._shard(transactional_id).transactions.get(transactional_id)

    def transactions(self) -> Iterable[Transaction]:
        """Yield all transactions that this broker coordinates."""
        for shard in self._shards.values():
            if shard.leads:
                yield from shard.transactions.values()

    def _shard(self, transactional_id: str) -> Shard:
        return self._shards[self._partition_for(transactional_id)]

    def _known(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise KafkaError(Code.INVALID_REQUEST)
        transaction = self.find(transactional_id)
        if transaction is None:
            raise KafkaError(Code.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    # Requests

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, then: Callable[[Result], None]
    ) -> None:
        """Assign a producer id and epoch.

        The result is CONCURRENT_TRANSACTIONS while an open transaction is being aborted.
        """
        try:
            if not transactional_id:
                raise KafkaError(Code.INVALID_REQUEST)
            if not 0 < timeout_ms <= self._node.config.transaction_max_timeout_ms:
                raise KafkaError(Code.INVALID_TRANSACTION_TIMEOUT)
            shard = self._shard(transactional_id)
        except KafkaError as error:
            then(Result(error.code))
            return
        transaction = shard.transactions.get(transactional_id)
        try:
            if transaction is None:
                unused = Metadata(self._take_producer_id(), NO_EPOCH, timeout_ms, update_ms=self._now_ms())
                transaction = shard.transactions[transactional_id] = Transaction(transactional_id, unused, shard)
            decision = initialize(transaction, timeout_ms, expected, self._now_ms(), self._take_producer_id)
        except StorageFailed:
            then(Result(NO_IDS_LEFT))
            return
        if isinstance(decision, Code):
            then(Result(decision))
        elif decision.state is State.PREPARE_EPOCH_FENCE:
            self._fence(transaction, lambda result: then(Result(result.code or Code.CONCURRENT_TRANSACTIONS)))
        else:
            self._begin(transaction, decision, then)

    def _begin(self, transaction: Transaction, new: Metadata, then: Callable[[Result], None]) -> None:
        start_ms = transaction.metadata.start_ms

        def begun(code: Code) -> None:
            if code:
                then(Result(code))
                return
            if self._node.release.remembers_last_start:
                transaction.metadata = new._replace(start_ms=start_ms)
            then(Result(code, new.producer_id, new.producer_epoch))

        transaction.shard.store(transaction, new, begun)

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        client_version: int,
        then: Callable[[Code], None],
    ) -> None:
        """Add partitions to the producer's transaction, and start one if none is open."""
        try:
            transaction = self._known(transactional_id)
            self._check_version(client_version)
        except KafkaError as error:
            then(error.code)
            return
        decision = add_partitions(
            transaction,
            producer,
            frozenset(partitions),
            client_version,
            self._now_ms(),
            pending_comes_first=self._node.release.answers_concurrent_transactions_first,
        )
        if isinstance(decision, Code):
            then(decision)
        else:
            transaction.shard.store(transaction, decision, then)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Code]:
        """Return, for each partition, whether it is part of the producer's transaction."""
        try:
            transaction = self._known(transactional_id)
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)
        return {each: verify_partition(transaction, producer, each) for each in partitions}

    def end_transaction(self, transactional_id: str, end: End, then: Callable[[Result], None]) -> None:
        """Commit or abort a transaction.

        `then` is called once the decision is in the log; the markers are written afterwards.
        """
        try:
            transaction = self._known(transactional_id)
            self._check_version(end.client_version)
        except KafkaError as error:
            then(Result(error.code))
            return
        self._end(transaction, end, then)

    def _end(self, transaction: Transaction, end: End, then: Callable[[Result], None]) -> None:
        try:
            decision = end_transaction(transaction, end, self._now_ms(), self._take_producer_id)
        except StorageFailed:
            then(Result(NO_IDS_LEFT))
            return
        if isinstance(decision, Code):
            known = transaction.metadata
            then(Result(decision) if decision else Result(decision, known.producer_id, known.producer_epoch))
            return
        if end.is_fence and not end.raises_epoch:  # even if the append fails, the epoch counts as used
            transaction.metadata = transaction.metadata._replace(
                producer_epoch=end.producer_epoch, last_producer_epoch=NO_EPOCH
            )

        def decided(code: Code) -> None:
            if code:
                transaction.has_failed_fence = transaction.has_failed_fence or end.is_fence
                then(Result(code))
                return
            ending = self._finish(transaction)
            then(Result(code, ending.producer_id, ending.producer_epoch))

        transaction.shard.store(transaction, decision, decided)

    def fence(self, transactional_id: str, then: Callable[[Result], None]) -> None:
        """Abort the open transaction with an incremented epoch, which fences its producer.

        The result is INVALID_TXN_STATE if no transaction is open, and CONCURRENT_TRANSACTIONS if a change is in
        progress.
        """
        try:
            transaction = self._known(transactional_id)
        except KafkaError as error:
            then(Result(error.code))
            return
        if transaction.pending is not None:
            then(Result(Code.CONCURRENT_TRANSACTIONS))
        elif transaction.metadata.state is not State.ONGOING:
            then(Result(Code.INVALID_TXN_STATE))
        else:
            self._fence(transaction, then)

    @property
    def transaction_version(self) -> int:
        """The transaction version of the cluster."""
        return self._transaction_version()

    # Background work

    def _finish(self, transaction: Transaction) -> Ending:
        """Start writing the markers of a decided transaction, on the next iteration of the event loop."""

        def done() -> None:
            self._endings.pop(transaction, None)

        def start() -> None:
            if self._endings.get(transaction) is ending:
                ending.start()

        ending = self._endings[transaction] = Ending(self._node, transaction, self._leader, done)
        self._node.call_soon(start)
        return ending

    def _abort(self, transaction: Transaction) -> None:
        """Abort a transaction that has timed out."""
        self._fence(transaction, lambda result: None)

    def _fence(self, transaction: Transaction, then: Callable[[Result], None]) -> None:
        """Abort the open transaction with an incremented epoch, which fences its producer."""
        producer_id, epoch = transaction.metadata.producer_id, fencing_epoch(transaction)
        end = End(producer_id, epoch, committed=False, client_version=self._transaction_version(), is_fence=True)
        self._end(transaction, end, then)

    def _now_ms(self) -> int:
        return self._node.clock.now_ms()
