"""A run as JUnit XML: a test suite for each area, and a test case for each response.

A response that differs or is unstable is a failure; one that could not be compared is an error. A scenario without
responses is one test case, which is skipped if the scenario was not performed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from kafkalet_conformance.results import BAD, CaseResult, Outcome, Run, ScenarioResult

from .summary import api_of, versions
from .values import first_difference, line, printable, sides

TAGS = {
    Outcome.DIFFERS: "failure",
    Outcome.UNSTABLE: "failure",
    Outcome.FAILED: "error",
    Outcome.NOT_SERVED: "skipped",
    Outcome.NOT_RUN: "skipped",
}
MAX_DIFFERENCES = 40
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def dumps(run: Run) -> str:
    """Return a run as XML."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    every = [outcome for result in run.results for outcome in _outcomes(result)]
    name = f"kafkalet conform: {run.bootstrap} compared with Kafka {run.against}"
    lines.append(f"<testsuites {_attributes(name=name, **_counts(every, run.duration_s))}>")
    by_area = sorted(run.results, key=lambda result: result.scenario.area)
    for area, group in groupby(by_area, lambda result: result.scenario.area):
        lines += _suite(area, list(group), run)
    return "\n".join([*lines, "</testsuites>", ""])


def _suite(area: str, results: list[ScenarioResult], run: Run) -> Iterator[str]:
    outcomes = [outcome for result in results for outcome in _outcomes(result)]
    counts = _counts(outcomes, sum(result.duration_s for result in results))
    # The schema of JUnit wants a time without a zone.
    started = run.started.replace("+00:00", "").removesuffix("Z")
    yield f"  <testsuite {_attributes(name=area, **counts, timestamp=started, hostname=run.bootstrap)}>"
    for result in results:
        yield from _cases(result)
    yield "  </testsuite>"


def _outcomes(result: ScenarioResult) -> list[Outcome]:
    return [case.outcome for case in result.cases] or [result.outcome]


def _counts(outcomes: list[Outcome], duration_s: float) -> dict[str, str]:
    tags = [TAGS.get(outcome) for outcome in outcomes]
    return {
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": f"{duration_s:.3f}",
    }


def _cases(result: ScenarioResult) -> Iterator[str]:
    scenario = result.scenario
    place = f"kafkalet.conform.{scenario.area}.{scenario.name}"
    time = f"{result.duration_s / max(len(result.cases), 1):.4f}"
    if not result.cases:
        yield from _case(place, scenario.name, time, result.outcome, result.reason, [f"claim: {scenario.claim}"])
    for case in result.cases:
        name = f"{api_of(case)} {versions(case.version, case.version)}".strip() + f": {case.name}"
        lines = _explanation(result, case) if case.outcome in BAD else ()
        yield from _case(place, name, time, case.outcome, case.reason or first_difference(case), lines)


def _case(place: str, name: str, time: str, outcome: Outcome, reason: str, lines: Iterable[str]) -> Iterator[str]:
    start = f"    <testcase {_attributes(classname=place, name=name, time=time)}"
    if (tag := TAGS.get(outcome)) is None:
        yield f"{start}/>"
        return
    yield f"{start}>"
    if tag == "skipped":
        yield f"      <skipped {_attributes(message=f'{outcome}: {reason}')}/>"
    else:
        text = escape(clean("\n".join(lines)))
        yield f"      <{tag} {_attributes(type=outcome, message=f'{outcome}: {reason}')}>{text}</{tag}>"
    yield "    </testcase>"


def _explanation(result: ScenarioResult, case: CaseResult) -> Iterator[str]:
    yield f"claim: {result.scenario.claim}"
    yield f"level: {result.scenario.level}"
    if result.scenario.sources:
        yield f"sources: {', '.join(result.scenario.sources)}"
    if case.reason:
        yield case.reason
    if case.request is not None:
        yield f"request: {line(case.request, limit=1000)}"
    for difference in case.differences[:MAX_DIFFERENCES]:
        expected, actual = sides(difference)
        yield printable(difference.path) or "response"
        yield f"  expected: {expected}"
        yield f"  actual:   {actual}"
    if len(case.differences) > MAX_DIFFERENCES:
        yield f"... {len(case.differences)} differences in all"
    if case.left_out:
        yield f"left out: {case.left_out}"


def _attributes(**values: str) -> str:
    return " ".join(f"{name}={quoteattr(clean(str(value)))}" for name, value in values.items())


def clean(text: str) -> str:
    """Escape the characters that XML does not allow."""
    return _NOT_IN_XML.sub(lambda found: repr(found[0])[1:-1], text)
