"""What a log does when its files fail: the disk is full, a file has reached its limit, the disk is broken.

    taken back      a write that failed has changed nothing: what it left behind the end of the .log is cut off, at once
                    or before anything else is written there. Indexes that could not be written stay in memory and are
                    written later. The log goes on as soon as there is space.
    offline         what cannot be taken back (fsync failed, a truncation or deletion ended half way) makes the files
                    unknown. The log serves nobody until the broker has started again, which checks it.

Clients get KAFKA_STORAGE_ERROR for both. A directory with a log that is offline, or that could not be closed, is not
marked as cleanly stopped.

Apache Kafka takes the whole directory offline with the first failure, and a broker without another directory halts
(LogDirFailureChannel, LogManager.handleLogDirFailure); docs/decisions/0008 says why this broker goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from kafkalet.protocol.errors import Code, KafkaError

from .files import explain

_log = logging.getLogger(__name__)

COMPLAINT_INTERVAL_MS = 10_000
"""A producer tries again and again: one line in the log for so long."""

P = ParamSpec("P")
T = TypeVar("T")


class StorageFailed(KafkaError):
    """KAFKA_STORAGE_ERROR. `reason` names the file, for our own log; Kafka's answers about records carry no text."""

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(Code.KAFKA_STORAGE_ERROR, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.code.name}: {self.reason}"


class Failures:
    """How the files of one log have failed."""

    __slots__ = ("_complained_ms", "_now_ms", "name", "offline")

    def __init__(self, name: str, now_ms: Callable[[], int]) -> None:
        self.name = name
        self._now_ms = now_ms
        self.offline: str | None = None
        """Why the log serves nobody any more; None while it does."""
        self._complained_ms: int | None = None

    def check(self) -> None:
        """Raise StorageFailed if the log is offline."""
        if self.offline is not None:
            raise StorageFailed(self.offline)

    def take_offline(self, error: OSError) -> None:
        """What failed cannot be taken back."""
        if self.offline is None:
            self.offline = f"{explain(error)}; {self.name} is offline until the broker starts again"
            _log.error("%s", self.offline)

    def answer(self, error: OSError) -> StorageFailed:
        """The exception for clients; the reason is logged, but not each time."""
        if self.offline is not None:
            return StorageFailed(self.offline)
        now_ms = self._now_ms()
        if self._complained_ms is None or not 0 <= now_ms - self._complained_ms < COMPLAINT_INTERVAL_MS:
            self._complained_ms = now_ms
            _log.error("%s: %s; it goes on as soon as its files can be written", self.name, explain(error))
        return StorageFailed(explain(error))


class Failing(Protocol):
    """Something whose files may fail."""

    @property
    def failures(self) -> Failures: ...


L = TypeVar("L", bound=Failing)


def storing(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """Let a method of a log raise StorageFailed for an OSError, and if the log is offline."""

    @wraps(method)
    def run(log: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        log.failures.check()
        try:
            return method(log, *args, **kwargs)
        except OSError as error:
            raise log.failures.answer(error) from error

    return run
