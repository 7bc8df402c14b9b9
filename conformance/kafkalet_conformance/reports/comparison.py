"""What changed between two runs, response by response.

A response is identified by its scenario, its name, its API and its version. A scenario without responses in one of the
runs is compared as a whole. A response can be a regression only if both runs judged it. Responses that only the earlier
run has are listed as missing, and those that only the later run has as new.

Responses that differ from Kafka in both runs count as changed if other fields differ, or the same fields have other
numbers or types. Text is not compared, because names of topics and ids are different in each run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kafkalet_conformance.results import BAD, CaseResult, Outcome, Run, ScenarioResult

from .json_report import encode
from .summary import api_of, versions
from .values import first_difference


class Kind(StrEnum):
    """How a response, or a scenario, changed."""

    REGRESSION = "regression"
    """It was as Kafka in the earlier run and is not in the later one."""
    FIXED = "fixed"
    CHANGED = "changed"
    """It differs from Kafka in both runs, in different ways."""
    NEW = "new"
    """The earlier run did not judge it."""
    MISSING = "missing"
    """The later run did not judge it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change. `case` is empty if the whole scenario changed; the outcome is None for a run that did not judge it."""

    kind: Kind
    scenario: str
    case: str
    before: Outcome | None
    after: Outcome | None
    detail: str = ""

    @property
    def name(self) -> str:
        return f"{self.scenario}: {self.case}" if self.case else self.scenario


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes from one run to a later one."""

    before: Run
    after: Run
    changes: tuple[Change, ...]

    def of(self, kind: Kind) -> list[Change]:
        return [change for change in self.changes if change.kind is kind]

    @property
    def exit_status(self) -> int:
        """1 if something that was as Kafka differs now, otherwise 0."""
        return int(bool(self.of(Kind.REGRESSION)))


Answer = CaseResult | ScenarioResult


def compare(before: Run, after: Run) -> Comparison:
    """Compare two runs."""
    old, new = ({result.scenario.name: result for result in run.results} for run in (before, after))
    changes: list[Change] = []
    for name in {**old, **new}:
        changes += _scenario(name, old.get(name), new.get(name))
    order = list(Kind)
    return Comparison(before, after, tuple(sorted(changes, key=lambda each: order.index(each.kind))))


def _scenario(name: str, old: ScenarioResult | None, new: ScenarioResult | None) -> Iterator[Change]:
    if old is None or new is None or not (old.cases and new.cases):
        yield from _change(name, "", old, new)
        return
    before, after = _by_key(old.cases), _by_key(new.cases)
    for key in {**before, **after}:
        yield from _change(name, key, before.get(key), after.get(key))


def _by_key(cases: Iterable[CaseResult]) -> dict[str, CaseResult]:
    found: dict[str, CaseResult] = {}
    seen: Counter[str] = Counter()
    for case in cases:
        key = f"{api_of(case)} {versions(case.version, case.version)}".strip() + f" {case.name!r}"
        seen[key] += 1
        found[key if seen[key] == 1 else f"{key} ({seen[key]})"] = case
    return found


def _change(scenario: str, case: str, old: Answer | None, new: Answer | None) -> Iterator[Change]:
    if (kind := _kind(old, new)) is None:
        return
    before, after = (answer.outcome if answer is not None else None for answer in (old, new))
    yield Change(kind, scenario, case, before, after, _detail(new) if new is not None else "")


def _kind(old: Answer | None, new: Answer | None) -> Kind | None:
    if old is None:
        return Kind.NEW
    if new is None:
        return Kind.MISSING
    was, now = old.outcome is Outcome.AS_KAFKA, new.outcome is Outcome.AS_KAFKA
    if was or now:
        return None if was and now else Kind.REGRESSION if was else Kind.FIXED
    return Kind.CHANGED if _essence(old) != _essence(new) else None


def _essence(answer: Answer) -> Any:
    """Return the differences, leaving out values that change from run to run."""
    if isinstance(answer, CaseResult):
        places = [(each.path, _comparable(each.actual)) for each in answer.differences]
        return answer.outcome, sorted(places, key=repr)
    return answer.outcome


def _comparable(value: Any) -> Any:
    return repr(value) if value is None or isinstance(value, int | float) else type(value).__name__


def _detail(new: Answer) -> str:
    if isinstance(new, CaseResult) and new.differences:
        return first_difference(new, 120)
    return new.reason or (_detail(_first_bad(new)) if isinstance(new, ScenarioResult) and _first_bad(new) else "")


def _first_bad(result: ScenarioResult) -> Any:
    return next((case for case in result.cases if case.outcome in BAD), None)


FORMAT = "kafkalet-conformance-diff"
FORMAT_VERSION = 1


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as values of JSON."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **{
            name: {
                key: getattr(run, key) for key in ("bootstrap", "software", "against", "started", "kafkalet_version")
            }
            for name, run in (("before", comparison.before), ("after", comparison.after))
        },
        "counts": {kind.value: len(comparison.of(kind)) for kind in Kind},
        "changes": encode(comparison.changes),
    }
