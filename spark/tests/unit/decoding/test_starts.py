import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, encode_records
from kafkalet_spark.decoding import starts as module
from kafkalet_spark.decoding.lanes import Lanes
from kafkalet_spark.decoding.starts import record_starts, walk
from tests.profile import examples

sizes = st.sampled_from([0, 1, 50, 51, 57, 58, 120, 300, 8180, 8183, 8184, 8185, 9000])


def payload(lengths: list[int], first: int = 0) -> bytes:
    return encode_records([Record(first + i, 0, None, bytes(n)) for i, n in enumerate(lengths)], first, 0)


def laid_out(batches: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Return payloads with gaps between them: the buffer, their starts and ends, record counts, and record
    positions."""
    data, bounds, starts = bytearray(), [], []
    for lengths in batches:
        data += bytes([255]) * 61
        first = len(data)
        for index, length in enumerate(lengths):
            starts.append(len(data))
            data += encode_records([Record(index, 0, None, b"x" * length)], 0, 0)
        bounds.append((first, len(data), len(lengths)))
    start, end, count = np.array(bounds, np.int64).T
    return np.frombuffer(bytes(data), np.uint8), start, end, count, starts


@given(st.lists(st.lists(sizes, min_size=1, max_size=30), min_size=1, max_size=40))
@settings(max_examples=examples(0.6))
def test_records_are_found_in_many_batches_and_in_few(batches: list[list[int]]) -> None:
    *where, starts = laid_out(batches)
    assert record_starts(*where).tolist() == starts


@pytest.mark.parametrize("count", [1, 9, 10, 11, 200, 300])
def test_records_are_found_with_any_number_of_lanes(count: int) -> None:
    *where, starts = laid_out([[7 * i % 90] * (1 + i % 13) for i in range(count)])
    assert record_starts(*where).tolist() == starts


@pytest.mark.parametrize("lengths", [[100] * 3000, [(i * 37) % 130 for i in range(5000)], [5, 9000] * 1500])
def test_records_of_long_batches_are_found(lengths: list[int]) -> None:
    *where, starts = laid_out([lengths, [1] * 5, lengths])
    assert record_starts(*where).tolist() == starts


def test_wrong_cut_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    *where, starts = laid_out([[60] * 2000, [70] * 2000])
    cut = module.cut

    def wrong(*arguments: np.ndarray) -> Lanes:
        lanes = cut(*arguments)
        lanes.start[5] += 1
        lanes.end[4] += 1
        return lanes

    monkeypatch.setattr(module, "cut", wrong)
    assert record_starts(*where).tolist() == starts


@given(st.binary(min_size=8, max_size=400), st.integers(1, 60), st.integers(1, 40))
def test_nothing_outside_the_buffer_is_read(data: bytes, count: int, batches: int) -> None:
    start = np.arange(batches) * (len(data) // (batches + 1))
    found = record_starts(np.frombuffer(data, np.uint8), start, start + 7, np.full(batches, count))
    assert found.size == count * batches


@given(st.lists(sizes, min_size=1, max_size=20))
def test_walk_follows_the_lengths(lengths: list[int]) -> None:
    data, start, end, _, starts = laid_out([lengths])
    assert walk(data.data, int(start[0]), int(end[0]), len(lengths)).tolist() == starts


def test_walk_stops_at_the_end_of_the_payload() -> None:
    data = payload([5, 5])
    assert walk(data + data, 0, len(data), 4).tolist() == [0, len(data) // 2, len(data), len(data)]


def test_walk_out_of_the_buffer_ends_there() -> None:
    assert walk(b"\x02\0\xff", 0, 3, 4).tolist() == [0, 2, 3, 3]
