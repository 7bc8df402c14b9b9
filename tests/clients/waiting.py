"""Waiting for groups: members take part in rebalances only while they are polled."""

import time
from collections.abc import Callable

from .drivers import TIMEOUT_S, Member, Message


def until(condition: Callable[[], bool], *members: Member) -> list[tuple[int, Message]]:
    """Poll members in turn until a condition holds, and return the records polled meanwhile.

    Changes of topics, markers and groups may become visible some time after the response to the request that caused
    them.
    """
    found = []
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        for member in members:
            found += member.poll()
    return found


def take(member: Member, count: int) -> list[tuple[int, Message]]:
    """Poll until `count` records have arrived."""
    found: list[tuple[int, Message]] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records arrived"
        found += member.poll()
    return found


def shared(*members: Member) -> Callable[[], bool]:
    """Return a condition: the three partitions of a topic are shared evenly among the members."""

    def condition() -> bool:
        assigned = [member.assignment() for member in members]
        sizes = sorted(map(len, assigned))
        return sum(sizes) == 3 and sizes[-1] - sizes[0] <= 1 and set().union(*assigned) == {0, 1, 2}

    return condition
