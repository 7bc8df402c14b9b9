"""Read the entries of index files without validation.

`kafkalet_spark.logs.indexes` raises an error at the first invalid entry, as a reader should. An audit needs all
entries, valid or not.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.logs.files import read_whole


def read_entries(path: str, entry: np.dtype[Any], *, is_padded: bool = True) -> NDArray[Any]:
    """Return the complete entries, without preallocated zeros. Raises FileNotFoundError, UnreadableFile.

    A single all-zero entry is kept because it may be valid: timestamp 0 at the base offset.
    """
    data = read_whole(path)
    size = entry.itemsize
    whole = len(data) // size
    if is_padded and whole > 1:
        whole = -(-len(data.rstrip(b"\0")) // size)
        whole = min(whole, len(data) // size)
    return np.frombuffer(data, entry, whole)


def padding_bytes(path: str, entry: np.dtype[Any]) -> int:
    """Return the number of zero bytes after the last entry that `read_entries` returns."""
    padding = os.path.getsize(path) - read_entries(path, entry).nbytes
    return padding if padding >= entry.itemsize else 0


def torn_bytes(path: str, entry: np.dtype[Any]) -> int:
    """Return the number of bytes after the last complete entry. Preallocated files have a whole number of entries."""
    return os.path.getsize(path) % entry.itemsize
