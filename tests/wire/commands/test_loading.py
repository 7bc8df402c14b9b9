"""Tests of `kafkalet serve --load`."""

import os
import pty
import subprocess
import time
from pathlib import Path

import kafkalet
from tests.descriptors import is_readable

from .processes import COMMAND, ready, run, serving


def test_files_are_loaded_before_broker_is_ready(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"key": "k", "value": "v"}\n' * 10)
    with serving("--load", f"t={tmp_path}/a.jsonl", "--data-dir", str(tmp_path / "data")) as process:
        ready(process)
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert f"loaded 10 records from {tmp_path}/a.jsonl into topic t\n" in errors
    assert "\r" not in errors, "progress is shown on terminals only"
    assert (tmp_path / "data" / "t-0" / "00000000000000000000.log").stat().st_size > 100


def test_invalid_line_in_a_file_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"value": "v"}\n' * 3000 + "{\n")
    done = run("serve", "--listen", "127.0.0.1:0", "--load", f"t={tmp_path}/a.jsonl", "--log-level", "error")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"kafkalet: {tmp_path}/a.jsonl:3001: is not JSON: ")
    assert done.stderr.count("\n") == 1


def test_missing_file_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    done = run("serve", "--listen", "127.0.0.1:0", "--load", f"t={tmp_path}/none.csv")
    assert done.returncode == 1
    assert done.stderr == f"kafkalet: --load t={tmp_path}/none.csv: No such file or directory\n"


def test_column_options_without_csv_file_are_rejected_before_loading(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"value": "v"}\n')
    done = run("serve", "--listen", "127.0.0.1:0", "--load", f"t={tmp_path}/a.jsonl", "--timestamp", "at")
    assert done.returncode == 2
    assert done.stderr == (
        "kafkalet: --timestamp at: names a CSV column, but no --load file is CSV; "
        'in JSON Lines, use the field "timestamp"\n'
    )


def test_columns_apply_to_the_csv_files_among_the_loaded_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"value": "v"}\n')
    (tmp_path / "b.csv").write_text("id\n7\n")
    loads = ("--load", f"t={tmp_path}/a.jsonl", "--load", f"t={tmp_path}/b.csv", "--key", "id")
    with serving(*loads, "--data-dir", str(tmp_path / "data")) as process:
        ready(process)
        process.terminate()
        process.communicate(timeout=10)
    with kafkalet.Broker(data_dir=tmp_path / "data") as broker:
        assert [record.key for record in broker.topic("t").records()] == [None, b"7"]


def test_signal_stops_a_load(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"key": "k", "value": "v"}\n' * 500_000)
    with serving("--load", f"t={path}", environment={"TMPDIR": str(tmp_path)}) as process:
        while not list(tmp_path.glob("kafkalet-*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
        out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (0, "")
    assert list(tmp_path.iterdir()) == [path]


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"value": "v"}\n' * 10_000)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "--load", f"t={tmp_path}/a.jsonl"], stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as process:
        os.close(theirs)
        try:
            ready(process)
            shown = b""
            while b"loaded 10000 records" not in shown and is_readable(ours, 60):
                shown += os.read(ours, 65536)
        finally:
            process.terminate()
            os.close(ours)
    assert b"records, 100 %" in shown
