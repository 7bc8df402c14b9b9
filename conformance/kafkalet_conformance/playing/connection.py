"""A connection to a broker, with request headers, framing and optional SASL/PLAIN.

What the broker sends is untrusted: the size of a response is limited, every receive has a deadline, and a response that
cannot belong to a request raises Garbage with its first bytes.
"""

import math
import socket
import struct
import time
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import response_type
from kafkalet.sasl_client import NotAuthenticated, authenticate_with_password
from kafkalet_conformance.notation import messages

from .security import PLAINTEXT, Security

CLIENT_ID = "conformance"
API_VERSIONS = "ApiVersions"
MAX_FRAME_BYTES = 100 << 20
"""The largest response that is read; it is Kafka's default limit for requests (socket.request.max.bytes)."""
CONNECT_S = 10.0
SHOWN_BYTES = 32


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class NoAnswer(Exception):
    """The broker kept the connection open but did not answer in time."""


class OutOfTime(Exception):
    """The time for a scenario is over."""


class Garbage(ValueError):
    """The broker sent bytes that are not a response. `data` has the first of them."""

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
        self.client_id = CLIENT_ID
        self.buffer = bytearray()
        self.sent = 0
        self.asked: dict[int, tuple[str, int]] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.frames: dict[int, bytes] = {}
        """The undecoded responses that `answers` has."""
        self.last_request = b""
        self.last_answer = b""
        if user is not None:
            security = Security(security.tls, "PLAIN", user, user)
        if security.mechanism:
            try:
                self._authenticate(security)
            except BaseException:
                self.socket.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, api: str, version: int, body: dict[str, Any]) -> int:
        """Send a request and return its correlation id."""
        self.sent += 1
        head = struct.pack(">hhi", messages.APIS[api], version, self.sent)
        if not (api == "ControlledShutdown" and version == 0):
            head += struct.pack(">h", len(self.client_id)) + self.client_id.encode()
        if version in messages.APIS[api].flexible:
            head += b"\0"
        self.send_frame(head + messages.encode(api, version, body))
        self.asked[self.sent] = api, version
        return self.sent

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
        """Return the answer to a request. Raises NoAnswer after the timeout, Closed, Garbage or OutOfTime."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while correlation_id not in self.answers:
            frame = self.receive_frame(deadline)
            if len(frame) < 4:
                raise Garbage(f"a response of {len(frame)} bytes has no correlation id", frame)
            (came,) = struct.unpack_from(">i", frame)
            if came not in self.asked:
                expected = ", ".join(map(str, self.asked)) or "none"
                raise Garbage(f"the response has the correlation id {came}, expected is {expected}", frame)
            api, version = self.asked.pop(came)
            self.answers[came], self.frames[came] = decode_answer(api, version, frame), frame
        self.last_answer = self.frames.pop(correlation_id)
        return self.answers.pop(correlation_id)

    def put_back(self, correlation_id: int, answer: dict[str, Any]) -> None:
        """Let a received answer be received again."""
        self.answers[correlation_id], self.frames[correlation_id] = answer, self.last_answer

    def has_answer(self, correlation_id: int, timeout_s: float) -> bool:
        """Return whether the answer to a request arrives within the timeout."""
        try:
            self.put_back(correlation_id, self.receive(correlation_id, timeout_s))
        except NoAnswer:
            return False
        return True

    def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer."""
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

    def _authenticate(self, security: Security) -> None:
        answer = self.ask("SaslHandshake", 1, {"mechanism": security.mechanism})
        if answer["error_code"]:
            enabled = ", ".join(answer["mechanisms"]) or "none"
            raise NotAuthenticated(f"the broker does not offer SASL {security.mechanism}; it offers {enabled}")
        authenticate_with_password(security.mechanism, security.user, security.password, self._exchange)

    def _exchange(self, token: bytes) -> bytes:
        answer = self.ask("SaslAuthenticate", 0, {"auth_bytes": {"hex": token.hex()}})
        if answer["error_code"]:
            raise NotAuthenticated(f"the broker refused to authenticate: {answer['error_message']}")
        whole: Any = response_type(Api.SASL_AUTHENTICATE).decode(self.last_answer[4:], 0)
        return bytes(whole.auth_bytes)


def decode_answer(api: str, version: int, frame: bytes) -> dict[str, Any]:
    """Decode an answer after its correlation id. Raises Garbage if it is not a response of this version.

    The ApiVersions response header never has tagged fields (KIP-511).
    """
    flexible = version in messages.APIS[api].flexible and api != API_VERSIONS
    try:
        if api == API_VERSIONS and version and struct.unpack_from(">h", frame, 4)[0] == 35:
            version = 0  # the broker does not support the version and answers in version 0
        if flexible and frame[4]:
            raise ValueError(f"its header has {frame[4]} tagged fields, and Kafka defines none")
        return messages.decode(api, version, frame[5 if flexible else 4 :])
    except Exception as error:  # every failure here is caused by the bytes that the broker sent
        raise Garbage(f"{api} v{version} cannot be decoded: {type(error).__name__}: {error}", frame) from error
