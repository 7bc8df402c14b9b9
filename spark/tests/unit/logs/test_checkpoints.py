"""Checkpoint files, compared with those of kafkalet's storage and of Kafka."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet import formats
from kafkalet.storage import checkpoints as storage
from kafkalet.storage.files import Files
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.files import CorruptFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_offsets_are_read_by_topic_and_partition(path: Path) -> None:
    found = checkpoints.read_offsets(written(path, "0\n2\norders.eu-1 0 1200\norders 1 1187\n"))
    assert found == {("orders.eu-1", 0): 1200, ("orders", 1): 1187}


def test_epochs_are_read_with_their_start_offsets(path: Path) -> None:
    epochs, starts = checkpoints.read_epochs(written(path, "0\n2\n0 0\n3 950\n"))
    assert (epochs.tolist(), starts.tolist()) == ([0, 3], [0, 950])


@pytest.mark.parametrize("text", ["", "\n", None, "0\n0\n"])
def test_missing_or_blank_file_has_no_entries(path: Path, text: str | None) -> None:
    if text is not None:
        path.write_text(text)
    assert checkpoints.read_offsets(str(path)) == {}
    assert checkpoints.read_epochs(str(path))[0].size == 0


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("1\n0\n", 0, "it has version '1'"),
        ("0\n", 2, "it ends after its version"),
        ("0\n2\nt 0 5\n", 2, "it has 1 entry, but declares 2"),
        ("0\nmany\nt 0 5\n", 2, "it has 'many' instead of a 64-bit number"),
        ("0\n1\nt 0\n", 4, "it has a line of 2 fields instead of 3"),
        ("0\n2\nt 0 5\nt x 5\n", 10, "it has 'x' instead of a 64-bit number"),
        ("\x00\x00\x00\x00", 0, "it has version '\\x00\\x00\\x00\\x00'"),
    ],
)
def test_corrupt_checkpoint_is_rejected_with_position(path: Path, text: str, position: int, reason: str) -> None:
    with pytest.raises(CorruptFile) as caught:
        checkpoints.read_offsets(written(path, text))
    assert (caught.value.path, caught.value.position, caught.value.reason) == (str(path), position, reason)


@pytest.mark.parametrize("lines", ["3 0\n3 5", "3 5\n2 9", "3 5\n4 4"])
def test_descending_epochs_are_rejected(path: Path, lines: str) -> None:
    with pytest.raises(CorruptFile, match="byte 8: epoch"):
        checkpoints.read_epochs(written(path, f"0\n2\n{lines}\n"))


names = st.text("abcXYZ019._-", min_size=1, max_size=20)


@given(st.dictionaries(st.tuples(names, st.integers(0, 1 << 31)), st.integers(0, 1 << 62)))
def test_offsets_are_written_as_storage_reads_them(tmp_path_factory: pytest.TempPathFactory, offsets: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "offsets"
    path.write_bytes(formats.offsets_bytes(offsets))
    assert storage.read_offsets(Files(), str(path)) == checkpoints.read_offsets(str(path)) == offsets


def test_epochs_are_written_as_storage_reads_them(path: Path) -> None:
    path.write_bytes(formats.epochs_bytes([(0, 0), (5, 70)]))
    assert storage.read_epochs(Files(), str(path)) == [(0, 0), (5, 70)]


def test_topic_id_is_read_as_storage_writes_it(tmp_path: Path) -> None:
    for byte in (0, 62, 250, 255):
        topic_id = bytes([byte] * 15 + [3])
        storage.write_topic_id(Files(), str(tmp_path), topic_id)
        assert checkpoints.read_topic_id(str(tmp_path)) == topic_id
        assert (tmp_path / "partition.metadata").read_bytes() == formats.topic_id_bytes(topic_id)


def test_log_without_partition_metadata_has_no_topic_id(tmp_path: Path) -> None:
    assert checkpoints.read_topic_id(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("version: 0\ntopic_id: short\n", 11, "it has 'short' instead of a UUID"),
        ("version: 0\ntopic_id: !!!!!!!!!!!!!!!!!!!!!!\n", 11, "it has '!!!!!!!!!!!!!!!!!!!!!!' instead of a UUID"),
        ("version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n", 0, "it has no topic id of version 0: 'version: 1"),
        ("garbage", 0, "it has no topic id of version 0: 'garbage'"),
    ],
)
def test_corrupt_partition_metadata_is_rejected_with_position(
    tmp_path: Path, text: str, position: int, reason: str
) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptFile, match=reason.replace("!", "[!]")) as caught:
        checkpoints.read_topic_id(str(tmp_path))
    assert caught.value.position == position


def test_topic_id_is_written_as_kafka_writes_it() -> None:
    assert formats.uuid_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
