"""Atomic changes of the metadata.

A request handler that creates ten topics changes the metadata ten times, but the metadata is written only once, at the
end. Changes can be nested:

    with changes.begin() as change:
        ...                                 change the state in memory
        change.undo(...)                    register a step that reverts it
        change.then(...)                    register a step to run once the change is on disk

If the block of a change raises an exception, its undo steps run in reverse order. The outermost change writes the
metadata. If that fails, all changes are reverted and StorageFailed is raised.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[], object]


class Change:
    """A change in progress."""

    __slots__ = ("_follows", "_undoes")

    def __init__(self) -> None:
        self._undoes: list[Step] = []
        self._follows: list[Step] = []

    def undo(self, step: Step) -> None:
        """Call `step` if the change has to be reverted."""
        self._undoes.append(step)

    def then(self, step: Step) -> None:
        """Call `step` once the change is on disk."""
        self._follows.append(step)

    def take_back(self) -> None:
        """Run the undo steps in reverse order."""
        while self._undoes:
            self._undoes.pop()()

    def follow(self) -> None:
        """Run the steps that were registered with `then`."""
        for step in self._follows:
            step()

    def join(self, other: "Change") -> None:
        """Make a nested change part of this one."""
        self._undoes += other._undoes
        self._follows += other._follows


class Changes:
    """Changes of a cluster's metadata. `write` writes the metadata to disk or raises StorageFailed."""

    __slots__ = ("_open", "_write")

    def __init__(self, write: Step) -> None:
        self._write = write
        self._open: list[Change] = []

    @property
    def are_under_way(self) -> bool:
        """Whether a change is in progress. The metadata is written when it ends."""
        return bool(self._open)

    @contextmanager
    def begin(self, *, saves: bool = True) -> Iterator[Change]:
        """Begin a change, which becomes part of the change in progress if there is one.

        With `saves=False`, leaving the block does not write the metadata. The caller writes it later, and then calls
        `change.follow()` or `change.take_back()`.
        """
        change = Change()
        self._open.append(change)
        try:
            yield change
            if len(self._open) == 1 and saves:
                self._write()
        except BaseException:
            self._open.pop()
            change.take_back()
            raise
        self._open.pop()
        if self._open:
            self._open[-1].join(change)
        elif saves:
            change.follow()
