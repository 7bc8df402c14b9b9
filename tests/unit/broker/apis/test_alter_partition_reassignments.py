"""`kafkalet.broker.apis.alter_partition_reassignments`: completed and pending reassignments."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.cluster.metadata import PartitionState
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch, numbered

from .asking import Asking, asking

BATCH = build_batch(numbered([(1_600_000_000_000, None, b"v", ())]))


def move(ask: Asking, replicas: list[int] | None, version: int = 1, **fields: Any) -> int:
    partition = {"partition_index": 0, "replicas": replicas}
    answer = ask(
        Api.ALTER_PARTITION_REASSIGNMENTS, version, topics=[{"name": "t", "partitions": [partition]}], **fields
    )
    code = answer["responses"][0]["partitions"][0]["error_code"]
    assert isinstance(code, int)
    return code


def state_of(ask: Asking) -> PartitionState:
    state = ask.cluster._server.metadata.partition("t", 0)
    assert state is not None
    return state


def moving(ask: Asking) -> list[tuple[list[int], list[int], list[int]]]:
    answer = ask(Api.LIST_PARTITION_REASSIGNMENTS, 0, topics=None)
    return [
        (partition["replicas"], partition["adding_replicas"], partition["removing_replicas"])
        for topic in answer["topics"]
        for partition in topic["partitions"]
    ]


def holders(ask: Asking) -> list[int]:
    return [node_id for node_id, node in ask.cluster._server.nodes.items() if ("t", 0) in node.partitions]


def test_reassignment_copies_the_log_and_deletes_old_replicas_immediately() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        ask.cluster.topic("t").append(BATCH)
        assert move(ask, [3, 2]) == 0
        state = state_of(ask)
        assert (state.replicas, state.isr, state.leader, state.leader_epoch) == ([3, 2], [2, 3], 3, 1)
        assert holders(ask) == [2, 3]
        assert moving(ask) == []
        log = ask.cluster._server.nodes[3].partitions["t", 0].log
        assert (log.log_end_offset, log.high_watermark) == (1, 1)
        ask.cluster.topic("t").append(BATCH)
        assert ask.cluster._server.nodes[2].partitions["t", 0].log.log_end_offset == 2


def test_reordered_replicas_keep_the_leader() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        assert move(ask, [2, 1]) == 0
        state = state_of(ask)
        assert (state.replicas, state.leader, state.leader_epoch) == ([2, 1], 1, 0)


def test_reassignment_stays_in_progress_while_a_replica_is_held_back() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        ask.cluster.topic("t").append(BATCH)
        held = ask.cluster.hold_replication(3)
        assert move(ask, [1, 3]) == 0
        assert moving(ask) == [([1, 3, 2], [3], [2])]
        assert state_of(ask).isr == [1, 2]
        held.release()
        assert moving(ask) == []
        assert (state_of(ask).replicas, state_of(ask).isr) == ([1, 3], [1, 3])
        assert holders(ask) == [1, 3]


def test_replica_of_an_offline_broker_joins_when_the_broker_returns() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        ask.cluster.topic("t").append(BATCH)
        ask.cluster.broker(2).stop()
        assert move(ask, [2]) == 0
        assert moving(ask) == [([2, 1], [], [1])]
        ask.cluster.broker(2).start()
        assert (state_of(ask).replicas, state_of(ask).leader) == ([2], 2)
        assert ask.cluster.topic("t").log().log_end_offset == 1


@pytest.mark.parametrize(
    ("release", "before", "after", "replicas"),
    [
        ("4.2", [2, 1], [2, 3], [2, 3, 1]),
        ("4.3", [2, 1], [2, 3], [2, 3]),
        ("4.3", [2, 3, 1], [2, 3], [2, 3, 1]),  # more replicas are removed than added
        ("4.3", [1], [2], [2, 1]),  # the replica to add is away
    ],
)
def test_reassignment_waits_for_a_stopped_replica(
    release: str, before: list[int], after: list[int], replicas: list[int]
) -> None:
    with asking(brokers=3, version=release) as ask:
        ask.cluster.topic("t").create(assignments=[before])
        ask.cluster.broker(2).stop()
        move(ask, after, version=0)
        assert state_of(ask).replicas == replicas


def test_reassignment_can_be_cancelled() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        ask.cluster.hold_replication(3)
        ask.cluster.topic("t").append(BATCH)
        move(ask, [3])
        assert move(ask, None) == 0
        assert (state_of(ask).replicas, state_of(ask).isr) == ([1, 2], [1, 2])
        assert holders(ask) == [1, 2]
        assert move(ask, None) == 85


def test_reassignment_in_progress_survives_a_restart(tmp_path: Path) -> None:
    with asking(brokers=3, data_dir=tmp_path) as ask:
        ask.cluster.topic("t").create(assignments=[[1]])
        ask.cluster.topic("t").append(BATCH)
        ask.cluster.hold_replication(2)
        move(ask, [2])
        assert moving(ask) == [([2, 1], [2], [1])]
    with asking(brokers=3, data_dir=tmp_path) as ask:
        assert (state_of(ask).replicas, state_of(ask).leader) == ([2], 2)
        assert ask.cluster.topic("t").log().log_end_offset == 1
        assert holders(ask) == [2]


@pytest.mark.parametrize(
    ("replicas", "fields", "code"),
    [
        ([], {}, 39),
        ([1, 1], {}, 39),
        ([9], {}, 39),
        ([1], {"allow_replication_factor_change": False}, 38),
        ([2, 1], {"allow_replication_factor_change": False}, 0),
        ([1], {}, 0),
    ],
)
def test_reassignment_is_validated(replicas: list[int], fields: dict[str, Any], code: int) -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        assert move(ask, replicas, **fields) == code


def test_duplicate_partition_with_zookeeper_returns_the_last_result() -> None:
    with asking(version="2.8") as ask:
        ask.cluster.topic("t").create()
        partitions = [[{"partition_index": 0, "replicas": replicas}] for replicas in ([1], [9])]
        topics = [{"name": "t", "partitions": wished} for wished in partitions]
        answer = ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, topics=[*topics, {"name": "u", "partitions": []}])
        [topic] = answer["responses"]
        assert [partition["error_code"] for partition in topic["partitions"]] == [39]
        unknown = [{"name": "nope", "partitions": [{"partition_index": 0, "replicas": None}]}]
        answer = ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, topics=unknown)
        assert answer["responses"][0]["partitions"][0]["error_code"] == 85


def test_expired_timeout_fails_the_request() -> None:
    with asking() as ask, pytest.raises(KafkaError) as refused:
        move(ask, [1], timeout_ms=0)
    assert refused.value.code is Code.REQUEST_TIMED_OUT
