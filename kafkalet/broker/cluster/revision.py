"""Whether the brokers, topics and partitions of a cluster are still those that an answer describes.

Whatever changes them calls `REVISION.advance()`:

    brokers       MetadataImage.endpoints, Controller.nodes, Node.offline       (`Noting` dictionaries)
    topics        MetadataImage.add_topic, remove_topic, topic_changed
    partitions    the methods of PartitionState
    features      Features.change

An answer is valid while `REVISION.current` is the object that it was when the answer was built. All clusters of a
process share the revision, so that a partition need not know its cluster. Clusters run in several threads: a new object
for each change, unlike a number to increment, needs no lock, because no thread can set back what another has set.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Revision:
    """`current` is replaced by each change."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = object()

    def advance(self) -> None:
        """Note a change."""
        self.current = object()


REVISION = Revision()


class Noting(dict[K, V]):
    """A dictionary whose changes advance the revision."""

    __slots__ = ()

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        REVISION.advance()

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        REVISION.advance()

    def pop(self, *arguments: Any) -> Any:
        found = super().pop(*arguments)
        REVISION.advance()
        return found

    def popitem(self) -> tuple[K, V]:
        found = super().popitem()
        REVISION.advance()
        return found

    def clear(self) -> None:
        super().clear()
        REVISION.advance()

    def setdefault(self, *arguments: Any) -> Any:
        found = super().setdefault(*arguments)
        REVISION.advance()
        return found

    def update(self, *others: Iterable[Any], **more: V) -> None:  # type: ignore[override]
        super().update(*others, **more)
        REVISION.advance()

    def __ior__(self, other: Any) -> "Noting[K, V]":  # type: ignore[override, misc]
        self.update(other)
        return self
