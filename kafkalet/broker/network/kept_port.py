"""The port of a broker that is away, kept until it comes back.

A socket that is bound but does not listen refuses clients as a dead broker does, and nobody else is given its port.
Without it a client's own end of some connection may sit there when the broker wants to come back: free ports and the
ports of outgoing connections come from the same range.
"""

import contextlib
import socket


class KeptPort:
    """An address that is kept free. Where it cannot be had nothing is kept, and nothing is lost."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections may linger there
        with contextlib.suppress(OSError):
            self._socket.bind((host, port))

    def release(self) -> None:
        """Let the address go, to be taken at once."""
        self._socket.close()
