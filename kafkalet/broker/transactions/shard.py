"""The transactional ids stored in one partition of __transaction_state.

    decide (decisions.py) ──> append ──> all in-sync replicas have it ──> change the metadata and respond

While a change is in progress, all others are refused with CONCURRENT_TRANSACTIONS. If the append fails, the metadata
does not change. In that case, the log may or may not contain the record; the next leader has a consistent state either
way. Error codes are converted to those that a coordinator returns to clients.

Source: kafka.coordinator.transaction.TransactionStateManager.appendTransactionToLog.
"""

import logging
from collections.abc import Callable, Container

from kafkalet.broker.cluster.state_log import StateLog, StateRecord, client_code
from kafkalet.broker.quoting import quoted, shown
from kafkalet.protocol.errors import Code, KafkaError, ProtocolError
from kafkalet.tasks.task import until

from .metadata import Metadata, State
from .records import decode_key, decode_value, encode_key

_LOG = logging.getLogger(__name__)


class Transaction:
    """A transactional id, with its metadata and the change in progress."""

    __slots__ = ("has_failed_fence", "metadata", "pending", "shard", "transactional_id")

    def __init__(self, transactional_id: str, metadata: Metadata, shard: "Shard") -> None:
        self.transactional_id = transactional_id
        self.metadata = metadata
        self.shard = shard
        self.pending: State | None = None
        """The state that is being appended to the log or, after PREPARE_*, the state that will follow the markers."""
        self.has_failed_fence = False
        """Whether the epoch was incremented for fencing but the append failed. If so, it is not incremented again."""

    def __repr__(self) -> str:
        states = [self.metadata.state.title, *([self.pending.title] if self.pending else [])]
        return f"<transaction {quoted(self.transactional_id)} {' to '.join(states)}>"


class Shard:
    """The transactional ids of one partition. Valid as long as this broker leads the partition in one leader epoch."""

    def __init__(
        self, log: StateLog, encode: Callable[[Metadata], bytes], changed: Callable[[], None] = lambda: None
    ) -> None:
        self.log = log
        self.transactions: dict[str, Transaction] = {}
        self.is_open = True
        """False after this broker has stopped coordinating the partition."""
        self._encode = encode
        self._changed = changed
        """Called after the metadata of a transaction has changed."""

    @property
    def coordinator_epoch(self) -> int:
        return self.log.leader_epoch

    @property
    def leads(self) -> bool:
        """Whether this broker still leads the partition in the same leader epoch."""
        partition = self.log.partition
        return self.is_open and partition.is_leader and partition.leader_epoch == self.log.leader_epoch

    def load(self) -> None:
        """Replay the log, keeping the last record of each transactional id."""
        latest: dict[bytes | None, bytes | None] = {}
        for batch, records in self.log.read():
            if not batch.is_control:
                for record in records:
                    latest[record.key] = record.value
        for key, value in latest.items():
            try:
                transactional_id = decode_key(key)
            except (ProtocolError, ValueError) as problem:
                _LOG.error("%r: skipping a key that cannot be decoded: %s", self.log.partition, shown(problem))
                continue
            if transactional_id is not None and value is not None:
                self._take_in(transactional_id, value)

    def _take_in(self, transactional_id: str, value: bytes) -> None:
        try:
            metadata = decode_value(value)
        except (ProtocolError, ValueError) as problem:
            _LOG.error(
                "%r: skipping transactional id %s, whose metadata cannot be decoded: %s",
                *(self.log.partition, quoted(transactional_id), shown(problem)),
            )
            return
        self.transactions[transactional_id] = Transaction(transactional_id, metadata, self)

    async def store(
        self, transaction: Transaction, new: Metadata, *, stays_pending: Callable[[Code], bool] = lambda code: False
    ) -> Code:
        """Append new metadata, which replaces the old metadata once all in-sync replicas have it. Return the result.

        If `stays_pending` returns True for an error, the caller will retry and the transaction stays locked for other
        changes.
        """
        record = StateRecord(encode_key(transaction.transactional_id), self._encode(new))
        transaction.pending = new.state  # set after encoding, so that an encoding error does not leave it set
        code = client_code(await self.append([record], new.timeout_ms))
        if not self.is_open:
            return Code.NOT_COORDINATOR
        if code is Code.NONE:
            transaction.metadata = new
            transaction.pending = None
            self._changed()
        elif not stays_pending(code):
            transaction.pending = None
        return code

    async def append(self, records: list[StateRecord], timeout_ms: float) -> Code:
        """Append records as one batch. Return NONE once all in-sync replicas have the batch, or an error code."""
        try:
            offset = self.log.append(records)
        except KafkaError as error:
            return error.code
        return await until(self.log.replicated(offset, timeout_ms))

    def idle_in(self, states: Container[State]) -> list[Transaction]:
        """Return the transactions in one of these states that have no change in progress."""
        return [each for each in self.transactions.values() if each.metadata.state in states and each.pending is None]
