import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.decoding.spans import binary_column


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 9)), max_size=30), st.sampled_from([bytes, bytearray]))
def test_column_has_the_ranges_and_nulls(stretches: list[tuple[int, int]], kind: type) -> None:
    data = kind(range(250)) * 3
    positions, position = [], 0
    for gap, size in stretches:
        positions.append(position + gap)
        position += gap + max(size, 0)
    sizes = [size for _, size in stretches]
    column = binary_column(data, np.array(positions, np.int64), np.array(sizes, np.int64))
    column.validate(full=True)
    assert column.type == pa.binary()
    assert column.to_pylist() == [
        None if size < 0 else bytes(data[at : at + size]) for at, size in zip(positions, sizes, strict=True)
    ]


@pytest.mark.parametrize("sizes", [[], [-1, -1], [0, -1], [0, 0]])
def test_empty_column_is_binary(sizes: list[int]) -> None:
    column = binary_column(b"", np.zeros(len(sizes), np.int64), np.array(sizes, np.int64))
    assert (column.type, column.to_pylist()) == (pa.binary(), [None if size < 0 else b"" for size in sizes])
