"""Detect whether a broker is running in a log directory.

A running broker (Apache Kafka or kafkalet) holds a lock on the file `.lock` in its log directory. On Linux, /proc/locks
lists the held locks by inode. Any other test would have to acquire the lock, and might then release a lock that this
process already holds. Locks held on other machines or in other containers are not visible, so the absence of a lock
proves nothing.

A clean shutdown creates the file `.kafka_cleanshutdown`, and the next start removes it. While it exists, no broker is
running.
"""

from __future__ import annotations

import os
import re

from kafkalet.formats import CLEAN_SHUTDOWN

LOCK = ".lock"
LOCKS = "/proc/locks"
_HELD = re.compile(r"^\d+: +(?:POSIX|FLOCK|OFDLCK) +\S+ +WRITE +-?\d+ +([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)


def is_locked(directory: str) -> bool:
    """Return whether a process on this machine holds the lock on the log directory."""
    try:
        status = os.stat(os.path.join(directory, LOCK))
        with open(LOCKS, encoding="ascii", errors="replace") as file:
            held = file.read()
    except OSError:
        return False
    return str(status.st_ino) in {inode for _, _, inode in _HELD.findall(held)}


def is_at_rest(directory: str) -> bool:
    """Return whether the directory's broker was shut down cleanly and has not been started since."""
    return os.path.exists(os.path.join(directory, CLEAN_SHUTDOWN))
