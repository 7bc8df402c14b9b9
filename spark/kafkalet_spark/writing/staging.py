"""Manage the staging directory of a load. It is inside the log directory, so that files can be renamed into place.

    .kafkalog-0.JOB-delete       its name while tasks are writing
        TASK-ATTEMPT/TOPIC-PARTITION/     the segments and indexes of one fragment, and the positions of its batches
    .kafkalog-JOB.commit         its name once the load is complete and committed (commit.py)

Readers ignore both names. Brokers, both Apache Kafka and kafkalet, delete directories with the first name at startup,
so the remains of a killed job do no harm. If Apache Kafka finds a directory with the second name, it refuses to start.
This is intended, because only a part of the load might be in place.

JOB contains the id of the process that runs the job, so that the next load can tell which directories are abandoned.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from zlib import crc32

import numpy as np

from kafkalet_spark.decoding.aborted import AbortedTransactions
from kafkalet_spark.logs.indexes import read_transaction_index, transaction_index_bytes

from .log_producers import States
from .segments import BATCHES
from .target import Start, TargetDirectory

_WRITING = re.compile(r"\.kafkalog-0\.(\w+)-delete")
_COMMITTED = re.compile(r"\.kafkalog-(\w+)\.commit")


def new_job() -> str:
    """Return a new job name. It contains the id of the parent process, because Spark creates the sink in a separate
    process."""
    return f"{_host()}_{os.getppid()}_{os.urandom(8).hex()}"


def _host() -> str:
    return f"{crc32(socket.gethostname().encode()):08x}"


def writing(target: TargetDirectory, job: str) -> str:
    """Return the directory to which the tasks of a job write."""
    return os.path.join(target.path, f".kafkalog-0.{job}-delete")


def committed(target: TargetDirectory, job: str) -> str:
    """Return the name of the staging directory after the job is committed."""
    return os.path.join(target.path, f".kafkalog-{job}.commit")


def unfinished(target: TargetDirectory) -> list[str]:
    """Return the directories of committed jobs whose files may not all be in place."""
    return sorted(os.path.join(target.path, name) for name in os.listdir(target.path) if _COMMITTED.fullmatch(name))


def job_of(directory: str) -> str:
    """Return the job to which one of the `unfinished` directories belongs."""
    match = _COMMITTED.fullmatch(os.path.basename(directory))
    assert match is not None, directory
    return match[1]


def remove_abandoned(target: TargetDirectory) -> None:
    """Delete the directories of jobs on this machine whose process has exited. (The directories of other machines are
    deleted by a broker.)"""
    for name in os.listdir(target.path):
        if match := _WRITING.fullmatch(name):
            host, _, rest = match[1].partition("_")
            process = rest.partition("_")[0]
            if host == _host() and process.isdecimal() and not _lives(int(process)):
                shutil.rmtree(os.path.join(target.path, name), ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def move_batches(log_path: str, was: Start, now: Start) -> None:
    """Rewrite the batch headers of a segment file if the start of its fragment changed from `was` to `now`."""
    if was == now:
        return
    at = np.fromfile(log_path.removesuffix(".log") + BATCHES, "<i8").reshape(-1, 2)
    data = np.memmap(log_path, np.uint8, "r+")
    if was.offset != now.offset:
        moved = (at[:, 1] + (now.offset - was.offset)).astype(">i8").view(np.uint8).reshape(-1, 8)
        data[at[:, :1] + np.arange(8)] = moved
    if was.leader_epoch != now.leader_epoch:
        data[at[:, :1] + np.arange(12, 16)] = np.frombuffer(now.leader_epoch.to_bytes(4, "big"), np.uint8)
    data.flush()


def move_transactions(path: str, offsets: int, known: States) -> None:
    """Shift all offsets in a transaction index by `offsets`, if the file exists. The log has the producers `known`.

    The last stable offset cannot exceed the start of a transaction that is already open in the log
    (UnifiedLog.lastStableOffset).
    """
    open_since = [state.first_offset for state in known.values() if state.first_offset >= 0]
    if not os.path.exists(path) or (not offsets and not open_since):
        return
    (producer_id, first, last), stable = read_transaction_index(path, 0)
    stable = np.minimum(stable + offsets, min(open_since, default=1 << 62))
    moved = AbortedTransactions(producer_id, first + offsets, last + offsets)
    with open(path, "wb") as file:
        file.write(transaction_index_bytes(moved, stable))
