"""Runs of records of the same shape: their limits and fields, and the sweep over all records of a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, decode_records, encode_records, read_record
from kafkalet.protocol.records.runs import (
    MIN_RECORDS,
    Run,
    Shape,
    Unusual,
    find_run,
    largest_byte,
    leading_varints,
    read_long,
    shape_of,
    sweep,
)
from kafkalet.protocol.records.varint import encode_unsigned

from .strategies import NOW


def run_in(records: list[Record], at_most: int = 10_000) -> Run:
    payload = encode_records(records, 0, NOW)
    return find_run(payload, 0, len(payload), 0, min(at_most, len(records)))


def alike(count: int, value: bytes = b"value", step: int = 0) -> list[Record]:
    return [Record(index, NOW + index * step, b"key", value) for index in range(count)]


def test_records_of_the_same_shape_are_a_run() -> None:
    run = run_in(alike(50))
    assert (run.length, run.starts[0], run.end) == (50, 0, len(encode_records(alike(50), 0, NOW)))
    assert run.shape.size == len(encode_records(alike(1), 0, NOW))


def test_run_has_at_most_the_requested_length() -> None:
    assert run_in(alike(50), at_most=40).length == 40


def test_run_ends_before_offsets_of_two_bytes() -> None:
    payload = encode_records(alike(200), 0, NOW)
    first = find_run(payload, 0, len(payload), 0, 200)
    second = find_run(payload, first.end, len(payload), first.length, 200 - first.length)
    assert (first.length, second.length, second.end) == (64, 136, len(payload))


def test_runs_with_offsets_of_three_bytes_end_at_multiples_of_8192() -> None:
    payload = encode_records(alike(20_000), 0, NOW)
    ends, position = [0, 64], 64 * (len(encode_records(alike(1), 0, NOW)))
    while ends[-1] < 20_000:
        run = find_run(payload, position, len(payload), ends[-1], 20_000 - ends[-1])
        ends.append(ends[-1] + run.length)
        position = run.end
    assert ends == [0, 64, 8192, 16_384, 20_000]


@pytest.mark.parametrize("byte", [0, 1, 2])
def test_any_byte_of_a_wrong_offset_of_three_bytes_ends_a_run(byte: int) -> None:
    last = encode_records([Record(10_000, NOW, b"key", b"value")], 0, NOW)
    payload = bytearray(b"".join(encode_records([record], 0, NOW) for record in alike(10_100)[10_000:]))
    payload[30 * len(last) + 3 + byte] ^= 2
    assert find_run(payload, 0, len(payload), 10_000, 100).length == 30


def test_longer_timestamp_ends_a_run() -> None:
    assert run_in(alike(80, step=2)).length == 32


def test_different_field_length_ends_a_run() -> None:
    records = alike(40)
    records[30] = records[30]._replace(key=b"ke", value=b"value+")
    assert run_in(records).length == 30


def test_offset_out_of_order_ends_a_run() -> None:
    records = alike(40)
    records[30] = records[30]._replace(offset=31)
    assert run_in(records).length == 30


@pytest.mark.parametrize("step", [0, 200])
def test_timestamp_of_different_size_ends_a_run_of_otherwise_equal_records(step: int) -> None:
    """All fields after the timestamp of such a record have other positions."""
    records = [record._replace(timestamp=NOW + 100 + step * 40) for record in alike(40)]
    payload = bytearray(encode_records(records, 0, NOW + 100))
    stride = len(payload) // 40
    payload[30 * stride + 2] ^= 0x80
    assert find_run(payload, 0, len(payload), 0, 40).length == 30


def test_records_after_too_short_run_are_read_individually() -> None:
    records = alike(40)
    for index in range(5, 15):
        records[index] = records[index]._replace(key=b"ke", value=b"value+")
    payload = encode_records(records, 0, NOW)
    assert find_run(payload, 0, len(payload), 0, 40).length == 5
    assert decode_records(payload, 40, 0, NOW) == records


def test_too_few_records_are_not_a_run() -> None:
    with pytest.raises(Unusual):
        run_in(alike(MIN_RECORDS - 1))


def test_records_of_different_sizes_are_not_a_run() -> None:
    with pytest.raises(Unusual):
        run_in([record._replace(value=bytes(index)) for index, record in enumerate(alike(40))])


@given(st.lists(st.integers(0, (1 << 14) - 1), min_size=1, max_size=200), st.integers(2, 3))
def test_largest_timestamp_is_found_in_columns(deltas: list[int], size: int) -> None:
    """The varints of the deltas have `size` bytes."""
    numbers = [delta << 1 | 1 << 7 * (size - 1) for delta in deltas]
    encoded = [encode_unsigned(number) for number in numbers]
    numbers = [number for number, data in zip(numbers, encoded, strict=True) if len(data) == size]
    encoded = [data for data in encoded if len(data) == size]
    if not encoded:
        return
    columns = [bytes(column) for column in zip(*encoded, strict=True)]
    run = Run(len(encoded), range(len(encoded)), 0, Shape((0, 0), (0, 0), None, None, [], [], 9), columns)
    assert list(run.timestamps()) == numbers
    assert run.largest_timestamp() == (max(numbers), numbers.index(max(numbers)))


def test_negative_timestamps_are_detected() -> None:
    assert not run_in(alike(40, step=1)).has_negative_timestamp()
    assert run_in(alike(40, step=-1)).has_negative_timestamp()


def fields_in(records: list[Record], run: Run) -> list[tuple[bytes | None, bytes | None]]:
    payload = encode_records(records, 0, NOW)
    return list(zip(run.field(payload, run.shape.key), run.field(payload, run.shape.value), strict=True))


def test_fields_of_a_run_are_extracted() -> None:
    records = [Record(index, NOW, b"key%02d" % index, b"value%02d" % index) for index in range(40)]
    assert fields_in(records, run_in(records)) == [(record.key, record.value) for record in records]


def test_null_is_null_in_all_records_of_a_run() -> None:
    records = [Record(index, NOW, None, None) for index in range(40)]
    assert fields_in(records, run_in(records)) == [(None, None)] * 40


# Shapes and columns


def test_shape_has_the_positions_of_the_fields() -> None:
    record = Record(0, NOW, b"key", b"value", (("h", b"x"), ("i", None)))
    payload = encode_records([record], 0, NOW)
    shape = shape_of(b"before" + payload, 6, 0)
    assert shape.size == len(payload)
    assert shape.key is not None
    assert shape.value is not None
    (key, value), (last_key, last_value) = shape.headers
    assert value is not None
    assert last_value is None
    spans = (shape.key, shape.value, key, value, last_key)
    assert [payload[start:end] for start, end in spans] == [b"key", b"value", b"h", b"x", b"i"]
    assert bytes(payload[at] for at in shape.lengths) == payload[:1] + b"\x06\x0a\x04\x02\x02\x02\x01"


def test_null_has_no_span() -> None:
    shape = shape_of(encode_records([Record(0, NOW, None, None)], 0, NOW), 0, 0)
    assert (shape.key, shape.value, shape.headers) == (None, None, [])


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"\x0c\0\0\2\1\1\0", id="different offset"),
        pytest.param(b"\x0e\0\0\0\1\1\0", id="different length"),
        pytest.param(b"\x0c\0\0\0\1\1\1", id="negative header count"),
        pytest.param(b"\x10\0\0\0\1\1\2\1\1", id="null header key"),
        pytest.param(b"\x0c\0" + b"\x80" * 8 + b"\0\0\1\1\0", id="timestamp that might overflow"),
    ],
)
def test_unusual_records_are_left_to_the_exact_reader(payload: bytes) -> None:
    with pytest.raises(Unusual):
        shape_of(payload, 0, 0)


@pytest.mark.parametrize("number", [0, 1, 127, 128, (1 << 28) - 1])
def test_long_integers_are_decoded(number: int) -> None:
    data = encode_unsigned(number)
    assert read_long(b"x" + data, 1) == (number, 1 + len(data))


def test_integers_that_might_overflow_are_unusual() -> None:
    with pytest.raises(Unusual):
        read_long(encode_unsigned(1 << 28), 0)


@given(st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=50))
def test_leading_varints_have_one_byte_per_column(rows: list[tuple[int, ...]]) -> None:
    columns: list[bytes | bytearray] = [bytes(column) for column in zip(*rows, strict=True)]
    expected = next((i for i, row in enumerate(rows) if row[0] < 128 or row[1] < 128 or row[2] > 127), len(rows))
    assert leading_varints(columns) == expected


@given(st.binary(min_size=1, max_size=300))
def test_largest_byte_equals_max(column: bytes) -> None:
    assert largest_byte(column) == max(column)


# The sweep


class Taken:
    """A reader that records the calls it receives."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.taken: list[tuple[str, int, int]] = []

    def one_by_one(self, position: int, index: int, until: int) -> int:
        self.taken.append(("one by one", index, until))
        for _ in range(index, until):
            _, position = read_record(self.payload, position)
        return position

    def take_run(self, run: Run, index: int) -> None:
        self.taken.append(("run", index, index + run.length))


