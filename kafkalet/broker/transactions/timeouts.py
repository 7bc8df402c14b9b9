"""What has grown too old: transactions that nobody ends, and transactional ids that nobody uses.

A transaction that is open for longer than its producer allowed is aborted in an epoch of the coordinator's own, so
that the producer, should it come back, is fenced. The coordinator looks for such transactions from time to time
(transaction.abort.timed.out.transaction.cleanup.interval.ms), so it may be late by that much.

A transactional id without an open transaction that has not changed for transactional.id.expiration.ms is forgotten;
its producer may be told INVALID_PRODUCER_ID_MAPPING some day.

Source: kafka.coordinator.transaction.TransactionCoordinator.abortTimedOutTransactions, TransactionStateManager.
removeExpiredTransactionalIds.
"""

from collections.abc import Callable, Iterable

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.scheduling.periodic import PeriodicRunner
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code

from .metadata import IDLE_STATES, State
from .records import encode_key
from .shard import Shard, Transaction

TOMBSTONES = 1000
"""At most so many in one batch."""


class Timeouts:
    """Looks after the shards of one coordinator, between `start` and `stop`."""

    def __init__(
        self,
        clock: Clock,
        config: BrokerConfig,
        shards: Callable[[], Iterable[Shard]],
        abort: Callable[[Transaction], None],
    ) -> None:
        self._clock = clock
        self._runner = PeriodicRunner(clock)
        self._config = config
        self._shards = shards
        self._abort = abort

    def start(self) -> None:
        if not self._runner.is_running:
            config = self._config
            self._runner.every(config.transaction_abort_timed_out_transaction_cleanup_interval_ms, self._abort_late)
            self._runner.every(config.transaction_remove_expired_transaction_cleanup_interval_ms, self._expire)

    def stop(self) -> None:
        self._runner.stop()

    def _abort_late(self) -> None:
        now_ms = self._clock.now_ms()
        for shard in list(self._shards()):
            for transaction in shard.idle_in(frozenset({State.ONGOING})):
                if transaction.metadata.start_ms + transaction.metadata.timeout_ms < now_ms:
                    self._abort(transaction)

    def _expire(self) -> None:
        oldest_ms = self._clock.now_ms() - self._config.transactional_id_expiration_ms
        for shard in list(self._shards()):
            expired = [each for each in shard.idle_in(IDLE_STATES) if each.metadata.update_ms <= oldest_ms]
            for start in range(0, len(expired), TOMBSTONES):
                self._forget(shard, expired[start : start + TOMBSTONES])

    def _forget(self, shard: Shard, expired: list[Transaction]) -> None:
        for transaction in expired:
            transaction.pending = State.DEAD

        def forgotten(code: Code) -> None:
            for transaction in expired:
                transaction.pending = None
                if code is Code.NONE and shard.is_open:
                    shard.transactions.pop(transaction.transactional_id, None)

        tombstones = [StateRecord(encode_key(each.transactional_id), None) for each in expired]
        shard.append(tombstones, self._config.request_timeout_ms, forgotten)
