"""Tests of the replayer: it encodes the recorded bytes, decodes what it encodes, and detects every difference."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from . import notation
from .codecs import NAMES, compress, decompress
from .matching import Matcher, resolve
from .replay import HERE, head, load, ordered

FILES = sorted(HERE.glob("*/*.json"))


def recorded_batches(value: Any) -> Iterator[tuple[list[dict[str, Any]], str]]:
    if isinstance(value, dict):
        if "#records_hex" in value:
            yield value["records"], value["#records_hex"]
        for item in value.values():
            yield from recorded_batches(item)
    elif isinstance(value, list):
        for item in value:
            yield from recorded_batches(item)


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_batches_are_encoded_byte_for_byte_as_recorded(release: str) -> None:
    pairs = [pair for path in FILES if path.parent.name == release for pair in recorded_batches(load(path))]
    assert pairs
    for batches, expected in pairs:
        built = notation.build(batches)
        assert built is not None
        assert built.hex() == expected


@pytest.mark.parametrize("codec", NAMES)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_encoded_records_can_be_decoded(codec: str, magic: int) -> None:
    records = [{"ts": 1000 + n, "key": None if n else "k", "value": f"value {n}"} for n in range(3)]
    built = notation.build([{"magic": magic, "codec": codec, "records": records}])
    entries = notation.parse(built)
    assert entries is not None
    assert all(entry["crc_ok"] and entry["codec"] == codec for entry in entries)
    inner = "records" if magic == 2 else "inner"
    read = entries[0][inner] if magic == 2 or codec != "none" else entries
    assert [(record["key"], record["value"]) for record in read] == [(r["key"], r["value"]) for r in records]


@pytest.mark.parametrize("codec", NAMES)
def test_compression_of_several_blocks_round_trips(codec: str) -> None:
    data = bytes(range(256)) * 1000
    assert decompress(codec, compress(codec, data)) == data


def test_truncated_batch_is_decoded_as_partial() -> None:
    built = notation.build([{"magic": 2, "records": [{"ts": 0, "key": None, "value": "x"}]}]) or b""
    assert notation.parse(built[:30]) == [{"partial_bytes": 30, "partial_of": len(built), "partial_magic": 2}]
    assert notation.parse(built[:7]) == [{"partial_bytes": 7}]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if not key.startswith("#"):
                yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from leaves(item, (*path, n))
    else:
        yield path


def test_every_changed_leaf_of_an_answer_is_reported() -> None:
    step = next(step for step in load(HERE / "3.9" / "session_life.json")["steps"] if "case" in step)
    expected = resolve(step["expect"], {"S7": 5, "t": "topic"})
    matcher = Matcher({})
    assert not matcher.differences(expected, expected)
    for path in leaves(expected):
        changed = copy.deepcopy(expected)
        inner = changed
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = "something else"
        assert matcher.differences(expected, changed), path


def test_additional_and_missing_fields_are_reported() -> None:
    matcher = Matcher({})
    assert matcher.differences({"a": 1}, {"a": 1, "b": None})
    assert matcher.differences({"a": 1, "b": None}, {"a": 1})
    assert matcher.differences([1], [1, 2])


def test_comments_throttling_and_addresses_are_not_compared() -> None:
    got = {"a": 1, "throttle_time_ms": 7, "brokers": [{"node_id": 1, "host": "h", "port": 1, "rack": None}]}
    assert not Matcher({}).differences({"a": 1, "#error": "X", "brokers": [{"node_id": 1}]}, got)


def test_order_is_compared_only_on_request() -> None:
    left = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    assert not Matcher({}).differences(left, left[::-1], in_order=False)
    assert Matcher({}).differences(left, left[::-1], in_order=True)


def test_order_is_compared_in_the_arrays_of_the_named_fields_only() -> None:
    left = {"topics": [{"name": "a", "partitions": [{"index": 1}, {"index": 0}]}, {"name": "b", "partitions": []}]}
    moved_inside = {"topics": [{"name": "a", "partitions": [{"index": 0}, {"index": 1}]}, left["topics"][1]]}
    moved_outside = {"topics": left["topics"][::-1]}
    topics = frozenset({"topics"})
    assert not Matcher({}).differences(left, moved_inside, topics)
    assert Matcher({}).differences(left, moved_outside, topics)


def test_order_is_compared_only_in_transcripts_that_kept_it() -> None:
    assert ordered("more_metadata_ids", "Metadata") == {"topics"}
    assert ordered("metadata_topics", "Metadata") is False
    assert ordered("fetch_two", "Fetch") is True
    assert ordered("more_offsets", "OffsetFetch") is False


def test_true_differs_from_one() -> None:
    assert Matcher({}).differences({"a": 1}, {"a": True})


def test_transcript_file_is_named_after_its_scenario() -> None:
    for path in FILES:
        scenario = load(path)
        assert scenario["scenario"] == path.stem
        assert {name: value for name, value in scenario.items() if name != "steps"} == head(path)


def test_every_transcript_has_cases_and_every_case_an_answer() -> None:
    for path in FILES:
        cases = [step for step in load(path)["steps"] if "case" in step]
        assert cases, path
        assert all("expect" in step for step in cases), path
