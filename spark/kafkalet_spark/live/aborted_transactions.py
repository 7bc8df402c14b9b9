"""Find the ranges of aborted transactions in Fetch responses.

With read_committed, a response lists the aborted transactions that overlap its offsets. It gives the producer id and
the first offset of each, but not the end. A transaction ends at its producer's first ABORT marker after the first
offset. The marker is in the same response or in a later one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.batch import NO_PRODUCER_ID
from kafkalet.protocol.wire import Buffer
from kafkalet_spark.decoding.aborted import AbortedTransactions, abort_markers
from kafkalet_spark.decoding.batches import Batches

Int64s = NDArray[np.int64]

LAST = np.iinfo(np.int64).max
"""Stands for the end of a transaction whose marker is not in the response."""


def aborted_in(buffer: Buffer, batches: Batches, begun: Sequence[tuple[int, int]]) -> AbortedTransactions:
    """Return the aborted transactions of a response, given as (producer id, first offset), with their ends added. The
    ends are taken from the markers in the batches."""
    columns = np.array(begun, np.int64).reshape(-1, 2)
    producer_id, first_offset = columns[np.argsort(columns[:, 1], kind="stable")].T
    markers = batches.take(abort_markers(buffer, batches))
    return AbortedTransactions(producer_id, first_offset, _ends(producer_id, first_offset, markers))


def _ends(producer_id: Int64s, first_offset: Int64s, markers: Batches) -> Int64s:
    """For each first offset, return the offset of the first marker after it that has the same producer, or LAST.

    Markers and transactions are sorted together by producer and offset. The marker of a transaction is the next marker
    in this order, if its producer is the same.
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
