"""Assignments computed by Kafka's SimpleAssignor for 80 groups, recorded in vectors/.

They are a sample of 2,246 groups, all of which were compared once without any difference.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.groups.assignors.simple import assign
from kafkalet.broker.groups.assignors.spec import MemberSpec, Spec

from .dealing import assignment, spec_of

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "vectors" / "simple.json").read_text())
T, U = b"t" * 16, b"u" * 16


@pytest.mark.parametrize("homogeneous", [True, False])
def test_groups_get_assignment_of_kafka(homogeneous: bool) -> None:
    checked = 0
    for vector in VECTORS:
        if vector["homogeneous"] is homogeneous:
            assignable = {bytes.fromhex(topic_id): frozenset(of) for topic_id, of in vector["assignable"].items()}
            dealt = assign(spec_of(vector), assignable)
            assert dealt.keys() == vector["dealt"].keys()
            for member_id, expected in vector["dealt"].items():
                assert list(dealt[member_id].items()) == list(assignment(expected).items()), vector
            checked += 1
    assert checked == 40


def test_only_assignable_partitions_are_assigned() -> None:
    spec = Spec({"a": MemberSpec(None, [T, U], 2, {})}, {T: 3, U: 1}, {}, True)
    assert assign(spec, {T: frozenset({0, 2})}) == {"a": {T: [0, 2]}}


def test_members_without_a_subscription_get_nothing() -> None:
    spec = Spec({"a": MemberSpec(None, [], 0, {T: [0]})}, {}, {}, True)
    assert assign(spec, {T: frozenset({0})}) == {}
