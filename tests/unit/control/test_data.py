"""Tests of keys, values and headers as JSON."""

import pytest

from kafkalet.control.data import RECORD, mark_text, read_data, read_mark, record_json, written
from kafkalet.control.shapes import Malformed
from kafkalet.testing.record import Headers, Record
from kafkalet.testing.topic import TopicMark


@pytest.mark.parametrize(
    ("data", "encoding", "expected"),
    [
        (b"caf\xc3\xa9", "auto", ("café", "text")),
        (b"\xff\x00", "auto", ("/wA=", "base64")),
        (b"a", "base64", ("YQ==", "base64")),
        (b"", "auto", ("", "text")),
        (None, "auto", (None, "text")),
        (None, "base64", (None, "text")),
    ],
)
def test_bytes_are_written_with_their_encoding(data: bytes | None, encoding: str, expected: object) -> None:
    assert written(data, encoding) == expected


@pytest.mark.parametrize("data", [b"caf\xc3\xa9", b"\xff", b"", None])
@pytest.mark.parametrize("encoding", ["auto", "base64"])
def test_written_bytes_are_read_again(data: bytes | None, encoding: str) -> None:
    text, text_encoding = written(data, encoding)
    assert read_data(text, text_encoding, "key") == data


@pytest.mark.parametrize("text", ["a", "%%%%", "YQ=\n=", "é"])
def test_text_that_is_not_base64_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="value is not base64"):
        read_data(text, "base64", "value")


def test_record_has_its_declared_shape() -> None:
    record = Record("t", 1, 2, 3, None, b"\xff", Headers([("h", b"x"), ("h", None)]))
    json = record_json(record, "auto")
    assert RECORD.check(json, "the record") == json
    assert [json["key"], json["value"], json["value_encoding"]] == [None, "/w==", "base64"]
    assert json["headers"] == [
        {"name": "h", "value": "x", "value_encoding": "text"},
        {"name": "h", "value": None, "value_encoding": "text"},
    ]


@pytest.mark.parametrize("mark", [TopicMark("t", {0: 5, 1: 0}, bytes(range(16)), {0: 2, 1: 0}), TopicMark("t", {})])
def test_written_mark_is_read_again(mark: TopicMark) -> None:
    found = read_mark(mark_text(mark), "t")
    assert found is not None
    assert (found.topic, found.offsets) == (mark.topic, mark.offsets)
    assert (found.topic_id, found.epochs) == (mark.topic_id, mark.epochs)


@pytest.mark.parametrize("text", ["", "t", "t:", "u::", "t::5", "t::5.0,", "t::5.0" + "1" * 1000, "t:short:"])
def test_text_that_is_not_a_mark_in_the_topic_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="which is not a mark in topic t"):
        read_mark(text, "t")
