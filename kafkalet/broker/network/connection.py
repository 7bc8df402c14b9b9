"""One client's connection: requests in, answers out, one at a time and in order.

    socket ──> ReceiveBuffer ──> frame ──> Router ──> pieces ──> Outbox ──> socket
                 (receiving)                            │        (sending)
                                                        └── all that one turn of the loop brought, in one send

It owns a non-blocking socket on the event loop's `add_reader` and `add_writer`. There is no stream, no transport, and
no task or future per request: these cost more than the request itself.

A connection is *blocked* while the next request may not be served:

* an answer waits (`Delayed`);
* answers could not be sent yet, because the client does not read them;
* the client has been muted (quotas, KIP-219);
* it has had its turn (TURN_REQUESTS or the time in turns.py), and others come first.

What arrives meanwhile is kept up to PENDING_BYTES; then nothing is read any more and TCP holds the client back. So a
client that sends and never reads costs a bounded amount of memory, and one that goes away while its answer waits is
noticed, and its wait is cancelled.

An orderly end is silent. Any other end is one line in the log.
"""

import logging
import socket
from struct import Struct

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Timer
from kafkalet.protocol.errors import DecodeError, UnsupportedVersion
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk

from .listener_context import Surroundings
from .receiving import PARTIAL_BYTES, Partial, check_size
from .router import CloseConnection
from .sending import JOIN_BYTES, FileTooShort, Outbox, join

_LOG = logging.getLogger(__name__)

TURN_REQUESTS = 32
"""So many requests of one connection are served before others get their turn, however little time they take."""
TURN_BYTES = 2 * 1024 * 1024
"""So many bytes are sent to one connection before others get their turn."""
PENDING_BYTES = 64 * 1024
"""So many bytes of requests are kept while a connection is blocked."""

_BROKEN_PEER = (CloseConnection, DecodeError, UnsupportedVersion)
_read_size = Struct(">i").unpack_from


