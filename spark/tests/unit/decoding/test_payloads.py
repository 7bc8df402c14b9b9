import numpy as np
import pytest

from kafkalet.protocol.records.batch import HEADER_SIZE
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import LIMIT, Codec
from kafkalet.protocol.records.record import encode_records
from kafkalet.protocol.wire import Buffer
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.decoding.payloads import RECORD_BYTES, Payloads, payloads, slices
from tests.unit.protocol.records.strategies import NOW

from .reading import walked

ROWS = numbered([(NOW, b"k", b"v" * 50, ())] * 4)
PLAIN, PACKED, EMPTY = build_batch(ROWS), build_batch(ROWS, codec=Codec.GZIP), build_batch([], last_offset=3)
INSIDE = encode_records(ROWS, 0, NOW)


def pieces(data: Buffer, max_bytes: int = 1 << 30, limit: int = LIMIT) -> list[Payloads]:
    return [piece for piece in found(data, max_bytes, limit) if isinstance(piece, Payloads)]


def found(data: Buffer, max_bytes: int = 1 << 30, limit: int = LIMIT) -> list[Payloads | Unreadable]:
    batches = walked(data)
    return list(payloads(data, batches, np.arange(batches.position.size), max_bytes, limit))


@pytest.mark.parametrize(
    "data", [PLAIN * 3, PACKED * 3, PLAIN + PACKED + PLAIN, EMPTY + PLAIN + EMPTY + PACKED + PLAIN]
)
def test_all_payloads_are_decompressed(data: bytes) -> None:
    (piece,) = pieces(data)
    rows = [row for row, count in enumerate(walked(data).count.tolist()) if count]
    assert piece.row.tolist() == rows
    for start, end in zip(piece.start.tolist(), piece.end.tolist(), strict=True):
        assert bytes(piece.buffer[start:end]) == INSIDE


def test_uncompressed_payloads_are_not_copied() -> None:
    data = bytearray(PLAIN * 2)
    (piece,) = pieces(data)
    data[HEADER_SIZE] = 77
    assert piece.buffer[0] == 77


@pytest.mark.parametrize("data", [PLAIN * 10, PACKED * 10])
def test_piece_is_closed_when_its_cost_reaches_the_limit(data: bytes) -> None:
    cost = len(INSIDE) + 4 * RECORD_BYTES
    assert [piece.row.tolist() for piece in pieces(data, 2 * cost)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert [piece.row.tolist() for piece in pieces(data, 1)] == [[row] for row in range(10)]


def test_batches_without_records_are_left_out() -> None:
    assert pieces(EMPTY * 3) == []


def test_error_takes_the_place_of_corrupt_batch() -> None:
    damage = bytearray(PLAIN + PACKED + PLAIN)
    damage[len(PLAIN) + HEADER_SIZE] ^= 255
    before, error, behind = found(damage)
    assert isinstance(error, Unreadable)
    assert (error.position, error.size) == (len(PLAIN), len(PACKED))
    assert error.reason.startswith("Failed to decompress")
    assert [piece.row.tolist() for piece in (before, behind) if isinstance(piece, Payloads)] == [[0], [2]]


def test_batch_over_the_size_limit_is_reported() -> None:
    _, error = found(PLAIN + PACKED, limit=99)
    assert isinstance(error, Unreadable)
    assert "limit of 99 bytes" in error.reason


def test_part_is_a_range_of_rows() -> None:
    (piece,) = pieces(PLAIN * 3)
    part = piece.part(1, 2)
    assert (part.row.tolist(), part.start.tolist()) == ([1], [piece.start[1]])


def test_slices_have_about_the_maximum_size() -> None:
    assert list(slices(np.array([5, 5, 5, 50, 1, 1]), 10)) == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert list(slices(np.empty(0, np.int64), 10)) == []
