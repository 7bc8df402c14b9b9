"""Where the entries of a log end."""

from pathlib import Path

import pytest

from kafkalet.pipeline.logs.directory import open_partition
from kafkalet.pipeline.logs.files import CorruptFile
from kafkalet.pipeline.logs.tail import LogEnd, log_end

from .made import CONFIG, Made


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=3000))
    for at in range(45):
        made.append(at, at)
    made.close()
    return made


def end(made: Made) -> LogEnd:
    return log_end(open_partition(str(made.place)))


def test_the_end_is_behind_the_last_entry(made: Made) -> None:
    path = Path(made.log.segments.active.path)
    assert end(made) == LogEnd(90, str(path), path.stat().st_size, None)


def test_an_empty_last_segment_begins_at_the_end(made: Made) -> None:
    made.open()
    made.log.roll()
    made.close()
    assert end(made)[0::2] == (90, 0)


def test_an_empty_log_ends_where_it_starts(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    assert log_end(made.seen()).offset == 0
    made.log.truncate_fully_and_start_at(77)
    assert log_end(made.seen()).offset == 77
    made.close()


def test_a_log_whose_files_are_lost_ends_where_it_starts(made: Made) -> None:
    (made.path / "log-start-offset-checkpoint").write_text("0\n1\na.b-c 0 500\n")
    assert end(made).offset == 500


@pytest.mark.parametrize("kept", [10, 16, 61, 80])
def test_the_first_part_of_an_entry_is_told(made: Made, kept: int) -> None:
    path = Path(made.log.segments.active.path)
    data = path.read_bytes()
    whole = len(data)
    path.write_bytes(data + data[:kept])
    offset, where, position, fault = end(made)
    assert (offset, where, position) == (90, str(path), whole)
    assert fault
    assert fault.startswith("truncated: ")


def test_what_can_be_no_entry_is_told(made: Made) -> None:
    path = Path(made.log.segments.active.path)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"garbage" * 20)
    assert end(made)[2:] == (whole, "no entry has magic 114")


def test_space_that_was_allocated_ahead_is_none_of_it(made: Made) -> None:
    path = Path(made.log.segments.active.path)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(5000))
    assert end(made) == LogEnd(90, str(path), whole, None)


def test_the_walk_begins_at_the_end_of_the_index(made: Made) -> None:
    """Damage before that is not noticed here."""
    path = Path(made.log.segments.active.path)
    path.write_bytes(b"\xff" * 50 + path.read_bytes()[50:])
    assert end(made).offset == 90


def test_a_broken_index_is_refused_unless_lenient(made: Made) -> None:
    log = open_partition(str(made.place))
    Path(log.segments[-1].index_path).write_bytes(b"123")
    with pytest.raises(CorruptFile, match="byte 0: 3 bytes are less than an entry"):
        log_end(log)
    assert log_end(log, lenient=True).offset == 90
