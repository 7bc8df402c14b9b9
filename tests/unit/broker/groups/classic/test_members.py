"""The members of a classic group."""

from kafkalet.broker.groups.classic.members import ClassicMember, ClassicMembers
from kafkalet.broker.java_order import place_in_java, place_in_scala
from kafkalet.clock import ManualClock
from kafkalet.tasks.delayed import Delayed


def member_with(**protocols: bytes) -> ClassicMember:
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


def test_member_votes_for_its_first_candidate() -> None:
    assert member_with(a=b"", b=b"", c=b"").vote({"c", "b"}) == "b"


def test_protocols_match_only_in_same_order_with_same_metadata() -> None:
    known = member_with(a=b"1", b=b"2")
    assert known.matches({"a": b"1", "b": b"2"})
    assert not known.matches({"b": b"2", "a": b"1"})
    assert not known.matches({"a": b"1", "b": b"3"})
    assert not known.matches({"a": b"1"})


def test_member_waiting_for_response_is_awaiting_response_unless_new() -> None:
    assert not member_with(a=b"").is_awaiting_response
    joining, syncing = member_with(a=b""), member_with(a=b"")
    joining.awaiting_join, syncing.awaiting_sync = Delayed(), Delayed()
    assert (joining.is_awaiting_response, syncing.is_awaiting_response) == (True, True)
    joining.is_new = True
    assert not joining.is_awaiting_response


def test_cancelled_session_does_not_expire() -> None:
    clock, expired = ManualClock(), []
    timed = member_with(a=b"")
    timed.session = clock.call_later(10, lambda: expired.append(1))
    timed.end_session()
    clock.advance(milliseconds=20)
    assert expired == []
    assert timed.session is None


def test_static_members_have_instance_id() -> None:
    static = member_with(a=b"")
    assert not static.is_static
    static.instance_id = "i"
    assert static.is_static


def member(
    member_id: str, *protocols: str, instance_id: str | None = None, rebalance_timeout_ms: int = 1
) -> ClassicMember:
    return ClassicMember(
        member_id,
        instance_id,
        "client",
        "/127.0.0.1",
        session_timeout_ms=1,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocol_type="consumer",
        protocols=dict.fromkeys(protocols or ("range",), b""),
    )


def members(*those: ClassicMember) -> ClassicMembers:
    group = ClassicMembers()
    for one in those:
        group.add(one)
    return group


def ids(group: ClassicMembers) -> list[str]:
    return [one.member_id for one in group]


def test_first_member_leads_and_sets_protocol_type() -> None:
    group = members(member("a"), member("b"))
    assert (group.leader_id, group.protocol_type) == ("a", "consumer")
    assert ids(group) == ["a", "b"]


def test_next_member_leads_after_leader_is_removed() -> None:
    group = members(member("a"), member("b"), member("c"))
    leaders: list[str | None] = []
    for gone in ("a", "c", "b"):
        group.remove(gone)
        leaders.append(group.leader_id)
    assert leaders == ["b", "b", None]
    assert len(group) == 0


def test_removing_unknown_member_raises_no_error() -> None:
    group = members(member("a"))
    group.remove("z")
    assert ids(group) == ["a"]


def test_joined_member_replaces_leader_that_has_not_joined() -> None:
    group = members(member("a"), member("b"), member("c"))
    assert not group.elect_joined_leader()
    group["c"].awaiting_join = Delayed()
    assert group.elect_joined_leader()
    assert group.leader_id == "c"
    assert not members().elect_joined_leader()


def test_static_members_are_found_by_instance_id() -> None:
    group = members(member("a", instance_id="i"))
    assert (group.static_id("i"), group.static_id("j"), group.static_id(None)) == ("a", None, None)
    group.remove("a")
    assert group.static_id("i") is None


def test_replaced_static_member_keeps_its_state() -> None:
    group = members(member("a", instance_id="i"), member("b"))
    group["a"].assignment = b"mine"
    new = group.replace_static("a", "a2")
    assert (new.member_id, new.assignment, group.leader_id, group.static_id("i")) == ("a2", b"mine", "a2", "a2")
    assert ids(group) == ["b", "a2"]
    assert "a" not in group


def test_all_have_joined_when_no_reserved_id_is_left() -> None:
    group = members(member("a"))
    assert not group.all_joined()
    group["a"].awaiting_join = Delayed()
    assert (group.all_joined(), group.awaiting_join()) == (True, 1)
    group.add_pending("b", ManualClock().call_later(1, lambda: None))
    assert group.is_pending("b")
    assert not group.all_joined()
    group.remove("b")
    assert group.all_joined()


def test_reserved_member_id_that_joins_does_not_expire() -> None:
    clock, forgotten = ManualClock(), []
    group = members()
    group.add_pending("a", clock.call_later(5, lambda: forgotten.append("a")))
    group.add(member("a"))
    clock.advance(milliseconds=10)
    assert (group.is_pending("a"), forgotten) == (False, [])


def test_clear_cancels_all_timers() -> None:
    clock, rung = ManualClock(), []
    group = members(member("a"))
    group["a"].session = clock.call_later(5, lambda: rung.append("session"))
    group.add_pending("b", clock.call_later(5, lambda: rung.append("expected")))
    group.clear()
    clock.advance(milliseconds=10)
    assert rung == []


def test_rebalance_timeout_is_longest_of_members() -> None:
    assert members(member("a", rebalance_timeout_ms=5), member("b", rebalance_timeout_ms=9)).rebalance_timeout_ms == 9
    assert members().rebalance_timeout_ms == 0


def test_group_supports_protocols_common_to_all_members() -> None:
    group = members(member("a", "x", "y"), member("b", "y", "z"))
    assert group.supports(["y"])
    assert group.supports(["q", "y"])
    assert not group.supports(["x", "z"])
    group.change_protocols(group["b"], {"x": b""})
    assert group.supports(["x"])
    assert not group.supports(["y"])
    group.remove("b")
    assert group.supports(["y"])


def test_most_votes_win_among_common_protocols() -> None:
    group = members(member("a", "x", "y", "z"), member("b", "z", "y"), member("c", "q", "z", "y"))
    assert group.select_protocol(place_in_java) == "z"


def test_ties_are_broken_as_in_hash_tables_of_kafka() -> None:
    """Observed with Kafka 4.4 (Java) and 3.9 (Scala)."""
    for one, other, in_java, in_scala in (
        ("range", "roundrobin", "range", "roundrobin"),
        ("sticky", "range", "sticky", "range"),
        ("cooperative-sticky", "range", "range", "cooperative-sticky"),
        ("uniform", "sticky", "uniform", "uniform"),
        ("zz", "y", "zz", "y"),
    ):
        group = members(member("a", one, other), member("b", other, one))
        assert (group.select_protocol(place_in_java), group.select_protocol(place_in_scala)) == (in_java, in_scala)
