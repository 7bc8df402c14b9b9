"""The leader epochs of a log and their start offsets (Kafka's LeaderEpochFileCache, KIP-101).

An entry (epoch, start offset) is added when a leader takes over and when a batch with a new epoch is appended. Epochs
and start offsets both increase from entry to entry. Followers use the entries to find the offset where their log
diverges from the leader's, and so do consumers after a leader change. The entries are stored in
`leader-epoch-checkpoint`.

An epoch is written to the file before its first record is appended. The first epoch of a log is not synced to disk
before the log itself: an empty log has nothing to lose, and creating a topic need not wait for the disk. Entries that
were truncated at the end of the log may remain in the file until the next write: when the log is opened, they are
truncated again. A new log start offset is written at once. A broker with a temporary directory writes only when the log
is flushed or closed.

Message formats 0 and 1 have no epochs: a log in one of these formats has no entries and no file.
"""

import logging
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from kafkalet.formats import LEADER_EPOCHS

from .checkpoints import CorruptCheckpoint, read_epochs, write_epochs
from .files import Files

_LOG = logging.getLogger(__name__)

MAX_EPOCH = (1 << 31) - 1
MAX_OFFSET = (1 << 63) - 1
UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch and its first offset."""

    epoch: int
    start_offset: int


_epoch = attrgetter("epoch")
_start_offset = attrgetter("start_offset")
_Predicate = Callable[[EpochEntry], bool]


def _below(offset: int, entries: Sequence[EpochEntry]) -> list[EpochEntry]:
    return [entry for entry in entries if entry.start_offset < offset]


class LeaderEpochs:
    """The leader epochs of one log, oldest first."""

    __slots__ = ("_dirty", "_entries", "_files", "_latest", "_written", "is_unwritten", "path", "supported")

    def __init__(self, files: Files, directory: str, *, supported: bool = True, new: bool = False) -> None:
        """Read the file in `directory`, unless the log is `new`. `supported` is False for message formats 0 and 1."""
        self._files = files
        self.path = os.path.join(directory, LEADER_EPOCHS)
        self.supported = supported
        self._entries: list[EpochEntry] = []
        self._latest: int | None = None
        self._dirty = False
        self._written: tuple[EpochEntry, ...] | None = None
        """The entries in the file; None if unknown."""
        self.is_unwritten = False
        """Whether the file must be written before the next record: the latest epoch has started, or a later one was
        removed."""
        if not new:
            self._load()

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int | None:
        """The latest leader epoch; None if there are no entries."""
        return self._latest

    @property
    def earliest(self) -> EpochEntry | None:
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Start `epoch` at `start_offset`. No effect if it is the latest epoch and has already started.

        Conflicting entries are removed: later epochs, and epochs that started at or after `start_offset`. On OSError,
        the entries are unchanged.
        """
        is_known = epoch == self._latest and start_offset >= self._entries[-1].start_offset
        if (is_known and not self.is_unwritten) or not self.supported:
            return
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"invalid leader epoch {epoch} at offset {start_offset}")
        before, was_dirty = list(self._entries), self._dirty
        if not is_known:
            self._put(EpochEntry(epoch, start_offset))
        if self._files.durable:
            try:
                self.write(force=len(before) > is_known)
            except OSError:
                self._entries = before
                self._changed()
                self._dirty = was_dirty
                raise

    def start(self, epoch: int, start_offset: int) -> None:
        """Start `epoch` at the log end offset `start_offset`. The file is written with the first record of the epoch,
        by `assign`: an epoch without records is not needed after a restart.
        """
        if self.supported and (epoch != self._latest or start_offset < self._entries[-1].start_offset):
            if epoch < 0 or start_offset < 0:
                raise ValueError(f"invalid leader epoch {epoch} at offset {start_offset}")
            self._put(EpochEntry(epoch, start_offset))
            self.is_unwritten = self._files.durable

    def note(self, epoch: int, start_offset: int) -> None:
        """Add an epoch found in the log at `start_offset`. It is saved with the next `write`."""
        if self.supported:
            self._put(EpochEntry(epoch, start_offset))

    def restore(self, earlier: Sequence[EpochEntry]) -> None:
        """Add epochs that the log contains before the first known one, in ascending order.

        The last may be the known one.
        """
        if earlier and self.supported:
            same = bool(self._entries) and self._entries[0].epoch <= earlier[-1].epoch
            self._entries[: int(same)] = earlier
            self._changed()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """Return the largest known epoch up to `epoch` and its end offset; (-1, -1) if unknown.

        The latest epoch ends at `log_end_offset`. An epoch before the first known one ends where the first known one
        starts.
        """
        if epoch == UNDEFINED_EPOCH or not self._entries:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == self._latest:
            return EpochEntry(epoch, log_end_offset)
        higher = bisect_right(self._entries, epoch, key=_epoch)
        if higher == len(self._entries):
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        found = self._entries[higher - 1].epoch if higher else epoch
        return EpochEntry(found, self._entries[higher].start_offset)

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at or after the new log end `end_offset`.

        They may stay in the file until the next record is appended.
        """
        if end_offset >= 0 and self._remove_last(lambda entry: entry.start_offset >= end_offset):
            self._changed()
            self.is_unwritten = self._files.durable

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that end before the new log start offset; the first one left then starts there."""
        passed = bisect_right(self._entries, start_offset, key=_start_offset)
        if passed and self._entries[passed - 1] != (kept := EpochEntry(self._entries[passed - 1].epoch, start_offset)):
            self._entries[:passed] = [kept]
            self._changed()
        elif passed > 1:
            del self._entries[: passed - 1]
            self._changed()

    def clear(self) -> None:
        """Remove all entries, both in memory and in the file."""
        self._entries.clear()
        self._changed()
        self.write()

    def reconfigure(self, *, supported: bool) -> None:
        """Apply a change of the message format."""
        if supported != self.supported:
            self.supported = supported
            if not supported:
                self._delete_file()

    def moved(self, directory: str) -> None:
        """Update the path after the directory was renamed."""
        self.path = os.path.join(directory, LEADER_EPOCHS)

    def write(self, *, force: bool = True) -> None:
        """Write all changes to the file."""
        if self._dirty and self.supported:
            write_epochs(self._files, self.path, self._entries, force=force)
            self._dirty = self.is_unwritten = False
            self._written = self.entries

    def write_at_once(self) -> None:
        """Write all changes to the file, unless the directory is temporary."""
        if self._files.durable:
            self.write()

    def write_records(self, log_end_offset: int) -> None:
        """Write all changes to the file, unless they concern only epochs without records.

        When a log is opened, epochs that start at its end are removed. So the file of a log without records need not be
        synced to disk: it may be empty after a power failure.
        """
        if self._written is None or _below(log_end_offset, self._written) != _below(log_end_offset, self._entries):
            self.write(force=log_end_offset > 0)

    def _load(self) -> None:
        if not self.supported:
            self._delete_file()
            return
        for epoch, start_offset in read_epochs(self._files, self.path):
            if not 0 <= epoch <= MAX_EPOCH or not 0 <= start_offset <= MAX_OFFSET:
                raise CorruptCheckpoint(f"{self.path} has epoch {epoch} at offset {start_offset}")
            self._put(EpochEntry(epoch, start_offset))
        self._dirty = False
        self._written = self.entries

    def _delete_file(self) -> None:
        self._entries.clear()
        self._changed()
        if self._files.system.exists(self.path):
            self._written = None
            _LOG.warning("deleting %s: the message format of this log has no leader epochs", self.path)
            self._files.system.unlink(self.path)

    def _put(self, new: EpochEntry) -> None:
        removed = self._remove_last(lambda old: old.epoch >= new.epoch or old.start_offset >= new.start_offset)
        if len(removed) > 1 or (removed and removed[0].start_offset != new.start_offset):
            _LOG.warning("%s contradicts %s in %s; removing them", new, removed, self.path)
        self._entries.append(new)
        self._changed()

    def _changed(self) -> None:
        self._latest = self._entries[-1].epoch if self._entries else None
        self._dirty = True

    def _remove_last(self, contradicts: _Predicate) -> list[EpochEntry]:
        kept = len(self._entries)
        while kept and contradicts(self._entries[kept - 1]):
            kept -= 1
        removed = self._entries[kept:]
        del self._entries[kept:]
        return removed
