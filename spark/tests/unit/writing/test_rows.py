"""The columns of Spark's Kafka sink, checked and normalized."""

import pytest

from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.writing.rows import BadRows, RowRun, Sorter, check_columns, stretches

from .making import T0, rows


def sorter(topic: str | None = "t", by_column: bool | None = None, **counts: int) -> Sorter:
    return Sorter(topic, by_column, counts.get, 0, T0)


@pytest.mark.parametrize(
    ("types", "topic", "message"),
    [
        ({"key": "binary"}, "t", "Required attribute 'value' not found."),
        ({"value": "string"}, None, "topic option required when no 'topic' attribute is present."),
        ({"value": "int"}, "t", r"Attribute 'value' must be a\(n\) string or binary; found int."),
        ({"value": "string", "partition": "bigint"}, "t", r"Attribute 'partition' must be a\(n\) int; found bigint."),
        ({"value": "string", "price": "double"}, "t", "unsupported column price"),
    ],
)
def test_invalid_columns_are_rejected(types: dict[str, str], topic: str | None, message: str) -> None:
    with pytest.raises(BadRows, match=message):
        check_columns(types, topic)


def test_columns_of_the_reader_are_accepted() -> None:
    types = {"key": "binary", "value": "binary", "topic": "string", "partition": "int", "offset": "bigint"}
    check_columns({**types, "timestamp": "timestamp", "timestampType": "int"}, None)


def test_rows_are_placed_by_key() -> None:
    keys = [b"a", b"b", b"c"]
    sorted_rows = sorter(t=50).sort(rows(key=keys, value=keys))
    assert sorted_rows["place"].to_pylist() == [partition_of(key, 50) for key in keys]


def test_topic_with_unknown_partition_count_gets_one() -> None:
    assert sorter().sort(rows(key=[b"a", b"b"], value=[b"", b""]))["place"].to_pylist() == [0, 0]


def test_rows_without_key_are_placed_in_turn() -> None:
    going = sorter(t=3)
    assert going.sort(rows(value=[b""] * 4))["place"].to_pylist() == [0, 1, 2, 0]
    assert going.sort(rows(value=[b""] * 2))["place"].to_pylist() == [1, 2]


def test_partition_column_is_used_and_null_means_by_key() -> None:
    found = sorter(t=50).sort(rows(key=[b"a", b"b"], value=[b"", b""], partition=[49, None]))
    assert found["place"].to_pylist() == [49, partition_of(b"b", 50)]


def test_partition_column_is_ignored_with_partition_by_key() -> None:
    found = sorter(by_column=False, t=50).sort(rows(key=[b"a"], value=[b""], partition=[49]))
    assert found["place"].to_pylist() == [partition_of(b"a", 50)]


@pytest.mark.parametrize("partition", [-1, 3])
def test_partition_out_of_range_is_rejected(partition: int) -> None:
    with pytest.raises(BadRows, match=f"partition {partition} of topic t is out of range; it must be 0 to 2"):
        sorter(t=3).sort(rows(value=[b""], partition=[partition]))


def test_rows_of_several_topics_get_different_places() -> None:
    both = sorter(None, x=2, y=5)
    found = both.sort(rows(value=[b""] * 3, topic=["y", "x", "y"], partition=[4, 1, 0]))
    assert [both.place_of(place) for place in found["place"].to_pylist()] == [("y", 4), ("x", 1), ("y", 0)]


def test_topic_option_overrides_the_column() -> None:
    one = sorter("t", t=1)
    found = one.sort(rows(value=[b""], topic=["other"]))
    assert one.place_of(found["place"][0].as_py()) == ("t", 0)


def test_null_topic_is_rejected() -> None:
    with pytest.raises(BadRows, match="null topic present in the data"):
        sorter(None).sort(rows(value=[b""], topic=[None]))


def test_invalid_topic_name_in_column_is_rejected() -> None:
    with pytest.raises(BadOption, match="invalid topic name 'a b'"):
        sorter(None).sort(rows(value=[b""], topic=["a b"]))


def test_missing_timestamp_is_the_time_of_the_load() -> None:
    assert sorter().sort(rows(value=[b""] * 2, timestamp=[5, None]))["timestamp"].to_pylist() == [5, T0]
    assert sorter().sort(rows(value=[b""]))["timestamp"].to_pylist() == [T0]


def test_timestamp_before_1970_is_rejected() -> None:
    with pytest.raises(BadRows, match="Invalid timestamp: -1"):
        sorter().sort(rows(value=[b""], timestamp=[-1]))


def test_text_is_encoded_as_utf_8() -> None:
    import pyarrow as pa

    text = pa.RecordBatch.from_pydict({"value": ["\u00e4", None]})
    assert sorter().sort(text)["value"].to_pylist() == ["\u00e4".encode(), None]


def test_runs_of_equal_places_are_found() -> None:
    import numpy as np

    assert stretches(np.array([3, 3, 0, 5, 5])) == [RowRun(3, 0, 2), RowRun(0, 2, 3), RowRun(5, 3, 5)]
    assert stretches(np.empty(0, np.int64)) == []
