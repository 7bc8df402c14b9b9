"""Responses that vary between attempts."""

import time
from typing import Any

import pytest

from kafkalet_conformance.judging.repetition import Attempt, combined, masked
from kafkalet_conformance.playing.player import Player
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import CaseResult, Difference, Outcome


def player(unique: str = "cafe", **names: Any) -> Player:
    made = Player(Target.__new__(Target), unique)
    made.names |= names
    return made


def attempt(actual: Any, unique: str = "cafe", path: str = "topics[0].offset", **names: Any) -> Attempt:
    differences = () if actual is None else (Difference(path, 1, actual),)
    outcome = Outcome.DIFFERS if differences else Outcome.AS_KAFKA
    return Attempt((CaseResult("one", "Fetch", 4, outcome, differences=differences),), player(unique, **names))


def test_single_attempt_is_the_result() -> None:
    one = attempt(5)
    assert combined([one]) == one.cases


def test_same_difference_in_all_attempts_is_stable() -> None:
    assert combined([attempt(5), attempt(5), attempt(5)])[0].outcome is Outcome.DIFFERS


def test_case_that_differs_only_once_is_unstable() -> None:
    [case] = combined([attempt(5), attempt(None), attempt(None)])
    assert case.outcome is Outcome.UNSTABLE
    assert case.reason == "3 attempts: differs (topics[0].offset: expected 1, got 5); as Kafka; as Kafka"


def test_unstable_case_has_each_differing_response_once() -> None:
    [case] = combined([attempt(5), attempt(6), attempt(5)])
    assert case.outcome is Outcome.UNSTABLE
    assert [each.actual for each in case.differences] == [5, 6]


def test_bound_names_and_ids_do_not_make_a_response_unstable() -> None:
    [case] = combined([attempt("g-cafe", "cafe", P=4000), attempt("g-beef", "beef", P=5000)])
    assert case.outcome is Outcome.DIFFERS
    [case] = combined([attempt(4000, "cafe", P=4000), attempt(5000, "beef", P=5000)])
    assert case.outcome is Outcome.DIFFERS


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        ("partitions[0].aborted_transactions[producer_id={}].first_offset", (4000, 5000)),
        ("topics[name=c{}.t].partitions[0]", ("cafe", "beef")),
        ("members[member_id=m-{}]", ("0a8f2b3c-0000-4000-8000-00000000abcd", "1a8f2b3c-0000-4000-8000-00000000abcd")),
        ("aborted_transactions[producer_id={}]", (7, 8)),
    ],
)
def test_bound_names_and_ids_in_paths_do_not_make_a_response_unstable(path: str, bound: tuple[Any, Any]) -> None:
    one, other = bound
    first = attempt(5, "cafe", path.format(one), P=one)
    [case] = combined([first, attempt(5, "beef", path.format(other), P=other)])
    assert case.outcome is Outcome.DIFFERS
    [case] = combined([first, attempt(5, "beef", path.format("elsewhere"), P=other)])
    assert case.outcome is Outcome.UNSTABLE


def test_small_ids_are_masked_in_fields_of_ids_only() -> None:
    assert masked({"producer_id": 7, "producer_epoch": 7}, player(P=7)) == {"producer_id": "$P", "producer_epoch": 7}
    [case] = combined([attempt(7, path="aborted[0].producer_id", P=7), attempt(8, path="aborted[0].producer_id", P=8)])
    assert case.outcome is Outcome.DIFFERS


def test_values_that_differ_for_good_reasons_are_masked() -> None:
    now = int(time.time() * 1000)
    value = {"a": now, "b": "t-cafe", "c": ["0a8f2b3c-0000-4000-8000-00000000abcd"], "d": 7, "e": 4000}
    assert masked(value, player(P=4000, E=7)) == {
        "a": "$NOW",
        "b": "t-<unique>",
        "c": ["<uuid>"],
        "d": 7,
        "e": "$P",
    }
