"""Tests of generators whose steps run in a thread."""

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

from kafkalet.tasks.steps import in_threads, run_steps
from kafkalet.tasks.task import Task, start
from kafkalet.tasks.turns import Turns
from kafkalet.tasks.workers import Workers
from tests.wire.serving import in_loop

Steps = Generator[Callable[[], Any], Any, Any]


async def in_workers(steps: Steps) -> Any:
    """The result of the generator, whose steps run in worker threads."""
    loop = asyncio.get_running_loop()
    running: set[Task[Any]] = set()
    turns = Turns(loop.call_soon, loop.time)
    turns.begin()
    work = start(in_threads(steps), turns, Workers(loop.call_soon_threadsafe), running)
    arrived: asyncio.Future[Any] = loop.create_future()
    work.then(arrived.set_result, arrived.set_exception)
    return await arrived


def handling() -> Steps:
    first = yield lambda: 2
    try:
        yield lambda: 1 // 0
    except ZeroDivisionError:
        return first * (yield lambda: 5)


def failing(closed: list[bool]) -> Steps:
    try:
        yield lambda: 1 // 0
    finally:
        closed.append(True)


@in_loop
async def test_generator_receives_results_and_exceptions_of_steps_in_workers() -> None:
    assert await in_workers(handling()) == 10


def test_generator_receives_results_and_exceptions_of_steps_in_the_calling_thread() -> None:
    assert run_steps(handling(), lambda function: function()) == 10


@in_loop
async def test_steps_run_in_a_worker_thread() -> None:
    def steps() -> Steps:
        return (yield threading.get_ident)

    assert await in_workers(steps()) != threading.get_ident()


@in_loop
async def test_exception_that_the_generator_does_not_handle_is_raised_by_workers() -> None:
    closed: list[bool] = []
    with pytest.raises(ZeroDivisionError):
        await in_workers(failing(closed))
    assert closed


def test_exception_that_the_generator_does_not_handle_is_raised_to_the_caller() -> None:
    closed: list[bool] = []
    with pytest.raises(ZeroDivisionError):
        run_steps(failing(closed), lambda function: function())
    assert closed


def test_brokers_stopped_during_a_step_raise_to_the_caller() -> None:
    calls = []

    def call(function: Callable[[], Any]) -> Any:
        calls.append(function)
        if len(calls) > 1:
            raise RuntimeError("the brokers are stopped")
        return function()

    with pytest.raises(RuntimeError, match="stopped"):
        run_steps(handling(), call)
