"""A run as JUnit XML."""

import re
from xml.etree import ElementTree

from kafkalet_conformance.reports.junit_report import clean, dumps
from kafkalet_conformance.results import Difference, Outcome

from .runs import EVIL, case, every_outcome, result, run, scenario


def tree() -> ElementTree.Element:
    return ElementTree.fromstring(dumps(every_outcome()).encode("utf-8"))


def test_each_area_is_a_suite_with_counts_of_its_cases() -> None:
    suites = tree().findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["fetch", "groups", "metadata"]
    for suite in [tree(), *suites]:
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert suite.get(name) == str(len(list(suite.iter(tag)))), (suite.get("name"), name)


def test_outcomes_become_failures_errors_and_skipped_cases() -> None:
    found = {
        (each.get("classname"), each.get("name")): [child.tag for child in each] for each in tree().iter("testcase")
    }
    place = "kafkalet.conform"
    assert found[f"{place}.fetch.good", "Fetch v4: a"] == []
    assert found[f"{place}.fetch.codes", "Fetch v5: b"] == ["failure"]
    assert found[f"{place}.fetch.shaky", "Fetch v4: a"] == ["failure"]
    assert found[f"{place}.groups.broken", "JoinGroup v2: a"] == ["error"]
    assert found[f"{place}.fetch.old", "Fetch v4: a"] == ["skipped"]
    assert found[f"{place}.groups.many", "many"] == ["skipped"]
    assert found[f"{place}.groups.broken", "(other): raw"] == []


def test_failure_has_the_difference_and_the_request() -> None:
    failure = next(each for each in tree().iter("failure") if "topics" in str(each.text))
    assert failure.get("message") == (
        "differs: topics[0].partitions[0].error_code: expected 3 UNKNOWN_TOPIC_OR_PARTITION, got 0 NONE"
    )
    assert "claim: The claim of codes." in str(failure.text)
    assert 'request: {topics: [{name: "t", offset: 9223372036854775807}]}' in str(failure.text)
    assert "  actual:   0 NONE" in str(failure.text)


def test_skipped_case_has_its_reason() -> None:
    reasons = {each.get("message") for each in tree().iter("skipped")}
    assert reasons == {"not served: Fetch v4 is not served", "not run: needs a cluster of 3 brokers"}


def test_text_of_the_broker_cannot_break_the_file() -> None:
    text = dumps(every_outcome())
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", text)
    [suite] = [each for each in tree().iter("testsuite") if each.get("name") == "metadata"]
    assert "</script><script>alert(1)" in str(suite[0].get("name"))
    assert clean(f"{EVIL}\ufffe").count("\\") == 4


def test_time_of_a_scenario_is_divided_among_its_cases() -> None:
    made = run(result(scenario("x"), Outcome.AS_KAFKA, case("a"), case("b"), duration_s=3))
    [suite] = ElementTree.fromstring(dumps(made))
    assert (suite.get("time"), [each.get("time") for each in suite]) == ("3.000", ["1.5000", "1.5000"])
    assert suite.get("timestamp") == "2026-01-02T03:04:05"


def test_many_differences_are_abbreviated() -> None:
    many = [Difference(f"a[{number}]", 1, 2) for number in range(1000)]
    text = dumps(run(result(scenario("x"), Outcome.DIFFERS, case("a", Outcome.DIFFERS, *many))))
    assert "... 1000 differences in all" in text
    assert "(and 999 more)" in text
    assert len(text) < 10_000


def test_run_without_scenarios_is_valid() -> None:
    assert ElementTree.fromstring(dumps(run())).get("tests") == "0"
