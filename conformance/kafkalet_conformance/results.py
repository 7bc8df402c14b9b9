"""The results of a run: each request, the response of the broker, and that of Apache Kafka.

Reports read nothing else. The results contain only plain data, so that they can be written as JSON.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .catalog import Scenario


class Outcome(StrEnum):
    """The outcome of a case or of a scenario."""

    AS_KAFKA = "as Kafka"
    DIFFERS = "differs"
    UNSTABLE = "unstable"
    """The broker responded differently when the scenario was repeated."""
    FAILED = "failed"
    """No response that could be compared: the broker closed the connection, did not respond in time, or sent garbage,
    or a step of the preparation failed.
    """
    NOT_SERVED = "not served"
    """The broker does not advertise an API or version that the scenario needs."""
    NOT_RUN = "not run"
    """The scenario cannot run here for another reason, for example because it needs several brokers."""


ORDER = (Outcome.FAILED, Outcome.DIFFERS, Outcome.UNSTABLE, Outcome.AS_KAFKA, Outcome.NOT_RUN, Outcome.NOT_SERVED)
"""The order of precedence: the combined outcome of several cases is the first of these that one of them has. Any
response that is not Kafka's decides. If all responses that were compared are Kafka's, the scenario is AS_KAFKA, and its
reason says how many cases were not compared. NOT_RUN and NOT_SERVED are left for scenarios without any comparison.
"""
LEFT_OUT = (Outcome.NOT_SERVED, Outcome.NOT_RUN)
"""The outcomes of cases that were not compared."""
BAD = frozenset({Outcome.FAILED, Outcome.DIFFERS, Outcome.UNSTABLE})


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the combined outcome of several cases; AS_KAFKA if there are none."""
    return min(outcomes, key=ORDER.index, default=Outcome.AS_KAFKA)


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in a response, such as `topics[0].error_code`, with the expected and the actual value as JSON."""

    path: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        return f"{self.path or 'response'}: expected {_short(self.expected)}, got {_short(self.actual)}"


def _short(value: Any, limit: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A request with a recorded response. `request`, `expected` and `actual` are in the notation of scenarios.

    A case that is as Kafka contains none of the three, because a run has thousands of such cases.
    `api` is empty for raw bytes. `reason` explains any outcome without differences except AS_KAFKA.
    """

    name: str
    api: str
    version: int
    outcome: Outcome
    reason: str = ""
    differences: tuple[Difference, ...] = ()
    request: Any = None
    expected: Any = None
    actual: Any = None
    request_bytes: bytes = b""
    answer_bytes: bytes = b""
    left_out: str = ""
    """What is missing here because the result would be too large, such as `580 differences`."""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """A scenario against the broker. Its outcome is the first one of ORDER that a case has.

    `reason` explains FAILED, UNSTABLE, NOT_SERVED and NOT_RUN. With AS_KAFKA, it says how many cases were not compared.
    """

    scenario: Scenario
    outcome: Outcome
    reason: str = ""
    cases: tuple[CaseResult, ...] = ()
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """One judgement of a broker against the responses of the release `against`."""

    bootstrap: str
    against: str
    kafkalet_version: str
    started: str
    """The time in ISO 8601, UTC."""
    duration_s: float
    brokers: int
    software: str = ""
    """The software of the broker, if the caller of the judge knows it; no API of Kafka tells it."""
    served: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The versions of each API that the broker advertises."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The options of the run that are not the default ones."""
    notes: tuple[str, ...] = ()
    """Remarks: properties of the broker that differ from the recorded ones, and resources of the run that could not be
    removed from the cluster."""
    results: tuple[ScenarioResult, ...] = ()

    def counts(self) -> Counter[Outcome]:
        """Return the number of scenarios by outcome."""
        return Counter(result.outcome for result in self.results)

    def case_counts(self) -> Counter[Outcome]:
        """Return the number of cases by outcome."""
        return Counter(case.outcome for result in self.results for case in result.cases)
