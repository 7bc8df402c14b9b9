"""The routes of the control API, one module for each area. A module declares its shapes beside its handlers."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalet.control.route import Routes


def areas() -> Sequence[Routes]:
    """Return the routes of all areas, in the order of the documentation."""
    from . import (
        brokers,
        cleaner,
        clock,
        cluster,
        contents,
        events,
        faults,
        groups,
        layout,
        logs,
        records,
        requests,
        security,
        share_groups,
        topics,
        transactions,
    )

    modules = (
        cluster,
        topics,
        records,
        groups,
        share_groups,
        transactions,
        requests,
        faults,
        clock,
        logs,
        cleaner,
        layout,
        brokers,
        security,
        contents,
        events,
    )
    return [module.routes for module in modules]
