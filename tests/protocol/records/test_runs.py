import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, decode_records, encode_records
from kafkalet.protocol.records.runs import MIN_RECORDS, Run, Shape, Unusual, find_run, read_long
from kafkalet.protocol.records.varint import encode_unsigned

from .strategies import NOW


def run_in(records: list[Record], at_most: int = 10_000) -> Run:
    payload = encode_records(records, 0, NOW)
    return find_run(payload, 0, len(payload), 0, min(at_most, len(records)))


def alike(count: int, value: bytes = b"value", step: int = 0) -> list[Record]:
    return [Record(index, NOW + index * step, b"key", value) for index in range(count)]


def test_records_of_one_shape_are_a_run() -> None:
    run = run_in(alike(50))
    assert (run.length, run.start, run.end()) == (50, 0, len(encode_records(alike(50), 0, NOW)))
    assert run.shape.stride == len(encode_records(alike(1), 0, NOW))


def test_a_run_is_as_long_as_wanted_at_most() -> None:
    assert run_in(alike(50), at_most=20).length == 20


def test_offsets_of_two_bytes_begin_another_run() -> None:
    payload = encode_records(alike(200), 0, NOW)
    first = find_run(payload, 0, len(payload), 0, 200)
    second = find_run(payload, first.end(), len(payload), first.length, 200 - first.length)
    assert (first.length, second.length, second.end()) == (64, 136, len(payload))


def test_a_timestamp_of_more_bytes_ends_a_run() -> None:
    assert run_in(alike(50, step=3)).length == 22


def test_another_length_of_the_same_size_ends_a_run() -> None:
    records = alike(40)
    records[30] = records[30]._replace(key=b"ke", value=b"value+")
    assert run_in(records).length == 30


def test_an_offset_out_of_order_ends_a_run() -> None:
    records = alike(40)
    records[30] = records[30]._replace(offset=31)
    assert run_in(records).length == 30


@pytest.mark.parametrize("step", [0, 200])
def test_a_timestamp_that_goes_on_differently_ends_a_run_even_if_all_else_seems_the_same(step: int) -> None:
    """Such a record reads otherwise, from its timestamp on."""
    records = [record._replace(timestamp=NOW + 100 + step * 40) for record in alike(40)]
    payload = bytearray(encode_records(records, 0, NOW + 100))
    stride = len(payload) // 40
    payload[30 * stride + 2] ^= 0x80
    assert find_run(payload, 0, len(payload), 0, 40).length == 30


def test_after_a_run_that_is_too_short_records_are_read_one_by_one() -> None:
    records = alike(40)
    for index in range(5, 15):
        records[index] = records[index]._replace(key=b"ke", value=b"value+")
    payload = encode_records(records, 0, NOW)
    assert find_run(payload, 0, len(payload), 0, 40).length == 5
    assert decode_records(payload, 40, 0, NOW) == records


def test_too_few_records_are_no_run() -> None:
    with pytest.raises(Unusual):
        run_in(alike(MIN_RECORDS - 1))


def test_records_of_other_sizes_are_no_run() -> None:
    with pytest.raises(Unusual):
        run_in([record._replace(value=bytes(index)) for index, record in enumerate(alike(40))])


def test_null_header_keys_are_left_to_the_exact_reader() -> None:
    payload = (b"\x12\0\0" + b"\0" + b"\1\1\2" + b"\1\1" + b"\0") * 20
    with pytest.raises(Unusual):
        find_run(payload, 0, len(payload), 0, 20)


def test_spans_show_where_the_fields_lie() -> None:
    records = [Record(index, NOW, None, b"value", (("h", b"x"), ("i", None))) for index in range(20)]
    shape = run_in(records).shape
    payload = encode_records(records, 0, NOW)
    assert shape.key is None
    assert shape.value is not None
    assert payload[slice(*shape.value)] == b"value"
    (key, value), (last_key, last_value) = shape.headers
    assert value is not None
    assert (payload[slice(*key)], payload[slice(*value)], payload[slice(*last_key)]) == (b"h", b"x", b"i")
    assert last_value is None


@settings(deadline=None)
@given(st.lists(st.integers(0, (1 << 14) - 1), min_size=1, max_size=200), st.integers(2, 3))
def test_the_largest_timestamp_is_found_without_decoding_all(deltas: list[int], size: int) -> None:
    """Of deltas whose varints have `size` bytes."""
    numbers = [delta << 1 | 1 << 7 * (size - 1) for delta in deltas]
    encoded = [encode_unsigned(number) for number in numbers]
    numbers = [number for number, data in zip(numbers, encoded, strict=True) if len(data) == size]
    encoded = [data for data in encoded if len(data) == size]
    if not encoded:
        return
    columns = [bytes(column) for column in zip(*encoded, strict=True)]
    run = Run(len(encoded), 0, Shape(0, [], (0, 0), (0, 0), None, None, []), columns)
    assert list(run.timestamps()) == numbers
    assert run.largest_timestamp() == (max(numbers), numbers.index(max(numbers)))


def test_negative_timestamps_are_noticed() -> None:
    assert not run_in(alike(20, step=1)).has_negative_timestamp()
    assert run_in(alike(20, step=-1)).has_negative_timestamp()


@pytest.mark.parametrize("number", [0, 1, 127, 128, (1 << 28) - 1])
def test_long_integers_are_read(number: int) -> None:
    data = encode_unsigned(number)
    assert read_long(b"x" + data, 1) == (number, 1 + len(data))


def test_integers_that_might_overflow_are_unusual() -> None:
    with pytest.raises(Unusual):
        read_long(encode_unsigned(1 << 28), 0)
