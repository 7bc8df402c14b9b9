"""Which leader epoch began at which offset (Kafka's LeaderEpochFileCache, KIP-101).

An entry (epoch, start offset) is made when a leader takes over and when a batch of a new epoch is appended; epochs and
start offsets rise together. By them a follower, or a consumer after a change of leader, learns where its history and
the leader's part. The entries live in `leader-epoch-checkpoint`.

A new epoch is in the file before the append goes on. The first one of a log is forced to the disk together with the
log: without entries there is nothing to lose, and making a topic need not wait for the disk. What a truncation removes
may linger in the file until the next write, since opening a log truncates again. A broker whose files go away with it
writes only when the log is flushed or closed.

Message formats 0 and 1 carry no epochs: a log of them has no entries and no file.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from .checkpoints import LEADER_EPOCHS, CorruptCheckpoint, read_epochs, write_epochs
from .files import Files

_log = logging.getLogger(__name__)

MAX_EPOCH = (1 << 31) - 1
MAX_OFFSET = (1 << 63) - 1
UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset it may have written."""

    epoch: int
    start_offset: int


_epoch = attrgetter("epoch")
_start_offset = attrgetter("start_offset")
_Predicate = Callable[[EpochEntry], bool]


class LeaderEpochs:
    """The epochs of one log, oldest first."""

    __slots__ = ("_dirty", "_entries", "_files", "_latest", "path", "supported")

    def __init__(self, files: Files, directory: str, *, supported: bool = True, new: bool = False) -> None:
        """Read the file there, unless the log is `new`. `supported` is False for message formats 0 and 1."""
        self._files = files
        self.path = os.path.join(directory, LEADER_EPOCHS)
        self.supported = supported
        self._entries: list[EpochEntry] = []
        self._latest: int | None = None
        self._dirty = False
        if not new:
            self._load()

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int | None:
        """The epoch that is being written."""
        return self._latest

    @property
    def earliest(self) -> EpochEntry | None:
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` begins at `start_offset`. Nothing happens if it is the latest and has begun before.

        Entries that this contradicts go: a later epoch, or one that began at or after `start_offset`. If the file
        cannot be written, nothing has happened.
        """
        if epoch == self._latest and start_offset >= self._entries[-1].start_offset:
            return
        if not self.supported:
            return
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"leader epoch {epoch} at offset {start_offset}")
        before, was_dirty = list(self._entries), self._dirty
        self._put(EpochEntry(epoch, start_offset))
        if self._files.durable:
            try:
                self.write(force=bool(before))
            except OSError:
                self._entries = before
                self._changed()
                self._dirty = was_dirty
                raise

    def note(self, epoch: int, start_offset: int) -> None:
        """An entry of a later epoch was found in the log at `start_offset`. The file follows with the next `write`."""
        if self.supported:
            self._put(EpochEntry(epoch, start_offset))

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """The largest known epoch up to `epoch`, and the offset where it ended; (-1, -1) where nothing is known.

        The latest epoch ends at `log_end_offset`. An epoch from before the first known one ends where that begins.
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
        """The log ends at `end_offset`: epochs that began there or later go."""
        if end_offset >= 0 and self._remove_last(lambda entry: entry.start_offset >= end_offset):
            self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """The log begins at `start_offset`: of the epochs that began up to there the last is kept, and begins there."""
        passed = bisect_right(self._entries, start_offset, key=_start_offset)
        if passed and self._entries[passed - 1] != (kept := EpochEntry(self._entries[passed - 1].epoch, start_offset)):
            self._entries[:passed] = [kept]
            self._changed()
        elif passed > 1:
            del self._entries[: passed - 1]
            self._changed()

    def clear(self) -> None:
        """Forget everything, in the file too."""
        self._entries.clear()
        self._changed()
        self.write()

    def reconfigure(self, *, supported: bool) -> None:
        """The message format of the log changed."""
        if supported != self.supported:
            self.supported = supported
            if not supported:
                self._forget_file()

    def moved(self, directory: str) -> None:
        """The directory has another name now."""
        self.path = os.path.join(directory, LEADER_EPOCHS)

    def write(self, *, force: bool = True) -> None:
        """Bring the file up to date."""
        if self._dirty and self.supported:
            write_epochs(self._files, self.path, self._entries, force=force)
            self._dirty = False

    def _load(self) -> None:
        if not self.supported:
            self._forget_file()
            return
        for epoch, start_offset in read_epochs(self.path):
            if not 0 <= epoch <= MAX_EPOCH or not 0 <= start_offset <= MAX_OFFSET:
                raise CorruptCheckpoint(f"{self.path} has epoch {epoch} at offset {start_offset}")
            self._put(EpochEntry(epoch, start_offset))
        self._dirty = False

    def _forget_file(self) -> None:
        self._entries.clear()
        self._changed()
        if os.path.exists(self.path):
            _log.warning("Deleting %s: the message format of this log knows no leader epochs", self.path)
            os.unlink(self.path)

    def _put(self, new: EpochEntry) -> None:
        removed = self._remove_last(lambda old: old.epoch >= new.epoch or old.start_offset >= new.start_offset)
        if len(removed) > 1 or (removed and removed[0].start_offset != new.start_offset):
            _log.warning("%s contradicts %s in %s, which are dropped", new, removed, self.path)
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
