"""Varints and tag sections (KIP-482), as the compiled functions call them.

    section     count | count x (tag | size | value)        count, tag and size are varints; tags ascend

A field that only some clients know travels as a tag. Whoever does not know it keeps its bytes with the struct and
writes them again where they were: so a proxy loses nothing, and a broker need not care.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from .errors import DecodeError, EncodeError

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


def read_tag(data: Frame, at: int) -> tuple[int, int, int]:
    """Read a tag and the size of its value: the tag, where the value begins, and where it ends."""
    tag, at = read_uvarint(data, at)
    size, at = read_uvarint(data, at)
    if size > len(data) - at:
        raise DecodeError(f"tag {tag}: {size - len(data) + at} bytes too few")
    return tag, at, at + size


def skip_tags(data: Frame, at: int) -> int:
    """Go over a tag section and give its end."""
    count, at = read_uvarint(data, at)
    for _ in range(count):
        _, _, at = read_tag(data, at)
    return at


def keep_tags(struct: Any, data: Frame, at: int) -> int:
    """Keep a whole tag section with a struct that knows none of its tags; give its end."""
    count, at = read_uvarint(data, at)
    tags = {}
    for _ in range(count):
        tag, start, at = read_tag(data, at)
        tags[tag] = bytes(data[start:at])
    struct.unknown_tags = tags
    return at


def keep_tag(struct: Any, tag: int, value: Frame) -> None:
    """Keep one tag with a struct that knows others."""
    if tags := struct.unknown_tags:
        tags[tag] = bytes(value)
    else:
        struct.unknown_tags = {tag: bytes(value)}


def check_tag(tag: int, at: int, end: int) -> None:
    """A known tag has to be as long as it says it is."""
    if at != end:
        raise DecodeError(f"tag {tag} ends {abs(end - at)} bytes {'after' if end > at else 'before'} its value")


def tag_section(known: list[tuple[int, bytes]], unknown: dict[int, bytes]) -> bytes:
    """The section of a struct that may have tags which it does not know."""
    tags = dict(known)
    if both := tags.keys() & unknown.keys():
        raise EncodeError(f"tags {sorted(both)} have a meaning in this version and cannot be carried over from another")
    tags |= unknown
    pieces = [write_uvarint(len(tags))]
    for tag in sorted(tags):
        pieces += (write_uvarint(tag), write_uvarint(len(tags[tag])), tags[tag])
    return b"".join(pieces)


RUNTIME: dict[str, Callable[..., Any]] = {
    "read_uvarint": read_uvarint,
    "write_uvarint": write_uvarint,
    "read_tag": read_tag,
    "keep_tags": keep_tags,
    "keep_tag": keep_tag,
    "check_tag": check_tag,
    "tag_section": tag_section,
}
"""What compiled functions find under these names."""
