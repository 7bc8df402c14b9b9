"""Zigzag varints for whole columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.pipeline.writing.varints import size, spell
from kafkalet.protocol.records.varint import encode

longs = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70) | st.integers(-9000, 9000)


@given(st.lists(longs, min_size=1))
def test_numbers_are_spelled_as_kafka_spells_them(numbers: list[int]) -> None:
    column = np.array(numbers, np.int64)
    assert spell((column,), len(numbers)).to_pylist() == [encode(number) for number in numbers]
    assert size(column).tolist() == [len(encode(number)) for number in numbers]


@given(st.lists(st.tuples(longs, longs), min_size=1))
def test_a_row_has_the_numbers_of_all_columns_one_after_the_other(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, np.int64).T
    spelled = spell((first, 0, second, -1), len(pairs)).to_pylist()
    assert spelled == [encode(a) + b"\0" + encode(b) + b"\1" for a, b in pairs]


def test_no_rows_are_spelled_as_none() -> None:
    assert spell((np.empty(0, np.int64), -1), 0).to_pylist() == []
