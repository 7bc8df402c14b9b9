"""Wrong entries of an .index are reported with the file and their position."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

import pytest

from spark.tests.unit.logs.made import Made

from .audited import audited, batch, complaints, cut, entries, found, insert, make, overwrite, segments, write_log

ENTRY = Struct(">ii")


def index_of(made: Made) -> tuple[Path, list[tuple[int, int]]]:
    """Return the first index with at least four entries."""
    for path in segments(made, ".index"):
        rows = list(ENTRY.iter_unpack(path.read_bytes()))
        if len(rows) >= 4:
            return path, rows
    raise AssertionError("no index has four entries")


@pytest.mark.parametrize(
    ("offset_by", "position_by", "reason"),
    [
        (0, 1, "no entry of the log begins"),
        (0, -1, "no entry of the log begins"),
        (-1, 0, "is not the last offset"),
        (1 << 20, 0, "follows|the log has no offset"),
        (0, 1 << 20, "no entry of the log begins"),
    ],
)
def test_a_shifted_entry_is_found(tmp_path: Path, offset_by: int, position_by: int, reason: str) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    at = 1
    overwrite(path, at * ENTRY.size, ENTRY.pack(rows[at][0] + offset_by, rows[at][1] + position_by))
    findings = found(made, "offset-index")
    assert any(
        finding.file == str(path)
        and finding.position == at * ENTRY.size
        and any(map(finding.message.__contains__, reason.split("|")))
        for finding in findings
    )


def test_entry_that_points_past_its_offset_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    log = Path(str(path)[: -len(".index")] + ".log")
    starts = [position for position, _ in entries(log)]
    later = starts[starts.index(rows[1][1]) + 1]
    overwrite(path, ENTRY.size, ENTRY.pack(rows[1][0], later))
    (finding,) = found(made, "offset-index")
    assert (finding.file, finding.position) == (str(path), ENTRY.size)
    assert "begins with offset" in finding.message


def test_entries_in_the_wrong_order_are_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    overwrite(path, 0, ENTRY.pack(*rows[1]) + ENTRY.pack(*rows[0]))
    assert {(finding.file, finding.position) for finding in found(made, "offset-index")} >= {(str(path), ENTRY.size)}


def test_duplicate_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    insert(path, ENTRY.size, ENTRY.pack(*rows[0]))
    assert {finding.position for finding in found(made, "offset-index")} >= {ENTRY.size}


def test_incomplete_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    cut(path, len(rows) * ENTRY.size - 3)
    (finding,) = found(made, "offset-index")
    assert finding.file == str(path)
    assert "5 bytes" in finding.message


def test_preallocated_zeros_are_ignored(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.path / ".kafka_cleanshutdown").unlink()
    path = segments(made, ".index")[-1]
    insert(path, path.stat().st_size, bytes(8 * 100))
    assert audited(made.path).agrees


def test_missing_entries_are_not_a_fault(tmp_path: Path) -> None:
    """Followers, leaders and recovery index different appends."""
    made = make(tmp_path)
    path, rows = index_of(made)
    cut(path, (len(rows) - 2) * ENTRY.size)
    assert audited(made.path).agrees


def test_append_of_several_batches_may_have_one_entry(tmp_path: Path) -> None:
    """As written by a follower: the position of the first batch, and the last offset of the last one."""
    batches = [batch(2 * at) for at in range(6)]
    directory = write_log(tmp_path, (0, batches))
    size = len(batches[0])
    path = directory / f"{0:020d}.index"
    path.write_bytes(ENTRY.pack(3, 0) + ENTRY.pack(9, 2 * size))
    assert complaints(directory) == []
    path.write_bytes(ENTRY.pack(5, 0) + ENTRY.pack(9, 2 * size))
    (finding,) = audited(directory).findings
    assert (finding.check, finding.position) == ("offset-index", 0)
    assert "of the next index entry" in finding.message


def test_entry_may_have_the_last_offset_left_by_compaction(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0, 1), batch(2, 1, last_offset=5)]), (6, [batch(6)]))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nraw 0 6\n")
    path = directory / f"{0:020d}.index"
    path.write_bytes(ENTRY.pack(2, len(batch(0, 1))))
    assert complaints(directory) == []
