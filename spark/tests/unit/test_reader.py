"""Unreadable data fails the task, becomes a row, or is counted and dropped."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.options import read_options
from kafkalet_spark.positions import DataLoss
from kafkalet_spark.reader import CorruptLog
from kafkalet_spark.source import LogReader, default_columns
from kafkalet_spark.tasks import ReadTask

SENT = 200
LOG = Path("t-0") / "00000000000000000000.log"
INDEX = LOG.with_suffix(".index")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a log with twenty batches of ten records."""
    directory = tmp_path_factory.mktemp("sound") / "data"
    clock = ManualClock()
    with kafkalet.Broker(data_dir=directory, clock=clock) as broker:
        broker.topic("t").create(config={"index.interval.bytes": "300"})
        for first in range(0, SENT, 10):
            rows = [(clock.now_ms(), None, b"value %d" % number, ()) for number in range(first, first + 10)]
            broker.topic("t").append(build_batch(numbered(rows), codec=Codec.GZIP))
    return directory


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    """Copy the log, so that it can be damaged."""
    return Path(shutil.copytree(sound, tmp_path / "data"))


def read(path: Path, **texts: str) -> list[dict[str, Any]]:
    options = read_options({"path": str(path), **texts})
    reader = LogReader(default_columns(options), options)
    found = []
    for task in reader.partitions():
        assert isinstance(task, ReadTask)
        found += [row for batch in reader.read(task) for row in batch.to_pylist()]
    return found


def positions(data: Path) -> list[int]:
    batches, _ = walk((data / LOG).read_bytes())
    return [int(position) for position in batches.position]


def change(data: Path, position: int, what: Callable[[int], int] = lambda byte: byte ^ 1) -> None:
    with (data / LOG).open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([what(byte)]))


def cut(data: Path, size: int) -> None:
    os.truncate(data / LOG, size)


def test_sound_log_is_read_in_every_mode(data: Path) -> None:
    for mode in ("FAILFAST", "PERMISSIVE", "DROPMALFORMED"):
        assert [row["offset"] for row in read(data, mode=mode)] == list(range(SENT))


def test_wrong_checksum_fails_with_file_position_and_offset(data: Path) -> None:
    at = positions(data)[7]
    change(data, at + 70)
    with pytest.raises(CorruptLog, match=rf"{LOG} cannot be read at position {at} .* offset 70\): bad checksum"):
        read(data)


def test_unreadable_batch_becomes_a_row(data: Path) -> None:
    start, end = positions(data)[7:9]
    change(data, start + 70)
    found = read(data, mode="PERMISSIVE")
    (bad,) = [row for row in found if row["_corrupt"]]
    assert (bad["topic"], bad["partition"]) == ("t", 0)
    assert bad["offset"] == 70
    assert bad["_corrupt"]["file"] == str(data / LOG)
    assert (bad["_corrupt"]["position"], bad["_corrupt"]["size"]) == (start, end - start)
    assert bad["_corrupt"]["bytes"] == (data / LOG).read_bytes()[start:end]
    assert [row["offset"] for row in found if not row["_corrupt"]] == [*range(70), *range(80, SENT)]


