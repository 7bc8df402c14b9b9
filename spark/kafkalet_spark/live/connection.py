"""One connection to a broker.

Kafka responds to the requests on a connection in order, so any number of them may be in flight. `send` and `receive`
rely on that order. A caller that sends many requests before it receives the responses must ensure that the requests fit
into the socket buffers.

Bytes are received into a small read-ahead buffer, so that many small responses need few system calls. For each larger
frame, a bytearray of its exact size is allocated, and the rest of the frame is received directly into it; after that,
records are never copied.

A connection that has failed is closed and cannot be used again. Failures are raised as OSErrors that name the broker.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self, cast

from kafkalet.protocol.api import Api
from kafkalet.protocol.client import InFlightRequests, decode_response
from kafkalet.protocol.errors import Code, DecodeError, KafkaError, code_of
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.schema import Request, Response
from kafkalet.version import VERSION

from .client_properties import Settings
from .refusals import Unreachable

AHEAD_BYTES = 64 << 10
LARGEST_FRAME_BYTES = 0x7FFFFFFF
SOFTWARE_NAME = "kafkalet-spark"
FIRST_VERSION = 3
"""The version of the ApiVersions request. Later versions only add cluster details that are not used here."""


class Address(NamedTuple):
    """The address of a broker."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse `host:port` or `[::1]:port`. Raises ValueError for anything else."""
        host, colon, port = text.strip().rpartition(":")
        if not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
            raise ValueError(f"bootstrap.servers must be host:port, separated by commas, not {text.strip()!r}")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


class Connection:
    """A connection with negotiated API versions. Raises Unreachable, or KafkaError if the broker returns an error."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self.address = address
        self.is_open = True
        self._settings = settings
        self._in_flight = InFlightRequests(settings.client_id)
        self._ahead = bytearray(AHEAD_BYTES)
        self._begin = self._end = 0
        self._socket = self._connect()
        try:
            self._versions = self._ask_versions()
            if (credentials := settings.security.credentials) is not None:
                credentials.log_in(lambda request, lowest: self.ask(request, self.version(request.API, lowest)))
        except KafkaError as error:
            self.close()
            raise KafkaError(error.code, f"{error.message} (broker {self.address})") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and drop pending requests."""
        self.is_open = False
        self._in_flight.pending.clear()
        self._socket.close()

    # Versions

    def version(self, api: Api, lowest: int, highest: int | None = None) -> int:
        """Return the newest version of an API that both sides support. It is at least `lowest`. Raises KafkaError if
        there is no such version."""
        low, high = self._versions.get(api, (0, -1))
        low = max(low, lowest, api.versions.low)
        newest = min(high, api.versions.high if highest is None else highest)
        if low > newest:
            served = f"supports versions {self._versions[api][0]} to {high}" if high >= 0 else "does not support it"
            needed = f"{api} version {low} or later" if highest is None else f"{api} version {low} to {highest}"
            raise KafkaError(Code.UNSUPPORTED_VERSION, f"{needed} is required, but broker {self.address} {served}")
        return newest

    def _ask_versions(self) -> dict[int, tuple[int, int]]:
        """Request the API versions. Brokers of any age respond to this, if necessary with an error and the versions
        that they support."""
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=VERSION)
        answer = cast(ApiVersionsResponse, self.ask(request, FIRST_VERSION))
        if answer.error_code == Code.UNSUPPORTED_VERSION and not answer.api_keys:  # releases before 2.4
            answer = cast(ApiVersionsResponse, self.ask(request, 0))
        if answer.error_code not in (Code.NONE, Code.UNSUPPORTED_VERSION):
            raise KafkaError(code_of(answer.error_code), "ApiVersions")
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    # Requests and responses

    def ask(self, request: Request, version: int) -> Response:
        """Send a request and receive its response. No other request may be in flight."""
        assert not self._in_flight.pending, "responses arrive in the order of the requests"
        self.send(request, version)
        return self.receive()

    def send(self, request: Request, version: int) -> None:
        """Send a request."""
        self.send_frame(self.encode(request, version))

    def encode(self, request: Request, version: int) -> bytes:
        """Encode a request as a frame. Frames must be sent in the order in which they were encoded."""
        return self._in_flight.encode(request, version)[1]

    def send_frame(self, frames: bytes) -> None:
        """Send one or more encoded frames."""
        try:
            self._socket.sendall(frames)
        except OSError as error:
            raise self._lost(error) from error

    def receive(self) -> Response:
        """Receive the response to the oldest pending request. Any records in the response are views of one buffer."""
        return self.receive_with_frame()[0]

    def receive_with_frame(self) -> tuple[Response, bytearray]:
        """Like `receive`, but also return the buffer that holds the response."""
        frame = self._frame()
        oldest = next(iter(self._in_flight.pending))
        try:
            correlation_id, api, version = self._in_flight.complete(frame)
            if correlation_id != oldest:
                raise DecodeError(f"received correlation id {correlation_id}, expected {oldest}")
            return decode_response(api, version, frame).response, frame
        except DecodeError as error:
            self.close()
            raise DecodeError(f"broker {self.address}: {error}") from error

    # Bytes

    def _connect(self) -> socket.socket:
        timeout_s = self._settings.socket_connection_setup_timeout_ms / 1000
        try:
            connected = socket.create_connection(self.address, timeout_s)
        except OSError as error:
            raise Unreachable(f"cannot connect to broker {self.address}: {error}") from error
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._settings.receive_buffer_bytes >= 0:
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._settings.receive_buffer_bytes)
            connected = self._settings.security.wrap(connected, self.address.host)
            connected.settimeout(self._settings.request_timeout_ms / 1000)
        except OSError as error:
            connected.close()
            raise Unreachable(f"cannot connect to broker {self.address}: {error}") from error
        return connected

    def _frame(self) -> bytearray:
        """Receive the next frame, without its size field."""
        while self._end - self._begin < 4:
            self._receive_ahead()
        begin = self._begin + 4
        size = int.from_bytes(self._ahead[self._begin : begin], "big")
        if not 4 <= size <= LARGEST_FRAME_BYTES:
            self.close()
            raise DecodeError(f"broker {self.address}: invalid frame size {size}")
        here = min(size, self._end - begin)
        if here == size:
            frame = self._ahead[begin : begin + size]
        else:
            frame = bytearray(size)
            with memoryview(frame) as view:
                view[:here] = self._ahead[begin : begin + here]
                while here < size:
                    here += self._receive_into(view[here:])
        self._begin = min(begin + size, self._end)
        return frame

    def _receive_ahead(self) -> None:
        if self._begin:
            self._ahead[: self._end - self._begin] = self._ahead[self._begin : self._end]
            self._end -= self._begin
            self._begin = 0
        with memoryview(self._ahead) as view:
            self._end += self._receive_into(view[self._end :])

    def _receive_into(self, view: memoryview) -> int:
        """Receive at least one byte."""
        try:
            count = self._socket.recv_into(view)
        except OSError as error:
            raise self._lost(error) from error
        if count == 0:
            raise self._lost(ConnectionResetError("the broker closed the connection"))
        return count

    def _lost(self, error: OSError) -> Unreachable:
        with suppress(OSError):
            self.close()
        if isinstance(error, TimeoutError):
            return Unreachable(f"no response from broker {self.address} in {self._settings.request_timeout_ms} ms")
        return Unreachable(f"lost the connection to broker {self.address}: {error}")
