"""One entry by the exact reader: for those that are unusual, and to say what is wrong with the others."""

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.codecs import LIMIT
from kafkalet.protocol.records.record import Record
from kafkalet.protocol.wire import Buffer

from .unreadable import Unreadable


def read_exactly(buffer: Buffer, position: int, size: int, limit: int = LIMIT) -> list[Record]:
    """The records of the entry. Raises Unreadable."""
    batch = Batch(buffer, position)
    if batch.magic > 1 and batch.count < 0:
        raise Unreadable(position, size, f"its record count is {batch.count}")
    try:
        return batch.records(limit)
    except KafkaError as error:
        raise Unreadable(position, size, error.message or error.code.name) from None
