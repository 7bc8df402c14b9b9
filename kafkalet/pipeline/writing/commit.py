"""How a load becomes visible, once and whole, although a directory of a log cannot be swapped in one step.

First all is made ready in the staging directory: batches get their offsets, files their final names, and what belongs
beside them is written. Then a journal says what has to be renamed to where, and the staging directory gets another
name: from this moment on the load counts. What follows can be done again by anybody who finds that name: replaced
partitions are set aside, whole partitions and single files are renamed into their places (an index before its .log, so
that no reader meets a .log without one), the checkpoints of the directory are brought up to date.

The fragments of a partition come in the order of their first timestamps, then of their tasks. The directory is locked
meanwhile, as a broker locks it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkalet.pipeline.logs import checkpoints
from kafkalet.pipeline.logs.directory import PartitionLog, file_name

from . import producers, staging
from .fragments import Fragment
from .ground import Ground, Start, start_of

JOURNAL = "commit.json"
READY = "ready"
REPLACED = "replaced"


class Load(NamedTuple):
    """What a job wants to become visible."""

    job: str
    fragments: Sequence[tuple[int, Fragment]]
    """With the numbers of their tasks."""
    counts: Mapping[str, int]
    """How many partitions each topic is to have, at least."""
    overwrite: bool
    leader_epoch: int | None
    durable: bool


def commit(ground: Ground, load: Load) -> dict[tuple[str, int], int]:
    """Make the load visible. Returns the log end offsets of its partitions.

    Raises DirectoryInUse, NotAppendable, CorruptFile, OSError; then nothing has become visible.
    """
    with ground.locked():
        _finish_others(ground)
        staging.remove_abandoned(ground)
        root = staging.writing(ground, load.job)
        os.makedirs(root, exist_ok=True)
        journal = _Assembly(ground, root, load).assemble()
        _write(os.path.join(root, JOURNAL), json.dumps(journal).encode(), durable=load.durable)
        done = staging.committed(ground, load.job)
        os.rename(root, done)
        _put_in_place(ground, done)
        return {(topic, partition): end for topic, partition, end in journal["end_offsets"]}


def recover(path: str) -> None:
    """Finish what a killed commit has begun in the log directory `path`. Raises DirectoryInUse."""
    ground = Ground(path)
    if os.path.isdir(path) and staging.unfinished(ground):
        with ground.locked():
            _finish_others(ground)


def _finish_others(ground: Ground) -> None:
    for directory in staging.unfinished(ground):
        _put_in_place(ground, directory)


class _Assembly:
    """Makes ready what is to be renamed."""

    def __init__(self, ground: Ground, root: str, load: Load) -> None:
        self._ground = ground
        self._root = root
        self._load = load
        self._there = ground.partitions()
        self._topic_ids: dict[str, bytes | None] = {}
        self._journal: dict[str, Any] = {
            "replaced": [],
            "whole": [],
            "appended": {},
            "end_offsets": [],
            "closed": ground.is_closed,
        }

    def assemble(self) -> dict[str, Any]:
        by_partition: dict[tuple[str, int], list[tuple[int, Fragment]]] = {}
        for task, fragment in self._load.fragments:
            by_partition.setdefault((fragment.topic, fragment.partition), []).append((task, fragment))
        topics = dict.fromkeys([*self._load.counts, *(topic for topic, _ in by_partition)])
        for topic in sorted(topics):
            there = self._there.get(topic, [])
            named = [number for other, number in by_partition if other == topic]
            count = max([self._load.counts.get(topic, 0), *(number + 1 for number in [*named, *there])])
            for number in range(count):
                fragments = by_partition.get((topic, number), [])
                fragments.sort(key=lambda each: (each[1].first_timestamp, each[0]))
                self._partition(topic, number, [fragment for _, fragment in fragments], number in there)
        return self._journal

    def _partition(self, topic: str, number: int, fragments: list[Fragment], is_there: bool) -> None:
        log = self._ground.log(topic, number) if is_there and not self._load.overwrite else None
        if log is not None and not fragments:
            return
        name = f"{topic}-{number}"
        ready = os.path.join(self._root, READY, name)
        os.makedirs(ready)
        start = start_of(log, self._load.leader_epoch)
        known = {} if log is None else producers.at_end(log)
        files, end = self._segments(ready, fragments, start, known)
        if log is None:
            self._finish_new(ready, topic, start, end)
            if is_there:
                self._journal["replaced"].append(name)
            self._journal["whole"].append(name)
        else:
            files = self._finish_appended(ready, log, start, end) + files
            self._journal["appended"][name] = {"start": start.offset, "files": files}
        self._journal["end_offsets"].append([topic, number, end])

    def _segments(
        self, ready: str, fragments: list[Fragment], start: Start, known: producers.States
    ) -> tuple[list[str], int]:
        """Move the segments of the fragments to `ready`. Returns the names of all files, in the order in which they may
        appear, and the log end offset."""
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
                began = producers.moved(producers.read(f"{old}.snapshot").values(), offsets)
                files += self._snapshot(ready, segment.base_offset + offsets, {**known, **began})
                for suffix in (".txnindex", ".index", ".timeindex", ".log"):
                    if os.path.exists(old + suffix):
                        files.append(name + suffix)
                        os.rename(old + suffix, os.path.join(ready, name + suffix))
            known = {**known, **producers.moved(fragment.producers, offsets)}
            at = at._replace(offset=fragment.end_offset + offsets)
        return files + self._snapshot(ready, at.offset, known), at.offset

    def _snapshot(self, ready: str, offset: int, states: producers.States) -> list[str]:
        """Each segment but the first of all has one at its base; one at the end is what a clean stop leaves."""
        if not offset:
            return []
        name = file_name(offset, ".snapshot")
        _write(os.path.join(ready, name), producers.encode(states))
        return [name]

    def _finish_new(self, ready: str, topic: str, start: Start, end: int) -> None:
        """What a log needs that begins here."""
        if end == 0:
            for suffix in (".log", ".index", ".timeindex"):
                _write(os.path.join(ready, file_name(0, suffix)), b"")
        else:
            _write(os.path.join(ready, checkpoints.LEADER_EPOCHS), checkpoints.epochs_text([(start.leader_epoch, 0)]))
        if (topic_id := self._topic_id(topic)) is not None:
            _write(os.path.join(ready, checkpoints.PARTITION_METADATA), checkpoints.topic_id_text(topic_id))

    def _finish_appended(self, ready: str, log: PartitionLog, start: Start, end: int) -> list[str]:
        epochs, offsets = checkpoints.read_epochs(os.path.join(log.path, checkpoints.LEADER_EPOCHS))
        entries = list(zip(epochs.tolist(), offsets.tolist(), strict=True))
        if entries and entries[-1][0] == start.leader_epoch:
            return []
        entries.append((start.leader_epoch, start.offset))
        _write(os.path.join(ready, checkpoints.LEADER_EPOCHS), checkpoints.epochs_text(entries))
        return [checkpoints.LEADER_EPOCHS]

    def _topic_id(self, topic: str) -> bytes | None:
        """That of the topic if it is there, which may be none (before Kafka 2.8); else a new one."""
        if topic not in self._topic_ids:
            there = self._there.get(topic)
            place = self._ground.directory(topic, there[0]) if there else ""
            self._topic_ids[topic] = checkpoints.read_topic_id(place) if place else _new_id()
        return self._topic_ids[topic]


def _new_id() -> bytes:
    """A random UUID of version 4; like Kafka's, its text does not begin with a dash."""
    import uuid

    while (found := uuid.uuid4().bytes)[0] >> 2 == 62:
        pass
    return found


