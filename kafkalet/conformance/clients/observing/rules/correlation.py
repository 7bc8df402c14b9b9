"""Correlation ids: the answers of a connection are matched by them."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalet.conformance.clients.observing.finding import Claim, Severity
from kafkalet.conformance.clients.observing.sent import Closed, Fate, Sent
from kafkalet.protocol.api import Api

from .rule import Remark, Rule

_INCREASING = Claim(
    "correlation-order",
    "The correlation ids of a connection increase.",
    "NetworkClient.nextCorrelationId",
    Severity.NOTE,
)
_LARGEST = (1 << 31) - 1


class CorrelationIds(Rule):
    """Compares each correlation id with those of the unanswered requests of the connection, and with the last one."""

    CLAIM = Claim(
        "correlation-unique",
        "A correlation id belongs to only one unanswered request of a connection.",
        "Kafka protocol guide, InFlightRequests",
    )

    def __init__(self) -> None:
        self._answered: dict[int, dict[int, Sent]] = {}
        """The latest requests by connection and correlation id."""
        self._last: dict[int, int] = {}
        self._told: set[int] = set()

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        number, connection = sent.correlation_id, sent.connection
        latest = self._answered.setdefault(connection, {})
        earlier = latest.get(number)
        if earlier is not None and earlier.fate is not Fate.NO_ANSWER and not sent.follows(earlier):
            yield f"the id {number} is also that of {earlier.place}, which was not answered yet"
        latest[number] = sent
        if sent.api is not Api.API_VERSIONS:  # NetworkClient sends it before a request that already has its id
            last = self._last.get(connection)
            if last is not None and number <= last and last != _LARGEST and connection not in self._told:
                self._told.add(connection)
                yield Remark(_INCREASING, f"the id {number} follows {last}")
            self._last[connection] = number
        if len(latest) > 1000:
            del latest[next(iter(latest))]

    def closed(self, closed: Closed) -> None:
        self._answered.pop(closed.connection, None)
        self._last.pop(closed.connection, None)
        self._told.discard(closed.connection)
