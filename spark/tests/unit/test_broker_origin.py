"""Ranges are divided without losing offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.broker_origin import cut, divided
from kafkalet_spark.options import read_options
from kafkalet_spark.origin import PartitionRange

RANGES = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1000)), min_size=1, max_size=5).map(
    lambda each: [PartitionRange("t", number, start, start + length) for number, (start, length) in enumerate(each)]
)


def offsets(ranges: list[PartitionRange]) -> list[tuple[int, int]]:
    return [(each.partition, offset) for each in ranges for offset in range(each.start, each.end)]


@given(RANGES, st.integers(1, 50), st.integers(1, 300))
def test_every_offset_is_in_one_piece(ranges: list[PartitionRange], least: int, most: int) -> None:
    options = read_options({"path": "/l", "minPartitions": str(least), "maxRecordsPerPartition": str(most)})
    pieces = divided(ranges, options)
    assert offsets(pieces) == offsets(ranges)
    assert max(each.end - each.start for each in pieces) <= most


def test_long_range_is_divided_into_more_pieces_than_short_one() -> None:
    ranges = [PartitionRange("t", 0, 0, 900), PartitionRange("t", 1, 0, 100)]
    pieces = divided(ranges, read_options({"path": "/l", "minPartitions": "10"}))
    assert [each.partition for each in pieces] == [0] * 9 + [1]


def test_there_are_no_more_pieces_than_offsets() -> None:
    assert cut(PartitionRange("t", 0, 5, 7), 10) == [PartitionRange("t", 0, 5, 6), PartitionRange("t", 0, 6, 7)]


@pytest.mark.parametrize(
    ("lengths", "least", "counts"),
    [
        ((10, 10, 10), 4, [1, 1, 1]),
        ((100, 10, 1), 4, [2, 1, 1]),
        ((100, 10, 1), 5, [3, 1, 1]),
        ((100, 10, 1), 12, [10, 1, 1]),
        ((5, 5), 2_147_483_647, [5, 5]),
    ],
)
def test_number_of_pieces_equals_that_of_spark(lengths: tuple[int, ...], least: int, counts: list[int]) -> None:
    ranges = [PartitionRange("t", number, 0, length) for number, length in enumerate(lengths)]
    pieces = divided(ranges, read_options({"path": "/l", "minPartitions": str(least)}))
    assert [sum(piece.partition == number for piece in pieces) for number in range(len(lengths))] == counts
