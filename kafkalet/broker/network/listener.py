"""Where clients come in: one listening socket, and the connections that came through it.

    bind ──> start ──> accept, accept, ... ──> close
               ▲          │
               └──────────┴── paused: max.connections reached, or the process has no descriptor left

Kafka's rules for who may come in (ConnectionQuotas): where `max.connections` are open nobody is accepted until one of
them closes, and the kernel keeps the next ones waiting; a client with more than `max.connections.per.ip` connections is
cut off at once; one whose address makes connections faster than its quota allows is left waiting, and cut off then.

A connection that was silent for `connections.max.idle.ms` is closed. There is one timer for all of them: it is set for
the one that has been silent for longest, and looks at all when it rings.
"""

import errno
import logging
import os
import socket
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable

from kafkalet.broker.scheduling.turns import Turns
from kafkalet.clock import Clock, Timer, elapsed_s

from .connection import Connection
from .listener_context import Limits, Surroundings
from .receiving import ReceiveBuffer
from .router import Router

_LOG = logging.getLogger(__name__)

ACCEPTS_PER_TURN = 64
"""So many clients are let in before those who are in get their turn."""
RETRY_ACCEPT_SECONDS = 0.5
"""After the process ran out of descriptors. Any connection that closes ends the pause earlier."""
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
    ) -> None:
        """All listeners of one event loop should share `buffer` and `turns`."""
        self.name = name
        self.limits = limits or Limits()
        self._router = router
        self._clock = clock
        self._buffer = buffer
        self._turns = turns
        self._socket: socket.socket | None = None
        self._loop: AbstractEventLoop | None = None
        self._around: Surroundings | None = None
        self._connections: dict[int, Connection] = {}
        self._by_host: dict[str, int] = {}
        self._accepting = False
        self.admission: Callable[[str], float] | None = None
        """Asked for each new connection, by its address: for how many milliseconds it is left without an answer, to be
        closed then; 0 lets it in."""
        self._turned_away: dict[socket.socket, Timer] = {}
        self._is_full = False
        self._out_of_descriptors = False
        self._retry: TimerHandle | None = None
        self._idle_check: Timer | None = None

    def __len__(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def connections(self) -> list[Connection]:
        return list(self._connections.values())

    def bind(self, host: str, port: int) -> tuple[str, int]:
        """Take an address ("" for all interfaces, port 0 for any free one); gives the one that it became.

        From then on clients can connect; `start` lets them in. OSError where the address is taken or not ours.
        """
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(infos, key=lambda info: info[0] != socket.AF_INET)  # as Java prefers
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "nt":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # type: ignore[attr-defined, unused-ignore]
            else:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.limits.socket_receive_buffer_bytes != -1:  # accepted sockets inherit it, with the window it gives
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
        """Accept clients in this event loop, which has to be one that watches sockets (`add_reader`)."""
        assert self._socket is not None, "bind comes before start"
        self._loop = loop
        self._around = Surroundings(
            loop,
            self._router,
            self.limits,
            self._clock,
            self._buffer or ReceiveBuffer(),
            self._turns or Turns(loop.call_soon, elapsed_s),
            self.name,
            self._forget,
        )
        try:
            self._set_accepting(True)
        except NotImplementedError as error:
            raise RuntimeError(
                f"{type(loop).__name__} cannot watch sockets (it has no add_reader), so kafkalet cannot run in it; "
                "on Windows use asyncio.SelectorEventLoop"
            ) from error

    def limits_changed(self) -> None:
        """Accept again if the listener had waited for a connection to close: there may be room for more now."""
        if self._around is not None and not self._out_of_descriptors:
            self._set_accepting(True)

    def close(self) -> None:
        """Close the listening socket and every connection, at once and silently."""
        if self._socket is not None:
            self._set_accepting(False)
            self._socket.close()
            self._socket = None
        if self._retry is not None:
            self._retry.cancel()
        for connection in self.connections:
            connection.abort()
        for client, timer in self._turned_away.items():
            timer.cancel()
            client.close()
        self._turned_away.clear()
        if self._idle_check is not None:
            self._idle_check.cancel()
            self._idle_check = None

    # Who comes in.

    def _set_accepting(self, accepting: bool) -> None:
        if accepting is self._accepting or self._loop is None or self._socket is None:
            return
        if accepting:
            self._loop.add_reader(self._socket.fileno(), self._on_acceptable)
        else:
            self._loop.remove_reader(self._socket.fileno())
        self._accepting = accepting

    def _on_acceptable(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if len(self._connections) >= self.limits.max_connections:
                self._wait_for_one_to_leave()
                return
            assert self._socket is not None
            try:
                client, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._is_full = False  # nobody waits any more
                return
            except OSError as error:
                if error.errno not in _NO_DESCRIPTORS:
                    raise
                self._pause(error)
                return
            self._out_of_descriptors = False
            self._admit(client, address)

    def _wait_for_one_to_leave(self) -> None:
        if not self._is_full:
            self._is_full = True
            _LOG.warning("%s: max.connections=%d are open, nobody is let in until one closes", self.name, len(self))
        self._set_accepting(False)

    def _pause(self, error: OSError) -> None:
        """There is nothing left to accept with. The listening socket stays readable, so it must not be watched now."""
        assert self._loop is not None
        if not self._out_of_descriptors:
            self._out_of_descriptors = True
            _LOG.error(
                "%s: cannot accept (%s) with %d connections open; going on as descriptors come free",
                *(self.name, error.strerror, len(self)),
            )
        self._set_accepting(False)
        self._retry = self._loop.call_later(RETRY_ACCEPT_SECONDS, self._set_accepting, True)

    def _admit(self, client: socket.socket, address: tuple[str, int]) -> None:
        around, limits = self._around, self.limits
        assert around is not None
        host, port = address[:2]
        open_before = self._by_host.get(host, 0)
        most = limits.max_connections_per_ip_overrides.get(host, limits.max_connections_per_ip)
        if open_before >= most:
            client.close()
            _LOG.warning("%s: %s:%d not let in; max.connections.per.ip=%d are open", self.name, host, port, most)
            return
        if self.admission is not None and (rest_ms := self.admission(host)) > 0:
            self._turn_away(client, rest_ms)
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if limits.socket_send_buffer_bytes != -1:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.socket_send_buffer_bytes)
        self._by_host[host] = open_before + 1
        connection = self._connections[client.fileno()] = Connection(around, client, (host, port))
        if self._idle_check is None:
            self._set_idle_check(limits.connections_max_idle_ms)
        connection.begin()

    def _turn_away(self, client: socket.socket, rest_ms: float) -> None:
        """Leave a client without an answer for so long, and close its connection then (KIP-612)."""

        def close() -> None:
            del self._turned_away[client]
            client.close()

        self._turned_away[client] = self._clock.call_later(rest_ms, close)

    def _forget(self, descriptor: int) -> None:
        """A connection ends; its descriptor is still open."""
        host = self._connections.pop(descriptor).peer[0]
        left = self._by_host[host] - 1
        if left:
            self._by_host[host] = left
        else:
            del self._by_host[host]
        if not self._accepting and self._socket is not None:
            self._set_accepting(True)

    # Who has been silent for too long.

    def _set_idle_check(self, delay_ms: float) -> None:
        if self.limits.connections_max_idle_ms >= 0 and self._connections:
            self._idle_check = self._clock.call_later(delay_ms, self._close_idle)

    def _close_idle(self) -> None:
        """Close who is due, and come again for the next: not sooner than a hundredth of the time, in which many are."""
        self._idle_check = None
        most = self.limits.connections_max_idle_ms
        now_ms = self._clock.now_ms()
        oldest_ms = now_ms
        for connection in self.connections:
            if now_ms - connection.last_active_ms >= most:
                connection.abort(f"idle for {now_ms - connection.last_active_ms} ms; connections.max.idle.ms={most}")
            else:
                oldest_ms = min(oldest_ms, connection.last_active_ms)
        self._set_idle_check(max(oldest_ms + most - now_ms, most / 100))
