"""`tests.kafka.outcomes`: the outcomes of Kafka's own tests."""

import re
from pathlib import Path

from .outcomes import RESULTS, Cause, Line, Outcome, Result, causes, explain, lines, load, on_kafka, save

FAILED = Result("[id]", "kafka.server.ATest", "testA", "testA [1]", "FAILED", "1", "", "expected: <1> but was: <2>")
USED = FAILED._replace(used="ReplicaManager.logManager")
PASSED = FAILED._replace(status="PASSED", error="")


def test_failure_without_known_cause_has_to_run_on_kafka() -> None:
    assert explain(FAILED, []) is None
    assert on_kafka(FAILED, [PASSED])[0] is Outcome.DIFFERS
    assert on_kafka(FAILED, [FAILED])[0] is Outcome.ON_KAFKA_TOO
    assert on_kafka(FAILED, [])[0] is Outcome.ON_KAFKA_TOO


def test_class_that_failed_as_a_whole_differs_if_all_its_tests_pass_on_kafka() -> None:
    failed = FAILED._replace(id="[class:ATest]", method="")
    tests = [PASSED._replace(id=f"[class:ATest]/[method:{name}]") for name in "ab"]
    assert on_kafka(failed, tests)[0] is Outcome.DIFFERS
    assert on_kafka(failed, [*tests, FAILED._replace(id="[class:ATest]/[method:c]")])[0] is Outcome.ON_KAFKA_TOO


def test_failed_test_that_used_the_inside_of_kafka_does_not_apply() -> None:
    assert explain(USED, []) == (Outcome.DOES_NOT_APPLY, "`ReplicaManager.logManager`")
    assert explain(USED._replace(status="PASSED"), []) == (Outcome.PASSED, "")


def test_first_known_cause_that_matches_is_the_reason() -> None:
    known = [
        Cause(re.compile(pattern), Outcome.NOT_SERVED, pattern) for pattern in ("other", "ATest#testA.*<2>", "ATest")
    ]
    assert explain(USED, known) == (Outcome.NOT_SERVED, "ATest#testA.*<2>")


def test_lines_count_passed_tests_by_class_and_others_by_method() -> None:
    outcomes = [(PASSED, (Outcome.PASSED, "")), (PASSED, (Outcome.PASSED, "")), (FAILED, (Outcome.DIFFERS, "why"))]
    assert lines(outcomes) == [
        Line("kafka.server.ATest", Outcome.PASSED, 2, "", ""),
        Line("kafka.server.ATest", Outcome.DIFFERS, 1, "testA", "why"),
    ]


def test_saved_class_takes_the_place_of_its_earlier_results(tmp_path: Path) -> None:
    path = tmp_path / "results.tsv"
    other = Line("b.BTest", Outcome.PASSED, 3, "", "")
    save([Line("a.ATest", Outcome.DIFFERS, 1, "testA", "why"), other], path)
    save([Line("a.ATest", Outcome.PASSED, 1, "", "")], path)
    assert load(path) == [Line("a.ATest", Outcome.PASSED, 1, "", ""), other]


def test_known_causes_and_results_can_be_read() -> None:
    assert causes()
    assert load(RESULTS)
