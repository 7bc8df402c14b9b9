"""Records that contradict their header are found, and the range of timestamps is known."""

from __future__ import annotations

from pathlib import Path

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.record_checks import Times
from spark.tests.unit.logs.made import T0

from .audited import audited, batch, complaints, only, write_log


def with_field(data: bytes, position: int, value: int, size: int) -> bytes:
    """Return a batch with a changed field and a valid checksum."""
    changed = bytearray(data)
    changed[position : position + size] = value.to_bytes(size, "big")
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def test_more_records_than_the_count_are_found(tmp_path: Path) -> None:
    verdict = audited(write_log(tmp_path, (0, [batch(0), with_field(batch(2, 3), 57, 2, 4)])))
    assert [(cause.finding.fault, cause.finding.offset) for cause in verdict.causes] == [("records", 2)]


def test_fewer_records_than_the_count_are_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0), with_field(batch(2, 3), 57, 4, 4)])))[0] == ("records", 2)


def test_a_largest_timestamp_that_no_record_has_is_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0, max_timestamp=T0 + 9)]))) == [("records", 0)]


def test_a_record_later_than_the_largest_timestamp_is_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0, max_timestamp=T0)]))) == [("records", 0)]


def test_offsets_of_records_outside_their_batch_are_found(tmp_path: Path) -> None:
    assert complaints(write_log(tmp_path, (0, [batch(0, 3, last_offset=1), batch(2)]))) == [("records", 0)]


def test_wrong_offset_of_the_last_record_is_found(tmp_path: Path) -> None:
    """There are as many records as offsets, so the batch was not compacted."""
    records = [Record(offset, T0, None, b"v") for offset in (0, 0, 1)]
    assert complaints(write_log(tmp_path, (0, [build_batch(records, leader_epoch=0, last_offset=2)]))) == [
        ("records", 0)
    ]


def test_unreadable_entry_is_found_and_others_are_read(tmp_path: Path) -> None:
    broken = bytearray(batch(2))
    broken[61] = 0x7F  # the length of the first record
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4, "big")
    directory = write_log(tmp_path, (0, [batch(0), bytes(broken), batch(4)]))
    verdict = audited(directory)
    assert [(finding.check, finding.offset) for finding in verdict.findings] == [("records", 2)]
    assert verdict.findings[0].position == len(batch(0))
    assert only(verdict).records == 4


def test_smallest_and_largest_timestamps_are_kept(tmp_path: Path) -> None:
    records = [Record(at, T0 + ms, None, b"v") for at, ms in enumerate((10, 50, 20, 0, 40, 60, 30))]
    first, second = build_batch(records[:3], leader_epoch=0), build_batch(records[3:], leader_epoch=0)
    assert only(audited(write_log(tmp_path, (0, [first, second])))).times == Times(T0, T0 + 60)


def test_records_without_a_timestamp_have_no_times(tmp_path: Path) -> None:
    records = [Record(at, -1, None, b"v") for at in range(3)]
    facts = only(audited(write_log(tmp_path, (0, [build_batch(records, leader_epoch=0)]))))
    assert facts.findings.total == 0
    assert facts.times == Times()
