"""A connection to a broker that can send any bytes, keeps the bytes that it receives, and limits how long it waits.

What the broker sends is untrusted: the size of a response is limited, every receive has a deadline, and a response that
cannot belong to a request raises Garbage with its first bytes.
"""

import math
import socket
import struct
import time
from typing import Any

from kafkalet.client_security import PLAINTEXT, Security
from kafkalet.protocol.api import Api
from kafkalet.protocol.client import InFlightRequests, decode_response
from kafkalet.protocol.errors import DecodeError, KafkaError
from kafkalet.protocol.frame import has_response_tags
from kafkalet.protocol.schema import Request, Response
from kafkalet.sasl_client import Credentials, NotAuthenticated
from kafkalet_conformance.notation import messages

CLIENT_ID = "conformance"
MAX_FRAME_BYTES = 100 << 20
"""The largest response that is read; it is Kafka's default limit for requests (socket.request.max.bytes)."""
CONNECT_S = 10.0
SHOWN_BYTES = 32


class Closed(Exception):
    """The broker closed the connection instead of responding."""


class NoAnswer(Exception):
    """The broker kept the connection open but did not respond in time."""


class OutOfTime(Exception):
    """The time limit of a scenario has passed."""


class Garbage(ValueError):
    """The broker sent bytes that are not a response. `data` contains the first of them."""

    def __init__(self, reason: str, data: bytes) -> None:
        super().__init__(reason, data)
        self.reason, self.data = reason, bytes(data[:SHOWN_BYTES])

    def __str__(self) -> str:
        return f"the broker sent garbage: {self.reason}; the first bytes are {self.data.hex(' ')}"


class Connection:
    """A connection. Receiving raises OutOfTime after `deadline`, a time of `time.monotonic`."""

    def __init__(
        self,
        host: str,
        port: int,
        user: str | None = None,
        timeout_s: float = 40.0,
        deadline: float = math.inf,
        security: Security = PLAINTEXT,
    ) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        self.socket = socket.create_connection((host, port), min(timeout_s, CONNECT_S, left))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket = security.wrap(self.socket, host)
        except OSError:
            self.socket.close()
            raise
        self.timeout_s, self.deadline = timeout_s, deadline
        self.in_flight = InFlightRequests(CLIENT_ID)
        self.buffer = bytearray()
        self.answers: dict[int, dict[str, Any]] = {}
        self.frames: dict[int, bytes] = {}
        """The undecoded forms of the responses in `answers`."""
        self.last_request = b""
        self.last_answer = b""
        credentials = security.credentials if user is None else Credentials("PLAIN", user, user)
        if credentials is not None:
            try:
                credentials.log_in(self._response)
            except KafkaError as error:
                self.socket.close()
                raise NotAuthenticated(str(error)) from error
            except BaseException:
                self.socket.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, api: str, version: int, body: dict[str, Any]) -> int:
        """Send a request and return its correlation id."""
        return self._send(messages.request(api, version, body), version)

    def _send(self, request: Request, version: int) -> int:
        correlation_id, frame = self.in_flight.encode(request, version)
        self.last_request, self.last_answer = frame[4:], b""
        self.send_bytes(frame)
        return correlation_id

    def send_frame(self, payload: bytes, size: int | None = None) -> None:
        """Send a frame with its size field, or with another `size`."""
        self.last_request, self.last_answer = payload, b""
        self.send_bytes(struct.pack(">i", len(payload) if size is None else size) + payload)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are. Raises Closed, NoAnswer or OutOfTime."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        try:
            self.socket.settimeout(min(self.timeout_s, left))
            self.socket.sendall(data)
        except TimeoutError:
            raise NoAnswer from None
        except OSError as error:
            raise Closed from error

    def receive(self, correlation_id: int, timeout_s: float | None = None) -> dict[str, Any]:
        """Return the response to a request. Raises NoAnswer after the timeout, Closed, Garbage or OutOfTime."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while correlation_id not in self.answers:
            frame = self.receive_frame(deadline)
            came, api, version = self._completed(frame)
            self.answers[came], self.frames[came] = decode_answer(api.title, version, frame), frame
        self.last_answer = self.frames.pop(correlation_id)
        return self.answers.pop(correlation_id)

    def put_back(self, correlation_id: int, answer: dict[str, Any]) -> None:
        """Return a received response to the connection, so that it is received again."""
        self.answers[correlation_id], self.frames[correlation_id] = answer, self.last_answer

    def has_answer(self, correlation_id: int, timeout_s: float) -> bool:
        """Return whether the response to a request arrives within the timeout."""
        try:
            self.put_back(correlation_id, self.receive(correlation_id, timeout_s))
        except NoAnswer:
            return False
        return True

    def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its response."""
        return self.receive(self.send(api, version, body))

    def receive_frame(self, deadline: float) -> bytes:
        """Return the next frame without its size field. Raises NoAnswer at `deadline`, a time of `time.monotonic`."""
        (size,) = struct.unpack(">i", self._take(4, deadline, keep=True))
        if not 0 <= size <= MAX_FRAME_BYTES:
            raise Garbage(f"a response has the size {size}, allowed are 0 to {MAX_FRAME_BYTES}", bytes(self.buffer))
        return self._take(4 + size, deadline)[4:]

    def _take(self, n: int, deadline: float, keep: bool = False) -> bytes:
        while len(self.buffer) < n:
            now = time.monotonic()
            if now >= self.deadline:
                raise OutOfTime
            if now >= deadline:
                raise NoAnswer
            self.socket.settimeout(min(deadline, self.deadline) - now)
            try:
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                continue
            except OSError as error:
                raise Closed from error
            if not data:
                raise Closed
            self.buffer += data
        taken = bytes(self.buffer[:n])
        if not keep:
            del self.buffer[:n]
        return taken

    def _completed(self, frame: bytes) -> tuple[int, Api, int]:
        """Return the correlation id, API and version of the request to which the frame responds."""
        try:
            return self.in_flight.complete(frame)
        except DecodeError as error:
            raise Garbage(str(error), frame) from error

    def _response(self, request: Request, version: int) -> Response:
        """Send a request, and return its response before its conversion to plain data."""
        self.receive(self._send(request, version))
        return decode_response(request.API, version, self.last_answer).response


def decode_answer(api: str, version: int, frame: bytes) -> dict[str, Any]:
    """Return a response as plain data. Raises Garbage if it is not a response of this version."""
    key = messages.APIS[api]
    try:
        if has_response_tags(key, version) and frame[4]:
            raise ValueError(f"its header has {frame[4]} tagged fields, and Kafka defines none")
        return messages.plain(*decode_response(key, version, frame))
    except Exception as error:  # every failure here is caused by the bytes that the broker sent
        raise Garbage(f"{api} v{version} cannot be decoded: {type(error).__name__}: {error}", frame) from error
