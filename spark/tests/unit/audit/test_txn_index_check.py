"""A .txnindex that disagrees with the markers is reported with the file and the position."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.formats import offsets_bytes
from kafkalet_spark.audit import AuditOptions
from spark.tests.unit.logs.made import Made
from tests.profile import examples

from .audited import (
    LARGER,
    audited,
    batch,
    complaints,
    entries,
    flip,
    found,
    insert,
    make,
    marker,
    overwrite,
    remove,
    segments,
    sent,
    write_log,
)

ENTRY = Struct(">hqqqq")
FIELDS = {"version": 0, "producer_id": 1, "first": 2, "last": 3, "stable": 4}


def index_of(made: Made) -> tuple[Path, list[tuple[int, ...]]]:
    """Return the last transaction index and its entries."""
    path = segments(made, ".txnindex")[-1]
    return path, list(ENTRY.iter_unpack(path.read_bytes()))


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_entry_is_found(tmp_path: Path, field: str) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    changed = list(rows[-1])
    changed[FIELDS[field]] += 1
    position = (len(rows) - 1) * ENTRY.size
    overwrite(path, position, ENTRY.pack(*changed))
    places = {(finding.file, finding.position) for finding in found(made, "txn-index")}
    assert (str(path), position) in places


def test_a_deleted_entry_is_found_at_its_marker(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    remove(path, 0, ENTRY.size)
    (finding,) = found(made, "txn-index")
    assert finding.file == str(path)[: -len(".txnindex")] + ".log"
    assert finding.offset == rows[0][3]
    position, _ = next(
        (at, size)
        for at, size in entries(Path(finding.file))
        if Path(finding.file).read_bytes()[at : at + 8] == rows[0][3].to_bytes(8, "big")
    )
    assert finding.position == position
    assert str(path) in finding.message


def test_a_deleted_file_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    path.unlink()
    (finding,) = found(made, "txn-index")
    assert (finding.fault, finding.file, finding.offset) == ("no-txnindex", str(path), rows[0][3])
    assert f"{len(rows)} aborted transactions end in the segment" in finding.message


def test_entry_without_a_marker_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    insert(path, 0, ENTRY.pack(0, 1, rows[0][2] - 2, rows[0][3] - 1, rows[0][4]))
    (finding,) = found(made, "txn-index")
    assert (finding.file, finding.position) == (str(path), 0)
    assert "no abort marker" in finding.message


def test_duplicate_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    insert(path, 0, ENTRY.pack(*rows[0]))
    (finding,) = found(made, "txn-index")
    assert finding.position == ENTRY.size


def test_dropped_marker_is_found(tmp_path: Path) -> None:
    """Its offset is missing from the log but present in the index."""
    made = make(tmp_path)
    path, rows = index_of(made)
    log = Path(str(path)[: -len(".txnindex")] + ".log")
    marker = rows[0][3]
    position, size = next(
        (at, size) for at, size in entries(log) if log.read_bytes()[at : at + 8] == marker.to_bytes(8, "big")
    )
    remove(log, position, size)
    findings = audited(made.path).findings
    assert {(finding.check, finding.offset) for finding in findings} >= {("missing", marker), ("txn-index", marker)}


def test_incomplete_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, rows = index_of(made)
    insert(path, len(rows) * ENTRY.size, b"123")
    (finding,) = found(made, "txn-index")
    assert "3 bytes" in finding.message


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("flipped"))


@pytest.mark.slow
@settings(max_examples=examples(0.6))
@given(data=st.data())
def test_every_flipped_byte_is_found_with_its_entry(log: Made, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(segments(log, ".txnindex")))
    position = data.draw(st.integers(0, path.stat().st_size - 1))
    bits = data.draw(st.integers(1, 255))
    flip(path, position, bits)
    try:
        findings = found(log, "txn-index", AuditOptions(chunk_bytes=LARGER))
    finally:
        flip(path, position, bits)
    assert (str(path), position // ENTRY.size * ENTRY.size) in {(each.file, each.position) for each in findings}


def cleaned(path: Path, log_start_offset: int, entries: list[tuple[int, ...]], *batches: bytes) -> Path:
    """Write a log with these batches, cleaned up to offset 20, and an active segment. Return its directory."""
    directory = write_log(path, (0, batches), (20, [batch(20)]))
    (directory / f"{0:020d}.txnindex").write_bytes(b"".join(ENTRY.pack(0, *entry) for entry in entries))
    (path / "cleaner-offset-checkpoint").write_bytes(offsets_bytes({("raw", 0): 20}))
    (path / "log-start-offset-checkpoint").write_bytes(offsets_bytes({("raw", 0): log_start_offset}))
    return directory


def test_entry_that_the_cleaner_dropped_below_the_log_start_is_not_missed(tmp_path: Path) -> None:
    batches = sent(0, 7, 0, open_=True), marker(2, 7), batch(3)
    assert complaints(cleaned(tmp_path, 3, [], *batches)) == []


def test_entry_at_the_log_start_is_missed_in_a_cleaned_log(tmp_path: Path) -> None:
    batches = sent(0, 7, 0, open_=True), marker(2, 7), batch(3)
    assert complaints(cleaned(tmp_path, 2, [], *batches)) == [("txn-index", 2)]


def test_marker_that_the_cleaner_dropped_below_the_log_start_is_not_missed(tmp_path: Path) -> None:
    batches = sent(0, 7, 0, open_=True), sent(3, 7, 2, open_=True), marker(5, 7), batch(6)
    assert complaints(cleaned(tmp_path, 4, [(7, 3, 5, 6)], *batches)) == []
    (tmp_path / "log-start-offset-checkpoint").unlink()
    assert complaints(tmp_path / "raw-0") == [("txn-index", 5)]


def test_last_stable_offset_before_the_first_batch_that_is_left_is_accepted(tmp_path: Path) -> None:
    first = sent(4, 7, 2, open_=True), batch(6)
    second = sent(20, 8, 0, open_=True), marker(22, 8), marker(23, 7)
    directory = write_log(tmp_path, (0, first), (20, second))
    index = [(0, 8, 20, 22, 1), (0, 7, 1, 23, 24)]
    (directory / f"{20:020d}.txnindex").write_bytes(b"".join(ENTRY.pack(*entry) for entry in index))
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(offsets_bytes({("raw", 0): 20}))
    assert complaints(directory) == []
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(offsets_bytes({("raw", 0): 0}))
    assert ("txn-index", 22) in complaints(directory)
