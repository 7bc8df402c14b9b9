"""DescribeGroups: groups in different states, and missing groups."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, on_the_wire

from .test_join_group import body as join_body

NOT_ASKED = -2147483648


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield joined(wire)


def joined(wire: Wire) -> Wire:
    """Create a stable group, "g"."""
    wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    member = wire.ask("JoinGroup", 3, join_body())["member_id"]
    assignments = [{"member_id": member, "assignment": "a"}]
    asked = {"group_id": "g", "generation_id": 1, "member_id": member, "assignments": assignments}
    assert wire.ask("SyncGroup", 3, asked)["error_code"] == Code.NONE
    return wire


def described(wire: Wire, version: int, group_id: str = "g", **more: object) -> Plain:
    [group] = wire.ask("DescribeGroups", version, {"groups": [group_id], **more})["groups"]
    described: Plain = group
    return described


@pytest.mark.parametrize("version", range(7))
def test_stable_group_is_described_with_its_members(wire: Wire, version: int) -> None:
    group = described(wire, version)
    assert (group["error_code"], group["group_state"]) == (Code.NONE, "Stable")
    assert (group["protocol_type"], group["protocol_data"]) == ("consumer", "range")
    assert group.get("authorized_operations", NOT_ASKED) == NOT_ASKED
    [member] = group["members"]
    assert (member["client_id"], member["client_host"]) == ("conformance", "/127.0.0.1")
    assert (member["member_metadata"], member["member_assignment"]) == ("m", "a")


@pytest.mark.parametrize("version", range(6))
def test_missing_group_is_dead(wire: Wire, version: int) -> None:
    group = described(wire, version, "unknown")
    assert (group["error_code"], group["group_state"], group["members"]) == (Code.NONE, "Dead", [])


def test_missing_group_returns_group_id_not_found_since_v6(wire: Wire) -> None:
    group = described(wire, 6, "unknown", include_authorized_operations=True)
    assert (group["error_code"], group["error_message"]) == (Code.GROUP_ID_NOT_FOUND, "Group unknown not found.")
    assert (group["group_state"], group["authorized_operations"]) == ("Dead", NOT_ASKED)


@pytest.mark.parametrize(("release", "operations"), [("2.8", 328), ("3.9", 328), ("4.0", 3400), ("newest", 3400)])
def test_authorized_operations_depend_on_the_release(release: str, operations: int) -> None:
    with on_the_wire(version=release) as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        assert described(wire, 3, include_authorized_operations=True)["authorized_operations"] == operations


@pytest.mark.parametrize(("release", "shown"), [("3.9", ""), ("4.0", "a")])
def test_unstable_group_hides_assignments_before_4_0(release: str, shown: str) -> None:
    with on_the_wire(version=release) as wire:
        joined(wire)
        member = described(wire, 5)["members"][0]["member_id"]
        wire.ask("JoinGroup", 3, join_body(member_id=member))
        group = described(wire, 5)
        assert (group["group_state"], group["protocol_data"]) == ("CompletingRebalance", "")
        assert [(one["member_metadata"], one["member_assignment"]) for one in group["members"]] == [("", shown)]


def test_other_broker_returns_not_coordinator() -> None:
    with on_the_wire(3) as wire:
        coordinator = wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})["node_id"]
        result = wire.ask("DescribeGroups", 5, {"groups": ["g"]}, coordinator % 3 + 1)["groups"][0]
    assert (result["error_code"], result["group_state"]) == (Code.NOT_COORDINATOR, "")


@pytest.mark.parametrize("api", ["DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe"])
def test_groups_are_ordered_by_partition_of_the_offsets_topic(api: str) -> None:
    """The order is that in which Kafka 4.4.0 returned them."""
    asked = [f"grp-{number}" for number in (3, 1, 21, 9, 4, 17)]
    field = "groups" if api == "DescribeGroups" else "group_ids"
    with on_the_wire(version="4.4") as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        groups = wire.ask(api, 1, {field: asked})["groups"]
        assert [group["group_id"] for group in groups] == ["grp-3", "grp-4", "grp-1", "grp-21", "grp-9", "grp-17"]


def test_groups_are_in_the_order_of_the_request_before_4_0() -> None:
    asked = [f"grp-{number}" for number in (3, 1, 21, 9, 4, 17)]
    with on_the_wire(version="3.9") as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        assert [group["group_id"] for group in wire.ask("DescribeGroups", 1, {"groups": asked})["groups"]] == asked
