"""Any changed byte of a .log is reported with its file and a position at or before the next entry."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.crc32c import crc32c
from kafkalet_spark.audit import AuditOptions

from .audited import LARGER, audited, cut, entries, fill, flip, found, insert, make, overwrite, remove, segments


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("flipped"), fill).path


@pytest.mark.slow
@given(data=st.data())
def test_every_flipped_byte_is_found(log: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(log.rglob("*.log"))).filter(lambda path: path.stat().st_size > 0))
    position = data.draw(st.integers(0, path.stat().st_size - 1))
    bits = data.draw(st.integers(1, 255))
    at = max(start for start, _ in entries(path) if start <= position)
    flip(path, position, bits)
    try:
        findings = audited(log, AuditOptions(chunk_bytes=LARGER)).findings
    finally:
        flip(path, position, bits)
    assert findings
    place = [finding for finding in findings if finding.file == str(path) and (finding.position or 0) >= at]
    named = [finding for finding in findings if finding.offset is not None]
    assert place or (position - at < 8 and named)  # a base offset may also break the index that names it


def test_flipped_byte_of_a_record_is_a_checksum_error(log: Path, tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[1]
    position, size = entries(path)[2]
    flip(path, position + size - 1)
    (finding,) = found(made, "checksum")
    assert (finding.file, finding.position) == (str(path), position)
    assert finding.offset == int.from_bytes(path.read_bytes()[position : position + 8], "big")


def test_damaged_entry_is_reported_once(tmp_path: Path) -> None:
    """Its offsets are not reported as missing, nor the index entries that point to it."""
    made = make(tmp_path)
    path = segments(made)[0]
    position, size = entries(path)[3]
    flip(path, position + size - 1)
    assert [finding.check for finding in audited(made.path).findings] == ["checksum"]


def test_truncated_segment_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[-1]
    position, size = entries(path)[-1]
    cut(path, position + size - 5)
    (finding,) = found(made, "truncated")
    assert (finding.file, finding.position) == (str(path), position)


def test_an_impossible_size_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[1]
    position, _ = entries(path)[1]
    overwrite(path, position + 8, (-1).to_bytes(4, "big", signed=True))
    (finding,) = found(made, "unreadable")
    assert (finding.file, finding.position) == (str(path), position)


def test_zeros_after_the_last_entry_are_found_after_clean_shutdown(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[-1]
    size = path.stat().st_size
    insert(path, size, bytes(8192))
    (finding,) = audited(made.path).findings
    assert (finding.check, finding.file, finding.position) == ("zeros", str(path), size)


def test_preallocated_space_of_a_running_broker_is_valid(tmp_path: Path) -> None:
    """With preallocate=true a file is as long as segment.bytes, a round number."""
    made = make(tmp_path)
    (made.path / ".kafka_cleanshutdown").unlink()
    path = segments(made)[-1]
    insert(path, path.stat().st_size, bytes((1 << 20) - path.stat().st_size))
    verdict = audited(made.path)
    assert verdict.agrees, list(verdict.lines())
    assert verdict.coverage.checked["bytes allocated ahead"] > 1_000_000
    insert(path, 1 << 20, bytes(7))
    assert [finding.check for finding in audited(made.path).findings] == ["zeros"]


def test_zeros_inside_a_log_are_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[0]
    insert(path, path.stat().st_size, bytes(4096))
    assert [(finding.check, finding.file) for finding in audited(made.path).findings] == [("zeros", str(path))]


def test_segment_with_read_error_is_reported_as_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path)
    broken = segments(made)[1]
    real = os.pread

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if os.path.samestat(os.fstat(descriptor), broken.stat()):
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor, size, position)

    monkeypatch.setattr(os, "pread", pread)
    verdict = audited(made.path)
    assert verdict.findings == []
    assert [(skipped.path, skipped.reason) for skipped in verdict.coverage.not_checked] == [
        (str(broken), "Input/output error")
    ]
    assert (verdict.exit_status, verdict.agrees) == (3, False)


def test_duplicate_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[-1]
    position, size = entries(path)[-1]
    insert(path, position + size, path.read_bytes()[position : position + size])
    (finding,) = found(made, "order")
    assert (finding.file, finding.position) == (str(path), position + size)


def test_removed_entry_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[2]
    (position, size), (_, behind) = entries(path)[1:3]
    assert behind
    offset = int.from_bytes(path.read_bytes()[position : position + 8], "big")
    remove(path, position, size)
    (finding,) = found(made, "missing")
    assert (finding.file, finding.position, finding.offset) == (str(path), position, offset)


def test_invalid_transaction_marker_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, position, size = _first_marker(segments(made))
    data = bytearray(path.read_bytes()[position : position + size])
    key_type = data.index(b"\x00\x00\x00", 65) + 3  # version 0, then the type
    data[key_type] = 7
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    overwrite(path, position, bytes(data))
    (finding,) = found(made, "records")
    assert (finding.file, finding.position) == (str(path), position)


def test_missing_index_of_an_inactive_segment_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    for suffix in (".index", ".timeindex"):
        segments(made, suffix)[1].unlink()
    findings = audited(made.path).findings
    assert {(finding.check, finding.file) for finding in findings} == {
        ("file", str(segments(made)[1])[:-4] + suffix) for suffix in (".index", ".timeindex")
    }


def _first_marker(paths: list[Path]) -> tuple[Path, int, int]:
    for path in paths:
        for position, size in entries(path):
            if path.read_bytes()[position + 22] & 0x20:
                return path, position, size
    raise AssertionError("no marker")
