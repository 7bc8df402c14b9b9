"""The fixed part of batches of format 2 (61 bytes, DefaultRecordBatch), for many at once, and their checksums.

CRC-32C covers all that follows it, so it is the one thing to be done batch by batch. Base offset and leader epoch lie
outside of it: they may be set later, when it is known where in its log a batch comes to lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.crc32c import crc32c

HEAD = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
HEAD_BYTES = HEAD.itemsize
_UNCOUNTED = 12
"""Base offset and length itself do not count in `length`."""
_CRC_FROM = 21


def new_heads(count: int, leader_epoch: int) -> NDArray[np.void]:
    """Heads of so many batches without a producer, to be filled in."""
    heads = np.zeros(count, HEAD)
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
