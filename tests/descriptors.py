"""Waiting for file descriptors. `select.select` accepts none above 1023, and workers of pytest have more files open."""

import select
from typing import Protocol


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


def is_readable(file: int | HasDescriptor, timeout_s: float) -> bool:
    """Wait for at most `timeout_s` seconds, and return whether a file descriptor is readable or has been closed."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1000))
