"""A listening socket and the connections that it has accepted.

    bind ──> start ──> accept, accept, ... ──> close
               ▲          │
               └──────────┴── paused: max.connections reached, or the process has no descriptor left

Kafka's limits apply (ConnectionQuotas). While `max.connections` connections are open, no other is accepted, and the
kernel keeps new clients waiting. A client with more than `max.connections.per.ip` connections is disconnected
immediately. A client whose address exceeds its connection creation quota is not served, and is disconnected after a
delay.

A connection without traffic for `connections.max.idle.ms` is closed. One timer serves all connections: it is set for
the connection that has been idle longest, and when it fires, all connections are checked.
"""

from __future__ import annotations

import errno
import logging
import os
import selectors
import socket
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalet.broker.security.principal import ANONYMOUS
from kafkalet.broker.watchers import NO_TOPIC, Watchers
from kafkalet.clock import Clock, Timer, elapsed_s
from kafkalet.tasks.turns import Turns

from .connection import Connection
from .connection_quotas import ConnectionQuotas
from .listener_context import Limits, ListenerContext, Tls
from .receiving import ReceiveBuffer
from .router import Router

if TYPE_CHECKING:  # imported only if the listener uses TLS or SASL
    import ssl

    from kafkalet.broker.security.sasl.listener import SaslListener

    from .tls_handshake import TlsHandshake

_LOG = logging.getLogger(__name__)

ACCEPTS_PER_TURN = 64
"""How many clients are accepted before open connections get a turn."""
RETRY_ACCEPT_SECONDS = 0.5
"""Delay after the process has run out of descriptors. It ends early if any connection closes."""
BACKLOG = 1024

