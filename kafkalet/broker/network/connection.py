"""One client connection, which serves its requests one at a time, in order.

    socket ──> ReceiveBuffer ──> frame ──> Router ──> chunks ──> Outbox ──> socket
               (receiving)                            │          (sending)
                                                      └── all responses of one loop turn, in one send

It uses a non-blocking socket with the event loop's `add_reader` and `add_writer`. There is no stream, no transport, and
no task or future per request, because these cost more than the request itself.

A connection is OPEN while its client may send requests; `NEXT` has the other states. It is *blocked* while its next
request must not be served; `Block` has the reasons. When the last reason ends, it waits for a turn.

Data that arrives while the connection is blocked is buffered, up to PENDING_BYTES; then reading stops, and TCP flow
control slows the client down. A client that sends and never reads therefore uses a limited amount of memory. If a
client disconnects while its response is delayed, the wait is cancelled.

An orderly close is not logged. Any other close is logged in one line.
"""

import logging
import os
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum, IntFlag, auto
from struct import Struct
from typing import TYPE_CHECKING, cast

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.context import Context
from kafkalet.broker.quoting import shown
from kafkalet.broker.security.principal import ANONYMOUS, Principal
from kafkalet.broker.watchers import NO_TOPIC
from kafkalet.clock import Timer
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import DecodeError, UnsupportedVersion
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed
from kafkalet.units import counted

from .closing_fetch import ends_session
from .listener_context import ListenerContext
from .receiving import PARTIAL_BYTES, Partial, check_size
from .sending import JOIN_BYTES, FileTooShort, Outbox, join

if TYPE_CHECKING:  # imported only if requests are recorded, or if a listener uses TLS
    from .journal import Journal
    from .tls_socket import TlsSocket

_LOG = logging.getLogger(__name__)

TURN_REQUESTS = 32
"""How many requests of one connection are served before other connections get a turn."""
TURN_BYTES = 2 * 1024 * 1024
"""Number of bytes sent to one connection before other connections get a turn."""
PENDING_BYTES = 64 * 1024
"""How many bytes of requests are buffered while a connection is blocked."""
RECORDED_BYTES = 8192
"""The journal keeps the requests and responses of a turn unchanged if they have at most this many bytes."""


class State(Enum):
    """What a connection still has to do."""

    OPEN = auto()
    """Receive requests and serve them."""
    ENDED = auto()
    """Serve the requests that were received before the client stopped sending."""
    CLOSING = auto()
    """Send the responses that are complete."""
    CLOSED = auto()


class Event(Enum):
    """The events that change the state."""

    END_OF_INPUT = "the client stops sending"
    CLOSE = "the broker closes the connection"
    SOCKET_CLOSED = "the socket is closed"


NEXT: Mapping[tuple[State, Event], State] = {
    (State.OPEN, Event.END_OF_INPUT): State.ENDED,
    (State.OPEN, Event.CLOSE): State.CLOSING,
    (State.OPEN, Event.SOCKET_CLOSED): State.CLOSED,
    (State.ENDED, Event.CLOSE): State.CLOSING,
    (State.ENDED, Event.SOCKET_CLOSED): State.CLOSED,
    (State.CLOSING, Event.SOCKET_CLOSED): State.CLOSED,
}
"""The next state after an event. Other events are impossible."""


class Block(IntFlag):
    """The reasons why the next request must not be served."""

    DELAYED = auto()
    """A response is delayed."""
    UNSENT = auto()
    """Responses could not be sent yet, because the client is not reading them."""
    MUTED = auto()
    """The client is muted (quotas, KIP-219)."""
    TURN = auto()
    """Other connections come first: a turn is over (TURN_REQUESTS or the time in turns.py), or another reason ended."""
    CLOSING = auto()
    """The connection is CLOSING or CLOSED."""


_DELAYED, _UNSENT, _MUTED, _TURN, _CLOSING = map(int, Block)  # operations on flags are slow
_OPEN, _CLOSED = State.OPEN, State.CLOSED  # in Python 3.11, looking up a member of an enum is slow

