import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, decode_records, encode_records
from kafkalet.protocol.records.runs import MIN_RECORDS, Run, find_ragged_run, find_run
from kafkalet.protocol.records.shapes import Shape, Unusual
from kafkalet.protocol.records.varint import encode_unsigned

from .strategies import NOW


def run_in(records: list[Record], at_most: int = 10_000) -> Run:
    payload = encode_records(records, 0, NOW)
    return find_run(payload, 0, len(payload), 0, min(at_most, len(records)))


def alike(count: int, value: bytes = b"value", step: int = 0) -> list[Record]:
    return [Record(index, NOW + index * step, b"key", value) for index in range(count)]


def test_records_of_one_shape_are_a_run() -> None:
    run = run_in(alike(50))
    assert (run.length, run.starts[0], run.end) == (50, 0, len(encode_records(alike(50), 0, NOW)))
    assert run.shape.size == len(encode_records(alike(1), 0, NOW))


def test_a_run_is_as_long_as_wanted_at_most() -> None:
    assert run_in(alike(50), at_most=20).length == 20


def test_offsets_of_two_bytes_begin_another_run() -> None:
    payload = encode_records(alike(200), 0, NOW)
    first = find_run(payload, 0, len(payload), 0, 200)
    second = find_run(payload, first.end, len(payload), first.length, 200 - first.length)
    assert (first.length, second.length, second.end) == (64, 136, len(payload))


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
    run = Run(len(encoded), range(len(encoded)), 0, Shape(1, (0, 0), (0, 0), None, (0, 0), None, [], [], 9), columns)
    assert list(run.timestamps()) == numbers
    assert run.largest_timestamp() == (max(numbers), numbers.index(max(numbers)))


def test_negative_timestamps_are_noticed() -> None:
    assert not run_in(alike(20, step=1)).has_negative_timestamp()
    assert run_in(alike(20, step=-1)).has_negative_timestamp()


def fields_in(records: list[Record], run: Run) -> list[tuple[bytes | None, bytes | None]]:
    payload = encode_records(records, 0, NOW)
    return list(zip(run.field(payload, run.shape.key), run.field(payload, run.shape.value), strict=True))


def test_the_fields_of_a_run_are_cut_out() -> None:
    records = [Record(index, NOW, b"key%02d" % index, b"value%02d" % index) for index in range(30)]
    assert fields_in(records, run_in(records)) == [(record.key, record.value) for record in records]


def test_null_is_null_in_all_records_of_a_run() -> None:
    records = [Record(index, NOW, None, None) for index in range(30)]
    assert fields_in(records, run_in(records)) == [(None, None)] * 30


class TestRagged:
    def run_in(self, records: list[Record], first: int = 0, end: int | None = None) -> Run:
        payload = encode_records(records, 0, NOW)
        start = len(encode_records(records[:first], 0, NOW))
        return find_ragged_run(payload, start, len(payload) if end is None else end, first, len(records) - first)

    def records(self, count: int = 100, smallest: int = 64, key: bytes | None = b"key", step: int = 0) -> list[Record]:
        return [Record(index, NOW + index * step, key, bytes(smallest + index % 37)) for index in range(count)]

    @pytest.mark.parametrize("smallest", [0, 64, 500, 8000])
    @pytest.mark.parametrize("key", [None, b"", b"key", bytes(70)])
    def test_records_whose_values_differ_in_size_are_a_run(self, smallest: int, key: bytes | None) -> None:
        records = self.records(64, smallest, key)
        run = self.run_in(records)
        assert (run.length, run.end) == (64, len(encode_records(records, 0, NOW)))
        assert fields_in(records, run) == [(record.key, record.value) for record in records]

    def test_offsets_of_two_bytes_begin_another_run(self) -> None:
        records = self.records(200)
        assert [self.run_in(records).length, self.run_in(records, 64).length] == [64, 136]

    def test_records_of_the_same_size_are_a_run_too(self) -> None:
        assert self.run_in(alike(64)).length == 64

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"key": b"kez+"}, id="a longer key"),
            pytest.param({"key": None}, id="no key"),
            pytest.param({"value": bytes(63)}, id="a value whose length has fewer bytes"),
            pytest.param({"value": bytes(8192)}, id="a value whose length has more bytes"),
            pytest.param({"value": None}, id="no value"),
            pytest.param({"headers": (("h", b""),)}, id="a header"),
            pytest.param({"offset": 41}, id="an offset out of order"),
            pytest.param({"timestamp": NOW + 64}, id="a timestamp of more bytes"),
        ],
    )
    def test_another_record_ends_a_run(self, change: dict[str, object]) -> None:
        records = self.records(64)
        records[40] = records[40]._replace(**change)
        run = self.run_in(records)
        assert (run.length, run.end) == (40, len(encode_records(records[:40], 0, NOW)))

    @pytest.mark.parametrize("at", [-1, 0, 5])
    def test_a_changed_length_ends_a_run(self, at: int) -> None:
        records = self.records(64)
        payload = bytearray(encode_records(records, 0, NOW))
        start = len(encode_records(records[:41], 0, NOW))
        payload[start + at] += 2
        assert find_ragged_run(payload, 0, len(payload), 0, 64).length == 40 + (at >= 0)

    def test_a_record_that_goes_on_beyond_the_end_is_left_out(self) -> None:
        records = self.records(64)
        end = len(encode_records(records, 0, NOW))
        assert [self.run_in(records, end=end - 1).length, self.run_in(records, end=end).length] == [63, 64]

    @pytest.mark.parametrize(
        "records",
        [
            pytest.param(alike(MIN_RECORDS - 1), id="too few"),
            pytest.param([record._replace(headers=(("h", b""),)) for record in alike(64)], id="headers"),
            pytest.param([record._replace(key=bytes(100)) for record in alike(64)], id="long keys"),
            pytest.param([record._replace(value=None) for record in alike(64)], id="no values"),
            pytest.param([record._replace(value=bytes(20_000)) for record in alike(20)], id="long values"),
            pytest.param(
                [record._replace(value=bytes(60 + record.offset % 9)) for record in alike(64)],
                id="values with lengths of one byte and of two",
            ),
        ],
    )
    def test_others_are_no_run(self, records: list[Record]) -> None:
        with pytest.raises(Unusual):
            self.run_in(records)

    def test_timestamps_are_there(self) -> None:
        run = self.run_in(self.records(64, step=100), 1)
        assert list(run.timestamps()) == [200 * index for index in range(1, 64)]
