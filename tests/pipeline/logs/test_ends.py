"""Log end and last stable offset, beside what the log itself says."""

from pathlib import Path

import pytest

from kafkalet.pipeline.logs.directory import open_partition
from kafkalet.pipeline.logs.ends import last_stable_offset, log_end_offset

from .made import CONFIG, Made


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "data")


def ends(made: Made) -> tuple[int, int]:
    seen = made.seen()
    return last_stable_offset(seen), log_end_offset(seen)


def test_without_transactions_everything_is_stable(made: Made) -> None:
    made.append(1, 2, 3)
    assert ends(made) == (3, 3)
    made.close()


def test_an_open_transaction_holds_the_stable_offset_back(made: Made) -> None:
    made.append(1)
    made.transactional(7, 2, 3)
    made.transactional(8, 4)
    made.append(5)
    assert ends(made) == (1, 5)
    made.end(7, commit=True)
    assert ends(made) == (3, 6)
    made.end(8, commit=False)
    assert ends(made) == (7, 7)
    made.close()


def test_a_snapshot_remembers_what_began_long_ago(made: Made) -> None:
    made.transactional(7, 2)
    for at in range(60):
        made.append(at)
    assert len(made.log.segments) > 2
    assert ends(made) == (0, 61)
    made.close()
    seen = open_partition(str(made.place))
    assert last_stable_offset(seen) == 0


@pytest.mark.parametrize(("lifts", "stable"), [(True, 2), (False, 1)])
def test_records_deleted_out_of_an_open_transaction(tmp_path: Path, lifts: bool, stable: int) -> None:
    made = Made(tmp_path / "data", CONFIG._replace(lifts_unstable_to_log_start=lifts))
    made.append(0)
    made.transactional(7, 1, 2, 3)
    made.log.roll()
    made.append(4)
    made.log.maybe_increment_log_start_offset(2)
    assert made.log.last_stable_offset == stable
    assert last_stable_offset(made.seen(), within_entry=not lifts) == stable
    made.close()


def test_all_is_stable_once_all_is_deleted(made: Made) -> None:
    made.transactional(7, 1, 2)
    made.delete_until(2)
    assert last_stable_offset(made.seen()) == made.log.last_stable_offset == 2
    made.close()
