"""Limits the handshake messages of a TLS connection.

At any time, a client may update its keys (TLS 1.3) or request a renegotiation, which is refused (TLS 1.2). OpenSSL
processes such messages in one call until data arrives or the socket is empty, so a client that sends nothing else would
block the event loop. OpenSSL has no limit, and the call cannot be interrupted. But OpenSSL reports each record to a
callback, which shuts down the connection when there are too many.

Python has this callback for debugging (`SSLContext._msg_callback`). Without it, there is no limit.
"""

import socket
import ssl
from contextlib import suppress

MOST_RECORDS = 1000
"""The maximum number of records with handshake messages.

A handshake needs fewer than ten. With a new key for each gigabyte, a connection could still transfer a terabyte.
"""
_HANDSHAKE = 22
_HEADER = 256
"""Pseudo types of OpenSSL, from SSL3_RT_HEADER on: the header of a record, and the type in an encrypted record."""


class LimitedSocket(ssl.SSLSocket):
    """A TLS connection that counts the records with handshake messages."""

    handshake_records = 0

    @property
    def has_exceeded_limit(self) -> bool:
        return self.handshake_records > MOST_RECORDS


def limit_handshake_messages(context: ssl.SSLContext) -> None:
    """Shut down connections of a context when they exceed the limit."""
    context.sslsocket_class = LimitedSocket
    callback = getattr(ssl.SSLContext.__mro__[1], "_msg_callback", None)
    if callback is not None:  # not that of ssl.SSLContext, which creates enumerations for each record
        callback.__set__(context, _count)


def _count(connection: object, direction: str, version: int, kind: int, message: int, data: bytes) -> None:
    if message == _HANDSHAKE and kind >= _HEADER and direction == "read" and isinstance(connection, LimitedSocket):
        connection.handshake_records += 1
        if connection.has_exceeded_limit:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
