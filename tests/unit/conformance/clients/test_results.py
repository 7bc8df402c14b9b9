"""Verdicts have an order, and decide on the exit status of a run."""

import pytest

from kafkalet_conformance.clients.results import ClientResult, ClientRun, Verdict, worst


def run_of(*verdicts: Verdict) -> ClientRun:
    run = ClientRun(["client"], "4.4", "0", "now")
    run.results = [ClientResult(str(n), "claim", (), "produce", verdict) for n, verdict in enumerate(verdicts)]
    return run


def test_worst_verdict_is_that_of_lost_records() -> None:
    assert worst([Verdict.TOO_FAST, Verdict.LOST, Verdict.HUNG]) is Verdict.LOST


def test_client_without_findings_is_correct() -> None:
    assert worst([]) is Verdict.CORRECT


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([Verdict.CORRECT, Verdict.AS_DOCUMENTED], 0),
        ([Verdict.CORRECT, Verdict.NOT_RUN], 0),
        ([Verdict.CORRECT, Verdict.GAVE_UP], 1),
        ([Verdict.CORRECT, Verdict.FAILED], 1),
        ([Verdict.NOT_RUN, Verdict.NOT_RUN], 2),
        ([], 2),
    ],
)
def test_exit_status_follows_from_verdicts(verdicts: list[Verdict], status: int) -> None:
    assert run_of(*verdicts).exit_status == status
