"""JoinGroup: differences between versions, and requests that are refused before the group is looked up."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, on_the_wire


def body(group_id: str = "g", member_id: str = "", **more: object) -> Plain:
    protocols = [{"name": "range", "metadata": "m"}]
    timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000}
    said = {**timeouts, "protocol_type": "consumer", "protocols": protocols}
    return {"group_id": group_id, "member_id": member_id, **said, **more}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        yield wire


@pytest.mark.parametrize("version", range(10))
def test_single_member_is_the_leader(wire: Wire, version: int) -> None:
    group_id = f"v{version}"
    answer = wire.ask("JoinGroup", version, body(group_id))
    if version >= 4:
        assert answer["error_code"] == Code.MEMBER_ID_REQUIRED
        answer = wire.ask("JoinGroup", version, body(group_id, answer["member_id"]))
    assert (answer["error_code"], answer["generation_id"]) == (Code.NONE, 1)
    assert answer["leader"] == answer["member_id"]
    assert answer["protocol_name"] == "range"
    assert answer.get("protocol_type") == ("consumer" if version >= 7 else None)
    assert [member["metadata"] for member in answer["members"]] == ["m"]


@pytest.mark.parametrize(("version", "nothing"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_missing_protocol_is_empty_or_null_by_version(wire: Wire, version: int, nothing: str | None) -> None:
    answer = wire.ask("JoinGroup", version, body("", "m"))
    assert (answer["error_code"], answer["member_id"]) == (Code.INVALID_GROUP_ID, "m")
    assert (answer["protocol_name"], answer["leader"], answer["generation_id"]) == (nothing, "", -1)
    answer = wire.ask("JoinGroup", version, body("g", "unknown"))
    assert (answer["error_code"], answer["member_id"]) == (Code.UNKNOWN_MEMBER_ID, "unknown")
    assert answer["protocol_name"] == nothing


@pytest.mark.parametrize("session_timeout_ms", [-1, 0, 5999, 1_800_001])
def test_session_timeout_out_of_bounds_is_refused(wire: Wire, session_timeout_ms: int) -> None:
    answer = wire.ask("JoinGroup", 5, body(session_timeout_ms=session_timeout_ms))
    assert answer["error_code"] == Code.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("session_timeout_ms", [6000, 1_800_000])
def test_session_timeout_at_its_bounds_is_accepted(wire: Wire, session_timeout_ms: int) -> None:
    answer = wire.ask("JoinGroup", 5, body(session_timeout_ms=session_timeout_ms))
    assert answer["error_code"] == Code.MEMBER_ID_REQUIRED


def test_bounds_of_the_session_timeout_can_be_configured() -> None:
    bounds = {"group.min.session.timeout.ms": "10", "group.max.session.timeout.ms": "20"}
    with on_the_wire(config=bounds) as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        result = [wire.ask("JoinGroup", 5, body(session_timeout_ms=ms))["error_code"] for ms in (9, 10, 20, 21)]
    bad, fine = Code.INVALID_SESSION_TIMEOUT, Code.MEMBER_ID_REQUIRED
    assert result == [bad, fine, fine, bad]


def test_join_before_find_coordinator_returns_not_coordinator() -> None:
    with on_the_wire() as wire:
        assert wire.ask("JoinGroup", 5, body())["error_code"] == Code.NOT_COORDINATOR


def test_other_broker_returns_not_coordinator() -> None:
    with on_the_wire(3) as wire:
        coordinator = wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})["node_id"]
        result = {node: wire.ask("JoinGroup", 5, body(), node)["error_code"] for node in (1, 2, 3)}
    assert result == {
        node: Code.MEMBER_ID_REQUIRED if node == coordinator else Code.NOT_COORDINATOR for node in (1, 2, 3)
    }


def test_client_that_disconnects_while_joining_stays_a_member_until_its_session_expires(wire: Wire) -> None:
    leader = wire.ask("JoinGroup", 3, body("gone"))["member_id"]
    connection = wire.connection(name="gone")
    connection.send("JoinGroup", 3, body("gone"))
    wire.until(lambda: len(described(wire, "gone")) == 2)
    connection.close()
    answer = wire.ask("JoinGroup", 3, body("gone", leader))
    assert (answer["generation_id"], len(answer["members"])) == (2, 2)


def described(wire: Wire, group_id: str) -> list[str]:
    """Return the members of a group from the coordinator. Must be called in its event loop."""
    members = wire.cluster._server.brokers[1].coordinators.groups.shard_of(group_id).groups[group_id].members
    return [member.member_id for member in members]
