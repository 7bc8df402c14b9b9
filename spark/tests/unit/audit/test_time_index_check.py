"""Wrong entries of a .timeindex are reported with the file and their position."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

import pytest

from spark.tests.unit.logs.made import Made

from .audited import audited, cut, found, insert, make, overwrite, segments

ENTRY = Struct(">qi")


def index_of(made: Made) -> tuple[Path, list[tuple[int, int]]]:
    """Return the first index with at least four entries."""
    for path in segments(made, ".timeindex"):
        rows = list(ENTRY.iter_unpack(path.read_bytes()))
        if len(rows) >= 4:
            return path, rows
    raise AssertionError("no index has four entries")


@pytest.mark.parametrize(("time_by", "offset_by"), [(1, 0), (-1, 0), (0, 1 << 20), (1 << 40, 0)])
def test_a_shifted_entry_is_found(tmp_path: Path, time_by: int, offset_by: int) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    overwrite(path, ENTRY.size, ENTRY.pack(rows[1][0] + time_by, rows[1][1] + offset_by))
    places = {(finding.file, finding.position) for finding in found(made, "time-index")}
    assert (str(path), ENTRY.size) in places


def test_entry_with_a_late_offset_is_found(tmp_path: Path) -> None:
    """The timestamp occurs at that offset, but not for the first time."""

    def write(made: Made) -> None:
        for at in range(30):
            made.append(at // 2, value=b"x" * 150)

    made = make(tmp_path, write)
    path, rows = index_of(made)
    overwrite(path, ENTRY.size, ENTRY.pack(rows[1][0], rows[1][1] + 1))
    (finding,) = found(made, "time-index")
    assert (finding.file, finding.position) == (str(path), ENTRY.size)
    assert "already" in finding.message


def test_a_last_entry_that_is_not_the_largest_timestamp_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    cut(path, (len(rows) - 1) * ENTRY.size)
    (finding,) = found(made, "time-index")
    assert finding.file == str(path)
    assert "largest timestamp of the segment" in finding.message


def test_an_empty_index_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, _ = index_of(made)
    cut(path, 0)
    (finding,) = found(made, "time-index")
    assert finding.fault == "empty-timeindex"


def test_active_segment_may_lack_its_last_entry(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made, ".timeindex")[-1]
    cut(path, path.stat().st_size - ENTRY.size)
    assert not audited(made.path).agrees
    (tmp_path / ".kafka_cleanshutdown").unlink()
    assert audited(made.path).agrees


def test_incomplete_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, _ = index_of(made)
    insert(path, path.stat().st_size, b"12345")
    (finding,) = found(made, "time-index")
    assert (finding.file, "5 bytes" in finding.message) == (str(path), True)


def test_preallocated_zeros_are_ignored(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.path / ".kafka_cleanshutdown").unlink()
    path = segments(made, ".timeindex")[-1]
    insert(path, path.stat().st_size, bytes(12 * 100))
    assert audited(made.path).agrees
