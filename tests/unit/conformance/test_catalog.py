"""Tests of the catalog of recorded scenarios."""

import re

import pytest

from kafkalet_conformance.catalog import AREAS, LAST, LEVELS, Scenario, scenarios, select
from tests.rules.every import for_every

SOURCE = re.compile(r"KIP-\d{1,4}|(org\.apache\.)?kafka(\.[a-z][a-z0-9]*)+\.[A-Z]\w+(\.[a-z]\w+)?")
SENTENCE = re.compile(r"[A-Z][^\n]{18,218}\.")
ALL = list(scenarios().values())
by_scenario = for_every(ALL, lambda scenario: scenario.name)


@by_scenario
def test_claim_is_one_sentence(scenario: Scenario) -> None:
    assert SENTENCE.fullmatch(scenario.claim), f"{len(scenario.claim)} characters: {scenario.claim}"
    assert not re.search(r"[.!?] +[A-Z]", scenario.claim), scenario.claim


@by_scenario
def test_sources_are_kips_or_names_of_kafka(scenario: Scenario) -> None:
    assert scenario.sources
    assert [source for source in scenario.sources if not SOURCE.fullmatch(source)] == []


@by_scenario
def test_area_and_level_are_known(scenario: Scenario) -> None:
    assert scenario.area in AREAS
    assert scenario.level in LEVELS


def test_claims_differ() -> None:
    claims = [(scenario.claim, scenario.name) for scenario in ALL]
    assert len({claim for claim, _ in claims}) == len(claims), sorted(claims)


def test_every_area_has_scenarios() -> None:
    assert AREAS.keys() <= {scenario.area for scenario in ALL}


def names(**conditions: list[str]) -> set[str]:
    return {scenario.name for scenario in select(release="4.4", **conditions)}


def test_select_without_conditions_returns_the_scenarios_of_the_release() -> None:
    assert names() == {scenario.name for scenario in ALL if "4.4" in scenario.releases}


def test_select_by_area_and_name_returns_both() -> None:
    found = [scenario.name for scenario in select(release="4.4", only=["quotas", "lo_empty_topic"])]
    assert found[0] == "lo_empty_topic"
    assert found[1:] == sorted(scenario.name for scenario in ALL if scenario.area == "quotas")


def test_select_leaves_out_scenarios_of_other_releases() -> None:
    assert select(release="4.4", only=["lo_v0_empty"]) == []
    assert [scenario.name for scenario in select(release="3.9", only=["lo_v0_empty"])] == ["lo_v0_empty"]


def test_select_by_api_returns_scenarios_with_responses_of_one_of_them() -> None:
    found = select(release="4.4", apis=["DescribeQuorum", "ListTransactions"])
    assert {"describe_quorum", "transactions_list"} <= {scenario.name for scenario in found}
    assert all({"DescribeQuorum", "ListTransactions"} & scenario.apis.keys() for scenario in found)


def test_select_by_kip_returns_scenarios_with_this_source() -> None:
    found = select(release="4.4", kips=["KIP-496"])
    assert "group_offset_delete" in {scenario.name for scenario in found}
    assert all("KIP-496" in scenario.sources for scenario in found)


def test_select_by_level_returns_only_these_levels() -> None:
    assert {scenario.level for scenario in select(release="4.4", levels=["must", "detail"])} == {"must", "detail"}


def test_select_requires_all_kinds_of_conditions() -> None:
    found = select(release="4.4", only=["offsets"], apis=["OffsetFetch"], levels=["should"])
    assert found
    assert all(
        (scenario.area, scenario.level, "OffsetFetch" in scenario.apis) == ("offsets", "should", True)
        for scenario in found
    )


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"only": ["list_ofsets"]}, "no area or scenario 'list_ofsets' .*did you mean 'list_offsets'"),
        ({"only": ["lo_empty_topics"]}, "no area or scenario 'lo_empty_topics' .*did you mean 'lo_empty_topic'"),
        ({"apis": ["fetch"]}, "no API 'fetch' .*did you mean 'Fetch'"),
        ({"kips": ["KIP-3200"]}, "no KIP 'KIP-3200' .*did you mean 'KIP-320'"),
        ({"levels": ["most"]}, r"no level 'most' .*did you mean 'must'\?"),
        ({"only": ["xyzzy"]}, "no area or scenario 'xyzzy' .*; `kafkalet conform --list` prints all names"),
    ],
)
def test_select_of_unknown_name_suggests_known_ones(conditions: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select(release="4.4", **conditions)


def test_select_accepts_names_that_the_release_does_not_have() -> None:
    assert select(release="2.8", apis=["ConsumerGroupHeartbeat"]) == []


def test_malformed_requests_come_last_because_they_may_end_a_broker() -> None:
    areas = list(dict.fromkeys(scenario.area for scenario in select(release="4.4")))
    assert areas == [*sorted(set(areas) - {LAST}), LAST]
