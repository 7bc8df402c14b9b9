"""Partitions and segments are described without a broker."""

import os
from pathlib import Path

from kafkalet.inspection import overview
from tests.unit.storage.producing import T0


def test_partition_has_the_offsets_of_the_checkpoints(data: Path) -> None:
    directory = overview.read_data_directory(str(data))
    assert directory.is_clean
    assert directory.properties is not None
    [path] = directory.partitions
    row = overview.partition_row(path, directory)
    end = row["log_end_offset"]
    assert (row["partition"], row["log_start_offset"], row["high_watermark"]) == ("t-0", 0, end)
    assert row["recovery_point"] == end > 100
    assert row["segments"] == len(list((data / "t-0").glob("*.log"))) > 2
    assert row["last_timestamp"] == T0 + 9000
    assert row["topic_id"] == "AAECAwQFBgcICQoLDA0ODw"


def test_log_end_is_found_without_an_index(data: Path) -> None:
    indexed = overview.partition_row(str(data / "t-0"))["log_end_offset"]
    for path in (data / "t-0").glob("*index"):
        path.unlink()
    assert overview.partition_row(str(data / "t-0"))["log_end_offset"] == indexed


def test_log_end_is_found_with_a_wrong_index(data: Path) -> None:
    right = overview.partition_row(str(data / "t-0"))["log_end_offset"]
    last = max((data / "t-0").glob("*.index"))
    last.write_bytes(b"\0\0\0\1\0\0\0\5")
    assert overview.partition_row(str(data / "t-0"))["log_end_offset"] == right


def test_empty_partition_has_no_offsets(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    row = overview.partition_row(str(tmp_path / "t-0"))
    assert (row["segments"], row["log_start_offset"], row["log_end_offset"]) == (0, None, None)


def test_segment_row_counts_batches(partition: Path) -> None:
    files = overview.segments_in(overview.files_in(str(partition)))
    rows = [overview.segment_row(file) for file in files]
    assert sum(row["control_batches"] for row in rows) == 8
    assert sum(row["transactional_batches"] for row in rows) == 8 + 12 + 1
    assert [row["first_offset"] for row in rows] == [file.kind.base_offset for file in files]
    assert all(row["formats"] == [2] and row["codecs"] == ["none"] for row in rows)


def test_segment_row_counts_unreadable_bytes(partition: Path) -> None:
    first = min(partition.glob("*.log"))
    os.truncate(first, first.stat().st_size - 3)
    row = overview.segment_row(overview.segments_in(overview.files_in(str(partition)))[0])
    assert row["unreadable_bytes"] > 0


def test_brokers_of_a_cluster_have_directories_of_their_own(tmp_path: Path, data: Path) -> None:
    assert overview.brokers_in(str(data)) == [str(data)]
    (tmp_path / "c" / "broker-10").mkdir(parents=True)
    (tmp_path / "c" / "broker-2").mkdir()
    assert [Path(each).name for each in overview.brokers_in(str(tmp_path / "c"))] == ["broker-2", "broker-10"]


def test_other_files_are_listed_with_their_entries(partition: Path) -> None:
    rows = {row["name"]: row for row in overview.other_files(overview.files_in(str(partition)))}
    assert rows["leader-epoch-checkpoint"]["entries"] is None
    assert rows["00000000000000000000.index"]["entries"] > 3