def swept(records: list[Record]) -> list[tuple[str, int, int]]:
    payload = encode_records(records, 0, NOW)
    log = Taken(payload)
    sweep(payload, 0, len(payload), len(records), log)
    parts = [(start, end) for _, start, end in log.taken]
    assert [start for start, _ in parts] == [0, *(end for _, end in parts)][: len(parts)]
    assert not parts or parts[-1][1] == len(records)
    return log.taken


def of_sizes(*sizes: int) -> list[Record]:
    return [Record(index, NOW, b"key", bytes(size)) for index, size in enumerate(sizes)]


def test_sweep_without_records_makes_no_calls() -> None:
    assert swept([]) == []


def test_few_records_are_processed_individually() -> None:
    assert swept(of_sizes(*[5] * 15)) == [("one by one", 0, 15)]


def test_records_of_equal_size_are_processed_as_runs() -> None:
    assert swept(of_sizes(*[100] * 1000)) == [("run", 0, 64), ("run", 64, 576), ("run", 576, 1000)]


def test_search_interval_increases_without_runs() -> None:
    sizes = [60 + index % 9 for index in range(1000)]
    assert swept(of_sizes(*sizes)) == [
        ("one by one", 0, 32),
        ("one by one", 32, 160),
        ("one by one", 160, 672),
        ("one by one", 672, 1000),
    ]


def test_runs_are_found_after_other_records() -> None:
    sizes = [1, 2, 3, 4, *[100] * 300]
    assert [kind for kind, _, _ in swept(of_sizes(*sizes))] == ["one by one", "run", "run"]


def test_short_run_is_followed_by_individual_records() -> None:
    records = of_sizes(*[100] * 40)
    for index in range(10, 15):
        records[index] = records[index]._replace(key=b"ke", value=bytes(101))
    assert swept(records)[:2] == [("run", 0, 10), ("one by one", 10, 40)]


@pytest.mark.parametrize("count", [39, 38])
def test_records_have_to_fill_the_payload(count: int) -> None:
    payload = encode_records(of_sizes(*[100] * 40), 0, NOW)
    with pytest.raises(Unusual):
        sweep(payload, 0, len(payload), count, Taken(payload))
