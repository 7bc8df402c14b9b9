"""Long batches cut into lanes: places where a record seems to begin, found by looking and believed on arrival.

A record in the middle of a batch looks like one: a zero (its attributes) stands behind its length, its fields end where
its length says, its offset delta lies between 0 and the count, and the record behind it looks like that too and has the
next delta. So a stretch in front of each place where a cut is wanted is searched for that. It may still be something
that somebody put into a value. But the delta says how many records lie before it, too: whoever walks that many records
from the cut before has to arrive exactly here, else the cut was wrong.

Batches whose offset deltas have gaps, as compaction leaves them, cannot be cut that way.
"""

from typing import NamedTuple

import numpy as np

from .batches import Bytes, Int64s, Mask
from .fields import RecordFields, read_fields
from .varints import read_varints

WANTED = 512
"""So many lanes make the costs of a step small."""
SHORTEST = 64
"""Records of a lane; shorter ones would not be worth the search for their beginning."""
_SEARCHED = 2
"""How many records of usual size are searched for the beginning of one."""
_WIDEST = 16 << 10
"""Bytes searched at most for one beginning."""


class Lanes(NamedTuple):
    """Stretches of records, in order."""

    start: Int64s
    end: Int64s
    count: Int64s  # type: ignore[assignment]  # hides the method of tuples
    payload: Int64s  # the row of the payload of which it is a part


def cut(data: Bytes, start: Int64s, end: Int64s, count: Int64s) -> Lanes:
    """The payloads `data[start:end]` of `count` records in about `WANTED` lanes, as far as beginnings are found."""
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
    order = np.argsort(everything, kind="stable")  # the beginning of each payload, and behind it the cuts
    payload = everything[order]
    lane_start = np.concatenate((start, position))[order]
    before = np.concatenate((np.zeros(count.size, np.int64), delta))[order]
    is_last = np.append(payload[1:] != payload[:-1], True)
    behind = np.where(is_last, count[payload], np.append(before[1:], 0))
    lane_end = np.where(is_last, end[payload], np.append(lane_start[1:], 0))
    lanes = Lanes(lane_start, lane_end, behind - before, payload)
    return _without_nonsense(lanes, start, end, count)


def _without_nonsense(lanes: Lanes, start: Int64s, end: Int64s, count: Int64s) -> Lanes:
    """Payloads whose cuts are not in order are not cut at all."""
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
    """For the `target`s behind which one is found: their rows, where it is, and its offset delta."""
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
    """Where a length of one or two bytes stands before a zero: the rows of the targets, the places."""
    windows = np.lib.stride_tricks.sliding_window_view(data, width)[target]
    row, column = np.divmod(np.flatnonzero(windows == 0), width)
    zero = target[row] + column
    one, two = data.take(zero - 1, mode="clip"), data.take(zero - 2, mode="clip")
    is_short = (one >= 12) & (one < 128) & (one & 1 == 0) & (column > 0)
    is_long = (one > 0) & (one < 128) & (two > 127) & (two & 1 == 0) & (column > 1)
    return np.concatenate((row[is_short], row[is_long])), np.concatenate((zero[is_short] - 1, zero[is_long] - 2))


def _read_one(data: Bytes, position: Int64s, limit: Int64s) -> tuple[RecordFields, Int64s]:
    """The fields of what may be records, and where they end by their length; sound only if not beyond `limit`."""
    size, body = read_varints(data, position)
    end = body + size
    fields = read_fields(data, position, end)
    return fields._replace(is_sound=fields.is_sound & (end <= limit)), end


def arrived(data: Bytes, lanes: Lanes, starts: Int64s) -> Mask:
    """The lanes whose last record ends where the lane does; `starts` are those of all records of all lanes."""
    size, body = read_varints(data, starts[np.cumsum(lanes.count) - 1])
    has_arrived: Mask = body + size == lanes.end
    return has_arrived
