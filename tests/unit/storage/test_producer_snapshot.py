"""Tests of snapshot files: Kafka's format, and which files are kept."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.files import Files
from kafkalet.storage.producer_entry import BatchMetadata, ProducerEntry
from kafkalet.storage.producer_snapshot import CorruptSnapshot, Snapshots, decode, encode

# Written by Kafka 3.9.2: a producer in a transaction, whose previous one was aborted, and two idempotent producers.
RECORDED = bytes.fromhex(
    "0001 5dce4e46 00000003"
    "0000000000000000 0000 00000003 000000000000000f 00000001 00000174876e8002 00000000 000000000000000e"
    "0000000000000385 0002 00000000 0000000000000002 00000000 00000174876e8002 ffffffff ffffffffffffffff"
    "0000000000000386 0000 00000006 0000000000000009 00000006 00000174876e8006 ffffffff ffffffffffffffff"
)


def fields_of(entry: ProducerEntry) -> tuple[object, ...]:
    return (
        entry.producer_id,
        entry.producer_epoch,
        entry.coordinator_epoch,
        entry.last_timestamp,
        entry.open_since,
        entry.batches,
    )


def test_snapshot_of_kafka_is_read() -> None:
    assert [fields_of(entry) for entry in decode(RECORDED)] == [
        (0, 0, 0, 1600000000002, 14, (BatchMetadata(3, 15, 1, 1600000000002),)),
        (0x385, 2, -1, 1600000000002, None, (BatchMetadata(0, 2, 0, 1600000000002),)),
        (0x386, 0, -1, 1600000000006, None, (BatchMetadata(6, 9, 6, 1600000000006),)),
    ]


def test_a_snapshot_is_written_as_kafka_writes_it() -> None:
    assert encode(decode(RECORDED)) == RECORDED


def test_a_producer_without_a_batch_has_an_offset_of_minus_1() -> None:
    data = encode([ProducerEntry(7, 3, 5, 99)])
    assert data[10:].hex() == (
        "00000000000000070003ffffffffffffffffffffffff00000000000000000000006300000005ffffffffffffffff"
    )
    assert fields_of(decode(data)[0]) == (7, 3, 5, 99, None, ())


def test_only_the_last_batch_is_written() -> None:
    entry = ProducerEntry(7, 0, -1, 2, None, (BatchMetadata(0, 0, 0, 1), BatchMetadata(3, 4, 2, 2)))
    assert decode(encode([entry]))[0].batches == (BatchMetadata(3, 4, 2, 2),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        RECORDED[:9],
        RECORDED[:-1],
        RECORDED + b"\0",
        b"\0\2" + RECORDED[2:],
        RECORDED[:50] + b"\xff" + RECORDED[51:],
        RECORDED[:9] + b"\4" + RECORDED[10:],
    ],
)
def test_invalid_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode(data)


def test_count_beyond_the_entries_is_refused_despite_a_valid_checksum() -> None:
    from kafkalet.protocol.records.crc32c import crc32c

    rest = b"\0\0\0\4" + RECORDED[10:]
    with pytest.raises(CorruptSnapshot):
        decode(b"\0\1" + crc32c(rest).to_bytes(4, "big") + rest)


INT16, INT32, INT64 = (st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (16, 32, 64))
OFFSETS = st.integers(0, (1 << 63) - 1)
ENTRIES = st.builds(
    lambda producer_id, epoch, coordinator_epoch, timestamp, open_since, batch: ProducerEntry(
        producer_id,
        epoch,
        coordinator_epoch,
        timestamp,
        open_since,
        () if batch is None else (BatchMetadata(*batch, timestamp),),
    ),
    INT64,
    INT16,
    INT32,
    INT64,
    st.none() | OFFSETS,
    st.none() | st.tuples(INT32, OFFSETS, INT32),
)


@given(entries=st.lists(ENTRIES, max_size=6))
def test_snapshot_round_trip(entries: list[ProducerEntry]) -> None:
    assert [fields_of(entry) for entry in decode(encode(entries))] == [fields_of(entry) for entry in entries]


# The files


@pytest.fixture
def snapshots(tmp_path: Path) -> Iterator[Snapshots]:
    files = Files(durable=False)
    snapshots = Snapshots(str(tmp_path), files)
    for offset in (5, 10, 20):
        snapshots.write(offset, [])
    yield snapshots
    files.close()


def names(snapshots: Snapshots) -> list[int]:
    assert snapshots.offsets == Snapshots(snapshots.directory, Files(durable=False)).offsets
    return snapshots.offsets


def test_offsets_are_in_the_names(snapshots: Snapshots) -> None:
    assert min(os.listdir(snapshots.directory)) == "00000000000000000005.snapshot"
    assert names(snapshots) == [5, 10, 20]
    snapshots.write(7, [])
    assert names(snapshots) == [5, 7, 10, 20]


def test_missing_directory_has_no_snapshots() -> None:
    assert Snapshots("/nowhere", Files(durable=False)).offsets == []


def test_other_files_are_ignored(snapshots: Snapshots) -> None:
    for name in ("00000000000000000030.log", "x.snapshot", "00000000000000000031.snapshot.deleted"):
        Path(snapshots.directory, name).touch()
    assert names(snapshots) == [5, 10, 20]


def test_a_snapshot_replaces_the_one_at_its_offset(snapshots: Snapshots) -> None:
    snapshots.write(10, [ProducerEntry(7)])
    assert [entry.producer_id for entry in snapshots.read(10)] == [7]
    assert names(snapshots) == [5, 10, 20]


def test_removing_a_missing_snapshot_raises_no_error(snapshots: Snapshots) -> None:
    os.unlink(snapshots.path(10))
    snapshots.remove_all([10, 11])
    assert names(snapshots) == [5, 20]


@pytest.mark.parametrize(
    ("base_offsets", "left"),
    [([0, 5, 10], [5, 10, 20]), ([0, 10], [10, 20]), ([0, 30], []), ([0, 20], [20]), ([], [20])],
)
def test_stray_snapshots_are_removed_except_that_of_a_clean_shutdown(
    snapshots: Snapshots, base_offsets: list[int], left: list[int]
) -> None:
    snapshots.remove_stray(base_offsets)
    assert names(snapshots) == left
