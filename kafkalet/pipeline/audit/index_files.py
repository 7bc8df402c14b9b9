"""The entries of index files as they are, right or wrong.

`kafkalet.pipeline.logs.indexes` refuses a file at its first impossible entry, as a reader should. An audit wants all
of them, each with its position.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.logs.files import read_whole


def read_entries(path: str, entry: np.dtype[Any], *, is_padded: bool = True) -> NDArray[Any]:
    """The whole entries, up to the zeros that may be allocated ahead. Raises FileNotFoundError, UnreadableFile.

    An entry of zeros may itself be the first one, where there is no other: (timestamp 0, base offset).
    """
    data = read_whole(path)
    size = entry.itemsize
    whole = len(data) // size
    if is_padded and whole > 1:
        whole = -(-len(data.rstrip(b"\0")) // size)
        whole = min(whole, len(data) // size)
    return np.frombuffer(data, entry, whole)


def torn_bytes(path: str, entry: np.dtype[Any]) -> int:
    """How many bytes behind the last whole entry are not zero, or more than none: less than an entry."""
    size = os.path.getsize(path)
    rest = size % entry.itemsize
    if rest == 0:
        return 0
    with open(path, "rb") as file:
        file.seek(size - rest)
        return rest if file.read().strip(b"\0") else 0
