"""The scenarios, grouped by what they are about. `all_scenarios` returns them by name."""

from kafkalet.conformance.clients.scenario import Scenario


def all_scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name, in the order of the reports."""
    from . import baseline, leaders

    found: dict[str, Scenario] = {}
    for module in (baseline, leaders):
        found |= module.CATALOGUE.scenarios
    return found
