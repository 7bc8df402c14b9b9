"""What is stored of share partitions, and when it is read again."""

from pathlib import Path

from kafkalet.broker.cluster.state_topics import partition_of
from kafkalet.broker.share.coordinator import coordinator_key
from kafkalet.broker.share.shard import StateShard
from kafkalet.protocol.errors import Code

from .requests import ACKNOWLEDGED, Store, store

UPDATES = "share.coordinator.snapshot.update.records.per.snapshot"


def shard(share: Store) -> StateShard:
    server = share.wire.cluster._server
    return server.call(lambda: server.brokers[1].coordinators.share.shard_of(share.key))


def log_view(share: Store) -> tuple[int, int]:
    """Return the log start offset and log end offset of the partition that stores the group."""
    index = partition_of(coordinator_key(share.key), 50)
    log = share.wire.cluster.topic("__share_group_state").log(index)
    return log.log_start_offset, log.log_end_offset


def test_state_survives_a_restart(tmp_path: Path) -> None:
    with store(data_dir=tmp_path) as share:
        assert share.initialize(start_offset=3)["error_code"] == Code.NONE
        assert share.write((3, 4, ACKNOWLEDGED, 1), start_offset=3)["error_code"] == Code.NONE
        assert share.write((5, 9, 0, 2), start_offset=4)["error_code"] == Code.NONE
    with store(data_dir=tmp_path) as share:
        assert share.summary()["start_offset"] == 4
        assert share.batches() == [(4, 4, ACKNOWLEDGED, 1), (5, 9, 0, 2)]


def test_deleted_state_stays_deleted_after_a_restart(tmp_path: Path) -> None:
    with store(data_dir=tmp_path) as share:
        share.initialize()
        share.delete()
    with store(data_dir=tmp_path) as share:
        assert share.read()["error_code"] == Code.INVALID_REQUEST


def test_state_moves_with_the_leader() -> None:
    with store(brokers=2, config={"share.coordinator.state.topic.num.partitions": 1}) as share:
        leader = share.wire.cluster.topic("__share_group_state").leader(0)
        topic = {"topic_id": share.topic_id, "partitions": [{"partition": 0, "state_epoch": 5, "start_offset": 7}]}
        body = {"group_id": "jobs", "topics": [topic]}
        share.wire.ask("InitializeShareGroupState", 0, body, leader)
        share.wire.cluster.topic("__share_group_state").move_leader(to=3 - leader)
        asked = {"topic_id": share.topic_id, "partitions": [{"partition": 0, "leader_epoch": 0}]}
        body = {"group_id": "jobs", "topics": [asked]}
        [before] = share.wire.ask("ReadShareGroupState", 0, body, leader)["results"][0]["partitions"]
        [after] = share.wire.ask("ReadShareGroupState", 0, body, 3 - leader)["results"][0]["partitions"]
    assert before["error_code"] == Code.NOT_COORDINATOR
    assert (after["state_epoch"], after["start_offset"]) == (5, 7)


def test_snapshot_follows_the_configured_number_of_updates() -> None:
    with store(config={UPDATES: 2}) as share:
        share.initialize()
        share.wire.cluster.clock.advance(minutes=2)  # the snapshot must not be cold after the next four minutes
        for offset in range(3):
            share.write((offset, offset, ACKNOWLEDGED, 1), start_offset=0)
        share.wire.cluster.clock.advance(minutes=4)
        start, end = log_view(share)
        assert end - start == 1  # the fourth record is a snapshot; those before it are redundant
        assert share.batches() == [(0, 2, ACKNOWLEDGED, 1)]


def test_cold_share_partition_is_written_again_so_that_later_records_can_be_deleted(share: Store) -> None:
    share.initialize()
    share.write((0, 0, ACKNOWLEDGED, 1), start_offset=0)
    share.wire.cluster.clock.advance(minutes=16)
    start, end = log_view(share)
    assert start == end - 1
    assert share.batches() == [(0, 0, ACKNOWLEDGED, 1)]


def test_deleting_a_topic_deletes_its_state(share: Store) -> None:
    share.initialize()
    state = shard(share)
    share.wire.cluster.topic("t").delete()
    assert share.wire.cluster._server.call(lambda: dict(state._stored)) == {}


def test_record_that_cannot_be_decoded_is_skipped(tmp_path: Path) -> None:
    with store(data_dir=tmp_path) as share:
        share.initialize(start_offset=3)
        index = partition_of(coordinator_key(share.key), 50)
        share.wire.cluster.topic("__share_group_state").send(b"?", key=b"\0\0?", partition=index)
        share.wire.cluster.topic("__share_group_state").send(b"?", key=b"\0\7?", partition=index)
    with store(data_dir=tmp_path) as share:
        assert share.summary()["start_offset"] == 3
