"""Tests of JSON as bytes: as json.dumps writes it, in pieces."""

import json
from typing import Any

import pytest

from kafkalet.control import encoding

VALUES: list[Any] = [
    1,
    None,
    "text \ud800",
    [],
    {},
    {"a": [], "b": {}},
    {"a": [{"b": 1}, {"c": [[2]]}], "d": {"e": {"f": True}}},
    {1: [2, {"x": 1.5}]},
    [{}, []],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_bytes_equal_those_of_json_dumps(value: Any) -> None:
    expected = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    assert encoding.encoded(value) == expected


def test_infinity_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encoding.encoded({"a": [{"b": float("inf")}]})


def test_large_value_is_encoded_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """json.dumps of everything would stop the brokers' thread for a tenth of a second."""
    pieces = []
    monkeypatch.setattr(encoding, "_encode", lambda value: pieces.append(json.dumps(value)) or pieces[-1])
    partitions = [{"partition": index, "replicas": [1, 2, 3], "isr": [1]} for index in range(1000)]
    encoding.encoded({"topics": [{"name": "t", "partitions": partitions}]})
    assert max(map(len, pieces)) < 100
