"""Combining state batches, compared with a table of offsets."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.share.state import UNINITIALIZED, StateBatch, combined


@st.composite
def batches(draw: st.DrawFn) -> StateBatch:
    first = draw(st.integers(0, 30))
    last = first + draw(st.integers(0, 8))
    return StateBatch(first, last, draw(st.sampled_from([0, 2, 4])), draw(st.integers(1, 3)))


def table(given_batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    """Return the delivery count and state of each offset."""
    found: dict[int, tuple[int, int]] = {}
    for batch in given_batches:
        for offset in range(max(batch.first_offset, start_offset), batch.last_offset + 1):
            rank = batch.delivery_count, batch.delivery_state
            found[offset] = max(found.get(offset, rank), rank)
    return found


@given(st.lists(batches(), max_size=6), st.lists(batches(), max_size=6), st.integers(UNINITIALIZED, 35), st.booleans())
def test_higher_delivery_count_wins_and_then_higher_state(
    stored: list[StateBatch], changes: list[StateBatch], start_offset: int, merges_all: bool
) -> None:
    assert table(list(combined(stored, changes, start_offset, merges_all)), 0) == table(
        [*stored, *changes], start_offset
    )


@given(st.lists(batches(), max_size=6), st.lists(batches(), max_size=6))
def test_combined_batches_are_sorted_and_merged(stored: list[StateBatch], changes: list[StateBatch]) -> None:
    found = combined(stored, changes, UNINITIALIZED)
    for before, after in itertools.pairwise(found):
        assert before.last_offset < after.first_offset
        assert before.last_offset + 1 < after.first_offset or before[2:] != after[2:]


def test_batches_that_result_from_overlapping_ones_are_merged_since_kafka_4_4() -> None:
    stored, released = [StateBatch(9, 24, 0, 2), StateBatch(25, 25, 0, 2)], [StateBatch(24, 24, 4, 2)]
    once = combined(stored, [*released, StateBatch(22, 22, 0, 1)], UNINITIALIZED, merges_all=False)
    assert once == (StateBatch(9, 23, 0, 2), StateBatch(24, 24, 4, 2), StateBatch(25, 25, 0, 2))
    overlapping = [StateBatch(0, 9, 0, 1), StateBatch(5, 9, 0, 2)], [StateBatch(0, 4, 0, 2)]
    assert combined(*overlapping, UNINITIALIZED, merges_all=False) == (StateBatch(0, 4, 0, 2), StateBatch(5, 9, 0, 2))
    assert combined(*overlapping, UNINITIALIZED) == (StateBatch(0, 9, 0, 2),)


def test_batches_below_the_start_offset_are_dropped_and_one_that_contains_it_is_cut() -> None:
    assert combined([StateBatch(0, 4, 2, 1), StateBatch(5, 9, 0, 1)], (), 7) == (StateBatch(7, 9, 0, 1),)
