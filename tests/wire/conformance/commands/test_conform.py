"""`kafkalet conform`: its options, its output, its files and its exit status."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kafkalet
from kafkalet.commands.command_line import UsageError
from kafkalet_conformance.commands.conform import main
from kafkalet_conformance.judging import judge as judging
from kafkalet_conformance.judging.judge import Announcement
from kafkalet_conformance.judging.nearest import recorded_releases
from kafkalet_conformance.reports.json_report import dumps, loads, read
from kafkalet_conformance.results import Outcome, Run
from tests.source import ROOT
from tests.unit.conformance.reports.runs import case, every_outcome, result, run, scenario

SELECTION = ["--only", "lo_every_version,lo_time_equal"]


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The address of a broker that answers as 3.9, which differs from 4.4."""
    with kafkalet.Broker(version="3.9") as found:
        yield found.bootstrap_servers


def conform(*arguments: str, **options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kafkalet", "conform", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | options,
    )


def test_broker_that_responds_like_kafka_exits_with_0(broker: str) -> None:
    done = conform("--bootstrap", broker, "--against", "3.9", *SELECTION)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 scenarios compared with Kafka 3.9" in done.stdout
    assert ": 2 as Kafka\n" in done.stdout


def test_clone_without_installed_packages_judges_compressed_records(broker: str) -> None:
    options = ["--bootstrap", broker, "--against", "3.9", "--only", "fetch_as_written"]
    command = [sys.executable, "-S", "-m", "kafkalet", "conform", *options]  # -S: without site-packages
    clone = {**os.environ, "PYTHONPATH": "conformance"}
    done = subprocess.run(command, cwd=ROOT, env=clone, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert ": 1 as Kafka\n" in done.stdout


def test_broker_that_differs_exits_with_1_and_writes_all_reports(broker: str, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("json", "junit", "html")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    done = conform("--bootstrap", broker, "--against", "4.4", "--only", "create_topics_every_version", *options)
    assert done.returncode == 1, done.stderr
    made = read(str(files["json"]))
    assert made.against == "4.4"
    assert made.counts()[Outcome.AS_KAFKA] == 0
    assert int(ElementTree.parse(files["junit"]).getroot().get("failures", "0")) > 0
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(tmp_path.iterdir()) == sorted(files.values())


def test_json_on_the_standard_output_moves_the_tables_to_stderr(broker: str) -> None:
    done = conform("--bootstrap", broker, "--against", "3.9", *SELECTION, "--json", "-")
    assert loads(done.stdout).counts() == {Outcome.AS_KAFKA: 2}
    assert "2 scenarios compared" in done.stderr


def test_progress_is_shown_on_a_terminal(broker: str) -> None:
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "kafkalet", "conform", "--bootstrap", broker, "--against", "3.9", *SELECTION]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=other, timeout=60, check=False, text=True)
        shown = os.read(terminal, 10_000).decode()
    finally:
        os.close(other)
        os.close(terminal)
    assert done.returncode == 0
    assert "\r\x1b[K2/2  2 as Kafka" in shown
    assert shown.endswith("\r\x1b[K")
    assert "\x1b" not in done.stdout


def test_output_without_utf_8_is_escaped(broker: str) -> None:
    done = conform("--bootstrap", broker, "--against", "3.9", *SELECTION, PYTHONIOENCODING="ascii", COLUMNS="40")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--against", "5.0"],
            f"--against 5.0: recorded releases are {', '.join(recorded_releases())}; nearest chooses one",
        ),
        (["--only", "list_offset"], "there is no such area or scenario; did you mean list_offsets"),
        (["--api", "Fech"], "there is no such API with recorded responses; did you mean Fetch?"),
        (["--kip", "KIP-999999"], "there is no such KIP"),
        (["--level", "most"], "there is no such level; did you mean must?"),
        (["--only", "qqqq"], "kafkalet conform --list shows all of them"),
        (["--jsn", "x"], "unknown option --jsn; did you mean --json?"),
        (["--json", "/no/such/directory/x"], "there is no directory /no/such/directory"),
        (["--html", "."], "it is a directory"),
        (["--jobs", "0"], "--jobs 0: expected a number from 1"),
        (["--repeat", "x"], "--repeat x: expected a number from 0"),
        (["--json", "-", "--html", "-"], "cannot all be written to the standard output"),
        (["--baseline", "/no/such/file"], "--baseline /no/such/file: it cannot be read"),
        (["--bootstrap", "localhost"], "expected HOST:PORT"),
    ],
)
def test_invalid_option_is_refused(arguments: list[str], message: str) -> None:
    address = [] if "--bootstrap" in arguments else ["--bootstrap", "localhost:1"]
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        main([*address, *arguments])


def test_options_of_sasl_exclude_the_two_users_of_acl(tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    login = "sasl.username=u\nsasl.password=p\n"
    properties.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{login}", encoding="utf-8")
    with pytest.raises(UsageError, match="--acl authenticates as admin and as user"):
        main(["--bootstrap", "127.0.0.1:1", "--acl", "--config", str(properties)])


def test_address_is_required() -> None:
    with pytest.raises(UsageError, match="needs the address of a broker"):
        main([])


def test_broker_that_does_not_respond_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert main(["--bootstrap", f"127.0.0.1:{port}"]) == 2
    assert "Connection refused" in capsys.readouterr().err


def test_empty_selection_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "lo_every_version", "--api", "produce"]) == 2
    assert "no scenario matches all the given options" in capsys.readouterr().err


