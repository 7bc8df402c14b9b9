"""Find the positions of records. Only the length of a record shows where the next one begins.

The records of one batch have to be found one after another, but many batches can be walked in parallel, as lanes: step
1 finds the first record of every batch, step 2 the second record of every batch that has one, and so on. Each step
takes the same few NumPy calls for any number of lanes; if there are too few lanes to make that worthwhile, a plain loop
is used.

Nothing is verified here. Callers read all lengths again, column by column. They check that each record ends where the
next one begins, and that the last one ends at the end of the payload. By induction, this proves that all positions are
correct.
"""

from itertools import pairwise, repeat

import numpy as np

from kafkalet.protocol.wire import Buffer

from .batches import Bytes, Int64s
from .lanes import SHORTEST, arrived, cut

SMALLEST_RECORD = 7
"""The size of an empty record in bytes: length, attributes, two deltas, two lengths, header count."""
ENOUGH = 200
"""Beyond this number of lanes, additional lanes would not make walking in lockstep much cheaper per record."""
WORTH_A_SEARCH = 3000
"""With fewer records than this, finding all of them takes less time than searching for a cut."""
FEWEST = 10
"""With fewer lanes than this, a vectorized step is not worthwhile."""


def _strides() -> Int64s:
    """Return a table that maps the first two bytes of a record (as a little-endian number) to its size; 0 if its length
    takes more than two bytes."""
    words = np.arange(1 << 16)
    first, second = words & 255, words >> 8
    short = 1 + (first >> 1)
    long = 2 + ((first & 127 | second << 7) >> 1)
    return np.where(first < 128, short, np.where(second < 128, long, 0))


_STRIDES = _strides()


def record_starts(data: Bytes, start: Int64s, end: Int64s, count: Int64s) -> Int64s:
    """Return the positions of the records in the consecutive payloads `data[start:end]`, which hold `count` (> 0)
    records each."""
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
    """Walk the lanes in lockstep while there are enough of them, then walk the remaining ones one by one."""
    starts = np.empty(int(count.sum()), np.int64)
    slot = np.cumsum(count) - count
    order = np.argsort(-count, kind="stable")  # longest first, so that finished lanes are last
    having = order.size - np.cumsum(np.bincount(count))  # having[n] lanes have more than n records
    steps = int(np.count_nonzero(having >= FEWEST))
    position = start[order]
    try:
        position = _in_lockstep(data, position, slot[order], having[: steps + 1].tolist(), starts)
    except (IndexError, ValueError):  # a length points outside the buffer, so one of the lanes is malformed
        steps, position = 0, start[order]
    view = data.data
    for lane in range(int(having[steps])):
        row = order[lane]
        first, behind = int(slot[row]) + steps, int(slot[row] + count[row])
        starts[first:behind] = walk(view, int(position[lane]), int(end[row]), behind - first)
    return starts


def _in_lockstep(data: Bytes, position: Int64s, slot: Int64s, lanes: list[int], starts: Int64s) -> Int64s:
    """Take one step for each number of lanes except the last. Return the positions that the lanes have reached."""
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
            for lane in np.flatnonzero(stride == 0).tolist():  # for a record this large, a call is acceptable
                stride[lane] = _long_stride(view, int(now[lane]))
        now += stride
    return position


def walk(buffer: Buffer, position: int, end: int, count: int) -> Int64s:
    """Follow the records one after another, and return their positions. Positions that cannot be determined are set to
    `end`."""
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
    """Return the size of a record whose length has three or four bytes."""
    first, second, third, fourth = buffer[position : position + 4]
    size = first & 127 | (second & 127) << 7 | (third & 127) << 14
    return 3 + (size >> 1) if third < 128 else 4 + ((fourth << 21 | size) >> 1)