class Connection:
    """A client, from accept to close."""

    __slots__ = (
        *("_around", "_blocked", "_context", "_delayed", "_ended", "_ending", "_fd", "_mute", "_outbox", "_partial"),
        *("_reading", "_rest", "_resuming", "_socket", "_writing", "is_closed", "last_active_ms", "peer", "virtual_s"),
    )

    def __init__(self, around: Surroundings, sock: socket.socket, peer: tuple[str, int]) -> None:
        self._around = around
        self._socket = sock
        self._fd = sock.fileno()
        self.peer = peer
        self.last_active_ms = around.clock.now_ms()
        self._context: Context | None = None  # from the first request on
        self._rest = b""  # what has come and could not be served yet; not beside a partial frame
        self._partial: Partial | None = None
        self._outbox: Outbox | None = None  # None: everything was sent
        self._delayed: Delayed[Response] | None = None
        self._mute: Timer | None = None
        self._blocked = False
        self._resuming = False  # it is in the queue for a turn
        self.virtual_s = 0.0  # its account there: see turns.py
        self._reading = True
        self._writing = False
        self._ended: str | None = None  # the client sends no more: the reason, "" for an orderly end
        self._ending: str | None = None  # we close once the answers are sent: the reason
        self.is_closed = False
        around.loop.add_reader(self._fd, self._on_readable)

    def begin(self) -> None:
        """Look at once: a client often sends its first request with the last packet of the handshake, and what other
        clients sent after that is not to be served before it."""
        self._on_readable()

    # What a handler may ask (`Client`).

    def close(self, reason: str) -> None:
        """End the connection when the answers given so far have been sent; `reason` goes into the log."""
        if self._ending is None:
            self._ending = reason
            self._blocked = True
            self._set_reading(False)
            self._resume_soon()  # not at once: the answer of the request that is served now comes first

    def mute(self, ms: float) -> None:
        """Serve no further request for `ms` milliseconds."""
        if self._mute is not None:
            self._mute.cancel()
        self._blocked = True
        self._mute = self._around.clock.call_later(ms, self._unmute)

    def _unmute(self) -> None:
        self._mute = None
        self._go_on()

    # In.

    def _on_readable(self) -> None:
        turns = self._around.turns
        if self._blocked:  # nothing is served now, only kept
            self._receive_guarded()
        elif turns.is_congested:
            self._resume_soon()
        else:
            turns.begin()
            try:
                self._receive()
            except _BROKEN_PEER as problem:
                self.close(str(problem))
            except Exception:  # noqa: BLE001 - a bug costs this connection, not the others
                self._bug()
            turns.end(self)

    def take_turn(self) -> None:
        """Serve what has come (called by Turns)."""
        if self._blocked:
            self._resume()
        else:
            self._resuming = False
            self._receive_guarded()

    def _receive_guarded(self) -> None:
        try:
            self._receive()
        except _BROKEN_PEER as problem:
            self.close(str(problem))
        except Exception:  # noqa: BLE001 - a bug costs this connection, not the others
            self._bug()

    def _receive(self) -> None:
        """Take what has come, and serve it unless this connection is blocked."""
        around = self._around
        buffer = around.buffer
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
            self._sends_no_more(str(error.strerror))
            return
        if not count:
            self._sends_no_more("")
            return
        self.last_active_ms = around.clock.now_ms()
        if self._blocked:
            self._rest += buffer.view[:count]
        elif self._partial is not None:
            self._receive_partial(self._partial, count)
        else:
            if kept:
                buffer.data[:kept] = self._rest
                self._rest = b""
            self._serve(kept + count)

    def _receive_partial(self, partial: Partial, count: int) -> None:
        frame = partial.received(count)
        if frame is None:
            return
        self._partial = None
        out: list[Chunk] = []
        self._send(out, self._answer(frame, out))
        self._around.buffer.give_back(frame)
        if self._blocked:
            self._go_on()

    def _serve(self, end: int) -> None:
        """Serve the frames in the first `end` bytes of the receive buffer, and keep what is left."""
        around = self._around
        data, frame_at = around.buffer.data, around.buffer.frame
        limit = around.limits.socket_request_max_bytes
        turns = around.turns
        out: list[Chunk] = []
        out_bytes = at = served = size = 0
        try:
            while end - at >= 4 and not self._blocked:
                (size,) = _read_size(data, at)
                if not 0 < size <= limit:
                    check_size(size, limit)
                start = at + 4
                if start + size > end:
                    break
                at = start + size
                out_bytes += self._answer(frame_at(start, at), out)
                served += 1
                if out_bytes > JOIN_BYTES:
                    self._send(out, out_bytes)
                    out, out_bytes = [], 0
                if at < end and (served == TURN_REQUESTS or turns.is_over()):
                    self._blocked = True
        finally:
            if out:
                self._send(out, out_bytes)
        if at < end and not self.is_closed:
            self._keep(at, end, size)
        if self._blocked:
            self._go_on()

    def _keep(self, start: int, end: int, size: int) -> None:
        """Keep these bytes of the receive buffer: requests not served yet, or the beginning of a frame of `size`."""
        buffer = self._around.buffer
        if self._blocked or end - start < PARTIAL_BYTES:
            self._rest = bytes(buffer.view[start:end])
        else:
            self._partial = buffer.begin(size, start + 4, end)

    def _answer(self, frame: bytes | bytearray, out: list[Chunk]) -> int:
        """Serve one request. Its answer is appended to `out`, and its size given; 0 where there is none yet."""
        context = self._context
        if context is None:
            around = self._around
            context = self._context = around.router.context(self, self.peer, around.listener)
        answer = self._around.router.route(frame, context, out)
        if not isinstance(answer, int):
            self._delayed = answer
            self._blocked = True
            answer.then(self._answered, self._failed)
            return 0
        return answer

    def _answered(self, response: Response) -> None:
        """The answer that this connection waits for is there."""
        self._delayed = None
        self.last_active_ms = self._around.clock.now_ms()
        out: list[Chunk] = []
        try:
            assert self._context is not None
            size = self._around.router.finish(response, self._context, out)
        except Exception:  # noqa: BLE001 - a bug costs this connection, not the others
            self._bug()
            return
        self._send(out, size)
        self._go_on()

    def _failed(self, problem: Exception) -> None:
        """There will be no answer to the request that this connection waits for."""
        self._delayed = None
        if isinstance(problem, _BROKEN_PEER):
            self.close(str(problem))
        else:
            self._bug(problem)

    # Blocked, and on again.

    def _go_on(self) -> None:
        """Unless something still blocks this connection, let it serve what has come meanwhile, in a turn of its own."""
        if self.is_closed or self._resuming or self._outbox is not None:
            return
        if self._ending is not None:
            self._close(self._ending)
        elif self._delayed is None and self._mute is None:
            self._resume_soon()

    def _resume_soon(self) -> None:
        if not self._resuming:
            self._resuming = True
            self._around.turns.queue(self)

    def _resume(self) -> None:
        self._resuming = False
        if self.is_closed:
            return
        if self._ending is not None or self._outbox is not None or self._mute is not None:
            self._go_on()
            return
        self._blocked = False
        try:
            if self._rest:
                rest, self._rest = self._rest, b""
                self._around.buffer.data[: len(rest)] = rest
                self._serve(len(rest))
        except _BROKEN_PEER as problem:
            self.close(str(problem))
        except Exception:  # noqa: BLE001 - a bug costs this connection, not the others
            self._bug()
        if self._blocked or self.is_closed:
            return
        if self._ended is None:
            self._set_reading(True)
        else:
            self._close_after_end()

    def _sends_no_more(self, reason: str) -> None:
        """The client has closed its side, or is gone. What it sent before that is still served."""
        self._ended = reason
        delayed = self._delayed
        if not self._blocked or (delayed is not None and not delayed.is_working):
            self._close_after_end()
        else:
            self._set_reading(False)

    def _close_after_end(self) -> None:
        if self._partial is not None:
            self._close(f"gone in the middle of a frame, after {len(self._partial)} of {self._partial.size} bytes")
        elif self._rest and not self._blocked:
            self._close(f"gone in the middle of a frame, after {len(self._rest)} bytes")
        else:
            self._close(self._ended or "", logging.INFO)

    def _set_reading(self, reading: bool) -> None:
        if reading is not self._reading and not self.is_closed:
            self._reading = reading
            if reading:
                self._around.loop.add_reader(self._fd, self._on_readable)
            else:
                self._around.loop.remove_reader(self._fd)

    # Out.

    def _send(self, out: list[Chunk], size: int) -> None:
        """Send pieces of `size` bytes together, or as much of them as the socket takes now and the rest later."""
        if self.is_closed or not out:
            return
        if self._outbox is not None:
            self._outbox.extend(out)
            return
        if size > JOIN_BYTES:
            self._outbox = Outbox(out)
            self._write()
            return
        try:
            data = join(out, size)
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except FileTooShort as error:
            self._close(str(error))
            return
        except OSError as error:
            self._lost(error)
            return
        if sent < size:
            self._outbox = Outbox([memoryview(data)[sent:]])
            self._await_writable()

    def _write(self) -> None:
        """Send what is in the outbox, as far as it goes in this turn."""
        outbox = self._outbox
        assert outbox is not None
        try:
            outbox.send(self._socket, TURN_BYTES)
        except FileTooShort as error:
            self._close(str(error))
        except OSError as error:
            self._lost(error)
        else:
            if outbox:
                self._await_writable()
                return
            self._outbox = None
            if self._writing:
                self._writing = False
                self._around.loop.remove_writer(self._fd)

    def _await_writable(self) -> None:
        self._blocked = True
        if not self._writing:
            self._writing = True
            self._around.loop.add_writer(self._fd, self._on_writable)

    def _on_writable(self) -> None:
        try:
            if self._outbox is not None:
                self.last_active_ms = self._around.clock.now_ms()
                self._write()
            self._go_on()
        except Exception:  # noqa: BLE001 - a bug costs this connection, not the others
            self._bug()

    # The end.

    def _lost(self, error: OSError) -> None:
        """The network, or the client's system, has ended the connection: common enough not to warn of it."""
        self._close(str(error.strerror), logging.INFO)

    def _bug(self, error: BaseException | None = None) -> None:
        """Something that must not happen has happened while this client was served: it loses its connection."""
        if not self.is_closed:
            asked = self._context and self._context.route
            _LOG.error("%s: closed; a bug in the answer to %s", str(self), asked, exc_info=error or True)
            self._close("")

    def abort(self, reason: str = "") -> None:
        """Close at once, whatever has not been sent; `reason` goes into the log, "" leaves no trace."""
        self._close(reason, logging.INFO)

    def _close(self, reason: str, level: int = logging.WARNING) -> None:
        if self.is_closed:
            return
        self.is_closed = self._blocked = True
        if reason:
            _LOG.log(level, "%s: closed; %s", str(self), reason)
        around = self._around
        if self._reading:
            around.loop.remove_reader(self._fd)
        if self._writing:
            around.loop.remove_writer(self._fd)
        around.forget(self._fd)
        self._socket.close()
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
        self._rest, self._partial, self._outbox, self._context = b"", None, None, None

    def __str__(self) -> str:
        host, port = self.peer
        client = self._context.client_id[:100] if self._context else ""
        return f"{self._around.listener} connection of {client!r} at {host}:{port}"
