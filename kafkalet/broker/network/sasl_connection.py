"""A connection to a listener with SASL.

Until the client is authenticated, and while it authenticates again, its frames are served one by one:

    frame ──> Authenticator.receive ──┬── raw token ──> size | token
                                      └── request ────> Router ──> sasl_handshake, sasl_authenticate, api_versions

At other times, it works like any other connection, at no extra cost per request. Whether the session has expired is
checked when data arrives.

Raw tokens are not recorded in the journal, because they are secrets. Frames are small before authentication
(`sasl.server.max.receive.size`), and no frame is served while another one waits, so a client that is not authenticated
can use only little memory and time.
"""

from struct import Struct

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.security.sasl.authenticator import Authenticator, IllegalRequest, Refused
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk

from .connection import Block, Connection
from .error_responses import error_frame
from .receiving import Partial, check_size

ANSWERED_BYTES = 16 * 1024
"""A larger request for another API during authentication is not decoded, and gets no error response.

Thousands of items would take long, and the client is not authenticated yet.
"""
_read_size = Struct(">i").unpack_from


class SaslConnection(Connection):
    """A client connection that authenticates with SASL."""

    __slots__ = ()

    def _serve(self, end: int) -> None:
        if self._authenticator().is_open:
            super()._serve(end)
            return
        authenticator, buffer = self._authenticator(), self._shared.buffer
        at = size = 0
        while end - at >= 4 and not self._blocked and not authenticator.is_open:
            (size,) = _read_size(buffer.data, at)
            stop = at + 4 + size
            self._check_size(size, authenticator)
            if stop > end:
                break
            self._serve_exchange(bytes(buffer.view[at + 4 : stop]), authenticator)
            at = stop
        if at == end or self.is_closed or authenticator.has_failed:
            return
        if self._blocked or not authenticator.is_open:
            self._keep(at, end, size)
        else:
            buffer.data[: end - at] = buffer.data[at:end]
            super()._serve(end - at)

    def _receive_partial(self, partial: Partial, count: int) -> None:
        authenticator = self._authenticator()
        if authenticator.is_open:
            super()._receive_partial(partial, count)
            return
        frame = partial.received(count)
        if frame is not None:
            self._partial = None
            self._serve_exchange(bytes(frame), authenticator)

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

    def _serve_exchange(self, frame: bytes, authenticator: Authenticator) -> None:
        """Serve a frame of a client that is not authenticated."""
        context, recorder = self._context, self._shared.router.recorder
        assert context is not None
        try:
            token = authenticator.receive(frame)
        except Refused as refused:
            if refused.is_request and recorder is not None:
                recorder.refused(context, frame, refused)
            raise
        except IllegalRequest as illegal:
            out: list[Chunk] = []
            if len(frame) <= ANSWERED_BYTES:
                out = error_frame(frame, context, KafkaError(Code.ILLEGAL_SASL_STATE, str(illegal)))
            if recorder is not None:
                recorder.request(context, recorder.beginning(frame), len(frame), out, is_waiting=False)
            self._close_later(CloseConnection(str(illegal)), out)
        else:
            if token is None:
                self._serve_alone(frame)
            else:
                self._send([len(token).to_bytes(4, "big"), token], 4 + len(token))

    def _refuse(self, problem: Exception) -> None:
        """Close the connection without a response, after the delay if Kafka delays the close."""
        if isinstance(problem, Refused) and problem.is_delayed:
            self._close_later(problem, [])
        else:
            super()._refuse(problem)

    def _close_later(self, problem: CloseConnection, out: list[Chunk]) -> None:
        """Send an error response, if there is one, and close the connection, both after the delay."""
        assert self._shared.authenticators is not None

        def close() -> Response:
            self._send(out, sum(map(len, out)))
            raise problem

        self._rest = b""
        self._delayed = self._shared.authenticators.delay(close)
        self._blocked |= int(Block.DELAYED)
        self._delayed.then(self._answered, self._failed)
