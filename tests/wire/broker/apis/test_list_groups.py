"""ListGroups: all groups, and filters by state and type."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, on_the_wire

from .test_delete_groups import commit_body
from .test_describe_groups import joined
from .test_join_group import body as join_body


def with_groups(wire: Wire) -> Wire:
    """Create a stable group "g" and an empty group "e"."""
    joined(wire)
    wire.ask("JoinGroup", 5, join_body("e"))
    return wire


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield with_groups(wire)


def listed(wire: Wire, version: int, **filters: list[str]) -> list[Plain]:
    answer = wire.ask("ListGroups", version, dict(filters))
    assert answer["error_code"] == Code.NONE
    return sorted(answer["groups"], key=lambda group: str(group["group_id"]))


def names(groups: list[Plain]) -> str:
    return "".join(group["group_id"] for group in groups)


@pytest.mark.parametrize("version", range(6))
def test_request_without_filter_lists_all_groups(wire: Wire, version: int) -> None:
    empty, stable = listed(wire, version)
    assert (empty["group_id"], empty["protocol_type"]) == ("e", "")
    assert (stable["group_id"], stable["protocol_type"]) == ("g", "consumer")
    if version >= 4:
        assert (empty["group_state"], stable["group_state"]) == ("Empty", "Stable")
    if version >= 5:
        assert (empty["group_type"], stable["group_type"]) == ("classic", "classic")


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], "eg"),
        (["Stable"], "g"),
        (["stable", "EMPTY"], "eg"),
        ([" Empty "], "e"),
        (["Dead"], ""),
        (["nonsense"], ""),
    ],
)
def test_state_filter_selects_groups(wire: Wire, states: list[str], found: str) -> None:
    assert names(listed(wire, 4, states_filter=states)) == found


@pytest.mark.parametrize(
    ("types", "found"),
    [([], "eg"), (["classic"], "eg"), (["Classic"], "eg"), (["consumer"], ""), (["nonsense"], "")],
)
def test_type_filter_selects_groups(wire: Wire, types: list[str], found: str) -> None:
    assert names(listed(wire, 5, types_filter=types)) == found


@pytest.mark.parametrize(("release", "found"), [("2.8", ["e", "", ""]), ("3.9", ["e", "e", ""]), ("4.0", ["e"] * 3)])
def test_comparison_of_states_depends_on_the_release(release: str, found: list[str]) -> None:
    with on_the_wire(version=release) as wire:
        with_groups(wire)
        spelt = ("Empty", "empty", " Empty")
        assert [names(listed(wire, 4, states_filter=[state])) for state in spelt] == found


def test_each_broker_lists_the_groups_it_coordinates() -> None:
    with on_the_wire(3) as wire:
        coordinators = {}
        for group_id in "abcdef":
            node = wire.ask("FindCoordinator", 3, {"key": group_id, "key_type": 0})["node_id"]
            wire.ask("JoinGroup", 5, join_body(group_id), node)
            coordinators[group_id] = node
        for node in (1, 2, 3):
            here = {group["group_id"] for group in wire.ask("ListGroups", 4, {}, node)["groups"]}
            assert here == {group_id for group_id, of in coordinators.items() if of == node}


@pytest.mark.parametrize(
    ("release", "numbers"),
    [
        ("3.9", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10]),
        ("4.4", [1, 21, 9, 5, 4, 10, 22, 0, 8, 3, 11, 7, 2, 6]),
    ],
)
def test_groups_are_in_the_order_of_the_hash_tables_of_the_release(release: str, numbers: list[int]) -> None:
    """The orders were returned by Kafka 3.9.2 and 4.4.0."""
    with on_the_wire(version=release) as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        for number in sorted(numbers):
            wire.ask("OffsetCommit", 7, commit_body(f"grp-{number}"))
        groups = [group["group_id"] for group in wire.ask("ListGroups", 4, {})["groups"]]
        assert groups == [f"grp-{number}" for number in numbers]
