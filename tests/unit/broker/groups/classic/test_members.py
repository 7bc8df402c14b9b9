"""The members of a classic group, and each of them."""

from kafkalet.broker.groups.classic.members import ClassicMember, ClassicMembers, place_in_java, place_in_scala
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import ManualClock


def knowing(**protocols: bytes) -> ClassicMember:
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
    assert knowing(a=b"", b=b"", c=b"").vote({"c", "b"}) == "b"


def test_protocols_match_in_the_same_order_with_the_same_metadata() -> None:
    known = knowing(a=b"1", b=b"2")
    assert known.matches({"a": b"1", "b": b"2"})
    assert not known.matches({"b": b"2", "a": b"1"})
    assert not known.matches({"a": b"1", "b": b"3"})
    assert not known.matches({"a": b"1"})


def test_who_waits_for_an_answer_is_alive_unless_it_is_new() -> None:
    assert not knowing(a=b"").is_awaiting_response
    joining, syncing = knowing(a=b""), knowing(a=b"")
    joining.awaiting_join, syncing.awaiting_sync = Delayed(), Delayed()
    assert (joining.is_awaiting_response, syncing.is_awaiting_response) == (True, True)
    joining.is_new = True
    assert not joining.is_awaiting_response


def test_a_session_that_was_ended_does_not_expire() -> None:
    clock, expired = ManualClock(), []
    timed = knowing(a=b"")
    timed.session = clock.call_later(10, lambda: expired.append(1))
    timed.end_session()
    clock.advance(20)
    assert expired == []
    assert timed.session is None


def test_static_members_have_an_instance_id() -> None:
    static = knowing(a=b"")
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


def test_the_first_leads_and_gives_the_group_its_type() -> None:
    group = members(member("a"), member("b"))
    assert (group.leader_id, group.protocol_type) == ("a", "consumer")
    assert ids(group) == ["a", "b"]


def test_where_the_leader_goes_the_next_in_line_leads() -> None:
    group = members(member("a"), member("b"), member("c"))
    leaders: list[str | None] = []
    for gone in ("a", "c", "b"):
        group.remove(gone)
        leaders.append(group.leader_id)
    assert leaders == ["b", "b", None]
    assert len(group) == 0


def test_removing_nobody_is_no_error() -> None:
    group = members(member("a"))
    group.remove("z")
    assert ids(group) == ["a"]


def test_a_member_that_joined_takes_the_lead_from_one_that_did_not() -> None:
    group = members(member("a"), member("b"), member("c"))
    assert not group.elect_joined_leader()
    group["c"].awaiting_join = Delayed()
    assert group.elect_joined_leader()
    assert group.leader_id == "c"
    assert not members().elect_joined_leader()


def test_static_members_are_found_by_their_instance_id() -> None:
    group = members(member("a", instance_id="i"))
    assert (group.static_id("i"), group.static_id("j"), group.static_id(None)) == ("a", None, None)
    group.remove("a")
    assert group.static_id("i") is None


def test_a_static_member_keeps_what_it_had_under_its_new_id() -> None:
    group = members(member("a", instance_id="i"), member("b"))
    group["a"].assignment = b"mine"
    new = group.replace_static("a", "a2")
    assert (new.member_id, new.assignment, group.leader_id, group.static_id("i")) == ("a2", b"mine", "a2", "a2")
    assert ids(group) == ["b", "a2"]
    assert "a" not in group


def test_all_have_joined_when_nobody_is_expected_any_more() -> None:
    group = members(member("a"))
    assert not group.all_joined()
    group["a"].awaiting_join = Delayed()
    assert (group.all_joined(), group.awaiting_join()) == (True, 1)
    group.add_pending("b", ManualClock().call_later(1, lambda: None))
    assert group.is_pending("b")
    assert not group.all_joined()
    group.remove("b")
    assert group.all_joined()


def test_an_expected_member_that_comes_is_not_forgotten_later() -> None:
    clock, forgotten = ManualClock(), []
    group = members()
    group.add_pending("a", clock.call_later(5, lambda: forgotten.append("a")))
    group.add(member("a"))
    clock.advance(10)
    assert (group.is_pending("a"), forgotten) == (False, [])


def test_clearing_cancels_all_timers() -> None:
    clock, rung = ManualClock(), []
    group = members(member("a"))
    group["a"].session = clock.call_later(5, lambda: rung.append("session"))
    group.add_pending("b", clock.call_later(5, lambda: rung.append("expected")))
    group.clear()
    clock.advance(10)
    assert rung == []


def test_the_rebalance_timeout_is_the_longest() -> None:
    assert members(member("a", rebalance_timeout_ms=5), member("b", rebalance_timeout_ms=9)).rebalance_timeout_ms == 9
    assert members().rebalance_timeout_ms == 0


def test_a_group_supports_what_all_its_members_know() -> None:
    group = members(member("a", "x", "y"), member("b", "y", "z"))
    assert group.supports(["y"])
    assert group.supports(["q", "y"])
    assert not group.supports(["x", "z"])
    group.change_protocols(group["b"], {"x": b""})
    assert group.supports(["x"])
    assert not group.supports(["y"])
    group.remove("b")
    assert group.supports(["y"])


def test_most_votes_win_among_what_all_know() -> None:
    group = members(member("a", "x", "y", "z"), member("b", "z", "y"), member("c", "q", "z", "y"))
    assert group.select_protocol(place_in_java) == "z"


def test_ties_are_broken_as_in_the_hash_tables_of_kafka() -> None:
    """Seen with Kafka 4.4 (Java) and 3.9 (Scala)."""
    for one, other, in_java, in_scala in (
        ("range", "roundrobin", "range", "roundrobin"),
        ("sticky", "range", "sticky", "range"),
        ("cooperative-sticky", "range", "range", "cooperative-sticky"),
        ("uniform", "sticky", "uniform", "uniform"),
        ("zz", "y", "zz", "y"),
    ):
        group = members(member("a", one, other), member("b", other, one))
        assert (group.select_protocol(place_in_java), group.select_protocol(place_in_scala)) == (in_java, in_scala)
