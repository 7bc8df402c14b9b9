"""Read-only files, and iteration over the entries of a .log file that may be damaged.

`entries` yields complete entries and the unreadable ranges between them. It reads the file in windows of one megabyte;
an entry that is larger than MAX_ENTRY_BYTES is not loaded.

After unreadable bytes, iteration continues at the next position that looks like a batch of format 2 and has the right
checksum, so that one damaged length does not hide the rest of a segment. Apache Kafka's tools stop there.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    INT32,
    INT64,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_LENGTH,
    UP_TO_MAGIC,
    Batch,
)
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.storage.file_system import DISK, READ
from kafkalet.units import counted

WINDOW_BYTES = 1 << 20
MAX_ENTRY_BYTES = 256 << 20
"""The largest entry that is loaded. Kafka's default for `message.max.bytes` is one megabyte."""


class ReadOnlyFile:
    """A file that is open for reading. Raises OSError with a file name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = DISK.open(path, READ)
        try:
            self.size = DISK.size(self._fd)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        DISK.close(self._fd)

    def read(self, length: int, position: int) -> bytes:
        """Read `length` bytes, or fewer if the file ends before that."""
        try:
            return DISK.read_fully(self._fd, length, position)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None


def read_file(path: str, most_bytes: int = 1 << 30) -> bytes:
    """Return the contents of a file. Raises OSError."""
    with ReadOnlyFile(path) as file:
        return file.read(min(file.size, most_bytes), 0)


class Entry(NamedTuple):
    """A complete entry of a .log file, at `position`. `batch` contains the whole entry or, with `heads`, its header."""

    position: int
    batch: Batch


class Unreadable(NamedTuple):
    """A range of a .log file that contains no entries."""

    position: int
    end: int
    reason: str


def entries(file: ReadOnlyFile, position: int = 0, *, heads: bool = False) -> Iterator[Entry | Unreadable]:
    """Iterate over the entries from `position`, where an entry begins, to the end of the file.

    With `heads`, little more than the headers is read, and only the header of each batch is available.
    """
    window, start, end = b"", position, file.size
    next_offset = 0
    while position < end:
        at = position - start
        if at + HEADER_SIZE > len(window):
            length = 1 << 16 if heads else WINDOW_BYTES
            window, start, at = file.read(min(length, end - position), position), position, 0
        reason = _reason_against(window, at, end - position)
        if reason is not None:
            found = _next_batch(file, position + 1, next_offset)
            yield Unreadable(position, found, _zeros(file, position, found) or reason)
            position = found
            continue
        size = INT32.unpack_from(window, at + LENGTH_AT)[0] + LOG_OVERHEAD
        if not heads and at + size > len(window):
            if size > MAX_ENTRY_BYTES:
                yield Unreadable(position, position + size, f"an entry of {size} bytes is too large to be read")
                position += size
                continue
            window, start, at = file.read(min(max(WINDOW_BYTES, size), end - position), position), position, 0
            if len(window) < min(size, end - position):
                yield Unreadable(position, end, "the file became shorter while it was read")
                return
        try:
            batch = Batch(window, at)
        except KafkaError as error:
            found = _next_batch(file, position + 1, next_offset)
            yield Unreadable(position, found, error.message or "invalid header")
            position = found
            continue
        next_offset = max(next_offset, batch.next_offset)
        yield Entry(position, batch)
        position += size


def _reason_against(window: bytes, at: int, left: int) -> str | None:
    """Return why no complete entry begins at `at` in `window`; None if one does. `left` bytes are left in the file."""
    if left < LOG_OVERHEAD:
        return f"{counted(left, 'byte')}, too few for an entry"
    if len(window) - at < min(left, UP_TO_MAGIC):
        return "the file became shorter while it was read"
    (length,) = INT32.unpack_from(window, at + LENGTH_AT)
    if length < MIN_LENGTH:
        return f"the length of an entry is {length}, below the minimum of {MIN_LENGTH}"
    if left < UP_TO_MAGIC:
        return f"an entry of {length + LOG_OVERHEAD} bytes is cut off after {left} bytes"
    magic = window[at + MAGIC_AT]
    if magic > 2:
        return f"the magic of an entry is {magic}; only 0 to 2 are known"
    if magic == 2 and length < HEADER_SIZE - LOG_OVERHEAD:
        return f"the length of a batch is {length}, below the minimum of {HEADER_SIZE - LOG_OVERHEAD}"
    if length + LOG_OVERHEAD > left:
        return f"an entry of {length + LOG_OVERHEAD} bytes is cut off after {left} bytes"
    return None


def _zeros(file: ReadOnlyFile, position: int, end: int) -> str | None:
    """Return a reason if the range consists of zeros only."""
    at = position
    while at < end:
        data = file.read(min(WINDOW_BYTES, end - at), at)
        if not data or data.strip(b"\0"):
            return None
        at += len(data)
    return f"{counted(end - position, 'byte')} of zeros"


def _next_batch(file: ReadOnlyFile, position: int, next_offset: int) -> int:
    """Return the position of the next intact batch of format 2 at or after `position`; the end if there is none.

    The offsets of a segment span at most 2^31, so the upper half of a base offset has only two possible values.
    """
    high = next_offset >> 32
    prefixes = b"|".join(re.escape(each.to_bytes(4, "big")) for each in (high, high + 1))
    pattern = re.compile(b"(?=(?:%s).{12}\x02)" % prefixes, re.DOTALL)
    while position < file.size:
        window = file.read(WINDOW_BYTES + UP_TO_MAGIC, position)
        for match in pattern.finditer(window, 0, len(window)):
            if _is_batch(file, position + match.start(), next_offset):
                return position + match.start()
        if len(window) <= WINDOW_BYTES:
            break
        position += WINDOW_BYTES
    return file.size


def _is_batch(file: ReadOnlyFile, position: int, next_offset: int) -> bool:
    head = file.read(HEADER_SIZE, position)
    if len(head) < HEADER_SIZE or _reason_against(head, 0, file.size - position) is not None:
        return False
    if INT64.unpack_from(head)[0] < next_offset:
        return False
    batch = Batch(head)
    return batch.size <= MAX_ENTRY_BYTES and _crc(file, position + ATTRIBUTES_AT, position + batch.size) == batch.crc


def _crc(file: ReadOnlyFile, position: int, end: int) -> int:
    value = 0
    while position < end and (data := file.read(min(WINDOW_BYTES, end - position), position)):
        value = crc32c(data, value)
        position += len(data)
    return value
