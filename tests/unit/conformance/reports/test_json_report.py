"""A run as JSON, and back."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_conformance.playing.matching import MISSING
from kafkalet_conformance.reports.json_report import NotAReport, dumps, loads, read
from kafkalet_conformance.results import CaseResult, Difference, Outcome, Run, ScenarioResult

from .runs import every_outcome, run, scenario

TEXTS = st.text(st.characters(codec=None), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("$float") | TEXTS, inner, max_size=3),
    max_leaves=8,
)
DIFFERENCES = st.builds(Difference, TEXTS, VALUES | st.just(MISSING), VALUES | st.just(MISSING))
CASES = st.builds(
    CaseResult,
    name=TEXTS,
    api=TEXTS,
    version=st.integers(-1, 20),
    outcome=st.sampled_from(Outcome),
    reason=TEXTS,
    differences=st.lists(DIFFERENCES, max_size=2).map(tuple),
    request=VALUES,
    expected=VALUES,
    actual=VALUES,
    request_bytes=st.binary(max_size=8),
    answer_bytes=st.binary(max_size=8),
)
SCENARIOS = st.builds(
    ScenarioResult,
    scenario=st.builds(
        lambda name, level, needs: replace(scenario(name, level=level), needs=needs),
        TEXTS,
        st.sampled_from(("must", "should", "detail")),
        st.dictionaries(TEXTS, VALUES, max_size=2),
    ),
    outcome=st.sampled_from(Outcome),
    reason=TEXTS,
    cases=st.lists(CASES, max_size=2).map(tuple),
    duration_s=st.floats(0, 1e6),
)
RUNS = st.builds(
    lambda results, software, served, options: run(*results, software=software, served=served, options=options),
    st.lists(SCENARIOS, max_size=2),
    TEXTS,
    st.dictionaries(TEXTS, st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)


@given(RUNS)
def test_run_round_trips_through_json(made: Run) -> None:
    assert loads(dumps(made)) == made


def test_every_outcome_round_trips() -> None:
    made = every_outcome()
    assert loads(dumps(made)) == made


def test_numbers_that_json_lacks_are_objects() -> None:
    made = run(
        ScenarioResult(
            scenario("x"),
            Outcome.AS_KAFKA,
            cases=(CaseResult("a", "b", 1, Outcome.DIFFERS, request=[float("nan"), float("-inf")]),),
        )
    )
    text = dumps(made)
    assert '[{"$float":"nan"},{"$float":"-inf"}]' in text
    assert repr(loads(text)) == repr(made)


def test_report_has_its_format_and_counts() -> None:
    content = json.loads(dumps(every_outcome()))
    assert (content["format"], content["format_version"]) == ("kafkalet-conformance", 1)
    assert content["counts"]["scenarios"] == {
        "as Kafka": 1,
        "differs": 2,
        "unstable": 1,
        "failed": 1,
        "not served": 1,
        "not run": 1,
    }
    assert content["results"][1]["cases"][1]["request_bytes"] == "0001616263"


def changed(*path: Any, to: Any) -> str:
    """Return a report with one value changed."""
    content = json.loads(dumps(every_outcome()))
    place = content
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        (dumps(every_outcome())[:-100], "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        ("[]", "it is not a report of kafkalet conform"),
        ('{"format": "other"}', "it is not a report of kafkalet conform"),
        (changed("format_version", to=2), "its format has version 2, and this kafkalet reads version 1"),
        (changed("results", to=None), "results has the unexpected value 'None'"),
        (changed("results", 0, to=7), r"results\[0\] is not an object"),
        (changed("results", 0, "outcome", to="fine"), r"results\[0\].outcome has the unexpected value 'fine'"),
        (changed("results", 0, "duration_s", to="x"), r"results\[0\].duration_s has the unexpected value 'x'"),
        (changed("results", 0, "scenario", "level", to="x"), r"results\[0\].scenario.level has"),
        (changed("results", 0, "scenario", "apis", to={"Fetch": [1]}), r"results\[0\].scenario.apis.Fetch has"),
        (changed("results", 0, "cases", 0, "version", to="4"), r"results\[0\].cases\[0\].version has"),
        (changed("results", 0, "cases", 0, "request_bytes", to="xy"), r"cases\[0\].request_bytes has"),
        (changed("brokers", to=None), "brokers has the unexpected value 'None'"),
    ],
)
def test_bad_report_is_refused_with_a_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(NotAReport, match=reason):
        loads(text)


def test_report_without_a_required_field_is_refused() -> None:
    content = json.loads(dumps(run()))
    del content["against"]
    with pytest.raises(NotAReport, match="against"):
        loads(json.dumps(content))


def test_file_that_does_not_exist_is_refused() -> None:
    with pytest.raises(NotAReport, match="cannot be read: No such file"):
        read("/no/such/file")
