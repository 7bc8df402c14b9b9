"""Tests of the choice of scenarios that `kafkalet conform record` records for a release."""

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
