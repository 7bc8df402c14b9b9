"""`kafkalet.broker.groups.classic_member`: what a member knows, and when it counts as alive."""

from kafkalet.broker.groups.classic.members import ClassicMember
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import ManualClock


def member(**protocols: bytes) -> ClassicMember:
    return ClassicMember(
        "m-1",
        None,
        "m",
        "/127.0.0.1",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocol_type="consumer",
        protocols=protocols,
    )


def test_it_votes_for_the_candidate_it_names_first() -> None:
    assert member(a=b"", b=b"", c=b"").vote({"c", "b"}) == "b"


def test_protocols_match_in_the_same_order_with_the_same_metadata() -> None:
    known = member(a=b"1", b=b"2")
    assert known.matches({"a": b"1", "b": b"2"})
    assert not known.matches({"b": b"2", "a": b"1"})
    assert not known.matches({"a": b"1", "b": b"3"})
    assert not known.matches({"a": b"1"})


def test_who_waits_for_an_answer_is_alive_unless_it_is_new() -> None:
    assert not member(a=b"").is_alive
    joining, syncing = member(a=b""), member(a=b"")
    joining.awaiting_join, syncing.awaiting_sync = Delayed(), Delayed()
    assert (joining.is_alive, syncing.is_alive) == (True, True)
    joining.is_new = True
    assert not joining.is_alive


def test_a_session_that_was_ended_does_not_expire() -> None:
    clock, expired = ManualClock(), []
    timed = member(a=b"")
    timed.session = clock.call_later(10, lambda: expired.append(1))
    timed.end_session()
    clock.advance(20)
    assert expired == []
    assert timed.session is None


def test_static_members_have_an_instance_id() -> None:
    static = member(a=b"")
    assert not static.is_static
    static.instance_id = "i"
    assert static.is_static
