"""Authenticates one connection of a listener with SASL.

A client may send ApiVersions once. It sends SaslHandshake with the name of a mechanism, then the tokens of the
mechanism: after SaslHandshake v1 in SaslAuthenticate requests, after v0 as frames without a header. Anything else ends
in FAILED. If Kafka throws an AuthenticationException, it sends the error response, if there is one, and closes the
connection after `connection.failed.authentication.delay.ms`. After any other exception it closes the connection
immediately.

If the lifetime of a session is limited, by `connections.max.reauth.ms` or because a token expires, the client has to
authenticate again on the same connection, with the same mechanism and as the same principal (KIP-368). A request after
the end of the session closes the connection.

Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator (KIP-43, KIP-152, KIP-368),
KafkaChannel.maybeBeginServerReauthentication, kafka.network.SocketServer.processCompletedReceives.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple, Protocol, TypeVar

from kafkalet.broker.client import Client, CloseConnection
from kafkalet.broker.security.principal import Principal
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkalet.tasks.delayed import Delayed

from .listener import SaslListener
from .mechanism import AuthenticationFailed, BrokenExchange, InvalidCredentials, Mechanism

T = TypeVar("T")

MIN_REAUTHENTICATION_INTERVAL_MS = 1000


class State(Enum):
    """What the client may send next."""

    INITIAL = auto()
    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    COMPLETE = auto()
    OTHER_MECHANISM = auto()
    """The client has asked to authenticate again with another mechanism. Its next frame fails."""
    FAILED = auto()


class Event(Enum):
    """The events that change the state."""

    REQUEST = "the first request"
    VERSIONS = "ApiVersions is answered"
    MECHANISM = "SaslHandshake"
    OTHER_MECHANISM = "SaslHandshake with another mechanism"
    SUCCESS = "the last token"
    FAILURE = "anything else"


NEXT: Mapping[tuple[State, Event], State] = {
    (State.INITIAL, Event.REQUEST): State.VERSIONS_OR_HANDSHAKE,
    (State.VERSIONS_OR_HANDSHAKE, Event.VERSIONS): State.HANDSHAKE,
    (State.VERSIONS_OR_HANDSHAKE, Event.MECHANISM): State.AUTHENTICATE,
    (State.HANDSHAKE, Event.MECHANISM): State.AUTHENTICATE,
    (State.AUTHENTICATE, Event.SUCCESS): State.COMPLETE,
    (State.COMPLETE, Event.MECHANISM): State.AUTHENTICATE,
    (State.COMPLETE, Event.OTHER_MECHANISM): State.OTHER_MECHANISM,
    **{(state, Event.FAILURE): State.FAILED for state in State},
}
"""The next state after an event. Other events are impossible."""


class Refused(CloseConnection):
    """The client has failed to authenticate, and the connection is closed. The message is logged."""

    is_request = True
    """Whether the frame is a request. If not, it may be a misplaced token, which must not be shown."""

    def __init__(self, reason: str, *, is_delayed: bool) -> None:
        super().__init__(reason)
        self.is_delayed = is_delayed
        """Whether the connection is closed after `connection.failed.authentication.delay.ms`, as in Kafka."""


class IllegalRequest(Exception):
    """A request for another API arrived instead of SaslAuthenticate. It gets ILLEGAL_SASL_STATE with this message."""


class Connected(Protocol):
    """The attributes of a request's context that an authenticator uses."""

    client: Client
    principal: Principal
    is_token_authenticated: bool


class Step(NamedTuple):
    """The result of a token."""

    token: bytes
    session_lifetime_ms: int


