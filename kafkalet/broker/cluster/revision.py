"""A counter of the changes of brokers, topics and partitions, which shows whether a cached response is still valid.

Code that changes one of them calls `advance` of the cluster's revision, `MetadataImage.revision`:

    brokers       MetadataImage.endpoints, Controller.nodes, Node.offline       (`Noting` dictionaries)
    topics        MetadataImage.add_topic, remove_topic, topic_changed
    partitions    the methods of PartitionState, after its topic has been added to the image
    features      Features.change

A cached response is valid as long as the number is the same as when the response was built.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Revision:
    """The number of changes of a cluster."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0

    def advance(self) -> None:
        """Note a change."""
        self.number += 1


DETACHED = Revision()
"""The revision of partitions that do not belong to a cluster yet."""


class Noting(dict[K, V]):
    """A dictionary whose changes advance a revision."""

    __slots__ = ("_revision",)

    def __init__(self, revision: Revision) -> None:
        super().__init__()
        self._revision = revision

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self._revision.advance()

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        self._revision.advance()

    def pop(self, *arguments: Any) -> Any:
        found = super().pop(*arguments)
        self._revision.advance()
        return found

    def popitem(self) -> tuple[K, V]:
        found = super().popitem()
        self._revision.advance()
        return found

    def clear(self) -> None:
        super().clear()
        self._revision.advance()

    def setdefault(self, *arguments: Any) -> Any:
        found = super().setdefault(*arguments)
        self._revision.advance()
        return found

    def update(self, *others: Iterable[Any], **more: V) -> None:  # type: ignore[override]
        super().update(*others, **more)
        self._revision.advance()

    def __ior__(self, other: Any) -> "Noting[K, V]":  # type: ignore[override, misc]
        self.update(other)
        return self
