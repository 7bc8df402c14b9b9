"""Build the headers of many format 2 batches at a time (61 bytes each, DefaultRecordBatch), with their checksums.

The CRC-32C covers everything that follows it in the batch, so it is the only step that is done batch by batch. It does
not cover the base offset and the leader epoch, so these can be set later, when the position of a batch in its log is
known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.crc32c import crc32c
from kafkalet_spark.decoding.batches import HEADER

HEAD_BYTES = HEADER.itemsize
_UNCOUNTED = 12
"""The number of bytes that `length` does not count: the base offset, and the length field itself."""
_CRC_FROM = 21


def new_heads(count: int, leader_epoch: int) -> NDArray[np.void]:
    """Return `count` headers to be filled in. They have no producer yet."""
    heads = np.zeros(count, HEADER)
    heads["leader_epoch"] = leader_epoch
    heads["magic"] = 2
    heads["producer_id"] = -1
    heads["producer_epoch"] = -1
    heads["base_sequence"] = -1
    return heads


def sealed(heads: NDArray[np.void], payloads: Sequence[bytes | memoryview]) -> list[memoryview]:
    """Fill in the lengths and checksums of the headers. Their records are in `payloads`. Return each header as
    bytes."""
    heads["length"] = [HEAD_BYTES - _UNCOUNTED + len(payload) for payload in payloads]
    view = memoryview(heads.view(np.uint8).data)
    starts = range(0, len(view), HEAD_BYTES)
    heads["crc"] = [
        crc32c(payload, crc32c(view[at + _CRC_FROM : at + HEAD_BYTES]))
        for at, payload in zip(starts, payloads, strict=True)
    ]
    return [view[at : at + HEAD_BYTES] for at in starts]
