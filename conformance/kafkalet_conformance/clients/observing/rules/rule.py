"""The base class of the rules for sequences of requests.

A rule sees the events of all clients in order: each request when it is sent, again when its answer is known, and closed
connections. It keeps what it needs by keys that only one client can use: the connection, the producer id, the member
id, the fetch session. Client ids are no such key, because an application may have several clients with the same id.

An answer that the broker has given may still be on its way when the client sends the next request, and a fault may have
dropped it. A rule that depends on an answer has to consider that (`Sent.follows`, `Sent.is_altered`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Sent


class Remark(NamedTuple):
    """What a rule found in the request that it was given."""

    claim: Claim
    text: str


class Rule:
    """A claim about sequences of requests."""

    CLAIM: ClassVar[Claim]

    sees_everything = True
    """Whether the rule has seen all requests since the cluster was created.

    If not, clients may use ids that they received before.
    """

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        """Judge a request. A text is a remark with the claim of the rule."""
        yield from ()

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        """Note an answer, or that a request will not be answered."""
        yield from ()

    def closed(self, closed: Closed) -> Iterable[str | Remark] | None:
        """Forget a connection. Remarks are about the last request of the connection."""
