"""`kafkalet inspect` prints tables or JSON Lines, and its exit status says whether there are faults."""

import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kafkalet.cli import main
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.units import size
from tests.unit.inspection.sample import SEGMENT, build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("inspect") / "data")


def objects(capture: Capture, *arguments: object, status: int = 0) -> list[dict[str, Any]]:
    assert main(["inspect", "--json", *map(str, arguments)]) == status
    return [json.loads(line) for line in capture.readouterr().out.splitlines()]


def lines(capture: Capture, *arguments: object, status: int = 0) -> list[str]:
    assert main(["inspect", *map(str, arguments)]) == status
    return capture.readouterr().out.splitlines()


def test_data_directory_has_a_line_for_each_partition(data: Path, capsys: Capture) -> None:
    directory, partition = objects(capsys, data)
    assert (directory["type"], directory["clean_shutdown"]) == ("directory", True)
    assert (partition["type"], partition["partition"]) == ("partition", "t-0")
    table = lines(capsys, data)
    assert table[0].endswith("closed cleanly, 1 partition")
    assert table[-1].startswith("t-0 ")


def test_internal_topics_are_last_and_their_empty_partitions_are_counted(data: Path, capsys: Capture) -> None:
    others = ("__consumer_offsets-0", "__consumer_offsets-1", "__transaction_state-7")
    copy = shutil.copytree(data, data.parent / "with-internal-topics")
    for name in others[:2]:
        (copy / name).mkdir()
        (copy / name / f"{SEGMENT}.log").touch()
    shutil.copytree(copy / "t-0", copy / others[2])
    assert [row["partition"] for row in objects(capsys, copy)[1:]] == ["t-0", *others]
    *_, user, internal, left_out = lines(capsys, copy)
    assert (user.split()[0], internal.split()[0]) == ("t-0", others[2])
    assert left_out == "2 partitions of __consumer_offsets without records"


def test_sizes_have_units_and_those_of_batches_are_exact(data: Path, capsys: Capture) -> None:
    [partition] = objects(capsys, data)[1:]
    assert size(partition["size"]) in lines(capsys, data)[-1]
    batch = objects(capsys, data / "t-0" / f"{SEGMENT}.log")[0]
    assert lines(capsys, data / "t-0" / f"{SEGMENT}.log")[1].split()[:3] == ["0", str(batch["size"]), "B"]


def test_values_are_told_apart_from_null_and_base64(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / f"{SEGMENT}.log"
    log.write_bytes(build_batch(numbered((0, None, value, ()) for value in (None, b"-", b"", b"\xff"))))
    assert [line.split()[-1] for line in lines(capsys, "--records", log)[1:]] == ["-", '"-"', '""', "base64:/w=="]


def test_verify_shows_on_a_terminal_how_much_was_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(time, "monotonic", itertools.count(0, 2).__next__)
    assert main(["inspect", "--verify", str(data)]) == 0
    assert re.search(r"\r\x1b\[K\d[\d.]* K?i?B read", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_partition_has_segments_and_small_files(data: Path, capsys: Capture) -> None:
    found = objects(capsys, data / "t-0")
    kinds = {each["type"] for each in found}
    assert kinds == {"partition", "segment", "file", "leader_epoch", "producer", "aborted_transaction"}
    assert "SEGMENT" in "\n".join(lines(capsys, data / "t-0"))


def test_log_has_its_batches(data: Path, capsys: Capture) -> None:
    found = objects(capsys, data / "t-0" / f"{SEGMENT}.log")
    assert {each["type"] for each in found} == {"batch"}
    assert [each["crc_valid"] for each in found] == [True] * len(found)
    assert {each["control"] for each in found} == {None, "ABORT"}
    header, *rows = lines(capsys, data / "t-0" / f"{SEGMENT}.log")
    assert header.split()[:2] == ["POSITION", "SIZE"]
    assert any("ABORT by coordinator epoch 0" in row for row in rows)
    assert rows[0].endswith("ok")


def test_records_are_shown_with_text(data: Path, capsys: Capture) -> None:
    first, second = objects(capsys, "--records", "--limit", "2", data / "t-0" / f"{SEGMENT}.log")
    assert (first["offset"], first["key"], first["value"]) == (0, "k0", "x" * 30)
    assert (second["offset"], second["sequence"]) == (1, 1)
    [row] = objects(capsys, "--records", "--offset", "4", "--values", "size", "--keys=hex", data / "t-0")
    assert (row["offset"], row["key"], row["value"]) == (4, "6b31", 30)


def test_range_of_offsets_selects_batches_and_records(data: Path, capsys: Capture) -> None:
    log = data / "t-0" / f"{SEGMENT}.log"
    found = objects(capsys, "--from", "4", "--to", "8", log)
    assert [(each["base_offset"], each["last_offset"]) for each in found] == [(3, 5), (6, 8)]
    found = objects(capsys, "--records", "--from", "4", "--to", "8", log)
    assert [each["offset"] for each in found] == [4, 5, 6, 7]
    assert objects(capsys, "--offset", "100000", log) == []
    assert len(objects(capsys, "--limit", "3", log)) == 3


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"t-0/{SEGMENT}.index", "offset_index_entry"),
        (f"t-0/{SEGMENT}.timeindex", "time_index_entry"),
        (f"t-0/{SEGMENT}.txnindex", "aborted_transaction"),
        ("t-0/leader-epoch-checkpoint", "leader_epoch"),
        ("t-0/partition.metadata", "partition_metadata"),
        ("recovery-point-offset-checkpoint", "checkpoint_entry"),
        ("meta.properties", "property"),
        (".kafka_cleanshutdown", "clean_shutdown"),
    ],
)
def test_small_file_has_rows_of_its_kind(data: Path, capsys: Capture, name: str, kind: str) -> None:
    assert {each["type"] for each in objects(capsys, data / name)} == {kind}
    assert lines(capsys, data / name)


