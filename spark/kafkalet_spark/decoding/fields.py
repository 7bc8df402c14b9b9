"""Read the fields of records as columns, given the positions of the records.

The layout of format 2 is described in `kafkalet.protocol.records.record`. `is_sound` marks the records that are proven
to be well-formed: according to its length, such a record ends where the next one begins, and its last field ends there
too. The fields of all other records are meaningless.

The layout of formats 0 and 1 is described in `kafkalet.protocol.records.legacy`. In these formats, every entry is a
single record or a wrapper around compressed messages. Wrappers are not read here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .batches import Batches, Bytes, Int64s, Mask
from .varints import TIMESTAMP_BYTES, read_varints


class RecordFields(NamedTuple):
    """The fields of format 2 records, one row per record. Positions are relative to the buffer; sizes are in bytes, and
    negative for null."""

    is_sound: Mask
    timestamp_delta: Int64s
    offset_delta: Int64s
    key: Int64s
    key_size: Int64s
    value: Int64s
    value_size: Int64s
    header_count: Int64s
    headers: Int64s  # the position of the first header
    end: Int64s


def read_fields(data: Bytes, start: Int64s, end: Int64s) -> RecordFields:
    """Read the fields of the records whose bytes are `data[start:end]`. The headers are not read; they need a separate
    check."""
    size, position = read_varints(data, start)
    is_sound = position + size == end
    timestamp_delta, position = read_varints(data, position + 1, TIMESTAMP_BYTES)
    offset_delta, position = read_varints(data, position)
    key_size, key = read_varints(data, position)
    value_size, value = read_varints(data, key + np.maximum(key_size, 0))
    header_count, headers = read_varints(data, value + np.maximum(value_size, 0))
    has_headers = header_count != 0
    is_sound &= np.where(has_headers, (headers <= end) & (header_count > 0), headers == end)
    return RecordFields(
        is_sound, timestamp_delta, offset_delta, key, key_size, value, value_size, header_count, headers, end
    )


_KEY_AT = np.array([18, 26])


class Messages(NamedTuple):
    """The fields of messages of format 0 or 1, one row per message. Positions are relative to the buffer; sizes are in
    bytes, and negative for null."""

    is_sound: Mask  # whether it is well-formed and not a wrapper
    key: Int64s
    key_size: Int64s
    value: Int64s
    value_size: Int64s


def read_messages(data: Bytes, batches: Batches) -> Messages:
    """Read the fields of entries, all of which must have format 0 or 1."""
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
    """Read big-endian 32-bit integers. Past the end of the buffer, its last byte is repeated."""
    size = np.zeros(at.size, np.int32)
    for index in range(4):
        size = size << 8 | data.take(at + index, mode="clip")
    return size.astype(np.int64)
