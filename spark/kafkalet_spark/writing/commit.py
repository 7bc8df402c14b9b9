"""Commit a load atomically, although the files of a log cannot be replaced in one step.

First, all files are prepared in the staging directory (assembly.py), with a journal of the renames to do. Then the
staging directory is renamed; from that moment on, the load is committed. The remaining steps can be repeated by any
process that finds a directory with the new name: move replaced partitions out of the way, rename whole partitions and
single files into place (each index before its .log, so that readers never see a .log without an index), and update the
checkpoints of the log directory. Finally, the staging directory is renamed back to its original name and deleted.

During the commit, the log directory is locked in the same way as a broker locks it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkalet import formats
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.directory import open_partition

from . import staging
from .assembly import READY, Assembly, Load, write
from .target import NotAppendable, TargetDirectory, start_of

JOURNAL = "commit.json"
REPLACED = "replaced"


def commit(target: TargetDirectory, load: Load) -> dict[tuple[str, int], int]:
    """Commit the load. Return the log end offsets of its partitions.

    Raises DirectoryInUse, NotAppendable or CorruptFile if the load cannot be committed; no part of it becomes visible
    in that case. After an OSError, the commit may have to be completed by `recover`.
    """
    with target.locked():
        _finish_others(target)
        staging.remove_abandoned(target)
        root = staging.writing(target, load.job)
        os.makedirs(root, exist_ok=True)
        journal = Assembly(target, root, load).assemble()
        write(os.path.join(root, JOURNAL), json.dumps(journal).encode(), durable=load.durable)
        done = staging.committed(target, load.job)
        os.rename(root, done)
        if load.durable:
            _sync(target.path)
        _put_in_place(target, done)
        return {(topic, partition): end for topic, partition, end in journal["end_offsets"]}


def recover(path: str) -> None:
    """Finish interrupted commits in the log directory `path`, and delete files that were left there by loads that were
    killed.

    Raises DirectoryInUse if a broker or another load uses the directory, even if there is nothing to do.
    """
    target = TargetDirectory(path)
    if os.path.isdir(path):
        with target.locked():
            _finish_others(target)
            staging.remove_abandoned(target)


def _finish_others(target: TargetDirectory) -> None:
    for directory in staging.unfinished(target):
        _put_in_place(target, directory)


def _put_in_place(target: TargetDirectory, directory: str) -> None:
    """Carry out the steps in the journal that have not been done yet."""
    with open(os.path.join(directory, JOURNAL), "rb") as file:
        journal = json.load(file)
    ready = os.path.join(directory, READY)
    replaced = os.path.join(directory, REPLACED)
    os.makedirs(replaced, exist_ok=True)
    for name in journal["whole"]:
        new, place = os.path.join(ready, name), os.path.join(target.path, name)
        if os.path.exists(new):
            if os.path.exists(place):
                os.rename(place, os.path.join(replaced, name))
            os.rename(new, place)
    for topic, number in journal["gone"]:
        place = target.directory(topic, number)
        if os.path.exists(place):
            os.rename(place, os.path.join(replaced, os.path.basename(place)))
    for name, files in journal["appended"].items():
        _append(os.path.join(ready, name), os.path.join(target.path, name), files)
    _bring_checkpoints_up_to_date(target, journal)
    done = staging.writing(target, staging.job_of(directory))
    os.rename(directory, done)
    shutil.rmtree(done, ignore_errors=True)


def _append(ready: str, place: str, files: Sequence[str]) -> None:
    """Move the files that are still in `ready` to the log.

    Raises NotAppendable if something else was appended to the log in the meantime.
    """
    left = [name for name in files if os.path.exists(os.path.join(ready, name))]
    logs = [name for name in left if name.endswith(".log")]
    if logs:
        end = start_of(open_partition(place), None).offset
        if end != int(logs[0].removesuffix(".log")):
            raise NotAppendable(f"{place} was appended to (end offset {end}) before {ready} could be moved into it")
    for name in left:
        os.replace(os.path.join(ready, name), os.path.join(place, name))


def _bring_checkpoints_up_to_date(target: TargetDirectory, journal: Mapping[str, Any]) -> None:
    ends = {(topic, number): end for topic, number, end in journal["end_offsets"]}
    gone = [(topic, number) for topic, number in journal["gone"]]
    whole = set(journal["whole"])
    begun = [key for key in ends if f"{key[0]}-{key[1]}" in whole]
    # After a crash, logs still need recovery from their old recovery points, unless they were written as a whole.
    safe = ends if journal["closed"] else {key: ends[key] for key in begun}
    _update(os.path.join(target.path, formats.RECOVERY_POINTS), safe, gone)
    _update(os.path.join(target.path, formats.HIGH_WATERMARKS), ends, gone)
    _update(os.path.join(target.path, formats.LOG_START_OFFSETS), {}, [*begun, *gone])
    if os.path.exists(cleaned := os.path.join(target.path, formats.CLEANER_OFFSETS)):
        _update(cleaned, {}, [*begun, *gone])  # otherwise the new records would count as compacted
    if journal["closed"]:
        _replace(os.path.join(target.path, formats.CLEAN_SHUTDOWN), b'{"version":0,"brokerEpoch":-1}')


def _update(path: str, offsets: Mapping[tuple[str, int], int], gone: Iterable[tuple[str, int]]) -> None:
    known = checkpoints.read_offsets(path)
    updated = {**known, **offsets}
    for key in gone:
        updated.pop(key, None)
    if updated != known or not os.path.exists(path):
        _replace(path, formats.offsets_bytes(updated))


def _replace(path: str, data: bytes) -> None:
    write(path + ".tmp", data, durable=True)
    os.replace(path + ".tmp", path)


def _sync(directory: str) -> None:
    """Flush the entries of a directory to disk, if the operating system supports it."""
    if os.name != "nt":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
