"""A connection to a listener with SASL.

Until the client is authenticated, and while it authenticates again, its frames are served one by one:

    frame ──┬── raw token ──────────────────────────────> Authenticator.evaluate ── size | token
            └── request ──> Authenticator.admit ──> Router ──> sasl_handshake, sasl_authenticate, api_versions

In between, it is a connection like any other, and a request costs nothing more. Whether the session has expired is
checked when data arrives.

Raw tokens are not recorded in the journal, because they are secrets. Frames are small before authentication
(`sasl.server.max.receive.size`), and no frame is served while another one waits, so a client that is not authenticated
can use only little memory and time.
"""

from struct import Struct
from typing import Any

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.context import Context
from kafkalet.broker.security.sasl.authenticator import Authenticator, IllegalRequest, Refused
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed

from .connection import Connection
from .error_responses import error_frame
from .receiving import Partial, check_size

ANSWERED_BYTES = 16 * 1024
"""A larger request for another API during authentication is not decoded, and gets no error response.

Thousands of items would take long, and the client has not shown yet who it is.
"""
_read_size = Struct(">i").unpack_from


class SaslConnection(Connection):
    """A client connection that authenticates with SASL."""

    __slots__ = ()

    def _serve(self, end: int) -> None:
        authenticator = self._authenticator()
        if authenticator.is_open:
            super()._serve(end)
            return
        buffer = self._shared.buffer
        at = size = 0
        while end - at >= 4 and not self._blocked and not authenticator.is_open:
            (size,) = _read_size(buffer.data, at)
            try:
                self._check_size(size, authenticator)
            except Refused as refused:
                self._refuse(refused)
                return
            stop = at + 4 + size
            if stop > end:
                break
            self._serve_alone(bytes(buffer.view[at + 4 : stop]), authenticator)
            at = stop
        if at < end:
            self._serve_rest(at, end, size, authenticator)
        elif self._blocked:
            self._resume_unless_blocked()

    def _serve_rest(self, at: int, end: int, size: int, authenticator: Authenticator) -> None:
        """Serve the requests that follow the authentication, or keep what cannot be served yet."""
        if self.is_closed or authenticator.has_failed:
            return
        if authenticator.is_open and not self._blocked:
            buffer = self._shared.buffer
            buffer.data[: end - at] = buffer.data[at:end]
            super()._serve(end - at)
            return
        self._keep(at, end, size)
        if self._blocked:
            self._resume_unless_blocked()

    def _receive_partial(self, partial: Partial, count: int) -> None:
        authenticator = self._authenticator()
        if authenticator.is_open:
            super()._receive_partial(partial, count)
            return
        frame = partial.received(count)
        if frame is not None:
            self._partial = None
            self._serve_alone(bytes(frame), authenticator)
            if self._blocked:
                self._resume_unless_blocked()

    def _authenticator(self) -> Authenticator:
        context = self._context
        if context is None:
            shared = self._shared
            assert shared.authenticators is not None
            context = self._context = shared.router.context(self, self.peer, shared.listener)
            context.authenticator = Authenticator(shared.authenticators, context)
        assert context.authenticator is not None
        return context.authenticator

    def _check_size(self, size: int, authenticator: Authenticator) -> None:
        authenticator.check_size(size)
        if authenticator.is_reauthenticating:
            check_size(size or 1, self._shared.limits.socket_request_max_bytes)

    def _serve_alone(self, frame: bytes, authenticator: Authenticator) -> None:
        """Serve a frame of a client that is not authenticated."""
        context, recorder = self._context, self._shared.router.recorder
        assert context is not None
        request = frame if recorder is None else recorder.beginning(frame)
        out: list[Chunk] = []
        try:
            if authenticator.takes_raw_tokens:
                token = authenticator.evaluate(frame).token
                out += [len(token).to_bytes(4, "big"), token]
                self._send(out, 4 + len(token))
                return
            self._admit(frame, authenticator, context)
            size = self._answer(frame, out)
            if recorder is not None:
                recorder.request(context, request, len(frame), out, is_waiting=self._delayed is not None)
            self._send(out, size)
        except Refused as refused:
            self._refuse(refused)
        except IllegalRequest as illegal:
            out = []
            if len(frame) <= ANSWERED_BYTES:
                out = error_frame(frame, context, KafkaError(Code.ILLEGAL_SASL_STATE, str(illegal)))
            if recorder is not None:
                recorder.request(context, request, len(frame), out, is_waiting=False)
            self._answer_later(out, str(illegal))

    def _admit(self, frame: bytes, authenticator: Authenticator, context: Context) -> None:
        try:
            authenticator.admit(frame)
        except Refused as refused:
            if refused.is_request and self._shared.router.recorder is not None:
                self._shared.router.recorder.refused(context, frame, refused)
            raise

    def _refuse(self, refused: Refused) -> None:
        """Close the connection without a response, after the delay if Kafka delays the close."""
        if not refused.is_delayed:
            raise refused

        def close() -> None:
            raise refused

        self._wait_for(self._delay(close))

    def _answer_later(self, out: list[Chunk], reason: str) -> None:
        """Send an error response and close the connection, both after the delay."""

        def answer() -> None:
            self._send(out, sum(map(len, out)))
            raise CloseConnection(reason)

        self._wait_for(self._delay(answer))

    def _delay(self, action: Any) -> Delayed[Any]:
        authenticators = self._shared.authenticators
        assert authenticators is not None
        return authenticators.delay(action)

    def _wait_for(self, delayed: Delayed[Any]) -> None:
        self._delayed = delayed
        self._blocked = True
        self._rest = b""
        delayed.then(self._answered, self._failed)
