"""Detect whether a broker is running in a log directory.

A broker (of Kafka or kafkalet) holds a lock on the file `.lock` in it. On Linux, /proc/locks lists held locks by inode.
Any other test would have to acquire the lock, and could release one that this process holds. Locks on other machines
or in other containers are not visible, so the absence of a lock proves nothing.

`.kafka_cleanshutdown` exists from a clean shutdown until the next start, and means that no broker is running.
"""

from __future__ import annotations

import os
import re

from kafkalet.formats import CLEAN_SHUTDOWN

LOCK = ".lock"
LOCKS = "/proc/locks"
_HELD = re.compile(r"^\d+: +(?:POSIX|FLOCK|OFDLCK) +\S+ +WRITE +-?\d+ +([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)


def is_locked(directory: str) -> bool:
    """Return whether a process on this machine holds the lock of the log directory."""
    try:
        status = os.stat(os.path.join(directory, LOCK))
        with open(LOCKS, encoding="ascii", errors="replace") as file:
            held = file.read()
    except OSError:
        return False
    return str(status.st_ino) in {inode for _, _, inode in _HELD.findall(held)}


def is_at_rest(directory: str) -> bool:
    """Return whether the broker of the directory was shut down cleanly and has not been started since."""
    return os.path.exists(os.path.join(directory, CLEAN_SHUTDOWN))
