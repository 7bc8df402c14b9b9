"""A few crashes of brokers with share groups; `python -m tests.torture --shares 300` does more."""

from pathlib import Path

import pytest

from kafkalet.broker.share.persister import SharePersister

from .processes import Lost
from .sharing import Tried, crash_disks, kill_processes, move_leaders

SEED = 1


def _check(tried: Tried) -> None:
    print(f"seed {SEED}: {tried}")
    assert tried.done > 0


@pytest.mark.parametrize("brokers", [1, 3])
def test_acknowledgements_survive_a_killed_process(tmp_path: Path, brokers: int) -> None:
    _check(kill_processes(tmp_path / "data", brokers, 2, SEED))


def test_acknowledgements_survive_a_crashed_disk(tmp_path: Path) -> None:
    _check(crash_disks(tmp_path, 15, SEED))


def test_acknowledgements_survive_moves_of_leaders() -> None:
    _check(move_leaders(30, SEED))


def test_an_acknowledgement_that_is_not_stored_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def write(*_: object) -> None:
        pass

    monkeypatch.setattr(SharePersister, "write", write)
    with pytest.raises(Lost, match="was acknowledged, and is delivered again"):
        crash_disks(tmp_path, 15, SEED)
