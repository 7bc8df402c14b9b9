"""Where the records begin: only the length of one tells where the next one is.

So the records of one batch are found one after the other, but nothing keeps us from doing that in many batches at once:
the first record of every batch, then the second of every batch that has one, and so on (lanes, in lockstep). Each step
is the same few calls of NumPy for all lanes; where there are too few of them for that to pay, a plain loop walks along.

Nothing is verified here. Whoever uses these positions reads all lengths again, column by column, and sees whether each
record ends where the next one begins and the last one where the payload ends. That proves all of them, by induction.
"""

from itertools import pairwise, repeat

import numpy as np

from kafkalet.protocol.wire import Buffer

from .batches import Bytes, Int64s
from .lanes import SHORTEST, arrived, cut

SMALLEST_RECORD = 7
"""Bytes of a record with nothing in it: length, attributes, two deltas, two lengths, header count."""
ENOUGH = 200
"""Of that many lanes, lockstep costs next to nothing more than of very many."""
WORTH_A_SEARCH = 3000
"""Of fewer records than that, all are found before the first place to cut is."""
FEWEST = 10
"""Fewer lanes than that are not worth a step."""


def _strides() -> Int64s:
    """By the first two bytes of a record (a little-endian number): how far the next one is, 0 if that needs more."""
    words = np.arange(1 << 16)
    first, second = words & 255, words >> 8
    short = 1 + (first >> 1)
    long = 2 + ((first & 127 | second << 7) >> 1)
    return np.where(first < 128, short, np.where(second < 128, long, 0))


_STRIDES = _strides()


def record_starts(data: Bytes, start: Int64s, end: Int64s, count: Int64s) -> Int64s:
    """Of the payloads `data[start:end]`, one behind the other: the positions of the `count` (> 0) records in each."""
    if count.size >= ENOUGH or int(count.sum()) < WORTH_A_SEARCH or int(count.max()) < 2 * SHORTEST:
        return _starts(data, start, end, count)
    lanes = cut(data, start, end, count)
    starts = _starts(data, lanes.start, lanes.end, lanes.count)
    lost = np.unique(lanes.payload[~arrived(data, lanes, starts)])
    if lost.size:
        is_lost = np.zeros(count.size, np.bool_)
        is_lost[lost] = True
        starts[np.repeat(is_lost, count)] = _starts(data, start[lost], end[lost], count[lost])
    return starts


def _starts(data: Bytes, start: Int64s, end: Int64s, count: Int64s) -> Int64s:
    """In lockstep as long as there are lanes enough; the rest one by one."""
    starts = np.empty(int(count.sum()), np.int64)
    slot = np.cumsum(count) - count
    order = np.argsort(-count, kind="stable")  # so those that are done first are at the end, and are left off there
    having = order.size - np.cumsum(np.bincount(count))  # how many have more records than so many
    steps = int(np.count_nonzero(having >= FEWEST))
    position = start[order]
    try:
        position = _in_lockstep(data, position, slot[order], having[: steps + 1].tolist(), starts)
    except (IndexError, ValueError):  # a length led out of the buffer, so one of the lanes is not well-formed
        steps, position = 0, start[order]
    view = data.data
    for lane in range(int(having[steps])):
        row = order[lane]
        first, behind = int(slot[row]) + steps, int(slot[row] + count[row])
        starts[first:behind] = walk(view, int(position[lane]), int(end[row]), behind - first)
    return starts


def _in_lockstep(data: Bytes, position: Int64s, slot: Int64s, lanes: list[int], starts: Int64s) -> Int64s:
    """Steps of so many lanes each, the last of them not taken any more. Where the lanes have come to."""
    view = data.data
    words = np.ndarray((data.size - 1,), "<u2", data, strides=(1,))
    now = position
    for count, going_on in pairwise(lanes):
        starts[slot] = now
        slot += 1
        if going_on != count:
            now, slot = now[:going_on], slot[:going_on]
        stride = _STRIDES.take(words[now])
        if np.count_nonzero(stride) != going_on:
            for lane in np.flatnonzero(stride == 0).tolist():  # so large a record is worth a call
                stride[lane] = _long_stride(view, int(now[lane]))
        now += stride
    return position


def walk(buffer: Buffer, position: int, end: int, count: int) -> Int64s:
    """One record after the other. Positions that make no sense are `end`."""
    starts: list[int] = []
    add = starts.append
    for _ in repeat(None, count):
        add(position)
        try:
            size = buffer[position]
            if size < 128:
                position += 1 + (size >> 1)
            elif (second := buffer[position + 1]) < 128:
                position += 2 + ((second << 7 | size & 127) >> 1)
            else:
                position += _long_stride(buffer, position)
        except (IndexError, ValueError):
            break
        if position >= end:
            break
    return np.array(starts + [end] * (count - len(starts)), np.int64)


def _long_stride(buffer: Buffer, position: int) -> int:
    """How far the next record is from one whose length has three or four bytes."""
    first, second, third, fourth = buffer[position : position + 4]
    size = first & 127 | (second & 127) << 7 | (third & 127) << 14
    return 3 + (size >> 1) if third < 128 else 4 + ((fourth << 21 | size) >> 1)
