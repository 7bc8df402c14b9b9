"""Where the records begin: only the length of one tells where the next one is.

Nothing is verified here. Whoever uses these positions reads all lengths again, column by column, and sees whether each
record ends where the next one begins and the last one where the payload ends. That proves all of them, by induction.
"""

from itertools import repeat

import numpy as np

from kafkalet.protocol.wire import Buffer

from .batches import Int64s

SMALLEST_RECORD = 7
"""Bytes of a record with nothing in it: length, attributes, two deltas, two lengths, header count."""


def record_starts(buffer: Buffer, start: Int64s, end: Int64s, count: Int64s) -> Int64s:
    """The positions of `count` records in each of the payloads `buffer[start:end]`, one payload behind the other."""
    starts = [
        walk(buffer, first, behind, number)
        for first, behind, number in zip(start.tolist(), end.tolist(), count.tolist(), strict=True)
    ]
    return np.concatenate(starts) if starts else np.empty(0, np.int64)


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
                third, fourth = buffer[position + 2], buffer[position + 3]
                size = size & 127 | (second & 127) << 7 | (third & 127) << 14
                if third < 128:
                    position += 3 + (size >> 1)
                else:
                    position += 4 + ((fourth << 21 | size) >> 1)
        except IndexError:
            break
        if position >= end:
            break
    return np.array(starts + [end] * (count - len(starts)), np.int64)
