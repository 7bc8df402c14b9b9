"""The choice of timestamps to look up at a broker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.audit.timestamp_sample import TimestampSample, queries

times = st.lists(st.integers(-1, 10_000), max_size=300)


@given(times, times, st.integers(0, 3))
def test_sample_does_not_depend_on_stretches(one: list[int], other: list[int], seed: int) -> None:
    apart, together = TimestampSample(20, seed), TimestampSample(20, seed)
    for part in (one, other):
        apart.take(np.array(part, np.int64))
    together.take(np.array(other + one, np.int64))
    assert apart.timestamps.tolist() == together.timestamps.tolist()
    distinct = {timestamp for timestamp in one + other if timestamp >= 0}
    assert set(apart.timestamps.tolist()) <= distinct
    assert apart.timestamps.size == min(20, len(distinct))


def test_seed_changes_the_sample() -> None:
    samples = []
    for seed in (1, 2):
        sample = TimestampSample(50, seed)
        sample.take(np.arange(10_000))
        samples.append(sample.timestamps.tolist())
    assert samples[0] != samples[1]


def test_sample_of_size_0_is_empty() -> None:
    sample = TimestampSample(0, 0)
    sample.take(np.arange(10))
    assert sample.timestamps.size == 0


def test_few_timestamps_are_all_chosen_with_their_neighbors() -> None:
    known = np.array([100, 200, 205])
    asked = set(queries([known], 1000, 0).tolist())
    assert asked >= {99, 100, 101, 199, 200, 201, 204, 205, 206, 0, (1 << 62) - 1}


@pytest.mark.parametrize("count", [10, 100, 5000])
def test_number_of_timestamps_is_about_as_requested(count: int) -> None:
    asked = queries([np.arange(0, 100_000, 7), np.arange(50_000, 200_000, 11)], count, 3)
    assert count * 0.9 <= asked.size <= count
    assert (np.diff(asked) > 0).all()
    assert asked.min() >= 0


def test_log_without_timestamps_has_lookups() -> None:
    assert queries([], 10, 0).tolist() == [0, (1 << 62) - 1]
