"""Files and directories are recognized by their names."""

from pathlib import Path

import pytest

from kafkalet.inspection.kinds import FileKind, Kind, LogFolder, folder_of, is_partition, kind_of

ZERO = "0" * 20


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"a/{ZERO[:-2]}42.log", FileKind(Kind.LOG, 42)),
        (f"{ZERO}.index", FileKind(Kind.OFFSET_INDEX)),
        (f"{ZERO}.timeindex.deleted", FileKind(Kind.TIME_INDEX, 0, ".deleted")),
        (f"{ZERO}.txnindex.cleaned", FileKind(Kind.TXN_INDEX, 0, ".cleaned")),
        (f"{ZERO}.log.swap", FileKind(Kind.LOG, 0, ".swap")),
        (f"{ZERO}.snapshot", FileKind(Kind.SNAPSHOT)),
        (f"{ZERO[:-1]}7-0000000003.checkpoint", FileKind(Kind.METADATA_SNAPSHOT, 7)),
        ("bootstrap.checkpoint", FileKind(Kind.METADATA_SNAPSHOT)),
        ("recovery-point-offset-checkpoint", FileKind(Kind.OFFSETS)),
        ("cleaner-offset-checkpoint", FileKind(Kind.OFFSETS)),
        ("leader-epoch-checkpoint", FileKind(Kind.LEADER_EPOCHS)),
        (".kafka_cleanshutdown", FileKind(Kind.CLEAN_SHUTDOWN)),
        ("kafkalet.json", FileKind(Kind.KAFKALET_JSON)),
        ("1.log", None),
        (".lock", None),
        (f"{ZERO}.log.bak", None),
    ],
)
def test_file_kind_is_recognized_by_name(name: str, kind: FileKind | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("a-b.c-12", LogFolder("a-b.c", 12, "")),
        ("t-0.0123abc-delete", LogFolder("t", 0, "-delete")),
        ("t-0.0123abc-future", LogFolder("t", 0, "-future")),
        ("t", None),
    ],
)
def test_partition_and_state_are_recognized_by_folder_name(name: str, folder: LogFolder | None) -> None:
    assert folder_of(name) == folder


def test_directory_with_segments_is_a_partition(data: Path) -> None:
    assert is_partition(str(data / "t-0"))
    assert not is_partition(str(data))