_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener:
    """A listening socket of a broker."""

    def __init__(
        self,
        router: Router,
        clock: Clock,
        limits: Limits | None = None,
        *,
        name: str = "PLAINTEXT",
        buffer: ReceiveBuffer | None = None,
        turns: Turns | None = None,
        watchers: Watchers | None = None,
        quotas: ConnectionQuotas | None = None,
    ) -> None:
        """Listeners of an event loop should share `buffer`, `turns` and `watchers`; those of a broker also `quotas`."""
        self.name = name
        self.limits = limits or Limits()
        self._router = router
        self._clock = clock
        self._buffer = buffer
        self._turns = turns
        self._watchers = watchers or Watchers()
        self._socket: socket.socket | None = None
        self._loop: AbstractEventLoop | None = None
        self._shared: ListenerContext | None = None
        self._connections: dict[int, Connection] = {}
        self._quotas = ConnectionQuotas() if quotas is None else quotas
        self._quotas.add(self)
        self._accepting = False
        self._is_suspended = False
        self._connection_type = Connection
        self.authenticators: SaslListener | None = None
        """Authenticates the clients, if the listener uses SASL."""
        self.tls: Tls | None = None
        """The settings of TLS, if the listener uses it. They may be replaced while clients are connected."""
        self._handshakes: dict[int, TlsHandshake] = {}
        self.admission: Callable[[str], float] | None = None
        """Called with the address of each new connection; returns 0 to accept it. Any larger number is a delay in
        milliseconds: the connection is not served, and is closed after the delay.
        """
        self._rejected: dict[socket.socket, Timer] = {}
        self._delayed: tuple[socket.socket, Timer] | None = None
        """A client that is served after a delay, because clients connect too often."""
        self._is_full = False
        self._out_of_descriptors = False
        self._retry: TimerHandle | None = None
        self._idle_check: Timer | None = None

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._connections) + len(self._handshakes)

    @property
    def connections(self) -> list[Connection]:
        """The connections that can send requests: with TLS, after the handshake."""
        return list(self._connections.values())

    @property
    def open(self) -> list[Connection | TlsHandshake]:
        """The connections, and those whose TLS handshake is in progress."""
        return [*self._connections.values(), *self._handshakes.values()]

    @property
    def has_waiting_client(self) -> bool:
        """Whether a client has connected and will be accepted in the next iteration of the event loop."""
        if self._socket is None or not self._accepting:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(0))

    def bind(self, host: str, port: int) -> tuple[str, int]:
        """Bind and listen ("" for all interfaces, port 0 for a free port). Return the resulting address.

        Clients can connect from now on; `start` accepts them. Raises OSError if the address cannot be bound.
        """
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(infos, key=lambda info: info[0] != socket.AF_INET)  # prefer IPv4
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "nt":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # type: ignore[attr-defined, unused-ignore]
            else:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.limits.socket_receive_buffer_bytes != -1:  # inherited by accepted sockets
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.limits.socket_receive_buffer_bytes)
            listening.setblocking(False)
            listening.bind(address)
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
        self._socket = listening
        bound_host, bound_port = listening.getsockname()[:2]
        return bound_host, bound_port

    def start(self, loop: AbstractEventLoop) -> None:
        """Accept clients in this event loop, which must support `add_reader`."""
        assert self._socket is not None, "call bind before start"
        self._loop = loop
        self._shared = ListenerContext(
            loop,
            self._router,
            self.limits,
            self._clock,
            self._buffer or ReceiveBuffer(),
            self._turns or Turns(loop.call_soon, elapsed_s),
            self.name,
            self._forget,
            self._watchers,
        )
        if self.authenticators is not None:
            from .sasl_connection import SaslConnection

            self._shared.authenticators = self.authenticators
            self._connection_type = SaslConnection
        try:
            self._set_accepting(True)
        except NotImplementedError as error:
            raise RuntimeError(
                f"{type(loop).__name__} cannot watch sockets (it has no add_reader), so kafkalet cannot run in it; "
                "on Windows use asyncio.SelectorEventLoop"
            ) from error

    def stop_listening(self) -> None:
        """Refuse new clients. Open connections are still served. `bind` and `resume` undo this."""
        if self._socket is not None:
            self._set_accepting(False)
            self._socket.close()
            self._socket = None

    def resume(self) -> None:
        """Accept clients again, after `bind` or after a connection of any listener of the broker has closed."""
        self._set_accepting(True)

    def limits_changed(self) -> None:
        """Resume accepting after the limits have changed, because `max.connections` may be higher now."""
        if self._shared is not None and not self._out_of_descriptors:
            self._set_accepting(True)

    def set_suspended(self, suspended: bool) -> None:
        """Serve no client while the broker is paused or cut off from them. The kernel still accepts connections."""
        if suspended is self._is_suspended:
            return
        self._is_suspended = suspended
        self._set_accepting(not suspended)
        for connection in self.connections:
            connection.set_suspended(suspended)

    def close(self) -> None:
        """Close the listening socket and every connection, immediately and without log lines."""
        self.stop_listening()
        if self._retry is not None:
            self._retry.cancel()
        for connection in self.open:
            connection.abort()
        if self._delayed is not None:
            self._delayed[1].cancel()
            self._delayed[0].close()
            self._delayed = None
        for client, timer in self._rejected.items():
            timer.cancel()
            client.close()
        self._rejected.clear()
        if self._idle_check is not None:
            self._idle_check.cancel()
            self._idle_check = None

    def close_sockets(self) -> None:
        """Close only the sockets, without the event loop.

        Used in a child process after a fork, where they are copies.
        """
        for client in self._rejected:
            client.close()
        if self._delayed is not None:
            self._delayed[0].close()
        for connection in self.open:
            connection.close_socket()
        if self._socket is not None:
            self._socket.close()

    # Accepting

    def _set_accepting(self, accepting: bool) -> None:
        if accepting is self._accepting or self._loop is None or self._socket is None:
            return
        if accepting and (self._delayed is not None or self._is_suspended):
            return
        if accepting:
            self._loop.add_reader(self._socket.fileno(), self._on_acceptable)
        else:
            self._loop.remove_reader(self._socket.fileno())
        self._accepting = accepting

    def _on_acceptable(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if not self._quotas.has_slot(self):
                self._wait_for_a_close()
                return
            assert self._socket is not None
            try:
                client, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._is_full = False  # no client is waiting
                return
            except OSError as error:
                if error.errno not in _NO_DESCRIPTORS:
                    raise
                self._pause(error)
                return
            self._out_of_descriptors = False
            delay_ms = self._quotas.throttle_ms(self, self._clock.now_ms())
            if delay_ms > 0:
                self._delay(client, address, delay_ms)
                return
            self._admit(client, address)

    def _delay(self, client: socket.socket, address: tuple[str, int], delay_ms: int) -> None:
        """Serve a client after a delay, and accept no other one until then, like Kafka's acceptor thread (KIP-612)."""

        def admit() -> None:
            self._delayed = None
            self._admit(client, address)
            self._set_accepting(True)

        self._set_accepting(False)
        self._delayed = client, self._clock.call_later(delay_ms, admit)

    def _wait_for_a_close(self) -> None:
        if not self._is_full:
            self._is_full = True
            most = min(self.limits.max_connections, self._quotas.max_connections)
            _LOG.warning("%s: max.connections=%d reached, not accepting until one closes", self.name, most)
        self._set_accepting(False)

    def _pause(self, error: OSError) -> None:
        """Stop accepting for a while. The listening socket stays readable, so it must not be watched until then."""
        assert self._loop is not None
        if not self._out_of_descriptors:
            self._out_of_descriptors = True
            _LOG.error(
                "%s: cannot accept (%s) with %d connections open; retrying when descriptors are free",
                *(self.name, error.strerror, len(self)),
            )
        self._set_accepting(False)
        self._retry = self._loop.call_later(RETRY_ACCEPT_SECONDS, self._set_accepting, True)

    def _admit(self, client: socket.socket, address: tuple[str, int]) -> None:
        shared, limits = self._shared, self.limits
        assert shared is not None
        host, port = address[:2]
        open_before = self._quotas.by_host.get(host, 0)
        most = limits.max_connections_per_ip_overrides.get(host, limits.max_connections_per_ip)
        if open_before >= most:
            client.close()
            _LOG.warning("%s: rejected %s:%d; max.connections.per.ip=%d are open", self.name, host, port, most)
            return
        if self.admission is not None and (delay_ms := self.admission(host)) > 0:
            self._reject(client, delay_ms)
            return
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if limits.socket_send_buffer_bytes != -1:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.socket_send_buffer_bytes)
        except OSError as error:  # EINVAL on macOS if the client has reset the connection
            _LOG.info("%s connection at %s:%d: closed; %s", self.name, host, port, error.strerror)
            client.close()
            return
        self._quotas.opened(self, host)
        if self.tls is not None:
            self._shake_hands(client, (host, port), self.tls)
        else:
            self._begin(shared, client, (host, port))
        if self._idle_check is None:
            self._set_idle_check(limits.connections_max_idle_ms)

    def _begin(self, shared: ListenerContext, client: socket.socket, peer: tuple[str, int]) -> None:
        try:
            connection = self._connection_type(shared, client, peer)
        except BaseException:
            client.close()
            self._closed(peer[0])
            raise
        self._connections[client.fileno()] = connection
        connection.begin()

    def _shake_hands(self, client: socket.socket, peer: tuple[str, int], settings: Tls) -> None:
        """Begin the TLS handshake with a client. The connection is served when the handshake has succeeded."""
        from .tls_handshake import TlsHandshake, wrapped
        from .tls_socket import TlsSocket

        loop, shared = self._loop, self._shared
        assert loop is not None
        assert shared is not None

        def succeeded(handshake: TlsHandshake, tls: ssl.SSLSocket) -> None:
            principal = settings.principal(tls) if self.authenticators is None else ANONYMOUS  # SASL determines it
            connection = self._connection_type(shared, tls, peer, TlsSocket(tls), principal)
            del self._handshakes[handshake.descriptor]  # until here, an exception aborts the handshake
            self._connections[handshake.descriptor] = connection
            connection.begin()

        try:
            tls = wrapped(settings.context, client)
        except (OSError, ValueError) as error:
            _LOG.info("%s connection at %s:%d: closed; %s", self.name, *peer, error)
            self._closed(peer[0])
            return
        handshake = TlsHandshake(loop, self._clock, self.name, tls, peer, succeeded, self._forget_handshake)
        self._handshakes[handshake.descriptor] = handshake
        handshake.proceed()

    def _forget_handshake(self, handshake: TlsHandshake) -> None:
        del self._handshakes[handshake.descriptor]
        self._closed(handshake.peer[0])

    def _reject(self, client: socket.socket, delay_ms: float) -> None:
        """Do not serve a client, and close its connection after a delay (KIP-612)."""

        def close() -> None:
            del self._rejected[client]
            client.close()

        self._rejected[client] = self._clock.call_later(delay_ms, close)

    def _forget(self, descriptor: int) -> None:
        """Remove a closing connection; its descriptor is still open."""
        self._closed(self._connections.pop(descriptor).peer[0])

    def _closed(self, host: str) -> None:
        """Count a connection of a client as closed."""
        self._quotas.closed(host)
        if self._watchers.sees_requests:
            self._watchers.touch(NO_TOPIC)

    # Idle connections

    def _set_idle_check(self, delay_ms: float) -> None:
        if self.limits.connections_max_idle_ms >= 0 and len(self):
            self._idle_check = self._clock.call_later(delay_ms, self._close_idle)

    def _close_idle(self) -> None:
        """Close idle connections. Checks are at least 1% of the limit apart, so that each one finds many."""
        self._idle_check = None
        most = self.limits.connections_max_idle_ms
        now_ms = self._clock.now_ms()
        oldest_ms = now_ms
        for connection in self.open:
            if now_ms - connection.last_active_ms >= most:
                connection.abort(f"idle for {now_ms - connection.last_active_ms} ms; connections.max.idle.ms={most}")
            else:
                oldest_ms = min(oldest_ms, connection.last_active_ms)
        self._set_idle_check(max(oldest_ms + most - now_ms, most / 100))
