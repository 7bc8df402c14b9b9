"""The results as text for a terminal, a log file or a pipe: a progress line, a table, and each difference.

Colors and the progress line are only for terminals. Text from the broker is escaped, so that it cannot control
the terminal.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from kafkalet.units import counted
from kafkalet_conformance.catalog import Scenario
from kafkalet_conformance.results import BAD, LEFT_OUT, CaseResult, Outcome, Run, ScenarioResult

from .comparison import Comparison, Kind
from .summary import COLUMNS, api_of, headline, in_words, table, versions
from .values import Row, hex_dump, line, printable, rows_of, shortened, sides, tree

COLORS = {
    Outcome.AS_KAFKA: "32",
    Outcome.DIFFERS: "31",
    Outcome.FAILED: "31;1",
    Outcome.UNSTABLE: "35",
    Outcome.NOT_SERVED: "2",
    Outcome.NOT_RUN: "2",
    Kind.REGRESSION: "31;1",
    Kind.FIXED: "32",
    Kind.CHANGED: "33",
    Kind.NEW: "36",
    Kind.MISSING: "2",
}
HEADS = {
    Kind.REGRESSION: "no longer as Kafka",
    Kind.FIXED: "fixed",
    Kind.CHANGED: "not as Kafka in either run, with a different response",
    Kind.NEW: "new",
    Kind.MISSING: "only in the earlier run",
}
LEAST_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Style:
    """How text is shown. `verbose` shows whole responses and all cases, `hexadecimal` the bytes as well."""

    width: int = 120
    color: bool = False
    verbose: bool = False
    hexadecimal: bool = False
    cases: int = 6
    """How many cases of a scenario are shown. With `verbose`, all are shown."""
    differences: int = 8
    """How many differences of a case are shown. With `verbose`, all are shown."""

    def paint(self, text: str, kind: Outcome | Kind) -> str:
        return f"\x1b[{COLORS[kind]}m{text}\x1b[0m" if self.color else text

    def wrapped(self, text: str, first: str, later: str) -> list[str]:
        width = max(self.width, LEAST_WIDTH)
        return textwrap.wrap(printable(text), width, initial_indent=first, subsequent_indent=later) or [first.rstrip()]

    def cut(self, text: str) -> str:
        width = max(self.width, LEAST_WIDTH)
        return text if len(text) <= width or self.verbose else f"{text[: width - 3]}..."


class Progress:
    """A progress line on a terminal. `total` is the number of scenarios, or 0 if it is not known yet."""

    def __init__(self, stream: TextIO, width: int, total: int = 0) -> None:
        self.stream, self.width, self.total = stream, width, total
        self.counts: Counter[Outcome] = Counter()

    def show(self, result: ScenarioResult) -> None:
        self.counts[result.outcome] += 1
        done = sum(self.counts.values())
        of = f"/{self.total}" if self.total else ""
        text = f"{done}{of}  {in_words(self.counts)}  {printable(result.scenario.name)}"
        self._write(f"\r\x1b[K{text[: max(self.width - 1, 1)]}")

    def clear(self) -> None:
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def report(run: Run, style: Style) -> Iterator[str]:
    """Yield the lines of a run: each scenario that is not as Kafka, the table, and the counts."""
    for result in run.results:
        if result.outcome in BAD:
            yield from scenario_lines(result, style)
            yield ""
    yield from table_lines(run, style)
    yield ""
    yield from not_performed(run, style)
    for note in run.notes:
        yield from style.wrapped(f"note: {note}", "", "  ")
    for text in headline(run):
        yield from style.wrapped(text, "", "  ")


def table_lines(run: Run, style: Style) -> Iterator[str]:
    """Yield the counts of scenarios by area, API and version."""
    found = table(run)
    if not found:
        return
    head = ["area", "API", "versions", *(str(outcome) for outcome in COLUMNS)]
    cells = [
        [printable(row.area), printable(row.api), row.versions, *(str(row.counts.get(each, "")) for each in COLUMNS)]
        for row in found
    ]
    total: Counter[Outcome] = run.counts()
    cells.append(["all scenarios", "", "", *(str(total.get(each, "")) for each in COLUMNS)])
    # On a narrow terminal, columns of outcomes that do not occur are left out, then the names are shortened.
    shown = [*range(3), *(3 + n for n, each in enumerate(COLUMNS) if total[each] or style.width >= 100)]
    widths = [max(len(row[column]) for row in [head, *cells]) for column in range(len(head))]
    excess = sum(widths[column] + 2 for column in shown) - 2 - max(style.width, LEAST_WIDTH)
    for column in (1, 0):
        less = min(max(excess, 0), max(widths[column] - 8, 0))
        widths[column] -= less
        excess -= less
    yield _row(head, shown, widths, style, None)
    area = ""
    for row in cells:
        first = "" if row[0] == area else row[0]
        area = row[0]
        yield _row([first, *row[1:]], shown, widths, style, COLUMNS)


def _row(
    cells: Sequence[str], shown: Sequence[int], widths: Sequence[int], style: Style, colors: Sequence[Outcome] | None
) -> str:
    parts = []
    for column in shown:
        width, text = widths[column], cells[column]
        text = text if len(text) <= width else f"{text[: width - 1]}…"
        text = text.ljust(width) if column < 3 else text.rjust(width)
        parts.append(style.paint(text, colors[column - 3]) if colors and column >= 3 and text.strip() else text)
    return "  ".join(parts).rstrip()


def not_performed(run: Run, style: Style) -> Iterator[str]:
    """Yield why scenarios were not performed, and how many responses of other scenarios were not compared."""
    for outcome in (Outcome.NOT_SERVED, Outcome.NOT_RUN):
        reasons = Counter(
            result.reason or next((case.reason for case in result.cases if case.outcome is outcome), "")
            for result in run.results
            if result.outcome is outcome
        )
        shown = reasons.most_common(None if style.verbose else 12)
        for reason, count in shown:
            yield from style.wrapped(f"{outcome}: {reason} ({counted(count, 'scenario')})", "", "  ")
        if len(shown) < len(reasons):
            yield f"{outcome}: {counted(len(reasons) - len(shown), 'other reason')} (--verbose shows them)"
        performed = [result for result in run.results if result.outcome not in LEFT_OUT]
        some = Counter(result.scenario.name for result in performed for case in result.cases if case.outcome is outcome)
        if some:
            responses, scenarios = counted(some.total(), "response"), counted(len(some), "scenario")
            yield f"{outcome}: {responses} of {scenarios} whose others were compared"


def scenario_lines(result: ScenarioResult, style: Style) -> Iterator[str]:
    """Yield the claim of a scenario, and the differences in the broker's behavior."""
    scenario = result.scenario
    bad = [case for case in result.cases if case.outcome in BAD]
    count = f" ({len(bad)} of {counted(len(result.cases), 'response')})" if result.cases else ""
    yield (
        f"{printable(scenario.area)} / {printable(scenario.name)}: "
        + style.paint(result.outcome, result.outcome)
        + count
    )
    yield from style.wrapped(scenario.claim, "  ", "  ")
    yield from style.wrapped(", ".join([f"level {scenario.level}", *scenario.sources]), "  ", "    ")
    if result.reason:
        yield from style.wrapped(result.reason, "  ", "    ")
    groups = [list(group) for _, group in groupby(bad, _sameness)]
    for group in groups if style.verbose else groups[: style.cases]:
        yield from case_lines(group, style)
    if not style.verbose and len(groups) > style.cases:
        rest = sum(map(len, groups[style.cases :]))
        yield f"  ... and {counted(rest, 'more response')} (--verbose shows them)"


