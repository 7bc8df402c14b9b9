"""Runs made up for tests of the reports."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kafkalet_conformance.catalog import Level, Scenario
from kafkalet_conformance.playing.matching import MISSING
from kafkalet_conformance.results import CaseResult, Difference, Outcome, Run, ScenarioResult

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\x00\ud800'\"&\u2028"
"""Text that a broker might return."""


def scenario(
    name: str, area: str = "fetch", level: Level = "must", apis: Mapping[str, tuple[int, int]] | None = None
) -> Scenario:
    return Scenario(
        name=name,
        area=area,
        claim=f"The claim of {name}.",
        level=level,
        sources=("KIP-101", "LogSegment"),
        releases=("3.9", "4.4"),
        needs={},
        apis={"Fetch": (4, 6)} if apis is None else apis,
        cases=3,
    )


def case(
    name: str = "one",
    outcome: Outcome = Outcome.AS_KAFKA,
    *differences: Difference,
    api: str = "Fetch",
    version: int = 4,
    **values: Any,
) -> CaseResult:
    return CaseResult(name, api, version, outcome, differences=differences, **values)


def differing(name: str = "one", expected: Any = 3, actual: Any = 0, version: int = 4) -> CaseResult:
    """Return a case with another error code than Kafka's."""
    answers = [
        {"throttle_time_ms": 0, "topics": [{"name": "t", "partitions": [{"index": 0, "error_code": code}]}]}
        for code in (expected, actual)
    ]
    return case(
        name,
        Outcome.DIFFERS,
        Difference("topics[0].partitions[0].error_code", expected, actual),
        version=version,
        request={"topics": [{"name": "t", "offset": 2**63 - 1}]},
        expected=answers[0],
        actual=answers[1],
        request_bytes=b"\x00\x01abc",
        answer_bytes=bytes(range(40)),
    )


def result(
    of: Scenario, outcome: Outcome = Outcome.AS_KAFKA, *cases: CaseResult, reason: str = "", duration_s: float = 0.5
) -> ScenarioResult:
    return ScenarioResult(of, outcome, reason, cases, duration_s)


def run(*results: ScenarioResult, **values: Any) -> Run:
    made = Run(
        bootstrap="localhost:9092",
        against="4.4",
        kafkalet_version="1.2.3",
        started="2026-01-02T03:04:05+00:00",
        duration_s=12.5,
        brokers=1,
        software="",
        served={"Fetch": (0, 17)},
        options={"only": "fetch"},
        results=results,
    )
    return replace(made, **values)


def every_outcome() -> Run:
    """Return a run with each outcome, and with text that a page or a terminal must not interpret."""
    evil = case(
        EVIL,
        Outcome.DIFFERS,
        Difference(f"topics[0].{EVIL}", EVIL, MISSING),
        Difference("huge", "x" * 100_000, list(range(10_000))),
        api="Metadata",
        version=9,
        request={EVIL: EVIL},
        expected={"topics": [{EVIL: EVIL}], "huge": "x" * 100_000},
        actual={"topics": [{}], "huge": list(range(10_000))},
    )
    return run(
        result(scenario("good"), Outcome.AS_KAFKA, case("a"), case("b", version=5)),
        result(scenario("codes", level="should"), Outcome.DIFFERS, case("a"), differing("b", version=5)),
        result(scenario("evil", area="metadata", apis={"Metadata": (9, 9)}), Outcome.DIFFERS, evil),
        result(
            scenario("shaky", level="detail"),
            Outcome.UNSTABLE,
            case("a", Outcome.UNSTABLE, reason="answered in 2 ways"),
        ),
        result(
            scenario("broken", area="groups", apis={"JoinGroup": (0, 5)}),
            Outcome.FAILED,
            case("a", Outcome.FAILED, api="JoinGroup", version=2, reason="the broker closed the connection"),
            case("raw", api="", version=-1),
        ),
        result(scenario("old"), Outcome.NOT_SERVED, case("a", Outcome.NOT_SERVED, reason="Fetch v4 is not served")),
        result(scenario("many", area="groups"), Outcome.NOT_RUN, reason="needs a cluster of 3 brokers"),
        software=EVIL,
    )
