"""What a control batch says."""

from pathlib import Path

import pytest

from kafkalet.pipeline.logs.files import CorruptFile
from kafkalet.pipeline.logs.heads import Head, heads
from kafkalet.pipeline.logs.markers import end_marker, marker_type
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record


def told(path: Path, batch: bytes) -> ControlType | None:
    file = path / "x.log"
    file.write_bytes(bytes(99) + batch)
    return marker_type(str(file), one(str(file)))


def one(path: str) -> Head:
    return next(iter(heads(path, 99, 1 << 20)))


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_markers_are_told_apart(tmp_path: Path, kind: ControlType) -> None:
    marker = build_end_marker(EndMarker(kind, 7), timestamp=5, producer_id=1, producer_epoch=0)
    assert told(tmp_path, marker) is kind


def test_a_marker_of_a_compacted_log_counts_its_time_from_the_delete_horizon(tmp_path: Path) -> None:
    record = Record(0, 5, b"\0\0\0\1", bytes(6))
    kept = build_batch([record], is_control=True, is_transactional=True, delete_horizon_ms=1 << 50)
    assert told(tmp_path, kept) is ControlType.COMMIT


def test_a_control_batch_that_was_emptied_says_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, build_batch([], is_control=True, last_offset=0)) is None


def test_a_control_batch_without_a_key_is_corrupt(tmp_path: Path) -> None:
    for record in (Record(0, 5, None, None), Record(0, 5, b"", None)):
        with pytest.raises(CorruptFile, match="byte 99: a control batch whose record has no key"):
            told(tmp_path, build_batch([record], is_control=True))


def test_end_marker_tells_the_epoch_of_its_coordinator(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    marker = EndMarker(ControlType.COMMIT, 7)
    path.write_bytes(bytes(99) + build_end_marker(marker, timestamp=5, producer_id=1, producer_epoch=0))
    assert end_marker(str(path), one(str(path))) == marker


def test_control_batch_of_another_type_ends_no_transaction(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(bytes(99) + build_batch([Record(0, 5, b"\0\0\0\5", b"")], is_control=True))
    assert end_marker(str(path), one(str(path))) is None
