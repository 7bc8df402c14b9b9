"""Iteration over the entries of a .log file, headers only or complete (Kafka's FileLogInputStream).

`heads` reads little more than the headers; `entries` reads everything. Both read ahead and keep at most one window and
one entry in memory.
"""

from collections.abc import Iterator

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import (
    ENTRY_HEAD,
    HEADER_SIZE,
    INT32,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_LENGTH,
    UP_TO_MAGIC,
    Batch,
)

from .files import File

_HEAD_WINDOW = 4096
_MAX_HEAD_WINDOW = 1 << 16
_ENTRY_WINDOW = 1 << 20


def heads(file: File, position: int, end: int) -> Iterator[tuple[int, Batch]]:
    """Iterate over the positions and headers of complete entries from `position`, where an entry begins, to `end`.

    The Batch objects contain only the header, not the records. Raises KafkaError(CORRUPT_MESSAGE) for an invalid
    length, and if the file has been cut off before `end`.
    """
    window, start, span = b"", position, _HEAD_WINDOW
    while end - position > UP_TO_MAGIC:
        at = position - start
        if at + HEADER_SIZE > len(window):
            if at <= len(window):
                span = min(span * 2, _MAX_HEAD_WINDOW)  # the entries are small, so more of them will follow
            window, start, at = _read(file, min(span, end - position), position), position, 0
        size = _size_of(window, at, file, position)
        if size > end - position:
            return
        yield position, Batch(window, at)
        position += size


def find(file: File, position: int, end: int, offset: int) -> tuple[int, int, int, int, int] | None:
    """Starting with the entry at `position`, find the first one whose last offset is `offset` or larger.

    Return the base offset of the entry at `position`, and the position, size, base offset and last offset of the found
    entry; None if there is no such entry before `end`, or if an entry has an unusual header: `heads` tells which.
    """
    window, start, first = b"", position, None
    while end - position > ENTRY_HEAD.size:
        at = position - start
        if at + ENTRY_HEAD.size > len(window):
            window, start, at = file.read(min(_HEAD_WINDOW, end - position), position), position, 0
            if len(window) < ENTRY_HEAD.size:
                return None
        base_offset, length, magic, last_offset_delta = ENTRY_HEAD.unpack_from(window, at)
        size = length + LOG_OVERHEAD
        if magic != 2 or size < HEADER_SIZE or size > end - position:
            return None
        if first is None:
            first = base_offset
        if base_offset + last_offset_delta >= offset:
            return first, position, size, base_offset, base_offset + last_offset_delta
        position += size
    return None


def entries(file: File, position: int, end: int) -> Iterator[tuple[int, Batch]]:
    """Iterate over the positions and complete entries from `position` to `end`. Raises the same errors as `heads`."""
    window, start = b"", position
    while end - position > UP_TO_MAGIC:
        at = position - start
        if at + UP_TO_MAGIC > len(window):
            window, start, at = _read(file, min(_ENTRY_WINDOW, end - position), position), position, 0
        size = _size_of(window, at, file, position)
        if size > end - position:
            return
        if at + size > len(window):
            window, start, at = file.read(min(max(_ENTRY_WINDOW, size), end - position), position), position, 0
        yield position, Batch(window, at)
        position += size


def entry(file: File, position: int, size: int) -> Batch:
    """Read the complete entry at `position`."""
    return Batch(file.read(size, position))


def _read(file: File, length: int, position: int) -> bytes:
    """Read up to `length` bytes that the file should contain. Raises KafkaError if it has fewer than a header."""
    data = file.read(length, position)
    if len(data) < min(length, HEADER_SIZE):
        raise KafkaError(Code.CORRUPT_MESSAGE, f"{file.path} has been cut off at position {position + len(data)}")
    return data


def _size_of(window: bytes, at: int, file: File, position: int) -> int:
    """Return the size of an entry. Its header begins at `at` in `window`, which is `position` in the file."""
    length: int = INT32.unpack_from(window, at + LENGTH_AT)[0]
    if length < MIN_LENGTH or (window[at + MAGIC_AT] > 1 and length < HEADER_SIZE - LOG_OVERHEAD):
        raise KafkaError(
            Code.CORRUPT_MESSAGE,
            f"Found record size {length} smaller than minimum record overhead ({MIN_LENGTH}) in file {file.path}, "
            f"at position {position}.",
        )
    return length + LOG_OVERHEAD
