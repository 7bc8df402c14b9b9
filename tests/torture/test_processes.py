"""A few killed brokers; `python -m tests.torture` kills more."""

from pathlib import Path

import pytest

from .processes import kill_and_check

SEED = 1


@pytest.mark.parametrize(("brokers", "kills"), [(1, 2), (3, 1)])
def test_acknowledged_records_survive_a_killed_process(tmp_path: Path, brokers: int, kills: int) -> None:
    killed = kill_and_check(tmp_path / "data", brokers, kills, SEED)
    print(f"seed {SEED}: {killed}")
    assert killed.kills == kills
    assert killed.records > 0
