"""The TLS handshake of a connection, before it can send requests.

    accept ──> TlsHandshake ──┬──> Connection with a TlsSocket
                              └──> closed: the handshake failed, or took longer than connections.max.idle.ms

A handshake never blocks: it continues whenever the client has sent its next message.

Source: org.apache.kafka.common.network.SslTransportLayer.handshake.
"""

import logging
import socket
import ssl
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress

from kafkalet.broker.quoting import shown
from kafkalet.clock import Clock

_LOG = logging.getLogger(__name__)

_REASONS = {
    "HTTP_REQUEST": "the client sent an HTTP request",
    "WRONG_VERSION_NUMBER": "the client did not send TLS; does it use security.protocol=SSL or SASL_SSL?",
    "UNSUPPORTED_PROTOCOL": "the client offers no protocol version of ssl.enabled.protocols",
    "NO_SHARED_CIPHER": "the client offers no cipher suite that the listener allows",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate, but ssl.client.auth=required",
    "CERTIFICATE_VERIFY_FAILED": "the certificate of the client is not trusted",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the certificate of the broker",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client refused the certificate of the broker",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client refused the certificate of the broker",
}
"""Descriptions of OpenSSL's reasons for a failure."""


class TlsHandshake:
    """A handshake in progress. `done` is called with the socket after it has succeeded."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        listener: str,
        tls: ssl.SSLSocket,
        peer: tuple[str, int],
        done: Callable[["TlsHandshake", ssl.SSLSocket], None],
        failed: Callable[["TlsHandshake"], None],
    ) -> None:
        self.peer = peer
        self.descriptor = tls.fileno()
        self.last_active_ms = clock.now_ms()
        self._loop = loop
        self._clock = clock
        self._listener = listener
        self._tls = tls
        self._done = done
        self._failed = failed
        self._awaits_room = False
        loop.add_reader(self.descriptor, self.proceed)

    def proceed(self) -> None:
        """Process what the client has sent so far."""
        self._await_room(False)
        self.last_active_ms = self._clock.now_ms()
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self._await_room(True)
        except OSError as error:
            self.abort(f"the TLS handshake failed: {_reason(error)}")
        else:
            self._finish()

    def _finish(self) -> None:
        self._loop.remove_reader(self.descriptor)
        try:
            self._done(self, self._tls)
        except ValueError as error:
            self.abort(f"the certificate of the client does not name a user: {error}")
        except Exception:  # noqa: BLE001 - a bug closes this connection, not the others
            _LOG.exception("%s connection at %s:%d: a bug after the handshake", self._listener, *self.peer)
            self.abort()

    def _await_room(self, awaits: bool) -> None:
        """Proceed when the socket accepts more data."""
        if awaits is not self._awaits_room:
            self._awaits_room = awaits
            if awaits:
                self._loop.add_writer(self.descriptor, self.proceed)
            else:
                self._loop.remove_writer(self.descriptor)

    def abort(self, reason: str = "") -> None:
        """Close the connection. `reason` is logged unless it is empty."""
        if reason:
            host, port = self.peer
            _LOG.warning("%s connection at %s:%d: closed; %s", self._listener, host, port, shown(reason))
        self._await_room(False)
        self._loop.remove_reader(self.descriptor)
        self._failed(self)
        self._tls.close()

    def close_socket(self) -> None:
        """Close only the socket, without the event loop. Used in a child process after a fork, where it is a copy."""
        socket.socket.close(self._tls)


def _reason(error: OSError) -> str:
    if not isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "the client disconnected"
    reason = error.reason or ""
    detail = f"{error.verify_message}" if isinstance(error, ssl.SSLCertVerificationError) else reason
    explanation = _REASONS.get(reason)
    return f"{explanation} ({detail})" if explanation else detail or str(error)


def wrapped(context: ssl.SSLContext, plain: socket.socket) -> ssl.SSLSocket:
    """Return the server side of a TLS connection whose handshake has not begun. Raises OSError if it is closed."""
    try:
        return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
    except (OSError, ValueError):
        with suppress(OSError):
            plain.close()
        raise
