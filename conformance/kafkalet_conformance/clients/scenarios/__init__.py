"""The scenarios, one module for each subject. `all_scenarios` returns all of them."""

from kafkalet_conformance.clients.scenario import Scenario


def all_scenarios() -> dict[str, Scenario]:
    """Return all scenarios, keyed by name, in the order of the reports."""
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
        shares,
        topics,
        versions,
    )

    modules = (baseline, leaders, offsets, sessions, groups, shares, producers, idempotence)
    found: dict[str, Scenario] = {}
    for module in (*modules, connections, topics, records, versions):
        found |= module.CATALOG.scenarios
    return found
