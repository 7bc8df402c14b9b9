"""Unsigned varints and tagged fields (KIP-482): functions that the compiled encoders and decoders call.

    section     count | count x (tag | size | value)        count, tag and size are varints; tags are in ascending order

Optional fields are sent as tagged fields. A reader skips the tags that it does not know.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from .errors import DecodeError, EncodeError
from .text import MAX_STRING_BYTES

Frame: TypeAlias = bytes | bytearray
"""The data that messages are decoded from. Records are views of this data; in a bytearray, they can be patched."""

ONE_BYTE = [bytes((n,)) for n in range(128)]


def write_uvarint(n: int) -> bytes:
    if n < 128:
        return ONE_BYTE[n]
    if n < 16384:
        return bytes((n & 127 | 128, n >> 7))
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_uvarint(data: Frame, at: int) -> tuple[int, int]:
    """Read an unsigned varint. Return its value and its end. Raises IndexError at the end of the data."""
    n = data[at] & 127
    for shift in (7, 14, 21, 28):
        if data[at] < 128:
            return n, at + 1
        at += 1
        n |= (data[at] & 127) << shift
    if data[at] < 128:
        return n, at + 1
    raise DecodeError("varint is longer than five bytes")


def write_string_length(n: int) -> bytes:
    """Encode the compact length of a string of `n` bytes. Raises EncodeError if the string is too long."""
    if n > MAX_STRING_BYTES:
        raise EncodeError(f"string of {n} bytes is too long; at most {MAX_STRING_BYTES} bytes are allowed")
    return write_uvarint(n + 1)


def read_tag(data: Frame, at: int) -> tuple[int, int, int]:
    """Read a tag and the size of its value. Return the tag, and the start and end of the value."""
    tag, at = read_uvarint(data, at)
    size, at = read_uvarint(data, at)
    if size > len(data) - at:
        raise DecodeError(f"tag {tag}: {size - len(data) + at} bytes missing")
    return tag, at, at + size


def skip_tags(data: Frame, at: int) -> int:
    """Skip a tag section and return its end."""
    count, at = read_uvarint(data, at)
    for _ in range(count):
        _, _, at = read_tag(data, at)
    return at


def check_tag(tag: int, at: int, end: int) -> None:
    """Raise DecodeError unless the value of a known tag ends at `end`, as its size indicates."""
    if at != end:
        raise DecodeError(f"tag {tag} ends {abs(end - at)} bytes {'after' if end > at else 'before'} its value")


def tag_section(tags: list[tuple[int, bytes]]) -> bytes:
    """Encode a tag section. The tags have to be in ascending order."""
    pieces = [write_uvarint(len(tags))]
    for tag, value in tags:
        pieces += (write_uvarint(tag), write_uvarint(len(value)), value)
    return b"".join(pieces)


RUNTIME: dict[str, Callable[..., Any]] = {
    "read_uvarint": read_uvarint,
    "write_string_length": write_string_length,
    "write_uvarint": write_uvarint,
    "read_tag": read_tag,
    "skip_tags": skip_tags,
    "check_tag": check_tag,
    "tag_section": tag_section,
}
"""The functions that the compiled encoders and decoders use as globals."""
