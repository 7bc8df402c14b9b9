"""A run as one HTML page that loads nothing else: page.html with the results in it.

The page receives all values as lines of text, with the names of error codes, because numbers above 2^53 would lose
digits in a browser. It builds the details of a response when the reader opens them. The only script and the only style
that a browser may use are those of page.html, by their hashes.
"""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from kafkalet_conformance.results import BAD, CaseResult, Outcome, Run, ScenarioResult, together

from .summary import COLUMNS, api_of, by_version, in_words, versions
from .values import Row, hex_dump, printable, rows_of, shortened, sides, tree

PAGE = files("kafkalet_conformance.reports") / "page.html"
CONTEXT = 3
"""How many equal lines are kept before and after a line that differs."""
MAX_ROWS = 200
MAX_DIFFERENCES = 20
MAX_BYTES = 512
SYMBOLS = {
    Outcome.AS_KAFKA: "✓",
    Outcome.DIFFERS: "≠",
    Outcome.FAILED: "✗",
    Outcome.UNSTABLE: "~",
    Outcome.NOT_SERVED: "-",
    Outcome.NOT_RUN: "○",
}


def dumps(run: Run) -> str:
    """Return a run as an HTML page."""
    page = PAGE.read_text(encoding="utf-8")
    texts = {
        "TITLE": escape(printable(f"{run.software or run.bootstrap} compared with Kafka {run.against}")),
        "HEADER": _header(run),
        "POLICY": _policy(page),
        "DATA": in_script(_data(run)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: texts[found[1]], page)


def in_script(value: Any) -> str:
    """Return JSON that can neither end the script element that contains it nor begin a comment in it."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(page: str) -> str:
    hashes = {}
    for name in ("script", "style"):
        [content] = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        hashes[name] = f"'sha256-{digest}'"
    return f"default-src 'none'; script-src {hashes['script']}; style-src {hashes['style']}"


def _header(run: Run) -> str:
    facts = {
        "Broker": f"{run.software} at {run.bootstrap}" if run.software else run.bootstrap,
        "Brokers": str(run.brokers) if run.brokers else "",
        "Compared with": f"Apache Kafka {run.against}",
        "Date": run.started,
        "Duration": f"{run.duration_s:.1f} s",
        "Judged by": f"kafkalet {run.kafkalet_version}",
        "Options": " ".join(f"{name}={value}".rstrip("=") for name, value in run.options.items()),
        "Scenarios": f"{len(run.results):,}: {in_words(run.counts())}",
        "Notes": "; ".join(run.notes),
        "Responses": f"{run.case_counts().total():,}: {in_words(run.case_counts())}",
    }
    return "".join(f"<dt>{name}</dt><dd>{escape(printable(text))}</dd>" for name, text in facts.items() if text)


def _data(run: Run) -> dict[str, Any]:
    outcomes = [each.value for each in COLUMNS]
    return {
        "outcomes": [{"name": each.value, "symbol": SYMBOLS[each], "bad": each in BAD} for each in COLUMNS],
        "scenarios": [_scenario(result, outcomes) for result in run.results],
    }


def _scenario(result: ScenarioResult, outcomes: list[str]) -> dict[str, Any]:
    scenario = result.scenario
    apis = {api: outcomes.index(together(found.values())) for api, found in by_version(result).items()}
    passed = [case for case in result.cases if case.outcome not in BAD]
    return {
        "name": scenario.name,
        "area": scenario.area,
        "claim": scenario.claim,
        "level": scenario.level,
        "sources": scenario.sources,
        "outcome": outcomes.index(result.outcome),
        "reason": printable(result.reason),
        "duration": f"{result.duration_s:.2f} s",
        "apis": apis,
        "cases": len(result.cases),
        "others": _others(passed),
        "bad": [_case(case, outcomes) for case in result.cases if case.outcome in BAD],
    }


def _others(cases: list[CaseResult]) -> list[str]:
    """Return the names of the cases that neither differ nor failed, keyed by API and outcome."""
    found: dict[str, list[str]] = {}
    for case in cases:
        heading = f"{case.outcome}: {api_of(case)} {versions(case.version, case.version)}".strip()
        found.setdefault(heading, []).append(printable(case.name) + (f" ({case.reason})" if case.reason else ""))
    return [f"{heading}: {', '.join(shortened(name, 80) for name in names)}" for heading, names in found.items()]


def _case(case: CaseResult, outcomes: list[str]) -> dict[str, Any]:
    rows = _nearby(rows_of(case)) if case.expected is not None or case.actual is not None else []
    found: dict[str, Any] = {
        "name": printable(case.name),
        "api": f"{api_of(case)} {versions(case.version, case.version)}".strip(),
        "outcome": outcomes.index(case.outcome),
        "reason": printable("; ".join(filter(None, [case.reason, case.left_out and f"left out: {case.left_out}"]))),
        "differences": [
            [printable(each.path) or "response", *sides(each)] for each in case.differences[:MAX_DIFFERENCES]
        ],
        "count": len(case.differences),
        "request": _lines(tree(case.request)) if case.request is not None else [],
        "rows": rows,
    }
    for name, data in (("request", case.request_bytes), ("response", case.answer_bytes)):
        if data:
            found[f"{name}_bytes"] = hex_dump(data, MAX_BYTES)
    return found


def _lines(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MAX_ROWS else [*lines[:MAX_ROWS], f"... ({len(lines):,} lines)"]


def _nearby(rows: list[Row]) -> list[Any]:
    """Return the rows that differ, with a few rows around them. A number stands for that many omitted rows.

    A row that differs is a list of its two sides; a side without the row is null. Any other row is a string.
    """
    keep = {
        near for number, row in enumerate(rows) if row.differs for near in range(number - CONTEXT, number + CONTEXT + 1)
    }
    keep |= _enclosing(rows)
    found: list[Any] = []
    shown = 0
    for number, row in enumerate(rows):
        if number in keep and shown < MAX_ROWS:
            shown += 1
            indent = "  " * row.depth
            sides_ = [None if text is None else indent + text for text in (row.expected, row.actual)]
            found.append(sides_ if row.differs else sides_[0])
        elif found and isinstance(found[-1], int):
            found[-1] += 1
        else:
            found.append(1)
    return found


def _enclosing(rows: list[Row]) -> set[int]:
    """Return the rows of the fields that contain rows that differ."""
    found: set[int] = set()
    open_rows: list[int] = []
    for number, row in enumerate(rows):
        open_rows = [each for each in open_rows if rows[each].depth < row.depth]
        if row.differs:
            found.update(open_rows)
        open_rows.append(number)
    return found
