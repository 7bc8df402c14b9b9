"""The lock on a data directory, which its broker holds on the file `.lock`.

On Windows, a byte of the file is locked, which conflicts with the lock that Java's FileChannel.tryLock takes there.
"""

import sys


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock an open file, whose position is 0, until its descriptor is closed.

    A shared lock excludes only exclusive ones; on Windows, it also excludes other shared locks. Raises OSError: EACCES
    or EAGAIN if the file is locked.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        fcntl.flock(descriptor, operation)  # against kafkalet: the descriptor owns the lock
        fcntl.lockf(descriptor, operation)  # against Apache Kafka: the process owns the lock
