"""One request of a client with its whole bytes, its times and its response. Messages are decoded on access."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import NamedTuple

from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Request, Response

from .finding import Place

Answer = list[bytes | int]
"""The parts of a response frame without its size field. A part that was not kept, such as records, is its size."""


class Fate(Enum):
    """The end of a request."""

    WAITING = "waiting"
    ANSWERED = "answered"
    NO_ANSWER = "no response expected"
    """Produce with acks=0."""
    REFUSED = "connection closed by the broker"
    LEFT = "connection closed before the response"


class Sent:
    """A request that a client has sent."""

    def __init__(self, place: Place, frame: bytes, began_s: float) -> None:
        self.place = place
        self.frame = frame
        """The request without its size field."""
        self.api: Api | None = BY_KEY.get(int.from_bytes(frame[:2], "big", signed=True)) if len(frame) > 1 else None
        """The API; None if no API has the key."""
        self.at_s = place.at_s
        """When the broker received the request."""
        self.served_s = began_s
        """When the broker began to serve it. It is later if the connection was blocked."""
        self.ended_s: float | None = None
        """When the response was sent, or the connection was closed."""
        self.fate = Fate.WAITING
        self.answer: Answer | None = None
        self._response: Response | None = None
        self.close_reason = ""
        self.is_altered = False
        """Whether a fault changed, delayed or dropped the response on its way: the client may not have seen it."""

    def __repr__(self) -> str:
        return f"<Sent {self.place}, {self.fate.value}>"

    @property
    def connection(self) -> int:
        return self.place.connection

    @property
    def version(self) -> int:
        return self.place.version

    @property
    def correlation_id(self) -> int:
        return self.place.correlation_id

    @cached_property
    def request(self) -> Request | None:
        """The decoded request; None if it cannot be decoded."""
        api = self.api
        if api is None or not api.client_facing or self.version not in api.versions:
            return None
        try:
            _, start = RequestHeader.decode(self.frame)
            return request_type(api).decode(self.frame, self.version, start)
        except ProtocolError:
            return None

    @property
    def response(self) -> Response | None:
        """The decoded response; None if there is none yet, or if it cannot be decoded."""
        if self._response is None:
            self._response = self._decoded_response()
        return self._response

    def _decoded_response(self) -> Response | None:
        api, parts = self.api, self.answer
        if parts is None or api is None or not api.client_facing:
            return None
        answer = b"".join(bytes(part) for part in parts)  # zeros in place of the parts that were not kept
        try:
            return decode_response(api, self.version, answer).response
        except ProtocolError:
            return None

    @property
    def size_bytes(self) -> int:
        """The memory for the bytes of the request and the response."""
        answer = self.answer or ()
        return len(self.frame) + sum(len(part) for part in answer if isinstance(part, bytes))

    def forget(self, *, keeps_bytes: bool) -> None:
        """Free the decoded messages, and also the bytes unless they are kept."""
        self.__dict__.pop("request", None)
        self._response = None
        if not keeps_bytes:
            self.frame = b""
            self.answer = None

    def follows(self, other: Sent, margin_s: float = 0.0) -> bool:
        """Return whether the client sent this request at least `margin_s` after the response to `other`."""
        return other.ended_s is not None and self.at_s > other.ended_s + margin_s


class Gap(NamedTuple):
    """Requests that were not kept, because the limit was reached."""

    requests: int


class Answered(NamedTuple):
    """A request has got its response, or will get none."""

    sent: Sent


class Closed(NamedTuple):
    """A connection was closed."""

    connection: int
    at_s: float
    reason: str
    """"" if the client closed it between two requests."""


Event = Sent | Answered | Closed | Gap
