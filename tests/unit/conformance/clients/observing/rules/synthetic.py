"""Synthetic exchanges: requests with their responses, in the order in which a broker would see them."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from kafkalet.protocol.frame import request_frame, response_frame
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Chunk
from kafkalet_conformance.clients.observing.finding import Place
from kafkalet_conformance.clients.observing.rules.rule import Remark, Rule
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent


class Exchanges:
    """Feeds a rule with requests and responses, and collects the names of the claims that they contradict."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.found: list[str] = []
        self.texts: list[str] = []
        self.now_s = 0.0
        self._numbers = count(1)
        self._positions: dict[int, int] = {}

    def sends(
        self,
        request: Request,
        version: int,
        *,
        connection: int = 1,
        correlation_id: int | None = None,
        after_s: float = 1,
    ) -> Sent:
        """A client sends a request, by default a second after the last event."""
        self.now_s += after_s
        number = next(self._numbers)
        position = self._positions[connection] = self._positions.get(connection, 0) + 1
        correlation = position if correlation_id is None else correlation_id
        frame = joined(request_frame(request, version, correlation, "c"))
        place = Place(
            *(number, connection, position, connection, ("127.0.0.1", connection), "c", request.API.title, version),
            *(correlation, self.now_s),
        )
        sent = Sent(place, frame, self.now_s)
        self._collect(self.rule.sent(sent))
        return sent

    def answers(self, sent: Sent, response: Response, *, version: int | None = None, is_altered: bool = False) -> None:
        """The broker responds a millisecond later."""
        self.now_s += 0.001
        sent.answer = _parts(
            response_frame(response, sent.version if version is None else version, sent.correlation_id)
        )
        self._end(sent, Fate.ANSWERED, is_altered)

    def leaves(self, sent: Sent) -> None:
        """The connection is closed before the response."""
        self._end(sent, Fate.LEFT, False)
        self.closes(sent.connection)

    def is_refused(self, sent: Sent, reason: str) -> None:
        """The broker closes the connection because of a request."""
        sent.close_reason = reason
        self._end(sent, Fate.REFUSED, False)

    def gives_no_answer(self, sent: Sent) -> None:
        """The client expects no response."""
        self._end(sent, Fate.NO_ANSWER, False)

    def closes(self, connection: int) -> None:
        """A connection is closed."""
        self.rule.closed(Closed(connection, self.now_s, ""))

    def ask(self, request: Request, version: int, response: Response, **options: Any) -> Sent:
        """A client sends a request, and the broker responds."""
        sent = self.sends(request, version, **options)
        self.answers(sent, response)
        return sent

    def _end(self, sent: Sent, fate: Fate, is_altered: bool) -> None:
        sent.fate, sent.ended_s, sent.is_altered = fate, self.now_s, is_altered
        self._collect(self.rule.answered(sent))

    def _collect(self, remarks: Iterator[str | Remark]) -> None:
        for remark in remarks:
            claim, text = remark if isinstance(remark, Remark) else (self.rule.CLAIM, remark)
            self.found.append(claim.rule)
            self.texts.append(text)


def _parts(pieces: list[Chunk]) -> list[bytes | int]:
    return [joined(pieces)]


def joined(pieces: list[Chunk]) -> bytes:
    """Return a frame without its size field."""
    return b"".join(bytes(piece) for piece in pieces)[4:]  # type: ignore[arg-type]
