"""Tests of `--ready-file`."""

import os
from pathlib import Path

import pytest

from kafkalet.commands.command_line import Failure
from kafkalet.commands.ready_file import ReadyFile, remove_of

from .processes import ready, run, serving


def test_ready_file_has_address_and_pid_while_the_broker_is_ready(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with serving("--brokers", "2", "--ready-file", str(path)) as process:
        addresses = ",".join(f"{host}:{port}" for host, port in ready(process))
        assert path.read_text() == f"bootstrap={addresses}\npid={process.pid}\n"
        process.terminate()
        process.communicate(timeout=10)
    assert list(tmp_path.iterdir()) == []


def test_file_of_a_killed_broker_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with serving("--ready-file", str(path)) as killed:
        ready(killed)
    assert f"pid={killed.pid}\n" in path.read_text()
    with serving("--ready-file", str(path)) as process:
        ready(process)
        assert f"pid={process.pid}\n" in path.read_text()


@pytest.mark.parametrize("old", ["", "bootstrap=h:1\npid=1\n"], ids=["empty", "stale"])
def test_old_file_is_removed_before_the_broker_is_ready(old: str, tmp_path: Path) -> None:
    path = tmp_path / "ready"
    path.write_text(old)
    ReadyFile(str(path))
    assert not path.exists()


def test_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("precious")
    done = run("serve", "--listen", "127.0.0.1:0", "--ready-file", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"kafkalet: --ready-file {path}: the file exists, but it is not a ready file; choose another name\n"
    )
    assert path.read_text() == "precious"


def test_file_that_cannot_be_written_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "ready"
    done = run("serve", "--listen", "127.0.0.1:0", "--ready-file", str(path), "--log-level", "error")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kafkalet: --ready-file {path}: No such file or directory\n"


def test_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=f"--ready-file {tmp_path}: Is a directory"):
        ReadyFile(str(tmp_path))


def test_file_of_a_newer_broker_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    ours = ReadyFile(str(path))
    ours.write("h:1")
    newer = f"bootstrap=h:2\npid={os.getpid() + 1}\n"
    path.write_text(newer)
    ours.remove()
    assert path.read_text() == newer
    remove_of(str(path), os.getpid() + 1)
    assert not path.exists()
