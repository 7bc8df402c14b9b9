"""The outcome of several cases together."""

from itertools import combinations

import pytest

from kafkalet_conformance.results import BAD, LEFT_OUT, ORDER, Outcome, together


def test_each_outcome_has_a_place_in_the_order() -> None:
    assert sorted(ORDER) == sorted(Outcome)


@pytest.mark.parametrize("bad", sorted(BAD))
def test_differing_case_takes_precedence_over_all_others(bad: Outcome) -> None:
    others = set(Outcome) - BAD
    assert together([*others, bad]) is bad


def test_compared_cases_take_precedence_over_others() -> None:
    assert together([Outcome.NOT_SERVED, Outcome.AS_KAFKA, Outcome.NOT_RUN]) is Outcome.AS_KAFKA


def test_without_compared_cases_nothing_is_as_kafka() -> None:
    every = [some for count in (1, 2) for some in combinations(LEFT_OUT, count)]
    assert {together(some) for some in every} == set(LEFT_OUT)


def test_without_cases_nothing_differs() -> None:
    assert together([]) is Outcome.AS_KAFKA
