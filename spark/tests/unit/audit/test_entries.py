"""The entries of a chunk and their records, including unreadable ones."""

from __future__ import annotations

from kafkalet.protocol.records.build import build_message_set
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.entries import Broken, Entries, entries_of, records_of
from kafkalet_spark.decoding.batches import walk

from .audited import batch


def of(*batches: bytes, position: int = 0) -> Entries:
    data = b"".join(batches)
    return entries_of("x.log", position, data, walk(data)[0])


def broken(base_offset: int) -> bytes:
    data = bytearray(batch(base_offset))
    data[61] = 0x7F
    return bytes(data)


def test_positions_are_file_positions() -> None:
    entries = of(batch(0), batch(2), position=1000)
    assert entries.position.tolist() == [1000, 1000 + len(batch(0))]
    assert entries.end.tolist() == [1000 + len(batch(0)), 1000 + 2 * len(batch(0))]


def test_first_offset_of_a_wrapper_is_that_of_its_first_record() -> None:
    records = [Record(at, 0, None, b"v") for at in range(5, 9)]
    entries = of(build_message_set(1, records, codec=Codec.GZIP, base_offset=5), batch(9))
    assert entries.first_offset.tolist() == [5, 9]
    assert entries.span.tolist() == [4, 2]


def test_entries_before_an_offset_stop_at_the_first_later_one() -> None:
    entries = of(batch(0), batch(2), batch(4))
    assert entries.before(4).first_offset.tolist() == [0, 2]
    assert entries.before(3).first_offset.tolist() == [0, 2]
    assert entries.before(9) is entries
    assert entries.before(0).position.size == 0


def test_records_of_readable_entries_are_returned_once() -> None:
    entries = of(broken(0), batch(2), broken(4), broken(6), batch(8), broken(10))
    bad, seen = [], []
    for part in records_of(entries, ("key",)):
        if isinstance(part, Broken):
            bad.append(part.row)
        else:
            seen += list(zip(part.row.tolist(), part.offset.tolist(), strict=True))
    assert bad == [0, 2, 3, 5]
    assert seen == [(1, 2), (1, 3), (4, 8), (4, 9)]
