"""An offset index that has lost all its entries is distinguished from one that never had any."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet_spark.audit import AuditOptions

from .audited import audited, batch, cut, make, segments, write_log, write_metadata

LARGER = AuditOptions(chunk_bytes=1 << 20)


def large(path: Path, count: int = 100) -> Path:
    """Write a closed segment of batches of 20 KiB without any index entries, and a second segment."""
    batches = [batch(at, 1, value=b"v" * 20_000) for at in range(count)]
    return write_log(path, (0, batches), (count, [batch(count)]))


def test_empty_index_of_a_large_segment_is_found(tmp_path: Path) -> None:
    directory = large(tmp_path)
    (finding,) = audited(directory, LARGER).findings
    assert (finding.fault, finding.file) == ("empty-index", str(directory / f"{0:020d}.index"))


def test_large_interval_explains_an_empty_index(tmp_path: Path) -> None:
    directory = large(tmp_path)
    write_metadata(tmp_path, raw={"index.interval.bytes": "100000"})
    assert audited(directory, LARGER).agrees


def test_broker_that_was_started_often_explains_an_empty_index(tmp_path: Path) -> None:
    """After each start, the first interval has no entry in .index, and each clean stop adds one to .timeindex."""
    assert audited(large(tmp_path, 60), LARGER).agrees


def test_small_segment_needs_no_index_entries(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]), (2, [batch(2)]))
    assert (directory / f"{0:020d}.index").stat().st_size == 0
    assert audited(directory).agrees


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_last_segment_of_a_killed_broker_needs_no_index_entries(tmp_path: Path, suffix: str) -> None:
    made = make(tmp_path)
    (made.path / ".kafka_cleanshutdown").unlink()
    cut(segments(made, suffix)[-1], 0)
    assert audited(made.path).agrees


@pytest.mark.parametrize("at", [0, 1, -1])
def test_empty_time_index_is_found(tmp_path: Path, at: int) -> None:
    made = make(tmp_path)
    path = segments(made, ".timeindex")[at]
    cut(path, 0)
    (finding,) = audited(made.path).findings
    assert (finding.fault, finding.file) == ("empty-timeindex", str(path))
