"""The routes of the control API, one module for each area. A module declares its shapes beside its handlers."""

from collections.abc import Sequence
from importlib import import_module

from kafkalet.control.route import Routes

AREAS = (
    *("cluster", "topics", "records", "groups", "share_groups", "transactions", "requests", "faults", "clock"),
    *("logs", "cleaner", "layout", "brokers", "security", "contents", "events"),
)
"""In the order of the documentation."""


def areas() -> Sequence[Routes]:
    """Return the routes of all areas."""
    return [import_module(f"{__name__}.{area}").routes for area in AREAS]
