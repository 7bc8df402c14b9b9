"""The zig-zag varints of records of format 2.

An integer n is mapped to n * 2 (n >= 0) or -n * 2 - 1 (n < 0), and written in groups of seven bits, lowest first. The
high bit of a byte is set if another byte follows. A varint encodes 32 bits in at most five bytes, and a varlong 64 bits
in at most ten. Reading a longer one raises VarintTooLong, and reading an incomplete one IndexError. `record.py` has
inline code for one- and two-byte varints and uses this module for longer ones.
"""

from kafkalet.protocol.wire import Buffer


def encode_unsigned(number: int) -> bytes:
    """Encode a non-negative number as a varint without zig-zag."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


LOW = bytes(range(128, 256, 2)) * 128
"""The first bytes of the two-byte encodings of 0, 1, 2, ...: the low seven bits and the continuation bit."""
HIGH = b"".join(bytes((high,)) * 64 for high in range(128))
"""The second bytes of the same encodings."""
MIDDLE = b"".join(bytes((high | 128,)) * 64 for high in range(128))
"""The second bytes of the three-byte encodings of the same numbers, and of the 8192 after each multiple of 8192."""


def _small() -> list[bytes]:
    """Return the encodings of 0 to 8191.

    They are sliced from one bytes object, because 8,000 calls to `encode_unsigned` would slow down start-up.
    """
    pairs = bytearray(2 * len(LOW))
    pairs[::2], pairs[1::2] = LOW, HIGH
    pieces = bytes(pairs)
    return [bytes((number << 1,)) for number in range(64)] + [pieces[at : at + 2] for at in range(128, len(pieces), 2)]


SMALL = _small()
"""The encodings of 0 to 8191, which have one or two bytes."""


def encode(number: int) -> bytes:
    """Encode a signed 64-bit number as a varint or varlong (the encodings are the same)."""
    if 0 <= number < 8192:
        return SMALL[number]
    unsigned = number << 1 if number >= 0 else ~number << 1 | 1
    if 1 << 14 <= unsigned < 1 << 21:
        return bytes((unsigned & 127 | 128, unsigned >> 7 & 127 | 128, unsigned >> 14))
    return encode_unsigned(unsigned)


class VarintTooLong(ValueError):
    """The varint has too many bytes (an IllegalArgumentException in Kafka's ByteUtils)."""


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a 32-bit varint. Return the number and its end.

    Bits beyond the 32nd are dropped, as in ByteUtils.readVarint. Raises VarintTooLong if the fifth byte has the
    continuation bit, and IndexError at the end of the buffer.
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
    """Read a 64-bit varlong. Return the number and its end. Raises as `read_varint` does, but allows ten bytes."""
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
