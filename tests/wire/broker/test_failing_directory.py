"""Brokers with several log directories, one of which fails: the errors that clients get, and the partitions that still
work.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.protocol.errors import Code
from kafkalet.storage.directories import DirectoriesRefused
from kafkalet_conformance.playing.target import Target
from tests.unit.storage.broken_disk import BrokenDisk
from tests.wire.brokers import Plain, Wire, batch

STORAGE_ERROR = Code.KAFKA_STORAGE_ERROR
CONFIG = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@contextmanager
def cluster_on(disk: BrokenDisk, path: Path, brokers: int = 1, **options: Any) -> Iterator[Wire]:
    """Run brokers with directories a and b; b is on `disk`."""
    cluster = kafkalet.Cluster(brokers, data_dir=[path / "a", path / "b"], config=CONFIG, **options)
    cluster._server.file_system = disk
    with cluster:
        wire = Wire(cluster)
        try:
            yield wire
        finally:
            wire.close()


@pytest.fixture
def disk(tmp_path: Path) -> BrokenDisk:
    return BrokenDisk(tmp_path / "b")


@pytest.fixture
def wire(disk: BrokenDisk, tmp_path: Path) -> Iterator[Wire]:
    """A broker with topic t: partitions 0 and 2 are in a, and 1 and 3 in b."""
    with cluster_on(disk, tmp_path) as wire:
        wire.cluster.topic("t").create(4)
        for index in range(4):
            assert wire.produce(batch(b"first"), index=index)["error_code"] == 0
        yield wire


def described(wire: Wire, node: int = 1) -> dict[str, int | list[tuple[str, int]]]:
    """Return the partitions in each log directory, or its error code, by the name of the directory."""
    found: dict[str, int | list[tuple[str, int]]] = {}
    for result in wire.ask("DescribeLogDirs", 4, {"topics": None}, node)["results"]:
        partitions = [
            (topic["name"], each["partition_index"]) for topic in result["topics"] for each in topic["partitions"]
        ]
        found[Path(result["log_dir"]).name] = result["error_code"] or sorted(partitions)
    return found


def partition_of(wire: Wire, index: int, topic: str = "t") -> Plain:
    [found] = wire.ask("Metadata", 5, {"topics": [{"name": topic}]})["topics"]
    return next(partition for partition in found["partitions"] if partition["partition_index"] == index)


def test_partitions_are_spread_over_the_directories(wire: Wire, tmp_path: Path) -> None:
    assert described(wire) == {"a": [("t", 0), ("t", 2)], "b": [("t", 1), ("t", 3)]}
    assert (tmp_path / "b" / "t-1").is_dir()
    assert (tmp_path / "a" / "kafkalet.json").exists()
    assert not (tmp_path / "b" / "kafkalet.json").exists()


def test_partitions_in_a_failed_directory_return_storage_error_and_others_continue(
    wire: Wire, disk: BrokenDisk
) -> None:
    disk.is_broken = True
    assert wire.produce(batch(b"x"), index=1)["error_code"] == STORAGE_ERROR
    disk.is_broken = False
    for index in (1, 3):
        assert wire.produce(batch(b"x"), index=index)["error_code"] == STORAGE_ERROR
        assert wire.fetch(index=index)["error_code"] == STORAGE_ERROR
        assert wire.list_offset(-1, index=index)["error_code"] == STORAGE_ERROR
    for index in (0, 2):
        assert wire.produce(batch(b"x"), index=index)["error_code"] == 0
        assert wire.fetch(index=index)["high_watermark"] == 2
    assert described(wire) == {"a": [("t", 0), ("t", 2)], "b": STORAGE_ERROR}


def test_partition_in_a_failed_directory_has_no_leader(disk: BrokenDisk, tmp_path: Path) -> None:
    with cluster_on(disk, tmp_path, version="3.9") as wire:
        wire.cluster.topic("t").create(4)
        disk.is_broken = True
        wire.produce(batch(b"x"), index=1)
        found = partition_of(wire, 3)
        assert (found["error_code"], found["leader_id"]) == (Code.LEADER_NOT_AVAILABLE, -1)
        assert (found["replica_nodes"], found["isr_nodes"], found["offline_replicas"]) == ([1], [1], [1])
        assert partition_of(wire, 0)["offline_replicas"] == []
        wanted = [{"topic": "t", "partitions": [1]}]
        for kind, code in ((0, Code.PREFERRED_LEADER_NOT_AVAILABLE), (1, Code.ELIGIBLE_LEADERS_NOT_AVAILABLE)):
            body = {"election_type": kind, "topic_partitions": wanted, "timeout_ms": 1000}
            [result] = wire.ask("ElectLeaders", 2, body)["replica_election_results"]
            assert result["partition_result"][0]["error_code"] == code


def test_waiting_request_completes_when_the_directory_of_its_partition_fails(wire: Wire, disk: BrokenDisk) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(index=3, offset=1, wait_ms=60_000)) as answer:
        disk.is_broken = True
        wire.produce(batch(b"x"), index=1)
        [topic] = answer()["responses"]
    assert topic["partitions"][0]["error_code"] == STORAGE_ERROR


@pytest.mark.parametrize("api", ["ListOffsets", "Fetch", "converted Fetch"])
def test_failed_read_takes_the_directory_offline(wire: Wire, disk: BrokenDisk, api: str) -> None:
    disk.is_broken = True
    if api == "ListOffsets":
        assert wire.list_offset(1000, index=3)["error_code"] == STORAGE_ERROR
    else:
        assert wire.fetch(index=3, version=12 if api == "Fetch" else 3)["error_code"] == STORAGE_ERROR
    assert described(wire)["b"] == STORAGE_ERROR


def test_follower_does_not_copy_from_a_directory_that_cannot_be_read(tmp_path: Path) -> None:
    disk = BrokenDisk(tmp_path / "b" / "broker-1")
    with cluster_on(disk, tmp_path, 2) as wire:
        wire.cluster.topic("t").create(assignments=[[1, 2], [1, 2]])
        held = wire.cluster.hold_replication(2)
        assert wire.produce(batch(b"x"), index=1)["error_code"] == 0
        disk.is_broken = True
        held.release()
        wire.until(lambda: ("t", 1) in wire.cluster._server.nodes[1].offline)
        assert partition_of(wire, 1)["leader_id"] == 2
        assert partition_of(wire, 0)["leader_id"] == 1


def test_new_partitions_go_to_the_directories_that_are_left(wire: Wire, disk: BrokenDisk) -> None:
    disk.is_broken = True
    wire.cluster.topic("u").create(3)
    assert described(wire) == {"a": [("t", 0), ("t", 2), ("u", 0), ("u", 1), ("u", 2)], "b": STORAGE_ERROR}


def test_coordinator_in_a_failed_directory_is_not_available(disk: BrokenDisk, tmp_path: Path) -> None:
    with cluster_on(disk, tmp_path) as wire:
        wire.cluster.topic("t").create(1)
        commit = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        body = {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": [{"name": "t", "partitions": [commit]}]}
        assert wire.ask("FindCoordinator", 1, {"key": "g", "key_type": 0})["error_code"] == 0
        assert wire.ask("OffsetCommit", 2, body)["topics"][0]["partitions"][0]["error_code"] == 0
        assert described(wire)["b"] == [("__consumer_offsets", 0)]
        disk.is_broken = True
        for _ in range(2):
            answer = wire.ask("OffsetCommit", 2, body)
            assert answer["topics"][0]["partitions"][0]["error_code"] == Code.NOT_COORDINATOR
        answer = wire.ask("FindCoordinator", 1, {"key": "g", "key_type": 0})
        assert answer["error_code"] == Code.COORDINATOR_NOT_AVAILABLE


def test_other_broker_leads_when_the_directory_of_the_leader_fails(tmp_path: Path) -> None:
    disk = BrokenDisk(tmp_path / "b" / "broker-1")
    with cluster_on(disk, tmp_path, 2) as wire:
        wire.cluster.topic("t").create(assignments=[[1, 2], [1, 2]])
        assert wire.produce(batch(b"x"), index=1, acks=-1)["error_code"] == 0
        disk.is_broken = True
        assert wire.produce(batch(b"y"), index=1)["error_code"] == STORAGE_ERROR
        found = partition_of(wire, 1)
        assert (found["leader_id"], found["isr_nodes"], found["offline_replicas"]) == (2, [2], [1])
        assert wire.produce(batch(b"y"), index=1, node=2, acks=-1)["base_offset"] == 1
        assert partition_of(wire, 0)["isr_nodes"] == [1, 2]


def test_follower_whose_directory_fails_leaves_the_in_sync_replicas(tmp_path: Path) -> None:
    disk = BrokenDisk(tmp_path / "b" / "broker-2")
    with cluster_on(disk, tmp_path, 2) as wire:
        wire.cluster.topic("t").create(assignments=[[1, 2], [1, 2]])
        disk.is_broken = True
        assert wire.produce(batch(b"x"), index=1)["error_code"] == 0
        wire.until(lambda: wire.cluster._server.metadata.topics["t"].partitions[1].isr == [1])
        assert wire.fetch(index=1)["high_watermark"] == 1


def test_restart_brings_a_failed_directory_back(disk: BrokenDisk, tmp_path: Path) -> None:
    with cluster_on(disk, tmp_path) as wire:
        wire.cluster.topic("t").create(2)
        for index in range(2):
            assert wire.produce(batch(b"x"), index=index)["error_code"] == 0
        disk.is_broken = True
        wire.produce(batch(b"y"), index=1)
    with cluster_on(disk, tmp_path) as wire:  # the disk is still broken
        assert described(wire) == {"a": [("t", 0)], "b": STORAGE_ERROR}
        assert wire.fetch(index=1)["error_code"] == STORAGE_ERROR
        assert wire.fetch(index=0)["high_watermark"] == 1
    disk.is_broken = False
    with cluster_on(disk, tmp_path) as wire:
        assert described(wire) == {"a": [("t", 0)], "b": [("t", 1)]}
        assert wire.fetch(index=1)["high_watermark"] == 1


def test_embedded_broker_without_any_directory_returns_storage_error(tmp_path: Path) -> None:
    disk = BrokenDisk(tmp_path)
    with cluster_on(disk, tmp_path) as wire:
        wire.cluster.topic("t").create(2)
        disk.is_broken = True
        for index in (0, 1, 0):
            assert wire.produce(batch(b"x"), index=index)["error_code"] == STORAGE_ERROR
        assert described(wire) == {"a": STORAGE_ERROR, "b": STORAGE_ERROR}
        [topic] = wire.ask("CreateTopics", 5, {"topics": [{"name": "u"}]})["topics"]
        assert topic["error_code"] == STORAGE_ERROR


def test_snapshot_of_several_directories_is_restored(disk: BrokenDisk, tmp_path: Path) -> None:
    with cluster_on(disk, tmp_path) as wire:
        wire.cluster.topic("t").create(2)
        for index in range(2):
            wire.produce(batch(b"x"), index=index)
        snapshot = wire.cluster.snapshot()
        wire.cluster.topic("t").delete()
        wire.cluster.restore(snapshot)
        wire.forget_connections()
        assert described(wire) == {"a": [("t", 0)], "b": [("t", 1)]}
        assert [wire.fetch(index=index)["high_watermark"] for index in range(2)] == [1, 1]
        wire.cluster.reset()
        wire.forget_connections()
        assert described(wire) == {"a": [], "b": []}


def test_property_names_the_directories(tmp_path: Path) -> None:
    paths = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    with kafkalet.Broker(config={"log.dirs": paths}) as broker:
        broker.topic("t").create(2)
        assert broker._server.log_directories == paths.split(",")
    assert (tmp_path / "b" / "t-1").is_dir()
    with pytest.raises(ValueError, match=r"the property log\.dirs is set, too"):
        kafkalet.Broker(config={"log.dirs": paths}, data_dir=tmp_path)
    with pytest.raises(DirectoriesRefused, match="is given 2 times"), kafkalet.Broker(data_dir=[tmp_path, tmp_path]):
        pass


# In another process

Starter = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def serve() -> Iterator[Starter]:
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def replaced_by_a_file(path: Path) -> None:
    """Let a directory fail although the broker has its files open."""
    os.rename(path, path.with_name(path.name + "-gone"))
    path.write_text("")


def test_serve_ends_with_status_1_when_all_directories_have_failed(serve: Starter, tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    process = serve(*(word for path in paths for word in ("--data-dir", str(path))), "--topic", "t:2")
    assert process.stdout is not None
    address = process.stdout.readline().split("bootstrap=")[1].strip()
    connection = Target(address).connect()
    replaced_by_a_file(tmp_path / "b")
    connection.ask("CreateTopics", 5, {"topics": [{"name": "u"}, {"name": "v"}]})
    [a, b] = connection.ask("DescribeLogDirs", 4, {"topics": None})["results"]
    assert (a["error_code"], b["error_code"]) == (0, STORAGE_ERROR)
    replaced_by_a_file(tmp_path / "a")
    connection.send("CreateTopics", 5, {"topics": [{"name": "w"}]})
    said = process.communicate(timeout=20)[1]
    connection.close()
    assert process.returncode == 1
    assert f"all its log directories have failed: {tmp_path / 'a'}, {tmp_path / 'b'}" in said
    assert "Traceback" not in said


def test_serve_refuses_a_partition_that_is_in_two_directories(serve: Starter, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "t-0").mkdir(parents=True)
        (tmp_path / name / "t-0" / "00000000000000000000.log").write_bytes(b"")
    process = serve("--set", f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}")
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 1
    assert "partition t-0 is in two log directories" in said
    assert "Traceback" not in said


def test_serve_stops_with_status_0_after_one_of_two_directories_has_failed(serve: Starter, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("")
    process = serve("--data-dir", str(tmp_path / "a"), "--data-dir", str(tmp_path / "b"))
    assert process.stdout is not None
    assert process.stdout.readline().startswith("kafkalet ready")
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 0
    assert "this log directory is offline" in said


# The methods of the test kit


def test_log_dir_fails_and_is_restored(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=[tmp_path / "a", tmp_path / "b"]) as broker:
        broker.topic("t", partitions=2).send("one", partition=0)
        topic = broker.topic("t", partitions=2)
        topic.send("two", partition=1)
        failed = broker.fail_log_dir(1)
        assert broker._server.metadata.topics["t"].partitions[1].leader == -1
        topic.send("three", partition=0)
        with pytest.raises(ValueError, match="b cannot fail: it is offline already"):
            broker.fail_log_dir(tmp_path / "b")
        failed.release()
        topic.send("four", partition=1)
        assert topic.values(partition=1) == [b"two", b"four"]
        with pytest.raises(ValueError, match="no log directory number 2; they are numbered from 0 to 1"):
            broker.fail_log_dir(2)


def test_temporary_log_dir_of_one_broker_fails_and_is_restored() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        topic = cluster.topic("t", partitions=1, replication_factor=2)
        topic.send("one")
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        with pytest.raises(ValueError, match="broker is missing; name one of 1, 2"):
            cluster.fail_log_dir()
        failed = cluster.fail_log_dir(broker=leader)
        state = cluster._server.metadata.topics["t"].partitions[0]
        assert (state.leader, state.isr) == (3 - leader, [3 - leader])
        topic.send("two")
        failed.release()
        assert sorted(state.isr) == [1, 2]
        assert topic.values() == [b"one", b"two"]
