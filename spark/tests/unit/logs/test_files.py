"""Files that are corrupt or cannot be read."""

import os
import pickle
from pathlib import Path

import pytest

from kafkalet_spark.logs.files import CorruptFile, UnreadableFile, read_whole, why_unreadable


def test_corrupt_file_error_names_path_position_and_reason() -> None:
    assert str(CorruptFile("/logs/t-0/00.index", 16, "it is torn")) == "/logs/t-0/00.index, byte 16: it is torn"


def test_corrupt_file_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(CorruptFile("a", 1, "b")))
    assert (error.path, error.position, error.reason) == ("a", 1, "b")


def test_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert read_whole(str(tmp_path / "x")) == b"abc"
    with pytest.raises(FileNotFoundError):
        read_whole(str(tmp_path / "y"))


def test_unreadable_file_is_distinguished_from_missing_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("link", "a link to /nowhere"), ("folder", "a directory"), ("pipe", "not a regular file")):
        assert reason in str(why_unreadable(str(tmp_path / name)))
        with pytest.raises(UnreadableFile, match=f"{name}: it is {reason}"):
            read_whole(str(tmp_path / name))
    with pytest.raises(FileNotFoundError):
        why_unreadable(str(tmp_path / "nothing"))


def test_unreadable_file_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(UnreadableFile("a", 0, "Permission denied")))
    assert str(error) == "a: Permission denied"
