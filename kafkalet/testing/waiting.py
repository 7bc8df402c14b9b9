"""Waits for a change of a cluster, in the thread of a test.

A wait checks its condition in the caller's thread: first immediately, then after every change of the cluster
(kafkalet.broker.watchers). It does not poll. Every wait has a timeout.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from kafkalet.broker import arguments
from kafkalet.clock import elapsed_s

from .clients import what_clients_do

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster

T = TypeVar("T")

cancelled: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)
"""An event that ends the waits of this context with WaitCancelled. After it is set, the watchers must be touched."""


class WaitCancelled(Exception):
    """The asyncio task that called this wait was cancelled (kafkalet.aio), or its client has disconnected
    (kafkalet.control).
    """


def wait(
    cluster: EmbeddedCluster,
    look: Callable[[], T | None],
    timeout: float | None,
    failure: Callable[[], str],
    *,
    requests: bool = False,
) -> T:
    """Return the first value of `look` that is not None. With `requests`, `look` is also called after each request.

    `timeout` is in seconds; None means `cluster.timeout`. After the timeout, AssertionError is raised with the
    text that `failure` returns and the last request of each client. Raises RuntimeError in the thread of the cluster's
    event loop, which must not block, and if the cluster stops.
    """
    __tracebackhide__ = True  # so that pytest shows the line of the test
    seconds = timeout_s(cluster, timeout)
    if cluster._server.host.is_in_loop_thread:
        raise RuntimeError(
            "this wait would block the event loop that the broker runs in; await it with kafkalet.aio, "
            "or start the broker with `with` instead of `async with`"
        )
    deadline_s = elapsed_s() + seconds
    stop = cancelled.get()
    with cluster._server.watchers.watch(requests=requests) as changed:
        while (found := look()) is None:
            if stop is not None and stop.is_set():
                raise WaitCancelled
            left_s = deadline_s - elapsed_s()  # changes may be so frequent that the event is always set
            if left_s <= 0 or not changed.wait(left_s):
                lines = [failure(), "  clients:", *(f"    {line}" for line in what_clients_do(cluster)), *_hint()]
                raise AssertionError("\n".join(lines))
            changed.clear()
    return found


def _hint() -> list[str]:
    """Return a line that explains the failure of a wait that has blocked an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return []
    return [
        "  this wait has blocked the event loop of its thread, so that clients in this loop could not continue; "
        "await it in another thread, as in `await asyncio.to_thread(topic.wait_for, 1)`, or use kafkalet.aio"
    ]


def timeout_s(cluster: EmbeddedCluster, timeout: float | None) -> float:
    """Return the timeout of a wait, in seconds. Raises TypeError or ValueError if it is not a number of at least 0."""
    return cluster.timeout if timeout is None else arguments.seconds("timeout", timeout)
