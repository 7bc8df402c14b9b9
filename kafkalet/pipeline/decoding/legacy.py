"""Messages of formats 0 and 1, a column for each field: what `kafkalet.protocol.records.legacy` says of them.

That is easy, for every entry is a record, unless it is a wrapper around compressed ones: those are not read here.
"""

from typing import NamedTuple

import numpy as np

from .batches import Batches, Bytes, Int64s, Mask

_KEY_AT = np.array([18, 26])


class Messages(NamedTuple):
    """One row for each message; positions are in the buffer, sizes in bytes and below 0 for null."""

    is_sound: Mask  # well-formed, and no wrapper
    key: Int64s
    key_size: Int64s
    value: Int64s
    value_size: Int64s


def read_messages(data: Bytes, batches: Batches) -> Messages:
    """The fields of the entries, all of which have the format 0 or 1."""
    end = batches.end
    at = batches.position + _KEY_AT[batches.magic]
    key_size = _read_sizes(data, at)
    key = at + 4
    at = key + np.maximum(key_size, 0)
    value_size = _read_sizes(data, at)
    value = at + 4
    is_sound = (batches.codec == 0) & (value + np.maximum(value_size, 0) <= end)
    return Messages(is_sound, key, key_size, value, value_size)


def _read_sizes(data: Bytes, at: Int64s) -> Int64s:
    """Big-endian integers of 32 bits; beyond the buffer its last byte is read again and again."""
    size = np.zeros(at.size, np.int32)
    for index in range(4):
        size = size << 8 | data.take(at + index, mode="clip")
    return size.astype(np.int64)
