"""A broker that misbehaves: a proxy in front of a broker that spoils the responses of one API.

Preparations use ListOffsets v1; `least_version` leaves them alone.

`spoil` receives the correlation id and the response without its size, and returns the bytes to send instead. Empty
bytes mean no response, None means that the connection is closed.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType

Spoil = Callable[[int, bytes], bytes | None]


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


class GarbageBroker:
    def __init__(self, bootstrap: str, api: int, spoil: Spoil, least_version: int = 2) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.behind, self.api, self.spoil, self.least_version = (host, int(port)), api, spoil, least_version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.open: set[socket.socket] = {self.listener}
        self.threads: list[threading.Thread] = []
        self.accepted = 0

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self) -> "GarbageBroker":
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.die()
        for thread in self.threads:
            thread.join(10)

    def die(self) -> None:
        """Close the listener and all connections."""
        for each in list(self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            self.open.add(client)
            self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.behind) as broker:
            self.open.add(broker)
            try:
                while (request := _frame(client)) is not None:
                    broker.sendall(framed(request))
                    response = _frame(broker)
                    if response is None:
                        return
                    key, version, correlation_id = struct.unpack_from(">hhi", request)
                    spoiled = key == self.api and version >= self.least_version
                    out = self.spoil(correlation_id, response) if spoiled else framed(response)
                    if out is None:
                        return
                    client.sendall(out)
            except OSError:
                return


def _frame(connection: socket.socket) -> bytes | None:
    head = _exactly(connection, 4)
    return None if head is None else _exactly(connection, struct.unpack(">i", head)[0])


def _exactly(connection: socket.socket, n: int) -> bytes | None:
    data = b""
    while len(data) < n:
        more = connection.recv(n - len(data))
        if not more:
            return None
        data += more
    return data
