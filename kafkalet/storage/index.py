"""What .index and .timeindex share: sorted entries of fixed size, in a file and in memory.

The index of the segment that takes appends lives in two arrays and goes to its file when the segment is rolled,
flushed or closed. Indexes of older segments are loaded when somebody asks, and dropped again when the loaded ones of a
broker grow beyond a bound (`IndexPool`): a broker with ten thousand segments needs no more memory for them than one
with ten.

On disk an entry is big-endian and begins or ends with a four-byte offset relative to the segment's base offset, which
is why no offset of a segment is more than 2^31 - 1 above its base. A file may end in zeros: Kafka allocates
`segment.index.bytes` ahead and cuts the rest off when the segment is rolled or closed, which an unclean stop prevents.

No checksum covers an index. One whose entries do not rise cannot have been written by a broker; its segment builds it
again from the log (`rebuild`), and does so too when an entry turns out to lead to a wrong place.
"""

from __future__ import annotations

import logging
import os
import sys
from array import array
from collections.abc import Callable
from typing import ClassVar

from .files import Files, read_all

_log = logging.getLogger(__name__)

MAX_RELATIVE_OFFSET = (1 << 31) - 1
_SWAP = sys.byteorder == "little"


class OutOfOrder(Exception):
    """An entry that is not after the last one: the log under the index is damaged."""


class IndexPool:
    """Bounds the memory of the indexes that can be read from their files again."""

    __slots__ = ("_bytes", "_loaded", "max_bytes")

    def __init__(self, max_bytes: int = 16 << 20) -> None:
        self.max_bytes = max_bytes
        self._loaded: dict[SortedIndex, int] = {}
        self._bytes = 0

    def admit(self, index: SortedIndex) -> None:
        """`index` is loaded and may be dropped from now on; older ones go where the bound is exceeded."""
        self.dismiss(index)
        size = index.size_bytes
        self._loaded[index] = size
        self._bytes += size
        while self._bytes > self.max_bytes and len(self._loaded) > 1:
            oldest = next(iter(self._loaded))
            self.dismiss(oldest)
            oldest.unload()

    def dismiss(self, index: SortedIndex) -> None:
        self._bytes -= self._loaded.pop(index, 0)


