"""Distinguished names in DER, for tests."""


def item(tag: int, value: bytes) -> bytes:
    """Encode an item."""
    size = len(value)
    if size < 0x80:
        return bytes([tag, size]) + value
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(digits)]) + digits + value


def object_identifier(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    encoded = b""
    for number in (first * 40 + second, *rest):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        encoded += bytes(reversed(digits))
    return item(0x06, encoded)


def attribute(kind: str, tag: int, value: bytes) -> bytes:
    return item(0x30, object_identifier(kind) + item(tag, value))


def relative_name(*attributes: bytes) -> bytes:
    return item(0x31, b"".join(attributes))


def name(*relative_names: bytes) -> bytes:
    return item(0x30, b"".join(relative_names))
