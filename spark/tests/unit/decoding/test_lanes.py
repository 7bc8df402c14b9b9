import numpy as np
import pytest

from kafkalet.protocol.records.record import Headers, Record, encode_records
from kafkalet_spark.decoding.lanes import SHORTEST, Lanes, arrived, cut
from kafkalet_spark.decoding.starts import record_starts, walk
from tests.unit.protocol.records.strategies import NOW


def records(count: int, value: bytes | None = None, headers: Headers = (), step: int = 1) -> list[Record]:
    chance = np.random.default_rng(count)
    return [
        Record(i * step, NOW + i // 3, b"k", value if value is not None else chance.bytes(40 + i % 90), headers)
        for i in range(count)
    ]


def cut_alone(payload: bytes, count: int) -> tuple[np.ndarray, Lanes]:
    data = np.frombuffer(payload, np.uint8)
    return data, cut(data, np.array([0]), np.array([data.size]), np.array([count]))


@pytest.mark.parametrize("headers", [(), (("a", b"1"), ("b", None))])
@pytest.mark.parametrize("value", [None, bytes(100), b"{}", b"", b"\x0c" + bytes(60), b"\x10\0\0\0" * 30])
def test_long_batch_is_cut_at_records(value: bytes | None, headers: Headers) -> None:
    count = 20 * SHORTEST
    data, lanes = cut_alone(encode_records(records(count, value, headers), 0, NOW), count)
    starts = walk(data.data, 0, data.size, count)
    before = np.cumsum(lanes.count) - lanes.count
    assert lanes.start.tolist() == starts[before].tolist()
    assert lanes.end.tolist() == [*lanes.start[1:].tolist(), data.size]
    assert (int(lanes.count.sum()), lanes.payload.any()) == (count, False)
    assert lanes.count.size > 12
    assert arrived(data, lanes, starts).all()


def test_records_inside_a_value_do_no_harm() -> None:
    inner = encode_records(records(300), 0, NOW)
    outer = [Record(i, NOW, None, inner if i % 20 == 0 else b"v" * 60) for i in range(4000)]
    data = np.frombuffer(encode_records(outer, 0, NOW), np.uint8)
    where = np.array([0]), np.array([data.size]), np.array([4000])
    assert record_starts(data, *where).tolist() == walk(data.data, 0, data.size, 4000).tolist()


def test_batch_with_offset_gaps_is_not_cut() -> None:
    data = np.frombuffer(encode_records(records(4000, step=3), 0, NOW), np.uint8)
    where = np.array([0]), np.array([data.size]), np.array([4000])
    assert record_starts(data, *where).tolist() == walk(data.data, 0, data.size, 4000).tolist()


def test_short_batch_is_not_cut() -> None:
    long, short = encode_records(records(2000), 0, NOW), encode_records(records(3), 0, NOW)
    data = np.frombuffer(short + long + short, np.uint8)
    start = np.array([0, len(short), len(short) + len(long)])
    lanes = cut(data, start, np.append(start[1:], data.size), np.array([3, 2000, 3]))
    assert lanes.count[lanes.payload != 1].tolist() == [3, 3]
    assert (lanes.payload == 1).sum() > 20


def test_invalid_records_are_not_cut() -> None:
    chance = np.random.default_rng(1)
    for payload in (bytes(50_000), chance.bytes(50_000), b"\x80" * 50_000):
        assert cut_alone(payload, 1000)[1].count.tolist() == [1000]


def test_lane_with_wrong_end_has_not_arrived() -> None:
    data, lanes = cut_alone(encode_records(records(640), 0, NOW), 640)
    starts = walk(data.data, 0, data.size, 640)
    wrong = lanes._replace(end=lanes.end + (np.arange(lanes.end.size) == 2))
    assert np.flatnonzero(~arrived(data, wrong, starts)).tolist() == [2]
