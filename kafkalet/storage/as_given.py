"""Checks entries that a test appends exactly as they are (`Log.append_as_given`).

The entries may be damaged inside: a wrong checksum, an unknown codec, records that cannot be decoded. Entries that no
log can contain are refused: incomplete entries, offsets or leader epochs that go back, and batches that contradict the
state of their producer.
"""

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records import legacy
from kafkalet.protocol.records.batch import NO_LEADER_EPOCH, Batch, batches
from kafkalet.protocol.records.codecs import LIMIT

from .acceptance import ValidatedBatches
from .files import Buffer
from .values import UNKNOWN_OFFSET

MAX_OFFSET = (1 << 63) - 1


def accept_as_given(
    records: Buffer, *, next_offset: int, earliest_epoch: int, leader_epoch: int, name: str
) -> list[ValidatedBatches]:
    """Return the entries in `records`, one by one, unchanged.

    Offsets must not be below `next_offset`, the log end offset of the log `name`. Leader epochs must be -1, or between
    `earliest_epoch`, the latest one in the log, and `leader_epoch`, the current one. Raises ValueError.
    """
    accepted = []
    end = 0
    for batch in _entries(records):
        where = f"the entry at byte {batch.position}"
        first_offset = _first_offset(batch)
        lowest = batch.base_offset if first_offset == UNKNOWN_OFFSET else first_offset
        if lowest < next_offset:
            limit = f"the log end offset of {name} is {next_offset}" if not end else f"{next_offset} comes next"
            raise ValueError(f"{where} has offset {lowest}, but {limit}; offsets never go back in a log")
        if not batch.base_offset <= batch.last_offset < MAX_OFFSET:
            raise ValueError(f"{where} has base offset {batch.base_offset} but last offset {batch.last_offset}")
        if batch.leader_epoch != NO_LEADER_EPOCH:
            if not earliest_epoch <= batch.leader_epoch <= leader_epoch:
                allowed = _epochs(earliest_epoch, leader_epoch)
                raise ValueError(
                    f"{where} has leader epoch {batch.leader_epoch}; allowed are {allowed} "
                    "(leader epochs never go back, and a new one begins with new_leader_epoch())"
                )
            earliest_epoch = batch.leader_epoch
        if batch.is_control and batch.count < 0:
            raise ValueError(f"{where} is a control batch of {batch.count} records")
        end, next_offset = batch.end, batch.next_offset
        accepted.append(
            ValidatedBatches(
                memoryview(records)[batch.position : end],
                (batch,),
                first_offset,
                batch.last_offset,
                batch.max_timestamp,
                batch.last_offset,
                UNKNOWN_OFFSET,
            )
        )
    if not accepted or end != len(records):
        left = len(records) - end
        raise ValueError(f"the last {left} of {len(records)} bytes are not a complete entry" if left else "no entries")
    return accepted


def _entries(records: Buffer) -> list[Batch]:
    try:
        return list(batches(records))
    except KafkaError as error:
        raise ValueError(f"not the entries of a log: {error.message}") from error


def _first_offset(batch: Batch) -> int:
    """Return the offset of the first record; -1 for a compressed wrapper that cannot be decoded."""
    if batch.magic >= 2 or batch.count >= 0:
        return batch.base_offset
    try:
        return min(record.offset for record in legacy.decode_message(batch.view(), LIMIT))
    except KafkaError:
        return UNKNOWN_OFFSET


def _epochs(earliest: int, latest: int) -> str:
    return f"-1 and {latest}" if earliest >= latest else f"-1 and {max(earliest, 0)} to {latest}"
