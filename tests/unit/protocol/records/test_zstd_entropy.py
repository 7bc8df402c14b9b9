import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.streams import Corrupt
from kafkalet.protocol.records.zstd_entropy import Cells, PrefixCode, distribution, prefix_code, stream_bits
from kafkalet.protocol.records.zstd_sequences import LITERALS

WEIGHTS = [4, 3, 2, 0, 1]
"""The example of RFC 8878, section 4.2.1: bytes 0 to 5 have the codes 1, 01, 001, none, 0000 and 0001."""


def test_codes_are_assigned_by_increasing_weight() -> None:
    code = PrefixCode(WEIGHTS)
    assert code.depth == 4
    assert b"".join(code.texts) == b"\x04\x05\x02\x02" + b"\x01" * 4 + b"\x00" * 8
    assert code.bits == [4, 4, 3, 3] + [2] * 4 + [1] * 8


@pytest.mark.parametrize("is_long", [False, True])
def test_stream_is_read_backwards(is_long: bool) -> None:
    code = PrefixCode(WEIGHTS)
    if is_long:
        code.lengthen()
    assert code.read(b"\x01\x0d", 4) == b"\x00\x01\x04\x05"


@pytest.mark.parametrize("is_long", [False, True])
def test_stream_longer_than_a_window_is_decoded(is_long: bool) -> None:
    code = PrefixCode(WEIGHTS)
    if is_long:
        code.lengthen()
    codes = {0: "1", 1: "01", 2: "001", 4: "0000", 5: "0001"}
    content = bytes((0, 1, 4, 2, 5, 0, 0, 4)) * 500
    bits = int("1" + "".join(codes[byte] for byte in content), 2)
    stream = bits.to_bytes(bits.bit_length() + 7 >> 3, "little")
    assert code.read(stream, len(content)) == content


def test_long_table_decodes_several_bytes_per_lookup() -> None:
    code = PrefixCode(WEIGHTS)
    code.lengthen()
    assert code.long_texts[0b1101] == b"\x00\x00"
    assert code.long_bits[0b1101] == 2


@pytest.mark.parametrize("size", [3, 5])
def test_stream_with_other_size_is_refused(size: int) -> None:
    with pytest.raises(Corrupt):
        PrefixCode(WEIGHTS).read(b"\x01\x0d", size)


def test_stream_with_incomplete_code_is_refused() -> None:
    with pytest.raises(Corrupt):
        PrefixCode(WEIGHTS).read(b"\x04", 1)  # 00 is only the prefix of a code


@pytest.mark.parametrize("stream", [b"", b"\0", b"\1\0"])
def test_stream_without_end_mark_is_refused(stream: bytes) -> None:
    with pytest.raises(Corrupt):
        stream_bits(stream)


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param([], id="none"),
        pytest.param([0, 0], id="all weights zero"),
        pytest.param([3, 1], id="remainder is not a power of two"),
        pytest.param([2], id="code longer than necessary"),
        pytest.param([*range(1, 13)], id="too deep"),
    ],
)
def test_invalid_weights_are_refused(weights: list[int]) -> None:
    with pytest.raises(Corrupt):
        PrefixCode(weights)


def test_weights_of_four_bits_are_read() -> None:
    code, size = prefix_code(b"\x84\x43\x20\x10 and more")
    assert (code.bits, size) == (PrefixCode(WEIGHTS).bits, 4)


@pytest.mark.parametrize("data", [b"", b"\x84\x43\x20", b"\x05\x10", b"\x00", b"\x01\x00"])
def test_truncated_code_is_refused(data: bytes) -> None:
    with pytest.raises(Corrupt):
        prefix_code(data)


