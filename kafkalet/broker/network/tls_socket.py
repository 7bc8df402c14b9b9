"""A non-blocking TLS socket, with the methods of a socket that a connection uses.

It is faster than asyncio's TLS, which copies all data through memory BIOs, and lets TLS connections share the receive
buffer and the outbox of plain ones. Files are not sent with sendfile, because their contents must be encrypted first:
`fileno` raises OSError, so that the outbox reads them in portions.
"""

import errno
import socket
import ssl
from contextlib import suppress
from typing import NoReturn

from kafkalet.broker.security.tls.handshake_limit import MOST_RECORDS, LimitedSocket
from kafkalet.protocol.wire import Buffer

RECORD_BYTES = 16 * 1024
"""The maximum size of the data in one TLS record. OpenSSL reads one record at a time."""
_WOULD_BLOCK = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


class TlsSocket:
    """Replaces the socket of a connection after the TLS handshake."""

    __slots__ = ("_tls", "will_notify")

    def __init__(self, tls: ssl.SSLSocket) -> None:
        self._tls = tls
        self.will_notify = True
        """Whether `close` announces the end of the data to the client."""

    def has_decrypted_data(self) -> bool:
        """Return whether there is decrypted data that no call has received yet.

        The event loop does not know of this data, because it has already been read from the system's socket.
        """
        return self._tls.pending() > 0

    def recv_into(self, room: bytearray | memoryview) -> int:
        """Receive until the room is full or no complete record is left.

        Raises BlockingIOError if no data was received.
        """
        view = memoryview(room)
        filled = 0
        try:
            while filled < len(view):
                count = self._tls.recv_into(view[filled:])
                filled += count
                if not count or (count < RECORD_BYTES and not self._tls.pending()):
                    break
        except _WOULD_BLOCK:
            if not filled:
                raise BlockingIOError(errno.EAGAIN, "no TLS record has been received") from None
        except OSError:
            self._check_limit()
            raise
        if not filled:
            self._check_limit()
        return filled

    def _check_limit(self) -> None:
        """Raise OSError if the connection was shut down because of too many handshake messages."""
        if isinstance(self._tls, LimitedSocket) and self._tls.has_exceeded_limit:
            raise OSError(
                errno.ECONNABORTED, f"the client sent more than {MOST_RECORDS} TLS handshake messages"
            ) from None

    def recv(self, count: int, flags: int) -> bytes:
        """Peek at the unread data, which is decrypted or not. `flags` must be MSG_PEEK."""
        return b"\0" if self.has_decrypted_data() else socket.socket.recv(self._tls, count, flags)

    def send(self, data: Buffer, flags: int = 0) -> int:
        """Send as much as the socket accepts. Raises BlockingIOError if that is nothing.

        OpenSSL keeps a record that it could not send. Later calls must begin with the same data, as they do if the data
        comes from an outbox.
        """
        view = memoryview(data)
        sent = 0
        try:
            while sent < len(view):
                sent += self._tls.send(view[sent:])
        except _WOULD_BLOCK:
            if not sent:
                raise BlockingIOError(errno.EAGAIN, "the socket accepts no more data") from None
        return sent

    def fileno(self) -> NoReturn:
        """Raise OSError, so that files are sent with `send`, not with `sendfile`."""
        raise OSError(errno.EINVAL, "files cannot be sent with sendfile, because the data must be encrypted")

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        """Set the option with which the connection is reset. A reset is not announced to the client."""
        self.will_notify = False
        self._tls.setsockopt(level, option, value)

    def shutdown(self, how: int) -> None:
        """Announce the end of the data and shut down the TCP connection. Data can still be received."""
        self._announce_end()
        socket.socket.shutdown(self._tls, how)

    def close(self) -> None:
        """Close the connection. Unless it is reset, this announces the end of the data to the client."""
        if self.will_notify:
            self._announce_end()
        self._tls.close()

    def _announce_end(self) -> None:
        """Send close_notify, without waiting for the client's close_notify."""
        with suppress(OSError, ValueError):  # the client has gone, the socket accepts no more data, or it is done
            self._tls.unwrap()