class Authenticator:
    """The authentication of one connection."""

    def __init__(self, listener: SaslListener, context: Connected) -> None:
        """`context` gets the principal when the client is authenticated."""
        self._listener = listener
        self._context = context
        self._principal: Principal | None = None  # None before the first authentication
        self._state = State.INITIAL
        self._is_raw = False  # whether tokens have no request header
        self._name = ""  # of the mechanism
        self._mechanism: Mechanism | None = None  # None before and after an exchange of tokens
        self._session_ends_ms: int | None = None
        self._reauthenticated_ms: int | None = None

    def _move(self, event: Event) -> None:
        """Enter the next state. Raises AssertionError if the event is impossible."""
        state = NEXT.get((self._state, event))
        assert state is not None, f"{event.name} in state {self._state.name}"
        self._state = state

    @property
    def is_open(self) -> bool:
        """Whether requests need no `admit`, because the client is authenticated and its session has not ended."""
        ends_ms = self._session_ends_ms
        return self._state is State.COMPLETE and (ends_ms is None or self._listener.clock.now_ms() <= ends_ms)

    @property
    def _delays_close(self) -> bool:
        return self._listener.rules.delays_close_before_handshake

    @property
    def has_failed(self) -> bool:
        """Whether the connection is about to be closed."""
        return self._state is State.FAILED

    @property
    def takes_handshake(self) -> bool:
        """Whether SaslHandshake is legal now. `admit` must have accepted it, or the client must be authenticated."""
        if self._state is not State.COMPLETE:
            return True
        last_ms, now_ms = self._reauthenticated_ms, self._listener.clock.now_ms()
        is_early = last_ms is not None and now_ms - last_ms < MIN_REAUTHENTICATION_INTERVAL_MS
        return self._session_ends_ms is not None and not is_early

    @property
    def takes_tokens(self) -> bool:
        return self._state is State.AUTHENTICATE

    @property
    def is_reauthenticating(self) -> bool:
        return self._principal is not None

    def check_size(self, size: int) -> None:
        """Check the size of a frame of an exchange. Raises Refused."""
        if self._state is not State.COMPLETE and not 0 <= size <= self._listener.max_receive_bytes:
            raise self._refused(
                f"a frame of {size} bytes during authentication; sasl.server.max.receive.size is "
                f"{self._listener.max_receive_bytes}",
                is_delayed=True,
            )

    def receive(self, frame: bytes) -> bytes | None:
        """Return the response to a raw token; None for a request that may be served. See `evaluate` and `admit`."""
        if self._is_raw and self._state is State.AUTHENTICATE:
            try:
                return self.evaluate(frame).token
            except Refused as refused:
                refused.is_request = False
                raise
        self.admit(frame)
        return None

    def admit(self, frame: bytes) -> None:
        """Check whether the client may send this request now. Raises Refused and IllegalRequest."""
        if self._state is State.OTHER_MECHANISM:
            raise self._refused("it tried to re-authenticate with another mechanism", is_delayed=True)
        try:
            header, _ = RequestHeader.decode(frame)
        except DecodeError as problem:
            is_first = self._state is State.INITIAL
            refused = self._refused(str(problem), is_delayed=is_first and self._delays_close)
            refused.is_request = False
            raise refused from None
        api = header.api
        if self._state is State.COMPLETE:
            if api is not Api.SASL_HANDSHAKE or not self.takes_handshake:
                raise self._refused(f"{api} after the session expired", is_delayed=False)
        elif self._state is State.AUTHENTICATE:
            if api is not Api.SASL_AUTHENTICATE:
                self._move(Event.FAILURE)
                raise IllegalRequest(f"Unexpected Kafka request of type {api.name} during SASL authentication.")
        else:
            if self._state is State.INITIAL:
                self._move(Event.REQUEST)
            if api is Api.API_VERSIONS:
                if self._state is State.HANDSHAKE:
                    raise self._refused("a second ApiVersions during authentication", is_delayed=False)
            elif api is not Api.SASL_HANDSHAKE:
                raise self._refused(f"{api} before the client has authenticated", is_delayed=self._delays_close)

    def versions_answered(self) -> None:
        """Record that ApiVersions has been answered without an error."""
        if self._state is State.VERSIONS_OR_HANDSHAKE:
            self._move(Event.VERSIONS)

    def handshake(self, mechanism: str, version: int) -> SaslHandshakeResponse | Delayed[SaslHandshakeResponse]:
        """Choose the mechanism, and return the response to SaslHandshake. Raises Refused."""
        enabled, is_again = self._listener.mechanisms, self.is_reauthenticating
        if self._state is State.COMPLETE:
            self._reauthenticated_ms = self._listener.clock.now_ms()
        if mechanism not in enabled:
            reason = f"Unsupported SASL mechanism {mechanism[:100]!r}"
            if is_again:  # SocketServer closes the connection after any exception
                raise self._refused(reason, is_delayed=False)
            refusal = SaslHandshakeResponse(error_code=Code.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            return self._fail(refusal, f"{reason}; enabled are {', '.join(enabled)}")
        if is_again and mechanism != self._name:
            self._move(Event.OTHER_MECHANISM)
        else:
            self._move(Event.MECHANISM)
            self._name = mechanism
            self._mechanism = self._listener.begin(mechanism)
            self._is_raw = version == 0
        response = SaslHandshakeResponse(mechanisms=enabled)
        if not is_again:
            return response
        # The frames that follow are tokens, so this request must be the last one of its turn.
        delayed: Delayed[SaslHandshakeResponse] = Delayed()
        self._listener.call_soon(lambda: delayed.complete(response))
        return delayed

    def authenticate(self, token: bytes) -> SaslAuthenticateResponse | Delayed[SaslAuthenticateResponse]:
        """Return the response to SaslAuthenticate. Raises Refused."""
        try:
            step = self.evaluate(token)
        except AuthenticationFailed as failed:
            response = SaslAuthenticateResponse(
                error_code=Code.SASL_AUTHENTICATION_FAILED, error_message=str(failed), auth_bytes=b""
            )
            return self._fail(response, f"{failed}{f' ({failed.__cause__})' if failed.__cause__ else ''}")
        return SaslAuthenticateResponse(auth_bytes=step.token, session_lifetime_ms=step.session_lifetime_ms)

    def evaluate(self, token: bytes) -> Step:
        """Evaluate a token of the client.

        Raises AuthenticationFailed with the message for the client, and Refused if the client gets no response.
        """
        mechanism = self._mechanism
        assert mechanism is not None, "no handshake"
        try:
            answer = mechanism.evaluate(token)
            if mechanism.principal is not None:
                return Step(answer, self._complete(mechanism, mechanism.principal))
        except AuthenticationFailed as failed:
            self._end_exchange(Event.FAILURE)
            if self._is_raw:
                raise self._refused(str(failed), is_delayed=True) from None
            raise
        except InvalidCredentials as problem:
            self._end_exchange(Event.FAILURE)
            if self._is_raw:  # a SaslException is not an AuthenticationException
                raise self._refused(str(problem), is_delayed=False) from None
            what = "re-authentication" if self.is_reauthenticating else "authentication"
            text = f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self._name}"
            raise AuthenticationFailed(text) from problem
        except BrokenExchange as problem:
            raise self._refused(str(problem), is_delayed=False) from None
        return Step(answer, 0)

    def _complete(self, mechanism: Mechanism, principal: Principal) -> int:
        before = self._principal
        if before is not None and before != principal:
            raise AuthenticationFailed(
                f"Cannot change principals during re-authentication from {before.type}.{before.name}: "
                f"{principal.type}.{principal.name}"
            )
        lifetime_ms = self._listener.lifetime_ms(self._name, mechanism.expires_ms)
        self._session_ends_ms = None if lifetime_ms is None else self._listener.clock.now_ms() + lifetime_ms
        self._principal = self._context.principal = principal
        self._context.is_token_authenticated = mechanism.is_token_authenticated
        self._end_exchange(Event.SUCCESS)
        return lifetime_ms or 0

    def _fail(self, response: T, reason: str) -> Delayed[T]:
        """Send a response and close the connection, both after the delay."""
        problem = self._refused(reason, is_delayed=True)

        def expired() -> T:
            self._context.client.close(str(problem))
            return response

        return self._listener.delay(expired)

    def _end_exchange(self, event: Event) -> None:
        self._move(event)
        self._mechanism = None

    def _refused(self, reason: str, *, is_delayed: bool) -> Refused:
        self._end_exchange(Event.FAILURE)
        what = "re-authentication" if self.is_reauthenticating else "authentication"
        return Refused(f"{what} failed: {reason.removeprefix('Authentication failed: ')}", is_delayed=is_delayed)
