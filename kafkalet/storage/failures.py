"""How a log reacts to I/O errors: a full disk, a file size limit, a broken disk.

    undone          a failed write changes nothing: anything that it wrote after the end of the .log is truncated,
                    immediately or before the next write. Index entries that could not be written stay in memory and
                    are written later. The log accepts writes again as soon as there is space.
    offline         if the failure cannot be undone (fsync failed, a truncation or deletion was interrupted), the state
                    of the files is unknown. The log is unavailable until the broker restarts, which recovers it.

Clients get KAFKA_STORAGE_ERROR in both cases. If a log is offline or could not be closed, its data directory is not
marked as cleanly shut down.

This is how logs of a temporary directory react. If the data is kept, the first failure takes all logs of the directory
offline, as in Kafka (LogDirFailureChannel, LogManager.handleLogDirFailure); `on_failure` does this. See
docs/decisions/0008.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from kafkalet.protocol.errors import Code, KafkaError

from .files import explain

_LOG = logging.getLogger(__name__)

LOG_INTERVAL_MS = 10_000
"""Minimum time between two log lines about the same failure: producers retry often."""

P = ParamSpec("P")
T = TypeVar("T")


class StorageFailed(KafkaError):
    """KAFKA_STORAGE_ERROR. `reason` names the file and is only logged: Kafka sends no message with this error."""

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(Code.KAFKA_STORAGE_ERROR, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.code.name}: {self.reason}"


class Failures:
    """The I/O failures of one log."""

    __slots__ = ("_logged_ms", "_now_ms", "_on_failure", "name", "offline")

    def __init__(
        self, name: str, now_ms: Callable[[], int], on_failure: Callable[[OSError], None] = lambda error: None
    ) -> None:
        """`on_failure` may take the whole directory offline, by setting `offline` of all its logs."""
        self.name = name
        self._now_ms = now_ms
        self._on_failure = on_failure
        self.offline: str | None = None
        """The reason why the log is offline; None while it is online."""
        self._logged_ms: int | None = None

    def check(self) -> None:
        """Raise StorageFailed if the log is offline."""
        if self.offline is not None:
            raise StorageFailed(self.offline)

    def take_offline(self, error: OSError) -> None:
        """Take the log offline after a failure that cannot be undone."""
        self._on_failure(error)
        if self.offline is None:
            self.offline = f"{explain(error)}; {self.name} is offline until the broker restarts"
            _LOG.error("%s", self.offline)

    def answer(self, error: OSError) -> StorageFailed:
        """Return the exception for clients, and log the reason at most once per LOG_INTERVAL_MS."""
        if self.offline is None:
            self._on_failure(error)
        if self.offline is not None:
            return StorageFailed(self.offline)
        now_ms = self._now_ms()
        if self._logged_ms is None or not 0 <= now_ms - self._logged_ms < LOG_INTERVAL_MS:
            self._logged_ms = now_ms
            _LOG.error("%s: %s; appends continue when the file can be written again", self.name, explain(error))
        return StorageFailed(explain(error))


class Failing(Protocol):
    """An object whose file operations may fail."""

    @property
    def failures(self) -> Failures: ...


L = TypeVar("L", bound=Failing)


def storing(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """Decorate a log's method: it raises StorageFailed if the log is offline, and converts any OSError to
    StorageFailed.
    """

    @wraps(method)
    def run(log: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        failures = log.failures
        if failures.offline is not None:
            failures.check()
        try:
            return method(log, *args, **kwargs)
        except OSError as error:
            raise failures.answer(error) from error

    return run
