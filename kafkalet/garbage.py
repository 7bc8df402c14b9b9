"""Garbage collection in the process of `kafkalet serve`.

A full collection visits every object and blocks the process, for 100 ms or more while large requests are in progress.
Python tends to start one during such requests, because they increase the number of objects. `kafkalet serve` postpones
full collections until the broker is idle. This costs little memory, because reference counting frees nearly all objects
immediately. A broker embedded in another program does not change the settings of the garbage collector.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NEW = 2_000
"""How many new objects trigger a collection of the young generation (Python's default: 700)."""
WANTED = 50
"""After this many middle-generation collections, a full one runs as soon as the broker is idle."""
FORCED = 5_000
"""The number of middle-generation collections (about 100 million new objects) after which a full one is forced."""
LOOK_S = 1.0
"""How often to check whether a full collection is due, in seconds."""


@contextmanager
def collected_when_idle(is_busy: Callable[[], bool]) -> Iterator[None]:
    """Postpone full collections until the running event loop is idle."""
    thresholds = gc.get_threshold()
    gc.freeze()  # exclude the existing objects from collections, because most of them live until the process exits
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
