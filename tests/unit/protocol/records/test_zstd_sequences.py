import pytest

from kafkalet.protocol.records.streams import Corrupt
from kafkalet.protocol.records.zstd_sequences import COPIES, DISTANCES, LITERALS, Sequences

ONE_CODE_EACH = b"\x54"
"""The modes of sequences with a single code for each table."""


def test_literal_codes_end_below_128_kib() -> None:
    assert len(LITERALS.codes) == 36
    assert LITERALS.codes[:2] == [(0, 0), (1, 0)]
    assert LITERALS.codes[24:26] == [(48, 4), (64, 6)]
    assert LITERALS.codes[35] == (65536, 16)


def test_copy_codes_begin_with_3() -> None:
    assert len(COPIES.codes) == 53
    assert COPIES.codes[0] == (3, 0)
    assert COPIES.codes[42:44] == [(99, 5), (131, 7)]
    assert COPIES.codes[52] == (65539, 16)


def test_predefined_shares_fill_their_tables() -> None:
    for kind in (LITERALS, DISTANCES, COPIES):
        assert sum(map(abs, kind.fixed)) == 1 << kind.fixed_accuracy
    assert [len(kind.fixed) for kind in (LITERALS, DISTANCES, COPIES)] == [36, 29, 53]


def test_single_code_needs_no_bits() -> None:
    assert list(Sequences().read(b"\x02" + ONE_CODE_EACH + b"\x05\x00\x07" + b"\x01")) == [(5, -2, 10)] * 2


def test_extra_bits_are_in_the_order_distance_copy_literals() -> None:
    stream = 0b1_010_1_0  # the end; 3 bits, 1 bit, 1 bit
    data = b"\x01" + ONE_CODE_EACH + bytes((16, 3, 32, stream))
    assert list(Sequences().read(data)) == [(16, 8 - 3 + 2, 36)]


@pytest.mark.parametrize(
    ("count", "result"),
    [(1, b"\x01"), (127, b"\x7f"), (1, b"\x80\x01"), (300, b"\x81\x2c"), (32511, b"\xfe\xff"), (32513, b"\xff\x01\0")],
)
def test_count_is_read_from_one_to_three_bytes(count: int, result: bytes) -> None:
    assert sum(1 for _ in Sequences().read(result + ONE_CODE_EACH + b"\1\0\1" + b"\x01")) == count


def test_block_without_sequences_has_one_byte() -> None:
    assert list(Sequences().read(b"\0")) == []
    with pytest.raises(Corrupt):
        Sequences().read(b"\0\0")


def test_previous_tables_are_reused() -> None:
    sequences = Sequences()
    first = list(sequences.read(b"\x02" + ONE_CODE_EACH + b"\x05\x00\x07" + b"\x01"))
    assert list(sequences.read(b"\0")) == []
    assert list(sequences.read(b"\x02" + b"\xfc" + b"\x01")) == first


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80", id="first of two count bytes"),
        pytest.param(b"\xff\0", id="two of three count bytes"),
        pytest.param(b"\x01", id="no modes"),
        pytest.param(b"\x01\x55\x05\x00\x07\x01", id="reserved bits"),
        pytest.param(b"\x01\xfc\x01", id="no previous table"),
        pytest.param(b"\x01\x54\x24\x00\x00\x01", id="unknown literal code"),
        pytest.param(b"\x01\x54\x00\x20\x00\x01", id="unknown distance code"),
        pytest.param(b"\x01\x54\x00\x00\x35\x01", id="unknown copy code"),
        pytest.param(b"\x01\x54\x00\x00", id="missing copy code"),
        pytest.param(b"\x01\x54\x00\x00\x00", id="missing stream"),
        pytest.param(b"\x01\x54\x00\x00\x00\x02", id="one bit too many"),
        pytest.param(b"\x01\x54\x00\x00\x00\x01\x01", id="one byte too many"),
        pytest.param(b"\x01\x54\x00\x03\x00\x07", id="missing bit"),
        pytest.param(b"\x01\x00\xff\xff", id="too short for the initial states"),
    ],
)
def test_malformed_sequences_are_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        list(Sequences().read(data))
