"""The transaction coordinator of a broker.

Operations that may have to wait for replication are detached: they complete even if their client disconnects. Error
codes are those of the newest version of a request; `for_version` converts them for older clients.

The path of an EndTxn request: apis/end_txn.py, `end_transaction` below, decisions.py (which change), shard.py (append
it and wait), then, after the response, markers.py (all partitions), marker.py (one partition), and shard.py again.

Source: kafka.coordinator.transaction.TransactionCoordinator.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed
from kafkalet.tasks.task import detached

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
from .records import encode_value
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
        """The leader epochs of the shards, keyed by partition."""
        self._timeouts = Timeouts(node.clock, node.config, self._shards.values, detached(self._fence))

    # Leadership

    def loaded(self) -> dict[int, int]:
        return self._epochs

    def load(self, log: StateLog) -> None:
        """Load the state of a partition that this broker now leads, and complete decided transactions."""
        shard = self._shards[log.index] = Shard(log, self._encode, self._node.watchers.touch)
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
        if not self._shards:
            self._timeouts.stop()

    def _encode(self, metadata: Metadata) -> bytes:
        if not self._node.release.writes_other_producer_ids:
            metadata = metadata._replace(previous_producer_id=NO_PRODUCER_ID, next_producer_id=NO_PRODUCER_ID)
        return encode_value(metadata, 1 if self._transaction_version() >= 1 else 0)

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

    @detached
    async def init_producer_id(self, transactional_id: str, timeout_ms: int, expected: Producer | None) -> Result:
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
            return Result(error.code)
        transaction = shard.transactions.get(transactional_id)
        try:
            if transaction is None:
                unused = Metadata(self._take_producer_id(), NO_EPOCH, timeout_ms, update_ms=self._now_ms())
                transaction = shard.transactions[transactional_id] = Transaction(transactional_id, unused, shard)
            decision = initialize(transaction, timeout_ms, expected, self._now_ms(), self._take_producer_id)
        except StorageFailed:
            return Result(NO_IDS_LEFT)
        if isinstance(decision, Code):
            return Result(decision)
        if decision.state is State.PREPARE_EPOCH_FENCE:
            result = await self._fence(transaction)
            return Result(result.code or Code.CONCURRENT_TRANSACTIONS)
        start_ms = transaction.metadata.start_ms
        code = await shard.store(transaction, decision)
        if code:
            return Result(code)
        if self._node.release.remembers_last_start:
            transaction.metadata = decision._replace(start_ms=start_ms)
        return Result(code, decision.producer_id, decision.producer_epoch)

    @detached
    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], client_version: int
    ) -> Code:
        """Add partitions to the producer's transaction, and start one if none is open."""
        try:
            transaction = self._known(transactional_id)
            self._check_version(client_version)
        except KafkaError as error:
            return error.code
        decision = add_partitions(
            transaction,
            producer,
            frozenset(partitions),
            client_version,
            self._now_ms(),
            pending_comes_first=self._node.release.answers_concurrent_transactions_first,
        )
        return decision if isinstance(decision, Code) else await transaction.shard.store(transaction, decision)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Code]:
        """Return, for each partition, whether it is part of the producer's transaction."""
        try:
            transaction = self._known(transactional_id)
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)
        return {each: verify_partition(transaction, producer, each) for each in partitions}

    @detached
    async def end_transaction(self, transactional_id: str, end: End) -> Result:
        """Commit or abort a transaction. The result is known once the decision is in the log.

        The markers are written afterwards.
        """
        try:
            transaction = self._known(transactional_id)
            self._check_version(end.client_version)
        except KafkaError as error:
            return Result(error.code)
        return await self._end(transaction, end)

    async def _end(self, transaction: Transaction, end: End) -> Result:
        try:
            decision = end_transaction(transaction, end, self._now_ms(), self._take_producer_id)
        except StorageFailed:
            return Result(NO_IDS_LEFT)
        if isinstance(decision, Code):
            known = transaction.metadata
            return Result(decision) if decision else Result(decision, known.producer_id, known.producer_epoch)
        if end.is_fence and not end.raises_epoch:  # even if the append fails, the epoch counts as used
            transaction.metadata = transaction.metadata._replace(
                producer_epoch=end.producer_epoch, last_producer_epoch=NO_EPOCH
            )
        code = await transaction.shard.store(transaction, decision)
        if code:
            transaction.has_failed_fence = transaction.has_failed_fence or end.is_fence
            return Result(code)
        completed = self._finish(transaction)
        return Result(code, completed.producer_id, completed.producer_epoch)

    @detached
    async def fence(self, transactional_id: str) -> Result:
        """Abort the open transaction with an incremented epoch, which fences its producer.

        The result is INVALID_TXN_STATE if no transaction is open, and CONCURRENT_TRANSACTIONS if a change is in
        progress.
        """
        try:
            transaction = self._known(transactional_id)
        except KafkaError as error:
            return Result(error.code)
        if transaction.pending is not None:
            return Result(Code.CONCURRENT_TRANSACTIONS)
        if transaction.metadata.state is not State.ONGOING:
            return Result(Code.INVALID_TXN_STATE)
        return await self._fence(transaction)

    @property
    def transaction_version(self) -> int:
        """The transaction version of the cluster."""
        return self._transaction_version()

    # Background work

    def _finish(self, transaction: Transaction) -> Metadata:
        """Write the markers of a decided transaction, from the next iteration of the event loop on.

        Returns the metadata of the completed transaction.
        """
        ending = Ending(self._node, transaction, self._leader)
        self._node.call_soon(ending.run)
        return ending.completed

    async def _fence(self, transaction: Transaction) -> Result:
        """Abort the open transaction with an incremented epoch, which fences its producer."""
        producer_id, epoch = transaction.metadata.producer_id, fencing_epoch(transaction)
        end = End(producer_id, epoch, committed=False, client_version=self._transaction_version(), is_fence=True)
        return await self._end(transaction, end)

    def _now_ms(self) -> int:
        return self._node.clock.now_ms()
