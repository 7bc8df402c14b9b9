from kafkalet.broker.groups.assignors.range import assign
from kafkalet.broker.groups.assignors.spec import MemberSpec, Spec

from .dealing import check_as_dealt

A, B = b"a" * 16, b"b" * 16


def test_homogeneous_groups_get_assignment_of_kafka() -> None:
    assert check_as_dealt("range", homogeneous=True) > 20


def test_heterogeneous_groups_get_assignment_of_kafka() -> None:
    assert check_as_dealt("range", homogeneous=False) > 20


def test_topics_of_equal_size_are_assigned_alike() -> None:
    members = {member_id: MemberSpec(None, [A, B], 2, {}) for member_id in ("y", "x")}
    dealt = assign(Spec(members, {A: 3, B: 3}, {}, True))
    assert dealt["x"] == {A: [0, 1], B: [0, 1]}
    assert dealt["y"] == {A: [2], B: [2]}


def test_static_members_come_first_by_instance_id() -> None:
    members = {
        "a": MemberSpec(None, [A], 1, {}),
        "b": MemberSpec("z", [A], 1, {}),
        "c": MemberSpec("y", [A], 1, {}),
    }
    dealt = assign(Spec(members, {A: 3}, {}, True))
    assert dealt == {"c": {A: [0]}, "b": {A: [1]}, "a": {A: [2]}}


def test_homogeneous_group_uses_topics_of_first_member() -> None:
    members = {"a": MemberSpec(None, [A], 1, {}), "b": MemberSpec(None, [], 0, {})}
    assert assign(Spec(members, {A: 4}, {}, True)) == {"a": {A: [0, 1]}, "b": {A: [2, 3]}}
    assert assign(Spec(members, {A: 4}, {}, False)) == {"a": {A: [0, 1, 2, 3]}, "b": {}}
