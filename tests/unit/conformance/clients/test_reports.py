"""Reports contain the verdicts, and stay well-formed whatever a client has printed."""

import json
from xml.etree import ElementTree

import pytest

from kafkalet_conformance.clients import reports
from kafkalet_conformance.clients.results import ClientResult, ClientRun, Finding, Verdict


@pytest.fixture
def run() -> ClientRun:
    wrong = ClientResult("fails", "It <never> fails.", ("KIP-1",), "produce", Verdict.LOST)
    wrong.findings = [Finding(Verdict.LOST, "1 record is gone & lost", ("value \x00 <b>",))]
    wrong.log = ["bell \x07 </script>"]
    skipped = ClientResult("skips", "It runs.", (), "consume", Verdict.NOT_RUN)
    skipped.findings = [Finding(Verdict.NOT_RUN, "the command does not support this")]
    passed = ClientResult("passes", "It passes.", (), "consume", Verdict.CORRECT)
    return ClientRun(
        ["python3", "<driver>.py"], "4.4", "0.1", "2026-01-01 00:00:00+00:00", 1.5, [wrong, skipped, passed]
    )


def test_json_has_verdicts_and_findings(run: ClientRun) -> None:
    data = json.loads(reports.as_json(run))
    assert [result["verdict"] for result in data["results"]] == ["lost records", "not run", "correct"]
    assert data["results"][0]["findings"][0]["evidence"] == ["value \x00 <b>"]
    assert data["exit_status"] == 1


def test_junit_is_well_formed_and_counts(run: ClientRun) -> None:
    suite = ElementTree.fromstring(reports.as_junit(run).encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped"), suite.get("errors")) == (
        "3",
        "1",
        "1",
        "0",
    )
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "lost records"
    assert "value \ufffd <b>" in (failure.text or "")


def test_html_escapes_what_the_client_printed(run: ClientRun) -> None:
    page = reports.as_html(run)
    assert "</script>" not in page
    assert "&lt;driver&gt;.py" in page
    assert page.count("<tr>") == 4


def test_details_explain_what_is_not_correct(run: ClientRun) -> None:
    text = "\n".join(reports.details(run))
    assert "fails: lost records" in text
    assert "1 record is gone & lost" in text
    assert "passes" not in text


def test_summary_counts_verdicts(run: ClientRun) -> None:
    assert list(reports.summary(run))[-1] == "3 scenarios in 1.5 s: 1 correct, 1 not run, 1 lost records"


def test_skipped_scenario_names_its_reason(run: ClientRun) -> None:
    assert '<td class="none">not run: the command does not support this</td>' in reports.as_html(run)
    assert "  skips: the command does not support this" in list(reports.not_run(run))
