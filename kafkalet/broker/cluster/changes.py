"""Changes of the metadata that are written as one.

A handler that makes ten topics changes the metadata ten times; they are written once, at the end. Changes may lie in
one another:

    with changes.begin() as change:
        ...                                 change what is in memory
        change.undo(...)                    how to take that back
        change.then(...)                    what follows when it is on disk

A change that ends with an error is taken back, the steps in reverse order. The outermost one writes; if that fails all
of them are taken back, and StorageFailed is raised.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[], object]


class Change:
    """A change that is under way."""

    __slots__ = ("_follows", "_undoes")

    def __init__(self) -> None:
        self._undoes: list[Step] = []
        self._follows: list[Step] = []

    def undo(self, step: Step) -> None:
        """Call `step` if the change cannot be made after all."""
        self._undoes.append(step)

    def then(self, step: Step) -> None:
        """Call `step` when the change is on disk."""
        self._follows.append(step)

    def take_back(self) -> None:
        """Undo all steps, the last one first."""
        while self._undoes:
            self._undoes.pop()()

    def follow(self) -> None:
        """Do what follows."""
        for step in self._follows:
            step()

    def join(self, other: "Change") -> None:
        """`other`, which came later, is a part of this one from now on."""
        self._undoes += other._undoes
        self._follows += other._follows


class Changes:
    """The changes of one cluster's metadata. `write` brings the metadata to the disk, or raises StorageFailed."""

    __slots__ = ("_open", "_write")

    def __init__(self, write: Step) -> None:
        self._write = write
        self._open: list[Change] = []

    @property
    def are_under_way(self) -> bool:
        """Whether what is changed now is written later."""
        return bool(self._open)

    @contextmanager
    def begin(self) -> Iterator[Change]:
        """A change, alone or as a part of the one that is under way."""
        change = Change()
        self._open.append(change)
        try:
            yield change
            if len(self._open) == 1:
                self._write()
        except BaseException:
            self._open.pop()
            change.take_back()
            raise
        self._open.pop()
        if self._open:
            self._open[-1].join(change)
        else:
            change.follow()
