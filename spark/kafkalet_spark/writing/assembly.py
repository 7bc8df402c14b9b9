"""Prepare the files of a load in its staging directory, before the commit.

Fragments become new logs, or are appended to existing ones. Batches get their final offsets, and files are renamed to
match. The remaining files are then written: producer snapshots at the base of each segment and at the end of the log,
leader epochs, and the topic id. If a topic should have partitions that received no rows, they are created empty.

The fragments of a partition are ordered by their first timestamps, then by task number.

The result is a journal, which lists the files to rename and delete, in the right order, and the offsets for the
checkpoints:

    whole         the partition directories to create or replace
    appended      for each existing partition directory, the files to add to it, in this order
    gone          the partitions to delete without replacement
    end_offsets   the topic, partition and log end offset of each partition
    closed        whether the last broker shut down cleanly, in which case the load keeps the clean shutdown marker
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafkalet import formats
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.directory import PartitionLog, file_name

from . import log_producers, staging
from .fragments import Fragment
from .target import Start, TargetDirectory, start_of

READY = "ready"


class Load(NamedTuple):
    """The output of a job, ready to be committed."""

    job: str
    fragments: Sequence[tuple[int, Fragment]]
    """The fragments, each with the number of its task."""
    counts: Mapping[str, int]
    """The minimum number of partitions of each topic."""
    overwrite: bool
    leader_epoch: int | None
    durable: bool


class Assembly:
    """Prepares the files of a load in `root`/READY, from where they are later renamed into place."""

    def __init__(self, target: TargetDirectory, root: str, load: Load) -> None:
        self._target = target
        self._root = root
        self._load = load
        self._there = target.partitions()
        self._topic_ids: dict[str, bytes | None] = {}
        self._journal: dict[str, Any] = {
            "gone": [],
            "whole": [],
            "appended": {},
            "end_offsets": [],
            "closed": target.is_closed,
        }

    def assemble(self) -> dict[str, Any]:
        """Prepare all files and return the journal. Raises NotAppendable, CorruptFile or OSError."""
        written: dict[str, dict[int, list[Fragment]]] = {topic: {} for topic in self._load.counts}
        for _, fragment in sorted(self._load.fragments, key=lambda each: (each[1].first_timestamp, each[0])):
            written.setdefault(fragment.topic, {}).setdefault(fragment.partition, []).append(fragment)
        for topic, partitions in sorted(written.items()):
            there = self._there.get(topic, [])
            last = max([-1, *partitions, *([] if self._load.overwrite else there)])
            count = max(self._load.counts.get(topic, 0), last + 1)
            for number in range(count):
                self._partition(topic, number, partitions.get(number, []), number in there)
            self._journal["gone"] += [[topic, number] for number in there if number >= count]
        return self._journal

    def _partition(self, topic: str, number: int, fragments: list[Fragment], is_there: bool) -> None:
        log = self._target.log(topic, number) if is_there and not self._load.overwrite else None
        if log is not None and not fragments:
            return
        name = f"{topic}-{number}"
        ready = os.path.join(self._root, READY, name)
        os.makedirs(ready)
        start = start_of(log, self._load.leader_epoch)
        known = {} if log is None else log_producers.at_end(log)
        files, end = self._segments(ready, fragments, start, known)
        if log is None:
            self._finish_new(ready, topic, start, end)
            self._journal["whole"].append(name)
        else:
            files = self._finish_appended(ready, log, start, end) + files
            self._journal["appended"][name] = files
        self._journal["end_offsets"].append([topic, number, end])

    def _segments(
        self, ready: str, fragments: list[Fragment], start: Start, known: log_producers.States
    ) -> tuple[list[str], int]:
        """Move the segments of the fragments to `ready`. Return the names of all files, in the order in which they must
        become visible, and the log end offset."""
        files: list[str] = []
        at = start
        for fragment in fragments:
            source = os.path.join(self._root, fragment.directory)
            offsets = at.offset - fragment.start.offset
            for segment in fragment.segments:
                name = file_name(segment.base_offset + offsets, "")
                old = os.path.join(source, file_name(segment.base_offset, ""))
                staging.move_batches(f"{old}.log", fragment.start, at)
                staging.move_transactions(f"{old}.txnindex", offsets, known)
                began = log_producers.moved(log_producers.read(f"{old}.snapshot").values(), offsets)
                files += self._snapshot(ready, segment.base_offset + offsets, {**known, **began})
                for suffix in (".txnindex", ".index", ".timeindex", ".log"):
                    if os.path.exists(old + suffix):
                        files.append(name + suffix)
                        os.rename(old + suffix, os.path.join(ready, name + suffix))
            known = {**known, **log_producers.moved(fragment.producers, offsets)}
            at = at._replace(offset=fragment.end_offset + offsets)
        return files + self._snapshot(ready, at.offset, known), at.offset

    def _snapshot(self, ready: str, offset: int, states: log_producers.States) -> list[str]:
        """Write a producer snapshot, except at offset 0. Like a cleanly closed log, the result has a snapshot at the
        base of each segment and one at the end."""
        if not offset:
            return []
        name = file_name(offset, ".snapshot")
        write(os.path.join(ready, name), log_producers.encode(states))
        return [name]

    def _finish_new(self, ready: str, topic: str, start: Start, end: int) -> None:
        """Write the files that only a new log needs."""
        if end == 0:
            for suffix in (".log", ".index", ".timeindex"):
                write(os.path.join(ready, file_name(0, suffix)), b"")
        else:
            write(os.path.join(ready, formats.LEADER_EPOCHS), formats.epochs_bytes([(start.leader_epoch, 0)]))
        if (topic_id := self._topic_id(topic)) is not None:
            write(os.path.join(ready, formats.PARTITION_METADATA), formats.topic_id_bytes(topic_id))

    def _finish_appended(self, ready: str, log: PartitionLog, start: Start, end: int) -> list[str]:
        epochs, offsets = checkpoints.read_epochs(os.path.join(log.path, formats.LEADER_EPOCHS))
        entries = list(zip(epochs.tolist(), offsets.tolist(), strict=True))
        if entries and entries[-1][0] == start.leader_epoch:
            return []
        entries.append((start.leader_epoch, start.offset))
        write(os.path.join(ready, formats.LEADER_EPOCHS), formats.epochs_bytes(entries))
        return [formats.LEADER_EPOCHS]

    def _topic_id(self, topic: str) -> bytes | None:
        """Return the id of the topic: its existing id (None if it was created before Kafka 2.8) or, for a new topic, a
        new one."""
        if topic not in self._topic_ids:
            there = self._there.get(topic)
            place = self._target.directory(topic, there[0]) if there else ""
            self._topic_ids[topic] = checkpoints.read_topic_id(place) if place else _new_id()
        return self._topic_ids[topic]


def _new_id() -> bytes:
    """Return a random version 4 UUID whose text form does not start with a dash, as in Kafka."""
    import uuid

    while (found := uuid.uuid4().bytes)[0] >> 2 == 62:
        pass
    return found


def write(path: str, data: bytes, *, durable: bool = False) -> None:
    """Write a file; if `durable`, flush it to disk."""
    with open(path, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
