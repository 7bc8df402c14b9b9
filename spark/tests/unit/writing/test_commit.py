"""A load is visible as a whole or not at all, at whatever step it was killed."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.formats import offsets_bytes, parse_offsets
from kafkalet_spark.writing.commit import recover
from kafkalet_spark.writing.target import DirectoryInUse, NotAppendable

from .making import load, log, numbered, records, writer

COLUMNS = ["key", "value", "timestamp"]
CHANGES = ("rename", "replace", "fsync")
"""The operations of a commit that change the directory, except writes to files that are not visible yet."""


class Killed(BaseException):
    """Simulates that the process was killed."""


@contextmanager
def killed_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the process die after so many steps."""
    done: list[str] = []

    def counted(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            if len(done) >= steps:
                raise Killed
            done.append(name)
            return change(*arguments)

        return step

    with monkeypatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, counted(name, getattr(os, name)))
        yield done


def values(path: Path) -> list[list[bytes | None]]:
    partitions = sorted(int(name.name[2:]) for name in path.glob("t-*"))
    return [[record.value for record in records(path, partition)] for partition in partitions]


def begin(path: Path, **options: Any) -> Callable[[], None]:
    """Run the tasks of a job. Return a function that commits it."""
    overwrite = bool(options.pop("overwrite", False))
    job = writer(path, COLUMNS, {"topic": "t", **options}, overwrite=overwrite)
    messages = [job.write_task(iter([numbered(300 + 100 * task, 100)]), task, task) for task in range(2)]
    return lambda: job.commit(list(messages))


def every_way_to_die(
    before: Path, work: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> list[list[list[bytes | None]]]:
    """Yield the content of the log after a kill at each step and a recovery, and after a complete commit."""
    left = []
    for steps in range(1000):
        path = work / str(steps)
        shutil.copytree(before, path)
        finish = begin(path, **options)
        try:
            with killed_after(steps, monkeypatch):
                finish()
        except Killed:
            recover(str(path))
            left.append(values(path))
        else:
            assert steps > 8
            left.append(values(path))
            return left
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"partitions": 5}, {"overwrite": True}, {"overwrite": True, "partitions": 2}],
    ids=["append", "append and add partitions", "overwrite", "overwrite with fewer partitions"],
)
def test_killed_commit_has_no_effect_or_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    load(tmp_path / "before", [numbered(0, 300)], partitions=3)
    old = values(tmp_path / "before")
    *left, new = every_way_to_die(tmp_path / "before", tmp_path, monkeypatch, **options)
    assert old != new
    seen = [each for number, each in enumerate(left) if number == 0 or each != left[number - 1]]
    assert seen == [old, new]


def killed_as_soon_as_it_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit an append, but kill it right after the rename. Return its staging directory."""
    finish = begin(path)
    rename = os.rename

    def last(old: str, new: str) -> None:
        rename(old, new)
        if new.endswith(".commit"):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", last)
        with pytest.raises(Killed):
            finish()
    (staged,) = path.glob(".kafkalog-*.commit")
    return staged


def test_killed_commit_is_completed_by_the_next_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, [numbered(0, 300)])
    killed_as_soon_as_it_counts(tmp_path, monkeypatch)
    assert len(records(tmp_path)) == 300
    load(tmp_path, [numbered(500, 100)])
    assert len(records(tmp_path)) == 600
    assert not list(tmp_path.glob(".kafkalog-*"))


def test_completed_load_leaves_no_staging_files(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 300)], partitions=2)
    load(tmp_path, [numbered(0, 300)], overwrite=True)
    names = {path.name for path in tmp_path.iterdir()}
    checkpoints = {f"{name}-checkpoint" for name in ("recovery-point-offset", "replication-offset", "log-start-offset")}
    assert names == {"t-0", "t-1", ".lock", ".kafka_cleanshutdown", *checkpoints}


@pytest.mark.parametrize(("is_replaced", "dirty"), [(False, 150), (True, None)])
def test_replaced_log_has_not_been_compacted(tmp_path: Path, is_replaced: bool, dirty: int | None) -> None:
    load(tmp_path, [numbered(0, 300)])
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    checkpoint.write_bytes(offsets_bytes({("t", 0): 150, ("other", 0): 7}))
    load(tmp_path, [numbered(0, 300)], overwrite=is_replaced)
    expected = {("t", 0): dirty, ("other", 0): 7}
    assert parse_offsets(checkpoint.read_bytes()) == {key: at for key, at in expected.items() if at is not None}


@pytest.mark.parametrize(("is_replaced", "recovery_point"), [(False, 300), (True, 100)])
def test_log_that_needs_recovery_keeps_its_recovery_point(
    tmp_path: Path, is_replaced: bool, recovery_point: int
) -> None:
    load(tmp_path, [numbered(0, 300)])
    (tmp_path / ".kafka_cleanshutdown").unlink()
    load(tmp_path, [numbered(500, 100)], overwrite=is_replaced)
    points = parse_offsets((tmp_path / "recovery-point-offset-checkpoint").read_bytes())
    assert points == {("t", 0): recovery_point}


def test_commit_is_rejected_if_a_broker_has_started(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 300)])
    finish = begin(tmp_path)
    with kafkalet.Broker(data_dir=tmp_path), pytest.raises(DirectoryInUse):
        finish()
    assert len(records(tmp_path)) == 300


def test_job_is_rejected_while_a_broker_runs(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path), pytest.raises(DirectoryInUse):
        writer(tmp_path, COLUMNS, {"topic": "t"})


def test_concurrent_loads_are_appended_in_turn(tmp_path: Path) -> None:
    one, two = begin(tmp_path), begin(tmp_path)
    two()
    one()
    each = [b"%d" % number + b"." * 17 for number in range(300, 500)]
    assert [record.value for record in records(tmp_path)] == each + each


def test_append_to_a_log_that_has_grown_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, [numbered(0, 300)])
    waiting = killed_as_soon_as_it_counts(tmp_path, monkeypatch)
    hidden = waiting.rename(tmp_path.with_name("hidden"))
    load(tmp_path, [numbered(300, 5)])
    hidden.rename(waiting)
    with pytest.raises(NotAppendable, match=r"was appended to \(end offset 305\) before .* could be moved"):
        recover(str(tmp_path))
    assert len(records(tmp_path)) == 305


def test_recover_without_a_directory_does_nothing(tmp_path: Path) -> None:
    recover(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    load(tmp_path, [numbered(0, 3)])
    recover(str(tmp_path))
    assert log(tmp_path).segments[0].size > 0
