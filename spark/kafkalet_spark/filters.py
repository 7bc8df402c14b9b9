"""Filter pushdown: the bounds that a query sets on topic, partition, offset and timestamp.

Spark passes a list of filters, all of which must hold. Filters on one of these four columns narrow the ranges to read.
Spark still evaluates every filter itself, so the bounds need not be exact, but they must never exclude a matching
record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from .options import TopicPartition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Pushed(NamedTuple):
    """Inclusive bounds; None if the query sets no bound. Timestamps are in milliseconds."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    not_before_ms: int | None = None
    not_after_ms: int | None = None

    def admits(self, partition: TopicPartition) -> bool:
        """Return whether records of this partition can match."""
        topic, number = partition
        return (self.topics is None or topic in self.topics) and (self.partitions is None or number in self.partitions)

    def within(self, start: int, end: int) -> tuple[int, int]:
        """Narrow the range from `start` to `end` (exclusive) to offsets that can match; it may become empty."""
        if self.first_offset is not None:
            start = max(start, self.first_offset)
        if self.last_offset is not None:
            end = min(end, self.last_offset + 1)
        return start, max(start, end)


def pushed(conditions: Iterable[Any]) -> Pushed:
    """Combine Spark's filters (pyspark.sql.datasource) into bounds."""
    found = Pushed()
    for condition in conditions:
        name: tuple[str, ...] = getattr(condition, "attribute", ())
        narrow = _NARROW.get(type(condition).__name__)
        if narrow is not None and len(name) == 1 and name[0] in _READ:
            found = narrow(found, name[0], condition.value)
    return found


def _milliseconds(value: Any) -> int | None:
    """Return a datetime as milliseconds since the epoch, rounded down; None if it has no time zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // _MILLISECOND
    return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_READ: dict[str, Callable[[Any], Any]] = {
    "topic": lambda value: value if isinstance(value, str) else None,
    "partition": _whole,
    "offset": _whole,
    "timestamp": _milliseconds,
}
_LEAST = {"offset": "first_offset", "timestamp": "not_before_ms"}
_MOST = {"offset": "last_offset", "timestamp": "not_after_ms"}
_AMONG = {"topic": "topics", "partition": "partitions"}


def _at_least(found: Pushed, name: str, value: Any) -> Pushed:
    bound, field = _READ[name](value), _LEAST.get(name)
    if bound is None or field is None:
        return found
    known = getattr(found, field)
    return found._replace(**{field: bound if known is None else max(known, bound)})


def _at_most(found: Pushed, name: str, value: Any) -> Pushed:
    bound, field = _READ[name](value), _MOST.get(name)
    if bound is None or field is None:
        return found
    known = getattr(found, field)
    return found._replace(**{field: bound if known is None else min(known, bound)})


def _among(found: Pushed, name: str, values: Iterable[Any]) -> Pushed:
    wanted = [read for value in values if value is not None and (read := _READ[name](value)) is not None]
    asked = [value for value in values if value is not None]
    if len(wanted) < len(asked) or not asked:
        return found
    if name in _AMONG:
        known = getattr(found, _AMONG[name])
        chosen: Any = frozenset(wanted) if known is None else known & frozenset(wanted)
        return found._replace(**{_AMONG[name]: chosen})
    return _at_most(_at_least(found, name, min(asked)), name, max(asked))


def _equal(found: Pushed, name: str, value: Any) -> Pushed:
    return _among(found, name, (value,))


_NARROW: dict[str, Callable[[Pushed, str, Any], Pushed]] = {
    "EqualTo": _equal,
    "EqualNullSafe": _equal,
    "In": _among,
    "GreaterThan": _at_least,
    "GreaterThanOrEqual": _at_least,
    "LessThan": _at_most,
    "LessThanOrEqual": _at_most,
}