def test_verify_of_intact_directory_has_status_0(data: Path, capsys: Capture) -> None:
    [summary] = objects(capsys, "--verify", data)
    assert (summary["type"], summary["faults"], summary["batches"] > 50) == ("summary", 0, True)
    assert lines(capsys, "--verify", data)[-1].endswith("0 faults, 0 notes")


def test_verify_of_damaged_file_names_fault_and_has_status_1(data: Path, tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / f"{SEGMENT}.log"
    content = bytearray((data / "t-0" / log.name).read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    fault, *_, summary = objects(capsys, "--verify", log, status=1)
    assert (fault["type"], fault["position"], fault["check"], summary["faults"]) == ("fault", 0, "checksum", 1)
    assert lines(capsys, "--verify", log, status=1)[0].startswith(f"fault: {log} at byte 0: checksum: ")


def test_unreadable_bytes_are_shown_with_status_1(data: Path, tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / f"{SEGMENT}.log"
    log.write_bytes((data / "t-0" / log.name).read_bytes() + b"garbage")
    assert objects(capsys, log, status=1)[-1]["type"] == "unreadable"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the directory or file is missing"),
        (["missing"], "no such file or directory"),
        (["--nope", "."], "unknown option --nope"),
        (["--limit", "x", "."], "--limit x: expected a number"),
        (["--offset", "1", "--to", "2", "."], "--offset cannot be combined"),
        (["--keys", "xml", "."], "--keys xml: expected one of auto"),
        (["--decoder", "xml", "."], "--decoder xml: expected one of"),
        (["--verify", "--records", "."], "--verify shows only faults"),
        (["--json=1", "."], "--json takes no value"),
        (["--keys"], "--keys needs a value"),
    ],
)
def test_invalid_command_line_has_status_2(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(["inspect", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_other_files_and_directories_are_refused(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert main(["inspect", str(tmp_path / "notes.txt")]) == 2
    assert main(["inspect", str(tmp_path)]) == 2
    assert "neither a data directory nor the directory of a partition" in capsys.readouterr().err


def test_help_lists_options(capsys: Capture) -> None:
    assert main(["inspect", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--verify" in out
    assert max(map(len, out.splitlines())) <= 100


def test_closed_pipe_ends_command_quietly(data: Path) -> None:
    command = [sys.executable, "-m", "kafkalet", "inspect", "--records", str(data / "t-0")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0
    process.stderr.close()


def test_nothing_is_written(data: Path, capsys: Capture) -> None:
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(data.rglob("*"))}
    for arguments in ([data], ["--verify", data], ["--records", data / "t-0"]):
        assert main(["inspect", *map(str, arguments)]) == 0
    capsys.readouterr()
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(data.rglob("*"))} == before
