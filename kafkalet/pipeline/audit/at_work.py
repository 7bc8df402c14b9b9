"""Is a broker at work in a log directory?

A broker of Kafka, and of kafkalet, holds a lock on `.lock` in it. Linux tells which locks are held in /proc/locks, by
the inode of the file; asking in any other way would mean to take the lock, or to give back one of this very process.
Locks of another machine or of another container are not seen, so that no lock says nothing.

`.kafka_cleanshutdown` lies in a directory from a clean stop until the next start: there no broker is at work.
"""

from __future__ import annotations

import os
import re

from kafkalet.formats import CLEAN_SHUTDOWN

LOCK = ".lock"
LOCKS = "/proc/locks"
_HELD = re.compile(r"^\d+: +(?:POSIX|FLOCK|OFDLCK) +\S+ +WRITE +-?\d+ +([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)


def is_locked(directory: str) -> bool:
    """Whether a process of this machine is seen to hold the lock of the log directory."""
    try:
        status = os.stat(os.path.join(directory, LOCK))
        with open(LOCKS, encoding="ascii", errors="replace") as file:
            held = file.read()
    except OSError:
        return False
    return str(status.st_ino) in {inode for _, _, inode in _HELD.findall(held)}


def is_at_rest(directory: str) -> bool:
    """Whether the broker of the directory has stopped cleanly, and none was started since."""
    return os.path.exists(os.path.join(directory, CLEAN_SHUTDOWN))
