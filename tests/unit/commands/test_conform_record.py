"""Tests of the choice of scenarios that `kafkalet conform record` records for a release."""

from collections.abc import Callable, Sequence

import pytest

from kafkalet.commands import conform_record
from kafkalet.conformance.scenarios import definitions


@pytest.mark.parametrize("recorded", [["2.8", "3.9", "4.4"], ["2.8", "3.9", "4.4", "4.5"]], ids=["first", "again"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("lo_time_unordered_batch", True), ("consumer_group_life", True), ("update_features_apart", False)],
)
def test_new_release_gets_scenarios_of_newest_release(
    name: str, expected: bool, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conform_record, "recorded_releases", lambda: recorded)
    assert conform_record.is_for(definitions()[name], "4.5") is expected


def test_named_release_gets_its_own_scenarios() -> None:
    assert conform_record.is_for(definitions()["update_features_apart"], "3.9")
    assert not conform_record.is_for(definitions()["update_features_apart"], "4.4")


def test_scenario_without_definition_is_for_releases_with_its_transcript() -> None:
    assert conform_record.is_for(definitions()["lo_v0_empty"], "3.9")
    assert not conform_record.is_for(definitions()["lo_v0_empty"], "4.5")


@pytest.mark.parametrize("command", [conform_record.main, conform_record.review], ids=["record", "review"])
@pytest.mark.parametrize("arguments", [["--help"], ["3.9", "-h"]])
def test_help_is_printed_wherever_the_option_is(
    command: Callable[[Sequence[str]], int], arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(arguments) == 0
    assert "kafkalet conform review RELEASE RELEASE" in capsys.readouterr().out
