"""Where a load lies until it counts: a directory inside the log directory, so that a rename is enough at the end.

    .kafkalog-0.JOB-delete       while tasks write
        TASK-ATTEMPT/TOPIC-PARTITION/     segments and indexes of one fragment, and where its batches are
    .kafkalog-JOB.commit         once all of it is there and the load counts (commit.py)

Nobody reads either. The first name is one that brokers delete when they find it at their start, Apache Kafka as well
as kafkalet: what a killed job leaves does no harm, and no broker fails over it. The second name Apache Kafka refuses to
start with, and rightly: half of the load might be in its place.

JOB names the process that drives the job, so that the next load can tell what nobody needs any more.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from zlib import crc32

import numpy as np

from kafkalet.pipeline.decoding.aborted import AbortedTransactions
from kafkalet.pipeline.logs.indexes import read_transaction_index, transaction_index_bytes

from .ground import Ground, Start
from .log_producers import States
from .segments import BATCHES

_WRITING = re.compile(r"\.kafkalog-0\.(\w+)-delete")
_COMMITTED = re.compile(r"\.kafkalog-(\w+)\.commit")


def new_job() -> str:
    """A name for a job that the parent of this process drives: Spark asks for a sink in a process of its own."""
    return f"{_host()}_{os.getppid()}_{os.urandom(8).hex()}"


def _host() -> str:
    return f"{crc32(socket.gethostname().encode()):08x}"


def writing(ground: Ground, job: str) -> str:
    """Where the tasks of a job write."""
    return os.path.join(ground.path, f".kafkalog-0.{job}-delete")


def committed(ground: Ground, job: str) -> str:
    """What `writing` is called once the job counts."""
    return os.path.join(ground.path, f".kafkalog-{job}.commit")


def unfinished(ground: Ground) -> list[str]:
    """The directories of jobs that count and are not in their places yet."""
    return sorted(os.path.join(ground.path, name) for name in os.listdir(ground.path) if _COMMITTED.fullmatch(name))


def job_of(directory: str) -> str:
    """The job of one of the `unfinished` directories."""
    match = _COMMITTED.fullmatch(os.path.basename(directory))
    assert match is not None, directory
    return match[1]


def remove_abandoned(ground: Ground) -> None:
    """Delete what jobs of this machine left that are no more. (What others left, a broker will delete.)"""
    for name in os.listdir(ground.path):
        if match := _WRITING.fullmatch(name):
            host, _, rest = match[1].partition("_")
            process = rest.partition("_")[0]
            if host == _host() and process.isdecimal() and not _lives(int(process)):
                shutil.rmtree(os.path.join(ground.path, name), ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def move_batches(log_path: str, was: Start, now: Start) -> None:
    """Give the batches of a segment another place in their log, in the file: the fragment begins at `now`, and was
    written to begin at `was`."""
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
    """Move a transaction index, if there is one, by so many offsets, into a log with producers that are `known`.

    The log is not stable beyond a transaction that is open in it already (UnifiedLog.lastStableOffset).
    """
    open_since = [state.first_offset for state in known.values() if state.first_offset >= 0]
    if not os.path.exists(path) or (not offsets and not open_since):
        return
    (producer_id, first, last), stable = read_transaction_index(path, 0)
    stable = np.minimum(stable + offsets, min(open_since, default=1 << 62))
    moved = AbortedTransactions(producer_id, first + offsets, last + offsets)
    with open(path, "wb") as file:
        file.write(transaction_index_bytes(moved, stable))
