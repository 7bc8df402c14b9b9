"""`kafkalet conform diff`: its output and its exit status."""

import json
from pathlib import Path

import pytest

from kafkalet.commands.command_line import UsageError
from kafkalet_conformance.commands.conform import main
from kafkalet_conformance.reports.json_report import dumps
from kafkalet_conformance.results import Outcome
from tests.unit.conformance.reports.runs import case, differing, result, run, scenario
from tests.wire.commands.processes import run as process


@pytest.fixture
def reports(tmp_path: Path) -> tuple[str, str]:
    """The files of a run in which everything is as Kafka, and of one with a difference."""
    good = run(result(scenario("x"), Outcome.AS_KAFKA, case()))
    bad = run(result(scenario("x"), Outcome.DIFFERS, differing()))
    files = (tmp_path / "good.json", tmp_path / "bad.json")
    for path, made in zip(files, (good, bad), strict=True):
        path.write_text(dumps(made))
    return str(files[0]), str(files[1])


def test_regression_exits_with_1(reports: tuple[str, str]) -> None:
    done = process("conform", "diff", *reports)
    assert done.returncode == 1
    assert done.stdout.startswith("no longer as Kafka: 1\n  x: Fetch v4 'one': as Kafka -> differs\n")


def test_fixed_response_exits_with_0(reports: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *reversed(reports)]) == 0
    assert capsys.readouterr().out == "fixed: 1\n  x: Fetch v4 'one': differs -> as Kafka\n"


def test_changes_are_written_as_json(reports: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--json", "-", *reports]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["counts"]["regression"] == 1
    assert "no longer as Kafka: 1" in captured.err


def test_file_that_is_not_a_report_exits_with_2_and_one_line(reports: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(Path(reports[0]).read_text()[:-20])
    done = process("conform", "diff", reports[0], str(tmp_path / "cut.json"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"kafkalet: {tmp_path}/cut.json: it is not JSON: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("files", [[], ["a.json"], ["a.json", "b.json", "c.json"]])
def test_two_files_are_required(files: list[str]) -> None:
    with pytest.raises(UsageError, match=f"needs two JSON reports, not {len(files)}"):
        main(["diff", *files])


def test_help_explains_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--help"]) == 0
    assert "Exit status: 0 if everything that was as Kafka still is" in capsys.readouterr().out


def test_unknown_option_is_refused(reports: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="unknown option --html"):
        main(["diff", *reports, "--html"])
