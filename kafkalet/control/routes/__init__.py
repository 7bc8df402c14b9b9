"""The routes of the control API, one module for each area. A module declares its shapes beside its handlers."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalet.control.route import Routes


def areas() -> Sequence[Routes]:
    """Return the routes of all areas, in the order of the documentation."""
    from . import brokers, cluster, events, logs, records, topics

    return (cluster.routes, topics.routes, records.routes, logs.routes, brokers.routes, events.routes)
