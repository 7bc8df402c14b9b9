"""The states of an authentication."""

from typing import Any

import pytest

from kafkalet.broker.security.principal import ANONYMOUS, Principal
from kafkalet.broker.security.sasl.authenticator import NEXT, Authenticator, Event, IllegalRequest, Refused, State
from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import RequestHeader
from kafkalet.tasks.delayed import Delayed

from .sasl_settings import ALL, PLAIN, sasl_listener

ALICE, BOB = b"\0alice\0alice-secret", b"\0bob\0bob-secret"


def header(api: Api) -> bytes:
    return RequestHeader(api, 0, 1, "tester").encode()


def authenticator(
    values: dict[str, str] = PLAIN, clock: ManualClock | None = None, release: str = "newest"
) -> Authenticator:
    return Authenticator(sasl_listener(values, clock, release), StubContext())


class StubContext:
    """A stub of the context, with a client that may be closed."""

    def __init__(self) -> None:
        self.client: Any = self
        self.principal = ANONYMOUS
        self.is_token_authenticated = False


def begins_again(made: Authenticator, mechanism: str = "PLAIN") -> bool:
    """Send another SaslHandshake. Return whether it is legal."""
    if made.takes_handshake:
        made.handshake(mechanism, 1)
        return True
    return False


def logged_in(values: dict[str, str] = PLAIN, clock: ManualClock | None = None) -> Authenticator:
    made = authenticator(values, clock)
    made.admit(header(Api.SASL_HANDSHAKE))
    made.handshake("PLAIN", 1)
    made.admit(header(Api.SASL_AUTHENTICATE))
    made.evaluate(ALICE)
    return made


def asked(made: Authenticator) -> Authenticator:
    """Admit the first request."""
    made.admit(header(Api.SASL_HANDSHAKE))
    return made


def test_handshake_and_token_authenticate() -> None:
    made = authenticator()
    made.admit(header(Api.API_VERSIONS))
    made.versions_answered()
    made.admit(header(Api.SASL_HANDSHAKE))
    made.handshake("PLAIN", 1)
    assert not made.is_open
    made.admit(header(Api.SASL_AUTHENTICATE))
    assert made.evaluate(ALICE) == (b"", 0)
    assert made.is_open
    assert made._context.principal == Principal("User", "alice")


def test_mechanism_that_is_not_enabled_is_refused_after_the_delay() -> None:
    made = asked(authenticator())
    assert isinstance(made.handshake("SCRAM-SHA-256", 1), Delayed)
    assert made.has_failed


@pytest.mark.parametrize(
    ("before", "frame", "is_delayed"),
    [
        ([], b"", True),
        ([], b"\x60\x01", True),
        ([], header(Api.METADATA), True),
        ([], header(Api.SASL_AUTHENTICATE), True),
        ([Api.API_VERSIONS], b"\x60\x01", False),
        ([Api.API_VERSIONS], header(Api.API_VERSIONS), False),
        ([Api.API_VERSIONS], header(Api.METADATA), True),
        ([Api.SASL_HANDSHAKE], b"\x60\x01", False),
    ],
)
def test_illegal_frame_is_refused_with_the_delay_of_kafka(before: list[Api], frame: bytes, is_delayed: bool) -> None:
    made = authenticator(release="3.9")
    for api in before:
        made.admit(header(api))
        if api is Api.API_VERSIONS:
            made.versions_answered()
        else:
            made.handshake("PLAIN", 1)
    with pytest.raises(Refused) as caught:
        made.admit(frame)
    assert caught.value.is_delayed is is_delayed
    assert made.has_failed


@pytest.mark.parametrize("frame", [b"", header(Api.METADATA)])
def test_illegal_first_frame_is_refused_without_delay_since_4_0(frame: bytes) -> None:
    with pytest.raises(Refused) as caught:
        authenticator(release="4.0").admit(frame)
    assert not caught.value.is_delayed


def test_other_request_after_handshake_is_illegal() -> None:
    made = asked(authenticator())
    made.handshake("PLAIN", 1)
    with pytest.raises(IllegalRequest, match=r"Unexpected Kafka request of type METADATA during SASL authentication\."):
        made.admit(header(Api.METADATA))


