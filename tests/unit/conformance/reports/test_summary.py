"""The counts of a run by area, API and version."""

from kafkalet_conformance.reports.summary import Row, headline, table, was_possible
from kafkalet_conformance.results import Outcome

from .runs import case, differing, every_outcome, result, run, scenario


def test_neighboring_versions_with_the_same_outcomes_share_a_row() -> None:
    good = result(scenario("good"), Outcome.AS_KAFKA, *(case(str(v), version=v) for v in (4, 5, 6)))
    bad = result(scenario("bad"), Outcome.DIFFERS, *(differing(str(v), version=v) for v in (6, 7)))
    assert table(run(good, bad)) == [
        Row("fetch", "Fetch", 4, 5, {Outcome.AS_KAFKA: 1}),
        Row("fetch", "Fetch", 6, 6, {Outcome.AS_KAFKA: 1, Outcome.DIFFERS: 1}),
        Row("fetch", "Fetch", 7, 7, {Outcome.DIFFERS: 1}),
    ]


def test_scenario_counts_once_in_a_row_with_its_worst_outcome() -> None:
    mixed = result(scenario("mixed"), Outcome.DIFFERS, case("a"), differing("b"), case("c"))
    assert [row.counts for row in table(run(mixed))] == [{Outcome.DIFFERS: 1}]


def test_scenario_that_was_not_run_belongs_to_all_versions_of_its_apis() -> None:
    skipped = result(scenario("x", apis={"Fetch": (0, 3), "Produce": (9, 9)}), Outcome.NOT_RUN, reason="needs acl")
    assert [(row.api, row.versions) for row in table(run(skipped))] == [("Fetch", "v0-3"), ("Produce", "v9")]
    assert table(run(result(scenario("x", apis={}), Outcome.NOT_RUN)))[0].api == "(other)"


def test_run_was_possible_if_something_was_compared() -> None:
    partly = result(scenario("x"), Outcome.NOT_SERVED, case("a", Outcome.NOT_SERVED), case("b"))
    assert was_possible(run(partly))
    assert not was_possible(run(result(scenario("x"), Outcome.NOT_RUN)))
    assert not was_possible(run())


def test_headline_has_counts_of_scenarios_and_responses() -> None:
    assert headline(every_outcome()) == [
        "7 scenarios compared with Kafka 4.4 in 12.5 s: 1 as Kafka, 2 differ, 1 not served, 1 not run, 1 unstable, "
        "1 failed",
        "9 responses: 4 as Kafka, 2 differ, 1 not served, 1 unstable, 1 failed",
    ]
    assert headline(run())[1] == "0 responses: none"
