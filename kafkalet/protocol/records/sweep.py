"""A sweep over the records of a batch: runs as runs, the others one by one."""

from typing import Protocol

from .runs import MIN_RAGGED_RECORDS, MIN_RECORDS, Run, find_ragged_run, find_run
from .shapes import Unusual


class Reader(Protocol):
    """Takes in the records of a batch, in order, either way."""

    def one_by_one(self, position: int, index: int, until: int) -> int:
        """Take the records `index` to `until` - 1, the first of which starts at `position`: the position behind."""
        ...

    def take_run(self, run: Run, index: int) -> None:
        """Take the records `index` to `index` + run.length - 1."""
        ...


def sweep(buffer: bytes | bytearray, start: int, end: int, count: int, reader: Reader) -> None:
    """Let `reader` take `count` records, which have to fill `buffer[start:end]`.

    Raises Unusual or IndexError where the records are not well-formed, or not sure to be. Where there are no runs, they
    are looked for less and less often.
    """
    position, index, stretch, at_most = start, 0, MIN_RECORDS, MIN_RAGGED_RECORDS
    while index < count:
        run = _find(buffer, position, end, index, min(count - index, at_most))
        if run is not None:
            reader.take_run(run, index)
            index += run.length
            position = run.end
            if run.length >= MIN_RECORDS:
                stretch, at_most = MIN_RECORDS, 8 * run.length
                continue
        until = min(count, index + stretch)
        position = reader.one_by_one(position, index, until)
        index = until
        stretch, at_most = 4 * stretch, MIN_RAGGED_RECORDS
    if position != end:
        raise Unusual


def _find(buffer: bytes | bytearray, start: int, end: int, index: int, count: int) -> Run | None:
    """A run at `start`, of either kind."""
    try:
        if count >= MIN_RECORDS:
            return find_run(buffer, start, end, index, count)
    except Unusual:
        pass
    try:
        if count >= MIN_RAGGED_RECORDS:
            return find_ragged_run(buffer, start, end, index, count)
    except Unusual:
        pass
    return None
