"""Limit the size of results, and thus of reports: every response of a broker may differ by megabytes.

Long values are cut, with a note in place of the rest. Once the cases of a scenario together are too large, only the
first differences of further cases are kept. `CaseResult.left_out` says what is missing.
"""

import json
from dataclasses import replace
from typing import Any

from kafkalet.units import counted
from kafkalet_conformance.results import BAD, CaseResult, Difference, ScenarioResult

from .json_report import encode
from .values import shortened

MOST_OF_SCENARIO = 50_000
"""The most characters of the cases of a scenario with requests and responses, as JSON."""
MOST_OF_ANSWER = 10_000
"""About the most characters of a request, or of a response."""
MOST_OF_DIFFERENCE = 1_000
MOST_DIFFERENCES, FEWEST_DIFFERENCES = 50, 3
"""How many differences of a case are kept, with and without its request and responses."""
MOST_TEXT = 1_000
MOST_BYTES = 4_096
SHORT = 100


def bounded(result: ScenarioResult) -> ScenarioResult:
    """Return a result, cut to a size that a report can contain."""
    cases = []
    left = MOST_OF_SCENARIO
    for each in result.cases:
        case = replace(each, reason=shortened(each.reason, MOST_TEXT))
        if case.outcome in BAD:
            whole = _cut(case)
            size = len(json.dumps(encode(whole)))
            case = whole if size <= left else _brief(case)
            left -= size if size <= left else 0
        cases.append(case)
    return replace(result, reason=shortened(result.reason, MOST_TEXT), cases=tuple(cases))


def _cut(case: CaseResult) -> CaseResult:
    """Return a case with its request and both responses, each cut."""
    left_out = (
        [counted(len(case.differences) - MOST_DIFFERENCES, "difference")]
        if len(case.differences) > MOST_DIFFERENCES
        else []
    )
    for name, data in (("request", case.request_bytes), ("response", case.answer_bytes)):
        if len(data) > MOST_BYTES:
            left_out.append(f"{counted(len(data) - MOST_BYTES, 'byte')} of the {name}")
    return replace(
        case,
        differences=_differences(case, MOST_DIFFERENCES, MOST_OF_DIFFERENCE),
        request=cut(case.request, MOST_OF_ANSWER),
        expected=cut(case.expected, MOST_OF_ANSWER),
        actual=cut(case.actual, MOST_OF_ANSWER),
        request_bytes=case.request_bytes[:MOST_BYTES],
        answer_bytes=case.answer_bytes[:MOST_BYTES],
        left_out=", ".join(left_out),
    )


def _brief(case: CaseResult) -> CaseResult:
    """Return a case with its first differences only."""
    left_out = ["the request and the response"]
    if (more := len(case.differences) - FEWEST_DIFFERENCES) > 0:
        left_out.insert(0, counted(more, "difference"))
    return CaseResult(
        case.name,
        case.api,
        case.version,
        case.outcome,
        case.reason,
        _differences(case, FEWEST_DIFFERENCES, SHORT),
        left_out=", ".join(left_out),
    )


def _differences(case: CaseResult, most: int, characters: int) -> tuple[Difference, ...]:
    return tuple(
        Difference(shortened(each.path, MOST_TEXT), cut(each.expected, characters), cut(each.actual, characters))
        for each in case.differences[:most]
    )


def cut(value: Any, most: int) -> Any:
    """Return a value of about `most` characters. Texts and arrays end with a note on how much is missing."""
    return _cut_value(value, most)[0]


def _cut_value(value: Any, left: int) -> tuple[Any, int]:
    """Return a cut value, and how many characters are left for other values."""
    match value:
        case str():
            text = shortened(value, max(min(left, MOST_TEXT), SHORT))
            return text, left - len(text)
        case list() | tuple():
            items: list[Any] = []
            for item in value:
                if left <= 0:
                    items.append(f"... ({len(value) - len(items):,} more)")
                    break
                one, left = _cut_value(item, left)
                items.append(one)
            return items, left
        case dict():
            fields = {}
            for key, item in value.items():
                fields[key], left = _cut_value(item, left - len(str(key)))
            return fields, left
    return value, left - len(str(value))
