"""Tests of worker threads: the switch interval, and what happens to calls when the workers are closed."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkalet.tasks.workers import WORKERS, Workers
from tests.wire.serving import in_loop

from .endless import Endless


def started() -> Workers:
    return Workers(asyncio.get_running_loop().call_soon_threadsafe)


async def result(workers: Workers, call: Callable[[], Any]) -> Any:
    """Submit a call and return its result."""
    arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    workers.submit(call).then(arrived.set_result, arrived.set_exception)
    return await arrived


@in_loop
async def test_switch_interval_is_restored_when_the_threads_are_idle() -> None:
    workers, before = started(), sys.getswitchinterval()
    assert await result(workers, sys.getswitchinterval) < before
    assert sys.getswitchinterval() == pytest.approx(before)
    workers.close()


@in_loop
async def test_closed_workers_end_their_threads() -> None:
    workers = started()
    thread = await result(workers, threading.current_thread)
    workers.close()
    thread.join(10)
    assert not thread.is_alive()


@in_loop
async def test_closed_workers_interrupt_their_calls_and_wait_for_them() -> None:
    workers, calls = started(), [Endless() for _ in range(WORKERS + 1)]
    for call in calls:
        workers.submit(call)
    for call in calls[:WORKERS]:
        assert call.begun.wait(10)
    workers.close()
    assert [call.interrupted.is_set() for call in calls] == [True] * WORKERS + [False]


UNINTERRUPTED = """
import asyncio, threading
from kafkalet.tasks import workers

async def main():
    threads = workers.Workers(asyncio.get_running_loop().call_soon_threadsafe)
    begun = threading.Event()
    threads.submit(lambda: (begun.set(), threading.Event().wait()))
    begun.wait()
    workers.STOP_S = 0
    threads.close()

asyncio.run(main())
"""


def test_interpreter_does_not_wait_for_calls_that_cannot_be_interrupted() -> None:
    assert subprocess.run([sys.executable, "-c", UNINTERRUPTED], timeout=60, check=False).returncode == 0
