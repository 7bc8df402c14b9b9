"""The staging directory of a load."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import kafkalet
from kafkalet.protocol.records.batch import batches
from kafkalet_spark.logs.directory import find
from kafkalet_spark.writing import staging
from kafkalet_spark.writing.target import Start, TargetDirectory

from .making import load, log, numbered, writer


def test_staging_directories_are_not_listed_as_logs(tmp_path: Path) -> None:
    target = TargetDirectory(str(tmp_path))
    for name in (staging.writing(target, "j_1_2"), staging.committed(target, "j_1_2")):
        os.makedirs(os.path.join(name, "t-0"))
    assert find([str(tmp_path)]) == []


def test_uncommitted_directory_is_deleted_by_a_broker(tmp_path: Path) -> None:
    name = staging.writing(TargetDirectory(str(tmp_path)), staging.new_job())
    os.makedirs(os.path.join(name, "0-0"))
    with kafkalet.Broker(data_dir=tmp_path):
        assert not os.path.exists(name)
    # Apache Kafka deletes TOPIC-PARTITION.UNIQUE-delete (LocalLog.parseTopicPartitionName); test_apache_kafka.py
    assert re.fullmatch(r"\.kafkalog-0\.[0-9a-z_]+-delete", os.path.basename(name))


def test_committed_directories_are_found(tmp_path: Path) -> None:
    target = TargetDirectory(str(tmp_path))
    os.makedirs(staging.writing(target, "a_1_1"))
    os.makedirs(done := staging.committed(target, "b_2_2"))
    assert staging.unfinished(target) == [done]
    assert staging.job_of(done) == "b_2_2"


def test_directories_of_exited_processes_are_deleted(tmp_path: Path) -> None:
    target = TargetDirectory(str(tmp_path))
    process = subprocess.Popen(["true"])
    process.wait()
    host = staging.new_job().split("_")[0]
    kept = [staging.new_job(), f"00000000_{process.pid}_1"]  # one of this process's parent, one of another machine
    for job in (*kept, f"{host}_{process.pid}_2"):
        os.makedirs(staging.writing(target, job) + "/0-0")
    staging.remove_abandoned(target)
    assert {os.path.basename(staging.writing(target, job)) for job in kept} == set(os.listdir(tmp_path))


@pytest.mark.parametrize("now", [Start(1000, 0), Start(0, 3), Start(5, 9)])
def test_batches_are_moved_in_place(tmp_path: Path, now: Start) -> None:
    load(tmp_path / "one", [numbered(0, 2000)])
    before = list(batches(Path(log(tmp_path / "one").segments[0].path).read_bytes()))
    job = tmp_path / "two"
    sink = writer(job, ["key", "value", "timestamp"], {"topic": "t"})
    fragment = sink.write_task(iter([numbered(0, 2000)]), 0, 0).fragments[0]
    path = os.path.join(staging.writing(TargetDirectory(str(job)), sink.job), fragment.directory, f"{0:020d}.log")
    staging.move_batches(path, Start(0, 0), now)
    after = list(batches(Path(path).read_bytes()))
    assert len(after) == len(before) > 3
    for old, new in zip(before, after, strict=True):
        new.check_crc()
        assert (new.base_offset, new.leader_epoch) == (old.base_offset + now.offset, now.leader_epoch)
        assert new.to_bytes()[16:] == old.to_bytes()[16:]
