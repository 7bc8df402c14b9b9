"""The transactional ids that one partition of __transaction_state keeps.

    decide (decisions.py) ──> append ──> the in-sync replicas have it ──> change, and tell whoever asked

While a change is on its way every other one is refused with CONCURRENT_TRANSACTIONS. Where the append fails, the
metadata stay as they were, and so does the log, or the next leader finds the change in it: both are consistent.
Whoever asked is told in the words of a coordinator.

Source: kafka.coordinator.transaction.TransactionStateManager.appendTransactionToLog.
"""

import logging
from collections.abc import Callable, Container

from kafkalet.broker.cluster.state_log import StateLog, StateRecord, client_code
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError, ProtocolError

from .metadata import Metadata, State
from .records import decode_key, decode_value, encode_key, encode_value

_LOG = logging.getLogger(__name__)


class Transaction:
    """A transactional id: its metadata, and what is under way to change them."""

    __slots__ = ("has_failed_fence", "metadata", "pending", "shard", "transactional_id")

    def __init__(self, transactional_id: str, metadata: Metadata, shard: "Shard") -> None:
        self.transactional_id = transactional_id
        self.metadata = metadata
        self.shard = shard
        self.pending: State | None = None
        """The state that is on its way into the log; or, after PREPARE_*, the one that the markers lead to."""
        self.has_failed_fence = False
        """An epoch was raised to fence a producer and did not come into the log: it need not be raised again."""

    def __repr__(self) -> str:
        states = [self.metadata.state.title, *([self.pending.title] if self.pending else [])]
        return f"<transaction {quoted(self.transactional_id)} {' to '.join(states)}>"


class Shard:
    """What this broker coordinates while it leads one partition, in one leader epoch."""

    def __init__(self, log: StateLog, value_version: Callable[[], int]) -> None:
        self.log = log
        self.transactions: dict[str, Transaction] = {}
        self.is_open = True
        """False once somebody else coordinates this, or nobody."""
        self._value_version = value_version

    @property
    def coordinator_epoch(self) -> int:
        return self.log.leader_epoch

    @property
    def leads(self) -> bool:
        """Whether this broker is still the leader in whose epoch this was read."""
        partition = self.log.partition
        return self.is_open and partition.is_leader and partition.leader_epoch == self.log.leader_epoch

    def load(self) -> None:
        """Read what is in the log: of each transactional id what was written last."""
        latest: dict[bytes | None, bytes | None] = {}
        for batch, records in self.log.read():
            if not batch.is_control:
                for record in records:
                    latest[record.key] = record.value
        for key, value in latest.items():
            try:
                transactional_id = decode_key(key)
            except (ProtocolError, ValueError) as problem:
                _LOG.error("a key in %r cannot be read: %s", self.log.partition, problem)
                continue
            if transactional_id is not None and value is not None:
                self._take_in(transactional_id, value)

    def _take_in(self, transactional_id: str, value: bytes) -> None:
        try:
            metadata = decode_value(value)
        except (ProtocolError, ValueError) as problem:
            _LOG.error(
                "transactional id %s cannot be read from %r: %s",
                *(quoted(transactional_id), self.log.partition, problem),
            )
            return
        self.transactions[transactional_id] = Transaction(transactional_id, metadata, self)

    def store(
        self,
        transaction: Transaction,
        new: Metadata,
        then: Callable[[Code], None],
        *,
        stays_pending: Callable[[Code], bool] = lambda code: False,
    ) -> None:
        """Append new metadata, and let them take the old ones' place once the in-sync replicas have them.

        `then` is called with NONE afterwards, or with what has gone wrong; where `stays_pending` says of that code
        that somebody tries again, nobody else may come between.
        """

        def stored(code: Code) -> None:
            code = client_code(code)
            if not self.is_open:
                code = Code.NOT_COORDINATOR
            elif code is Code.NONE:
                transaction.metadata = new
                transaction.pending = None
            elif not stays_pending(code):
                transaction.pending = None
            then(code)

        record = StateRecord(encode_key(transaction.transactional_id), encode_value(new, self._value_version()))
        transaction.pending = new.state  # only now: what cannot be encoded must not stay pending for ever
        self.append([record], new.timeout_ms, stored)

    def append(self, records: list[StateRecord], timeout_ms: float, then: Callable[[Code], None]) -> None:
        """Append records as one batch; `then` is called once the in-sync replicas have it, or with what went wrong."""
        try:
            offset = self.log.append(records)
        except KafkaError as error:
            then(error.code)
            return

        def told(code: Code) -> Code:  # an answer, so that nobody asks again
            then(code)
            return code

        self.log.when_replicated(offset, timeout_ms, told)

    def idle_in(self, states: Container[State]) -> list[Transaction]:
        """Those in one of these states on which nothing is under way."""
        return [each for each in self.transactions.values() if each.metadata.state in states and each.pending is None]
