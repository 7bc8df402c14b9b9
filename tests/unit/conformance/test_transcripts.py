"""Transcripts in memory and in files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_conformance import transcripts
from kafkalet_conformance.transcripts import (
    Damaged,
    Step,
    Transcript,
    by_release,
    decode,
    encode,
    load,
    names,
    read_file,
    save,
    write_file,
)

steps = st.lists(
    st.fixed_dictionaries({"op": st.just("request"), "body": st.integers(0, 3)}, optional={"expect": st.integers(0, 2)})
)


@given(st.dictionaries(st.sampled_from(["2.8", "3.9", "4.4"]), steps))
def test_decoded_transcript_equals_the_encoded_one(by_name: dict[str, list[Step]]) -> None:
    transcript = Transcript("t", {"brokers": 3}, by_release(by_name), in_order=False)
    assert decode("t", encode(transcript)) == transcript


def test_later_release_refers_to_equal_steps_and_requests() -> None:
    old: list[Step] = [{"op": "let"}, {"op": "sleep"}, {"op": "request", "expect": 1}]
    new: list[Step] = [*old[:2], {"op": "request", "expect": 2}, {"op": "note"}]
    text = encode(Transcript("t", {}, {"3.9": old, "4.4": new}))
    assert '"4.4":[[0,2],{"like":2,"expect":2},{"op":"note"}]' in text


def test_releases_are_sorted_by_number() -> None:
    assert list(by_release({"4.10": [], "4.4": [], "3.9": []})) == ["3.9", "4.4", "4.10"]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / transcripts.INDEX).write_text('[{"name": "a", "area": "one"}, {"name": "b", "area": "one"}]')
    monkeypatch.setattr(transcripts, "RECORDINGS", tmp_path)
    transcripts.forget()
    return tmp_path


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    transcripts.forget()


@pytest.mark.usefixtures("directory")
def test_saved_transcript_replaces_the_earlier_one_only() -> None:
    first, other = (Transcript(name, {}, {"3.9": [{"op": "note", "text": name}]}) for name in "ab")
    save([first, other], "one")
    changed = Transcript("a", {}, {"3.9": []})
    save([changed], "one")
    assert (load("a"), load("b")) == (changed, other)


def test_damaged_archive_is_reported_by_name(directory: Path) -> None:
    (directory / f"one{transcripts.SUFFIX}").write_bytes(b"no archive")
    with pytest.raises(Damaged, match=r"one\.jsonl\.xz cannot be read: Input format not supported"):
        load("a")


@pytest.mark.usefixtures("directory")
def test_scenario_that_the_archive_lacks_is_damaged() -> None:
    with pytest.raises(Damaged, match="the transcript a cannot be read"):
        load("a")


def test_unknown_scenario_is_not_found() -> None:
    with pytest.raises(FileNotFoundError, match="there is no transcript of nothing"):
        load("nothing")


def test_transcript_in_a_text_file_can_be_read(tmp_path: Path) -> None:
    transcript = load(names()[0])
    write_file(transcript, tmp_path / f"{transcript.name}.json")
    assert read_file(tmp_path / f"{transcript.name}.json") == transcript


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_file_that_is_not_a_transcript_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(Damaged, match="x cannot be read"):
        read_file(tmp_path / "x.json")
