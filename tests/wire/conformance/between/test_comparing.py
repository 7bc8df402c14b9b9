"""Comparing two live brokers."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.commands.command_line import UsageError
from kafkalet_conformance.between.comparing import Comparer, common_versions, lacks
from kafkalet_conformance.between.histories import history
from kafkalet_conformance.between.histories.faults import CONTROLLER
from kafkalet_conformance.commands.between import target_of
from kafkalet_conformance.commands.conform import main
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.playing.player import UNDONE_BY
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Outcome
from kafkalet_conformance.transcripts import read_file
from tests.recorded.test_golden import WITH_ACLS


@pytest.fixture(scope="module")
def one() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(version="3.9") as broker:
        yield broker


@pytest.fixture(scope="module")
def other() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(version="3.9", config={"message.max.bytes": "200"}) as broker:
        yield broker


def test_versions_that_both_brokers_serve_are_common() -> None:
    assert common_versions({0: (0, 9), 1: (4, 6), 2: (0, 1)}, {0: (3, 11), 1: (7, 9)}) == {0: (3, 9)}


def test_difference_becomes_a_scenario_that_only_the_second_broker_fails(
    one: kafkalet.Broker, other: kafkalet.Broker, tmp_path: Path
) -> None:
    first, second = Target(one.bootstrap_servers), Target(other.bootstrap_servers)
    done = Comparer(first, second, "3.9", tmp_path).run(["produce"], 4, 60)
    found = done.disagreements[0]
    assert found.is_stable
    assert len(found.steps) <= 6
    transcript = read_file(found.file)
    assert {case.outcome for case in replay(transcript, "3.9", first)} == {Outcome.AS_KAFKA}
    assert Outcome.DIFFERS in {case.outcome for case in replay(transcript, "3.9", second)}


def test_command_reports_equal_brokers_with_status_0(
    one: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = one.bootstrap_servers
    options = ["--histories", "1", "--groups", "list_offsets,fetch", "--release", "3.9", "--out", str(tmp_path)]
    assert main(["--between", address, address, *options]) == 0
    assert "2 histories" in capsys.readouterr().out


def test_command_reports_differences_with_status_1(
    one: kafkalet.Broker, other: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--histories", "4", "--groups", "produce", "--release", "3.9", "--out", str(tmp_path)]
    assert main(["--between", one.bootstrap_servers, other.bootstrap_servers, *options]) == 1
    assert "differs: responses" in capsys.readouterr().out


def test_scenario_of_a_difference_can_be_judged(
    one: kafkalet.Broker, other: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--histories", "4", "--groups", "produce", "--release", "3.9", "--out", str(tmp_path)]
    main(["--between", one.bootstrap_servers, other.bootstrap_servers, *options])
    file = str(next(tmp_path.iterdir()))
    capsys.readouterr()
    assert main(["--bootstrap", one.bootstrap_servers, "--scenario", file]) == 0
    assert main(["--bootstrap", other.bootstrap_servers, "--scenario", file]) == 1
    assert "found_produce" in capsys.readouterr().out


def test_file_without_a_scenario_is_refused(
    one: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert main(["--bootstrap", one.bootstrap_servers, "--scenario", str(tmp_path / "x.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_command_compares_the_rights_of_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        kafkalet.Broker(version="4.4", config=WITH_ACLS) as one,
        kafkalet.Broker(version="4.4", config=WITH_ACLS) as other,
    ):
        options = ["--acl", "--histories", "2", "--release", "4.4", "--out", str(tmp_path)]
        assert main(["--between", one.bootstrap_servers, other.bootstrap_servers, *options]) == 0
    assert "6 histories" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("group", "need"),
    [
        ("rights_on_groups", "brokers with an authorizer: add --acl"),
        ("elections", "clusters of at least 3 brokers"),
        ("restarts", "a command that restarts a broker: add --restart"),
        ("faults", "clusters of at least 3 brokers"),
    ],
)
def test_chosen_group_is_refused_if_the_brokers_lack_what_it_needs(group: str, need: str, one: kafkalet.Broker) -> None:
    with pytest.raises(UsageError, match=f"histories of '{group}' need {need}"):
        main(["--between", one.bootstrap_servers, one.bootstrap_servers, "--groups", group])


def test_clusters_of_different_sizes_are_refused(one: kafkalet.Broker, capsys: pytest.CaptureFixture[str]) -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        assert main(["--between", one.bootstrap_servers, cluster.bootstrap_servers]) == 2
    assert "the clusters have 1 and 2 brokers" in capsys.readouterr().err


def test_clusters_with_different_ids_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with kafkalet.Cluster(brokers=2) as one, kafkalet.Cluster(brokers=2, config={"node.id": 5}) as other:
        assert main(["--between", one.bootstrap_servers, other.bootstrap_servers]) == 2
    assert "different ids" in capsys.readouterr().err


def test_two_clusters_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        kafkalet.Cluster(brokers=3, version="4.4") as one,
        kafkalet.Cluster(brokers=3, version="4.4") as other,
    ):
        addresses = [one.bootstrap_servers, other.bootstrap_servers]
        groups = "produce,fetch,transactions,groups,elections,reassignments"
        options = ["--histories", "1", "--groups", groups, "--release", "4.4", "--out", str(tmp_path)]
        assert main(["--between", *addresses, *options]) == 0
    printed = capsys.readouterr().out
    assert "6 histories" in printed
    assert "not performed" not in printed


def test_share_groups_of_two_brokers_are_compared(tmp_path: Path) -> None:
    clocks = ManualClock(), ManualClock()
    with (
        kafkalet.Broker(version="4.4", clock=clocks[0]) as one,
        kafkalet.Broker(version="4.4", clock=clocks[1]) as other,
    ):
        first, second = (
            Target(broker.bootstrap_servers, clock=clock) for broker, clock in zip((one, other), clocks, strict=True)
        )
        done = Comparer(first, second, "4.4", tmp_path).run(["share_deliveries", "share_members", "share_locks"], 2, 60)
    assert (done.histories.total(), done.kinds, done.not_performed) == (5, {}, {})
    assert {"records delivered again", "duplicate entries in a request"} <= done.coverage.states.keys()


def test_broker_is_restarted_with_the_given_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = tmp_path / "restarted"
    with kafkalet.Broker(version="4.4") as one:
        command = shlex.join([sys.executable, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"])
        address = one.bootstrap_servers
        options = ["--restart", f"{command} {marked}", "--histories", "1", "--groups", "restarts", "--release", "4.4"]
        assert main(["--between", address, address, *options, "--out", str(tmp_path / "out")]) == 0
    assert marked.exists()
    assert "a restart" in capsys.readouterr().out.partition("states not reached")[0]


def test_brokers_are_disturbed_with_the_given_command(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write(' '.join(sys.argv[3:]) + '\\n')"
    with kafkalet.Cluster(brokers=3, version="4.4") as cluster:
        given = {"control": [shlex.join([sys.executable, "-c", script, str(done)])]}
        target = target_of(cluster.bootstrap_servers.partition(",")[0], given)
    assert lacks("faults", target, target, acl=False) == ""
    assert target.brokers is not None
    for action in ("stop", "kill", "start", "pause", "resume"):
        getattr(target.brokers, action)(2)
    assert done.read_text().splitlines() == ["stop 2", "kill 2", "start 2", "pause 2", "resume 2"]


def test_clusters_that_cannot_be_disturbed_lack_a_command() -> None:
    with kafkalet.Cluster(brokers=3, version="4.4") as cluster:
        target = target_of(cluster.bootstrap_servers.partition(",")[0], {})
    assert lacks("faults", target, target, acl=False) == "a command that stops and starts brokers: add --control"


def test_history_with_faults_does_not_disturb_the_first_broker() -> None:
    served = {int(api): (0, 20) for api in APIS.values()}
    for number in range(10):
        steps = [
            each for each in history("faults", 1, number, "4.4", served, (1, 2, 3)).steps if each["op"] == "broker"
        ]
        assert steps
        assert {step["node"] for step in steps} <= {CONTROLLER, 2, 3}
        assert {step["do"] for step in steps} <= {*UNDONE_BY, *UNDONE_BY.values()}


def test_oldest_requests_are_compared_with_what_both_brokers_serve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with kafkalet.Broker(version="1.1") as broker:
        address = broker.bootstrap_servers
        options = ["--histories", "1", "--groups", "produce,fetch,topics,groups,offsets,waiting", "--release", "2.8"]
        assert main(["--between", address, address, *options, "--out", str(tmp_path)]) == 0
    assert "6 histories" in capsys.readouterr().out


def test_report_lists_what_was_reached_and_what_was_not(
    one: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = one.bootstrap_servers
    options = ["--histories", "1", "--groups", "quotas", "--release", "3.9", "--out", str(tmp_path)]
    main(["--between", address, address, *options, "--minutes", "0.5"])
    printed = capsys.readouterr().out
    assert "AlterClientQuotas v" in printed
    assert "ListOffsets v0-9" in printed.partition("versions not reached: ")[2]
    assert "states reached: quotas" in printed
    assert "an election" in printed.partition("states not reached: ")[2]


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "soon"])
def test_number_of_minutes_is_checked(minutes: str) -> None:
    with pytest.raises(UsageError, match="expected a number of minutes above 0"):
        main(["--between", "127.0.0.1:1", "127.0.0.1:1", "--minutes", minutes])
