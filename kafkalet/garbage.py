"""When Python collects garbage in a process that does nothing but serve.

A full collection looks at every object of the process while everything else stands still: 100 ms and more when large
requests are in progress. Python starts it in the middle of them, because that is when the number of objects grows.
`kafkalet serve` postpones it until the broker has little to do. That costs little memory, because reference counting
frees nearly everything at once. A broker inside another program leaves the collector of that program alone.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NEW = 2_000
"""The collector looks at new objects when there are this many (Python's default: 700)."""
WANTED = 50
"""After so many collections of the middle generation a full one takes place as soon as the broker has little to do."""
FORCED = 5_000
"""After so many, or 100 million new objects, it takes place whatever the broker does."""
LOOK_S = 1.0
"""The time between two looks at whether a full collection is wanted, in seconds."""


@contextmanager
def collected_when_idle(is_busy: Callable[[], bool]) -> Iterator[None]:
    """Let full collections wait until the running event loop has little to do."""
    thresholds = gc.get_threshold()
    gc.freeze()  # what exists by now will stay: no collection looks at it again
    gc.set_threshold(NEW, thresholds[1], FORCED)
    looking = asyncio.ensure_future(_collect(is_busy))
    try:
        yield
    finally:
        looking.cancel()
        gc.set_threshold(*thresholds)
        gc.unfreeze()


async def _collect(is_busy: Callable[[], bool]) -> None:
    while True:
        await asyncio.sleep(LOOK_S)
        if gc.get_count()[2] >= WANTED and not is_busy():
            gc.collect()
