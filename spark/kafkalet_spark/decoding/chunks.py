"""Read a file of entries, or a byte range of such a file, as buffers of complete entries.

Each chunk starts after the last complete entry of the previous chunk, so an entry that does not fit at the end of one
chunk is the first entry of the next. Only one buffer is held in memory, of `chunk_bytes` or of the size of one entry if
that is larger.

Data that cannot be read is returned as a `Problem` instead of a batch: an entry with a bad checksum, an entry that
extends past the end of the file, and everything from an impossible size or magic on, because the next entry cannot be
found then. Zeros up to the end of the file are not a problem: they are left by a crash if the segment was preallocated
(`preallocate`).
"""

import os
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

import numpy as np

from kafkalet.protocol.records.batch import LOG_OVERHEAD, UP_TO_MAGIC
from kafkalet.protocol.wire import Buffer
from kafkalet.units import counted

from .aborted import AbortedTransactions
from .batches import Batches, scan, wrong_checksums

_OFFSET_AND_LENGTH = Struct(">qi")
_BLOCK_BYTES = 1 << 20


class Problem(NamedTuple):
    """A byte range of a file that cannot be read."""

    path: str
    position: int  # in the file
    size: int  # in bytes
    reason: str
    base_offset: int | None  # as stored; None if the range is too short to hold it


class Chunk(NamedTuple):
    """Some complete entries of a log, and any problems between or after them."""

    path: str  # of the file; or the name of the broker and partition
    position: int  # of the buffer in the file
    buffer: Buffer
    batches: Batches  # with positions relative to `buffer`
    problems: tuple[Problem, ...]
    aborted: AbortedTransactions | None = None  # None unless the records of aborted transactions are to be skipped


def read_chunks(
    path: str, start: int, end: int, *, chunk_bytes: int = 8 << 20, check_crcs: bool = True
) -> Iterator[Chunk]:
    """Yield the entries of a file between the positions `start` and `end` as chunks. An entry must begin at `start`.
    Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        descriptor = file.fileno()
        limit = min(end, os.fstat(descriptor).st_size)
        position, wanted = start, chunk_bytes
        while position < limit:
            buffer = os.pread(descriptor, min(wanted, limit - position), position)
            batches, stop, unreadable = scan(buffer)
            behind = position + stop
            problems: tuple[Problem, ...] = ()
            if unreadable is not None and not _only_zeros(descriptor, behind, limit):
                problems = (Problem(path, behind, end - behind, unreadable.reason, _offset(buffer[stop:])),)
            if stop or problems:
                yield _chunk(path, position, buffer, batches, check_crcs, problems)
            if unreadable is not None:
                return
            if stop:
                position, wanted = behind, chunk_bytes
                continue
            wanted = _size(buffer)
            if wanted > limit - position:
                break
        if position < end and not _only_zeros(descriptor, position, end):
            yield _cut_off(path, descriptor, position, limit, end)


def _size(buffer: bytes) -> int:
    """Return the size of the entry at the start of `buffer`. If the buffer is too short to tell, return the number of
    bytes needed to read that size."""
    if len(buffer) < UP_TO_MAGIC:
        return UP_TO_MAGIC
    length: int = _OFFSET_AND_LENGTH.unpack_from(buffer)[1]
    return length + LOG_OVERHEAD


def _offset(buffer: bytes) -> int | None:
    return int.from_bytes(buffer[:8], "big", signed=True) if len(buffer) >= 8 else None


def _only_zeros(descriptor: int, position: int, end: int) -> bool:
    """Return whether there are only zeros from `position` up to `end`. False if the file ends before `end`."""
    while position < end:
        block = os.pread(descriptor, min(_BLOCK_BYTES, end - position), position)
        if not block or block.strip(b"\0"):
            return False
        position += len(block)
    return True


def _cut_off(path: str, descriptor: int, position: int, limit: int, end: int) -> Chunk:
    """Return a chunk with no entries and one problem: a truncated entry."""
    head = os.pread(descriptor, max(min(UP_TO_MAGIC, limit - position), 0), position)
    if not head:
        reason = f"truncated: the file ends {counted(end - position, 'byte')} too early"
    elif len(head) < UP_TO_MAGIC:
        reason = f"truncated: {counted(len(head), 'byte')}, too few for an entry"
    else:
        reason = f"truncated: {limit - position} of {_size(head)} bytes"
    problem = Problem(path, position, end - position, reason, _offset(head))
    nothing, _, _ = scan(b"")
    return Chunk(path, position, b"", nothing, (problem,))


def _chunk(
    path: str, position: int, buffer: bytes, batches: Batches, check_crcs: bool, problems: tuple[Problem, ...]
) -> Chunk:
    wrong: tuple[Problem, ...] = ()
    if check_crcs:
        batches, wrong = with_right_checksums(path, position, buffer, batches)
    return Chunk(path, position, buffer, batches, (*wrong, *problems))


def with_right_checksums(
    path: str, position: int, buffer: Buffer, batches: Batches
) -> tuple[Batches, tuple[Problem, ...]]:
    """Return the batches that have a correct checksum, and a problem for each of the other batches."""
    wrong = wrong_checksums(buffer, batches)
    if wrong.size == 0:
        return batches, ()
    bad = batches.take(wrong)
    found = tuple(
        Problem(path, position + at, size, f"bad checksum (stored {crc:#010x})", offset)
        for at, size, crc, offset in zip(
            bad.position.tolist(), bad.size.tolist(), bad.crc.tolist(), bad.base_offset.tolist(), strict=True
        )
    )
    right = np.ones(batches.position.size, np.bool_)
    right[wrong] = False
    return batches.take(right), found
