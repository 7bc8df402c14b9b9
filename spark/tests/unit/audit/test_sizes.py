"""Counts of entries, records and bytes by codec and format."""

from __future__ import annotations

import numpy as np

from kafkalet.protocol.records.build import build_batch, build_message_set
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.entries import entries_of
from kafkalet_spark.audit.sizes import Sizes
from kafkalet_spark.decoding.batches import walk

RECORDS = [Record(at, 0, None, b"v" * 50) for at in range(5)]


def sizes(*parts: tuple[bytes, int]) -> Sizes:
    data = b"".join(part for part, _ in parts)
    return Sizes().with_entries(entries_of("", 0, data, walk(data)[0]), np.array([count for _, count in parts]))


def test_sums_are_by_codec() -> None:
    plain, packed = build_batch(RECORDS), build_batch(RECORDS, codec=Codec.GZIP)
    result = sizes((plain, 5), (packed, 5), (plain, 5))
    assert result.codecs() == {"none": (2, 10, 2 * len(plain)), "gzip": (1, 5, len(packed))}
    assert (result.entries, result.records, result.bytes) == (3, 15, 2 * len(plain) + len(packed))
    assert (result.smallest_entry_bytes, result.largest_entry_bytes) == (len(packed), len(plain))
    assert result.by_format[:, 0].tolist() == [0, 0, 3]


def test_sums_are_by_format() -> None:
    old = build_message_set(1, RECORDS[:1])
    assert sizes((old, 1), (build_batch(RECORDS), 5)).by_format[:, 1].tolist() == [0, 1, 5]


def test_entries_are_counted_by_number_of_records() -> None:
    result = sizes(*[(build_batch(RECORDS[:count]), count) for count in (1, 2, 3, 4, 5)])
    assert result.entries_by_records[:4].tolist() == [1, 1, 2, 1]


def test_two_parts_are_summed() -> None:
    one, other = sizes((build_batch(RECORDS), 5)), sizes((build_batch(RECORDS[:1]), 1))
    both = one.merged_with(other)
    assert (both.entries, both.records) == (2, 6)
    assert both.smallest_entry_bytes == other.smallest_entry_bytes
    assert one.merged_with(Sizes()).smallest_entry_bytes == one.smallest_entry_bytes
