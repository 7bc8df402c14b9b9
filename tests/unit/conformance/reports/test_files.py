"""Writing reports to files."""

import os
import threading
from pathlib import Path

import pytest

from kafkalet_conformance.reports.files import problem, write


def test_report_replaces_the_file_and_leaves_no_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old, and longer than the new text")
    write(str(tmp_path / "a"), "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "new")]


def test_failure_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*names: str) -> None:
        raise OSError("no space")

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write(str(tmp_path / "a"), "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_symbolic_link_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=(str(pipe), "text"))
    writer.start()
    assert pipe.read_text() == "text"
    writer.join()
    assert pipe.is_fifo()


def test_minus_is_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write("-", "tëxt \ud800")
    assert capfdbinary.readouterr().out == "tëxt \\ud800".encode()


def test_problems_are_found_before_writing(tmp_path: Path) -> None:
    assert problem(str(tmp_path / "new")) == ""
    assert problem("-") == ""
    assert problem("/dev/null") == ""
    assert problem(str(tmp_path)) == "it is a directory"
    assert problem(str(tmp_path / "no" / "file")).startswith("there is no directory")
