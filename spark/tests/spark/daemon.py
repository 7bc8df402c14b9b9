"""The daemon that forks Spark's Python workers, for workers whose modules are left out of garbage collections.

A worker collects garbage after each task. The modules that it has imported are so many objects that this takes longer
than most of the tests' tasks.
"""

import gc
import socket

from pyspark import daemon

run_task = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Run a task as `pyspark.daemon` does. Exclude what is alive after the worker's first task from collections."""
    status = run_task(sock, authenticated)
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
    return status


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
