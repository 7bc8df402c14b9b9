"""The end of a test's broker: the report about it if the test failed, and the check for faults that never fired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .broker_options import new_cluster

if TYPE_CHECKING:
    from .cluster import Cluster


@contextmanager
def running(options: Mapping[str, Any]) -> Iterator[Cluster]:
    """Run a broker with these options.

    An exception gets a note with the report about the broker. Raises AssertionError if a fault has never fired.
    """
    with new_cluster(options) as cluster:
        try:
            yield cluster
        except Exception as error:
            add_report(error, cluster)
            raise
        failure = unfired(cluster)
    if failure:
        raise AssertionError(failure)


def unfired(cluster: Cluster) -> str:
    """Return a message about faults of a broker that have never fired, or an empty string."""
    return "\n".join(cluster.unfired_faults())


def add_report(error: BaseException, cluster: Cluster) -> None:
    """Add the report about a broker to an exception that a test has raised. A skipped test needs no report."""
    if has_report(cluster) and type(error).__name__ != "SkipTest":
        error.add_note(described(cluster))


def has_report(cluster: Cluster) -> bool:
    """Return whether there is a report about a broker: it is running, or has kept one."""
    return cluster.is_running or cluster._last_report is not None


def described(cluster: Cluster) -> str:
    """Return the report about a broker. If it has stopped, or is as new, it is the one from before that."""
    from .report import report

    kept = cluster._last_report
    return f"{cluster!r}\n{report(cluster, cluster._fault_lines()) if kept is None else kept()}"
