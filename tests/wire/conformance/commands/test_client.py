"""`kafkalet conform client`: its options, its output and its exit status."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkalet.commands.command_line import UsageError
from kafkalet_conformance.commands.client import main
from tests.wire.conformance.clients.judged import FAKE, ROOT


@pytest.fixture(autouse=True)
def _in_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_correct_client_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "produce", "--", *FAKE, "none"]) == 0
    assert "1 scenario in" in capsys.readouterr().out


def test_selection_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="--only needs the name of a scenario"):
        main(["--only", ",", "--list"])


def test_wrong_client_exits_with_1_and_writes_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("json", "junit", "html")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    assert main(["--only", "produce", *options, "--", *FAKE, "loses"]) == 1
    assert "acknowledged records are not in the log" in capsys.readouterr().out
    assert json.loads(files["json"].read_text())["results"][0]["verdict"] == "lost records"
    assert all(path.stat().st_size for path in files.values())


def test_report_on_the_standard_output_moves_the_lines_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "produce", "--json", "-", "--", *FAKE, "none"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit_status"] == 0
    assert "1 scenario in" in captured.err


def test_file_that_cannot_be_written_is_refused_before_the_run() -> None:
    with pytest.raises(UsageError, match="there is no directory /no/such"):
        main(["--json", "/no/such/file", "--", *FAKE, "none"])


def test_client_that_supports_nothing_exits_with_2() -> None:
    assert main(["--only", "produce,consume", "--", *FAKE, "unsupported"]) == 2


def test_command_that_does_not_exist_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", "no-such-program"]) == 2
    assert "no-such-program: not found" in capsys.readouterr().err


def test_list_shows_claims_without_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "produce"]) == 0
    assert "delivers every record once" in capsys.readouterr().out


def test_help_lists_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--client-timeout SECONDS" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "no command to judge"),
        (["--only", "prodcue", "--", "true"], "did you mean produce"),
        (["--jobs", "0", "--", "true"], "expected a number from 1"),
        (["--client-timeout", "soon", "--", "true"], "expected a number from 1"),
        (["--kafka-version", "9.9", "--", "true"], "the releases are"),
        (["--unknown", "--", "true"], "unknown option --unknown"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        main(arguments)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_run_and_client(number: signal.Signals, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    client = f"import os, time; open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}}\\n'); time.sleep(600)"
    arguments = ["-m", "kafkalet", "conform", "client", "--only", "produce", "--", sys.executable, "-c", client]
    process = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.PIPE, text=True)
    while not pid_file.exists() or not pid_file.read_text().endswith("\n"):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, text = process.communicate(timeout=20)
    assert (process.returncode, text) == (130, "kafkalet: interrupted; the clients were stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