def _sameness(case: CaseResult) -> str:
    return repr((case.api, case.outcome, case.reason, case.differences))


def case_lines(group: list[CaseResult], style: Style) -> Iterator[str]:
    """Yield the first of the responses with the same differences. Unless verbose, the others are only named."""
    for case in group if style.verbose else group[:1]:
        names = [each.name for each in group] if not style.verbose else [case.name]
        known = [each.version for each in group] if not style.verbose else [case.version]
        quoted = shortened(", ".join(map(repr, names)), max(style.width - 40, LEAST_WIDTH))
        text = " ".join(filter(None, [api_of(case), versions(min(known), max(known)), quoted]))
        many = f" ({len(names)} responses)" if len(names) > 1 else ""
        yield f"  {printable(text)}{many}: " + style.paint(case.outcome, case.outcome)
        yield from _case(case, style)


def _case(case: CaseResult, style: Style) -> Iterator[str]:
    if case.reason:
        yield from style.wrapped(case.reason, "    ", "      ")
    if style.verbose:
        yield from _whole(case, style)
    else:
        if case.request is not None:
            yield style.cut(f"    request: {line(case.request)}")
        for difference in case.differences[: style.differences]:
            expected, actual = sides(difference)
            yield f"    {printable(difference.path) or 'response'}"
            yield style.cut(f"      expected: {expected}")
            yield style.cut(f"      actual:   {actual}")
        if len(case.differences) > style.differences:
            yield f"    ... {len(case.differences):,} differences in all (--verbose shows them)"
    if case.left_out:
        yield f"    left out: {case.left_out}"
    if style.hexadecimal:
        for name, data in (("request", case.request_bytes), ("response", case.answer_bytes)):
            yield f"    {name}: {len(data):,} bytes" if data else f"    {name}: the bytes were not kept"
            yield from (f"      {text}" for text in hex_dump(data))


