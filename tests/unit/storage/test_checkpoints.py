"""Tests of the checkpoint files: Kafka's formats, and invalid files."""

from pathlib import Path

import pytest

from kafkalet.storage import checkpoints
from kafkalet.storage.checkpoints import CorruptCheckpoint
from kafkalet.storage.files import Files

FILES = Files(durable=False)


def test_offsets_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    path = str(tmp_path / "recovery-point-offset-checkpoint")
    checkpoints.write_offsets(FILES, path, {("orders", 0): 1200, ("my.topic-x", 11): 0})
    assert Path(path).read_text() == "0\n2\norders 0 1200\nmy.topic-x 11 0\n"
    assert checkpoints.read_offsets(FILES, path) == {("orders", 0): 1200, ("my.topic-x", 11): 0}


def test_epochs_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    path = str(tmp_path / "leader-epoch-checkpoint")
    checkpoints.write_epochs(FILES, path, [(0, 0), (3, 950)])
    assert Path(path).read_text() == "0\n2\n0 0\n3 950\n"
    assert checkpoints.read_epochs(FILES, path) == [(0, 0), (3, 950)]


def test_missing_and_empty_files_have_no_entries(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert checkpoints.read_offsets(FILES, str(tmp_path / "none")) == {}
    assert checkpoints.read_offsets(FILES, str(tmp_path / "empty")) == {}
    assert checkpoints.read_epochs(FILES, str(tmp_path / "none")) == []


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n",
        "0\n",
        "0\nx\n",
        "0\n2\na 0 1\n",
        "0\n1\na 0\n",
        "0\n1\na b 1\n",
        "0\n1\na 0 x\n",
        "0\n0\na 0 1\n",
        "\x00",
    ],
)
def test_invalid_content_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(CorruptCheckpoint, match=r"a (has|declares|ends)"):
        checkpoints.read_offsets(FILES, str(tmp_path / "a"))


def test_the_topic_id_is_written_as_kafka_writes_it(tmp_path: Path) -> None:
    topic_id = bytes.fromhex("5d2a1b3c4d5e4f60718293a4b5c6d7fb")
    checkpoints.write_topic_id(FILES, str(tmp_path), topic_id)
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: XSobPE1eT2BxgpOktcbX-w"
    assert checkpoints.read_topic_id(FILES, str(tmp_path)) == topic_id
    assert checkpoints.read_topic_id(FILES, str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    "text", ["", "version: 1\ntopic_id: XSobPE1eT2BxgpOktcbX-w", "version: 0\ntopic_id: abc", "version: 0\ntopic_id: a"]
)
def test_invalid_partition_metadata_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptCheckpoint):
        checkpoints.read_topic_id(FILES, str(tmp_path))


@pytest.mark.parametrize("data", [b"\xff\xfe", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"])
def test_partition_metadata_without_an_id_names_its_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "partition.metadata").write_bytes(data)
    with pytest.raises(CorruptCheckpoint, match=r"partition\.metadata"):
        checkpoints.read_topic_id(FILES, str(tmp_path))


@pytest.mark.parametrize("number", ["99999999999999999999", "9223372036854775808", "1e3", "", "0x1", "\u0663"])
def test_offset_that_java_cannot_parse_is_corrupt(tmp_path: Path, number: str) -> None:
    path = tmp_path / "checkpoint"
    path.write_text(f"0\n1\nt 0 {number}\n")
    with pytest.raises(CorruptCheckpoint):
        checkpoints.read_offsets(FILES, str(path))


def test_take_clean_shutdown_removes_the_marker(tmp_path: Path) -> None:
    assert not checkpoints.take_clean_shutdown(FILES, str(tmp_path))
    checkpoints.mark_clean_shutdown(FILES, str(tmp_path))
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":-1}'
    assert checkpoints.take_clean_shutdown(FILES, str(tmp_path))
    assert not checkpoints.take_clean_shutdown(FILES, str(tmp_path))
