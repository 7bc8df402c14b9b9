"""Tests of shapes of a log: their layouts, the visible records, and the offsets that limit readers."""

import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

import kafkalet
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.testing.layout import KINDS, LayoutKind
from kafkalet.testing.topic import Topic
from tests.unit.broker.apis.asking import Asking

LAYOUTS = {
    "gap": ("[0 1] [5 6]", 4, 4),
    "segment_gap": ("[0 1] [5 6]", 4, 4),
    "segments": ("[0 1] [2 3] [4 5] [6 7] [8 9]", 10, 10),
    "empty_batch": ("[0 1] [] [5 6]", 4, 4),
    "compacted": ("[0 1] [2 6] [7 8]", 6, 6),
    "starts_with_marker": ("M M M [3 4]", 2, 2),
    "ends_with_marker": ("[0 1] [2 3 4] M", 5, 5),
    "only_markers": ("M M M", 0, 0),
    "committed": ("[0 1] [2 3 4] M [6 7]", 7, 7),
    "aborted": ("[0 1] [2 3 4] M [6 7]", 7, 4),
    "open": ("[0 1] [2 3 4] [5 6]", 7, 2),
    "old_magic": ("[0] [1] [2] [3 4 5] [6] [7] [8] [9 10 11] [12 13]", 14, 14),
    "future_timestamp": ("[0 1] [2 3 4] [5 6]", 7, 7),
    "no_timestamp": ("[0 1] [2 3 4] [5 6]", 7, 7),
    "same_timestamp": ("[0 1] [2] [3] [4] [5 6]", 7, 7),
    "falling_timestamps": ("[0 1] [2] [3] [4] [5 6]", 7, 7),
}
"""The entries of each shape with first=2, size=3, after=2, and the records that each isolation level gets."""


@pytest.fixture
def kafka() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker() as broker:
        yield broker


@pytest.fixture
def topic(kafka: kafkalet.Broker) -> Topic:
    return kafka.topic("t", 1)


def shaped(topic: Topic, kind: LayoutKind) -> Topic:
    first = None if kind in ("starts_with_marker", "only_markers", "old_magic") else 2
    after = None if kind in ("ends_with_marker", "only_markers") else 2
    return topic.layout(kind, first=first, size=3, after=after)


def entries(topic: Topic, node: int = 1) -> list[Batch]:
    """Return the entries in the log of a replica, read from its files."""
    server = topic._cluster._server

    def read() -> list[Batch]:
        segments = server.nodes[node].partitions[topic.name, 0].log.segments
        return [entry for segment in segments for _, entry in segment.entries()]

    return server.call(read)


def drawn(topic: Topic) -> str:
    return " ".join(
        "M" if entry.is_control else f"[{' '.join(str(record.offset) for record in entry.records())}]"
        for entry in entries(topic)
    )


# Shapes


def test_every_kind_is_typed_and_described() -> None:
    assert set(get_args(LayoutKind)) == set(KINDS) == set(LAYOUTS)
    assert all(f"\n            {kind} " in (Topic.layout.__doc__ or "") for kind in KINDS)


@pytest.mark.parametrize("kind", get_args(LayoutKind))
def test_shape_has_its_layout(topic: Topic, kind: LayoutKind) -> None:
    layout, visible, committed = LAYOUTS[kind]
    shaped(topic, kind)
    assert drawn(topic) == layout
    assert (topic.count(), topic.count("read_committed")) == (visible, committed)


@pytest.mark.parametrize("kind", get_args(LayoutKind))
def test_second_shape_follows_the_first(topic: Topic, kind: LayoutKind) -> None:
    visible = shaped(topic, kind).count()
    end = topic.log().log_end_offset
    assert shaped(topic, kind).count() == 2 * visible
    assert topic.log().log_end_offset == 2 * end


