"""What changed between two runs."""

import json

import pytest

from kafkalet_conformance.reports.comparison import Kind, as_json, compare
from kafkalet_conformance.results import CaseResult, Difference, Outcome

from .runs import case, differing, every_outcome, result, run, scenario


def kinds(before: list[CaseResult], after: list[CaseResult]) -> list[Kind]:
    """Return how the responses of a scenario changed."""
    runs = [run(result(scenario("x"), Outcome.AS_KAFKA, *cases)) for cases in (before, after)]
    return [change.kind for change in compare(*runs).changes]


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.AS_KAFKA])
def test_response_that_was_as_kafka_and_is_not_is_a_regression(outcome: Outcome) -> None:
    assert kinds([case()], [case("one", outcome)]) == [Kind.REGRESSION]
    assert kinds([case("one", outcome)], [case()]) == [Kind.FIXED]


def test_same_runs_have_no_changes() -> None:
    comparison = compare(every_outcome(), every_outcome())
    assert (comparison.changes, comparison.exit_status) == ((), 0)


def test_responses_that_only_one_run_has_are_new_or_missing() -> None:
    assert kinds([case("a")], [case("a"), differing("b")]) == [Kind.NEW]
    assert kinds([case("a"), case("b")], [case("a")]) == [Kind.MISSING]


def test_other_response_that_is_not_as_kafka_is_a_change() -> None:
    assert kinds([differing(actual=0)], [differing(actual=5)]) == [Kind.CHANGED]
    assert kinds([differing()], [case("one", Outcome.FAILED)]) == [Kind.CHANGED]


def test_text_that_differs_in_each_run_is_not_a_change() -> None:
    first, second = (case("a", Outcome.DIFFERS, Difference("name", "x", text)) for text in ("t-1234", "t-5678"))
    assert kinds([first], [second]) == []


def test_responses_with_the_same_name_are_compared_in_order() -> None:
    assert kinds([case(), differing()], [case(), differing()]) == []
    assert kinds([case(), case()], [case(), differing()]) == [Kind.REGRESSION]


def test_scenario_that_is_not_run_any_more_is_a_regression() -> None:
    before = run(result(scenario("x"), Outcome.AS_KAFKA, case()))
    after = run(result(scenario("x"), Outcome.NOT_RUN, reason="needs a cluster of 3 brokers"))
    comparison = compare(before, after)
    assert [(each.kind, each.name, each.detail) for each in comparison.changes] == [
        (Kind.REGRESSION, "x", "needs a cluster of 3 brokers")
    ]
    assert comparison.exit_status == 1


def test_scenario_that_was_not_selected_is_not_a_regression() -> None:
    comparison = compare(run(result(scenario("x"), Outcome.AS_KAFKA, case())), run())
    assert ([each.kind for each in comparison.changes], comparison.exit_status) == ([Kind.MISSING], 0)


def test_regressions_come_first() -> None:
    before = [differing("a"), case("b")]
    after = [case("a"), differing("b")]
    assert kinds(before, after) == [Kind.REGRESSION, Kind.FIXED]


def test_comparison_is_plain_data() -> None:
    before = run(result(scenario("x"), Outcome.AS_KAFKA, case()))
    after = run(result(scenario("x"), Outcome.DIFFERS, differing()), against="3.9")
    content = json.loads(json.dumps(as_json(compare(before, after))))
    assert content["counts"] == {"regression": 1, "fixed": 0, "changed": 0, "new": 0, "missing": 0}
    assert content["after"]["against"] == "3.9"
    assert content["changes"] == [
        {
            "kind": "regression",
            "scenario": "x",
            "case": "Fetch v4 'one'",
            "before": "as Kafka",
            "after": "differs",
            "detail": "topics[0].partitions[0].error_code: expected 3 UNKNOWN_TOPIC_OR_PARTITION, got 0 NONE",
        }
    ]