def test_dropped_data_is_counted(data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start, end = positions(data)[7:9]
    change(data, start + 70)
    with caplog.at_level(logging.WARNING):
        found = read(data, mode="DROPMALFORMED", badRecordsPath=str(tmp_path / "bad"))
    assert [row["offset"] for row in found] == [*range(70), *range(80, SENT)]
    assert f"dropped 1 unreadable pieces ({end - start} bytes)" in caplog.text
    (line,) = [json.loads(line) for file in (tmp_path / "bad").iterdir() for line in file.read_text().splitlines()]
    assert (line["path"], line["position"], line["size"]) == (str(data / LOG), start, end - start)


def corrupt_payload(data: Path, position: int) -> None:
    """Replace the payload of a batch by invalid gzip data with a valid checksum."""
    from kafkalet.protocol.records.crc32c import crc32c

    raw = bytearray((data / LOG).read_bytes())
    size = int.from_bytes(raw[position + 8 : position + 12], "big") + 12
    raw[position + 61 : position + 65] = b"\xff\xff\xff\xff"
    raw[position + 17 : position + 21] = crc32c(raw[position + 21 : position + size]).to_bytes(4, "big")
    (data / LOG).write_bytes(raw)


def test_invalid_payload_fails_with_its_position(data: Path) -> None:
    at = positions(data)[3]
    corrupt_payload(data, at)
    with pytest.raises(CorruptLog, match=f"position {at} .* offset 30"):
        read(data)


def test_records_around_an_invalid_payload_are_read_once(data: Path) -> None:
    for number in (3, 4, 15):
        corrupt_payload(data, positions(data)[number])
    found = read(data, mode="PERMISSIVE")
    assert [row["offset"] for row in found if row["_corrupt"]] == [30, 40, 150]
    sound = sorted(row["offset"] for row in found if not row["_corrupt"])
    assert sound == [*range(30), *range(50, 150), *range(160, SENT)]


def test_truncated_log_fails(data: Path) -> None:
    last = positions(data)[-1]
    cut(data, last + 30)
    with pytest.raises(CorruptLog, match=f"position {last} .*truncated"):
        read(data)


def test_rest_of_a_truncated_batch_becomes_a_row(data: Path) -> None:
    last = positions(data)[-1]
    cut(data, last + 30)
    found = read(data, mode="PERMISSIVE")
    (bad,) = [row["_corrupt"] for row in found if row["_corrupt"]]
    assert (bad["position"], bad["size"]) == (last, 30)
    assert len(found) == SENT - 10 + 1


def test_query_that_ends_before_a_truncated_batch_succeeds(data: Path) -> None:
    cut(data, positions(data)[-1] + 30)
    assert len(read(data, endingOffsets='{"t":{"0":150}}')) == 150


def test_impossible_size_makes_the_rest_of_the_segment_unreadable(data: Path) -> None:
    at = positions(data)[12]
    change(data, at + 8, lambda _: 0x80)
    with pytest.raises(CorruptLog, match=f"position {at}"):
        read(data)
    found = read(data, mode="PERMISSIVE")
    assert sum(row["_corrupt"]["size"] for row in found if row["_corrupt"]) == (data / LOG).stat().st_size - at
    assert [row["offset"] for row in found if not row["_corrupt"]] == list(range(120))


def test_preallocated_space_is_ignored(data: Path) -> None:
    with (data / LOG).open("ab") as file:
        file.write(bytes(5000))
    assert len(read(data)) == SENT


def test_missing_index_fails_with_its_name(data: Path) -> None:
    (data / INDEX).unlink()
    with pytest.raises(CorruptFile, match=str(INDEX)):
        read(data)


def test_log_is_scanned_without_index_in_other_modes(data: Path) -> None:
    (data / INDEX).unlink()
    assert len(read(data, mode="DROPMALFORMED", maxBytesPerTask="500")) == SENT


def test_batches_outside_the_time_bounds_are_not_decoded(tmp_path: Path) -> None:
    """With LogAppendTime, the header has the timestamp of all records; otherwise only the largest is known."""
    with kafkalet.Broker(data_dir=tmp_path / "data") as broker:
        broker.topic("appended").create(config={"message.timestamp.type": "LogAppendTime"})
        broker.topic("created").create()
        for topic in ("appended", "created"):
            for ms in (5000, 9000):
                broker.topic(topic).append(build_batch(numbered([(ms, None, b"x", ())])))
    options = read_options({"path": str(tmp_path / "data")})
    reader = LogReader(default_columns(options), options)

    def times(topic: str, first: int | None, last: int | None) -> list[int]:
        [task] = [task for task in reader.partitions() if isinstance(task, ReadTask) and task.want.topic == topic]
        narrowed = ReadTask(task.split, task.want._replace(not_before_ms=first, not_after_ms=last))
        rows = [row for batch in reader.read(narrowed) for row in batch.to_pylist()]
        return [int(row["timestamp"].timestamp() * 1000) for row in rows]

    assert times("created", 6000, None) == [9000]
    assert times("created", None, 6000) == [5000, 9000]
    first, second = times("appended", None, None)
    assert times("appended", second + 1, None) == times("appended", None, first - 1) == []
    assert times("appended", first, second) == [first, second]


@pytest.mark.parametrize("put_up_with", [False, True])
def test_segment_deleted_in_the_meantime_is_data_loss(data: Path, put_up_with: bool) -> None:
    options = read_options({"path": str(data), "failOnDataLoss": str(not put_up_with).lower()})
    reader = LogReader(default_columns(options), options)
    (task,) = reader.partitions()
    shutil.rmtree(data / "t-0")
    if put_up_with:
        assert list(reader.read(task)) == []
    else:
        with pytest.raises(DataLoss, match=f"{data}.* was deleted before offsets between 0 and {SENT} could be read"):
            list(reader.read(task))
