"""Iterate over the batches of a .log file by reading only their headers.

"Entry" means a record batch, or a message of format 0 or 1. The first bytes of an entry give its length, and thus the
position of the next one. Only about sixty bytes of each large entry are read; where entries are small, the file is read
in windows of many entries. Checksums are not verified here, but by the code that reads the records.

    offset 8 | length 4 | ... | magic 1 at 16      in all formats; `length` counts the bytes after it

In formats 0 and 1, the header is the message header. A wrapper around compressed messages carries the offset and
timestamp of the last message in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kafkalet.protocol.records.batch import (
    CODEC_MASK,
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_LENGTH,
    TRANSACTIONAL,
    UP_TO_MAGIC,
)
from kafkalet.units import counted

_NEWEST_MAGIC = 2
_V2 = HEADER
_OLD = Struct(">qiIbbq")
_OLD_WITHOUT_TIME = Struct(">qiIbb")
_ENTRY_START = Struct(">qi")
_SMALLEST = (MIN_LENGTH, MIN_LENGTH + 8, HEADER_SIZE - LOG_OVERHEAD)
_LARGE_BYTES = 4096
"""The headers of entries of this size or more are read one by one."""
_WINDOW_BYTES = 1 << 16


class Head(NamedTuple):
    """The header of an entry and its position in the file. In formats 0 and 1, `base_offset` and `last_offset` are both
    the offset of the message."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    magic: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int

    @property
    def end(self) -> int:
        """The position after the entry."""
        return self.position + self.size

    @property
    def is_log_append_time(self) -> bool:
        """Whether all records of the entry have the same timestamp, `max_timestamp`."""
        return self.magic > 0 and self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_control(self) -> bool:
        return self.magic > 1 and self.attributes & CONTROL != 0

    @property
    def is_transactional(self) -> bool:
        return self.magic > 1 and self.attributes & TRANSACTIONAL != 0

    @property
    def is_wrapper(self) -> bool:
        """Whether this is a compressed message of an old format, whose header gives only the offset of the last message
        inside it."""
        return self.magic < 2 and self.attributes & CODEC_MASK != 0


class Heads:
    """An iterator over the headers of the complete entries between `start` and `end`. An entry must begin at `start`.

    When it is exhausted, `position` is the end of the last entry, and `fault` says why iteration stopped: None if it
    reached `end` or if only zeros follow (preallocated space), "truncated: ..." if an entry extends past `end`,
    otherwise the reason why the bytes cannot be an entry.
    """

    __slots__ = ("_end", "_file", "_large", "_window", "_window_at", "fault", "path", "position")

    def __init__(self, path: str, start: int, end: int) -> None:
        self.path = path
        self.position = start
        self.fault: str | None = None
        self._end = end
        self._file: int | None = None
        self._window = b""
        self._window_at = start
        self._large = True

    def __iter__(self) -> Iterator[Head]:
        if self.position >= self._end:
            return
        self._file = os.open(self.path, os.O_RDONLY)
        try:
            while (head := self._next()) is not None:
                self.position = head.end
                yield head
        finally:
            os.close(self._file)
            self._file = None

    def _next(self) -> Head | None:
        position = self.position
        left = self._end - position
        if left <= 0:
            return None
        at = self._in_window(position, min(HEADER_SIZE, left))
        window = self._window
        if len(window) - at < max(UP_TO_MAGIC, min(HEADER_SIZE, left)):
            self.fault = None if self._only_zeros() else f"truncated: {counted(left, 'byte')}, less than a header"
            return None
        base_offset, length = _ENTRY_START.unpack_from(window, at)
        magic = window[at + MAGIC_AT]
        size = length + LOG_OVERHEAD
        reason = _impossible(length, magic, base_offset)
        if reason:
            self.fault = None if length == base_offset == 0 and self._only_zeros() else reason
            return None
        if size > left:
            self.fault = f"truncated: an entry of {size} bytes, {left} left"
            return None
        self._large = size >= _LARGE_BYTES
        return _head(window, at, position, size, magic)

    def _in_window(self, position: int, need: int) -> int:
        """Return the index of `position` in the window. If the window holds fewer than `need` bytes from there on,
        refill it first."""
        at = position - self._window_at
        if at + need > len(self._window):
            assert self._file is not None
            span = HEADER_SIZE if self._large else _WINDOW_BYTES
            self._window = os.pread(self._file, min(span, self._end - position), position)
            self._window_at, at = position, 0
        return at

    def _only_zeros(self) -> bool:
        """Return whether all remaining bytes up to the end are zeros."""
        assert self._file is not None
        position = self.position
        while position < self._end:
            data = os.pread(self._file, min(1 << 20, self._end - position), position)
            if not data:
                break
            if data.count(0) != len(data):
                return False
            position += len(data)
        return True


def heads(path: str, start: int, end: int) -> Heads:
    """Iterate over the headers of the complete entries between `start` and `end`. An entry must begin at `start`. The
    file is opened when the first header is read."""
    return Heads(path, start, end)


def head_at(path: str, position: int, end: int) -> Head | None:
    """Return the header of the entry at `position`; None if no entry begins there, or if it extends past `end`."""
    return next(iter(heads(path, position, end)), None)


def _impossible(length: int, magic: int, base_offset: int) -> str:
    if magic > _NEWEST_MAGIC:
        return f"no entry has magic {magic}"
    if length < _SMALLEST[magic]:
        return f"a length of {length} bytes is too small"
    return "" if base_offset >= 0 else f"offset {base_offset} is negative"


def _head(window: bytes, at: int, position: int, size: int, magic: int) -> Head:
    if magic == 2:
        base, _, epoch, _, _, attributes, delta, _, timestamp, *producer, _ = _V2.unpack_from(window, at)
        return Head(position, size, base, base + delta, epoch, 2, attributes, timestamp, *producer)
    timestamp = -1
    if magic == 1:
        base, _, _, _, attributes, timestamp = _OLD.unpack_from(window, at)
    else:
        base, _, _, _, attributes = _OLD_WITHOUT_TIME.unpack_from(window, at)
    return Head(position, size, base, base, -1, magic, attributes, timestamp, -1, -1, -1)
