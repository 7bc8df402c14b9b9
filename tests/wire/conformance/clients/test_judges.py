"""A client that behaves badly gets the verdict that names its flaw, and one that does not is correct."""

import pytest

from kafkalet.conformance.clients.results import Verdict

from .judged import judged_fake


@pytest.mark.parametrize("scenario", ["produce", "produce-acks-1", "consume", "produce-leader-moves"])
def test_client_without_flaw_is_correct(scenario: str) -> None:
    result = judged_fake(scenario, "none")
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])


@pytest.mark.parametrize(
    ("scenario", "flaw", "verdict", "text"),
    [
        ("produce", "loses", Verdict.LOST, "1 of 20 acknowledged records are not in the log"),
        ("produce", "duplicates", Verdict.DUPLICATED, "1 records are in the log more than once"),
        ("produce", "reorders", Verdict.WRONG_ORDER, "not in the order in which they were sent"),
        ("produce", "fails", Verdict.GAVE_UP, "failed 1 of 20 records"),
        ("produce", "crashes", Verdict.GAVE_UP, "without a line for 20 of 20 records"),
        ("consume", "skips", Verdict.LOST, "skipped 1 records"),
        ("consume", "repeats", Verdict.DUPLICATED, "1 records were returned more than once"),
        ("consume", "crashes", Verdict.GAVE_UP, "ended with an error after 0 records"),
        ("consume", "unsupported", Verdict.NOT_RUN, "does not support this"),
    ],
)
def test_flaw_gets_its_verdict(scenario: str, flaw: str, verdict: Verdict, text: str) -> None:
    result = judged_fake(scenario, flaw)
    assert result.verdict is verdict
    assert text in result.findings[0].text


def test_client_that_hangs_is_killed() -> None:
    result = judged_fake("produce", "hangs", timeout_s=1.5)
    assert result.verdict is Verdict.HUNG
    assert result.exit_status == -9
