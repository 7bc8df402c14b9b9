"""Tests of the replayer: it encodes the recorded bytes, decodes what it encodes, and detects every difference."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet_conformance.judging.replaying import ordered
from kafkalet_conformance.notation import values as notation
from kafkalet_conformance.notation.codecs import NAMES, compress, decompress
from kafkalet_conformance.playing.matching import Matcher, resolve
from kafkalet_conformance.transcripts import Transcript, load, names
from tools.recording import index
from tools.recording.scenarios import definitions


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
    transcripts = [load(name) for name in names()]
    pairs = [pair for each in transcripts for pair in recorded_batches(each.steps.get(release))]
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


def test_every_changed_leaf_of_a_response_is_reported() -> None:
    step = next(step for step in load("session_life").steps["3.9"] if "case" in step)
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
    kept, lost = Transcript("a", {}, {}), Transcript("b", {}, {}, in_order=False)
    assert ordered(kept, "Metadata") == {"topics"}
    assert ordered(lost, "Metadata") is False
    assert ordered(lost, "Fetch") is True
    assert ordered(kept, "OffsetFetch") is False


def test_missing_item_is_reported_by_its_name() -> None:
    expected = {"configs": [{"name": "a", "n": 1}, {"name": "b", "n": 2}, {"name": "c", "n": 3}]}
    got = {"configs": [{"name": "a", "n": 1}, {"name": "c", "n": 4}]}
    found = Matcher({}).differences(expected, got)
    assert [str(each) for each in found] == [
        "configs[name=b]: expected {'name': 'b', 'n': 2}, got nothing",
        "configs[name=c].n: expected 3, got 4",
    ]


def test_missing_item_does_not_hide_another_order() -> None:
    expected = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert len(Matcher({}).differences(expected, [{"name": "c"}, {"name": "a"}], in_order=True)) == 3


def test_items_of_the_same_name_are_compared_by_place() -> None:
    expected = [{"name": "a", "n": 1}, {"name": "a", "n": 2}]
    [found] = Matcher({}).differences(expected, expected[:1])
    assert found.path == "[1]"


def test_true_differs_from_one() -> None:
    assert Matcher({}).differences({"a": 1}, {"a": True})


def test_every_transcript_has_a_definition_and_every_definition_a_transcript() -> None:
    assert set(names()) == set(definitions())


def test_every_transcript_has_cases_and_every_case_a_response() -> None:
    for name in names():
        for steps in load(name).steps.values():
            cases = [step for step in steps if "case" in step]
            assert cases, name
            assert all("expect" in step for step in cases), name


def test_index_describes_the_transcripts() -> None:
    expected = (index.RECORDINGS / index.INDEX).read_text(encoding="utf-8")
    assert index.text() == expected, "write it with: python -m tools.recording index"


@pytest.mark.parametrize("unknown", ["0", "9"])
def test_a_placeholder_matches_an_item_wherever_its_name_is_sorted(unknown: str) -> None:
    expected = [{"topic_id": "5", "error_code": 1}, {"topic_id": "$TEXT", "error_code": 2}]
    got = [{"topic_id": "5", "error_code": 1}, {"topic_id": unknown, "error_code": 2}]
    assert not Matcher({}).differences({"topics": expected}, {"topics": got}, in_order=False)
    got[1]["error_code"] = 3
    assert Matcher({}).differences({"topics": expected}, {"topics": got}, in_order=False)
