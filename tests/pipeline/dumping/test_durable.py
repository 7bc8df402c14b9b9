"""`kafkalet.pipeline.dumping.durable`: whole, or not at all."""

import os
from pathlib import Path

import pytest

from kafkalet.pipeline.dumping.durable import NoManifest, flush, read_json, write_json


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = str(tmp_path / "it.json")
    write_json(path, {"version": 1, "a": 1})
    write_json(path, {"version": 1, "a": 2})
    assert read_json(path) == {"version": 1, "a": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["it.json"]


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    path = str(tmp_path / "it.json")
    write_json(path, {"version": 1})
    with pytest.raises(TypeError):
        write_json(path, {"version": object()})
    assert read_json(path) == {"version": 1}


def test_files_and_directories_are_flushed_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{number}" for number in range(50)]
    for path in paths:
        path.touch()
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    flush([*map(str, paths), str(tmp_path)])
    assert sorted(flushed) == sorted(path.stat().st_ino for path in [*paths, tmp_path])


def test_what_is_not_there_cannot_be_flushed(tmp_path: Path) -> None:
    flush([])
    with pytest.raises(FileNotFoundError):
        flush([str(tmp_path), str(tmp_path / "nothing")])


def test_a_file_of_another_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"version": 2}')
    with pytest.raises(NoManifest, match=r"it\.json: version 2, where this kafkalet reads and writes 1"):
        read_json(str(tmp_path / "it.json"))
