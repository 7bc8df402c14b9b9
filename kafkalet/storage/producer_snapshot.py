"""Snapshots of the producer states of a log. With them, not all records have to be read to open the log.

    00000000000000000042.snapshot     the state after all records below offset 42

A snapshot is taken when a segment begins and at a clean shutdown. The state at any other offset is restored from the
latest snapshot below it and the records in between. The format is in formats.py. Only the last batch of each producer
is written; a last offset of -1 means that there is none.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress

from kafkalet.formats import PRODUCER_ENTRY, SNAPSHOT_SUFFIX, Malformed, snapshot_bytes, snapshot_entries

from .file_system import FileSystem
from .files import Files
from .producer_entry import BatchMetadata, ProducerEntry


class CorruptSnapshot(Exception):
    """The file is not a valid snapshot; the previous one is used instead."""


def encode(entries: Collection[ProducerEntry]) -> bytes:
    """Return the contents of a snapshot file."""
    return snapshot_bytes(
        b"".join(
            PRODUCER_ENTRY.struct.pack(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_data_offset,
                entry.last_offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if entry.open_since is None else entry.open_since,
            )
            for entry in entries
        )
    )


def decode(data: bytes) -> list[ProducerEntry]:
    """Return the entries of a snapshot file. Raises CorruptSnapshot."""
    try:
        entries = snapshot_entries(data)
    except Malformed as error:
        raise CorruptSnapshot(str(error)) from None
    return [_entry(*fields) for fields in PRODUCER_ENTRY.struct.iter_unpack(entries)]


def _entry(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    open_since: int,
) -> ProducerEntry:
    return ProducerEntry(
        producer_id,
        producer_epoch,
        coordinator_epoch,
        timestamp,
        open_since if open_since >= 0 else None,
        (BatchMetadata(last_sequence, last_offset, offset_delta, timestamp),) if last_offset >= 0 else (),
    )


def snapshot_name(offset: int) -> str:
    """Return the name of the snapshot file at `offset`."""
    return f"{offset:020d}{SNAPSHOT_SUFFIX}"


class Snapshots:
    """The snapshot files in the directory of one log, keyed by their offsets."""

    __slots__ = ("_files", "_offsets", "directory")

    def __init__(self, directory: str, files: Files) -> None:
        self.directory = directory
        self._files = files
        self._offsets = _offsets_in(directory, files.system)

    @property
    def offsets(self) -> list[int]:
        """The offsets of the snapshots, in ascending order."""
        return self._offsets

    def path(self, offset: int) -> str:
        return os.path.join(self.directory, snapshot_name(offset))

    def write(self, offset: int, entries: Collection[ProducerEntry], *, force: bool = True) -> None:
        """Take a snapshot at `offset`, replacing an existing one. It is synced to disk only with `force`."""
        try:
            self._files.replace(self.path(offset), encode(entries), force=force)
        except OSError as error:
            self._files.on_failure(error)
            raise
        if offset not in self._offsets:
            self._offsets.append(offset)
            self._offsets.sort()

    def read(self, offset: int) -> list[ProducerEntry]:
        """Read the snapshot at `offset`. Raises CorruptSnapshot, or FileNotFoundError if it does not exist."""
        return decode(self._files.read_all(self.path(offset)))

    def remove(self, offset: int) -> None:
        """Delete the snapshot at `offset` if it exists."""
        if offset in self._offsets:
            self._offsets.remove(offset)
            with suppress(FileNotFoundError):
                self._files.system.unlink(self.path(offset))

    def detach(self, offsets: Iterable[int]) -> list[str]:
        """Forget the snapshots at these offsets. Return the paths of their files, which the caller deletes."""
        gone = [offset for offset in offsets if offset in self._offsets]
        for offset in gone:
            self._offsets.remove(offset)
        return [self.path(offset) for offset in gone]

    def remove_all(self, offsets: Iterable[int]) -> None:
        for offset in list(offsets):
            self.remove(offset)

    def remove_stray(self, base_offsets: Iterable[int]) -> None:
        """Delete the snapshots that do not belong to a segment (ProducerStateManager.removeStraySnapshots).

        The snapshot of a clean shutdown is kept: its offset is the largest, above the start of every segment.
        """
        kept = set(base_offsets)
        self._offsets = _offsets_in(self.directory, self._files.system)
        strays = [offset for offset in self._offsets if offset not in kept]
        if strays and (not kept or strays[-1] > max(kept)):
            strays.pop()
        self.remove_all(strays)


def _offsets_in(directory: str, system: FileSystem) -> list[int]:
    if not system.is_directory(directory):
        return []
    stems = (name.removesuffix(SNAPSHOT_SUFFIX) for name in system.names(directory) if name.endswith(SNAPSHOT_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isdecimal())
