"""The outcomes of tests, and the file that keeps them."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RESULTS = HERE / "results.tsv"


class Outcome(StrEnum):
    """What a test says about kafkalet."""

    PASSED = "passed"
    DIFFERS = "differs from Kafka"
    ON_KAFKA_TOO = "differs on Kafka too"
    DOES_NOT_APPLY = "does not apply"
    NOT_SERVED = "not served"
    SKIPPED = "skipped by the test"


class Result(NamedTuple):
    """The result of one test, as the runner writes it."""

    id: str
    test_class: str
    method: str
    display: str
    status: str
    seconds: str
    used: str
    """What the test used inside Kafka, if anything."""
    error: str


class Cause(NamedTuple):
    """A known reason for failures: those with the pattern in CLASS#METHOD DISPLAY ERROR."""

    pattern: re.Pattern[str]
    outcome: Outcome
    reason: str


class Line(NamedTuple):
    """A line of the file of outcomes: how many tests of a method, or of a class if they passed, had an outcome."""

    test_class: str
    outcome: Outcome
    count: int
    method: str
    reason: str


def _rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read(path: Path) -> list[Result]:
    """Return the results of a file that the runner wrote."""
    return (
        [Result(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def causes(path: Path = HERE / "causes.tsv") -> list[Cause]:
    return [Cause(re.compile(pattern), Outcome(outcome), reason) for pattern, outcome, reason in _rows(path)]


def explain(result: Result, known: Iterable[Cause]) -> tuple[Outcome, str] | None:
    """Return the outcome of a test and its reason, or None if the test has to run on Kafka."""
    if result.status == "PASSED":
        return Outcome.PASSED, ""
    if result.status == "SKIPPED":
        return Outcome.SKIPPED, result.error
    text = f"{result.test_class}#{result.method} {result.display} {result.error} [{result.used}]"
    for cause in known:
        if cause.pattern.search(text):
            return cause.outcome, cause.reason
    return (Outcome.DOES_NOT_APPLY, f"`{result.used}`") if result.used else None


def on_kafka(result: Result, results: Iterable[Result]) -> tuple[Outcome, str]:
    """Return the outcome of a test, or of a class, that failed without a known cause, from the results on Kafka."""
    passed = [other.status == "PASSED" for other in results if other.id.startswith(result.id)]
    outcome = Outcome.DIFFERS if passed and all(passed) else Outcome.ON_KAFKA_TOO
    return outcome, result.error[:200]


def lines(outcomes: Iterable[tuple[Result, tuple[Outcome, str]]]) -> list[Line]:
    """Return the lines for the outcomes of tests."""
    counts: Counter[tuple[str, Outcome, str, str]] = Counter()
    for result, (outcome, reason) in outcomes:
        alone = outcome is Outcome.PASSED
        counts[result.test_class, outcome, "" if alone else result.method, "" if alone else reason] += 1
    return [Line(name, outcome, count, method, reason) for (name, outcome, method, reason), count in counts.items()]


def load(path: Path = RESULTS) -> list[Line]:
    return [
        Line(name, Outcome(outcome), int(count), method, reason) for name, outcome, count, method, reason in _rows(path)
    ]


def save(new: list[Line], path: Path = RESULTS) -> None:
    """Put the outcomes of classes in place of their earlier ones."""
    names = {line.test_class for line in new}
    kept = [line for line in load(path) if line.test_class not in names]
    text = ("\t".join(map(str, line)) for line in sorted({*kept, *new}))
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
