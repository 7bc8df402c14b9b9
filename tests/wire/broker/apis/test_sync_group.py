"""SyncGroup: differences between versions, and requests that are refused before the group is looked up."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, on_the_wire

from .test_join_group import body as join_body


def body(group_id: str, version: int, generation: int = 1, member_id: str = "m", **more: object) -> Plain:
    said = {"group_id": group_id, "generation_id": generation, "member_id": member_id, "assignments": []}
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return {**said, **protocol, **more}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        yield wire


@pytest.mark.parametrize("version", range(6))
def test_leader_receives_its_own_assignment(wire: Wire, version: int) -> None:
    group_id = f"v{version}"
    member = wire.ask("JoinGroup", 3, join_body(group_id))["member_id"]
    assignments = [{"member_id": member, "assignment": "mine"}]
    answer = wire.ask("SyncGroup", version, body(group_id, version, member_id=member, assignments=assignments))
    assert (answer["error_code"], answer["assignment"]) == (Code.NONE, "mine")
    assert answer.get("protocol_name") == ("range" if version >= 5 else None)


@pytest.mark.parametrize("version", range(6))
def test_error_has_no_assignment(wire: Wire, version: int) -> None:
    for group_id, code in (("", Code.INVALID_GROUP_ID), ("unknown", Code.UNKNOWN_MEMBER_ID)):
        answer = wire.ask("SyncGroup", version, body(group_id, version))
        assert (answer["error_code"], answer["assignment"]) == (code, "")


@pytest.mark.parametrize("field", ["protocol_type", "protocol_name"])
def test_protocol_is_required_since_v5(wire: Wire, field: str) -> None:
    answer = wire.ask("SyncGroup", 5, body("", 5) | {field: None})
    assert answer["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL


def test_last_assignment_of_a_duplicate_member_counts(wire: Wire) -> None:
    member = wire.ask("JoinGroup", 3, join_body("twice"))["member_id"]
    assignments = [{"member_id": member, "assignment": given} for given in ("first", "last")]
    answer = wire.ask("SyncGroup", 3, body("twice", 3, member_id=member, assignments=assignments))
    assert answer["assignment"] == "last"
