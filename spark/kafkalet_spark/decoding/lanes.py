"""Split long batches into lanes, which can be walked in parallel, at positions where a record seems to begin.

A record in the middle of a batch can be recognized: its length is followed by a zero (the attributes), its last field
ends where its length says, its offset delta is between 0 and the record count, and another such record with the next
delta follows. The bytes after each desired cut are searched for this pattern. A match may still be part of a value, so
it is verified later. The offset delta of a record is also the number of records before it. Walking the right number of
records from the previous cut must therefore lead exactly to the position of the match. If it does not, the cut was
wrong.

Batches with gaps in their offset deltas, which compaction leaves behind, cannot be split in this way.
"""

from typing import NamedTuple

import numpy as np

from .batches import Bytes, Int64s, Mask
from .fields import RecordFields, read_fields
from .varints import read_varints

WANTED = 512
"""The desired number of lanes. With this many, the fixed cost of a step is small."""
SHORTEST = 64
"""The minimum number of records per lane. For a shorter lane, the search for its start is not worthwhile."""
_SEARCHED = 2
"""How far to search for the start of a record, as a multiple of the average record size."""
_WIDEST = 16 << 10
"""How far to search for the start of a record at most, in bytes."""


class Lanes(NamedTuple):
    """The lanes: ranges of records, in order."""

    start: Int64s
    end: Int64s
    count: Int64s  # type: ignore[assignment]  # hides tuple.count
    payload: Int64s  # index of the payload that the lane belongs to


def cut(data: Bytes, start: Int64s, end: Int64s, count: Int64s) -> Lanes:
    """Split the payloads `data[start:end]`, which hold `count` records each, into about `WANTED` lanes in total, or
    fewer if not enough cuts are found."""
    parts = np.minimum(count // SHORTEST, WANTED * count // max(1, int(count.sum())) + 1)
    record_bytes = (end - start) // count + 1
    cuts = np.maximum(parts - 1, 0)
    payload = np.repeat(np.arange(count.size), cuts)
    number = np.arange(payload.size) - np.repeat(np.cumsum(cuts) - cuts, cuts) + 1
    target = start[payload] + (end - start)[payload] * number // parts[payload]
    width = int(min(_WIDEST, _SEARCHED * record_bytes.max() + 16, data.size))
    found, position, delta = _beginnings(data, target, width, end[payload], count[payload])
    payload = payload[found]
    everything = np.concatenate((np.arange(count.size), payload))
    order = np.argsort(everything, kind="stable")  # for each payload: its start, then its cuts
    payload = everything[order]
    lane_start = np.concatenate((start, position))[order]
    before = np.concatenate((np.zeros(count.size, np.int64), delta))[order]
    is_last = np.append(payload[1:] != payload[:-1], True)
    behind = np.where(is_last, count[payload], np.append(before[1:], 0))
    lane_end = np.where(is_last, end[payload], np.append(lane_start[1:], 0))
    lanes = Lanes(lane_start, lane_end, behind - before, payload)
    return _without_nonsense(lanes, start, end, count)


def _without_nonsense(lanes: Lanes, start: Int64s, end: Int64s, count: Int64s) -> Lanes:
    """Merge the lanes of each payload that has an empty or inverted lane into one lane."""
    is_odd = (lanes.count <= 0) | (lanes.end <= lanes.start)
    if not is_odd.any():
        return lanes
    whole = np.unique(lanes.payload[is_odd])
    kept = ~np.isin(lanes.payload, whole)
    columns = [
        np.concatenate((column[kept], other))
        for column, other in zip(lanes, (start[whole], end[whole], count[whole], whole), strict=True)
    ]
    order = np.argsort(columns[0])
    return Lanes(*(column[order] for column in columns))


def _beginnings(data: Bytes, target: Int64s, width: int, end: Int64s, count: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Search for a record after each `target`. Return the indexes of the targets that have a match, with the positions
    and offset deltas of the matches."""
    rows, position = _suspects(data, np.minimum(target, data.size - width), width)
    fields, behind = _read_one(data, position, end[rows])
    good = fields.is_sound & (fields.offset_delta > 0) & (fields.offset_delta < count[rows] - 1)
    rows, position, behind, delta = rows[good], position[good], behind[good], fields.offset_delta[good]
    following, _ = _read_one(data, behind, end[rows])
    good = following.is_sound & (following.offset_delta == delta + 1)
    rows, position, delta = rows[good], position[good], delta[good]
    order = np.lexsort((position, rows))
    found, first = np.unique(rows[order], return_index=True)
    first = order[first]
    return found, position[first], delta[first]


def _suspects(data: Bytes, target: Int64s, width: int) -> tuple[Int64s, Int64s]:
    """Find lengths of one or two bytes that are followed by a zero. Return their positions, each with the index of its
    target."""
    windows = np.lib.stride_tricks.sliding_window_view(data, width)[target]
    row, column = np.divmod(np.flatnonzero(windows == 0), width)
    zero = target[row] + column
    one, two = data.take(zero - 1, mode="clip"), data.take(zero - 2, mode="clip")
    is_short = (one >= 12) & (one < 128) & (one & 1 == 0) & (column > 0)
    is_long = (one > 0) & (one < 128) & (two > 127) & (two & 1 == 0) & (column > 1)
    return np.concatenate((row[is_short], row[is_long])), np.concatenate((zero[is_short] - 1, zero[is_long] - 2))


def _read_one(data: Bytes, position: Int64s, limit: Int64s) -> tuple[RecordFields, Int64s]:
    """Read the fields of possible records, and the ends given by their lengths. A record that extends past `limit` is
    not sound."""
    size, body = read_varints(data, position)
    end = body + size
    fields = read_fields(data, position, end)
    return fields._replace(is_sound=fields.is_sound & (end <= limit)), end


def arrived(data: Bytes, lanes: Lanes, starts: Int64s) -> Mask:
    """Mark the lanes whose last record ends at the end of the lane. `starts` holds the positions of all records of all
    lanes."""
    size, body = read_varints(data, starts[np.cumsum(lanes.count) - 1])
    has_arrived: Mask = body + size == lanes.end
    return has_arrived
