"""Log end offset and last stable offset, compared with those of the log itself."""

from pathlib import Path

import pytest

from kafkalet_spark.logs.directory import open_partition
from kafkalet_spark.logs.ends import LogEnd, log_end, log_end_offset
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.transactions import last_stable_offset

from .made import CONFIG, Made


@pytest.fixture
def rolled(tmp_path: Path) -> Made:
    rolled = Made(tmp_path / "data", CONFIG._replace(segment_bytes=3000))
    for at in range(45):
        rolled.append(at, at)
    rolled.close()
    return rolled


def end(rolled: Made) -> LogEnd:
    return log_end(open_partition(str(rolled.place)))


def test_log_ends_after_the_last_entry(rolled: Made) -> None:
    path = Path(rolled.log.segments.active.path)
    assert end(rolled) == LogEnd(90, str(path), path.stat().st_size, None)


def test_empty_last_segment_begins_at_the_end(rolled: Made) -> None:
    rolled.open()
    rolled.log.roll()
    rolled.close()
    assert end(rolled)[0::2] == (90, 0)


def test_empty_log_ends_at_its_start(tmp_path: Path) -> None:
    rolled = Made(tmp_path / "data")
    assert log_end(rolled.seen()).offset == 0
    rolled.log.truncate_fully_and_start_at(77)
    assert log_end(rolled.seen()).offset == 77
    rolled.close()


def test_log_without_files_ends_at_its_start(rolled: Made) -> None:
    (rolled.path / "log-start-offset-checkpoint").write_text("0\n1\na.b-c 0 500\n")
    assert end(rolled).offset == 500


@pytest.mark.parametrize("kept", [10, 16, 61, 80])
def test_incomplete_entry_is_reported(rolled: Made, kept: int) -> None:
    path = Path(rolled.log.segments.active.path)
    data = path.read_bytes()
    whole = len(data)
    path.write_bytes(data + data[:kept])
    offset, where, position, fault = end(rolled)
    assert (offset, where, position) == (90, str(path), whole)
    assert fault
    assert fault.startswith("truncated: ")


def test_invalid_bytes_after_the_end_are_reported(rolled: Made) -> None:
    path = Path(rolled.log.segments.active.path)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"garbage" * 20)
    assert end(rolled)[2:] == (whole, "no entry has magic 114")


def test_preallocated_zeros_are_not_part_of_the_log(rolled: Made) -> None:
    path = Path(rolled.log.segments.active.path)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(5000))
    assert end(rolled) == LogEnd(90, str(path), whole, None)


def test_walk_begins_at_the_last_index_entry(rolled: Made) -> None:
    """Damage before the last index entry is not noticed here."""
    path = Path(rolled.log.segments.active.path)
    path.write_bytes(b"\xff" * 50 + path.read_bytes()[50:])
    assert end(rolled).offset == 90


def test_corrupt_index_is_rejected_unless_lenient(rolled: Made) -> None:
    log = open_partition(str(rolled.place))
    Path(log.segments[-1].index_path).write_bytes(b"123")
    with pytest.raises(CorruptFile, match="byte 0: 3 trailing bytes"):
        log_end(log)
    assert log_end(log, lenient=True).offset == 90


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "data")


def ends(made: Made) -> tuple[int, int]:
    seen = made.seen()
    return last_stable_offset(seen), log_end_offset(seen)


def test_without_transactions_last_stable_offset_is_log_end(made: Made) -> None:
    made.append(1, 2, 3)
    assert ends(made) == (3, 3)
    made.close()


def test_open_transaction_limits_last_stable_offset(made: Made) -> None:
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


def test_snapshot_has_transactions_opened_long_ago(made: Made) -> None:
    made.transactional(7, 2)
    for at in range(60):
        made.append(at)
    assert len(made.log.segments) > 2
    assert ends(made) == (0, 61)
    made.close()
    seen = open_partition(str(made.place))
    assert last_stable_offset(seen) == 0


@pytest.mark.parametrize(("lifts", "stable"), [(True, 2), (False, 1)])
def test_last_stable_offset_after_open_transaction_was_partly_deleted(tmp_path: Path, lifts: bool, stable: int) -> None:
    made = Made(tmp_path / "data", CONFIG._replace(lifts_unstable_to_log_start=lifts))
    made.append(0)
    made.transactional(7, 1, 2, 3)
    made.log.roll()
    made.append(4)
    made.log.maybe_increment_log_start_offset(2)
    assert made.log.last_stable_offset == stable
    assert last_stable_offset(made.seen(), within_entry=not lifts) == stable
    made.close()


def test_last_stable_offset_is_log_end_after_all_records_are_deleted(made: Made) -> None:
    made.transactional(7, 1, 2)
    made.delete_until(2)
    assert last_stable_offset(made.seen()) == made.log.last_stable_offset == 2
    made.close()