def _put_in_place(ground: Ground, directory: str) -> None:
    """Do what the journal says, from wherever it was left."""
    with open(os.path.join(directory, JOURNAL), "rb") as file:
        journal = json.load(file)
    ready = os.path.join(directory, READY)
    replaced = os.path.join(directory, REPLACED)
    os.makedirs(replaced, exist_ok=True)
    for name in journal["whole"]:
        new, place = os.path.join(ready, name), os.path.join(ground.path, name)
        if os.path.exists(new):
            if name in journal["replaced"] and os.path.exists(place):
                os.rename(place, os.path.join(replaced, name))
            os.rename(new, place)
    for name, appended in journal["appended"].items():
        for file_name_ in appended["files"]:
            new = os.path.join(ready, name, file_name_)
            if os.path.exists(new):
                os.replace(new, os.path.join(ground.path, name, file_name_))
    _bring_checkpoints_up_to_date(ground, journal)
    shutil.rmtree(directory)


def _bring_checkpoints_up_to_date(ground: Ground, journal: Mapping[str, Any]) -> None:
    ends = {(topic, number): end for topic, number, end in journal["end_offsets"]}
    whole = set(journal["whole"])
    for name in (checkpoints.RECOVERY_POINTS, checkpoints.HIGH_WATERMARKS):
        _update(os.path.join(ground.path, name), ends, ())
    begun = [key for key in ends if f"{key[0]}-{key[1]}" in whole]
    _update(os.path.join(ground.path, checkpoints.LOG_START_OFFSETS), {}, begun)
    if journal["closed"]:
        _replace(os.path.join(ground.path, checkpoints.CLEAN_SHUTDOWN), b'{"version":0,"brokerEpoch":-1}')


def _update(path: str, offsets: Mapping[tuple[str, int], int], gone: Iterable[tuple[str, int]]) -> None:
    known = checkpoints.read_offsets(path)
    updated = {**known, **offsets}
    for key in gone:
        updated.pop(key, None)
    if updated != known or not os.path.exists(path):
        _replace(path, checkpoints.offsets_text(updated))


def _replace(path: str, data: bytes) -> None:
    _write(path + ".tmp", data, durable=True)
    os.replace(path + ".tmp", path)


def _write(path: str, data: bytes, *, durable: bool = False) -> None:
    with open(path, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
