"""Open and aborted transactions, compared with those of the log itself."""

from __future__ import annotations

import logging
from pathlib import Path
from struct import Struct

import pytest

from kafkalet.formats import offsets_bytes
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.heads import Head, heads
from kafkalet_spark.logs.transactions import (
    aborted_transactions,
    end_marker,
    last_stable_offset,
    marker_type,
    open_transactions,
    verify_transactions,
)
from spark.tests.unit.audit.audited import batch, marker, sent, write_log

from .made import CONFIG, Made

ABORTED = Struct(">hqqqq")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Transactions of three producers, two of every three aborted, over several segments; the last ones are open."""
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=1500))
    for at in range(48):
        producer = 10 + at % 3
        made.transactional(producer, at)
        if at % 2:
            made.append(at)
        if at % 5 == 4:
            made.end(producer, commit=at % 3 == 0)
    assert len(made.log.segments) > 4
    return made


def rows(columns: tuple) -> list[tuple[int, ...]]:  # type: ignore[type-arg]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def aborted(log: PartitionLog, start: int, end: int, **more: bool) -> list[tuple[int, ...]]:
    return rows(aborted_transactions(log, start, end, **more))


def theirs(made: Made, start: int, end: int) -> list[tuple[int, ...]]:
    return [tuple(each)[:3] for each in made.aborted(start, end)]


def test_open_transactions_are_sorted_oldest_first(made: Made) -> None:
    seen = made.seen()
    made.close()
    for log in (seen, open_partition(str(made.place))):
        found = rows(open_transactions(log))
        entries = [(made.log.producers.entry(producer), producer) for producer in (10, 11, 12)]
        expected = [(e.open_since, producer, 0) for e, producer in entries if e and e.open_since is not None]
        assert found == [(producer, first, epoch) for first, producer, epoch in sorted(expected)]
        assert found


def test_aborted_transactions_overlap_the_range(made: Made) -> None:
    seen = made.seen()
    end = made.log.log_end_offset
    for start in range(end):
        for until in (start + 1, start + 9, end):
            assert aborted(seen, start, until) == theirs(made, start, until) == aborted(seen, start, until, verify=True)
    made.close()


def test_corrupt_snapshot_is_skipped_with_warning(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    expected = rows(open_transactions(made.seen()))
    snapshots = sorted(made.place.glob("*.snapshot"))
    snapshots[-1].write_bytes(snapshots[-1].read_bytes()[:-1] + b"x")
    with caplog.at_level(logging.WARNING):
        assert rows(open_transactions(made.seen())) == expected
    assert f"{snapshots[-1]}, byte 2: the checksum is wrong; falling back to an older snapshot" in caplog.text
    made.close()


def test_log_is_replayed_without_snapshots(made: Made) -> None:
    expected = rows(open_transactions(made.seen()))
    for path in made.place.glob("*.snapshot"):
        path.unlink()
    assert rows(open_transactions(made.seen())) == expected
    verify_transactions(made.seen())
    made.close()


def test_snapshot_past_the_end_is_ignored(made: Made) -> None:
    expected = rows(open_transactions(made.seen()))
    oldest = min(made.place.glob("*.snapshot"))
    (made.place / f"{10**6:020d}.snapshot").write_bytes(oldest.read_bytes())
    assert rows(open_transactions(made.seen())) == expected
    made.close()


def index_with_entries(made: Made) -> Path:
    return min(path for path in made.place.glob("*.txnindex") if path.stat().st_size >= 68)


def test_missing_transaction_index_is_detected_by_verify(made: Made) -> None:
    made.close()
    log = open_partition(str(made.place))
    before = aborted(log, 0, 1 << 40)
    path = index_with_entries(made)
    path.unlink()
    assert aborted(log, 0, 1 << 40) != before  # the missing file goes unnoticed
    for look in (verify_transactions, lambda log: aborted_transactions(log, 0, 1 << 40, verify=True)):
        with pytest.raises(CorruptFile, match="no entry for producer 1") as caught:
            look(log)
        assert (caught.value.path, caught.value.position) == (str(path), 0)
    assert aborted(log, 0, 1 << 40, verify=True, lenient=True) == before


def test_single_missing_entry_is_detected(made: Made) -> None:
    made.close()
    log = open_partition(str(made.place))
    before = aborted(log, 0, 1 << 40)
    path = index_with_entries(made)
    data = path.read_bytes()
    path.write_bytes(data[:34] + data[68:])
    with pytest.raises(CorruptFile, match="byte 34: no entry for producer"):
        verify_transactions(log)
    assert aborted(log, 0, 1 << 40, verify=True, lenient=True) == before


def test_corrupt_transaction_index_is_rejected_or_rebuilt_if_lenient(made: Made) -> None:
    made.close()
    log = open_partition(str(made.place))
    before = aborted(log, 0, 1 << 40)
    path = index_with_entries(made)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptFile, match="29 trailing bytes; an entry has 34"):
        aborted_transactions(log, 0, 1 << 40)
    assert aborted(log, 0, 1 << 40, lenient=True) == before


def test_transaction_without_records_is_ignored(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    made.append(1)
    made.end(7, commit=False)
    verify_transactions(made.seen())
    assert aborted(made.seen(), 0, 9, verify=True) == []
    made.close()


def test_transaction_from_deleted_segment_is_in_snapshot(made: Made) -> None:
    for start in range(10, 40, 3):
        made.delete_until(start, files=True)
        verify_transactions(made.seen())
        end = made.log.log_end_offset
        assert aborted(made.seen(), start, end, verify=True) == theirs(made, start, end)
    made.close()


def test_index_entry_with_first_offset_before_oldest_segment_is_accepted(
    tmp_path: Path,
) -> None:
    """At startup, snapshots below the log start offset are deleted; the index entry has more than the remaining log."""
    made = Made(tmp_path / "data", CONFIG)
    made.transactional(12, 0)
    made.log.roll()
    made.transactional(12, 1)
    made.end(12, commit=False)
    made.append(2)
    made.delete_until(3, files=True)
    made.log.roll()
    made.close()
    made.open()
    assert not [path for path in made.place.glob("*.snapshot") if int(path.stem) <= 1]
    verify_transactions(made.seen())
    assert aborted(made.seen(), 3, made.log.log_end_offset, verify=True) == theirs(made, 3, made.log.log_end_offset)
    made.close()


def cleaned(path: Path, entry: tuple[int, ...], *batches: bytes, log_start_offset: int = 0) -> PartitionLog:
    """Return a log with these batches and one entry in its transaction index: what the log cleaner has left."""
    directory = write_log(path, (0, batches))
    (directory / f"{0:020d}.txnindex").write_bytes(ABORTED.pack(0, *entry))
    (path / "log-start-offset-checkpoint").write_bytes(offsets_bytes({("raw", 0): log_start_offset}))
    return open_partition(str(directory))


def test_index_entry_may_begin_before_the_first_batch_that_the_cleaner_left(tmp_path: Path) -> None:
    log = cleaned(tmp_path, (7, 1, 6, 7), marker(0, 7, commit=True), batch(2), sent(4, 7, 9, open_=True), marker(6, 7))
    verify_transactions(log)
    assert aborted(log, 4, 8, verify=True) == [(7, 1, 6)]


def test_index_entry_that_begins_before_the_previous_marker_is_corrupt(tmp_path: Path) -> None:
    data = (
        sent(0, 7, 0, open_=True),
        marker(2, 7, commit=True),
        sent(4, 7, 9, open_=True),
        marker(6, 7),
        batch(7),
    )
    with pytest.raises(
        CorruptFile, match="no entry for producer 7, whose transaction from offset 4 on was aborted at 6"
    ):
        verify_transactions(cleaned(tmp_path, (7, 2, 6, 7), *data))


def test_transactions_below_the_log_start_need_no_marker_and_no_entry(tmp_path: Path) -> None:
    data = (
        sent(0, 7, 0, open_=True),  # its marker was removed
        sent(2, 8, 0, open_=True),
        marker(4, 8),  # its entry was removed
        sent(5, 7, 2, open_=True),
        marker(7, 7),
        batch(8),
    )
    log = cleaned(tmp_path, (7, 5, 7, 8), *data, log_start_offset=6)
    verify_transactions(log)
    assert aborted(log, 6, 10, verify=True) == [(7, 5, 7)]


def test_markers_are_read_only_as_far_as_necessary(made: Made) -> None:
    made.end(10, commit=True)
    made.end(11, commit=True)
    made.end(12, commit=True)
    log = made.seen()
    made.close()
    Path(log.segments[-1].path).unlink()
    first = log.segments[1].base_offset
    assert aborted(log, 0, first, verify=True) == theirs(made, 0, first)


def test_abort_counts_once_its_index_entry_is_written(tmp_path: Path) -> None:
    """A broker that is running or was killed may have written the marker but not yet the index entry."""
    made = Made(tmp_path / "data")
    made.append(0)
    made.transactional(7, 1, 2)
    made.end(7, commit=False)
    assert rows(open_transactions(made.seen())) == []
    index = next(made.place.glob("*.txnindex"))
    entry = index.read_bytes()
    index.unlink()
    log = made.seen()
    assert (rows(open_transactions(log)), last_stable_offset(log)) == ([(7, 1, 0)], 1)
    verify_transactions(log)
    index.write_bytes(entry)
    assert last_stable_offset(log) == 4
    index.unlink()
    made.append(9)
    with pytest.raises(CorruptFile, match="no entry for producer 7"):
        verify_transactions(made.seen())
    assert last_stable_offset(made.seen()) == 5
    made.close()


def test_log_is_listed_again_if_segments_were_merged(made: Made) -> None:
    """Their transaction indexes are merged as well."""
    made.close()
    log = open_partition(str(made.place))
    before = aborted(log, 0, 1 << 40)
    first, second = log.segments[:2]
    for path, other in ((first.path, second.path), (first.txn_index_path, second.txn_index_path)):
        swap = Path(f"{path}.swap")
        swap.write_bytes(b"".join(Path(each).read_bytes() for each in (path, other) if Path(each).exists()))
        Path(other).unlink(missing_ok=True)
        swap.replace(path)
    assert aborted(log, 0, 1 << 40) == before


def test_empty_log_has_no_transactions(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    assert rows(open_transactions(made.seen())) == aborted(made.seen(), 0, 5, verify=True) == []
    made.close()
    log = made.seen_closed()._replace(segments=())
    assert rows(open_transactions(log)) == aborted(log, 0, 5, verify=True) == []
    verify_transactions(log)


def marker_of(path: Path, batch: bytes) -> ControlType | None:
    file = path / "x.log"
    file.write_bytes(bytes(99) + batch)
    return marker_type(str(file), one(str(file)))


def one(path: str) -> Head:
    return next(iter(heads(path, 99, 1 << 20)))


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_marker_types_are_read(tmp_path: Path, kind: ControlType) -> None:
    marker = build_end_marker(EndMarker(kind, 7), timestamp=5, producer_id=1, producer_epoch=0)
    assert marker_of(tmp_path, marker) is kind


def test_marker_timestamp_is_relative_to_delete_horizon(tmp_path: Path) -> None:
    record = Record(0, 5, b"\0\0\0\1", bytes(6))
    kept = build_batch([record], is_control=True, is_transactional=True, delete_horizon_ms=1 << 50)
    assert marker_of(tmp_path, kept) is ControlType.COMMIT


def test_emptied_control_batch_has_no_type(tmp_path: Path) -> None:
    assert marker_of(tmp_path, build_batch([], is_control=True, last_offset=0)) is None


def test_control_record_without_key_is_corrupt(tmp_path: Path) -> None:
    for record in (Record(0, 5, None, None), Record(0, 5, b"", None)):
        with pytest.raises(CorruptFile, match="byte 99: a control record has no key"):
            marker_of(tmp_path, build_batch([record], is_control=True))


def test_end_marker_has_coordinator_epoch(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    marker = EndMarker(ControlType.COMMIT, 7)
    path.write_bytes(bytes(99) + build_end_marker(marker, timestamp=5, producer_id=1, producer_epoch=0))
    assert end_marker(str(path), one(str(path))) == marker


def test_control_batch_of_another_type_ends_no_transaction(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(bytes(99) + build_batch([Record(0, 5, b"\0\0\0\5", b"")], is_control=True))
    assert end_marker(str(path), one(str(path))) is None
