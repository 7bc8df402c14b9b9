import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.varint import encode
from kafkalet_spark.decoding.headers import HEADERS, header_column, name_column, no_headers, read_headers
from kafkalet_spark.decoding.spans import binary_column

Row = list[tuple[str, bytes | None]]
rows = st.lists(
    st.lists(st.tuples(st.text(max_size=70), st.none() | st.binary(max_size=70)), max_size=4), min_size=1, max_size=60
)


def encoded(row: Row) -> bytes:
    pieces = []
    for key, value in row:
        name = key.encode()
        pieces += [encode(len(name)), name, encode(-1 if value is None else len(value)), value or b""]
    return b"".join(pieces)


def laid_out(rows: list[Row]) -> tuple[bytes, np.ndarray, np.ndarray, np.ndarray]:
    """Return the encoded bytes, and for the rows with headers: position, count, end."""
    pieces = [encoded(row) for row in rows]
    ends = np.cumsum([len(piece) for piece in pieces])
    having = np.array([bool(row) for row in rows])
    counts = np.array([len(row) for row in rows])
    return b"".join(pieces) + b"\0", np.append(0, ends[:-1])[having], counts[having], ends[having]


def column_of(rows: list[Row]) -> list[Row | None]:
    data, position, count, end = laid_out(rows)
    headers, are_sound = read_headers(np.frombuffer(data, np.uint8), position, count, end)
    assert are_sound.all()
    column = header_column(data, np.array([len(row) for row in rows]), headers)
    column.validate(full=True)
    assert column.type == HEADERS
    return [some and [(header["key"], header["value"]) for header in some] for some in column.to_pylist()]


@given(rows)
def test_headers_are_read_as_written(rows: list[Row]) -> None:
    assert column_of(rows) == [row or None for row in rows]


def test_record_with_many_headers_is_read_among_others() -> None:
    rows: list[Row] = [[("a", b"1")] * (500 if i == 7 else 2) for i in range(100)]
    assert column_of(rows) == rows


@pytest.mark.parametrize("records", [1, 30])
@pytest.mark.parametrize("damage", [b"\x01", b"\x02a\x7e", b"\xff\xff\xff\xff\xff\xff", b"\x02a\x01\x02c\x01"])
def test_headers_that_do_not_match_the_record_length_are_not_sound(records: int, damage: bytes) -> None:
    good = encoded([("a", b"1"), ("b", b"2")])
    pieces = [good] * records + [damage.ljust(len(good), b"\x7f")] + [good] * records
    end = np.cumsum([len(piece) for piece in pieces])
    data = np.frombuffer(b"".join(pieces), np.uint8)
    _, are_sound = read_headers(data, np.append(0, end[:-1]), np.full(len(pieces), 2), end)
    assert are_sound.tolist() == [index != records for index in range(len(pieces))]


def test_impossible_header_count_costs_no_memory() -> None:
    data = np.frombuffer(encoded([("a", b"1")]), np.uint8)
    headers, are_sound = read_headers(data, np.array([0]), np.array([1 << 40]), np.array([4]))
    assert (headers.key.size, are_sound.tolist()) == (0, [False])


def test_invalid_utf8_key_is_decoded_as_in_java() -> None:
    names = binary_column(b"ok\xff\xfeok", np.array([0, 2, 4]), np.array([2, 2, 2]))
    assert name_column(names).to_pylist() == ["ok", "\ufffd\ufffd", "ok"]


def test_missing_headers_are_null() -> None:
    assert (no_headers(2).to_pylist(), no_headers(0).type) == ([None, None], HEADERS)
