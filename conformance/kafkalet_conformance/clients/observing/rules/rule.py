"""The base class of the rules for sequences of requests.

A rule sees the events of all clients in order: each request when it is sent, again when its response is known, and
closed connections. It keys its state by something that only one client can use: the connection, the producer id, the
member id or the fetch session. A client id is no such key, because an application may have several clients with the
same id.

When the client sends the next request, a response may still be on its way, or a fault may have dropped it. A rule that
depends on a response has to consider that (`Sent.follows`, `Sent.is_altered`).
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Sent


class Remark(NamedTuple):
    """What a rule found in a request."""

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
        """Judge a request. A yielded text is a remark about the rule's own claim."""
        yield from ()

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        """Record the response to a request, or that there will be none."""
        yield from ()

    def closed(self, closed: Closed) -> Iterable[str | Remark] | None:
        """Forget a connection. Remarks are about the last request of the connection."""
