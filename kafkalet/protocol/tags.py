"""Varints and tag sections (KIP-482), as the compiled functions call them.

    section     count | count x (tag | size | value)        count, tag and size are varints; tags ascend

A field that only some clients know travels as a tag. A reader skips the tags that its declaration does not have.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from .errors import DecodeError, EncodeError
from .text import MAX_STRING_BYTES

Frame: TypeAlias = bytes | bytearray
"""What messages are decoded from. Records stay views of it; a bytearray lets them be patched in place."""

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
    """Read an unsigned varint: what it says, and where it ends. IndexError at the end of the data."""
    n = data[at] & 127
    for shift in (7, 14, 21, 28):
        if data[at] < 128:
            return n, at + 1
        at += 1
        n |= (data[at] & 127) << shift
    if data[at] < 128:
        return n, at + 1
    raise DecodeError("a varint of more than five bytes")


def write_string_length(n: int) -> bytes:
    """Write the compact length of a string of `n` bytes. Raises EncodeError if it is too long."""
    if n > MAX_STRING_BYTES:
        raise EncodeError(f"a string of {n} bytes; at most {MAX_STRING_BYTES} is allowed")
    return write_uvarint(n + 1)


def read_tag(data: Frame, at: int) -> tuple[int, int, int]:
    """Read a tag and the size of its value: the tag, where the value begins, and where it ends."""
    tag, at = read_uvarint(data, at)
    size, at = read_uvarint(data, at)
    if size > len(data) - at:
        raise DecodeError(f"tag {tag}: {size - len(data) + at} bytes too few")
    return tag, at, at + size


def skip_tags(data: Frame, at: int) -> int:
    """Skip a tag section and return where it ends."""
    count, at = read_uvarint(data, at)
    for _ in range(count):
        _, _, at = read_tag(data, at)
    return at


def check_tag(tag: int, at: int, end: int) -> None:
    """A known tag has to be as long as it says it is."""
    if at != end:
        raise DecodeError(f"tag {tag} ends {abs(end - at)} bytes {'after' if end > at else 'before'} its value")


def tag_section(tags: list[tuple[int, bytes]]) -> bytes:
    """Write a tag section; the tags have to be in ascending order."""
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
"""What compiled functions find under these names."""
