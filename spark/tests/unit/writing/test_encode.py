"""Encoded records are identical, byte for byte, to those of the broker's own builder."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.protocol.records.varint import encode as encode_varint
from kafkalet_spark.writing.encode import EncodedFields, encode, encode_headers, size, spell
from kafkalet_spark.writing.rows import HEADERS

longs = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70) | st.integers(-9000, 9000)


@given(st.lists(longs, min_size=1))
def test_varints_are_encoded_as_in_kafka(numbers: list[int]) -> None:
    column = np.array(numbers, np.int64)
    assert spell((column,), len(numbers)).to_pylist() == [encode_varint(number) for number in numbers]
    assert size(column).tolist() == [len(encode_varint(number)) for number in numbers]


@given(st.lists(st.tuples(longs, longs), min_size=1))
def test_row_has_the_varints_of_all_columns(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, np.int64).T
    spelled = spell((first, 0, second, -1), len(pairs)).to_pylist()
    assert spelled == [encode_varint(a) + b"\0" + encode_varint(b) + b"\1" for a, b in pairs]


def test_no_rows_are_encoded_as_empty() -> None:
    assert spell((np.empty(0, np.int64), -1), 0).to_pylist() == []


Header = tuple[str, bytes | None]
small = st.none() | st.binary(max_size=200)
headers = st.none() | st.lists(st.tuples(st.text(max_size=70), st.none() | st.binary(max_size=80)), max_size=3)
rows = st.lists(st.tuples(st.integers(0, 1 << 45) | st.integers(0, 300), small, small, headers), min_size=1)


def fields(rows: list[tuple[int, bytes | None, bytes | None, list[Header] | None]]) -> EncodedFields:
    columns = list(zip(*rows, strict=True))
    key = pa.array(columns[1], pa.binary())
    tail = [None if each is None else [{"key": name, "value": value} for name, value in each] for each in columns[3]]
    return EncodedFields(
        np.array(columns[0], np.int64),
        key if key.null_count < len(key) else None,
        pa.array(columns[2], pa.binary()),
        encode_headers(pa.array(tail, HEADERS)) if any(columns[3]) else None,
    )


def expected(rows: list[tuple[int, bytes | None, bytes | None, list[Header] | None]]) -> bytes:
    records = [Record(at, row[0], row[1], row[2], tuple(row[3] or ())) for at, row in enumerate(rows)]
    return encode_records(records, 0, rows[0][0])


@given(rows, st.lists(st.integers(1, 20)))
def test_records_are_encoded_as_by_the_broker(
    rows: list[tuple[int, bytes | None, bytes | None, list[Header] | None]], cuts: list[int]
) -> None:
    firsts = [0, *sorted({cut for cut in cuts if cut < len(rows)})]
    made = fields(rows)
    encoded = encode(made, np.array(firsts, np.int64), made.sizes())
    for batch, (start, end) in enumerate(zip(firsts, [*firsts[1:], len(rows)], strict=True)):
        assert bytes(encoded.payload(batch)) == expected(rows[start:end])


def test_slice_is_encoded_like_its_rows() -> None:
    rows = [(time, b"k%d" % time, None, [("h", b"%d" % time)]) for time in range(100)]
    made = fields(rows)  # type: ignore[arg-type]
    encoded = encode(made.slice(30, 50), np.array([0], np.int64), made.sizes()[30:80])
    assert bytes(encoded.payload(0)) == expected(rows[30:80])  # type: ignore[arg-type]


def test_header_without_key_is_rejected() -> None:
    with pytest.raises(ValueError, match="a header without a key"):
        encode_headers(pa.array([[{"key": None, "value": b"x"}]], HEADERS))


def test_headers_of_a_slice_match_its_rows() -> None:
    column = pa.array([[{"key": str(at), "value": None}] * at for at in range(6)], HEADERS)
    assert encode_headers(column.slice(2, 3)).to_pylist() == encode_headers(column).to_pylist()[2:5]
