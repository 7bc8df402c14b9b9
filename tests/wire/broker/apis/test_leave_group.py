"""LeaveGroup: one member before v3, several members since."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Wire, on_the_wire

from .test_join_group import body as join_body


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        yield wire


@pytest.mark.parametrize("version", range(3))
def test_error_of_the_member_is_the_top_level_error_before_v3(wire: Wire, version: int) -> None:
    group_id = f"v{version}"
    member = wire.ask("JoinGroup", 3, join_body(group_id))["member_id"]
    asked = {"group_id": group_id, "member_id": member}
    assert wire.ask("LeaveGroup", version, asked)["error_code"] == Code.NONE
    assert wire.ask("LeaveGroup", version, asked)["error_code"] == Code.UNKNOWN_MEMBER_ID
    assert wire.ask("LeaveGroup", version, asked | {"group_id": ""})["error_code"] == Code.INVALID_GROUP_ID
    assert wire.ask("LeaveGroup", version, asked | {"group_id": "unknown"})["error_code"] == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3, 6))
def test_each_member_has_an_error_since_v3(wire: Wire, version: int) -> None:
    group_id = f"v{version}"
    member = wire.ask("JoinGroup", 3, join_body(group_id))["member_id"]
    static = {"member_id": "", "group_instance_id": "i"}
    asked = {"group_id": group_id, "members": [{"member_id": member}, static]}
    answer = wire.ask("LeaveGroup", version, asked)
    assert answer["error_code"] == Code.NONE
    assert [(left["member_id"], left["group_instance_id"], left["error_code"]) for left in answer["members"]] == [
        (member, None, Code.NONE),
        ("", "i", Code.UNKNOWN_MEMBER_ID),
    ]


@pytest.mark.parametrize("version", range(3, 6))
def test_leaving_a_missing_group_returns_unknown_member_id(wire: Wire, version: int) -> None:
    answer = wire.ask("LeaveGroup", version, {"group_id": "unknown", "members": [{"member_id": "m"}]})
    assert answer["error_code"] == Code.NONE
    assert [left["error_code"] for left in answer["members"]] == [Code.UNKNOWN_MEMBER_ID]
    answer = wire.ask("LeaveGroup", version, {"group_id": "", "members": [{"member_id": "m"}]})
    assert (answer["error_code"], answer["members"]) == (Code.INVALID_GROUP_ID, [])
