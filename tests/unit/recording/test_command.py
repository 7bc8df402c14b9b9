"""Tests of the choice of scenarios that `python -m tools.recording record` records for a release."""

import pytest

from kafkalet.commands.command_line import UsageError
from tools.recording import command
from tools.recording.scenarios import definitions


@pytest.mark.parametrize("recorded", [["2.8", "3.9", "4.4"], ["2.8", "3.9", "4.4", "4.5"]], ids=["first", "again"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("lo_time_unordered_batch", True), ("consumer_group_life", True), ("update_features_apart", False)],
)
def test_new_release_gets_scenarios_of_newest_release(
    name: str, expected: bool, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "recorded_releases", lambda: recorded)
    assert command.is_for(definitions()[name], "4.5") is expected


def test_named_release_gets_its_own_scenarios() -> None:
    assert command.is_for(definitions()["update_features_apart"], "3.9")
    assert not command.is_for(definitions()["update_features_apart"], "4.4")


@pytest.mark.parametrize("release", ["0.10.2", "2.8", "3.2"])
@pytest.mark.parametrize(
    ("name", "expected"), [("lo_v0_empty", True), ("legacy_090", True), ("update_features_eligible_leaders", False)]
)
def test_release_with_zookeeper_gets_scenarios_of_2_8_and_3_9(name: str, expected: bool, release: str) -> None:
    assert command.is_for(definitions()[name], release) is expected


def test_scenario_without_definition_is_for_releases_with_its_transcript() -> None:
    assert command.is_for(definitions()["lo_v0_empty"], "3.9")
    assert not command.is_for(definitions()["lo_v0_empty"], "4.5")


@pytest.mark.parametrize("arguments", [["--help"], ["record", "3.9", "-h"], ["review", "--help"]])
def test_help_is_printed_wherever_the_option_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 0
    assert "python -m tools.recording review RELEASE RELEASE" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["recrd", "3.9"], ["index", "3.9"]])
def test_unknown_command_is_refused(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="expected record, review or index"):
        command.main(arguments)
