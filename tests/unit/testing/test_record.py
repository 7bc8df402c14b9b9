"""Tests of the records and headers of the test kit, and of the conversion of arguments."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafkalet.testing.record import Headers, Record, encoded, header_pairs, milliseconds


def record(value: bytes | None = b"v", key: bytes | None = None, timestamp: int = 1000) -> Record:
    return Record("t", 0, 5, timestamp, key, value, Headers(()))


def test_json_parses_the_value() -> None:
    assert record(b'{"id": 7}').json() == {"id": 7}


def test_text_of_a_tombstone_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no value"):
        record(None).text()


def test_time_is_in_utc() -> None:
    assert record(timestamp=1500).time == datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)


def test_record_without_a_timestamp_has_no_time() -> None:
    assert record(timestamp=-1).time is None


def test_repr_shortens_a_long_value() -> None:
    assert repr(record(b"x" * 1000, b"k")) == f"<t-0@5 key=b'k' value={b'x' * 60!r}... (1000 bytes)>"


def test_last_header_of_a_name_counts() -> None:
    headers = Headers([("a", b"1"), ("a", b"2")])
    assert headers["a"] == b"2"
    assert headers.pairs == (("a", b"1"), ("a", b"2"))


@pytest.mark.parametrize("other", [{"a": b"1"}, [("a", b"1")], Headers([("a", b"1")])])
def test_headers_equal_a_dict_and_a_list_of_pairs(other: object) -> None:
    assert Headers([("a", b"1")]) == other


def test_headers_with_a_repeated_name_differ_from_a_dict() -> None:
    assert Headers([("a", b"1"), ("a", b"1")]) != {"a": b"1"}


def test_str_is_encoded_as_utf8() -> None:
    assert encoded("key", "ä") == b"\xc3\xa4"


def test_value_that_is_not_json_names_the_record() -> None:
    with pytest.raises(ValueError, match=r"<t-0@\d+ .*value=b'no'> is not JSON: Expecting value"):
        record(b"no").json()


def test_value_that_is_not_utf8_names_the_record() -> None:
    with pytest.raises(ValueError, match=r"<t-0@\d+ .*value=b'.xff'> is not UTF-8: 'utf-8' codec"):
        record(b"\xff").text()


def test_value_of_another_type_names_send_json() -> None:
    with pytest.raises(TypeError, match="send_json"):
        encoded("the value of a record", {"id": 7})


@pytest.mark.parametrize("given", [{"a": "1", "b": None}, [("a", b"1"), ("b", None)]])
def test_header_pairs_accept_dicts_and_pairs(given: Any) -> None:
    assert header_pairs(given) == (("a", b"1"), ("b", None))


@pytest.mark.parametrize("given", ["a", 7, [("a",)], [7], ["ab"]])
def test_other_headers_raise_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match="header"):
        header_pairs(given)


def test_datetime_is_converted_to_milliseconds() -> None:
    assert milliseconds("timestamp", datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)) == 2000


@pytest.mark.parametrize("given", [True, 1.5, "now"])
def test_time_of_another_type_raises_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match="milliseconds since 1970"):
        milliseconds("timestamp", given)
