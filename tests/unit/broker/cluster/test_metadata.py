"""The metadata image, and the rules for topic names, topic ids and replica placement."""

import pytest

from kafkalet.broker.cluster.metadata import (
    MOST_DELETED_TOPICS,
    MOST_ZOOKEEPER_OFFSETS,
    MetadataImage,
    PartitionState,
    TopicState,
    check_topic_name,
    new_topic_id,
    spread,
)
from kafkalet.protocol.errors import Code, KafkaError


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_legal_topic_name_is_accepted(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ä", "x" * 250, "a\n", "a\0"])
def test_illegal_topic_name_is_refused(name: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        check_topic_name(name)
    assert refusal.value.code == Code.INVALID_TOPIC_EXCEPTION


def test_topic_ids_are_random_uuids_without_leading_dash() -> None:
    ids = [new_topic_id() for _ in range(500)]
    assert len(set(ids)) == 500
    assert all(drawn[6] >> 4 == 4 and drawn[8] >> 6 == 2 for drawn in ids)
    assert all(drawn[0] >> 2 != 62 for drawn in ids)


def without_racks(*nodes: int) -> dict[int, str | None]:
    return dict.fromkeys(nodes)


def test_leaders_are_distributed_over_brokers() -> None:
    assert [replicas[0] for replicas in spread(6, 2, without_racks(3, 1, 2))] == [1, 2, 3, 1, 2, 3]


def test_replicas_of_partition_are_on_different_brokers() -> None:
    assert all(len(set(replicas)) == 3 for replicas in spread(7, 3, without_racks(*range(5))))


def test_added_partitions_continue_distribution() -> None:
    nodes = without_racks(1, 2, 3)
    assert spread(4, 1, nodes)[2:] == spread(2, 1, nodes, first_index=2)


def test_replicas_are_in_different_racks() -> None:
    """Leaders change between the racks, and in each rack between its brokers."""
    assert spread(4, 2, {0: "a", 1: "a", 2: "b", 3: "b"}) == [[0, 2], [2, 0], [1, 3], [3, 1]]


def test_small_rack_leads_as_many_partitions_as_large_one() -> None:
    """Its broker is skipped when it already has a replica, as in Kafka's StripedReplicaPlacer."""
    assert spread(4, 3, {1: None, 2: "b", 3: "b"}) == [[1, 2, 3], [2, 1, 3], [1, 3, 2], [3, 1, 2]]


def test_stopped_brokers_hold_replicas_only_if_others_are_too_few() -> None:
    nodes = without_racks(1, 3)
    assert spread(2, 2, nodes, away=[2]) == [[1, 3], [3, 1]]
    assert spread(2, 3, nodes, away=[2]) == [[1, 3, 2], [3, 1, 2]]
    with pytest.raises(KafkaError, match=r"only 3 broker\(s\)"):
        spread(1, 4, nodes, away=[2])
    with pytest.raises(KafkaError):
        spread(1, 1, {}, away=[2])


def test_stopped_broker_neither_leads_nor_is_in_sync() -> None:
    state = PartitionState(0, [2, 1], away={2})
    assert (state.replicas, state.isr, state.leader) == ([2, 1], [1], 1)


@pytest.mark.parametrize("factor", [0, -2, 4])
def test_more_replicas_than_brokers_are_refused(factor: int) -> None:
    with pytest.raises(KafkaError) as refusal:
        spread(1, factor, without_racks(1, 2, 3))
    assert refusal.value.code == Code.INVALID_REPLICATION_FACTOR


def image_with(*names: str) -> MetadataImage:
    image = MetadataImage("cluster")
    for name in names:
        image.add_topic(TopicState(name, new_topic_id(), [PartitionState(0, [1])], {}))
    return image


def test_topic_is_found_by_id_until_removed() -> None:
    image = image_with("a")
    topic_id = image.topics["a"].topic_id
    assert image.topic_by_id(topic_id) is image.topics["a"]
    image.remove_topic("a")
    assert image.topic_by_id(topic_id) is None


def test_dots_and_underscores_collide() -> None:
    image = image_with("a.b")
    assert image.collides_with("a_b") == "a.b"
    assert image.collides_with("a.c") is None
    image.remove_topic("a.b")
    assert image.collides_with("a_b") is None


@pytest.mark.parametrize(("topic", "index"), [("b", 0), ("a", 1), ("a", -1)])
def test_unknown_partition_has_no_state(topic: str, index: int) -> None:
    assert image_with("a").partition(topic, index) is None


def test_topic_has_changed_after_creation_change_or_deletion() -> None:
    image = image_with("t", "u")
    since = image.version
    assert not image.may_have_changed("t", since)
    image.topic_changed("t")
    assert image.may_have_changed("t", since)
    image.remove_topic("u")
    assert image.may_have_changed("u", since)
    assert not image.may_have_changed("u", image.version)
    assert not image.may_have_changed("never", 0)


def test_recreated_topic_has_changed() -> None:
    image = image_with("t")
    image.remove_topic("t")
    since = image.version
    image.add_topic(TopicState("t", new_topic_id(), [], {}))
    assert image.may_have_changed("t", since)


def test_deletions_dropped_from_memory_count_as_changed() -> None:
    image = image_with("first", "kept")
    since = image.version
    image.remove_topic("first")
    for number in range(MOST_DELETED_TOPICS):
        image.add_topic(TopicState(f"t{number}", new_topic_id(), [], {}))
        image.remove_topic(f"t{number}")
    assert len(image._deleted_in) == MOST_DELETED_TOPICS
    assert image.may_have_changed("first", since)
    assert not image.may_have_changed("first", image.version)
    assert not image.may_have_changed("kept", since)


def test_latest_zookeeper_offsets_are_kept() -> None:
    image = MetadataImage("c")
    for number in range(MOST_ZOOKEEPER_OFFSETS):
        image.keep_zookeeper_offset(f"g{number}", "t", 0, number)
    image.keep_zookeeper_offset("g0", "t", 0, 7)
    image.keep_zookeeper_offset("more", "t", 0, 8)
    assert image.zookeeper_offset("g0", "t", 0) == 7
    assert image.zookeeper_offset("g1", "t", 0) is None
    assert image.zookeeper_offset("more", "t", 0) == 8
    assert len(image._zookeeper_offsets) == MOST_ZOOKEEPER_OFFSETS


# The state of a partition


def epochs(state: PartitionState) -> tuple[int, int]:
    return state.leader_epoch, state.partition_epoch


def test_new_leader_starts_epoch_and_keeps_in_sync_replicas() -> None:
    state = PartitionState(0, [1, 2, 3])
    state.change_leader(2)
    assert (state.leader, state.isr, *epochs(state)) == (2, [1, 2, 3], 1, 1)
    state.change_leader(3, [3])
    assert (state.leader, state.isr, *epochs(state)) == (3, [3], 2, 2)


def test_change_of_in_sync_replicas_keeps_leader_epoch() -> None:
    state = PartitionState(0, [1, 2, 3])
    state.change_isr([1, 3])
    assert (state.leader, state.isr, *epochs(state)) == (1, [1, 3], 0, 1)


def test_reassignment_lists_new_replicas_before_old_ones() -> None:
    state = PartitionState(0, [1, 2])
    state.begin_move([4, 2, 3])
    assert (state.replicas, state.adding, state.removing) == ([4, 2, 3, 1], [3, 4], [1])
    assert state.is_moving
    assert epochs(state) == (0, 1)


def test_end_of_reassignment_without_leader_elects_first_live_in_sync_replica() -> None:
    state = PartitionState(0, [1, 2])
    state.begin_move([4, 2, 3])
    state.end_move([2, 3, 4], state.removing, alive={2, 3})
    assert (state.replicas, state.isr, state.leader, *epochs(state)) == ([4, 2, 3], [2, 3, 4], 2, 1, 2)
    assert not state.is_moving


def test_end_of_reassignment_without_removed_replicas_keeps_leader_epoch() -> None:
    state = PartitionState(0, [1, 2])
    state.begin_move([2, 1, 3])
    state.end_move([1, 2, 3], state.removing, alive={1, 2, 3})
    assert (state.replicas, state.leader, *epochs(state)) == ([2, 1, 3], 1, 0, 2)


def test_leader_epoch_of_log_is_used_only_if_later() -> None:
    state = PartitionState(0, [1])
    state.note_leader_epoch(5)
    state.note_leader_epoch(3)
    assert epochs(state) == (5, 0)