@pytest.mark.parametrize("size", [-1, 524_289])
def test_frame_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(Refused, match=r"sasl\.server\.max\.receive\.size is 524288"):
        authenticator().check_size(size)


def test_wrong_token_fails() -> None:
    made = asked(authenticator())
    made.handshake("PLAIN", 1)
    with pytest.raises(AuthenticationFailed, match="Invalid username or password"):
        made.evaluate(BOB + b"x")
    assert made.has_failed


def test_wrong_scram_credentials_fail_with_a_fixed_message_and_a_logged_reason() -> None:
    made = asked(authenticator(ALL))
    made.handshake("SCRAM-SHA-256", 1)
    with pytest.raises(AuthenticationFailed) as caught:
        made.evaluate(b"n,,n=nobody,r=x")
    assert str(caught.value) == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    assert "has no credential" in str(caught.value.__cause__)


@pytest.mark.parametrize(("mechanism", "token", "is_delayed"), [("PLAIN", b"x", True), ("SCRAM-SHA-256", b"x", False)])
def test_wrong_raw_token_is_refused_without_a_response(mechanism: str, token: bytes, is_delayed: bool) -> None:
    made = asked(authenticator(ALL))
    made.handshake(mechanism, 0)
    with pytest.raises(Refused) as caught:
        made.receive(token)
    assert caught.value.is_delayed is is_delayed
    assert not caught.value.is_request
    assert made.has_failed


# Sessions


def test_session_without_limit_cannot_be_renewed() -> None:
    assert not logged_in().takes_handshake


LIMITED = PLAIN | {"connections.max.reauth.ms": "5000"}


def test_session_expires_after_its_lifetime() -> None:
    clock = ManualClock()
    made = logged_in(LIMITED, clock)
    clock.advance(milliseconds=5000)
    assert made.is_open
    clock.advance(milliseconds=1)
    assert not made.is_open
    with pytest.raises(Refused, match="Metadata after the session expired"):
        made.admit(header(Api.METADATA))


def test_expired_session_can_be_renewed() -> None:
    clock = ManualClock()
    made = logged_in(LIMITED, clock)
    clock.advance(milliseconds=60_000)
    made.admit(header(Api.SASL_HANDSHAKE))
    assert begins_again(made)
    assert made.evaluate(ALICE).session_lifetime_ms == 5000
    assert made.is_open


def test_session_can_be_renewed_once_a_second() -> None:
    clock = ManualClock()
    made = logged_in(LIMITED, clock)
    for wait_ms, is_begun in ((0, True), (999, False), (1, True)):
        clock.advance(milliseconds=wait_ms)
        assert begins_again(made) is is_begun
        if is_begun:
            made.evaluate(ALICE)


def test_principal_must_not_change() -> None:
    made = logged_in(LIMITED)
    made.handshake("PLAIN", 1)
    with pytest.raises(AuthenticationFailed) as caught:
        made.evaluate(BOB)
    assert str(caught.value) == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert made._context.principal == Principal("User", "alice")
    assert made.has_failed


def test_mechanism_must_not_change() -> None:
    made = logged_in(ALL | {"connections.max.reauth.ms": "5000"})
    made.handshake("SCRAM-SHA-256", 1)
    with pytest.raises(Refused) as caught:
        made.admit(header(Api.SASL_AUTHENTICATE))
    assert caught.value.is_delayed


def test_mechanism_that_is_not_enabled_ends_a_session_immediately() -> None:
    made = logged_in(LIMITED)
    with pytest.raises(Refused) as caught:
        made.handshake("NOPE", 1)
    assert not caught.value.is_delayed


@pytest.mark.parametrize(("state", "event"), [(state, event) for state in State for event in Event])
def test_only_transitions_in_the_table_are_possible(state: State, event: Event) -> None:
    made = authenticator()
    made._state = state
    if (state, event) in NEXT:
        made._move(event)
        assert made._state is NEXT[state, event]
    else:
        with pytest.raises(AssertionError, match=f"{event.name} in state {state.name}"):
            made._move(event)


def test_every_state_can_be_reached() -> None:
    assert {State.INITIAL, *NEXT.values()} == set(State)
