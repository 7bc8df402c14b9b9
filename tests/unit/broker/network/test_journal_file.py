"""Tests of the journal in a file: its lines, and what happens if it cannot be written."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.network.journal_file import JournalFile
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.sync_group import SyncGroupRequest

from .journaling import Journaled, header, journaled


def ask(asked: Journaled) -> None:
    partition = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)
    asked.ask(Api.LIST_OFFSETS, 7, replica_id=-1, topics=[ListOffsetsRequest.Topic(name="t", partitions=[partition])])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_line_has_request_and_response(tmp_path: Path) -> None:
    with journaled(topics=["t"]) as asked:
        file = JournalFile(str(tmp_path / "j"), asked.journal)
        ask(asked)
        [line] = lines(tmp_path / "j")  # before the file is closed
        file.close()
    assert (line["api"], line["version"], line["client_id"], line["broker"]) == ("ListOffsets", 7, "me", 1)
    assert line["request"]["topics"] == [
        {"name": "t", "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}
    ]
    assert line["response"]["topics"][0]["partitions"][0]["offset"] == 0
    assert (line["errors"], line["closed"]) == ([], None)
    assert line["text"].startswith("client=me ListOffsets v7 t-0@latest -> offset 0 in ")
    assert line["time"].endswith("Z")


def test_refused_request_has_the_reason(tmp_path: Path) -> None:
    with journaled() as asked:
        file = JournalFile(str(tmp_path / "j"), asked.journal)
        with pytest.raises(CloseConnection):
            asked.send(header(Api.METADATA, 99))
        file.close()
    [line] = lines(tmp_path / "j")
    assert line["closed"] == "connection closed: Metadata v99 is not served, only v0 to v13"
    assert (line["request"], line["response"]) == (None, None)


def test_bytes_are_text_or_base64(tmp_path: Path) -> None:
    assignment = SyncGroupRequest.Assignment
    with journaled() as asked:
        file = JournalFile(str(tmp_path / "j"), asked.journal)
        assignments = [
            assignment(member_id="a", assignment=b"plain"),
            assignment(member_id="b", assignment=b"\xff\0"),
        ]
        asked.ask(Api.SYNC_GROUP, 3, group_id="g", generation_id=1, member_id="a", assignments=assignments)
        file.close()
    [line] = lines(tmp_path / "j")
    assert [each["assignment"] for each in line["request"]["assignments"]] == ["plain", {"base64": "/wA="}]


def test_lines_are_appended_to_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "j").write_text('{"earlier": 1}\n')
    with journaled() as asked:
        file = JournalFile(str(tmp_path / "j"), asked.journal)
        ask(asked)
        file.close()
    assert len(lines(tmp_path / "j")) == 2


def test_closed_file_gets_no_more_lines(tmp_path: Path) -> None:
    with journaled() as asked:
        JournalFile(str(tmp_path / "j"), asked.journal).close()
        ask(asked)
    assert lines(tmp_path / "j") == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_logged_once_and_requests_are_served(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    with journaled() as asked:
        file = JournalFile("/dev/full", asked.journal)
        for _ in range(3):
            ask(asked)
        file.close()
        assert asked.journal.counts() == {("ListOffsets", "me"): 3}
    assert [record.getMessage() for record in caplog.records] == [
        "cannot write the journal to /dev/full: No space left on device; the broker continues without it"
    ]


def test_line_that_was_written_in_part_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with journaled() as asked:
        file = JournalFile(str(tmp_path / "j"), asked.journal)
        whole = file._file

        class AlmostFull:
            closed = False

            def write(self, data: bytes) -> int:
                return whole.write(data[:10]) or 0

        monkeypatch.setattr(file, "_file", AlmostFull())
        ask(asked)
        monkeypatch.setattr(file, "_file", whole)
        ask(asked)
        file.close()
    assert [line["api"] for line in lines(tmp_path / "j")] == ["ListOffsets", "ListOffsets"]


def test_file_that_cannot_be_opened_raises_os_error(tmp_path: Path) -> None:
    with journaled() as asked, pytest.raises(OSError, match="missing"):
        JournalFile(str(tmp_path / "missing" / "j"), asked.journal)
