from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.testing.group import members_of
from tests.unit.broker.groups.streaming import CONFIG, COUNTING, Streaming
from tests.unit.model.stage import Stage

A, B = "a" * 22, "b" * 22


def commit(streaming: Streaming, epoch: int, member_id: str = A, partition: int = 0, version: int = 9) -> int:
    """Commit an offset of topic "t", and return the error code."""
    offsets = [{"partition_index": partition, "committed_offset": 1, "committed_metadata": ""}]
    known = {"group_id": "g", "generation_id_or_member_epoch": epoch, "member_id": member_id}
    topics = [{"name": "t", "partitions": offsets}]
    answer = streaming.ask(Api.OFFSET_COMMIT, version, **known, topics=topics)
    return int(answer["topics"][0]["partitions"][0]["error_code"])


def fetch(streaming: Streaming, member_id: str | None, epoch: int) -> Any:
    asked = [{"group_id": "g", "member_id": member_id, "member_epoch": epoch, "topics": None}]
    [group] = streaming.ask(Api.OFFSET_FETCH, 9, groups=asked)["groups"]
    return group


def test_first_heartbeat_writes_records_in_the_order_of_kafka(streaming: Streaming) -> None:
    streaming.join(A)
    assert streaming.records() == [(19, True), (23, True), (17, True), (21, True), (20, True), (22, True)]


def test_leaving_member_is_deleted_before_the_new_epoch(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.send(A, -1)
    assert streaming.records()[6:] == [(22, False), (21, False), (19, False), (17, True), (20, True)]


def test_deleted_group_leaves_only_tombstones(streaming: Streaming) -> None:
    streaming.join(A)
    assert streaming.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])["results"][0]["error_code"] == Code.NON_EMPTY_GROUP
    streaming.send(A, -1)
    group, known = streaming.group, len(streaming.records())
    assert streaming.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])["results"][0]["error_code"] == 0
    keys = [bytes(record.key or b"")[:2] for _, records in group.shard.log.read() for record in records]
    assert [int.from_bytes(key, "big") for key in keys[known:]] == [20, 17, 23]
    assert streaming.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND


def test_group_is_the_same_after_a_restart(streaming: Streaming) -> None:
    streaming.join(A, *COUNTING)
    streaming.beat(A)
    streaming.join(B, *COUNTING)
    streaming.beat(A)
    before = streaming.describe()
    streaming.stage.restart()
    topology = before.pop("topology")  # the partitions of internal topics are known again after a heartbeat
    after = streaming.describe()
    assert after.pop("topology")["epoch"] == topology["epoch"]
    assert after == before
    streaming.settle(A, B)
    assert streaming.group.state == "Stable"
    assert streaming.describe()["topology"] == topology


def test_sessions_begin_again_after_a_restart(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.stage.restart()
    streaming.stage.advance(45_001)
    assert streaming.describe()["group_state"] == "Empty"


def test_member_commits_with_the_epoch_of_its_task_or_a_later_one(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.join(B)
    streaming.settle(A, B)
    assert (streaming.active, streaming.epochs) == ({A: ["0_0"], B: ["0_1"]}, {A: 3, B: 3})
    assert commit(streaming, 3) == commit(streaming, 2) == Code.NONE
    assert commit(streaming, 1) == commit(streaming, 4) == Code.STALE_MEMBER_EPOCH
    assert commit(streaming, 2, B, 1) == Code.STALE_MEMBER_EPOCH
    assert commit(streaming, 2, A, 1) == Code.STALE_MEMBER_EPOCH
    assert commit(streaming, 3, "unknown") == Code.UNKNOWN_MEMBER_ID
    assert commit(streaming, 3, version=8) == Code.UNSUPPORTED_VERSION


def test_committed_offsets_are_fetched_with_the_current_epoch(streaming: Streaming) -> None:
    streaming.join(A)
    commit(streaming, 2)
    assert fetch(streaming, A, 2)["topics"][0]["partitions"][0]["committed_offset"] == 1
    assert fetch(streaming, A, 1)["error_code"] == Code.STALE_MEMBER_EPOCH
    assert fetch(streaming, None, -1)["error_code"] == Code.NONE


def test_classic_member_replaces_an_empty_group(streaming: Streaming) -> None:
    protocols = [{"name": "range", "metadata": b""}]
    known = {"group_id": "g", "session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000, "member_id": ""}
    joining = known | {"protocol_type": "consumer", "protocols": protocols}
    streaming.join(A)
    assert streaming.ask(Api.JOIN_GROUP, 3, **joining)["error_code"] == Code.INCONSISTENT_GROUP_PROTOCOL
    streaming.send(A, -1)
    joined = streaming.ask(Api.JOIN_GROUP, 3, **joining)
    assert joined["error_code"] == Code.NONE
    answer = streaming.send(A, 1)
    assert (answer["error_code"], answer["error_message"]) == (
        Code.GROUP_ID_NOT_FOUND,
        "Group g is not a streams group.",
    )
    streaming.ask(Api.LEAVE_GROUP, 3, group_id="g", members=[{"member_id": joined["member_id"]}])
    assert streaming.join(A) == ["0_0", "0_1"]


def test_offsets_of_topics_of_the_topology_cannot_be_deleted(streaming: Streaming) -> None:
    streaming.join(A)
    commit(streaming, 2)
    topics = [{"name": "t", "partitions": [{"partition_index": 0}]}]
    answer = streaming.ask(Api.OFFSET_DELETE, 0, group_id="g", topics=topics)
    assert answer["topics"][0]["partitions"][0]["error_code"] == Code.GROUP_SUBSCRIBED_TO_TOPIC


def test_state_not_ready_is_filtered_by_another_name(streaming: Streaming) -> None:
    streaming.join(A, *COUNTING)

    def found(state: str) -> int:
        return len(streaming.ask(Api.LIST_GROUPS, 5, states_filter=[state], types_filter=["streams"])["groups"])

    assert (found("NotReady"), found("not_ready"), found("Stable")) == (0, 1, 0)


def test_group_continues_on_another_coordinator() -> None:
    stage = Stage(2, **CONFIG | {"offsets.topic.replication.factor": "2"})
    stage.cluster.topic("t").create(2)
    streaming = Streaming(stage)
    streaming.join(A)
    former = streaming.node
    stage.stop_broker(former)
    streaming.node = stage.coordinator("g", 0)
    assert streaming.node != former
    assert streaming.beat(A) == ["0_0", "0_1"]
    assert streaming.epochs[A] == 2
    stage.close()


def test_test_kit_shows_the_partitions_of_the_tasks(streaming: Streaming) -> None:
    streaming.join(A)
    group = streaming.group
    [member] = members_of(group.shard, group)
    assert (member.member_id, member.assignment) == (A, {("t", 0), ("t", 1)})
