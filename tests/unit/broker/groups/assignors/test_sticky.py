"""Assignments computed by Kafka's StickyTaskAssignor for 60 groups, recorded in vectors/.

They are a sample of 2,000 groups, all of which were compared once without any difference.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.groups.assignors.sticky import JavaQueue, TaskMember, TaskTopology, assign
from kafkalet.broker.java_order import order_of_strings

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "vectors" / "sticky.json").read_text())


def flat(tasks: dict[str, list[int]]) -> list[tuple[str, int]]:
    return [(subtopology, partition) for subtopology, partitions in tasks.items() for partition in partitions]


def member_of(vector: dict[str, Any]) -> TaskMember:
    offsets = {(of, int(partition)): each[partition] for of, each in vector["offsets"].items() for partition in each}
    return TaskMember(vector["process"], flat(vector["active"]), flat(vector["standby"]), offsets)


@pytest.mark.parametrize("vector", VECTORS)
def test_group_gets_assignment_of_kafka(vector: dict[str, Any]) -> None:
    members = {name: member_of(vector["members"][name]) for name in order_of_strings(vector["members"])}
    topology = TaskTopology(vector["tasks"], frozenset(vector["stateful"]))
    dealt = assign(members, topology, vector["standby_replicas"])
    for name, member in vector["members"].items():
        active, standby = member["dealt"]
        assert sorted(dealt.active.get(name, ())) == flat(active), name
        assert sorted(dealt.standby.get(name, ())) == flat(standby), name


def test_queue_returns_equal_elements_in_the_order_of_java() -> None:
    queue = JavaQueue("abcdef", lambda _: 0)
    assert [queue.poll() for _ in range(7)] == ["a", "f", "e", "d", "c", "b", None]
