"""What is remembered of records whose delivery has ended."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.share.outcomes import Outcomes
from kafkalet.broker.share.state import RecordState, StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def remembered(*batches: tuple[int, int, int, int]) -> Outcomes:
    outcomes = Outcomes()
    outcomes.add(StateBatch(*batch) for batch in batches)
    return outcomes


def test_neighbors_with_the_same_outcome_are_one_batch() -> None:
    outcomes = remembered((0, 1, ACKNOWLEDGED, 1), (4, 4, ACKNOWLEDGED, 1), (2, 3, ACKNOWLEDGED, 1))
    assert list(outcomes) == [(0, 4, ACKNOWLEDGED, 1)]


def test_records_that_will_be_delivered_again_are_not_remembered() -> None:
    assert list(remembered((0, 9, AVAILABLE, 1))) == []


def test_other_outcomes_and_counts_are_kept_apart() -> None:
    batches = [(0, 0, ACKNOWLEDGED, 1), (1, 1, ACKNOWLEDGED, 2), (2, 2, ARCHIVED, 2)]
    assert list(remembered(*batches)) == batches


def test_forgotten_records_may_end_within_a_batch() -> None:
    outcomes = remembered((0, 4, ACKNOWLEDGED, 1), (6, 9, ARCHIVED, 5))
    outcomes.forget_from(3)
    assert list(outcomes) == [(0, 2, ACKNOWLEDGED, 1)]


BATCHES = st.builds(
    lambda first, size, state, count: StateBatch(first, first + size, state, count),
    st.integers(0, 12),
    st.integers(0, 5),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
    st.integers(1, 2),
)


@given(st.lists(st.one_of(BATCHES, st.integers(0, 12))))
def test_each_record_has_its_last_outcome(changes: list[StateBatch | int]) -> None:
    outcomes, expected = Outcomes(), dict[int, tuple[int, int]]()
    for change in changes:
        if isinstance(change, int):
            outcomes.forget_from(change)
            expected = {offset: outcome for offset, outcome in expected.items() if offset < change}
        else:
            outcomes.add([change])
            if change.delivery_state != AVAILABLE:
                offsets = range(change.first_offset, change.last_offset + 1)
                expected.update(dict.fromkeys(offsets, change[2:]))
    batches = list(outcomes)
    found = {offset: each[2:] for each in batches for offset in range(each.first_offset, each.last_offset + 1)}
    assert found == expected
    assert all(
        after.first_offset > before.last_offset + (after[2:] == before[2:]) for before, after in pairwise(batches)
    )