def _whole(case: CaseResult, style: Style) -> Iterator[str]:
    if case.request is not None:
        yield "    request:"
        yield from (f"      {text}" for text in tree(case.request))
    if case.expected is None and case.actual is None:
        return
    yield "    response (- expected, + actual):"
    for row in rows_of(case):
        yield from _answer_lines(row, style)


def _answer_lines(row: Row, style: Style) -> Iterator[str]:
    indent = "  " * row.depth
    if not row.differs:
        yield f"        {indent}{row.actual}"
        return
    for sign, text, kind in (("-", row.expected, Outcome.AS_KAFKA), ("+", row.actual, Outcome.DIFFERS)):
        if text is not None:
            yield f"      {style.paint(f'{sign} {indent}{text}', kind)}"


def listed(scenarios: Sequence[Scenario], style: Style) -> Iterator[str]:
    """Yield the scenarios of each area with their claims."""
    for area, group in groupby(scenarios, lambda scenario: scenario.area):
        yield f"{area}:"
        for scenario in group:
            yield f"  {scenario.name}  ({', '.join([scenario.level, *scenario.sources])})"
            yield from style.wrapped(scenario.claim, "      ", "      ")
    yield counted(len(scenarios), "scenario")


def compared(comparison: Comparison, style: Style) -> Iterator[str]:
    """Yield the changes between two runs."""
    before, after = comparison.before, comparison.after
    if before.against != after.against:
        yield f"the earlier run was compared with Kafka {before.against}, the later one with {after.against}"
    for kind in Kind:
        changes = comparison.of(kind)
        if not changes:
            continue
        yield style.paint(f"{HEADS[kind]}: {len(changes):,}", kind)
        limit = len(changes) if style.verbose or kind is Kind.REGRESSION else 20
        for change in changes[:limit]:
            outcomes = f"{change.before or 'not judged'} -> {change.after or 'not judged'}"
            yield from style.wrapped(f"{change.name}: {outcomes}", "  ", "    ")
            if change.detail and change.after is not Outcome.AS_KAFKA:
                yield style.cut(f"      {printable(change.detail)}")
        if len(changes) > limit:
            yield f"  ... and {len(changes) - limit:,} more (--verbose shows them)"
    if not comparison.changes:
        yield "no changes"