def test_cells_equal_those_in_the_appendix_of_the_rfc() -> None:
    table = Cells(LITERALS.fixed, 6)
    some = {0: (0, 4, 0), 1: (0, 4, 16), 2: (1, 5, 32), 10: (14, 6, 0), 17: (25, 5, 32), 38: (25, 4, 0), 43: (0, 4, 48)}
    assert {state: table[state] for state in some} == some
    assert [table[state] for state in range(60, 64)] == [(35, 6, 0), (34, 6, 0), (33, 6, 0), (32, 6, 0)]


def test_cells_of_a_symbol_lead_to_all_cells() -> None:
    table = Cells([5, 27], 5)
    cells = [table[state] for state in range(32)]
    parts = [(base, 1 << bits) for symbol, bits, base in cells if symbol == 0]
    assert sorted(parts) == [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8)]


def dealt(shares: list[int], accuracy: int) -> list[int]:
    """Return the symbol of each cell, assigned one by one as in RFC 8878, section 4.1.1."""
    size = 1 << accuracy
    symbols = [-1] * size
    place = size
    for symbol, share in enumerate(shares):
        if share < 0:
            place -= 1
            symbols[place] = symbol
    first_rare = place
    place = 0
    for symbol, share in enumerate(shares):
        for _ in range(share):
            symbols[place] = symbol
            place = (place + (size >> 1) + (size >> 3) + 3) % size
            while place >= first_rare and place:
                place = (place + (size >> 1) + (size >> 3) + 3) % size
    return symbols


@st.composite
def share_lists(draw: st.DrawFn) -> tuple[list[int], int]:
    accuracy = draw(st.integers(5, 9))
    left = 1 << accuracy
    shares = []
    while left:
        share = draw(st.one_of(st.sampled_from([-1, 0, 1, left]), st.integers(1, left))) if len(shares) < 50 else left
        shares.append(share)
        left -= abs(share)
    return shares, accuracy


@given(share_lists())
def test_cells_are_assigned_as_in_the_rfc(result: tuple[list[int], int]) -> None:
    shares, accuracy = result
    table = Cells(shares, accuracy)
    assert [table[state][0] for state in range(1 << accuracy)] == dealt(shares, accuracy)


def test_cell_is_computed_on_first_read() -> None:
    table = Cells([512], 9)
    assert not table
    assert table[300] == (0, 0, 300)
    assert len(table) == 1


def written(accuracy: int, *values: tuple[int, int]) -> bytes:
    """Encode a distribution from (value, number of bits), lowest bits first."""
    number, at = accuracy - 5, 4
    for value, bits in values:
        number |= value << at
        at += bits
    return number.to_bytes(at + 7 >> 3, "little")


def test_distribution_is_read_from_the_lowest_bit() -> None:
    """With 32 cells left, 0 to 33 take 6 bits, the first 30 of them 5; with 15 left, 0 to 14 take 4 bits; then 14."""
    data = written(5, (18, 5), (0, 4), (15, 4))
    assert distribution(data + b"more", 9, 35) == ([17, -1, 14], 5, 3)


def test_runs_of_zero_shares_are_counted_in_units_of_two_bits() -> None:
    data = written(5, (1, 5), (3, 2), (1, 2), (63, 6))
    assert distribution(data, 9, 35) == ([0, 0, 0, 0, 0, 32], 5, 3)


@pytest.mark.parametrize(
    ("data", "most_accuracy", "most_symbol"),
    [
        pytest.param(b"\x05\0\0\0\0", 9, 35, id="accuracy too high"),
        pytest.param(written(5, (18, 5), (0, 4), (15, 4)), 9, 1, id="too many symbols"),
        pytest.param(written(5, (1, 5), (3, 2), (3, 2), (3, 2)), 9, 6, id="too many zero shares"),
        pytest.param(written(5, (18, 5), (0, 4), (15, 4))[:2], 9, 35, id="truncated"),
    ],
)
def test_malformed_distributions_are_refused(data: bytes, most_accuracy: int, most_symbol: int) -> None:
    with pytest.raises(Corrupt):
        distribution(data, most_accuracy, most_symbol)
