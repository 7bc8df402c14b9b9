"""Authenticates one connection of a listener with SASL.

    INITIAL ──> VERSIONS_OR_HANDSHAKE ──> HANDSHAKE ──> AUTHENTICATE ──> COMPLETE
       │            ApiVersions answered ────┘ │             ▲              │
       └───────────────────────────────────────┘             └── SaslHandshake of a session with a limited lifetime

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

from enum import Enum, auto
from typing import NamedTuple, Protocol, TypeVar

from kafkalet.broker.client import Client, CloseConnection
from kafkalet.broker.security.principal import Principal
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.frame import RequestHeader
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


class Identified(Protocol):
    """The part of the context of a request that says who the client is."""

    principal: Principal
    is_token_authenticated: bool


class Step(NamedTuple):
    """The result of a token."""

    token: bytes
    session_lifetime_ms: int


class Authenticator:
    """The authentication of one connection."""

    def __init__(self, listener: SaslListener) -> None:
        self.listener = listener
        self.principal: Principal | None = None
        """The authenticated principal, or None before the first authentication."""
        self.is_token_authenticated = False
        """Whether the client has logged in with a delegation token."""
        self.state = State.INITIAL
        self._is_raw = False  # whether tokens have no request header
        self._name = ""  # of the mechanism
        self._mechanism: Mechanism | None = None  # None before and after an exchange of tokens
        self._session_ends_ms: int | None = None
        self._reauthenticated_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be served without asking `admit`: the client is authenticated, and may be so."""
        ends_ms = self._session_ends_ms
        return self.state is State.COMPLETE and (ends_ms is None or self.listener.clock.now_ms() <= ends_ms)

    @property
    def _delays_close(self) -> bool:
        return self.listener.rules.delays_close_before_handshake

    @property
    def is_complete(self) -> bool:
        """Whether the client is authenticated, although its session may have expired."""
        return self.state is State.COMPLETE

    @property
    def has_failed(self) -> bool:
        """Whether the connection is about to be closed."""
        return self.state is State.FAILED

    @property
    def takes_tokens(self) -> bool:
        return self.state is State.AUTHENTICATE

    @property
    def takes_raw_tokens(self) -> bool:
        """Whether the next frame is a token without a request header."""
        return self._is_raw and self.state is State.AUTHENTICATE

    @property
    def is_reauthenticating(self) -> bool:
        return self.principal is not None

    def check_size(self, size: int) -> None:
        """Check the size of a frame of an exchange. Raises Refused."""
        if self.state is not State.COMPLETE and not 0 <= size <= self.listener.max_receive_bytes:
            raise self._refused(
                f"a frame of {size} bytes during authentication; sasl.server.max.receive.size is "
                f"{self.listener.max_receive_bytes}",
                is_delayed=True,
            )

    def admit(self, frame: bytes) -> None:
        """Check whether the client may send this request now. Raises Refused and IllegalRequest."""
        if self.state is State.OTHER_MECHANISM:
            raise self._refused("it asked to re-authenticate with another mechanism", is_delayed=True)
        try:
            header, _ = RequestHeader.decode(frame)
        except DecodeError as problem:
            is_first = self.state is State.INITIAL
            refused = self._refused(str(problem), is_delayed=is_first and self._delays_close)
            refused.is_request = False
            raise refused from None
        api = header.api
        if self.state is State.COMPLETE:
            if api is not Api.SASL_HANDSHAKE or not self._may_reauthenticate():
                raise self._refused(f"{api} after the session expired", is_delayed=False)
        elif self.state is State.AUTHENTICATE:
            if api is not Api.SASL_AUTHENTICATE:
                self.state = State.FAILED
                raise IllegalRequest(f"Unexpected Kafka request of type {api.name} during SASL authentication.")
        else:
            if self.state is State.INITIAL:
                self.state = State.VERSIONS_OR_HANDSHAKE
            if api is Api.API_VERSIONS:
                if self.state is State.HANDSHAKE:
                    raise self._refused("a second ApiVersions during authentication", is_delayed=False)
            elif api is not Api.SASL_HANDSHAKE:
                raise self._refused(f"{api} before the client has authenticated", is_delayed=self._delays_close)

    def versions_answered(self) -> None:
        """ApiVersions was answered without an error."""
        if self.state is State.VERSIONS_OR_HANDSHAKE:
            self.state = State.HANDSHAKE

    def handshake(self, mechanism: str, version: int) -> bool:
        """Choose the mechanism. Return whether it is enabled; if it is not, the caller sends a delayed response.

        Raises Refused.
        """
        if mechanism not in self.listener.mechanisms:
            if self.is_reauthenticating:  # SocketServer closes the connection after any exception
                raise self._refused(f"Unsupported SASL mechanism {mechanism[:100]!r}", is_delayed=False)
            self.state = State.FAILED
            return False
        if self.is_reauthenticating and mechanism != self._name:
            self.state = State.OTHER_MECHANISM
            return True
        self._name = mechanism
        self._mechanism = self.listener.begin(mechanism)
        self._is_raw = version == 0
        self.state = State.AUTHENTICATE
        return True

    def begins_reauthentication(self) -> bool:
        """Return whether SaslHandshake begins a re-authentication. If not, it is an error (ILLEGAL_SASL_STATE)."""
        if self.state is not State.COMPLETE or not self._may_reauthenticate():
            return False
        self._reauthenticated_ms = self.listener.clock.now_ms()
        return True

    def _may_reauthenticate(self) -> bool:
        if self._session_ends_ms is None:
            return False
        last_ms, now_ms = self._reauthenticated_ms, self.listener.clock.now_ms()
        return last_ms is None or now_ms - last_ms >= MIN_REAUTHENTICATION_INTERVAL_MS

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
            self._end_exchange(State.FAILED)
            if self._is_raw:
                raise self._refused(str(failed), is_delayed=True) from None
            raise
        except InvalidCredentials as problem:
            self._end_exchange(State.FAILED)
            if self._is_raw:  # a SaslException is not an AuthenticationException
                raise self._refused(str(problem), is_delayed=False) from None
            what = "re-authentication" if self.is_reauthenticating else "authentication"
            text = f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self._name}"
            raise AuthenticationFailed(text) from problem
        except BrokenExchange as problem:
            raise self._refused(str(problem), is_delayed=False) from None
        return Step(answer, 0)

    def _complete(self, mechanism: Mechanism, principal: Principal) -> int:
        if self.principal not in (None, principal):
            before = self.principal
            assert before is not None
            raise AuthenticationFailed(
                f"Cannot change principals during re-authentication from {before.type}.{before.name}: "
                f"{principal.type}.{principal.name}"
            )
        lifetime_ms = self.listener.lifetime_ms(self._name, mechanism.expires_ms)
        self._session_ends_ms = None if lifetime_ms is None else self.listener.clock.now_ms() + lifetime_ms
        self.principal = principal
        self.is_token_authenticated = mechanism.is_token_authenticated
        self._end_exchange(State.COMPLETE)
        return lifetime_ms or 0

    def identify(self, context: Identified) -> None:
        """Let the requests of the connection have the authenticated principal."""
        if self.principal is not None:
            context.principal = self.principal
            context.is_token_authenticated = self.is_token_authenticated

    def fail(self, response: T, reason: str, client: Client) -> Delayed[T]:
        """Send a response and close the connection, both after the delay."""
        problem = self._refused(reason, is_delayed=True)

        def expired() -> T:
            client.close(str(problem))
            return response

        return self.listener.delay(expired)

    def _end_exchange(self, state: State) -> None:
        self.state = state
        self._mechanism = None

    def _refused(self, reason: str, *, is_delayed: bool) -> Refused:
        self._end_exchange(State.FAILED)
        what = "re-authentication" if self.is_reauthenticating else "authentication"
        return Refused(f"{what} failed: {reason.removeprefix('Authentication failed: ')}", is_delayed=is_delayed)
