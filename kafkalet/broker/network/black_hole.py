"""The socket of a connection that has become a black hole: data is accepted and discarded."""

import errno
import socket
from typing import NoReturn

from kafkalet.protocol.wire import Buffer


class BlackHole:
    """Replaces the socket of a connection. It has the methods of a socket that a connection uses."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real

    def recv_into(self, room: bytearray | memoryview) -> int:
        """Receive and discard data. Returns 0 if the client has closed the connection, else raises BlockingIOError."""
        if self._real.recv_into(room) == 0:
            return 0
        raise BlockingIOError

    def send(self, data: Buffer, flags: int = 0) -> int:
        """Discard data, as if it had been sent."""
        return len(data)

    def fileno(self) -> NoReturn:
        """Raise OSError, so that files are sent with `send`, not with `sendfile`."""
        raise OSError(errno.EINVAL, "a black hole has no descriptor")

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        self._real.setsockopt(level, option, value)

    def shutdown(self, how: int) -> None:
        self._real.shutdown(how)

    def close(self) -> None:
        self._real.close()
