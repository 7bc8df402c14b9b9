"""Every planted fault is reported exactly once, with its file, and sound directories have no findings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kafkalet.formats import offsets_bytes
from kafkalet_spark.audit import AuditOptions, Verdict
from kafkalet_spark.audit.kafka_startup import REACTIONS
from kafkalet_spark.logs.checkpoints import read_offsets
from kafkalet_spark.logs.directory import topic_partition
from spark.tests.unit.logs.recording import DATA, unpack

from .audited import audited
from .faults import FAULTS, create_directory, file

RELEASES = sorted(path.stem.removeprefix("kafka-") for path in DATA.glob("kafka-*.json"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_directory(tmp_path_factory.mktemp("faults") / "data")


def text_of(verdict: Verdict) -> str:
    return "\n".join(verdict.lines())


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found_once(sound: Path, tmp_path: Path, name: str) -> None:
    directory = Path(shutil.copytree(sound, tmp_path / "data"))
    fault = FAULTS[name]
    names = {each: str(file(directory, each)) for each in (*fault.not_checked, *(file for _, file, _ in fault.found))}
    fault.plant(directory)
    verdict = audited(directory)
    found = [(cause.finding.fault, cause.finding.file, cause.following) for cause in verdict.causes]
    assert found == [(each, names[path], count) for each, path, count in fault.found], text_of(verdict)
    assert [skipped.path for skipped in verdict.coverage.not_checked] == [names[path] for path in fault.not_checked]
    assert verdict.exit_status == (1 if fault.found else 3)
    assert "everything agrees" not in text_of(verdict)


def test_sound_directory_agrees(sound: Path) -> None:
    verdict = audited(sound)
    assert verdict.exit_status == 0, text_of(verdict)
    coverage = verdict.coverage
    assert (coverage.partitions_read, coverage.bytes_read) == (coverage.partitions, coverage.size_bytes) == (4, 34926)


def test_sound_directory_agrees_after_unclean_shutdown(sound: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(sound, tmp_path / "data"))
    (directory / ".kafka_cleanshutdown").unlink()
    assert audited(directory).exit_status == 0


def complete(directory: Path) -> None:
    """A recording has neither Kafka's internal topics nor the recovery points, which are the high watermarks after a
    clean stop."""
    path = directory / "replication-offset-checkpoint"
    there = {topic_partition(each.name) for each in directory.iterdir()}
    offsets = {key: offset for key, offset in read_offsets(str(path)).items() if key in there}
    path.write_bytes(offsets_bytes(offsets))
    (directory / "recovery-point-offset-checkpoint").write_bytes(offsets_bytes(offsets))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("state", ["running", "stopped"])
def test_recorded_directory_of_kafka_agrees(tmp_path: Path, release: str, state: str) -> None:
    unpack(json.loads((DATA / f"kafka-{release}.json").read_text())[state], tmp_path)
    complete(tmp_path)
    verdict = audited(tmp_path, AuditOptions(compacted=("compacted",)))
    assert verdict.exit_status == 0, text_of(verdict)


def test_every_fault_has_a_reaction() -> None:
    assert {fault for each in FAULTS.values() for fault, _, _ in each.found} <= REACTIONS.keys()
