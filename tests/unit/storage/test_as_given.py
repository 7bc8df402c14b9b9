"""Entries that are appended exactly as given, and entries that no log can contain."""

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.epochs import EpochEntry
from kafkalet.storage.values import Isolation
from tests.profile import examples

from .place import CONFIG, Place, bases, content, four, with_epoch
from .producing import T0, logged, marker

EPOCH = 3


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "data")
    made.log.assign_epoch_start_offset(EPOCH, 0)
    yield made
    made.directory.close(discard=True)


def rows(first: int, count: int = 1) -> bytes:
    return build_batch(numbered([(T0, b"k", b"v", ())] * count, first), base_offset=first, leader_epoch=EPOCH)


def stored(place: Place) -> bytes:
    """Return everything that a reader of the log gets, from its start to its end."""
    data, offset = b"", place.log.log_start_offset
    while offset < place.log.log_end_offset:
        piece = content(place.read(offset))
        if not piece:
            break
        data += piece
        *_, last = _batches(piece)
        offset = last.next_offset
    return data


def _batches(data: bytes) -> Iterator[Batch]:
    position = 0
    while position < len(data):
        yield Batch(data, position)
        position += struct.unpack_from(">i", data, position + 8)[0] + 12


def give(place: Place, *entries: bytes | Batch) -> bytes:
    data = b"".join(bytes(entry.view()) if isinstance(entry, Batch) else entry for entry in entries)
    place.log.append_as_given(data, EPOCH)
    return data


def test_gaps_before_and_between_entries_are_kept(place: Place) -> None:
    data = give(place, rows(5, 2), rows(10))
    assert stored(place) == data
    assert place.log.log_end_offset == 11
    assert place.log.log_start_offset == 0


def test_wrong_checksum_is_written_unchanged(place: Place) -> None:
    damaged = bytearray(rows(0))
    damaged[-2] ^= 1
    give(place, bytes(damaged), rows(1))
    assert stored(place) == bytes(damaged) + rows(1)
    place.reopen()
    assert stored(place) == bytes(damaged) + rows(1)


def test_gap_beyond_the_reach_of_an_index_begins_a_new_segment(place: Place) -> None:
    data = give(place, rows(0), rows(1 << 33))
    assert bases(place.log) == [0, 1 << 33]
    assert stored(place) == data
    place.crash()
    assert stored(place) == data


def test_each_entry_may_fill_a_segment(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_bytes=100))
    give(place, rows(0), rows(4), rows(5))
    assert bases(place.log) == [0, 4, 5]
    place.directory.close(discard=True)


def test_markers_end_transactions(place: Place) -> None:
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    give(place, logged(0, 2, **fields))
    place.log.maybe_increment_high_watermark(2)
    assert place.log.last_stable_offset == 0
    give(place, marker(2, 7, commit=False))
    place.log.maybe_increment_high_watermark(3)
    assert four(place.log) == (0, 3, 3, 3)
    result = place.read(0, Isolation.LAST_STABLE)
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in result.aborted or ()] == [(7, 0, 2)]


def test_batch_without_records_keeps_the_sequence_of_its_producer(place: Place) -> None:
    give(
        place,
        build_batch([], base_offset=0, last_offset=4, producer_id=7, producer_epoch=1, base_sequence=10),
    )
    entry = place.log.producer(7)
    assert entry is not None
    assert (entry.last_sequence, place.log.log_end_offset) == (14, 5)


def test_entries_of_earlier_epochs_may_precede_an_epoch_without_entries(place: Place) -> None:
    give(place, with_epoch(Batch(rows(2)), 1))
    assert place.log.epochs.entries == (EpochEntry(1, 2), EpochEntry(EPOCH, 3))
    with pytest.raises(ValueError, match="has leader epoch 0; allowed are -1 and 1 to 3"):
        give(place, with_epoch(Batch(rows(3)), 0))


def test_entry_without_epoch_changes_no_epochs(place: Place) -> None:
    give(place, rows(0), build_batch(numbered([(T0, None, b"v", ())], 1), base_offset=1))
    assert place.log.epochs.entries == (EpochEntry(EPOCH, 0),)


