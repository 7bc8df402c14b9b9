"""Keys are assigned to the same partitions as by the Java producer."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.seeding.partitioner import murmur2 as one_by_one
from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet_spark.writing.placement import murmur2, partitions_of

keys = st.lists(st.binary(max_size=40) | st.binary(min_size=200, max_size=300))


@given(keys)
def test_hash_matches_the_brokers_murmur2(keys: list[bytes]) -> None:
    assert murmur2(pa.array(keys, pa.binary())).tolist() == [one_by_one(key) for key in keys]


@given(keys, st.integers(0, 3))
def test_slice_is_hashed_like_the_column(keys: list[bytes], start: int) -> None:
    column = pa.array(keys, pa.binary()).slice(start)
    assert murmur2(column).tolist() == [one_by_one(key) for key in keys[start:]]


@given(keys, st.integers(1, 5000))
def test_keys_get_the_same_partition_as_in_the_broker(keys: list[bytes], count: int) -> None:
    placed = partitions_of(pa.array(keys, pa.binary()), count, np.zeros(len(keys), np.int64))
    assert placed.tolist() == [partition_of(key, count) for key in keys]


def test_number_of_partitions_may_differ_by_row() -> None:
    placed = partitions_of(pa.array([b"a", b"a"], pa.binary()), np.array([3, 50]), np.zeros(2, np.int64))
    assert placed.tolist() == [partition_of(b"a", 3), partition_of(b"a", 50)]


def test_records_without_a_key_are_spread_evenly() -> None:
    placed = partitions_of(pa.nulls(10, pa.binary()), 4, np.arange(10))
    assert placed.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


def test_null_key_is_not_an_empty_key() -> None:
    placed = partitions_of(pa.array([b"", None], pa.binary()), 1000, np.array([0, 7]))
    assert placed.tolist() == [partition_of(b"", 1000), 7]


def test_single_long_key_is_hashed() -> None:
    keys = [b"short", bytes(range(256)) * 4096, b"k"]
    assert murmur2(pa.array(keys, pa.binary())).tolist() == [one_by_one(key) for key in keys]
