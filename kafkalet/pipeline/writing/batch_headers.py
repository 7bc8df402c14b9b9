"""The fixed part of batches of format 2 (61 bytes, DefaultRecordBatch), for many at once, and their checksums.

CRC-32C covers all that follows it, so it is the one thing to be done batch by batch. Base offset and leader epoch lie
outside of it: they may be set later, when it is known where in its log a batch comes to lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.decoding.batches import HEADER
from kafkalet.protocol.records.crc32c import crc32c

HEAD_BYTES = HEADER.itemsize
_UNCOUNTED = 12
"""Base offset and length itself do not count in `length`."""
_CRC_FROM = 21


def new_heads(count: int, leader_epoch: int) -> NDArray[np.void]:
    """Heads of so many batches without a producer, to be filled in."""
    heads = np.zeros(count, HEADER)
    heads["leader_epoch"] = leader_epoch
    heads["magic"] = 2
    heads["producer_id"] = -1
    heads["producer_epoch"] = -1
    heads["base_sequence"] = -1
    return heads


def sealed(heads: NDArray[np.void], payloads: Sequence[bytes | memoryview]) -> list[memoryview]:
    """The heads as bytes, one each, with lengths and checksums over themselves and the records behind them."""
    heads["length"] = [HEAD_BYTES - _UNCOUNTED + len(payload) for payload in payloads]
    view = memoryview(heads.view(np.uint8).data)
    starts = range(0, len(view), HEAD_BYTES)
    heads["crc"] = [
        crc32c(payload, crc32c(view[at + _CRC_FROM : at + HEAD_BYTES]))
        for at, payload in zip(starts, payloads, strict=True)
    ]
    return [view[at : at + HEAD_BYTES] for at in starts]
