"""What .index and .timeindex have in common: sorted entries of fixed size, in a file and in memory.

The index of the active segment is kept in two arrays and written to its file when the segment is rolled, flushed or
closed. Indexes of older segments are loaded on first use and unloaded when the loaded indexes of the broker exceed a
limit (`IndexPool`), so memory use does not grow with the number of segments.

On disk an entry is big-endian and begins or ends with a four-byte offset relative to the segment's base offset, so no
offset of a segment is more than 2^31 - 1 above its base offset. A file may be padded with zeros: Kafka preallocates
`segment.index.bytes` and trims the file when the segment is rolled or closed. After an unclean shutdown, the padding is
still there.

Indexes have no checksum. An index whose entries do not increase is corrupt, and the segment rebuilds it from the log
(`rebuild`). The same happens when an entry points to a wrong position.
"""

from __future__ import annotations

import logging
import sys
from array import array
from collections.abc import Callable
from typing import ClassVar

from .files import Files

_LOG = logging.getLogger(__name__)

MAX_RELATIVE_OFFSET = (1 << 31) - 1
_SWAP = sys.byteorder == "little"


class OutOfOrder(Exception):
    """An entry is not above the one before it: the log is corrupt."""


class IndexPool:
    """Limits the memory of indexes that can be reloaded from their files."""

    __slots__ = ("_bytes", "_loaded", "max_bytes")

    def __init__(self, max_bytes: int = 16 << 20) -> None:
        self.max_bytes = max_bytes
        self._loaded: dict[SortedIndex, int] = {}
        self._bytes = 0

    def admit(self, index: SortedIndex) -> None:
        """Add a loaded index that may be unloaded. Unload the oldest ones if the limit is exceeded."""
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
        *("_cut", "_files", "_flushed", "_is_kept", "_is_loaded", "_keys", "_pool", "_values", "base_offset"),
        *("max_entries", "path", "rebuild"),
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
        """Whether the segment takes appends. If so, the index must not be unloaded."""
        self._flushed = 0 if new else -1
        """The number of entries in the file; -1 if unknown."""
        self._cut = new
        """Whether the file must be truncated to `_flushed` entries or created."""
        self.rebuild: Callable[[], None] = lambda: None
        """Called to rebuild this index from the log after it has been cleared."""

    # In memory

    def __len__(self) -> int:
        self.load()
        return len(self._keys)

    @property
    def size_bytes(self) -> int:
        """The size of the entries in the file."""
        return len(self) * self.ENTRY_BYTES

    @property
    def file_size_bytes(self) -> int:
        """The size of the entries in the file. If they are not loaded, this is the size of the file."""
        if self._is_loaded:
            return self.size_bytes
        try:
            return self._files.system.status(self.path).st_size // self.ENTRY_BYTES * self.ENTRY_BYTES
        except FileNotFoundError:
            return 0

    @property
    def is_full(self) -> bool:
        return (len(self._keys) if self._is_loaded else len(self)) >= self.max_entries

    def can_hold(self, offset: int) -> bool:
        """Return whether `offset` can be stored relative to the base offset."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def clear(self) -> None:
        """Remove all entries. The file is truncated at the next flush."""
        self._pool.dismiss(self)
        self._is_loaded = True
        self._keys = array(self.KEY_TYPE)
        self._values = array("i")
        self._flushed = 0
        self._cut = True

    def _keep(self, entries: int) -> None:
        """Remove all but the first `entries`."""
        if entries < len(self._keys):
            del self._keys[entries:]
            del self._values[entries:]
            if self._flushed > entries:
                self._flushed = entries
                self._cut = True

    # The file

    def load(self) -> None:
        """Read the entries from the file if they are not loaded."""
        if self._is_loaded:
            return
        try:
            data = self._files.read_all(self.path)
        except FileNotFoundError:
            data = b""
        self._keys, self._values = self._decode(self._without_padding(data))
        self._is_loaded = True
        self._flushed = len(self._keys)
        self._cut = len(data) != self._flushed * self.ENTRY_BYTES
        if len(data) % self.ENTRY_BYTES or not self._rises():
            _LOG.warning("%s is corrupt: its entries do not increase; rebuilding it from the log", self.path)
            self.clear()
            self.rebuild()
        self.is_built()

    def is_built(self) -> None:
        """Add the loaded index to the pool, unless its segment takes appends."""
        if not self._is_kept:
            self._pool.admit(self)

    def _rises(self) -> bool:
        """Return whether the entries are valid: not negative, keys increasing, values not decreasing."""
        keys, values = self._keys.tolist(), self._values.tolist()
        return not keys or (
            keys[0] >= 0 <= values[0]
            and keys == sorted(keys)
            and values == sorted(values)
            and len(set(keys)) == len(keys)
        )

    def unload(self) -> None:
        """Drop the entries from memory if the file has all of them."""
        if self._is_loaded and self._flushed == len(self._keys) and not self._cut:
            self._keys = array(self.KEY_TYPE)
            self._values = array("i")
            self._is_loaded = False

    def keep_loaded(self) -> None:
        """Keep the index in memory, because its segment takes appends (again)."""
        self._is_kept = True
        self.load()
        self._pool.dismiss(self)

    def allow_unload(self) -> None:
        """Allow the pool to unload the index: its segment takes no more appends, and the file is complete."""
        self._is_kept = False
        self.load()
        self._pool.admit(self)

    def flush(self) -> None:
        """Write all changes to the file, without fsync. The file exists afterwards."""
        if not self._is_loaded or (self._flushed == len(self._keys) and not self._cut):
            return
        file = self._files.file(self.path)
        try:
            if self._cut and not self._flushed:
                file.truncate(0)  # so that an overlay need not copy a preallocated file that is written anew
            file.write(self._encode(self._flushed), self._flushed * self.ENTRY_BYTES)
            if self._cut:
                file.truncate(len(self._keys) * self.ENTRY_BYTES)
        finally:
            file.close()
        self._flushed = len(self._keys)
        self._cut = False

    def image(self) -> bytes:
        """Return the contents of the file after a flush."""
        self.load()
        return self._encode(0)

    def rename(self, path: str) -> None:
        """Change the path, and rename the file if it exists."""
        system = self._files.system
        if system.exists(self.path):
            system.rename(self.path, path)
        self.path = path

    def remove(self) -> None:
        """Delete the file if it exists."""
        self.forget()
        system = self._files.system
        if system.exists(self.path):
            system.unlink(self.path)

    def forget(self) -> None:
        """Remove the index from the pool."""
        self._pool.dismiss(self)

    def _without_padding(self, data: bytes) -> bytes:
        """Remove the zero padding that Kafka preallocates. If there is a single entry, it may itself be all zeros."""
        size = self.ENTRY_BYTES
        whole = len(data) // size * size
        used = -(-len(data[:whole].rstrip(b"\0")) // size) * size
        return data[: size if whole == size else used]

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        raise NotImplementedError

    def _encode(self, start: int) -> bytes:
        """Return the entries from number `start` onwards, in the format of the file."""
        raise NotImplementedError


def words(data: bytes) -> array[int]:
    """Convert big-endian four-byte words to numbers."""
    numbers = array("i", data)
    if _SWAP:
        numbers.byteswap()
    return numbers


def as_bytes(numbers: array[int]) -> bytes:
    """Convert numbers to big-endian four-byte words; `numbers` is overwritten."""
    if _SWAP:
        numbers.byteswap()
    return numbers.tobytes()
