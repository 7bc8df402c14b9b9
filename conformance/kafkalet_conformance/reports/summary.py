"""The counts of a run by area, API and version.

A scenario counts once in each row that it belongs to, with the outcome of its responses there. A scenario that was
not performed belongs to all versions of the APIs that it would have used.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from kafkalet.units import counted
from kafkalet_conformance.results import BAD, CaseResult, Outcome, Run, ScenarioResult, together

RAW = "(other)"
"""The name of the row of cases without an API: requests that are not valid messages, and records of internal topics."""
COLUMNS = (
    Outcome.AS_KAFKA,
    Outcome.DIFFERS,
    Outcome.NOT_SERVED,
    Outcome.NOT_RUN,
    Outcome.UNSTABLE,
    Outcome.FAILED,
)
COMPARED = BAD | {Outcome.AS_KAFKA}
"""The outcomes of scenarios that were performed."""


class Row(NamedTuple):
    """The outcomes of the scenarios of an area in adjacent versions of an API. A version below 0 means unknown."""

    area: str
    api: str
    low: int
    high: int
    counts: Mapping[Outcome, int]

    @property
    def versions(self) -> str:
        return versions(self.low, self.high)


def versions(low: int, high: int) -> str:
    if high < 0:
        return ""
    return f"v{low}" if low == high else f"v{low}-{high}"


def api_of(case: CaseResult) -> str:
    return case.api or RAW


def by_version(result: ScenarioResult) -> dict[str, dict[int, Outcome]]:
    """Return the outcome of a scenario for each API and version."""
    found: dict[str, dict[int, Outcome]] = {}
    if not result.cases:
        for api, (low, high) in result.scenario.apis.items():
            found[api] = dict.fromkeys(range(low, high + 1), result.outcome)
        return found or {RAW: {-1: result.outcome}}
    for case in result.cases:
        known = found.setdefault(api_of(case), {})
        known[case.version] = together((known.get(case.version, case.outcome), case.outcome))
    return found


def table(run: Run) -> list[Row]:
    """Return the rows of a run. Adjacent versions with the same outcomes share a row."""
    cells: dict[tuple[str, str], list[dict[int, Outcome]]] = {}
    for result in run.results:
        for api, outcomes in by_version(result).items():
            cells.setdefault((result.scenario.area, api), []).append(outcomes)
    return [row for (area, api), scenarios in sorted(cells.items()) for row in _rows(area, api, scenarios)]


def _rows(area: str, api: str, scenarios: list[dict[int, Outcome]]) -> Iterable[Row]:
    def outcomes(version: int) -> frozenset[Outcome]:
        return frozenset(each[version] for each in scenarios if version in each)

    every = sorted({version for each in scenarios for version in each})
    for _, group in groupby(every, outcomes):
        same = list(group)
        found = [[each[version] for version in same if version in each] for each in scenarios]
        yield Row(area, api, same[0], same[-1], Counter(together(some) for some in found if some))


def was_possible(run: Run) -> bool:
    """Return whether at least one scenario was performed."""
    return any(
        result.outcome in COMPARED or any(case.outcome in COMPARED for case in result.cases) for result in run.results
    )


_VERBS = {Outcome.DIFFERS: "differ", Outcome.UNSTABLE: "unstable", Outcome.AS_KAFKA: "as Kafka"}


def in_words(counts: Mapping[Outcome, int]) -> str:
    """Return counts as text, such as `12 as Kafka, 3 differ`."""
    parts = [f"{counts[each]:,} {_VERBS.get(each, str(each))}" for each in COLUMNS if counts.get(each)]
    return ", ".join(parts) or "none"


def headline(run: Run) -> list[str]:
    """Return the lines that say what was judged, with the counts."""
    cases = run.case_counts()
    return [
        f"{counted(len(run.results), 'scenario')} compared with Kafka {run.against} in {run.duration_s:.1f} s: "
        f"{in_words(run.counts())}",
        f"{counted(sum(cases.values()), 'response')}: {in_words(cases)}",
    ]
