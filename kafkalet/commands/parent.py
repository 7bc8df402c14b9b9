"""`--exit-with-parent`: detects the end of the process that started kafkalet.

When a process ends, its children get another parent, so the id of the parent changes. Checking it once a second works
on every POSIX system, in whatever way the parent ended, and needs nothing from the parent. The alternatives are weaker:

* Stdin that reaches its end says nothing about the parent if stdin is inherited, a file or /dev/null.
* A pipe from the parent stays open as long as another child of the parent has inherited it.
* PR_SET_PDEATHSIG is for Linux only, is not in the standard library, and sends its signal when the *thread* that
  started the process ends.
"""

import asyncio
import logging
import os
from collections.abc import Callable

_LOG = logging.getLogger("kafkalet")

PERIOD_S = 1.0


def is_gone(parent_id: int) -> bool:
    """Return whether the process that started this one has ended. `parent_id` is the id that os.getppid() returned."""
    return os.getppid() != parent_id


def call_when_gone(parent_id: int, stop: Callable[[], None]) -> None:
    """Call `stop` in the running event loop when the parent has ended."""
    loop = asyncio.get_running_loop()

    def look() -> None:
        if is_gone(parent_id):
            _LOG.info("the process that started kafkalet (pid %d) is gone; stopping", parent_id)
            stop()
        else:
            loop.call_later(PERIOD_S, look)

    look()
