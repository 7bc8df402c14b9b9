"""Walking through the entries of a .log file, by their headers or whole (Kafka's FileLogInputStream).

`heads` reads little more than the headers, `entries` all bytes; both read ahead, and neither holds more than a window
and one entry in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import (
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
    """Position and header of each entry that lies whole between `position`, where one begins, and `end`.

    Of such a Batch only what the header says is there, not the records. Raises KafkaError(CORRUPT_MESSAGE) where a
    length can not be right.
    """
    window, start, span = b"", position, _HEAD_WINDOW
    while end - position > UP_TO_MAGIC:
        at = position - start
        if at + HEADER_SIZE > len(window):
            if at <= len(window):
                span = min(span * 2, _MAX_HEAD_WINDOW)  # small entries: there will be more of them
            window, start, at = file.read(min(span, end - position), position), position, 0
        size = _size_of(window, at, file, position)
        if size > end - position:
            return
        yield position, Batch(window, at)
        position += size


def entries(file: File, position: int, end: int) -> Iterator[tuple[int, Batch]]:
    """Position and entry of each that lies whole between `position`, where one begins, and `end`; raises as `heads`."""
    window, start = b"", position
    while end - position > UP_TO_MAGIC:
        at = position - start
        if at + UP_TO_MAGIC > len(window):
            window, start, at = file.read(min(_ENTRY_WINDOW, end - position), position), position, 0
        size = _size_of(window, at, file, position)
        if size > end - position:
            return
        if at + size > len(window):
            window, start, at = file.read(min(max(_ENTRY_WINDOW, size), end - position), position), position, 0
        yield position, Batch(window, at)
        position += size


def entry(file: File, position: int, size: int) -> Batch:
    """The one entry at `position`, whole."""
    return Batch(file.read(size, position))


def _size_of(window: bytes, at: int, file: File, position: int) -> int:
    """The size of the entry whose head is at `at` in `window` and at `position` in the file."""
    length: int = INT32.unpack_from(window, at + LENGTH_AT)[0]
    if length < MIN_LENGTH or (window[at + MAGIC_AT] > 1 and length < HEADER_SIZE - LOG_OVERHEAD):
        raise KafkaError(
            Code.CORRUPT_MESSAGE,
            f"Found record size {length} smaller than minimum record overhead ({MIN_LENGTH}) in file {file.path}, "
            f"at position {position}.",
        )
    return length + LOG_OVERHEAD
