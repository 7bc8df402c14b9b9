"""Filters of a query become bounds that never exclude a matching record."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafkalet_spark.filters import Pushed, pushed

spark_filters = pytest.importorskip("pyspark.sql.datasource", reason="pip install kafkalet-spark")


def one(name: str, column: str, value: Any) -> Pushed:
    return pushed([getattr(spark_filters, name)((column,), value)])


def moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000, UTC).replace(microsecond=microseconds)


@pytest.mark.parametrize(
    ("name", "column", "value", "bounds"),
    [
        ("EqualTo", "topic", "a", Pushed(topics=frozenset({"a"}))),
        ("In", "topic", ("a", "b"), Pushed(topics=frozenset({"a", "b"}))),
        ("EqualNullSafe", "partition", 3, Pushed(partitions=frozenset({3}))),
        ("EqualTo", "offset", 7, Pushed(first_offset=7, last_offset=7)),
        ("In", "offset", (9, None, 7), Pushed(first_offset=7, last_offset=9)),
        ("GreaterThan", "offset", 7, Pushed(first_offset=7)),
        ("LessThanOrEqual", "offset", 7, Pushed(last_offset=7)),
        ("GreaterThanOrEqual", "timestamp", moment(1999), Pushed(not_before_ms=1_700_000_000_001)),
        ("LessThan", "timestamp", moment(1999), Pushed(not_after_ms=1_700_000_000_001)),
        ("GreaterThan", "partition", 2, Pushed()),
        ("EqualTo", "value", b"x", Pushed()),
        ("EqualTo", "offset", None, Pushed()),
        ("In", "offset", (), Pushed()),
        ("StringStartsWith", "topic", "a", Pushed()),
        ("GreaterThan", "timestamp", datetime(2024, 1, 1), Pushed()),  # noqa: DTZ001
    ],
)
def test_a_condition_becomes_a_bound(name: str, column: str, value: Any, bounds: Pushed) -> None:
    assert one(name, column, value) == bounds


def test_conditions_are_combined() -> None:
    conditions = [
        spark_filters.GreaterThan(("offset",), 5),
        spark_filters.GreaterThan(("offset",), 9),
        spark_filters.LessThan(("offset",), 90),
        spark_filters.In(("topic",), ("a", "b")),
        spark_filters.EqualTo(("topic",), "b"),
    ]
    assert pushed(conditions) == Pushed(topics=frozenset({"b"}), first_offset=9, last_offset=90)


def test_condition_on_a_nested_field_is_ignored() -> None:
    assert pushed([spark_filters.EqualTo(("offset", "x"), 5)]) == Pushed()


def test_negated_condition_is_ignored() -> None:
    assert pushed([spark_filters.Not(spark_filters.EqualTo(("offset",), 5))]) == Pushed()


def test_bounds_narrow_a_range() -> None:
    assert Pushed(first_offset=5, last_offset=7).within(0, 100) == (5, 8)
    assert Pushed(first_offset=500).within(0, 100) == (500, 500)
    assert Pushed().within(3, 4) == (3, 4)


def test_a_partition_is_admitted_by_topic_and_number() -> None:
    bounds = Pushed(topics=frozenset({"a"}), partitions=frozenset({1}))
    assert bounds.admits(("a", 1))
    assert not bounds.admits(("a", 0))
    assert not bounds.admits(("b", 1))
