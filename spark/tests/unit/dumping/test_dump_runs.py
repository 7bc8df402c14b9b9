"""`kafkalet_spark.dumping.dump_runs`: a run is committed or not, at whatever step it was killed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalet_spark.dumping import dump_runs
from kafkalet_spark.dumping.dump_runs import (
    STAGING,
    Covered,
    DumpRun,
    File,
    clear_staging,
    commit,
    finish,
    pending,
    recover,
    run_path,
)
from kafkalet_spark.dumping.manifest import EMPTY, Dumped, Manifest, NoManifest, read_manifest, write_manifest

SETTINGS = {"format": "jsonl"}


def run_of(out: Path, number: int, start: int, end: int, names: str = "ab") -> DumpRun:
    """Return a run with staged files of one record each."""
    files = []
    for offset, name in enumerate(names, start):
        staged = f"{STAGING}/attempt/{name}.jsonl"
        (out / staged).parent.mkdir(parents=True, exist_ok=True)
        (out / staged).write_text(f"{name}\n")
        files.append(
            File(staged, f"topic=t/partition=0/date=2013-01-01/{number}{name}.jsonl", "t", 0, offset, offset, 1, 2)
        )
    return DumpRun(number, "2013-01-01T00:00:00.000Z", SETTINGS, [Covered("t", 0, "id", start, end)], files)


def contents(out: Path) -> list[str]:
    """Return the files that are in place."""
    return sorted(path.name for path in out.glob("topic=*/*/*/*"))


def test_finished_run_is_in_place_and_in_the_manifest(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    commit(str(tmp_path), run)
    manifest = finish(str(tmp_path), run, EMPTY)
    assert contents(tmp_path) == ["1a.jsonl", "1b.jsonl"]
    assert manifest == read_manifest(str(tmp_path))
    assert manifest == Manifest(1, SETTINGS, {"t": "id"}, {("t", 0): Dumped(0, 5, 2)})


def test_run_record_is_read_back(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    commit(str(tmp_path), run)
    assert pending(str(tmp_path), EMPTY) == run


def test_later_run_continues_the_manifest(tmp_path: Path) -> None:
    before = Manifest(1, SETTINGS, {"t": "id", "u": None}, {("t", 0): Dumped(3, 5, 2), ("u", 1): Dumped(0, 9, 9)})
    after = run_of(tmp_path, 2, 5, 8).after(before)
    assert after.partitions == {("t", 0): Dumped(3, 8, 4), ("u", 1): Dumped(0, 9, 9)}
    assert after.topic_ids == {"t": "id", "u": None}
    assert after.run == 2


def test_uncommitted_run_is_removed(tmp_path: Path) -> None:
    run_of(tmp_path, 1, 0, 5)
    assert recover(str(tmp_path), EMPTY) == EMPTY
    assert not (tmp_path / STAGING).exists()
    assert contents(tmp_path) == []


class Killed(BaseException):
    """Simulates that the process was killed."""


@pytest.mark.parametrize("renames", range(5))
def test_run_killed_after_commit_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    run = run_of(tmp_path, 1, 0, 5, "abc")
    commit(str(tmp_path), run)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed_after(renames, os.replace))
        try:
            finish(str(tmp_path), run, EMPTY)
        except Killed:
            assert read_manifest(str(tmp_path)) == EMPTY
    manifest = recover(str(tmp_path), read_manifest(str(tmp_path)))
    assert manifest.partitions == {("t", 0): Dumped(0, 5, 3)}
    assert contents(tmp_path) == ["1a.jsonl", "1b.jsonl", "1c.jsonl"]
    assert not (tmp_path / STAGING).exists()
    assert recover(str(tmp_path), manifest) == manifest


def killed_after(count: int, rename: Callable[[str, str], None]) -> Callable[[str, str], None]:
    left = [count]

    def replace(source: str, target: str) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        rename(source, target)

    return replace


def test_run_killed_during_commit_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed_after(0, os.replace))
        with pytest.raises(Killed):
            commit(str(tmp_path), run)
    assert recover(str(tmp_path), EMPTY) == EMPTY
    assert contents(tmp_path) == []


def test_missing_staged_file_prevents_the_commit(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    (tmp_path / run.files[0].staged).unlink()
    with pytest.raises(FileNotFoundError):
        commit(str(tmp_path), run)
    assert pending(str(tmp_path), EMPTY) is None


def test_file_missing_after_the_commit_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    commit(str(tmp_path), run)
    clear_staging(str(tmp_path))
    with pytest.raises(NoManifest, match=r"1a\.jsonl does not exist and is not in _staging"):
        recover(str(tmp_path), EMPTY)


def test_run_in_the_manifest_is_not_pending(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    commit(str(tmp_path), run)
    manifest = finish(str(tmp_path), run, EMPTY)
    assert pending(str(tmp_path), manifest) is None
    assert os.path.exists(run_path(str(tmp_path), 1))


@pytest.mark.parametrize("text", ['{"version": 1}', '{"version": 1, "run": 1, "files": [{}]}'])
def test_invalid_run_record_is_named(tmp_path: Path, text: str) -> None:
    write_manifest(str(tmp_path), EMPTY)
    path = Path(run_path(str(tmp_path), 1))
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(NoManifest, match="not a valid run record"):
        recover(str(tmp_path), EMPTY)


def test_totals_of_a_run_are_sums_over_its_files(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 0, 5)
    assert (run.records, run.size_bytes) == (2, 4)
    assert dump_runs.RUNS == "_runs"
