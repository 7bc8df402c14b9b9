"""Grouping of records into batches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet_spark.writing.cutting import BatchCutter, Limits

records = st.lists(
    st.tuples(st.integers(0, 300), st.integers(-(1 << 40), 1 << 40) | st.integers(0, 100)), min_size=1, max_size=60
)


def batch_bytes(rows: list[tuple[int, int]]) -> int:
    return len(build_batch([Record(at, time, None, bytes(size)) for at, (size, time) in enumerate(rows)]))


def cut(rows: list[tuple[int, int]], limits: Limits) -> list[int]:
    sizes = np.array([1 + 1 + (1 if size < 64 else 2) + size + 1 for size, _ in rows], np.int64)
    return BatchCutter(sizes, np.array([time for _, time in rows], np.int64), limits).cut(0, len(rows))


@given(records, st.integers(100, 2000))
def test_batches_are_filled_up_to_the_limit(rows: list[tuple[int, int]], batch_size: int) -> None:
    firsts = cut(rows, Limits(batch_size))
    assert firsts[0] == 0
    for start, end in zip(firsts, [*firsts[1:], len(rows)], strict=True):
        assert end == start + 1 or batch_bytes(rows[start:end]) <= batch_size
        if end < len(rows):
            assert batch_bytes(rows[start : end + 1]) > batch_size


steady = st.lists(
    st.tuples(st.integers(70, 300), st.integers(0, 300) | st.integers(0, 1 << 30)), min_size=1, max_size=300
)


@given(steady | st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=300))
def test_fast_method_cuts_like_the_general_one(rows: list[tuple[int, int]]) -> None:
    sizes = np.array([size for size, _ in rows], np.int64)
    times = np.cumsum(np.array([wait for _, wait in rows], np.int64))
    quick = BatchCutter(sizes, times, Limits(2000))
    exact = BatchCutter(np.append(sizes, 1 << 20), np.append(times, 0), Limits(2000))
    assert quick.is_steady(0, len(rows))
    assert not exact.is_steady(0, len(rows))
    assert quick.cut(0, len(rows)) == exact.cut(0, len(rows))


def test_oversized_record_gets_its_own_batch() -> None:
    assert cut([(10, 0), (5000, 0), (10, 0), (10, 0)], Limits(200)) == [0, 1, 2]


def test_records_per_batch_are_limited() -> None:
    assert cut([(1, 0)] * 10, Limits(batch_records=4)) == [0, 4, 8]


def test_no_rows_have_no_batch() -> None:
    assert BatchCutter(np.empty(0, np.int64), np.empty(0, np.int64), Limits()).cut(0, 0) == []


def test_timestamps_may_decrease_between_runs() -> None:
    cutter = BatchCutter(np.full(9, 100, np.int64), np.array([5, 6, 7, 1, 2, 3, 3, 2, 4], np.int64), Limits())
    assert [cutter.is_steady(start, start + 3) for start in (0, 3, 6)] == [True, True, False]
    assert not cutter.is_steady(0, 6)
