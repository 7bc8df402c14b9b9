"""The small files of a data directory become rows, or are reported as malformed."""

from pathlib import Path

import pytest

from kafkalet.formats import Malformed
from kafkalet.inspection.kinds import kind_of
from kafkalet.inspection.small_files import rows_of


def rows(path: Path) -> list[dict[str, object]]:
    kind = kind_of(str(path))
    assert kind is not None
    return list(rows_of(str(path), kind))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_checkpoint_has_a_row_for_each_partition(tmp_path: Path) -> None:
    path = write(tmp_path / "recovery-point-offset-checkpoint", b"0\n1\nt 3 42\n")
    assert rows(path) == [{"topic": "t", "partition": 3, "offset": 42}]


def test_leader_epoch_checkpoint_has_a_row_for_each_epoch(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "leader-epoch-checkpoint", b"0\n1\n5 42\n")) == [{"epoch": 5, "start_offset": 42}]


def test_partition_metadata_has_the_topic_id(tmp_path: Path) -> None:
    path = write(tmp_path / "partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert rows(path) == [{"topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}]


def test_meta_properties_has_a_row_for_each_property(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "meta.properties", b"#\nnode.id=1\n")) == [{"property": "node.id", "value": "1"}]


def test_clean_shutdown_may_be_empty(tmp_path: Path) -> None:
    assert rows(write(tmp_path / ".kafka_cleanshutdown", b"")) == [{}]
    assert rows(write(tmp_path / ".kafka_cleanshutdown", b'{"version":0,"brokerEpoch":3}'))[0]["brokerEpoch"] == 3


def test_indexes_have_absolute_offsets(partition: Path) -> None:
    [path] = [each for each in partition.glob("*.timeindex") if int(each.stem) > 0][:1]
    assert all(isinstance(row["offset"], int) and row["offset"] >= int(path.stem) for row in rows(path))


def test_snapshot_has_producers(partition: Path) -> None:
    last = max(partition.glob("*.snapshot"))
    assert {row["producer_id"] for row in rows(last)} == {7, 8, 9}


def test_kafkalet_json_has_one_row_for_each_topic(tmp_path: Path) -> None:
    path = write(tmp_path / "kafkalet.json", b'{"format": 1, "topics": [{"name": "a"}, {"name": "b"}]}')
    assert rows(path) == [{"format": 1}, {"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("name", "data", "position"),
    [
        ("recovery-point-offset-checkpoint", b"0\n2\nt 3 42\n", 2),
        ("leader-epoch-checkpoint", b"0\n1\n5 x\n", 4),
        ("partition.metadata", b"version: 0\ntopic_id: ?", 11),
        ("00000000000000000001.snapshot", b"\0\1\0\0\0\0\0\0\0\0", 2),
        ("kafkalet.json", b'{"format": }', 11),
        (".kafka_cleanshutdown", b"[]", 0),
    ],
)
def test_malformed_file_is_reported_with_position(tmp_path: Path, name: str, data: bytes, position: int) -> None:
    with pytest.raises(Malformed) as raised:
        rows(write(tmp_path / name, data))
    assert raised.value.position == position
