"""Comparing two live brokers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.commands.command_line import UsageError
from kafkalet.commands.conform import main
from kafkalet.conformance.between.comparing import Comparer, common_versions
from kafkalet.conformance.judging.replaying import replay
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.results import Outcome
from kafkalet.conformance.transcripts import read_file
from tests.recorded.test_golden import WITH_ACLS


@pytest.fixture(scope="module")
def one() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(kafka_version="3.9") as broker:
        yield broker


@pytest.fixture(scope="module")
def other() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(kafka_version="3.9", config={"message.max.bytes": "200"}) as broker:
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
        kafkalet.Broker(kafka_version="4.4", config=WITH_ACLS) as one,
        kafkalet.Broker(kafka_version="4.4", config=WITH_ACLS) as other,
    ):
        options = ["--acl", "--histories", "2", "--release", "4.4", "--out", str(tmp_path)]
        assert main(["--between", one.bootstrap_servers, other.bootstrap_servers, *options]) == 0
    assert "4 histories" in capsys.readouterr().out


def test_histories_of_rights_need_brokers_with_an_authorizer() -> None:
    with pytest.raises(UsageError, match="histories of 'rights_on_groups' need brokers with an authorizer: add --acl"):
        main(["--between", "127.0.0.1:1", "127.0.0.1:1", "--groups", "rights_on_groups"])
