"""Decode single entries with the full decoder: unusual ones, and corrupt ones to report what is wrong with them."""

from __future__ import annotations

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.codecs import LIMIT
from kafkalet.protocol.records.record import Record
from kafkalet.protocol.wire import Buffer


class Unreadable(Exception):
    """The entry at `position` in the buffer cannot be read; `reason` says why.

    `size` is the size of the entry in bytes. If the stored size is invalid, `size` covers everything up to the end of
    the buffer, because no further entry can be found.
    """

    def __init__(self, position: int, size: int, reason: str) -> None:
        super().__init__(position, size, reason)
        self.position = position
        self.size = size
        self.reason = reason

    def __str__(self) -> str:
        return f"the entry at position {self.position} ({self.size} bytes): {self.reason}"


def read_exactly(buffer: Buffer, position: int, size: int, limit: int = LIMIT) -> list[Record]:
    """Return the records of the entry. Raises Unreadable."""
    batch = Batch(buffer, position)
    if batch.magic > 1 and batch.count < 0:
        raise Unreadable(position, size, f"its record count is {batch.count}")
    try:
        return batch.records(limit)
    except KafkaError as error:
        raise Unreadable(position, size, error.message or error.code.name) from None
