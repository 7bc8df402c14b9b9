"""The results of Kafka's own tests (tests/kafka), as tables."""

from collections import Counter, defaultdict
from itertools import groupby
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "tests" / "kafka"
OUTCOMES = (
    "passed",
    "differs from Kafka",
    "differs on Kafka too",
    "does not apply",
    "not served",
    "skipped by the test",
)


def _results() -> list[list[str]]:
    """Return class, outcome, count, method and reason of each line."""
    return [line.split("\t") for line in (SOURCE / "results.tsv").read_text(encoding="utf-8").splitlines()]


def _groups() -> dict[str, list[str]]:
    """Return the classes of each group."""
    groups: dict[str, list[str]] = {}
    for line in filter(None, (SOURCE / "classes.txt").read_text(encoding="utf-8").splitlines()):
        if line.startswith("# "):
            classes = groups.setdefault(line[2:], [])
        else:
            classes.append(line)
    return groups


def _row(name: str, counts: Counter[str]) -> str:
    return f"| {name} | {' | '.join(str(counts[outcome] or '') for outcome in OUTCOMES)} |"


def _table(first: str, rows: list[str]) -> str:
    return "\n".join([f"| {first} | {' | '.join(OUTCOMES)} |", f"| --- {'| ---: ' * len(OUTCOMES)}|", *rows])


def text(part: str) -> str:
    """Return a part of the page: `groups`, `classes` or `reasons`."""
    return {"groups": _by_group, "classes": _by_class, "reasons": _by_reason}[part]()


def _counts() -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, outcome, count, *_ in _results():
        counts[name][outcome] += int(count)
    return counts


def _by_group() -> str:
    counts = _counts()
    rows = []
    total: Counter[str] = Counter()
    for group, classes in _groups().items():
        run = [name for name in classes if name in counts]
        found = sum((counts[name] for name in run), Counter[str]())
        total += found
        rows.append(_row(f"{group} ({len(run)} of {len(classes)} classes run)", found))
    return _table("group", [*rows, _row("**all**", total)])


def _by_class() -> str:
    counts = _counts()
    parts = []
    for group, classes in _groups().items():
        rows = [_row(f"`{name.removeprefix('org.apache.kafka.')}`", counts[name]) for name in classes if name in counts]
        if rows:
            parts.append(f"### {group}\n\n{_table('class', rows)}")
    return "\n\n".join(parts)


def _by_reason() -> str:
    tests: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, outcome, _, method, reason in _results():
        if outcome != "passed":
            tests[outcome, reason].append(f"`{name.split('.')[-1]}{'#' if method else ''}{method}`")
    parts = []
    ordered = sorted(tests, key=lambda key: (OUTCOMES.index(key[0]), -len(tests[key]), key[1]))
    for outcome, keys in groupby(ordered, key=lambda key: key[0]):
        rows = [f"| {_cell(key[1])} | {', '.join(tests[key])} |" for key in keys]
        title = f"### {outcome[0].upper()}{outcome[1:]}"
        parts.append("\n".join([title, "", "| reason | tests |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def _cell(reason: str) -> str:
    return reason.replace("|", "\\|").replace("<", "&lt;")
