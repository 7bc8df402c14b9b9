"""A run as one HTML page. tests/wire/conformance/reports/test_page.py opens it in a browser."""

import json
import re
from typing import Any

from kafkalet_conformance.reports.html_report import dumps, in_script
from kafkalet_conformance.results import Difference, Outcome, Run

from .runs import EVIL, case, differing, every_outcome, result, run, scenario


def data_of(made: Run) -> Any:
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', dumps(made), re.DOTALL)
    return json.loads(text)


def test_text_of_the_broker_is_never_markup() -> None:
    page = dumps(every_outcome())
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page
    page.encode("utf-8")


def test_json_in_a_script_cannot_end_it() -> None:
    text = in_script({"a": f"{EVIL}<!--"})
    assert not re.search("[<>&]", text)
    assert json.loads(text) == {"a": f"{EVIL}<!--"}


def test_page_allows_only_its_own_script_and_style() -> None:
    page = dumps(run())
    assert re.search(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", page)
    assert not re.search(r"https?://|\bsrc=|@import|url\(", page)


def test_braces_in_responses_are_not_filled_in() -> None:
    page = dumps(run(software="{{DATA}}"))
    assert "<h1>{{DATA}} compared with Kafka 4.4</h1>" in page


def test_notes_are_on_the_page() -> None:
    assert "<dt>Notes</dt><dd>one &lt;b&gt;; two</dd>" in dumps(run(notes=("one <b>", "two")))


def test_scenario_has_outcomes_by_api_and_its_differing_cases() -> None:
    found = data_of(run(result(scenario("x"), Outcome.DIFFERS, case("a"), differing("b"))))
    names = [each["name"] for each in found["outcomes"]]
    [one] = found["scenarios"]
    assert {api: names[outcome] for api, outcome in one["apis"].items()} == {"Fetch": "differs"}
    assert one["others"] == ["as Kafka: Fetch v4: a"]
    [bad] = one["bad"]
    assert bad["differences"] == [
        ["topics[0].partitions[0].error_code", "3 UNKNOWN_TOPIC_OR_PARTITION", "0 NONE"],
    ]
    assert bad["rows"][-1] == ["        error_code: 3 UNKNOWN_TOPIC_OR_PARTITION", "        error_code: 0 NONE"]
    assert bad["request"] == ["topics:", "  [0]:", '    name: "t"', "    offset: 9223372036854775807"]


def test_equal_lines_far_from_a_difference_are_left_out() -> None:
    answer = {f"f{number:02}": number for number in range(40)}
    made = case("a", Outcome.DIFFERS, Difference("f20", 20, 0), expected=answer, actual=answer | {"f20": 0})
    rows = data_of(run(result(scenario("x"), Outcome.DIFFERS, made)))["scenarios"][0]["bad"][0]["rows"]
    assert rows == [17, "f17: 17", "f18: 18", "f19: 19", ["f20: 20", "f20: 0"], "f21: 21", "f22: 22", "f23: 23", 16]


def test_large_responses_make_no_large_page() -> None:
    answer = {"records": [{"offset": number, "value": "x" * 1000} for number in range(2000)]}
    changes = [Difference(f"records[{number}].offset", number, -1) for number in range(2000)]
    actual = {"records": [each | {"offset": -1} for each in answer["records"]]}
    made = case("a", Outcome.DIFFERS, *changes, expected=answer, actual=actual, request=answer)
    assert len(dumps(run(result(scenario("x"), Outcome.DIFFERS, made)))) < 250_000
