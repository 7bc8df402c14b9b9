"""Logs that the log cleaner has cleaned: the source returns what consumers get, and the audit finds nothing wrong.

The logs are some of Apache Kafka in tests/recorded/cleaning, after the last cleaning of each topic. They contain
batches without records that keep the state of a producer, delete horizons, markers whose data is gone, entries for
aborted transactions whose first batches are gone, and segments that begin above their base offset.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.config.release import Release
from kafkalet.clock import ManualClock
from kafkalet.formats import epochs_bytes, offsets_bytes
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.file_system import FileSystem
from kafkalet_spark.audit import AuditOptions
from kafkalet_spark.options import read_options
from kafkalet_spark.source import LogReader, default_columns
from kafkalet_spark.tasks import ReadTask
from tests.recorded.cleaning.replay import TOPIC, clean, prepare
from tests.recorded.cleaning.rounds import ABORTED, Case, Round, entries, load, segments, write_files

from .audit.audited import audited, flip, remove
from .audit.audited import entries as log_entries

RELEASES = ("2.8", "3.9", "4.4")
OPTIONS = AuditOptions(chunk_bytes=4096)
LEVELS = ("read_uncommitted", "read_committed")


def last(case: Case) -> Round:
    """Return the last cleaning of a topic."""
    return next((each for each in reversed(case.rounds) if each.dirty != each.dirty_after), case.rounds[-1])


def write(cases: list[Case], path: Path) -> Path:
    """Write the logs to a data directory, as if the broker had been killed after the last cleaning of each."""
    checkpoints: dict[str, dict[tuple[str, int], int]] = {
        name: {}
        for name in (
            "recovery-point-offset-checkpoint",
            "replication-offset-checkpoint",
            "log-start-offset-checkpoint",
            "cleaner-offset-checkpoint",
        )
    }
    points, watermarks, starts, dirty = checkpoints.values()
    for case in cases:
        done, key = last(case), (case.name, 0)
        directory = path / f"{case.name}-0"
        write_files(done.after, directory)
        (directory / "leader-epoch-checkpoint").write_bytes(epochs_bytes([(0, 0)]))
        points[key], watermarks[key] = int(segments(done.after)[-1]), done.high_watermark
        if done.answers["start"]:
            starts[key] = done.answers["start"]
        if done.dirty_after is not None:
            dirty[key] = done.dirty_after
    for name, offsets in checkpoints.items():
        (path / name).write_bytes(offsets_bytes(offsets))
    return path


@pytest.fixture(scope="module", params=RELEASES)
def cleaned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Case], Path]:
    cases = load(request.param)[::2]
    return cases, write(cases, tmp_path_factory.mktemp("cleaned"))


def read(path: Path, topic: str, isolation: str) -> list[tuple[int, bytes | None, bytes | None, int]]:
    """Return offset, key, value and timestamp of all records that the source returns."""
    options = read_options({"path": str(path), "subscribe": topic, "isolationLevel": isolation})
    reader = LogReader(default_columns(options), options)
    rows = []
    for task in reader.partitions():
        assert isinstance(task, ReadTask)
        rows += [row for batch in reader.read(task) for row in batch.to_pylist()]
    return [(row["offset"], row["key"], row["value"], int(row["timestamp"].timestamp() * 1000)) for row in rows]


def consumed(done: Round, level: int) -> Iterator[tuple[int, str | None]]:
    """Yield offset and key of the records that a consumer of Apache Kafka gets from the recorded fetches."""
    batches = {batch.get("base_offset", batch.get("offset")): batch for batch in entries(done.after)}
    aborted: set[int] = set()
    for _, ranges, transactions in done.answers[f"fetched {level}"]:
        begins = sorted(transactions, key=lambda each: int(each[1]))
        for first, end, _ in ranges:
            batch = batches[first]
            while begins and begins[0][1] <= end:
                aborted.add(begins.pop(0)[0])
            if batch.get("control"):
                if any(each["marker"] == "ABORT" for each in batch["records"]):
                    aborted.discard(batch["producer_id"])
            elif not (level and batch.get("transactional") and batch["producer_id"] in aborted):
                yield from (each for each in rows(batch) if each[0] >= done.answers["start"])


def rows(batch: dict[str, Any]) -> list[tuple[int, str | None]]:
    if batch["magic"] == 2:
        return [(each["offset"], each["key"]) for each in batch["records"]]
    inner = batch.get("inner", [batch])
    base = batch["offset"] - inner[-1]["offset"] if batch["magic"] else 0  # relative offsets in format 1
    return [(base + each["offset"], each["key"]) for each in inner]


def is_remembered(done: Round) -> bool:
    """Return whether a transaction whose data was deleted is open in the memory of the broker, until it restarts."""
    answers = done.answers
    return bool(answers["start"] == answers["stable"] < answers["end"])


@pytest.mark.parametrize("level", range(2), ids=LEVELS)
def test_source_returns_what_consumers_of_apache_kafka_get(cleaned: tuple[list[Case], Path], level: int) -> None:
    cases, path = cleaned
    for case in cases:
        if not (level and is_remembered(last(case))):
            found = [
                (offset, None if key is None else key.decode())
                for offset, key, _, _ in read(path, case.name, LEVELS[level])
            ]
            assert found == list(consumed(last(case), level)), case


def test_audit_finds_nothing_wrong_in_logs_that_apache_kafka_cleaned(cleaned: tuple[list[Case], Path]) -> None:
    assert list(audited(cleaned[1], OPTIONS).findings) == []


class Snapshots(FileSystem):
    """Copies the data directory before each rename."""

    def __init__(self, directory: Path, copies: Path) -> None:
        super().__init__()
        self.directory, self.copies = directory, copies
        self.made: list[Path] = []

    def rename(self, old: str, new: str) -> None:
        self.made.append(self.copies / str(len(self.made)))
        shutil.copytree(self.directory, self.made[-1])
        super().rename(old, new)


def combining() -> Round:
    """Return a recorded cleaning that combined segments with aborted transactions."""
    for case in load("3.9"):
        for each in case.rounds:
            if len(segments(each.before)) > len(segments(each.after)) + 1 and each.answers["fetched 1"][0][2]:
                return each
    raise AssertionError


def opened(path: Path, done: Round, system: FileSystem | None = None) -> LogDirectory:
    """Open a data directory as a broker does, and complete what a crash has interrupted."""
    directory = LogDirectory(str(path), ManualClock(done.cleaned_at_ms), system=system or FileSystem())
    log = directory.get_or_create(TOPIC, 0, None, LogConfig.of(done.config, Release.of("3.9").log_rules))
    log.maybe_increment_high_watermark(log.log_end_offset)
    return directory


def test_source_reads_an_interrupted_cleaning_as_completed_or_as_not_done(tmp_path: Path) -> None:
    """A broker completes a swap when it opens the log. Until a file has been replaced, the source reads the old one."""
    done = combining()
    prepare(done, tmp_path / "data")
    system = Snapshots(tmp_path / "data", tmp_path)
    directory = opened(tmp_path / "data", done, system)
    clean(directory, done.cleaned_at_ms)
    directory.close()
    views = set()
    for path in system.made:
        found = read(path, TOPIC, LEVELS[1])
        undone = Path(f"{path}-undone")
        shutil.copytree(path, undone, ignore=shutil.ignore_patterns("*.swap", "*.cleaned"))
        opened(path, done).close()
        completed = read(path, TOPIC, LEVELS[1])
        if found != completed:
            opened(undone, done).close()
            assert found == read(undone, TOPIC, LEVELS[1]), path
        views.add(tuple(row[0] for row in completed))
    assert len(views) > 1


def test_log_that_kafkalet_has_cleaned_is_read_and_audited(tmp_path: Path) -> None:
    done = combining()
    prepare(done, tmp_path)
    directory = opened(tmp_path, done)
    clean(directory, done.cleaned_at_ms)
    directory.close()
    (tmp_path / f"{TOPIC}-0" / "leader-epoch-checkpoint").write_bytes(epochs_bytes([(0, 0)]))
    assert [row[:1] for row in read(tmp_path, TOPIC, LEVELS[1])] == [row[:1] for row in consumed(done, 1)]
    assert list(audited(tmp_path, OPTIONS).findings) == []


def damaged_record(log: Path) -> None:
    (position, size), *_ = (each for each in log_entries(log) if each[1] > 61)
    flip(log, position + size - 1)


def lost_index(log: Path) -> None:
    log.with_suffix(".txnindex").unlink()


def lost_entry(log: Path) -> None:
    remove(log.with_suffix(".txnindex"), 0, ABORTED.size)


@pytest.mark.parametrize(
    ("damage", "check"), [(damaged_record, "checksum"), (lost_index, "txn-index"), (lost_entry, "txn-index")]
)
def test_damage_of_a_cleaned_log_is_found(tmp_path: Path, damage: Callable[[Path], None], check: str) -> None:
    done = combining()
    write_files(done.after, tmp_path / f"{TOPIC}-0")
    (tmp_path / f"{TOPIC}-0" / "leader-epoch-checkpoint").write_bytes(epochs_bytes([(0, 0)]))
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(offsets_bytes({(TOPIC, 0): done.dirty_after or 0}))
    assert list(audited(tmp_path, OPTIONS).findings) == []
    damage(max((tmp_path / f"{TOPIC}-0").glob("*.txnindex")).with_suffix(".log"))
    assert check in {finding.check for finding in audited(tmp_path, OPTIONS).findings}
