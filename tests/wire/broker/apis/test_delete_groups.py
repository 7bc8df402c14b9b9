"""DeleteGroups: empty groups are deleted with their offsets."""

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, on_the_wire

from .test_join_group import body as join_body


def delete(wire: Wire, version: int, *groups: str, node: int = 1) -> dict[str, int]:
    answer = wire.ask("DeleteGroups", version, {"groups_names": list(groups)}, node)
    assert all(result.get("error_message") is None for result in answer["results"])
    assert len(answer["results"]) == len(set(groups))
    return {result["group_id"]: result["error_code"] for result in answer["results"]}


def commit_body(group_id: str) -> Plain:
    partition = {"partition_index": 0, "committed_offset": 7}
    said = {"group_id": group_id, "generation_id_or_member_epoch": -1, "member_id": ""}
    return {**said, "topics": [{"name": "t", "partitions": [partition]}]}


def committed(wire: Wire, group_id: str) -> int:
    asked = {"group_id": group_id, "topics": [{"name": "t", "partition_indexes": [0]}]}
    offset: int = wire.ask("OffsetFetch", 5, asked)["topics"][0]["partitions"][0]["committed_offset"]
    return offset


@pytest.mark.parametrize("version", range(4))
def test_each_group_has_a_result(version: int) -> None:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        wire.ask("JoinGroup", 5, join_body("empty"))
        wire.ask("JoinGroup", 3, join_body("joined"))
        returned = delete(wire, version, "empty", "joined", "unknown", "", "empty")
        assert returned == {"empty": 0, "joined": 68, "unknown": 69, "": 69}
        assert delete(wire, version, "empty") == {"empty": Code.GROUP_ID_NOT_FOUND}


def test_offsets_are_deleted_with_the_group() -> None:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        assert wire.ask("OffsetCommit", 7, commit_body("g"))["topics"][0]["partitions"][0]["error_code"] == Code.NONE
        assert committed(wire, "g") == 7
        assert delete(wire, 2, "g") == {"g": Code.NONE}
        assert committed(wire, "g") == -1


def test_request_to_another_broker_returns_not_coordinator() -> None:
    with on_the_wire(3) as wire:
        coordinator = wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})["node_id"]
        assert delete(wire, 2, "g", node=coordinator % 3 + 1) == {"g": Code.NOT_COORDINATOR}


def test_response_waits_for_the_replicas() -> None:
    with on_the_wire(3) as wire:
        node = wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})["node_id"]
        wire.ask("JoinGroup", 5, join_body("g"), node)
        followers = [follower for follower in (1, 2, 3) if follower != node]
        holds = [wire.cluster.hold_replication(follower) for follower in followers]
        with wire.waiting("DeleteGroups", 2, {"groups_names": ["g"]}, node) as receive:
            assert names(wire.ask("ListGroups", 4, {}, node)) == []
            for held in holds:
                held.release()
            assert [result["error_code"] for result in receive()["results"]] == [Code.NONE]


def test_unreplicated_deletion_returns_coordinator_not_available_after_the_timeout() -> None:
    clock = ManualClock()
    with on_the_wire(3, clock=clock) as wire:
        node = wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})["node_id"]
        wire.ask("JoinGroup", 5, join_body("g"), node)
        wire.cluster.hold_replication(node % 3 + 1)
        with wire.waiting("DeleteGroups", 2, {"groups_names": ["g"]}, node) as receive:
            wire.cluster._server.call(lambda: clock.advance(milliseconds=5000))
            assert [result["error_code"] for result in receive()["results"]] == [Code.COORDINATOR_NOT_AVAILABLE]


def names(answer: Plain) -> list[str]:
    return [group["group_id"] for group in answer["groups"]]


@pytest.mark.parametrize(
    ("release", "numbers"),
    [("3.9", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10]), ("4.4", [3, 4, 10, 1, 21, 2, 11, 22, 0, 9, 7, 8, 5, 6])],
)
def test_results_are_in_the_order_of_the_hash_tables_of_the_release(release: str, numbers: list[int]) -> None:
    """The orders were returned by Kafka 3.9.2 and 4.4.0."""
    with on_the_wire(version=release) as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        ids = [f"grp-{number}" for number in sorted(numbers)]
        results = wire.ask("DeleteGroups", 2, {"groups_names": ids})["results"]
        assert [result["group_id"] for result in results] == [f"grp-{number}" for number in numbers]