def test_formats_0_and_1_are_kept(place: Place) -> None:
    records = numbered([(T0, b"k", b"v", ())] * 3)
    data = give(
        place,
        build_message_set(0, records),
        *(
            build_message_set(
                magic,
                [record._replace(offset=record.offset + at) for record in records],
                codec=Codec.GZIP,
                base_offset=at,
            )
            for at, magic in ((3, 0), (6, 1))
        ),
    )
    assert stored(place) == data
    assert place.offsets() == list(range(9))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no entries"),
        (rows(4)[:-1], "the last 69 of 69 bytes are not a complete entry"),
        (rows(4) + b"\0\0", "the last 2 of 72 bytes are not a complete entry"),
        (bytes(40), "not the entries of a log: Record size 0"),
        (rows(1), "the entry at byte 0 has offset 1, but the log end offset of t-0 is 2; offsets never go back"),
        (rows(5) + rows(5), "the entry at byte 70 has offset 5, but 6 comes next"),
        (rows(5, 2) + rows(6), "has offset 6, but 7 comes next"),
        (build_batch([], base_offset=9, last_offset=7), "has base offset 9 but last offset 7"),
        (with_epoch(Batch(rows(2)), 0), "has leader epoch 0; allowed are -1 and 3 .leader epochs never go"),
        (build_message_set(1, numbered([(T0, b"k", b"v", ())] * 3), codec=Codec.GZIP), "has offset 0, but"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_entries_that_no_log_can_contain_are_refused(place: Place, data: bytes, reason: str) -> None:
    before = give(place, rows(0, 2))
    with pytest.raises(ValueError, match=reason):
        place.log.append_as_given(data, EPOCH)
    assert stored(place) == before
    assert place.log.log_end_offset == 2


def test_later_leader_epoch_is_refused(place: Place) -> None:
    later = with_epoch(Batch(rows(0)), EPOCH + 1)
    with pytest.raises(ValueError, match=r"leader epoch 4; allowed are -1 and 0 to 3 .*new_leader_epoch\(\)"):
        place.log.append_as_given(later, EPOCH)


def test_records_outside_the_open_transaction_of_their_producer_are_refused(place: Place) -> None:
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    before = give(place, build_batch(numbered([(T0, None, b"v", ())]), is_transactional=True, **fields))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="t-0 cannot have these entries: producer 7 wrote outside its transaction"):
        give(place, rows(1), build_batch(numbered([(T0, None, b"v", ())], 2), base_offset=2, **fields))  # type: ignore[arg-type]
    assert stored(place) == before


# Any sequence of valid entries


@st.composite
def logs(draw: st.DrawFn) -> list[bytes]:
    """Draw the entries of a log, as pieces that are appended one after the other."""
    offset, epoch, sequence = 0, 0, 0
    pieces: list[bytes] = []
    open_transactions: set[int] = set()
    for _ in range(draw(st.integers(1, 12))):
        offset += draw(st.sampled_from([0, 0, 0, 1, 5, 1 << 32]))
        count = draw(st.integers(1, 4))
        epoch = draw(st.integers(epoch, EPOCH))
        shown = draw(st.sampled_from([epoch, epoch, -1])) if epoch == EPOCH else epoch
        time = T0 + draw(st.sampled_from([0, 5000, -5000, 10**10, -1 - T0]))
        records = numbered([(time, b"k", b"v" * 20, ())] * count, offset)
        codec = draw(st.sampled_from([Codec.NONE, Codec.GZIP]))
        kind = draw(st.sampled_from(["data", "data", "holes", "empty", "transaction", "marker", "v0", "v1"]))
        producer_id = draw(st.integers(0, 2))
        if kind == "marker":
            control = marker(offset, producer_id, commit=draw(st.booleans()))
            open_transactions.discard(producer_id)
            entry, count = bytes(control.view()), 1
            entry = entry[:12] + struct.pack(">i", shown) + entry[16:]
        elif kind in ("v0", "v1"):
            magic = int(kind[1])
            entry = build_message_set(magic, records, codec=codec, base_offset=offset)
        else:
            fields = {"base_offset": offset, "leader_epoch": shown, "codec": codec, "last_offset": offset + count - 1}
            if kind == "empty":
                records = []
            elif kind == "holes":
                records = records[-1:]
            elif kind == "transaction":
                open_transactions.add(producer_id)
                fields |= {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
                fields |= {"is_transactional": True}
                sequence += count
            entry = build_batch(records, **fields)  # type: ignore[arg-type]
        pieces.append(entry)
        offset += count
    return pieces


def state(place: Place) -> list[object]:
    log = place.log
    return [
        (entry.producer_id, entry.producer_epoch, entry.last_sequence, entry.open_since)
        for entry in sorted(log.active_producers(), key=lambda entry: entry.producer_id)
    ]


@settings(max_examples=examples(0.6))
@given(logs(), st.lists(st.booleans(), min_size=12, max_size=12), st.sampled_from([150, 1 << 20]), st.booleans())
def test_any_entries_are_read_byte_for_byte_and_survive_restarts(
    pieces: list[bytes], together: list[bool], segment_bytes: int, is_clean: bool
) -> None:
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root) / "data", CONFIG._replace(segment_bytes=segment_bytes, index_interval_bytes=50))
        place.log.assign_epoch_start_offset(EPOCH, 0)
        waiting = b""
        for piece, joined in zip(pieces, together, strict=False):
            waiting += piece
            if not joined:
                place.log.append_as_given(waiting, EPOCH)
                waiting = b""
        if waiting:
            place.log.append_as_given(waiting, EPOCH)
        data = b"".join(pieces)
        assert stored(place) == data
        end, producers, transactions = place.log.log_end_offset, state(place), aborted(place)
        epochs = place.log.epochs.entries
        if is_clean:
            place.reopen()
            assert place.log.epochs.entries == tuple(entry for entry in epochs if entry.start_offset < end)
        else:
            place.crash()
        assert stored(place) == data
        assert (place.log.log_end_offset, state(place)) == (end, producers)
        assert aborted(place) == transactions
        for batch in _batches(data):
            found = Batch(content(place.read(batch.last_offset)))
            assert found.to_bytes() == batch.to_bytes()
        place.directory.close(discard=True)


def aborted(place: Place) -> list[tuple[int, int, int]]:
    log = place.log
    found = log.local.aborted_transactions(0, log.log_end_offset, log.segments.first)
    return sorted((each.producer_id, each.first_offset, each.last_offset) for each in found)
