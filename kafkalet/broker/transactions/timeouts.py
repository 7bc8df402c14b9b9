"""Aborts transactions that have timed out, and removes transactional ids that have expired.

A transaction that is open for longer than the timeout of its producer is aborted with an incremented epoch, so that the
producer is fenced. Open transactions are checked only every
transaction.abort.timed.out.transaction.cleanup.interval.ms, so a transaction can be aborted that much later than its
timeout.

A transactional id without an open transaction is removed if it has not changed for transactional.id.expiration.ms. A
producer that still uses it then gets INVALID_PRODUCER_ID_MAPPING.

Source: kafka.coordinator.transaction.TransactionCoordinator.abortTimedOutTransactions, TransactionStateManager.
removeExpiredTransactionalIds.
"""

import math
from collections.abc import Callable, Iterable

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code
from kafkalet.tasks.periodic import PeriodicRunner
from kafkalet.tasks.task import detached

from .metadata import IDLE_STATES, State
from .records import encode_key
from .shard import Shard, Transaction

_OPEN = frozenset({State.ONGOING})

TOMBSTONES = 1000
"""The maximum number of tombstones in one batch."""


class Timeouts:
    """The periodic checks of one coordinator's shards. They run between `start` and `stop`."""

    def __init__(
        self,
        clock: Clock,
        config: BrokerConfig,
        shards: Callable[[], Iterable[Shard]],
        abort: Callable[[Transaction], object],
    ) -> None:
        self._clock = clock
        self._runner = PeriodicRunner(clock)
        self._config = config
        self._shards = shards
        self._abort = abort

    def start(self) -> None:
        if not self._runner.is_running:
            config = self._config
            self._runner.every(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                self._abort_late,
                quiet_ms=self._abort_quiet_ms,
            )
            self._runner.every(
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
                self._expire,
                quiet_ms=self._expire_quiet_ms,
            )

    def stop(self) -> None:
        self._runner.stop()

    def _abort_late(self) -> None:
        now_ms = self._clock.now_ms()
        for shard in [each for each in self._shards() if each.transactions]:  # usually, most shards have none
            for transaction in shard.idle_in(_OPEN):
                if transaction.metadata.start_ms + transaction.metadata.timeout_ms < now_ms:
                    self._abort(transaction)

    def _abort_quiet_ms(self) -> float:
        """Return the time until an open transaction times out."""
        now_ms = self._clock.now_ms()
        every = [each.metadata for shard in self._shards() for each in shard.transactions.values()]
        return min(
            (each.start_ms + each.timeout_ms - now_ms for each in every if each.state in _OPEN), default=math.inf
        )

    def _expire_quiet_ms(self) -> float:
        """Return the time until a transactional id may expire, including those whose transaction is still open."""
        now_ms = self._clock.now_ms()
        every = [each.metadata for shard in self._shards() for each in shard.transactions.values()]
        oldest_ms = min((each.update_ms for each in every if each.state in IDLE_STATES), default=now_ms)
        return oldest_ms + self._config.transactional_id_expiration_ms - now_ms

    def _expire(self) -> None:
        oldest_ms = self._clock.now_ms() - self._config.transactional_id_expiration_ms
        for shard in list(self._shards()):
            expired = [each for each in shard.idle_in(IDLE_STATES) if each.metadata.update_ms <= oldest_ms]
            for start in range(0, len(expired), TOMBSTONES):
                self._forget(shard, expired[start : start + TOMBSTONES])

    @detached
    async def _forget(self, shard: Shard, expired: list[Transaction]) -> None:
        for transaction in expired:
            transaction.pending = State.DEAD
        tombstones = [StateRecord(encode_key(each.transactional_id), None) for each in expired]
        code = await shard.append(tombstones, self._config.request_timeout_ms)
        for transaction in expired:
            transaction.pending = None
            if code is Code.NONE and shard.is_open:
                shard.transactions.pop(transaction.transactional_id, None)
