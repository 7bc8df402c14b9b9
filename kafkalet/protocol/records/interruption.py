"""Interrupts a long computation in a thread when its result is no longer needed.

    interruptible(computation, is_interrupted)      in the thread
        check()                                     in the computation: between two blocks
        check_at(index)                             in a loop over records: every few thousand records
    use_much_memory()                           in the computation: before its result gets large

A thread cannot be stopped from outside. A codec in pure Python may work for half a minute on a few kilobytes, for a
client that has disconnected in the meantime.

Only one of these computations at a time may use much memory. A few kilobytes may decompress to 256 MiB, and there are
several threads.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """The computation has ended before its result was known."""


class _Thread(threading.local):
    is_interrupted: Callable[[], bool] | None = None
    uses_much_memory = False


_thread = _Thread()
_much_memory = threading.Lock()
_WAIT_S = 0.05


def interruptible(computation: Callable[[], T], is_interrupted: Callable[[], bool]) -> T:
    """Return the result of `computation`. Raises Interrupted if `is_interrupted` is True when it calls `check`."""
    outer, _thread.is_interrupted = _thread.is_interrupted, is_interrupted
    try:
        return computation()
    finally:
        _thread.is_interrupted = outer
        if outer is None and _thread.uses_much_memory:
            _thread.uses_much_memory = False
            _much_memory.release()


def check() -> None:
    """Raise Interrupted if this thread has to end its computation. Costs less than a microsecond."""
    is_interrupted = _thread.is_interrupted
    if is_interrupted is not None and is_interrupted():
        raise Interrupted


def check_at(index: int) -> None:
    """Call `check` if the index in a loop is a multiple of 4096."""
    if not index & 4095:
        check()


def use_much_memory() -> None:
    """Wait until this is the only interruptible computation that uses much memory. Raises Interrupted, like `check`."""
    if _thread.uses_much_memory or _thread.is_interrupted is None:
        return
    while not _much_memory.acquire(timeout=_WAIT_S):
        check()
    _thread.uses_much_memory = True
