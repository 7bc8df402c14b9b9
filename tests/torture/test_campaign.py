"""A thousand crashes; `python -m tests.torture` does more."""

import pytest

from kafkalet.storage.files import Buffer, File

from .campaign import Found, run, run_compaction, run_faults

SEED = 1
CRASHES = 1000
FAULTS = 300
COMPACTIONS = 160


def test_logs_survive_crashes() -> None:
    tried = run(SEED, CRASHES)
    print(f"seed {SEED}: {tried}")
    assert tried.crashes >= CRASHES
    assert tried.states > CRASHES / 3


def test_crash_is_reproducible_by_seed() -> None:
    first, second = (run(7, 1, only=12345) for _ in range(2))
    assert first[:3] == second[:3]


def test_deleted_segments_are_not_back_after_the_loss_of_power() -> None:
    run(4282, 1, only=788352882)


def test_a_missing_sync_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.storage.files.Descriptor.force", lambda self: None)
    with pytest.raises(Found, match="--seed 1 --crash 135520872"):
        run(SEED, 1, only=135520872)


def test_a_missing_truncation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.storage.segment.Segment.cut", lambda self, size_bytes: 0)
    with pytest.raises(Found, match="--seed 1 --crash 288545018"):
        run(SEED, 1, only=288545018)


def test_logs_survive_failing_disks() -> None:
    tried = run_faults(SEED, FAULTS)
    print(f"seed {SEED}: {tried}")
    assert tried.faults == FAULTS


def test_an_ignored_short_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_once(file: File, data: Buffer, position: int) -> None:
        file._pool.system.write(file.fileno(), data, position)

    monkeypatch.setattr("kafkalet.storage.files.File.write", write_once)
    with pytest.raises(Found, match="--seed 1 --fault 83"):
        run_faults(SEED, 1, only=83)


def test_compacted_logs_survive_crashes() -> None:
    tried = run_compaction(SEED, COMPACTIONS)
    print(f"seed {SEED}: {tried}")
    assert tried.crashes == COMPACTIONS


def test_an_unfinished_swap_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.storage.recovery._swap_in", lambda *_: None)
    with pytest.raises(Found, match="--seed 1 --compaction 288545018"):
        run_compaction(SEED, 1, only=288545018)
