"""Reserves the port of a stopped broker until the broker is restarted.

A socket that is bound but does not listen refuses connections like a stopped broker, and keeps other sockets from using
the port. Without the reservation, an outgoing connection could take the port in the meantime, because ephemeral ports
come from the same range as free ports.
"""

import contextlib
import socket


class ReservedPort:
    """A reserved address. If it cannot be bound, nothing is reserved, and no error is raised."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections may be in TIME_WAIT
        with contextlib.suppress(OSError):
            self._socket.bind((host, port))

    def release(self) -> None:
        """Release the address, so that it can be bound immediately."""
        self._socket.close()
