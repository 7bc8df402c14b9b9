"""Logs with transactions for tests of readers, and the records that a consumer would return from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker

T0 = 1_700_000_000_000


class Step(NamedTuple):
    """The next action of a producer: end its transaction, or write `count` records, in a transaction if it has an
    id."""

    producer_id: int
    count: int = 1
    end: ControlType | None = None


class Log(NamedTuple):
    """Batches with their base offsets, and the aborted transactions (producer, first offset, last offset)."""

    batches: list[bytes]
    offsets: list[int]
    aborted: list[tuple[int, int, int]]
    hidden: list[bool]
    """The batches that read_committed skips: markers and aborted batches."""
    last_stable_offset: int

    @property
    def end_offset(self) -> int:
        return self.offsets[-1]


def build(steps: Sequence[Step]) -> Log:
    """Write a log. Ends of transactions that were not started are skipped."""
    batches, offsets, aborted, hidden = [], [0], [], []
    begun: dict[int, tuple[int, list[int]]] = {}
    for producer_id, count, end in steps:
        offset = offsets[-1]
        if end is None:
            rows = [(T0 + offset + each, b"%d" % producer_id, b"%d" % (offset + each), ()) for each in range(count)]
            batches.append(
                build_batch(
                    numbered(rows, offset),
                    base_offset=offset,
                    producer_id=producer_id,
                    producer_epoch=0 if producer_id >= 0 else -1,
                    base_sequence=offset if producer_id >= 0 else -1,
                    is_transactional=producer_id >= 0,
                )
            )
            hidden.append(False)
            offsets.append(offset + count)
            if producer_id >= 0:
                begun.setdefault(producer_id, (offset, []))[1].append(len(batches) - 1)
        elif producer_id in begun:
            first_offset, written = begun.pop(producer_id)
            batches.append(
                build_end_marker(
                    EndMarker(end, 0), timestamp=T0, producer_id=producer_id, producer_epoch=0, base_offset=offset
                )
            )
            hidden.append(True)
            offsets.append(offset + 1)
            if end is ControlType.ABORT:
                aborted.append((producer_id, first_offset, offset))
                for index in written:
                    hidden[index] = True
    stable = min((first for first, _ in begun.values()), default=offsets[-1])
    return Log(batches, offsets, aborted, hidden, stable)


def steps(producers: int = 4) -> st.SearchStrategy[list[Step]]:
    """Any sequence of steps; producer -1 writes outside of transactions."""
    ends = st.sampled_from([None, None, ControlType.ABORT, ControlType.COMMIT])
    return st.lists(
        st.builds(
            lambda producer_id, count, end: Step(producer_id, count, end if producer_id >= 0 else None),
            st.integers(-1, producers - 1),
            st.integers(1, 3),
            ends,
        ),
        min_size=1,
        max_size=40,
    )
