"""Where transactions were aborted, as far as an answer to Fetch tells.

Under read_committed a broker says which aborted transactions reach into the offsets of its answer: whose they are and
where they began, but not where they end. That says the log: a transaction ends with the first ABORT marker of its
producer behind its beginning, which is in the answer, or in a later one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.decoding.aborted import AbortedTransactions, abort_markers
from kafkalet.pipeline.decoding.batches import Batches
from kafkalet.protocol.records.batch import NO_PRODUCER_ID
from kafkalet.protocol.wire import Buffer

Int64s = NDArray[np.int64]

LAST = np.iinfo(np.int64).max
"""Where a transaction ends whose marker is not there."""


def aborted_in(buffer: Buffer, batches: Batches, begun: Sequence[tuple[int, int]]) -> AbortedTransactions:
    """The transactions (producer id, first offset) of an answer, with the ends that its batches tell."""
    columns = np.array(begun, np.int64).reshape(-1, 2)
    producer_id, first_offset = columns[np.argsort(columns[:, 1], kind="stable")].T
    markers = batches.take(abort_markers(buffer, batches))
    return AbortedTransactions(producer_id, first_offset, _ends(producer_id, first_offset, markers))


def _ends(producer_id: Int64s, first_offset: Int64s, markers: Batches) -> Int64s:
    """The offset of the first marker of the same producer behind each offset, or LAST.

    All are put in one order, by producer and offset; there the marker wanted is the next one, if it is of the producer.
    """
    producers = np.concatenate((markers.producer_id, producer_id))
    offsets = np.concatenate((markers.base_offset, first_offset))
    order = np.lexsort((offsets, producers))
    place = np.where(order < markers.base_offset.size, np.arange(order.size), order.size)
    following = np.minimum.accumulate(place[::-1])[::-1]
    ends = np.append(offsets[order], LAST)[following]
    ends[np.append(producers[order], NO_PRODUCER_ID)[following] != producers[order]] = LAST
    in_place = np.empty_like(ends)
    in_place[order] = ends
    return in_place[markers.base_offset.size :]