@pytest.mark.parametrize("kind", get_args(LayoutKind))
def test_shape_survives_a_restart(tmp_path: Path, kind: LayoutKind) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as first:
        topic = shaped(first.topic("t", 1), kind)
        before = [entry.to_bytes() for entry in entries(topic)]
        offsets, records = topic.log().offsets, topic.records()
    with kafkalet.Broker(data_dir=tmp_path) as second:
        topic = second.topic("t")
        assert [entry.to_bytes() for entry in entries(topic)] == before
        assert (topic.log().offsets, topic.records()) == (offsets, records)


@pytest.mark.parametrize("kind", get_args(LayoutKind))
def test_shape_survives_a_crash(tmp_path: Path, kind: LayoutKind) -> None:
    with kafkalet.Broker(data_dir=tmp_path / "data") as first:
        topic = shaped(first.topic("t", 1), kind)
        before = [entry.to_bytes() for entry in entries(topic)]
        offsets, records, committed = topic.log().offsets, topic.records(), topic.records("read_committed")
        shutil.copytree(tmp_path / "data", tmp_path / "left")
    with kafkalet.Broker(data_dir=tmp_path / "left") as second:
        topic = second.topic("t")
        assert [entry.to_bytes() for entry in entries(topic)] == before
        assert (topic.log().offsets, topic.records(), topic.records("read_committed")) == (offsets, records, committed)


def test_gap_beyond_the_reach_of_a_segment_begins_a_new_one(topic: Topic) -> None:
    topic.layout("gap", first=1, size=1 << 40, after=1)
    assert [record.offset for record in topic.records()] == [0, 1 + (1 << 40)]


def test_records_have_their_offset_as_key_and_value(topic: Topic) -> None:
    records = topic.layout("gap", first=1, size=2, after=1).records()
    assert [(record.offset, record.key, record.value) for record in records] == [(0, b"0", b"0"), (3, b"3", b"3")]


def test_default_shape_has_five_records_on_both_sides_of_three_offsets(topic: Topic) -> None:
    assert [record.offset for record in topic.layout("gap").records()] == [*range(5), *range(8, 13)]


def test_shape_creates_the_topic(kafka: kafkalet.Broker) -> None:
    assert kafka.topic("new").layout("gap", first=5, size=3).count() == 10


def test_shape_of_another_partition(kafka: kafkalet.Broker) -> None:
    topic = kafka.topic("t", 2).layout("only_markers", size=4, partition=1)
    assert [log.log_end_offset for log in topic.logs] == [0, 4]


def test_segment_gap_begins_a_segment_after_the_gap(topic: Topic) -> None:
    topic.layout("segment_gap", first=5, size=3)
    assert [segment.base_offset for segment in topic.log().segments] == [0, 8]


def test_segments_adds_as_many_segments(topic: Topic) -> None:
    topic.layout("segments", first=1, size=3)
    assert [segment.base_offset for segment in topic.log().segments] == [0, 1, 3, 5]


def test_timestamps_of_special_records(kafka: kafkalet.Broker) -> None:
    def special(kind: LayoutKind) -> list[int]:
        records = kafka.topic(kind).layout(kind, first=1, size=2, after=1).records()
        return [record.timestamp - records[0].timestamp for record in records[1:3]]

    assert special("future_timestamp") == [365 * 86_400_000] * 2
    assert special("same_timestamp") == [0, 0]
    assert special("falling_timestamps") == [-1000, -2000]
    assert [record.timestamp for record in kafka.topic("n").layout("no_timestamp").records()[5:8]] == [-1] * 3


def test_old_magic_has_plain_and_compressed_messages_of_both_formats(topic: Topic) -> None:
    topic.layout("old_magic", size=1, after=1)
    assert [(entry.magic, entry.codec.name) for entry in entries(topic)] == [
        (0, "NONE"),
        (0, "GZIP"),
        (1, "NONE"),
        (1, "GZIP"),
        (2, "NONE"),
    ]


