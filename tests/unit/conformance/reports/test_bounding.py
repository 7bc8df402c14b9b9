"""Results that are too large for a report."""

import json
from typing import Any

from kafkalet_conformance.reports.bounding import MOST_BYTES, MOST_DIFFERENCES, MOST_OF_SCENARIO, bounded, cut
from kafkalet_conformance.reports.json_report import encode
from kafkalet_conformance.results import CaseResult, Difference, Outcome, ScenarioResult

from .runs import case, result, scenario


def differing(name: str, actual: Any, count: int = 1, answer: bytes = b"") -> CaseResult:
    differences = tuple(Difference(f"topics[{number}].name", "a", actual) for number in range(count))
    return CaseResult(
        name, "Fetch", 4, Outcome.DIFFERS, "", differences, {"v": 4}, {"topics": []}, {"topics": [actual]}, b"r", answer
    )


def bounded_cases(*cases: CaseResult) -> tuple[CaseResult, ...]:
    return bounded(result(scenario("large"), Outcome.DIFFERS, *cases)).cases


def test_small_result_is_kept_unchanged() -> None:
    small = result(scenario("small"), Outcome.DIFFERS, differing("a", "b"), case("b"))
    assert bounded(small) == small


def test_long_text_and_array_end_with_a_note_on_the_missing_part() -> None:
    assert cut("x" * 5_000, 200) == "x" * 178 + "... (5,000 characters)"
    items = cut([{"n": number} for number in range(5_000)], 200)
    assert items[:2] == [{"n": 0}, {"n": 1}]
    assert items[-1] == f"... ({5_000 - len(items) + 1:,} more)"
    assert len(items) < 200


def test_case_says_how_much_is_left_out() -> None:
    [kept] = bounded_cases(differing("a", "b", MOST_DIFFERENCES + 7, bytes(MOST_BYTES + 1_000)))
    assert (len(kept.differences), len(kept.answer_bytes)) == (MOST_DIFFERENCES, MOST_BYTES)
    assert kept.left_out == "7 differences, 1,000 bytes of the response"


def test_cases_after_the_limit_of_a_scenario_keep_their_first_differences() -> None:
    cases = bounded_cases(*(differing(str(number), "b", 5, bytes(4_000)) for number in range(100)))
    assert (cases[0].left_out, cases[0].request) == ("", {"v": 4})
    assert cases[99].left_out == "2 differences, the request and the response"
    assert (len(cases[99].differences), cases[99].request, cases[99].answer_bytes) == (3, None, b"")


def test_size_of_a_scenario_is_bounded() -> None:
    large: ScenarioResult = bounded(
        result(
            scenario("large"),
            Outcome.DIFFERS,
            *(differing("a", {"deep": [["x" * 100_000] * 100] * 10}, 500, bytes(100_000)) for _ in range(50)),
            *(case("b", Outcome.FAILED, reason="x" * 100_000) for _ in range(50)),
        )
    )
    assert len(json.dumps(encode(large))) < 3 * MOST_OF_SCENARIO
