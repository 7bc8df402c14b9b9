"""Scenarios are defined once, and complete."""

import pytest

from kafkalet_conformance.clients.scenario import Catalog, Role, Scenario
from kafkalet_conformance.clients.scenarios import all_scenarios

SCENARIOS = list(all_scenarios().values())


def test_name_that_is_taken_raises() -> None:
    catalog = Catalog()
    define = catalog.scenario("A claim.", "KIP-1", name="same", role=Role.PRODUCE, judge=lambda stage: ())
    define(lambda stage: None)
    with pytest.raises(ValueError, match="defined twice"):
        define(lambda stage: None)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_has_claim_and_source(scenario: Scenario) -> None:
    assert scenario.claim.endswith(".")
    assert scenario.sources
    assert all(scenario.sources)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_name_of_scenario_is_lower_case(scenario: Scenario) -> None:
    assert scenario.name == scenario.name.lower().replace(" ", "-").replace("_", "-")