class SortedIndex:
    """The entries of one index: `_keys` and `_values` side by side, both ascending."""

    ENTRY_BYTES: ClassVar[int]
    KEY_TYPE: ClassVar[str]

    __slots__ = (
        "_cut",
        "_files",
        "_flushed",
        "_is_kept",
        "_is_loaded",
        "_keys",
        "_pool",
        "_values",
        "base_offset",
        "max_entries",
        "path",
        "rebuild",
    )

    def __init__(
        self, files: Files, pool: IndexPool, path: str, base_offset: int, max_bytes: int, *, new: bool
    ) -> None:
        self._files = files
        self._pool = pool
        self.path = path
        self.base_offset = base_offset
        self.max_entries = max_bytes // self.ENTRY_BYTES
        self._keys = array(self.KEY_TYPE)
        self._values = array("i")
        self._is_loaded = new
        self._is_kept = new
        """The segment takes appends, so the pool must not unload the index."""
        self._flushed = 0 if new else -1
        """How many entries the file holds; -1: look there."""
        self._cut = new
        """The file holds more than `_flushed` entries, or does not exist."""
        self.rebuild: Callable[[], None] = lambda: None
        """Build this index, which is empty now, from the log."""

    # -- in memory

    def __len__(self) -> int:
        self.load()
        return len(self._keys)

    @property
    def size_bytes(self) -> int:
        """Of the entries, in the file."""
        return len(self) * self.ENTRY_BYTES

    @property
    def is_full(self) -> bool:
        return len(self) >= self.max_entries

    def can_hold(self, offset: int) -> bool:
        """`offset` can be written relative to the base."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def clear(self) -> None:
        """Drop all entries, and what the file says."""
        self._pool.dismiss(self)
        self._is_loaded = True
        self._keys = array(self.KEY_TYPE)
        self._values = array("i")
        self._flushed = 0
        self._cut = True

    def _keep(self, entries: int) -> None:
        """Drop all but the first `entries`."""
        if entries < len(self._keys):
            del self._keys[entries:]
            del self._values[entries:]
            if self._flushed > entries:
                self._flushed = entries
                self._cut = True

    # -- the file

    def load(self) -> None:
        """Read the entries from the file, where they are not here."""
        if self._is_loaded:
            return
        try:
            data = read_all(self.path)
        except FileNotFoundError:
            data = b""
        self._keys, self._values = self._decode(self._without_padding(data))
        self._is_loaded = True
        self._flushed = len(self._keys)
        self._cut = len(data) != self._flushed * self.ENTRY_BYTES
        if len(data) % self.ENTRY_BYTES or not self._rises():
            _log.warning("%s is no index, its entries do not rise; it is built again from the log", self.path)
            self.clear()
            self.rebuild()
        self.is_built()

    def is_built(self) -> None:
        """The entries are complete again, so the pool may unload them, unless the segment takes appends."""
        if not self._is_kept:
            self._pool.admit(self)

    def _rises(self) -> bool:
        """Whether keys and values are what a broker writes: not negative, keys rising, values not falling."""
        keys, values = self._keys.tolist(), self._values.tolist()
        return not keys or (
            keys[0] >= 0 <= values[0]
            and keys == sorted(keys)
            and values == sorted(values)
            and len(set(keys)) == len(keys)
        )

    def unload(self) -> None:
        """Forget the entries until they are asked for; they are in the file."""
        if self._is_loaded and self._flushed == len(self._keys) and not self._cut:
            self._keys = array(self.KEY_TYPE)
            self._values = array("i")
            self._is_loaded = False

    def keep_loaded(self) -> None:
        """The segment takes appends (again): its index is not dropped."""
        self._is_kept = True
        self.load()
        self._pool.dismiss(self)

    def allow_unload(self) -> None:
        """The segment takes no more appends, and the index is in its file."""
        self._is_kept = False
        self.load()
        self._pool.admit(self)

    def flush(self) -> None:
        """Bring the file up to date; it exists afterwards. It is not forced to the disk."""
        if not self._is_loaded or (self._flushed == len(self._keys) and not self._cut):
            return
        file = self._files.file(self.path)
        try:
            file.write(self._encode(self._flushed), self._flushed * self.ENTRY_BYTES)
            if self._cut:
                file.truncate(len(self._keys) * self.ENTRY_BYTES)
        finally:
            file.close()
        self._flushed = len(self._keys)
        self._cut = False

    def rename(self, path: str) -> None:
        """Take another name, the file with it, if there is one yet."""
        if os.path.exists(self.path):
            os.replace(self.path, path)
        self.path = path

    def remove(self) -> None:
        """Delete the file, if there is one."""
        self.forget()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def forget(self) -> None:
        """The pool need not care any more."""
        self._pool.dismiss(self)

    def _without_padding(self, data: bytes) -> bytes:
        """The entries up to the zeros that Kafka allocates ahead. A single entry may be all zeros itself."""
        size = self.ENTRY_BYTES
        whole = len(data) // size * size
        used = -(-len(data[:whole].rstrip(b"\0")) // size) * size
        return data[: size if whole == size else used]

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        raise NotImplementedError

    def _encode(self, start: int) -> bytes:
        """The entries from number `start` on, as they lie on disk."""
        raise NotImplementedError


def words(data: bytes) -> array[int]:
    """Big-endian four-byte words as numbers."""
    numbers = array("i", data)
    if _SWAP:
        numbers.byteswap()
    return numbers


def as_bytes(numbers: array[int]) -> bytes:
    """Numbers as big-endian four-byte words; `numbers` is used up."""
    if _SWAP:
        numbers.byteswap()
    return numbers.tobytes()
