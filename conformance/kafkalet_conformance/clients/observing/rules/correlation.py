"""Correlation ids: the responses of a connection are matched by them.

They need not increase: the Java client numbers the requests of all connections together, and delays those to a node
that is not connected yet.
"""

from collections.abc import Iterator

from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent

from .rule import Remark, Rule

_KEPT = 1000


class CorrelationIds(Rule):
    """Compares each correlation id with those of the unanswered requests of the connection."""

    CLAIM = Claim(
        "correlation-unique",
        "A correlation id belongs to only one request in flight on a connection.",
        "Kafka protocol guide, InFlightRequests",
    )

    def __init__(self) -> None:
        self._sent: dict[int, dict[int, Sent]] = {}
        """The latest requests, keyed by connection and correlation id."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        number = sent.correlation_id
        latest = self._sent.setdefault(sent.connection, {})
        earlier = latest.get(number)
        if earlier is not None and earlier.fate is not Fate.NO_ANSWER and not sent.follows(earlier):
            yield f"the id {number} is also that of {earlier.place}, which has no response yet"
        latest[number] = sent
        if len(latest) > _KEPT:
            del latest[next(iter(latest))]

    def closed(self, closed: Closed) -> None:
        self._sent.pop(closed.connection, None)
