"""Tests of logs whose files were damaged while the broker was stopped: what is served, truncated and logged."""

import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.values import Isolation

from .place import CONFIG, Place, find, index_entries
from .producing import T0, produced, record

SMALL = CONFIG._replace(segment_bytes=3000, index_interval_bytes=200)
GARBAGE = random.Random(5).randbytes(801)
FIRST = "00000000000000000000"
CLEAN_AND_KILLED = pytest.mark.parametrize("stop", ["clean", "kill"])

Damage = Callable[[Path], object]


def write(data: bytes) -> Damage:
    return lambda path: path.write_bytes(data)


def flip(byte: int) -> Damage:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[byte] ^= 0x55
        path.write_bytes(data)

    return damage


def cut(size: int) -> Damage:
    return lambda path: os.truncate(path, path.stat().st_size - size)


def append(data: bytes) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes() + data)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A log of several segments, with producer ids, and an aborted transaction in the first segment."""
    place = Place(tmp_path / "data", SMALL)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=False)
    for number in range(60):
        place.append(record(T0 + number * 10, value="x" * 50), producer_id=9, producer_epoch=0, base_sequence=number)
    assert len(place.log.segments) > 2
    return place


def stopped(place: Place, stop: str, damage: Callable[[], object]) -> None:
    """Stop the broker, damage the files, and start again."""
    log = Path(place.log.directory)
    if stop == "clean":
        place.directory.close()
    else:
        place.log.flush()
        place.directory.checkpoint()
        left = place.path.with_name("left")
        shutil.copytree(place.path, left)
        place.directory.close(discard=True)
        place.path = left
    assert log.name == "t-0"
    damage()
    place.open()


def all_offsets(place: Place) -> list[int]:
    return place.offsets()


def segment_file(place: Place, number: int, suffix: str) -> Path:
    logs = sorted((place.path / "t-0").glob("*.log"))
    return logs[number].with_suffix(suffix)


INDEXES = {
    "garbage": write(GARBAGE),
    "whole entries of garbage": write(GARBAGE[:800]),
    "ones": write(b"\xff" * 400),
    "positions behind the end": write(struct.pack(">iiii", 1, 1 << 30, 2, (1 << 31) - 1)),
    "positions between entries": write(struct.pack(">iiii", 1, 17, 2, 333)),
    "an entry too many": append(struct.pack(">ii", 1 << 20, 1 << 20)),
    "half an entry": cut(3),
    "zeros": write(bytes(400)),
    "nothing": write(b""),
    "a flipped position": flip(7),
    "a flipped offset": flip(3),
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("segment", [0, -1])
@pytest.mark.parametrize("damage", INDEXES.values(), ids=INDEXES)
def test_damaged_index_loses_no_records(place: Place, stop: str, segment: int, damage: Damage) -> None:
    expected = place.offsets()
    stopped(place, stop, lambda: damage(segment_file(place, segment, ".index")))
    assert place.offsets() == expected
    for offset in expected:
        assert place.log.local.offset_metadata(offset).offset == offset
        found = find(place.log, T0 + max(offset - 2, 0) * 10)
        assert found is not None
    assert place.append(T0).first_offset == place.log.log_end_offset - 1
    place.directory.close()


def test_garbage_index_is_rebuilt(place: Place) -> None:
    place.directory.close()
    path = segment_file(place, 0, ".index")
    before = index_entries(path)
    path.write_bytes(GARBAGE)
    place.open()
    place.offsets()
    assert index_entries(path) == before
    place.directory.close()


TIME_INDEXES = {
    "garbage": write(GARBAGE),
    "whole entries of garbage": write(GARBAGE[:780] + b"\xff" * 12),
    "half an entry": cut(5),
    "nothing": write(b""),
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("segment", [0, -1])
@pytest.mark.parametrize("damage", TIME_INDEXES.values(), ids=TIME_INDEXES)
def test_lookup_with_damaged_time_index_finds_every_timestamp(
    place: Place, stop: str, segment: int, damage: Damage
) -> None:
    expected = [find(place.log, T0 + number * 10) for number in range(60)]
    stopped(place, stop, lambda: damage(segment_file(place, segment, ".timeindex")))
    assert [find(place.log, T0 + number * 10) for number in range(60)] == expected
    place.directory.close()


TRANSACTION_INDEXES = {
    "garbage": write(GARBAGE),
    "zeros": write(bytes(34)),
    "another version": write(b"\0\x09" + bytes(32)),
    "a marker below the segment": write(bytes(2) + struct.pack(">qqqq", 7, 0, -1, 5)),
    "a marker behind the log": write(bytes(2) + struct.pack(">qqqq", 7, 0, 1 << 40, 5)),
    "markers that do not rise": write((bytes(2) + struct.pack(">qqqq", 7, 0, 1, 5)) * 2),
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("damage", TRANSACTION_INDEXES.values(), ids=TRANSACTION_INDEXES)
def test_damaged_transaction_index_is_rebuilt(place: Place, stop: str, damage: Damage) -> None:
    expected = place.read(0, Isolation.LAST_STABLE).aborted
    assert expected
    stopped(place, stop, lambda: damage(place.path / "t-0" / f"{FIRST}.txnindex"))
    place.log.maybe_increment_high_watermark(place.log.log_end_offset)
    assert place.read(0, Isolation.LAST_STABLE).aborted == expected
    place.directory.close()


@CLEAN_AND_KILLED
@pytest.mark.parametrize("data", [b"", GARBAGE, b"\0\x09" + bytes(8)], ids=["nothing", "garbage", "another version"])
def test_damaged_snapshots_lose_no_producers(place: Place, stop: str, data: bytes) -> None:
    def damage() -> None:
        for path in (place.path / "t-0").glob("*.snapshot"):
            path.write_bytes(data)

    stopped(place, stop, damage)
    entry = place.log.producers.entry(9)
    assert entry is not None
    assert entry.last_sequence == 59
    place.directory.close()


EPOCHS = {
    "garbage": GARBAGE,
    "another version": b"7\n1\n0 0\n",
    "fewer entries than promised": b"0\n3\n0 0\n",
    "an epoch that is no number": b"0\n1\n99999999999999999999 0\n",
    "an epoch beyond four bytes": b"0\n1\n3000000000 0\n",
    "a negative epoch": b"0\n1\n-4 0\n",
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("data", EPOCHS.values(), ids=EPOCHS)
def test_damaged_leader_epochs_are_read_from_the_entries(
    place: Place, stop: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    place.log.append_as_leader(produced(1), 4)
    expected = place.log.epochs.entries
    stopped(place, stop, lambda: (place.path / "t-0" / "leader-epoch-checkpoint").write_bytes(data))
    assert place.log.epochs.entries == expected
    assert f"{place.path}/t-0/leader-epoch-checkpoint" in caplog.text
    place.directory.close()


TAILS = {
    "garbage": append(GARBAGE),
    "zeros": append(bytes(500)),
    "half of the last entry": cut(40),
    "nothing but garbage": write(GARBAGE),
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("damage", TAILS.values(), ids=TAILS)
def test_damaged_end_of_a_log_is_truncated_and_logged(
    place: Place, stop: str, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    expected = place.offsets()
    stopped(place, stop, lambda: damage(segment_file(place, -1, ".log")))
    offsets = place.offsets()
    assert offsets == expected[: len(offsets)]
    assert len(offsets) >= place.log.segments.active.base_offset - 1
    assert place.log.segments.active.path in caplog.text
    place.append(1)
    again = place.offsets()
    place.reopen()
    assert place.offsets() == again
    place.directory.close()


def test_damaged_length_is_reported_with_file_and_position(place: Place) -> None:
    def damage() -> None:
        path = segment_file(place, 0, ".log")
        data = bytearray(path.read_bytes())
        position = 0
        while position < len(data) // 2:
            position += 12 + struct.unpack_from(">i", data, position + 8)[0]
        struct.pack_into(">i", data, position + 8, 5)
        path.write_bytes(data)
        damaged.append((path, position))

    damaged: list[tuple[Path, int]] = []
    last = place.log.log_end_offset - 1
    stopped(place, "clean", damage)
    [(path, position)] = damaged
    base_offset = next(head.next_offset for at, head in place.log.segments.first.heads() if at + head.size == position)
    with pytest.raises(KafkaError, match=f"Found record size 5 .* in file {path}, at position {position}"):
        place.read(base_offset)
    assert place.read(last).position.offset == last
    place.directory.close()


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_damaged_length_and_index_leave_earlier_entries_and_other_segments_readable(
    place: Place, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    def damage() -> None:
        path = segment_file(place, 0, ".log")
        data = bytearray(path.read_bytes())
        struct.pack_into(">i", data, first_bytes + 8, 5)
        path.write_bytes(data)
        segment_file(place, 0, suffix).write_bytes(GARBAGE)

    first_bytes = next(head.size for _, head in place.log.segments.first.heads())
    last = place.log.log_end_offset - 1
    stopped(place, "clean", damage)
    assert find(place.log, T0) == (T0 + 1, 0, 0)
    with pytest.raises(KafkaError, match="Found record size 5"):
        place.read(1)
    assert place.read(last).position.offset == last
    assert "Found record size 5" in caplog.text
    place.directory.close()


OTHERS = {
    "a base offset of few digits": "0.log",
    "a base offset that is none": "xyz.log",
    "a base offset beyond eight bytes": "99999999999999999999.log",
    "a negative base offset": "-0000000000000000001.log",
    "an index of nothing": "xyz.index",
    "a compaction of nothing": "xyz.log.cleaned",
    "a swap of nothing": "xyz.log.swap",
    "a snapshot of nothing": "xyz.snapshot",
}


@CLEAN_AND_KILLED
@pytest.mark.parametrize("name", OTHERS.values(), ids=OTHERS)
def test_file_with_another_name_is_ignored(place: Place, stop: str, name: str) -> None:
    expected = place.offsets()
    stopped(place, stop, lambda: (place.path / "t-0" / name).write_bytes(GARBAGE))
    assert place.offsets() == expected
    assert (place.path / "t-0" / name).read_bytes() == GARBAGE
    place.directory.close()


def replaced_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replaced_by_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


@CLEAN_AND_KILLED
@pytest.mark.parametrize("damage", [replaced_by_directory, replaced_by_dangling_link])
def test_invalid_log_file_takes_only_its_log_offline(place: Place, stop: str, damage: Damage) -> None:
    other = place.directory.get_or_create("other", 0, None, SMALL)
    other.append_as_leader(produced(1, 2), 0)
    before = sorted(os.listdir(place.log.directory))
    broken = f"{FIRST}.log"
    with pytest.raises(StorageFailed, match=broken) as failed:
        stopped(place, stop, lambda: damage(place.path / "t-0" / broken))
    assert "\n" not in failed.value.reason
    assert place.directory.get_or_create("other", 0, None, SMALL).log_end_offset == 2
    place.directory.close()
    assert set(before) <= set(os.listdir(place.path / "t-0"))