def test_list_shows_claims_and_accepts_names_in_other_spellings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--against", "3.9", "--api", "list_offsets", "--only", "LO_EVERY_VERSION"]) == 0
    shown = capsys.readouterr().out
    assert "  lo_every_version  (" in shown
    assert shown.endswith("1 scenario\n")


def test_help_has_options_and_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("--baseline FILE", "Exit status:", "130", "conform diff"))
    assert max(map(len, shown.splitlines())) <= 120


# With a judge that returns a given run


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Let the judge return a run."""

    def replace(made: Run) -> None:
        def judge(options: object, progress: Callable[[object], None], announce: object) -> Run:
            for each in made.results:
                progress(each)
            return made

        monkeypatch.setattr(judging, "judge", judge)

    return replace


ADDRESS = ["--bootstrap", "localhost:1"]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.AS_KAFKA, 0),
        (Outcome.DIFFERS, 1),
        (Outcome.UNSTABLE, 1),
        (Outcome.FAILED, 1),
        (Outcome.NOT_SERVED, 2),
        (Outcome.NOT_RUN, 2),
    ],
)
def test_exit_status_follows_the_outcome(judged: Callable[[Run], None], outcome: Outcome, status: int) -> None:
    judged(run(result(scenario("x"), outcome)))
    assert main(ADDRESS) == status


def test_run_without_scenarios_exits_with_2(judged: Callable[[Run], None]) -> None:
    judged(run())
    assert main(ADDRESS) == 2


def test_baseline_allows_earlier_differences(judged: Callable[[Run], None], tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(dumps(every_outcome()))
    judged(every_outcome())
    assert main(ADDRESS) == 1
    assert main([*ADDRESS, "--baseline", str(baseline)]) == 0


def test_baseline_fails_if_something_got_worse(
    judged: Callable[[Run], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(dumps(run(result(scenario("x"), Outcome.AS_KAFKA, case()))))
    judged(run(result(scenario("x"), Outcome.DIFFERS, case("one", Outcome.DIFFERS))))
    assert main([*ADDRESS, "--baseline", str(baseline)]) == 1
    assert "no longer as Kafka: 1\n  x: Fetch v4 'one': as Kafka -> differs" in capsys.readouterr().out


def test_run_that_did_nothing_exits_with_2_with_a_baseline_too(judged: Callable[[Run], None], tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(dumps(run()))
    judged(run(result(scenario("x"), Outcome.NOT_RUN)))
    assert main([*ADDRESS, "--baseline", str(baseline)]) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_reports_the_completed_scenarios(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    def judge(options: object, progress: Callable[[object], None], announce: Callable[[Announcement], None]) -> Run:
        announce(Announcement(run(options={"jobs": "1"}), 2, 90))
        progress(result(scenario("done"), Outcome.AS_KAFKA, case()))
        os.kill(os.getpid(), number)
        signal.sigtimedwait([], 10)  # interrupted by the signal
        raise AssertionError("the signal did not arrive")

    monkeypatch.setattr(judging, "judge", judge)
    report = tmp_path / "report.json"
    assert main([*ADDRESS, "--json", str(report)]) == 130
    made = read(str(report))
    assert [each.scenario.name for each in made.results] == ["done"]
    assert made.options == {"jobs": "1", "interrupted": "yes"}
    assert (made.brokers, made.served) == (1, {"Fetch": (0, 17)})
    captured = capsys.readouterr()
    assert captured.err == "kafkalet: interrupted after 1 scenario\n"
    assert "1 scenario compared" in captured.out


def test_reader_that_closes_the_pipe_early_causes_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m kafkalet conform --list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_json_report_is_documented() -> None:
    page = (ROOT / "docs" / "conformance-reports.md").read_text()
    content = json.loads(dumps(every_outcome()))
    one = content["results"][1]
    names = {*content, *one, *one["scenario"], *one["cases"][1], *one["cases"][1]["differences"][0]}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("option", ["--only", "--api", "--kip", "--level"])
def test_selection_without_a_name_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"{option} ,: expected one name"):
        main(["--list", option, ","])


def test_report_that_cannot_be_written_exits_with_2(
    judged: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    judged(run(result(scenario("x"), Outcome.AS_KAFKA, case())))
    assert main([*ADDRESS, "--json", "/dev/full"]) == 2
    assert capsys.readouterr().err == "kafkalet: --json /dev/full: No space left on device\n"


def test_broker_that_accepts_connections_and_is_silent_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert main(["--bootstrap", address, "--timeout", "1", *SELECTION]) == 2
    assert "the broker did not respond within 1 s" in capsys.readouterr().err


def test_report_on_a_closed_standard_output_is_refused(broker: str) -> None:
    command = f"{sys.executable} -m kafkalet conform --bootstrap {broker} --json - >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "kafkalet: --json -: the standard output is closed\n")


def test_next_address_is_used_if_the_first_one_is_silent(broker: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        addresses = f"127.0.0.1:{server.getsockname()[1]},{broker}"
        assert main(["--bootstrap", addresses, "--timeout", "4", *SELECTION]) == 0
