import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.varint import encode
from kafkalet_spark.decoding.varints import FAR, LENGTH_BYTES, TIMESTAMP_BYTES, read_varints


def read(numbers: list[int], longest: int = LENGTH_BYTES) -> tuple[list[int], bool]:
    """Read the numbers from one buffer. Return them, and whether each ends where the next begins."""
    pieces = [encode(number) for number in numbers]
    ends = np.cumsum([len(piece) for piece in pieces])
    read_, behind = read_varints(np.frombuffer(b"".join(pieces), np.uint8), np.append(0, ends[:-1]), longest)
    return read_.tolist(), behind.tolist() == ends.tolist()


@given(st.lists(st.integers(-(1 << 27), (1 << 27) - 1), min_size=1))
def test_lengths_of_up_to_four_bytes_are_read(numbers: list[int]) -> None:
    assert read(numbers) == (numbers, True)


@given(st.lists(st.integers(-(1 << 62), (1 << 62) - 1), min_size=1))
def test_timestamps_of_up_to_nine_bytes_are_read(numbers: list[int]) -> None:
    assert read(numbers, TIMESTAMP_BYTES) == (numbers, True)


@given(st.lists(st.sampled_from([0, -1, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 1 << 20]), min_size=1))
def test_bounds_of_each_width_are_read(numbers: list[int]) -> None:
    assert read(numbers) == (numbers, True)


@pytest.mark.parametrize(("longest", "number"), [(LENGTH_BYTES, 1 << 27), (TIMESTAMP_BYTES, 1 << 62)])
def test_too_long_varints_end_far_away(longest: int, number: int) -> None:
    data = np.frombuffer(encode(number) + encode(5), np.uint8)
    numbers, ends = read_varints(data, np.array([0, data.size - 1]), longest)
    assert (numbers[1], ends.tolist()) == (5, [FAR, data.size])


def test_reads_past_the_buffer_repeat_its_last_byte() -> None:
    data = np.frombuffer(b"\x80\x02", np.uint8)
    numbers, ends = read_varints(data, np.array([0, 1, 2, 1 << 50]))
    assert ends.tolist() == [2, 2, 3, (1 << 50) + 1]
    assert numbers[:2].tolist() == [128, 1]


def test_no_positions_give_no_numbers() -> None:
    numbers, ends = read_varints(np.zeros(1, np.uint8), np.empty(0, np.int64))
    assert (numbers.size, ends.size, numbers.dtype) == (0, 0, np.int64)
