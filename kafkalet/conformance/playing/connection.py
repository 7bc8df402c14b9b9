"""A connection to a broker, with request headers, framing and optional SASL/PLAIN."""

import socket
import struct
import time
from typing import Any

from kafkalet.conformance.notation import messages

CLIENT_ID = "conformance"
API_VERSIONS = "ApiVersions"


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class NoAnswer(Exception):
    """The broker kept the connection open but did not answer in time."""


class Connection:
    def __init__(self, host: str, port: int, user: str | None = None, timeout_s: float = 40.0) -> None:
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout_s = timeout_s
        self.buffer = bytearray()
        self.sent = 0
        self.asked: dict[int, tuple[str, int]] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        if user is not None:
            self._authenticate(user)

    def close(self) -> None:
        self.socket.close()

    def send(self, api: str, version: int, body: dict[str, Any]) -> int:
        """Send a request and return its correlation id."""
        self.sent += 1
        head = struct.pack(">hhi", messages.APIS[api], version, self.sent)
        if not (api == "ControlledShutdown" and version == 0):
            head += struct.pack(">h", len(CLIENT_ID)) + CLIENT_ID.encode()
        if version in messages.APIS[api].flexible:
            head += b"\0"
        self.send_frame(head + messages.encode(api, version, body))
        self.asked[self.sent] = api, version
        return self.sent

    def send_frame(self, payload: bytes, size: int | None = None) -> None:
        self.send_bytes(struct.pack(">i", len(payload) if size is None else size) + payload)

    def send_bytes(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Closed from error

    def receive(self, correlation_id: int, timeout_s: float | None = None) -> dict[str, Any]:
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while correlation_id not in self.answers:
            frame = self.receive_frame(deadline)
            (came,) = struct.unpack_from(">i", frame)
            api, version = self.asked.pop(came)
            self.answers[came] = decode_answer(api, version, frame)
        return self.answers.pop(correlation_id)

    def has_answer(self, correlation_id: int, timeout_s: float) -> bool:
        try:
            self.answers[correlation_id] = self.receive(correlation_id, timeout_s)
        except NoAnswer:
            return False
        return True

    def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        return self.receive(self.send(api, version, body))

    def receive_frame(self, deadline: float) -> bytes:
        (size,) = struct.unpack(">i", self._take(4, deadline, keep=True))
        return self._take(4 + size, deadline)[4:]

    def _take(self, n: int, deadline: float, keep: bool = False) -> bytes:
        while len(self.buffer) < n:
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                raise NoAnswer from None
            except ConnectionError as error:
                raise Closed from error
            if not data:
                raise Closed
            self.buffer += data
        taken = bytes(self.buffer[:n])
        if not keep:
            del self.buffer[:n]
        return taken

    def _authenticate(self, user: str) -> None:
        self.ask("SaslHandshake", 1, {"mechanism": "PLAIN"})
        answer = self.ask("SaslAuthenticate", 1, {"auth_bytes": f"\0{user}\0{user}"})
        if answer["error_code"]:
            raise PermissionError(f"SASL as {user}: {answer}")


def decode_answer(api: str, version: int, frame: bytes) -> dict[str, Any]:
    """Decode an answer after its correlation id. The ApiVersions response header never has tagged fields (KIP-511)."""
    flexible = version in messages.APIS[api].flexible and api != API_VERSIONS
    if api == API_VERSIONS and version and struct.unpack_from(">h", frame, 4)[0] == 35:
        version = 0  # the broker does not support the version and answers in version 0
    return messages.decode(api, version, frame[5 if flexible else 4 :])
