"""Frames: a connection ends between two requests."""

from collections.abc import Iterator

from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Closed

from .rule import Remark, Rule

_PARTIAL = Claim(
    "frame-complete", "A client closes a connection between two requests.", "Kafka protocol guide", Severity.NOTE
)
_SIZE = "a frame of "
_WITHIN = "disconnected within a frame"


class Frames(Rule):
    """Checks the reasons why connections were closed. A finding names the last request before that."""

    CLAIM = Claim(
        "frame-size",
        "The size of a request is positive, and not larger than socket.request.max.bytes.",
        "Kafka protocol guide, NetworkReceive",
    )

    def closed(self, closed: Closed) -> Iterator[str | Remark]:
        if closed.reason.startswith(_SIZE):
            yield f"after the request follows {closed.reason}"
        elif closed.reason.startswith(_WITHIN):
            yield Remark(_PARTIAL, f"after the request, the client {closed.reason}")