def test_producers_of_shapes_differ_from_those_of_clients(kafka: kafkalet.Broker, topic: Topic) -> None:
    topic.layout("aborted").layout("empty_batch")
    producers = {entry.producer_id for entry in entries(topic)} - {-1}
    assert len(producers) == 2
    answer = Asking(kafka)(Api.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1000)
    assert answer["producer_id"] not in producers


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("start_with_marker", {}, "no layout 'start_with_marker'; did you mean 'starts_with_marker'"),
        ("xyz", {}, "no layout 'xyz'; the layouts are gap, segment_gap, "),
        ("gap", {"size": 0}, "size is 0; it must be a number from 1 to 281474976710656"),
        ("gap", {"first": -1}, "first is -1; it must be a number from 0 to 100000"),
        ("aborted", {"size": 10**6}, "size is 1000000; it must be a number from 1 to 100000"),
        ("starts_with_marker", {"first": 1}, "first is 1, but 'starts_with_marker' begins with its special part"),
        ("ends_with_marker", {"after": 1}, "after is 1, but 'ends_with_marker' ends with its special part"),
    ],
)
def test_invalid_shape_is_refused(topic: Topic, kind: Any, options: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        topic.layout(kind, **options)
    assert topic.log().log_end_offset == 0


def test_number_of_wrong_type_is_refused(topic: Topic) -> None:
    with pytest.raises(TypeError, match="size must be an int, not '3'"):
        topic.layout("gap", size="3")  # type: ignore[arg-type]


def test_shape_of_missing_partition_is_refused(topic: Topic) -> None:
    with pytest.raises(KafkaError, match="topic t has no partition 3"):
        topic.layout("gap", partition=3)


# Entries as they are


def batch(first: int, count: int = 1, **fields: Any) -> bytes:
    return build_batch(numbered([(1000, None, b"v", ())] * count, first), base_offset=first, **fields)


def test_entries_are_returned_as_they_were_appended(topic: Topic) -> None:
    data = batch(3, 2) + batch(7, leader_epoch=0)
    topic.append_batches(data)
    assert b"".join(entry.to_bytes() for entry in entries(topic)) == data
    assert [record.offset for record in topic.records()] == [3, 4, 7]


def test_wrong_checksum_does_not_hide_later_records(topic: Topic) -> None:
    damaged = bytearray(batch(0))
    damaged[17] ^= 1
    topic.append_batches(damaged).send("later")
    assert topic.count() == 2


def test_records_sent_after_a_gap_follow_it(topic: Topic) -> None:
    assert topic.append_batches(batch(9)).send("x").offset == 10


def test_refused_entries_leave_the_log_unchanged(topic: Topic) -> None:
    with pytest.raises(ValueError, match="the entry at byte 69 has offset 0, but 1 comes next"):
        topic.append_batches(batch(0) + batch(0))
    assert topic.log().log_end_offset == 0
    with pytest.raises(TypeError, match="data must be bytes, not 'x'"):
        topic.append_batches("x")  # type: ignore[arg-type]


def test_followers_get_the_same_entries_even_with_a_wrong_checksum() -> None:
    with kafkalet.Cluster(brokers=3) as cluster:
        topic = cluster.topic("t", 1, replication_factor=3)
        damaged = bytearray(batch(4))
        damaged[17] ^= 1
        topic.append_batches(damaged)
        assert [[entry.to_bytes() for entry in entries(topic, node)] for node in (1, 2, 3)] == [[bytes(damaged)]] * 3
        assert topic.log().high_watermark == 5


def test_follower_that_was_held_back_cannot_copy_a_wrong_checksum() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        topic = cluster.topic("t")
        damaged = bytearray(batch(0))
        damaged[17] ^= 1
        held = cluster.hold_replication(2, "t")
        topic.append_batches(damaged)
        held.release()
        assert entries(topic, 2) == []
        assert (topic.log().high_watermark, topic.log().log_end_offset) == (0, 1)


# Offsets


def test_log_start_advances_on_compacted_topics(kafka: kafkalet.Broker) -> None:
    topic = kafka.topic("t", config={"cleanup.policy": "compact"}).layout("gap", first=5, size=3, after=2)
    topic.delete_records(4)
    assert topic.log().log_start_offset == 4
    assert [record.offset for record in topic.records()] == [4, 8, 9]


def test_log_start_advances_up_to_the_high_watermark(topic: Topic) -> None:
    topic.send_batch(["a", "b"])
    topic.delete_records(2)
    assert topic.count() == 0
    with pytest.raises(ValueError, match=r"t-0 cannot advance to 3; allowed are 2 .* to 2 .the high watermark"):
        topic.delete_records(3)
    with pytest.raises(ValueError, match="cannot advance to 1"):
        topic.delete_records(1)


def test_log_start_advances_in_all_replicas() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t", 1, replication_factor=2).send("a")
        topic = cluster.topic("t", 1, replication_factor=2).delete_records(1)
        logs = [cluster._server.nodes[node].partitions["t", 0].log for node in (1, 2)]
        assert [log.log_start_offset for log in logs] == [1, 1]
        assert topic.count() == 0


def test_records_above_a_held_high_watermark_are_not_visible(topic: Topic) -> None:
    topic.send("a")
    with topic.hold_high_watermark():
        topic.send("b")
        assert topic.values() == [b"a"]
        assert (topic.log().high_watermark, topic.log().log_end_offset) == (1, 2)
    assert topic.values() == [b"a", b"b"]


def test_high_watermark_advances_up_to_the_given_offset(topic: Topic) -> None:
    topic.hold_high_watermark(at=2)
    topic.send("a")
    topic.send("b")
    topic.send("c")
    assert topic.count() == 2
    held = topic.hold_high_watermark(at=3)
    assert topic.count() == 3
    topic.send("d")
    held.release()
    assert topic.count() == 4


def test_last_stable_offset_stays_with_the_held_high_watermark(topic: Topic) -> None:
    topic.layout("open", first=1, size=2, after=0)
    with topic.hold_high_watermark():
        topic.layout("only_markers", size=1)
        assert topic.log().offsets == (0, 1, 3, 4)


def test_held_high_watermark_survives_a_new_leader() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        topic = cluster.topic("t")
        with topic.hold_high_watermark():
            topic.send("a")
            cluster.topic("t").move_leader(2)
            assert topic.count() == 0
            cluster.broker(2).stop()
            assert topic.count() == 0
        assert topic.count() == 1


def test_high_watermark_never_decreases(topic: Topic) -> None:
    topic.send("a")
    with pytest.raises(ValueError, match="t-0 cannot be held at 0: it is 1 already"):
        topic.hold_high_watermark(at=0)


def test_second_release_has_no_effect(topic: Topic) -> None:
    held = topic.hold_high_watermark()
    held.release()
    with topic.hold_high_watermark():
        topic.send("a")
        held.release()
        assert topic.count() == 0


def test_release_after_deletion_of_the_topic_has_no_effect(topic: Topic) -> None:
    held = topic.hold_high_watermark()
    topic.delete()
    held.release()
    assert repr(held) == "<the high watermark of t-0 does not advance, released>"


# Leaders and replicas


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    """Three brokers with a topic "t" of one partition, led by broker 1."""
    with kafkalet.Cluster(brokers=3) as running:
        running.topic("t").create(assignments=[[1, 2, 3]])
        yield running


def state_of(cluster: kafkalet.Cluster) -> tuple[int, list[int], int]:
    """Return leader, in-sync replicas and leader epoch of t-0."""
    state = cluster._server.metadata.topics["t"].partitions[0]
    return state.leader, sorted(state.isr), state.leader_epoch


def ends(cluster: kafkalet.Cluster) -> dict[int, int]:
    """Return the log end offset of each replica that is online."""
    return {
        node_id: node.partitions["t", 0].log.log_end_offset
        for node_id, node in cluster._server.nodes.items()
        if ("t", 0) in node.partitions
    }


def test_truncation_removes_records_from_all_replicas(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").send("a")
    cluster.topic("t").send("b")
    cluster.topic("t").send("c")
    topic = cluster.topic("t").truncate(1)
    assert topic.values() == [b"a"]
    assert ends(cluster) == {1: 1, 2: 1, 3: 1}
    assert state_of(cluster) == (1, [1, 2, 3], 1)
    topic.send("d")
    assert topic.values() == [b"a", b"d"]
    assert [[entry.leader_epoch for entry in entries(topic, node)] for node in (1, 2, 3)] == [[0, 1]] * 3


def test_truncation_removes_the_batch_that_contains_the_offset(topic: Topic) -> None:
    topic.layout("committed", first=2, size=3, after=2).truncate(3)
    assert [record.offset for record in topic.records()] == [0, 1]
    assert topic.log().offsets == (0, 3, 3, 3)
    assert topic.send("next").offset == 3


def test_truncation_reopens_a_transaction_whose_marker_it_removes(topic: Topic) -> None:
    topic.layout("committed", first=2, size=3, after=0).truncate(5)
    assert (topic.count(), topic.count("read_committed")) == (5, 2)


def test_truncation_outside_the_log_is_refused(topic: Topic) -> None:
    topic.send_batch(["a", "b", "c"])
    topic.delete_records(1)
    for to in (0, 4):
        with pytest.raises(ValueError, match=f"t-0 cannot be truncated to {to}; allowed are 1 .* to 3"):
            topic.truncate(to)


def test_held_follower_truncates_when_it_is_released(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").send("a")
    topic = cluster.topic("t")
    topic.send("b")
    held = cluster.hold_replication(2)
    topic.truncate(1)
    assert ends(cluster) == {1: 1, 2: 2, 3: 1}
    assert state_of(cluster) == (1, [1, 3], 1)
    held.release()
    assert ends(cluster) == {1: 1, 2: 1, 3: 1}
    assert state_of(cluster) == (1, [1, 2, 3], 1)


def test_truncation_of_committed_offsets_is_seen_by_the_group_coordinator(kafka: kafkalet.Broker) -> None:
    def commit(offset: int) -> None:
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        member: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
        Asking(kafka)(Api.OFFSET_COMMIT, 8, group_id="g", **member, topics=topics)

    kafka.topic("t", 1).send("a")
    Asking(kafka)(Api.FIND_COORDINATOR, 3, key="g", key_type=0)
    commit(0)
    offsets = kafka.topic("__consumer_offsets")
    [(index, end)] = [(log.partition, log.log_end_offset) for log in offsets.logs if log.log_end_offset]
    commit(1)
    offsets.truncate(end, partition=index)
    topics = [{"name": "t", "partition_indexes": [0]}]
    answer = Asking(kafka)(Api.OFFSET_FETCH, 5, group_id="g", topics=topics)
    assert answer["topics"][0]["partitions"][0]["committed_offset"] == 0


def test_new_leader_epoch_keeps_the_leader(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").send("a")
    topic = cluster.topic("t")
    topic.new_leader_epoch()
    topic.new_leader_epoch()
    topic.send("b")
    assert state_of(cluster) == (1, [1, 2, 3], 2)
    assert [entry.leader_epoch for entry in entries(topic, 3)] == [0, 2]
    assert topic.count() == 2


def test_entries_of_several_epochs_can_be_appended_after_new_epochs(topic: Topic) -> None:
    topic.new_leader_epoch().new_leader_epoch()
    topic.append_batches(batch(0, leader_epoch=0) + batch(1, leader_epoch=1) + batch(2, leader_epoch=2)).send("x")
    assert [entry.leader_epoch for entry in entries(topic)] == [0, 1, 2, 2]


def test_leader_moves_to_an_in_sync_replica(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").send("a")
    cluster.topic("t").move_leader(2)
    assert state_of(cluster) == (2, [1, 2, 3], 1)


def test_leader_moves_out_of_the_isr_only_if_unclean_is_set(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").send("a")
    cluster.topic("t").shrink_isr(2)
    topic = cluster.topic("t")
    topic.send("b")
    with pytest.raises(KafkaError) as error:
        topic.move_leader(2)
    assert error.value.code is Code.PREFERRED_LEADER_NOT_AVAILABLE
    topic.move_leader(2, unclean=True)
    assert topic.values() == [b"a"]
    assert state_of(cluster) == (2, [1, 2, 3], 1)
    assert ends(cluster) == {1: 1, 2: 1, 3: 1}


def test_leader_cannot_move_to_a_broker_without_replica_or_a_stopped_one(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    with pytest.raises(ValueError, match="broker 4 has no replica of t-0; its replicas are on brokers 1, 2, 3"):
        topic.move_leader(4)
    cluster.broker(3).stop()
    with pytest.raises(ValueError, match=r"broker 3 is stopped; broker\(3\).start\(\) starts it again"):
        topic.move_leader(3, unclean=True)


def test_follower_leaves_and_joins_the_isr_immediately(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    with topic.shrink_isr(2, 3):
        topic.send("a")
        assert (state_of(cluster), ends(cluster), topic.count()) == ((1, [1], 0), {1: 1, 2: 0, 3: 0}, 1)
    assert (state_of(cluster), ends(cluster)) == ((1, [1, 2, 3], 0), {1: 1, 2: 1, 3: 1})


def test_replica_that_was_truncated_within_a_batch_follows_a_leader_that_has_the_batch(
    cluster: kafkalet.Cluster,
) -> None:
    topic = cluster.topic("t")
    topic.send_batch(["a", "b"])
    with topic.shrink_isr(2):
        topic.truncate(1)
        topic.move_leader(2, unclean=True)
    topic.send("c")
    assert topic.values() == [b"a", b"b", b"c"]
    assert sorted(cluster._server.metadata.topics["t"].partitions[0].isr) == [1, 2, 3]


def test_replica_without_the_batch_follows_a_leader_that_was_truncated_within_it(cluster: kafkalet.Cluster) -> None:
    """The log of the leader ends with an offset that has no record, which followers cannot fetch."""
    topic = cluster.topic("t").move_leader(1)
    with topic.take_offline(broker=2):
        topic.send_batch(["a", "b"])
        topic.truncate(1)
    topic.send("c")
    assert topic.values() == [b"c"]
    assert sorted(cluster._server.metadata.topics["t"].partitions[0].isr) == [1, 2, 3]


def test_new_replica_follows_a_log_that_starts_within_a_batch(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    with topic.shrink_isr(2):
        topic.send_batch(["a", "b"])
        topic.delete_records(1)
    topic.move_leader(2)
    topic.send("c")
    assert topic.values() == [b"b", b"c"]
    assert topic.log().log_start_offset == 1


def test_new_topic_with_the_name_of_a_deleted_one_is_replicated(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").shrink_isr(2, 3)
    cluster.topic("t").delete()
    topic = cluster.topic("t", partitions=1, replication_factor=3)
    topic.send("a")
    assert topic.values() == [b"a"]


def test_only_followers_leave_the_isr(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(ValueError, match="broker 1 is not a follower of t-0, which has leader 1 and followers "):
        cluster.topic("t").shrink_isr(2, 1)
    assert state_of(cluster) == (1, [1, 2, 3], 0)
    with pytest.raises(ValueError, match="needs the id of at least one broker"):
        cluster.topic("t").shrink_isr()


def test_partition_without_online_replica_has_no_leader(kafka: kafkalet.Broker, topic: Topic) -> None:
    offline = topic.layout("open", first=2, size=1, after=0).delete_records(1).take_offline()
    fetched = Asking(kafka)(Api.METADATA, 9, topics=[{"name": "t"}], allow_auto_topic_creation=False)["topics"][0][
        "partitions"
    ][0]
    assert (fetched["error_code"], fetched["leader_id"]) == (Code.LEADER_NOT_AVAILABLE, -1)
    assert fetched["offline_replicas"] == [1]
    with pytest.raises(KafkaError) as error:
        topic.send("x")
    assert error.value.code is Code.LEADER_NOT_AVAILABLE
    offline.release()
    assert topic.log().offsets == (1, 2, 3, 3)
    topic.send("x")
    assert topic.count() == 3


def test_request_to_an_offline_replica_gets_a_storage_error(kafka: kafkalet.Broker, topic: Topic) -> None:
    topic.take_offline()
    partition = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    asked = [{"name": "t", "partitions": [partition]}]
    answer = Asking(kafka)(Api.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=asked)
    assert answer["topics"][0]["partitions"][0]["error_code"] == Code.KAFKA_STORAGE_ERROR


def test_wrong_checksum_survives_offline_time(topic: Topic) -> None:
    damaged = bytearray(batch(0))
    damaged[17] ^= 1
    topic.append_batches(damaged).take_offline().release()
    assert [entry.to_bytes() for entry in entries(topic)] == [bytes(damaged)]


def test_leader_moves_away_from_an_offline_replica(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    topic.send("a")
    with topic.take_offline(broker=1):
        assert state_of(cluster) == (2, [2, 3], 1)
        topic.send("b")
    assert state_of(cluster) == (2, [1, 2, 3], 1)
    assert ends(cluster) == {1: 2, 2: 2, 3: 2}


def test_all_replicas_go_offline_and_come_back(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    topic.send("a")
    with topic.take_offline():
        assert (state_of(cluster)[:2], ends(cluster)) == ((-1, []), {})
    topic.send("b")
    assert state_of(cluster)[:2] == (1, [1, 2, 3])
    assert ends(cluster) == {1: 2, 2: 2, 3: 2}


def test_offline_replicas_are_part_of_a_snapshot(kafka: kafkalet.Broker, topic: Topic) -> None:
    topic.send("a")
    topic.send("b")
    topic.delete_records(1).take_offline()
    kafka.restore(kafka.snapshot())
    assert topic.values() == [b"b"]


def test_replica_goes_offline_only_once(topic: Topic) -> None:
    topic.take_offline()
    with pytest.raises(ValueError, match=r"no replica of t-0 on broker 1 is online$"):
        topic.take_offline(broker=1)


def test_stopped_and_started_broker_opens_its_offline_replicas(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    topic.send("a")
    topic.take_offline(broker=2)
    cluster.broker(2).stop()
    cluster.broker(2).start()
    assert ends(cluster) == {1: 1, 2: 1, 3: 1}
    assert topic.count() == 1


@pytest.mark.parametrize(("version", "number", "warns"), [("2.15.0", 0x020F00FF, True), ("2.16.0", 0x021000FF, False)])
def test_old_magic_warns_of_a_loaded_librdkafka_that_aborts_the_process(
    cluster: kafkalet.Cluster, monkeypatch: pytest.MonkeyPatch, version: str, number: int, warns: bool
) -> None:
    client = SimpleNamespace(libversion=lambda: (version, number))
    monkeypatch.setitem(sys.modules, "confluent_kafka", client)  # type: ignore[arg-type]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cluster.topic("t").layout("committed").layout("old_magic")
    assert [(each.filename, f"librdkafka {version} aborts" in str(each.message)) for each in caught] == (
        [(__file__, True)] if warns else []
    )


def test_old_magic_without_librdkafka_warns_of_nothing(
    cluster: kafkalet.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "confluent_kafka", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.topic("t").layout("old_magic")