_BROKEN_PEER = (CloseConnection, DecodeError, UnsupportedVersion)
_read_size = Struct(">i").unpack_from


class Connection:
    """A client connection, from accept to close."""

    __slots__ = (
        *("_blocked", "_context", "_delayed", "_fd", "_is_black_hole", "_is_queued", "_mute", "_outbox", "_partial"),
        *("_principal", "_reading", "_reason", "_rest", "_shared", "_socket", "_state", "_tls"),
        *("is_sending_slowly", "last_active_ms", "peer", "virtual_s", "when_closed"),
    )

    def __init__(
        self,
        shared: ListenerContext,
        sock: socket.socket,
        peer: tuple[str, int],
        tls: "TlsSocket | None" = None,
        principal: Principal = ANONYMOUS,
    ) -> None:
        """`tls` replaces `sock` if the listener uses TLS. `principal` comes from the client's certificate."""
        self._shared = shared
        self._socket = sock if tls is None else cast(socket.socket, tls)
        self._tls = tls
        self._is_black_hole = False
        self._principal = principal
        self._fd = sock.fileno()
        self.peer = peer
        self.last_active_ms = shared.clock.now_ms()
        self._context: Context | None = None  # created with the first request
        self._rest = b""  # received but not served yet; empty while there is a partial frame
        self._partial: Partial | None = None
        self._outbox: Outbox | None = None  # None: everything has been sent
        self._delayed: Delayed[Response] | None = None
        self._mute: Timer | None = None
        self._state = _OPEN
        self._reason = ""  # why the connection is no longer OPEN; "" for an orderly close
        self._blocked = 0  # the reasons (`Block`)
        self._is_queued = False  # for a turn
        self.virtual_s = 0.0  # time used, as counted by turns.py
        self._reading = True
        self.when_closed: Callable[[], object] | None = None
        self.is_sending_slowly = False  # whether a fault sends the response in portions
        shared.loop.add_reader(self._fd, self._on_readable)

    def begin(self) -> None:
        """Read immediately.

        Clients often send their first request in the last packet of the handshake. It must not be served after requests
        that other clients sent later.
        """
        self._on_readable()

    def _move(self, event: Event) -> None:
        """Enter the next state. Raises AssertionError if the event is impossible."""
        state = NEXT.get((self._state, event))
        assert state is not None, f"{event.name} in state {self._state.name}"
        self._state = state

    @property
    def is_closed(self) -> bool:
        return self._state is _CLOSED

    @property
    def context(self) -> Context | None:
        """The context of its requests, or None before the first one."""
        return self._context

    @property
    def activity(self) -> str | None:
        """What is in progress: an unanswered request, unsent responses or unread data. None if there is nothing.

        A Fetch request that waits for records is idle.
        """
        context, delayed = self._context, self._delayed
        if self.is_closed:
            return None
        if delayed is not None and context is not None and (context.api is not Api.FETCH or delayed.is_working):
            return f"{context.route} has no response yet"
        if self._outbox or self.is_sending_slowly:
            return f"the response to {context and context.route} is not received"
        if self._rest or self._partial is not None:
            return "a request is received but not served"
        return "a request is sent but not received" if self._has_unread_data() else None

    def _has_unread_data(self) -> bool:
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:  # no data, or the connection is broken
            return False

    # The interface for handlers (`Client`)

    def close(self, reason: str) -> None:
        """Close the connection after all complete responses have been sent; `reason` is logged."""
        if not self._blocked & _CLOSING:
            self._move(Event.CLOSE)
            self._reason = reason
            self._blocked |= _CLOSING
            self._set_reading(False)
            self._queue()  # not now: the response to the current request is sent first

    def mute(self, ms: float) -> None:
        """Serve no further requests for `ms` milliseconds."""
        if self._mute is not None:
            self._mute.cancel()
        self._blocked |= _MUTED
        self._mute = self._shared.clock.call_later(ms, self._unmute)

    def _unmute(self) -> None:
        self._mute = None
        self._unblock(_MUTED)

    # Receiving

    def _on_readable(self) -> None:
        turns = self._shared.turns
        if self._blocked:  # only buffer the data
            self._guard(self._receive)
        elif turns.is_congested:
            self._queue()
        else:
            turns.begin()
            try:
                self._receive()
            except _BROKEN_PEER as problem:
                self._refuse(problem)
            except Exception:  # noqa: BLE001 - a bug closes this connection, not the others
                self._close_after_bug()
            turns.end(self)
        if self._tls is not None:
            self._read_decrypted_soon()
        if self._shared.watchers.sees_requests:
            self._shared.watchers.touch(NO_TOPIC)

    def take_turn(self) -> None:
        """Serve the received requests. Called by Turns."""
        self._is_queued = False
        if not self._blocked:
            self._guard(self._receive)
        else:
            self._blocked &= ~_TURN
            if self._blocked:
                self._close_if_sent()
            else:
                self._resume()
        if self._tls is not None:
            self._read_decrypted_soon()
        if self._shared.watchers.sees_requests:
            self._shared.watchers.touch(NO_TOPIC)

    def turn_failed(self, error: Exception) -> None:
        """Called by Turns if `take_turn` has raised an exception."""
        self._close_after_bug(error)

    def _read_decrypted_soon(self) -> None:
        """Read data that TLS has already decrypted. The event loop does not report it as readable."""
        if self._reading and not self._is_queued and cast("TlsSocket", self._tls).has_decrypted_data():
            self._shared.loop.call_soon(self._read_decrypted)

    def _read_decrypted(self) -> None:
        if self._reading:
            self._on_readable()

    def _guard(self, action: Callable[[], None]) -> None:
        """Receive or serve requests. An error closes the connection."""
        try:
            action()
        except _BROKEN_PEER as problem:
            self._refuse(problem)
        except Exception:  # noqa: BLE001 - a bug closes this connection, not the others
            self._close_after_bug()

    def _refuse(self, problem: Exception) -> None:
        """Close the connection because the client is at fault."""
        self.close(str(problem))

    def _receive(self) -> None:
        """Read from the socket, and serve the requests unless the connection is blocked."""
        shared = self._shared
        buffer = shared.buffer
        kept = 0
        try:
            if self._blocked:
                if len(self._rest) >= PENDING_BYTES or self._partial is not None:
                    self._set_reading(False)
                    return
                count = self._socket.recv_into(buffer.view[: PENDING_BYTES - len(self._rest)])
            elif self._partial is not None:
                count = self._socket.recv_into(self._partial.room())
            elif self._rest:
                kept = len(self._rest)
                count = self._socket.recv_into(buffer.view[kept:])
            else:
                count = self._socket.recv_into(buffer.data)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._on_end_of_input(str(error.strerror))
            return
        if not count:
            self._on_end_of_input("")
            return
        self.last_active_ms = shared.clock.now_ms()
        if self._blocked:
            self._receive_while_blocked(buffer.view[:count])
        elif self._partial is not None:
            self._receive_partial(self._partial, count)
        else:
            if kept:
                buffer.data[:kept] = self._rest
                self._rest = b""
            self._serve(kept + count)

    def _receive_while_blocked(self, data: memoryview) -> None:
        journal = self._shared.router.hooks.journal
        self._rest += data
        if journal is not None and self._context is not None:
            journal.arrived(self._context, len(data))
        self._hurry()

    def _hurry(self) -> None:
        """End the wait for a delayed response if the next request shows that the client no longer needs it."""
        if self._delayed is not None and ends_session(self._rest):
            self._delayed.hurry()

    def _receive_partial(self, partial: Partial, count: int) -> None:
        frame = partial.received(count)
        if frame is None:
            return
        self._partial = None
        self._serve_alone(frame)
        self._shared.buffer.give_back(frame)

    def _serve_alone(self, frame: bytes | bytearray) -> None:
        """Serve a request that is the only one of its turn."""
        out: list[Chunk] = []
        recorder = self._shared.router.recorder
        if recorder is None:
            self._send(out, self._answer(frame, out))
        else:
            request = recorder.beginning(frame)
            size = self._answer(frame, out)
            if self._context is not None:
                recorder.request(self._context, request, len(frame), out, is_waiting=self._delayed is not None)
            self._send(out, size)

    def _serve(self, end: int) -> None:
        """Serve the frames in the first `end` bytes of the receive buffer, and keep the rest."""
        shared = self._shared
        data, frame_at = shared.buffer.data, shared.buffer.frame
        limit = shared.limits.socket_request_max_bytes
        turns = shared.turns
        recorder = shared.router.recorder
        out: list[Chunk] = []
        out_bytes = at = served = size = flushed = 0
        try:
            while end - at >= 4 and not self._blocked:
                (size,) = _read_size(data, at)
                if not 0 < size <= limit:
                    check_size(size, limit)
                start = at + 4
                if start + size > end:
                    break
                stop = start + size
                out_bytes += self._answer(frame_at(start, stop), out)
                at = stop
                served += 1
                if out_bytes > JOIN_BYTES:
                    self._flush(recorder, flushed, at, out, out_bytes)
                    out, out_bytes, flushed = [], 0, at
                if at < end and (served == TURN_REQUESTS or turns.is_over()) and not self._blocked:
                    self._blocked = _TURN
                    self._queue()
        finally:
            if flushed < at:
                self._flush(recorder, flushed, at, out, out_bytes)
        if at < end and self._state is not _CLOSED:
            self._keep(at, end, size)
            self._hurry()

    def _flush(self, journal: "Journal | None", start: int, stop: int, out: list[Chunk], size: int) -> None:
        """Send the responses of a turn. Record them with their requests, from `start` to `stop` in the receive buffer.

        Recording costs little because the bytes are kept unchanged. journal.py lists the requests that are recorded in
        another way.
        """
        if journal is None:
            self._send(out, size)
            return
        shared, context = self._shared, self._context
        if context is None:  # the connection is closed
            return
        received = shared.buffer.data[start:stop]
        if size <= RECORDED_BYTES and stop - start <= RECORDED_BYTES and self._delayed is None and journal.keeps_turns:
            sent = self._send(out, size) if out else b""
            if sent is None:  # it follows earlier responses that are not sent yet
                journal.add_turn(context, received, out, is_waiting=False)
                return
            turns, new = shared.turns, journal.new
            new += context, turns.began_s, turns.now_s(), received, sent
            if len(new) >= journal.full_at:
                journal.add_new()
        else:
            journal.add_turn(context, received, out, is_waiting=self._delayed is not None)
            self._send(out, size)

    def _keep(self, start: int, end: int, size: int) -> None:
        """Keep bytes of the receive buffer: unserved requests, or the start of a frame of `size` bytes."""
        buffer = self._shared.buffer
        if self._blocked or end - start < PARTIAL_BYTES:
            self._rest = bytes(buffer.view[start:end])
        else:
            self._partial = buffer.begin(size, start + 4, end)

    def _answer(self, frame: bytes | bytearray, out: list[Chunk]) -> int:
        """Serve one request and append its response to `out`. Return the size of the response; 0 if it is delayed."""
        context = self._context
        if context is None:
            shared = self._shared
            context = self._context = shared.router.context(self, self.peer, shared.listener)
            if self._tls is not None:
                context.principal = self._principal
        try:
            answer = self._shared.router.route(frame, context, out)
        except Exception as problem:
            if self._shared.router.recorder is not None:
                self._shared.router.recorder.refused(context, frame, problem)
            raise
        if not isinstance(answer, int):
            self._delayed = answer
            self._blocked |= _DELAYED
            answer.then(self._answered, self._failed)
            return 0
        return answer

    def _answered(self, response: Response) -> None:
        """Send the delayed response."""
        self._delayed = None
        self.last_active_ms = self._shared.clock.now_ms()
        out: list[Chunk] = []
        try:
            assert self._context is not None
            self._send(out, self._shared.router.encode_delayed(response, self._context, out))
        except Exception:  # noqa: BLE001 - a bug closes this connection, not the others
            self._close_after_bug()
            return
        self._unblock(_DELAYED)
        if self._shared.watchers.sees_requests:
            self._shared.watchers.touch(NO_TOPIC)

    def _failed(self, problem: Exception) -> None:
        """Close the connection because the delayed request failed."""
        self._delayed = None
        if isinstance(problem, _BROKEN_PEER):
            self.close(str(problem))
        else:
            self._close_after_bug(problem)

    # Blocking and resuming

    def _unblock(self, reason: int) -> None:
        """Remove a reason why the connection is blocked."""
        self._blocked &= ~reason
        if not self._blocked:
            self._blocked = _TURN
            if not self._is_queued:  # like `_queue`, without the cost of a call
                self._is_queued = True
                self._shared.turns.queue(self)
        elif not self._is_queued:
            self._close_if_sent()

    def _queue(self) -> None:
        """Queue the connection for a turn."""
        if not self._is_queued:
            self._is_queued = True
            self._shared.turns.queue(self)

    def _resume(self) -> None:
        """Serve the requests that were received while the connection was blocked, and receive others again."""
        if self._rest:
            self._guard(self._serve_rest)
            if self._blocked:
                return
        if self._state is _OPEN:
            self._set_reading(True)
        else:
            self._close_after_end()

    def _serve_rest(self) -> None:
        rest, self._rest = self._rest, b""
        self._shared.buffer.data[: len(rest)] = rest
        self._serve(len(rest))

    def _close_if_sent(self) -> None:
        if self._blocked & (_CLOSING | _UNSENT) == _CLOSING:
            self._close(self._reason)

    def _on_end_of_input(self, reason: str) -> None:
        """Handle the end of the client's data.

        Requests that have been received are still served, unless the client would have waited for the response.
        """
        if self._state is not _OPEN:  # the event loop has already reported it
            return
        self._move(Event.END_OF_INPUT)
        self._reason = reason
        delayed = self._delayed
        if not self._blocked or (delayed is not None and delayed.may_be_dropped):
            self._close_after_end()
        else:
            self._set_reading(False)

    def _close_after_end(self) -> None:
        if self._partial is not None:
            self._close(
                f"disconnected within a frame, after {len(self._partial)} of {counted(self._partial.size, 'byte')}"
            )
        elif self._rest and not self._blocked:
            self._close(f"disconnected within a frame, after {counted(len(self._rest), 'byte')}")
        else:
            self._close(self._reason, logging.INFO)

    def _set_reading(self, reading: bool) -> None:
        if reading is not self._reading and self._state is not _CLOSED:
            self._reading = reading
            if reading:
                self._shared.loop.add_reader(self._fd, self._on_readable)
                if self._tls is not None:
                    self._read_decrypted_soon()
            else:
                self._shared.loop.remove_reader(self._fd)

    # Sending

    def send(self, data: bytes) -> None:
        """Send data that is not the response to the current request, such as the next part of an earlier one."""
        self._send([data], len(data))

    def _send(self, out: list[Chunk], size: int) -> bytes | None:
        """Send chunks of `size` bytes in total. Data that the socket does not accept is sent later.

        Return the data in one piece, or None if it was not joined.
        """
        if self._state is _CLOSED or not out:
            return None
        if self._outbox is not None:
            self._outbox.extend(out)
            return None
        if size > JOIN_BYTES:
            self._outbox = Outbox(out)
            self._write()
            return None
        try:
            data = join(out)
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except FileTooShort as error:
            self._close(str(error))
            return None
        except OSError as error:
            self._close_after_network_error(error)
            return None
        if sent < size:
            self._outbox = Outbox([memoryview(data)[sent:]])
            self._await_writable()
        return data

    def _write(self) -> None:
        """Send as much of the outbox as one turn allows."""
        outbox = self._outbox
        assert outbox is not None
        try:
            outbox.send(self._socket, TURN_BYTES)
        except FileTooShort as error:
            self._close(str(error))
        except OSError as error:
            self._close_after_network_error(error)
        else:
            if outbox:
                self._await_writable()
                return
            self._outbox = None
            if self._blocked & _UNSENT:
                self._shared.loop.remove_writer(self._fd)
                self._unblock(_UNSENT)

    def _await_writable(self) -> None:
        if not self._blocked & _UNSENT:
            self._blocked |= _UNSENT
            self._shared.loop.add_writer(self._fd, self._on_writable)

    def _on_writable(self) -> None:
        try:
            if self._outbox is not None:
                self.last_active_ms = self._shared.clock.now_ms()
                self._write()
            if self._shared.watchers.sees_requests:
                self._shared.watchers.touch(NO_TOPIC)
        except Exception:  # noqa: BLE001 - a bug closes this connection, not the others
            self._close_after_bug()

    # Closing

    def _close_after_network_error(self, error: OSError) -> None:
        """Close after a network error, which is too common for a warning."""
        self._close(str(error.strerror), logging.INFO)

    def _close_after_bug(self, error: BaseException | None = None) -> None:
        """Close after an unexpected exception, and log its traceback."""
        if not self.is_closed:
            asked = self._context and self._context.route
            _LOG.error("%s: closed; a bug in the response to %s", str(self), asked, exc_info=error or True)
            self._close("")

    def abort(self, reason: str = "") -> None:
        """Close immediately, discarding unsent responses. `reason` is logged unless it is empty."""
        self._close(reason, logging.INFO)

    def close_socket(self) -> None:
        """Close only the socket, without the event loop. Used in a child process after a fork, where it is a copy."""
        if self._tls is not None:
            self._tls.will_notify = False
        self._socket.close()

    # Connection faults

    @property
    def last_request(self) -> str:
        """The API and version of the latest request, as in `Fetch v12`; "" before the first."""
        return "" if self._context is None or self._context.route is None else str(self._context.route)

    @property
    def client_id(self) -> str:
        """The client id in the latest request; "" before the first."""
        return "" if self._context is None else self._context.client_id

    def reset(self) -> None:
        """Close immediately with a TCP reset, as after a crash of the broker's machine."""
        if not self.is_closed:
            linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.abort("reset by a fault")

    def set_suspended(self, suspended: bool) -> None:
        """Receive and send nothing while the broker is paused or cut off from clients. Responses wait."""
        self._set_reading(not suspended and self._state is _OPEN)
        if not suspended:
            self._shared.loop.add_writer(self._fd, self._on_writable)
            return
        if self._outbox is None:
            self._outbox = Outbox([])
        self._shared.loop.remove_writer(self._fd)
        self._blocked |= _UNSENT

    def half_close(self) -> None:
        """Send no more data. Requests are still received; the connection is closed at the next response."""
        if not self.is_closed:
            with suppress(OSError):  # the client has closed its end
                self._socket.shutdown(socket.SHUT_WR)

    def black_hole(self) -> None:
        """Discard all data from now on, in both directions, but keep the connection open."""
        if self.is_closed:
            return
        from .black_hole import BlackHole

        self._socket, self._tls = cast(socket.socket, BlackHole(self._socket)), None
        self._is_black_hole = True
        self._rest, self._partial = b"", None
        if self._outbox is not None:
            self._outbox = Outbox([])

    @property
    def discards_data(self) -> bool:
        """Whether the connection has become a black hole."""
        return self._is_black_hole

    def _close(self, reason: str, level: int = logging.WARNING) -> None:
        if self.is_closed:
            return
        self._move(Event.SOCKET_CLOSED)
        if reason:
            _LOG.log(level, "%s: closed; %s", str(self), shown(reason))
        shared = self._shared
        if self._reading:
            self._reading = False
            shared.loop.remove_reader(self._fd)
        if self._blocked & _UNSENT:
            shared.loop.remove_writer(self._fd)
        self._blocked = _CLOSING
        shared.forget(self._fd)
        self._socket.close()
        if self._context is not None and shared.router.hooks.journal is not None:
            shared.router.hooks.journal.closed(self._context, reason)
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
        if self.when_closed is not None:
            self.when_closed()
            self.when_closed = None
        self._rest, self._partial, self._outbox, self._context = b"", None, None, None

    def __str__(self) -> str:
        host, port = self.peer
        client = self._context.client_id[:100] if self._context else ""
        return f"{self._shared.listener} connection of {client!r} at {host}:{port}"
