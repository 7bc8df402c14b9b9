"""A client with a flaw gets the verdict that names it, and a client without flaws is correct."""

import pytest

from kafkalet_conformance.clients.judges import consumed, produced, tolerating
from kafkalet_conformance.clients.results import Verdict
from kafkalet_conformance.clients.scenario import Judge, Play, Role, Scenario
from kafkalet_conformance.clients.stage import Stage

from .judged import fake_runner, judged_fake


def scenario_of(role: Role, judge: Judge, play: Play, **options: int) -> Scenario:
    return Scenario("test", "A claim.", ("KIP-1",), role, judge, play, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("scenario", ["produce", "produce-acks-1", "consume", "produce-leader-moves"])
def test_client_without_flaw_is_correct(scenario: str) -> None:
    result = judged_fake(scenario, "none")
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])


@pytest.mark.parametrize(
    ("scenario", "flaw", "verdict", "text"),
    [
        ("produce", "loses", Verdict.LOST, "1 of 20 acknowledged records are not in the log"),
        ("produce", "duplicates", Verdict.DUPLICATED, "1 record more than once in the log"),
        ("produce", "reorders", Verdict.WRONG_ORDER, "not in the order in which they were sent"),
        ("produce", "fails", Verdict.GAVE_UP, "failed 1 of 20 records"),
        ("produce", "crashes", Verdict.GAVE_UP, "without a line for 20 of 20 records"),
        ("produce", "adds-bytes", Verdict.VIOLATED, "21 requests against the rule trailing-bytes"),
        ("consume", "skips", Verdict.LOST, "skipped 1 record"),
        ("consume", "repeats", Verdict.DUPLICATED, "1 record returned more than once"),
        ("consume", "crashes", Verdict.GAVE_UP, "ended with an error after 0 records"),
        ("consume", "unsupported", Verdict.NOT_RUN, "does not support this"),
    ],
)
def test_flaw_gets_its_verdict(scenario: str, flaw: str, verdict: Verdict, text: str) -> None:
    result = judged_fake(scenario, flaw)
    assert result.verdict is verdict
    assert text in result.findings[0].text


@pytest.mark.parametrize(("flaw", "is_noted"), [("hurries", True), ("none", False)])
def test_consumer_without_backoff_after_fetch_errors_is_noted(flaw: str, is_noted: bool) -> None:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(10)
        stage.fault("Fetch", error="REPLICA_NOT_AVAILABLE", times=30)

    result = fake_runner(flaw).run_one(scenario_of(Role.CONSUME, consumed(), play, count=10))
    assert result.verdict is Verdict.CORRECT
    assert any("fetched-again-too-fast" in note for note in result.notes) is is_noted


def test_client_that_hangs_is_killed() -> None:
    result = judged_fake("produce", "hangs", timeout_s=1.5)
    assert result.verdict is Verdict.HUNG
    assert result.exit_status == -9


def test_records_below_committed_offset_are_duplicates() -> None:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(10)
        stage.expect(lambda record: record.offset >= 5)

    result = fake_runner("none").run_one(scenario_of(Role.CONSUME, consumed(), play, count=10))
    assert result.verdict is Verdict.DUPLICATED
    assert result.findings[0].evidence == ("the first: 0@0; the committed offset was 5",)


def test_tolerated_verdict_is_as_documented() -> None:
    judge = tolerating(produced(), "this is allowed", Verdict.GAVE_UP)
    scenario = scenario_of(Role.PRODUCE, judge, lambda stage: stage.create_topic())
    result = fake_runner("fails").run_one(scenario)
    assert result.verdict is Verdict.AS_DOCUMENTED
    assert result.findings[0].text.endswith(": this is allowed")


def test_verdict_that_is_not_tolerated_remains() -> None:
    judge = tolerating(produced(), "this is allowed", Verdict.GAVE_UP)
    scenario = scenario_of(Role.PRODUCE, judge, lambda stage: stage.create_topic())
    assert fake_runner("loses").run_one(scenario).verdict is Verdict.LOST


def test_fault_that_fires_less_often_than_it_could_counts() -> None:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.fault("Produce", error="NOT_ENOUGH_REPLICAS", times=1)
        stage.fault("Metadata", delay=0.001, times=20)

    assert fake_runner("none").run_one(scenario_of(Role.PRODUCE, produced(), play)).verdict is Verdict.CORRECT
