"""The scenarios, grouped by what they are about. `all_scenarios` returns them by name."""

from kafkalet_conformance.clients.scenario import Scenario


def all_scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name, in the order of the reports."""
    from . import (
        baseline,
        connections,
        groups,
        idempotence,
        leaders,
        offsets,
        producers,
        records,
        sessions,
        topics,
        versions,
    )

    modules = (baseline, leaders, offsets, sessions, groups, producers, idempotence)
    found: dict[str, Scenario] = {}
    for module in (*modules, connections, topics, records, versions):
        found |= module.CATALOG.scenarios
    return found
