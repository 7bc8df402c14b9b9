"""Tiered storage across brokers, restarts and crashes. Recorded scenarios compare the responses with Kafka's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.cluster.metadata_store import MetadataDamaged
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.log import Log
from kafkalet.storage.remote import RemoteSegment, RemoteStore
from kafkalet.storage.segment import Segment
from kafkalet.storage.values import Isolation
from kafkalet.testing.topic import Topic

TIERED = {"remote.log.storage.system.enable": "true", "rlmm.config.remote.log.metadata.topic.num.partitions": "2"}
TOPIC: dict[str, str | int] = {
    "remote.storage.enable": "true",
    "internal.segment.bytes": 100,
    "local.retention.bytes": 1,
}
VALUES = [f"value {number}".encode() for number in range(6)]


@pytest.fixture
def clock() -> ManualClock:
    return kafkalet.Clock.frozen()


@pytest.fixture
def start(clock: ManualClock, tmp_path: Path) -> Any:
    def start(brokers: int = 1, **config: str) -> kafkalet.Cluster:
        options = TIERED | {"rsm.config.dir": str(tmp_path / "remote")} | config
        return kafkalet.Cluster(brokers, config=options, clock=clock, data_dir=tmp_path / "data")

    return start


def fill(cluster: kafkalet.Cluster, name: str = "t", **config: str | int) -> Topic:
    """Create a topic with one record per segment, all but the last of which are only in remote storage."""
    topic = cluster.topic(name, partitions=1, config=TOPIC | config)
    for value in VALUES:
        topic.send(value)
    cluster.run_tiering()
    cluster.run_retention()
    return topic


def log_of(cluster: kafkalet.Cluster, broker: int = 1, topic: str = "t") -> Log:
    return cluster._server.nodes[broker].partition(topic, 0).log


def end_of_tier(cluster: kafkalet.Cluster) -> int:
    tier = log_of(cluster).local.tier
    assert tier is not None
    return tier.end_offset


def remote_files(tmp_path: Path) -> Iterator[str]:
    for path in sorted((tmp_path / "remote").rglob("*.*")):
        if path.parent.name.startswith("t-0-"):
            yield path.name[:20] + path.suffix


def test_segments_are_read_from_remote_storage(start: Any, tmp_path: Path) -> None:
    with start() as cluster:
        topic = fill(cluster)
        assert log_of(cluster).local_log_start_offset == 5
        assert topic.values() == VALUES
        files = list(remote_files(tmp_path))
    suffixes = ("index", "leader_epoch_checkpoint", "log", "snapshot", "timeindex")
    assert sorted(files) == sorted(f"{offset:020d}.{suffix}" for offset in range(5) for suffix in suffixes)


def test_remote_log_manager_runs_by_the_clock(start: Any, clock: ManualClock) -> None:
    with start() as cluster:
        topic = cluster.topic("t", partitions=1, config=TOPIC)
        for value in VALUES:
            topic.send(value)
        clock.advance(seconds=29)
        assert end_of_tier(cluster) == 0
        clock.advance(seconds=1)
        assert end_of_tier(cluster) == 5
        clock.advance(minutes=6)
        assert log_of(cluster).local_log_start_offset == 5


def test_remote_segments_are_known_after_a_restart(start: Any) -> None:
    with start() as cluster:
        fill(cluster)
    with start() as cluster:
        assert cluster.topic("t").values() == VALUES
        assert cluster.run_tiering() == []


@pytest.mark.parametrize("kills", [False, True])
def test_log_start_offset_stays_below_the_local_log(start: Any, kills: bool) -> None:
    with start() as cluster:
        topic = fill(cluster)
        topic.delete_records(before=2)
        cluster.run_tiering()
        if kills:
            cluster.broker(1).kill()
            cluster.broker(1).start()
        else:
            cluster.broker(1).stop()
            cluster.broker(1).start()
        cluster.run_tiering()
        assert cluster.topic("t").values() == VALUES[2:]


def test_segment_whose_copying_was_interrupted_by_a_crash_is_copied_again(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start() as cluster:
        topic = cluster.topic("t", partitions=1, config=TOPIC)
        for value in VALUES:
            topic.send(value)

        def crash(store: RemoteStore, log: Log, local: Segment, remote: RemoteSegment) -> None:
            if remote.start_offset == 2:
                raise ZeroDivisionError
            copy(store, log, local, remote)

        copy = RemoteStore.copy
        monkeypatch.setattr(RemoteStore, "copy", crash)
        with pytest.raises(ZeroDivisionError):
            cluster.run_tiering()
        monkeypatch.undo()
        cluster.broker(1).kill()
        cluster.broker(1).start()
        tier = log_of(cluster).local.tier
        assert tier is not None
        assert [(each.start_offset, each.state.name) for each in tier.known] == [
            (0, "COPY_SEGMENT_FINISHED"),
            (1, "COPY_SEGMENT_FINISHED"),
            (2, "COPY_SEGMENT_STARTED"),
        ]
        cluster.run_tiering()
        cluster.run_retention()
        assert log_of(cluster).local_log_start_offset == 5
        assert cluster.topic("t").values() == VALUES


def test_failed_copy_leaves_no_files_and_is_tried_again(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start() as cluster:
        topic = cluster.topic("t", partitions=1, config=TOPIC)
        topic.send(b"a")
        topic.send(b"b")
        snapshot = Path(log_of(cluster).producers.snapshots.path(1))
        kept = snapshot.read_bytes()
        snapshot.unlink()
        assert cluster.run_tiering() == []
        assert list(remote_files(tmp_path)) == []
        snapshot.write_bytes(kept)
        (tiered,) = cluster.run_tiering()
        assert (tiered.copied_segments, tiered.remote_end_offset) == (1, 1)


def test_deleted_topic_leaves_no_remote_segments(start: Any, tmp_path: Path) -> None:
    with start() as cluster:
        topic = fill(cluster)
        topic.delete()
        assert list(remote_files(tmp_path)) == []


def test_missing_remote_file_is_a_storage_error(start: Any, tmp_path: Path) -> None:
    with start() as cluster:
        fill(cluster)
        for path in (tmp_path / "remote").rglob("*.log"):
            path.unlink()
        log = log_of(cluster)
        with pytest.raises(StorageFailed):
            cluster._server.call(lambda: log.read(0, 100, Isolation.HIGH_WATERMARK, at_least_one=True))
        assert cluster._server.call(lambda: log.read(5, 100, Isolation.HIGH_WATERMARK, at_least_one=True)).records


def test_follower_begins_at_the_local_log_of_its_leader(start: Any) -> None:
    with start(3) as cluster:
        topic = cluster.topic("t", partitions=1, replication_factor=3, config=TOPIC)
        leader = cluster._server.metadata.partition("t", 0).leader
        follower = next(each for each in (1, 2, 3) if each != leader)
        cluster.broker(follower).stop()
        for value in VALUES:
            topic.send(value)
        cluster.run_tiering()
        cluster.run_retention()
        cluster.broker(follower).start()
        log = log_of(cluster, follower)
        assert (log.log_start_offset, log.segments.first.base_offset, log.log_end_offset) == (0, 5, 6)
        assert log.epochs.entries == log_of(cluster, leader).epochs.entries
        topic.move_leader(to=follower)
        assert topic.values() == VALUES
        for value in VALUES:
            topic.send(value)
        cluster.run_tiering()
        cluster.run_retention()
        assert topic.values() == VALUES * 2


def test_topics_are_not_tiered_without_remote_storage() -> None:
    with kafkalet.Broker() as broker:
        with pytest.raises(RuntimeError, match="there is no remote storage"):
            broker.run_tiering()
        with pytest.raises(KafkaError) as refused:
            broker.topic("t", config={"remote.storage.enable": "true"}).create()
        assert refused.value.code is Code.INVALID_CONFIG


def test_broker_with_tiered_topics_does_not_start_without_tiered_storage(start: Any) -> None:
    with start() as cluster:
        fill(cluster)
    without = start(**{"remote.log.storage.system.enable": "false"})
    with pytest.raises(MetadataDamaged, match="You have to delete all topics with the property"), without:
        pass
