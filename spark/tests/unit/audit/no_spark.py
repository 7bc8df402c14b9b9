"""A stand-in for Spark that runs the jobs of an audit in this process, without a JVM.

Everything that Spark would send between driver and tasks is pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.cloudpickle import dumps, loads


class Broadcast:
    def __init__(self, value: Any) -> None:
        self.value = loads(dumps(value))

    def unpersist(self) -> None:
        del self.value


class Rows:
    """An RDD, in one partition."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = [loads(dumps(row)) for row in rows]

    def flatMap(self, function: Callable[[Any], Iterable[Any]]) -> Rows:
        return Rows(found for row in self.rows for found in function(row))

    def map(self, function: Callable[[Any], Any]) -> Rows:
        return Rows(map(function, self.rows))

    def mapPartitions(self, function: Callable[[Iterator[Any]], Iterable[Any]]) -> Rows:
        return Rows(function(iter(self.rows)))

    def groupByKey(self, partitions: int) -> Rows:
        groups: dict[Any, list[Any]] = {}
        for key, value in reversed(self.rows):  # Spark guarantees no order
            groups.setdefault(key, []).append(value)
        return Rows(groups.items())

    def collect(self) -> list[Any]:
        return self.rows


class NoSpark:
    """A session, and its context."""

    defaultParallelism = 2

    @property
    def sparkContext(self) -> NoSpark:
        return self

    def broadcast(self, value: Any) -> Broadcast:
        return Broadcast(value)

    def parallelize(self, rows: Iterable[Any], slices: int) -> Rows:
        return Rows(rows)
