"""Metadata logs and snapshots are read as far as they are intact; damage is reported with its place."""

import logging
from pathlib import Path

import pytest

from kafkalet.broker.cluster.kraft.metadata_log import Entry, LogState, MetadataLog, find_logs, read_bootstrap
from kafkalet.broker.cluster.metadata_store import MetadataDamaged
from kafkalet.protocol.messages.metadata_records import FeatureLevelRecord, NoOpRecord
from kafkalet.protocol.messages.raft_control_records import KRaftVersionRecord
from kafkalet.storage.files import Files

from .logs import TOPIC, batch, partition, snapshot, write_log

FILES = Files(durable=False)
NOTHING = NoOpRecord()
LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=21)


def entries(directory: Path) -> tuple[MetadataLog, list[Entry]]:
    log = MetadataLog(str(directory), FILES)
    return log, list(log.entries())


def test_records_of_all_segments_are_read_in_order(tmp_path: Path) -> None:
    write_log(tmp_path, batch(0, LEVEL), batch(1, TOPIC, partition()))
    directory = write_log(tmp_path, batch(3, NOTHING), base_offset=3)
    log, found = entries(directory)
    assert found == [Entry(0, LEVEL), Entry(1, TOPIC), Entry(2, partition()), Entry(3, NOTHING)]
    assert (log.end_offset, log.is_damaged) == (4, False)


def test_newest_snapshot_replaces_the_log_before_it(tmp_path: Path) -> None:
    directory = write_log(tmp_path, batch(0, LEVEL), batch(1, TOPIC, partition(), NOTHING))
    (directory / f"{1:020d}-{1:010d}.checkpoint").write_bytes(snapshot(NOTHING))
    (directory / f"{3:020d}-{1:010d}.checkpoint").write_bytes(snapshot(LEVEL))
    log, found = entries(directory)
    level_of_raft = KRaftVersionRecord(version=0, kraft_version=1)
    assert found == [Entry(1, level_of_raft), Entry(2, LEVEL), Entry(3, NOTHING)]
    assert log.end_offset == 4


def test_log_may_start_at_a_snapshot(tmp_path: Path) -> None:
    directory = write_log(tmp_path, batch(7, TOPIC), base_offset=7)
    (directory / f"{7:020d}-{1:010d}.checkpoint").write_bytes(snapshot(LEVEL))
    assert [entry.content for entry in entries(directory)[1]][1:] == [LEVEL, TOPIC]


@pytest.mark.parametrize("damage", ["checksum", "no footer", "no header", "empty"])
def test_damaged_snapshot_is_reported_and_an_earlier_state_used(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = write_log(tmp_path, batch(0, TOPIC))
    whole = snapshot(LEVEL)
    damaged = {
        "checksum": whole[:-1] + b"x",
        "no footer": whole[:-40],
        "no header": batch(0, LEVEL),
        "empty": b"",
    }[damage]
    (directory / f"{1:020d}-{1:010d}.checkpoint").write_bytes(damaged)
    log, found = entries(directory)
    assert found == [Entry(0, TOPIC)]
    assert log.is_damaged
    assert f"ignoring the damaged snapshot {directory}" in caplog.text


def test_log_without_its_start_and_without_snapshot_is_refused(tmp_path: Path) -> None:
    directory = write_log(tmp_path, batch(7, TOPIC), base_offset=7)
    with pytest.raises(MetadataDamaged, match="starts at offset 7, but there is no readable snapshot"):
        entries(directory)


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (batch(2, NOTHING)[:-1] + b"x", "Record is corrupt"),
        (batch(2, NOTHING)[:-1], "the last batch is incomplete"),
        (b"\0" * 100, "Record size 0"),
        (batch(5, NOTHING), "the batch has offset 5"),
    ],
)
def test_log_ends_before_a_damaged_batch(
    tmp_path: Path, tail: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = batch(0, TOPIC) + batch(1, LEVEL)
    directory = write_log(tmp_path, whole, tail)
    write_log(tmp_path, batch(3, NOTHING), base_offset=3)
    log, found = entries(directory)
    assert found == [Entry(0, TOPIC), Entry(1, LEVEL)]
    assert (log.end_offset, log.is_damaged) == (2, True)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert f"00000000000000000000.log is damaged at position {len(whole)}, offset 2" in record.getMessage()
    assert reason in record.getMessage()


def test_log_ends_before_a_gap_between_segments(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_log(tmp_path, batch(0, TOPIC))
    directory = write_log(tmp_path, batch(3, NOTHING), base_offset=3)
    assert entries(directory)[1] == [Entry(0, TOPIC)]
    assert "00000000000000000003.log is damaged at position 0, offset 1: the segment starts at offset 3" in caplog.text


def test_state_is_last_segment_and_its_size(tmp_path: Path) -> None:
    data = batch(0, TOPIC)
    write_log(tmp_path, data)
    directory = write_log(tmp_path, data[:50], base_offset=1)
    assert MetadataLog(str(directory), FILES).state == LogState("00000000000000000001.log", 50)


def test_empty_log_is_not_found(tmp_path: Path) -> None:
    write_log(tmp_path / "empty")
    write_log(tmp_path / "used", batch(0, TOPIC))
    found = find_logs([str(tmp_path / name) for name in ("none", "empty", "used")], FILES)
    assert [log.directory for log in found] == [str(tmp_path / "used" / "__cluster_metadata-0")]


def test_bootstrap_file_has_the_first_records(tmp_path: Path) -> None:
    path = tmp_path / "bootstrap.checkpoint"
    path.write_bytes(batch(0, LEVEL))
    assert read_bootstrap(str(path), FILES) == [LEVEL]
    path.write_bytes(batch(0, LEVEL)[:-1] + b"x")
    with pytest.raises(MetadataDamaged, match=r"bootstrap\.checkpoint: .*Record is corrupt"):
        read_bootstrap(str(path), FILES)
