"""Who of some members has the fewest partitions, and who the most, while partitions are given and taken.

The members of a topic lie sorted by their load. Both ends are worked on as ranges of members with equal load: taking
the next least loaded one goes round its range, which grows upwards when all of it has got one more; the most loaded
ones likewise, downwards. The loads themselves are changed by the caller.

Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer.
"""

from collections.abc import Sequence


class Balancer:
    """`loads`: how many partitions each member has, by its index; shared with the assignor."""

    def __init__(self, loads: list[int]) -> None:
        self._loads = loads
        self._members: list[int] = []
        self._least_end = self._next_least = 0
        self._least_load = -1
        self._most_start = self._most_end = 0
        self._most_load = 1
        self._next_most = -1

    def begin(self, members: Sequence[int]) -> int:
        """Look at these members from now on; how far their loads are apart."""
        loads = self._loads
        self._members = sorted(members, key=lambda index: (loads[index], index))
        least, most = loads[self._members[0]], loads[self._members[-1]]
        self._least_end, self._least_load, self._next_least = 0, least - 1, 0
        self._most_start = self._most_end = len(self._members)
        self._most_load, self._next_most = most + 1, len(self._members) - 1
        return most - least

    def is_balanced(self) -> bool:
        return self._most_load - self._least_load <= 1

    def next_least_loaded(self) -> int:
        """The next member with the fewest partitions; it is about to get one."""
        members, loads = self._members, self._loads
        if self._next_least >= self._least_end:
            self._least_load += 1
            while self._least_end < len(members) and loads[members[self._least_end]] == self._least_load:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return members[self._next_least - 1]

    def next_most_loaded(self) -> int | None:
        """The next member with the most partitions, which may be about to lose one; None where none is left."""
        members, loads = self._members, self._loads
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = loads[members[self._most_start - 1]]  # all so far were excluded
            else:
                self._most_load -= 1
            while self._most_start > 0 and loads[members[self._most_start - 1]] == self._most_load:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return members[self._next_most + 1]

    def exclude_most_loaded(self) -> None:
        """The member that was given last has none to lose: leave it out."""
        members, at, last = self._members, self._next_most + 1, self._most_end - 1
        members[at], members[last] = members[last], members[at]
        self._most_end = last
