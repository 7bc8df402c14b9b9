"""Zig-zag varints, as the records of format 2 have them.

An integer n is mapped to n * 2 (n >= 0) or -n * 2 - 1 (n < 0), and that is written seven bits a byte, the lowest
first; the high bit of a byte says that another one follows. A varint carries 32 bits in at most five bytes, a
varlong 64 bits in at most ten. What is longer is refused; what is shorter than it claims raises IndexError.

`record.py` has the one- and two-byte cases inlined and comes here for the others.
"""

from kafkalet.protocol.wire import Buffer


def encode_unsigned(number: int) -> bytes:
    """`number` (>= 0) seven bits a byte, without zig-zag."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


LOW = bytes(range(128, 256, 2)) * 128
"""The first bytes of the encodings of 64, 65, ... (and of 0 to 63, as two bytes): seven bits, and "goes on"."""
HIGH = b"".join(bytes((high,)) * 64 for high in range(128))
"""Their second bytes."""


def _small() -> list[bytes]:
    """Cut out of one piece: eight thousand calls of `encode_unsigned` would show in the start-up time."""
    pairs = bytearray(2 * len(LOW))
    pairs[::2], pairs[1::2] = LOW, HIGH
    pieces = bytes(pairs)
    return [bytes((number << 1,)) for number in range(64)] + [pieces[at : at + 2] for at in range(128, len(pieces), 2)]


SMALL = _small()
"""The encodings of 0 to 8191: those of one and two bytes."""


def encode(number: int) -> bytes:
    """`number`, which fits in 64 signed bits, as a varint (or varlong: they look the same)."""
    if 0 <= number < 8192:
        return SMALL[number]
    unsigned = number << 1 if number >= 0 else ~number << 1 | 1
    if 1 << 14 <= unsigned < 1 << 21:
        return bytes((unsigned & 127 | 128, unsigned >> 7 & 127 | 128, unsigned >> 14))
    return encode_unsigned(unsigned)


class VarintTooLong(ValueError):
    """More bytes than the integer can have; Kafka's IllegalArgumentException of ByteUtils."""


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A 32-bit varint: (number, position behind it).

    Bits beyond the 32nd are dropped, as ByteUtils.readVarint does. Raises VarintTooLong when the fifth byte
    promises a sixth, IndexError at the end of the buffer.
    """
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise VarintTooLong(f"Varint is too long, the most significant bit in the 5th byte is set: {value:#x}")
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A 64-bit varlong: (number, position behind it). Raises as `read_varint`, for an eleventh byte."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise VarintTooLong(f"Varlong is too long, most significant bit in the 10th byte is set: {value:#x}")
    value &= 0xFFFFFFFFFFFFFFFF
    return (value >> 1) ^ -(value & 1), position
