"""Damage anywhere in the files of a segment is found and named."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.formats import snapshot_bytes, snapshot_entries
from kafkalet.inspection.faults import Finding, Report
from kafkalet.inspection.segment_check import LogState, Snapshot, SnapshotEntry, check_snapshot
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.crc32c import crc32c
from tests.profile import examples

from .sample import SEGMENT, copy, faults, findings

LOG, INDEX, TIMEINDEX, TXNINDEX = (SEGMENT + suffix for suffix in (".log", ".index", ".timeindex", ".txnindex"))


def entry_positions(path: Path) -> list[int]:
    data = path.read_bytes()
    positions, at = [], 0
    while at < len(data):
        positions.append(at)
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    return positions


def put(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def flip(path: Path, position: int, mask: int = 1) -> None:
    put(path, position, bytes([path.read_bytes()[position] ^ mask]))


def test_intact_partition_has_no_faults(built: Path) -> None:
    assert findings(built / "t-0") == []


def position_of(path: Path, byte: int) -> int:
    return max(position for position in entry_positions(path) if position <= byte)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_flipped_bit_in_log_is_found_in_its_batch(built: Path, tmp_path: Path, place: float, bit: int) -> None:
    partition = copy(built / "t-0", tmp_path / "t-0")
    path = partition / LOG
    byte = int(place * path.stat().st_size)
    at = position_of(path, byte)
    last = at == entry_positions(path)[-1]
    following = [position for position in entry_positions(path) if position > at][:1]
    flip(path, byte, 1 << bit)
    found = faults(partition)
    assert found, f"byte {byte} of the batch at {at}"
    if byte - at < 8 and not last:  # a base offset that is too high contradicts the next batch
        assert {position for name, position, _ in found if name == LOG} & {at, *following}
    elif not last or byte - at >= 12:
        assert (LOG, at) in [(name, position) for name, position, _ in found]


@settings(max_examples=examples(0.6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@pytest.mark.parametrize(("name", "size"), [(INDEX, 8), (TIMEINDEX, 12), (TXNINDEX, 34)])
def test_flipped_bit_in_index_is_found_in_its_entry(
    built: Path, tmp_path: Path, name: str, size: int, place: float, bit: int
) -> None:
    partition = copy(built / "t-0", tmp_path / "t-0")
    byte = int(place * (partition / name).stat().st_size)
    flip(partition / name, byte, 1 << bit)
    found = [(file, position) for file, position, _ in faults(partition)]
    entry = byte // size * size
    if (
        name == INDEX
        and byte % size < 4
        and (offset := struct.unpack_from(">i", (partition / name).read_bytes(), entry)[0])
        in {
            Batch((partition / LOG).read_bytes(), position).last_offset for position in entry_positions(partition / LOG)
        }
    ):
        assert offset > 0  # this is what Kafka writes for an append of several batches
    else:
        assert (name, entry) in found or (name == TXNINDEX and found == [(name, None)])


@settings(max_examples=examples(0.4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True))
@pytest.mark.parametrize("name", [LOG, INDEX, TIMEINDEX, TXNINDEX])
def test_truncated_file_is_found(built: Path, tmp_path: Path, name: str, place: float) -> None:
    partition = copy(built / "t-0", tmp_path / "t-0")
    size = int(place * (partition / name).stat().st_size)
    os.truncate(partition / name, size)
    if name == INDEX and size % 8 == 0:
        return  # an index may have fewer entries than it could
    if name == LOG and size in entry_positions(built / "t-0" / LOG):
        assert any(file != LOG for file, _, _ in faults(partition))  # the indexes show that batches are missing
    else:
        assert name in [file for file, _, _ in faults(partition)]


@settings(max_examples=examples(0.6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), data=st.binary(min_size=1, max_size=40))
@pytest.mark.parametrize("name", [LOG, TXNINDEX])
def test_inserted_bytes_are_found(built: Path, tmp_path: Path, name: str, place: float, data: bytes) -> None:
    partition = copy(built / "t-0", tmp_path / "t-0")
    content = (partition / name).read_bytes()
    at = int(place * len(content))
    (partition / name).write_bytes(content[:at] + data + content[at:])
    assert name in [file for file, _, _ in faults(partition)]


def test_repeated_batch_is_out_of_order(partition: Path) -> None:
    path = partition / LOG
    first, second = entry_positions(path)[:2]
    data = path.read_bytes()
    path.write_bytes(data[:second] + data[first:second] + data[second:])
    assert (LOG, second, "order") in faults(partition)


def test_batch_with_wrong_count_is_named(partition: Path) -> None:
    path = partition / LOG
    second, third = entry_positions(path)[1:3]
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, second + 57, 2)
    struct.pack_into(">I", data, second + 17, crc32c(data[second + 21 : third]))
    path.write_bytes(data)
    assert (LOG, second, "records") in faults(partition)


def test_timestamp_above_the_maximum_in_the_header_is_named(partition: Path) -> None:
    path = partition / LOG
    second, third = entry_positions(path)[1:3]
    data = bytearray(path.read_bytes())
    struct.pack_into(">q", data, second + 35, 1)
    struct.pack_into(">I", data, second + 17, crc32c(data[second + 21 : third]))
    path.write_bytes(data)
    assert (LOG, second, "records") in faults(partition)


def test_preallocated_index_is_a_note(partition: Path) -> None:
    for name in (INDEX, TIMEINDEX):
        size = (partition / name).stat().st_size
        os.truncate(partition / name, size + 1200)
    assert [(each.severity.value, each.check) for each in findings(partition)] == [("note", "padding")] * 2


def test_leader_epoch_that_decreases_is_named(partition: Path) -> None:
    second = entry_positions(partition / LOG)[1]
    put(partition / LOG, second + 12, struct.pack(">i", 5))
    found = faults(partition)
    assert (LOG, second, "leader-epoch") in found
    assert (LOG, entry_positions(partition / LOG)[2], "leader-epoch") in found


def test_missing_entry_of_aborted_transaction_is_named(partition: Path) -> None:
    (partition / TXNINDEX).write_bytes(b"")
    assert (TXNINDEX, None, "entry") in faults(partition)
    (partition / TXNINDEX).unlink()
    assert (TXNINDEX, None, "entry") in faults(partition)


def test_snapshot_with_wrong_sequence_is_named(partition: Path) -> None:
    path = max(partition.glob("*.snapshot"))
    entries = bytearray(snapshot_entries(path.read_bytes()))
    struct.pack_into(">i", entries, 10, 77)
    path.write_bytes(snapshot_bytes(bytes(entries)))
    assert (path.name, 10, "producer") in faults(partition)


def test_snapshot_of_batch_that_the_cleaner_removed_is_not_a_fault(partition: Path) -> None:
    """The cleaner need not keep this batch, because a later one of the producer exists."""
    path = min(partition.glob("*.snapshot"))
    batches = [
        (batch, log)
        for log in sorted(partition.glob("*.log"))
        for batch in (Batch(log.read_bytes(), position) for position in entry_positions(log))
        if batch.last_offset < int(path.stem) and batch.producer_id == 9
    ]
    last, log = batches[-1]
    data = log.read_bytes()
    log.write_bytes(data[: last.position] + data[last.end :])
    assert "producer" not in {check for name, _, check in faults(partition) if name == path.name}


def test_removed_batches_are_not_faults(partition: Path) -> None:
    """A compacted log has gaps; its indexes are rebuilt by the cleaner."""
    path = partition / LOG
    first, second = entry_positions(path)[:2]
    data = path.read_bytes()
    path.write_bytes(data[:first] + data[second:])
    for name in (INDEX, TIMEINDEX, TXNINDEX):
        (partition / name).unlink()
    assert {check for _, _, check in faults(partition)} == {"missing"}


@pytest.mark.parametrize(("complete_since", "checks"), [(0, ["producer"]), (130, [])])
def test_producer_of_a_snapshot_may_have_lost_its_batch_to_compaction(complete_since: int, checks: list[str]) -> None:
    state = LogState()
    state.first_offset, state.complete_since = 0, complete_since
    found: list[Finding] = []
    check_snapshot(
        Snapshot("133.snapshot", 133, [SnapshotEntry(10, 5, 0, 7, 129, 0, 0, 0, -1)]), state, Report(found.append)
    )
    assert [each.check for each in found] == checks
