"""Batches for tests, as sent by a producer or as stored in a log."""

import struct
from typing import Any

from kafkalet.protocol.records.batch import Batch
from kafkalet_conformance.notation import message_sets, record_batches

T0 = 1_600_000_000_000


def to_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def record(
    ts: int = T0, key: str | bytes | None = None, value: str | bytes | None = "v", **more: Any
) -> dict[str, Any]:
    return {"ts": ts, "key": key, "value": value} | more


def produced(*records: dict[str, Any] | int, **fields: Any) -> bytearray:
    """Return a batch as sent by a producer; a number stands for a record at that many milliseconds after T0.

    The fields are those of the golden transcripts: codec, producer_id, producer_epoch, base_sequence, transactional,
    control, ts_type, and `set` for invalid header fields.
    """
    made = [record(T0 + each) if isinstance(each, int) else each for each in records]
    return bytearray(record_batches.build({"records": made} | fields, to_bytes))


def message_set(magic: int, *records: dict[str, Any] | int, **fields: Any) -> bytearray:
    """Return a message set of format 0 or 1."""
    made = [record(T0 + each) if isinstance(each, int) else each for each in records]
    return bytearray(message_sets.build({"magic": magic, "records": made} | fields, to_bytes))


def logged(offset: int, count: int = 1, *, ts: int = T0, **fields: Any) -> Batch:
    """Return a batch of `count` records as stored in a log, starting at `offset`."""
    data = produced(*[record(ts)] * count, **fields)
    struct.pack_into(">q", data, 0, offset)
    return Batch(data)


def marker(
    offset: int, producer_id: int, producer_epoch: int = 0, *, commit: bool, coordinator_epoch: int = 0, ts: int = T0
) -> Batch:
    """Return a transaction marker as stored in a log."""
    end = record(ts, struct.pack(">hh", 0, commit), struct.pack(">hi", 0, coordinator_epoch))
    data = produced(end, transactional=True, control=True, producer_id=producer_id, producer_epoch=producer_epoch)
    struct.pack_into(">q", data, 0, offset)
    return Batch(data)
