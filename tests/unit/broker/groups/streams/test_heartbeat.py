import pytest

from kafkalet.broker.groups.administration import evict, rebalance
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.streaming import COUNTING, Streaming, ids, internal, subtopology
from tests.unit.model.stage import Stage

A, B, C = "a" * 22, "b" * 22, "c" * 22


def test_only_member_gets_all_tasks(streaming: Streaming) -> None:
    assert streaming.join(A) == ["0_0", "0_1"]
    assert streaming.epochs == {A: 2}
    assert streaming.group.state == "Stable"


def test_task_moves_after_its_member_has_revoked_it(streaming: Streaming) -> None:
    streaming.join(A)
    assert streaming.join(B) == []
    assert streaming.beat(A) == ["0_0"]
    assert streaming.beat(B) == []
    streaming.beat(A)
    assert streaming.beat(B) == ["0_1"]
    assert streaming.epochs == {A: 3, B: 3}


def test_response_contains_tasks_only_if_they_change(streaming: Streaming) -> None:
    streaming.join(A)
    assert streaming.send(A, 2)["active_tasks"] is None


def test_tasks_of_a_member_that_leaves_are_assigned_again(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.join(B)
    streaming.settle(A, B)
    streaming.send(A, -1)
    streaming.settle(B)
    assert streaming.active[B] == ["0_0", "0_1"]


def test_member_whose_session_times_out_is_removed(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.stage.advance(45_001)
    assert streaming.group.state == "Empty"
    assert streaming.send(A, 2)["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_member_that_does_not_revoke_in_time_is_removed(streaming: Streaming) -> None:
    streaming.join(A, rebalance_timeout_ms=1000)
    streaming.join(B)
    streaming.beat(A)
    streaming.stage.advance(1001)
    assert A not in streaming.group.members


def test_new_group_waits_for_members_before_its_first_assignment(streaming: Streaming) -> None:
    streaming.configure(streams_initial_rebalance_delay_ms="1000")
    assert streaming.join(A) == []
    assert streaming.statuses[A] == [(5, "Assignment delayed due to the configured initial rebalance delay.")]
    streaming.join(B)
    streaming.stage.advance(1001)
    assert sorted(streaming.beat(A) + streaming.beat(B)) == ["0_0", "0_1"]


def test_assignment_is_delayed_by_the_assignment_interval(streaming: Streaming) -> None:
    streaming.configure(streams_assignment_interval_ms="1000")
    streaming.join(A)
    streaming.join(B)
    assert streaming.statuses[B] == [(5, "Assignment delayed due to the configured assignment interval.")]
    streaming.stage.advance(1000)
    streaming.settle(B, A)
    assert streaming.active == {A: ["0_0"], B: ["0_1"]}


def test_internal_topics_are_created(streaming: Streaming) -> None:
    assert streaming.join(A, *COUNTING) == []
    assert streaming.statuses[A] == [(3, "Internal topics are missing: counts, words")]
    assert streaming.group.state == "NotReady"
    assert streaming.beat(A) == ["0_0", "0_1", "1_0", "1_1"]
    metadata = streaming.stage.cluster._server.metadata
    assert {len(metadata.topics[name].partitions) for name in ("words", "counts")} == {2}


def test_internal_topic_has_the_properties_of_the_topology(streaming: Streaming) -> None:
    streaming.join(A, subtopology("0", "t", state_changelog_topics=[internal("store", cleanup_policy="compact")]))
    assert streaming.stage.cluster._server.metadata.topics["store"].config == {"cleanup.policy": "compact"}


def test_topic_that_cannot_be_created_is_reported_with_the_next_heartbeat(streaming: Streaming) -> None:
    streaming.join(A, subtopology("0", "t", state_changelog_topics=[internal("store", nonsense="1")]))
    streaming.beat(A)
    expected = "Internal topics are missing: store; Creation failed: store (Unknown topic config name: nonsense)."
    assert streaming.statuses[A] == [(3, expected)]


def test_missing_source_topic_is_reported_until_it_exists(streaming: Streaming) -> None:
    streaming.join(A, subtopology("0", "later"))
    assert streaming.statuses[A] == [(1, "Source topics later are missing.")]
    streaming.stage.cluster.topic("later").create(1)
    assert streaming.beat(A) == ["0_0"]


def test_new_partitions_get_tasks(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.stage.cluster.topic("t").add_partitions(1)
    assert streaming.beat(A) == ["0_0", "0_1", "0_2"]


def test_standby_tasks_are_assigned_to_other_processes(streaming: Streaming) -> None:
    streaming.configure(streams_num_standby_replicas="1")
    store = subtopology("0", "t", state_changelog_topics=[internal("store")])
    streaming.join(A, store)
    streaming.join(B, store)
    streaming.settle(A, B)
    assert (streaming.active[A], streaming.standby[A]) == (streaming.standby[B], streaming.active[B])


def test_task_stays_within_its_process_until_it_is_released(streaming: Streaming) -> None:
    streaming.join(A, process_id="p")
    streaming.join(B, process_id="p")
    streaming.settle(A, B)
    assert sorted(streaming.active[A] + streaming.active[B]) == ["0_0", "0_1"]


def test_reported_offsets_attract_tasks(streaming: Streaming) -> None:
    store = subtopology("0", "t", state_changelog_topics=[internal("store")])
    streaming.join(A, store)
    streaming.beat(A)
    streaming.join(B, store)
    offsets = [{"subtopology_id": "0", "partition": 0, "offset": 7}]
    streaming.beat(B, task_offsets=offsets, task_end_offsets=[])
    assert streaming.group.task_offsets[B].offsets == {"0": {0: 7}}
    streaming.send(A, -1)
    assert A not in streaming.group.task_offsets


def test_repeated_offset_is_refused(streaming: Streaming) -> None:
    streaming.join(A)
    offset = {"subtopology_id": "0", "partition": 0, "offset": 7}
    assert streaming.send(A, 2, task_offsets=[offset, offset])["error_code"] == Code.INVALID_REQUEST


def test_shutdown_is_passed_on_until_all_members_have_left(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.join(B)
    streaming.beat(A, shutdown_application=True)
    streaming.beat(B)
    assert [status for status, _ in streaming.statuses[B]] == [4]
    streaming.send(A, -1)
    streaming.send(B, -1)
    streaming.join(C)
    assert streaming.statuses[C] == []


def test_members_get_the_partitions_of_all_endpoints(streaming: Streaming) -> None:
    streaming.join(A, user_endpoint={"host": "h", "port": 80})
    streaming.join(B)
    answer = streaming.send(B, streaming.epochs[B], endpoint_information_epoch=5)
    [known] = answer["partitions_by_user_endpoint"]
    assert known["user_endpoint"] == {"host": "h", "port": 80}
    assert known["active_partitions"] == [{"topic": "t", "partitions": [0, 1]}]
    assert answer["endpoint_information_epoch"] == streaming.group.endpoint_epoch == 0


def test_missing_client_tags_are_reported(streaming: Streaming) -> None:
    streaming.configure(streams_rack_aware_assignment_tags="zone,cluster")
    streaming.join(A, client_tags=[{"key": "zone", "value": "z"}])
    [(status, text)] = streaming.statuses[A]
    assert (status, text[:67]) == (6, "Missing required client tags for rack-aware standby assignment: [cl")


@pytest.mark.parametrize("fields", [{"process_id": "other"}, {"rack_id": "r"}])
def test_changed_member_leads_to_a_new_epoch(streaming: Streaming, fields: dict[str, str]) -> None:
    streaming.join(A)
    streaming.beat(A, **fields)
    assert streaming.group.group_epoch == 3


def test_changed_configuration_of_the_assignor_leads_to_a_new_epoch(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.configure(streams_num_standby_replicas="1")
    streaming.beat(A)
    assert streaming.group.group_epoch == 3


def test_restarted_static_member_keeps_its_tasks(streaming: Streaming) -> None:
    streaming.join(A, instance_id="i")
    streaming.send(A, -2, instance_id="i")
    assert streaming.join(B, instance_id="i", process_id=f"process of {A}") == ["0_0", "0_1"]
    assert streaming.send(A, 2, instance_id="i")["error_code"] == Code.FENCED_INSTANCE_ID


def test_static_member_cannot_be_replaced_while_it_runs(streaming: Streaming) -> None:
    streaming.join(A, instance_id="i")
    tasks: dict[str, object] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    joining = tasks | {"topology": {"epoch": 0, "subtopologies": []}, "rebalance_timeout_ms": 1000}
    assert streaming.send(B, 0, instance_id="i", **joining)["error_code"] == Code.UNRELEASED_INSTANCE_ID


def test_member_that_missed_a_response_may_use_its_previous_epoch(streaming: Streaming) -> None:
    streaming.join(A)
    streaming.join(B)
    streaming.beat(A)
    streaming.beat(A)
    assert streaming.epochs[A] == 3
    held = {"active_tasks": [{"subtopology_id": "0", "partitions": [0]}], "standby_tasks": [], "warmup_tasks": []}
    assert streaming.send(A, 2, **held)["error_code"] == Code.NONE
    assert streaming.send(A, 2)["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert streaming.send(A, 4)["error_code"] == Code.FENCED_MEMBER_EPOCH


def test_task_that_does_not_exist_is_refused(streaming: Streaming) -> None:
    streaming.join(A)
    for tasks in ([{"subtopology_id": "0", "partitions": [2]}], [{"subtopology_id": "1", "partitions": [0]}]):
        answer = streaming.send(A, 2, active_tasks=tasks, standby_tasks=[], warmup_tasks=[])
        assert answer["error_code"] == Code.INVALID_REQUEST


def test_topology_cannot_be_changed(streaming: Streaming) -> None:
    streaming.join(A)
    with pytest.raises(AssertionError, match="Topology updates are not supported yet"):
        streaming.join(B, subtopology("0", "t", "u"), epoch=1)


def test_member_with_an_older_topology_is_told(streaming: Streaming) -> None:
    streaming.join(A, epoch=1)
    streaming.join(B, subtopology("0", "u"), epoch=0)
    assert streaming.statuses[B] == [
        (0, "The member's topology epoch 0 is behind the group's topology epoch 1."),
    ]


def test_full_group_accepts_no_other_member() -> None:
    stage = Stage(1, **{"group.streams.max.size": "1", "offsets.topic.num.partitions": "1"})
    stage.cluster.topic("t").create(1)
    streaming = Streaming(stage)
    streaming.join(A)
    with pytest.raises(AssertionError, match="reached its maximum capacity of 1 members"):
        streaming.join(B)
    stage.close()


def test_evicted_member_is_removed(streaming: Streaming) -> None:
    streaming.join(A)
    evict(streaming.group, A)
    assert streaming.group.state == "Empty"


def test_forced_rebalance_computes_a_new_assignment(streaming: Streaming) -> None:
    streaming.join(A)
    rebalance(streaming.group)
    assert streaming.group.state == "Assigning"
    streaming.beat(A)
    assert streaming.epochs[A] == 3


def test_epochs_of_4_2_begin_with_2_and_assignments_are_not_delayed() -> None:
    stage = Stage(1, "4.2", **{"offsets.topic.num.partitions": "1", "group.streams.initial.rebalance.delay.ms": "1000"})
    stage.cluster.topic("t").create(2)
    streaming = Streaming(stage)
    streaming.join(A, version=0)
    described = streaming.describe(0)
    assert (streaming.epochs[A], described["group_epoch"], described["assignment_epoch"]) == (1, 2, 0)
    stage.advance(1001)
    assert streaming.beat(A, version=0) == ["0_0", "0_1"]
    streaming.join(B, version=0)
    assert streaming.statuses[B] == []
    stage.close()


@pytest.mark.parametrize("field", ["instance_id", "task_offsets", "warmup_tasks"])
def test_4_3_refuses_what_it_does_not_support_yet(field: str) -> None:
    stage = Stage(1, "4.3", **{"offsets.topic.num.partitions": "1"})
    stage.cluster.topic("t").create(1)
    value = "i" if field == "instance_id" else [] if field == "task_offsets" else ids(["0_0"])
    answer = Streaming(stage).send(A, 1, version=0, **{field: value})
    assert (answer["error_code"], answer["error_message"][-18:]) == (Code.INVALID_REQUEST, "not supported yet.") or (
        answer["error_message"] == "Static membership is not yet supported."
    )
    stage.close()
