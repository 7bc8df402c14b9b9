"""Assignments computed by Kafka's own assignors for some 170 groups, recorded in vectors/.

They are a sample of 6,000 groups. All of these were compared once, without any difference.
"""

import json
from pathlib import Path
from typing import Any

from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.broker.groups.assignors.spec import Assignment, MemberSpec, Spec
from kafkalet.broker.java_order import order_of_strings

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "vectors" / "assignors.json").read_text())


def spec_of(vector: dict[str, Any]) -> Spec:
    members = {
        member_id: MemberSpec(instance_id, [bytes.fromhex(each) for each in topics], len(topics), assignment(target))
        for member_id, instance_id, topics, target in vector["members"]
    }
    assigned: dict[bytes, dict[int, str]] = {}
    for member_id, member in members.items():
        for topic_id, partitions in member.target.items():
            assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))
    return Spec(
        {member_id: members[member_id] for member_id in order_of_strings(members)},
        {bytes.fromhex(topic_id): count for topic_id, count in vector["topics"].items()},
        assigned,
        vector["homogeneous"],
    )


def assignment(listed: list[Any]) -> Assignment:
    return {bytes.fromhex(topic_id): partitions for topic_id, partitions in listed}


def check_as_dealt(name: str, *, homogeneous: bool) -> int:
    """Compute the recorded assignments again and compare them, including their order. Returns their number."""
    checked = 0
    for vector in VECTORS:
        if vector["assignor"] != name or vector["homogeneous"] is not homogeneous:
            continue
        spec = spec_of(vector)
        dealt = ASSIGNORS[name](spec)
        assert dealt.keys() == vector["dealt"].keys()
        for member_id, expected in vector["dealt"].items():
            if dealt[member_id] is not spec.members[member_id].target:  # otherwise no record is written
                assert list(dealt[member_id].items()) == list(assignment(expected).items()), vector
            else:
                assert {topic_id: sorted(of) for topic_id, of in dealt[member_id].items()} == {
                    topic_id: sorted(of) for topic_id, of in assignment(expected).items()
                }
        checked += 1
    return checked
