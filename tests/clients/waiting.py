"""Waiting for what members of a group come to: they take part in it only while they are polled."""

import time
from collections.abc import Callable

from .drivers import PATIENCE_S, Member, Message


def until(condition: Callable[[], bool], *members: Member) -> list[tuple[int, Message]]:
    """Poll members in turn until a condition holds; what they were given meanwhile.

    Topics, markers and changes of groups need not be everywhere when a client is told that they are done.
    """
    found = []
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "that never came true"
        for member in members:
            found += member.poll()
    return found


def take(member: Member, count: int) -> list[tuple[int, Message]]:
    """Poll until that many records have come."""
    found: list[tuple[int, Message]] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
        found += member.poll()
    return found


def shared(*members: Member) -> Callable[[], bool]:
    """Whether the three partitions of a topic are shared among members, as equally as can be."""

    def condition() -> bool:
        assigned = [member.assignment() for member in members]
        sizes = sorted(map(len, assigned))
        return sum(sizes) == 3 and sizes[-1] - sizes[0] <= 1 and set().union(*assigned) == {0, 1, 2}

    return condition
