"""`kafkalet_spark.dumping.manifest`: the file with the next offset of each partition."""

import json
import os
from pathlib import Path

import pytest

from kafkalet_spark.dumping.manifest import (
    EMPTY,
    NAME,
    Dumped,
    Manifest,
    NoManifest,
    flush,
    read_json,
    read_manifest,
    write_json,
    write_manifest,
)


def test_file_is_replaced_atomically(tmp_path: Path) -> None:
    path = str(tmp_path / "it.json")
    write_json(path, {"version": 1, "a": 1})
    write_json(path, {"version": 1, "a": 2})
    assert read_json(path) == {"version": 1, "a": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["it.json"]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = str(tmp_path / "it.json")
    write_json(path, {"version": 1})
    with pytest.raises(TypeError):
        write_json(path, {"version": object()})
    assert read_json(path) == {"version": 1}


def test_files_and_directories_are_flushed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{number}" for number in range(50)]
    for path in paths:
        path.touch()
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    flush([*map(str, paths), str(tmp_path)])
    assert sorted(flushed) == sorted(path.stat().st_ino for path in [*paths, tmp_path])


def test_flushing_a_missing_file_raises(tmp_path: Path) -> None:
    flush([])
    with pytest.raises(FileNotFoundError):
        flush([str(tmp_path), str(tmp_path / "nothing")])


def test_file_of_another_version_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"version": 2}')
    with pytest.raises(NoManifest, match=r"it\.json: unsupported version 2; this release of kafkalet supports 1"):
        read_json(str(tmp_path / "it.json"))


MANIFEST = Manifest(
    7,
    {"format": "parquet", "isolationLevel": "read_committed"},
    {"orders": "x3bK", "other": None},
    {("orders", 0): Dumped(5, 842, 830), ("orders", 11): Dumped(0, 1, 1), ("other", 0): Dumped(0, 0, 0)},
)


def test_written_manifest_is_read_back(tmp_path: Path) -> None:
    write_manifest(str(tmp_path), MANIFEST)
    assert read_manifest(str(tmp_path)) == MANIFEST


def test_directory_without_manifest_is_empty(tmp_path: Path) -> None:
    assert read_manifest(str(tmp_path)) is EMPTY


def test_manifest_is_json_by_topic_and_partition(tmp_path: Path) -> None:
    write_manifest(str(tmp_path), MANIFEST)
    found = json.loads((tmp_path / NAME).read_text())
    assert found["version"] == 1
    assert found["run"] == 7
    assert found["topics"]["orders"]["topicId"] == "x3bK"
    assert found["topics"]["orders"]["partitions"]["0"] == {"startOffset": 5, "nextOffset": 842, "records": 830}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "invalid JSON"),
        ("[]", "version None"),
        ('{"version": 2}', "unsupported version 2; this release of kafkalet supports 1"),
        ('{"version": 1}', "not a valid manifest"),
        (
            '{"version": 1, "run": 1, "settings": {}, "topics": {"t": {"topicId": null, "partitions": 3}}}',
            "not a valid manifest",
        ),
    ],
)
def test_invalid_manifest_is_named(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(NoManifest, match=reason) as refused:
        read_manifest(str(tmp_path))
    assert str(tmp_path / NAME) in str(refused.value)
