"""Segments and their indexes are those that a broker creates from the same batches."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.clock import ManualClock
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet_spark.writing.segments import Placed, SegmentFiles, SegmentFull, SegmentLimits, WrittenSegment
from tests.profile import examples

from .making import T0, load, log, numbered


def batch(offset: int, size: int, timestamp: int = T0) -> Placed:
    return Placed(offset, offset, timestamp, (bytes(size),))


def write(path: Path, batches: list[Placed], **limits: int) -> tuple[WrittenSegment, ...]:
    files = SegmentFiles(str(path), SegmentLimits(**limits), durable=False)
    files.append(batches)
    return files.close()


def test_segment_is_rolled_by_size(tmp_path: Path) -> None:
    segments = write(tmp_path, [batch(at, 400) for at in range(5)], segment_bytes=1000)
    assert segments == (WrittenSegment(0, 800), WrittenSegment(2, 800), WrittenSegment(4, 400))
    assert (tmp_path / f"{2:020d}.log").stat().st_size == 800


def test_segment_is_rolled_by_time(tmp_path: Path) -> None:
    batches = [batch(0, 10, T0), batch(1, 10, T0 + 100), batch(2, 10, T0 + 101), batch(3, 10, T0 + 150)]
    assert write(tmp_path, batches, segment_ms=100) == (WrittenSegment(0, 20), WrittenSegment(2, 20))


def test_segment_is_rolled_when_an_index_is_full(tmp_path: Path) -> None:
    batches = [batch(at, 10, T0 + at) for at in range(9)]
    segments = write(tmp_path, batches, index_interval_bytes=0, index_bytes=48)
    assert [segment.base_offset for segment in segments] == [0, 4, 8]


def test_batch_larger_than_a_segment_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SegmentFull, match=r"a batch of 2000 bytes exceeds segmentBytes \(1000\)"):
        write(tmp_path, [batch(0, 2000)], segment_bytes=1000)


def test_segments_do_not_depend_on_append_sizes(tmp_path: Path) -> None:
    batches = [batch(at, 300, T0 + at % 7) for at in range(30)]
    whole = write(tmp_path / "whole", batches, segment_bytes=2000, index_interval_bytes=500)
    files = SegmentFiles(str(tmp_path / "pieces"), SegmentLimits(2000, 1000, 500), durable=True)
    for start in range(0, 30, 4):
        files.append(batches[start : start + 4])
    assert files.close() == whole
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "pieces").iterdir())
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "pieces" / name).read_bytes()


@settings(max_examples=examples(0.12))
@given(
    st.integers(1024, 20_000),
    st.integers(0, 3000),
    st.sampled_from(["0", "0.7"]),
    st.integers(0, 3),
    st.integers(0, 9),
    st.sampled_from(["none", "gzip"]),
)
def test_recovering_broker_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    segment_bytes: int,
    interval: int,
    share: str,
    open_transactions: int,
    seed: int,
    codec: str,
) -> None:
    path = tmp_path_factory.mktemp("data")
    options = {
        "segmentBytes": segment_bytes,
        "indexIntervalBytes": interval,
        "transactionalShare": share,
        "abortedShare": "0.5",
        "openTransactions": open_transactions,
        "transactionSize": 20,
        "batchSize": 700,
        "seed": seed,
        "compression": codec,
    }
    load(path, [numbered(0, 300)], [numbered(300, 200)], **options)
    load(path, [numbered(500, 50)], **options)
    before = contents(Path(log(path).path))
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):  # forces a full recovery
        (path / name).unlink()
    directory = LogDirectory(str(path), ManualClock(T0), durable=False)
    opened = directory.get_or_create(
        "t", 0, None, LogConfig(index_interval_bytes=interval, segment_bytes=segment_bytes)
    )
    opened.flush()
    assert len(opened.segments) == len(log(path).segments)
    directory.close()
    assert contents(Path(log(path).path)) == before


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
