"""Series of consecutive stretches are merged, with a limited number of points."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.batch import TimestampType
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.entries import Entries, entries_of
from kafkalet_spark.audit.series import NEVER, NO_OFFSETS, NO_TIMES, POINTS, SeriesOfStretch, behind
from kafkalet_spark.decoding.batches import walk


def entries(start: int, timestamps: list[int], **fields: int) -> Entries:
    batches = [
        build_batch([Record(start + at, timestamp, None, b"v")], base_offset=start + at, **fields)
        for at, timestamp in enumerate(timestamps)
    ]
    data = b"".join(batches)
    return entries_of("", 0, data, walk(data)[0])


def series(*parts: Entries) -> SeriesOfStretch:
    made = SeriesOfStretch()
    for part in parts:
        made.take(part)
    return made


times = st.lists(st.integers(0, 1 << 45), min_size=1, max_size=40)


@given(times, times)
def test_sums_of_merged_series_equal_the_totals(one: list[int], other: list[int]) -> None:
    apart = [series(entries(0, one)), series(entries(len(one), other))]
    together = series(entries(0, one), entries(len(one), other))
    by_time = apart[0].by_time.merged_with(apart[1].by_time)
    assert (by_time.shift, by_time.rows.tolist()) == (together.by_time.shift, together.by_time.rows.tolist())
    assert by_time.rows["records"].sum() == len(one) + len(other)
    for bins in (by_time, together.by_offset):
        assert bins.rows["bin"].max() - bins.rows["bin"].min() < POINTS
        assert (np.diff(bins.rows["bin"]) > 0).all()
    for timestamp in one + other:
        assert (timestamp >> by_time.shift) in by_time.rows["bin"]


@given(times, times)
def test_lateness_extends_across_stretches(one: list[int], other: list[int]) -> None:
    whole = [*one, *other]
    expected = int((np.maximum.accumulate(whole) - whole).max())
    joined = behind(series(entries(0, one)).by_offset, series(entries(len(one), other)).by_offset)
    assert joined.rows["lateness_ms"].max() == expected
    assert (joined.rows["smallest"].min(), joined.rows["largest"].max()) == (min(whole), max(whole))


def test_bins_become_wider_as_the_log_grows() -> None:
    made = series(entries(0, list(range(2000))))
    assert made.by_time.width == 4
    assert made.by_time.start.tolist() == list(range(0, 2000, 4))
    assert set(made.by_time.rows["records"].tolist()) == {4}


def test_batches_without_a_timestamp_are_only_in_the_series_by_offset() -> None:
    made = series(entries(0, [-1, 5, -1]))
    assert made.by_time.rows["records"].sum() == 1
    assert made.by_offset.rows["smallest"].tolist() == [NEVER, 5, NEVER]


def test_the_lag_is_from_the_first_record_to_the_append() -> None:
    stamp = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "append_time": 1000}
    made = series(entries(0, [400, 990], **stamp))
    assert made.by_offset.rows["append_lag_ms"].tolist() == [600, 10]
    assert made.by_offset.rows["lateness_ms"].tolist() == [0, 0]


def test_control_batches_are_ignored() -> None:
    made = series(entries(0, [5], is_control=True))
    assert (made.by_time, made.by_offset) == (NO_TIMES, NO_OFFSETS)
