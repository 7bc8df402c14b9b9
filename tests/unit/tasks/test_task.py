"""Tests of handlers that yield, wait, and call functions in threads."""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafkalet.protocol.records.interruption import check
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import (
    Task,
    detached,
    finish,
    has_yielded,
    in_thread,
    pause,
    start,
    until,
)
from kafkalet.tasks.turns import SLICE_S, Turns
from kafkalet.tasks.workers import WORKERS, Workers
from tests.wire.serving import in_loop

from .endless import Endless


class Stage:
    """Turns on the clock of the test, and workers on the running loop."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.now_s = 0.0
        self.turns = Turns(loop.call_soon, lambda: self.now_s)
        self.workers = Workers(loop.call_soon_threadsafe)
        self.running: set[Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> Any:
        self.turns.begin()
        return start(work, self.turns, self.workers, self.running)

    async def result(self, work: Task[Any]) -> Any:
        """The result of the work."""
        arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        work.then(arrived.set_result, arrived.set_exception)
        return await arrived

    def spend(self, seconds: float = 2 * SLICE_S) -> None:
        self.now_s += seconds


@in_loop
async def test_coroutine_that_never_waits_returns_its_result_immediately() -> None:
    async def work() -> int:
        return 7

    stage = Stage()
    assert stage.start(work()) == 7
    assert not stage.running


@in_loop
async def test_exception_of_the_listener_of_a_result_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()

    async def work() -> int:
        stage.spend()
        await pause()
        return 7

    def refuse(result: int) -> None:
        raise ValueError(f"a bug with {result}")

    stage.start(work()).then(refuse)
    for _ in range(5):
        await asyncio.sleep(0)
    assert "a bug with 7" in caplog.text
    assert not stage.running


@in_loop
async def test_pause_within_the_slice_continues_immediately() -> None:
    async def work() -> int:
        for _ in range(10_000):
            await pause()
        return 7

    assert Stage().start(work()) == 7


@in_loop
async def test_pause_after_the_slice_yields_to_others() -> None:
    stage = Stage()
    order: list[str] = []

    async def work(name: str) -> str:
        for number in range(3):
            order.append(f"{name}{number}")
            stage.spend()
            await pause()
        return name

    first, second = stage.start(work("a")), stage.start(work("b"))
    assert (first.is_working, second.is_working) == (True, True)
    assert [await stage.result(first), await stage.result(second)] == ["a", "b"]
    assert order == ["a0", "b0", "a1", "b1", "a2", "b2"]


@in_loop
async def test_a_call_in_a_thread_returns_its_result() -> None:
    async def work() -> tuple[int, int]:
        return await in_thread(threading.get_ident), threading.get_ident()

    stage = Stage()
    worker, own = await stage.result(stage.start(work()))
    assert own == threading.get_ident() != worker
    stage.workers.close()


@in_loop
async def test_exception_of_a_call_in_a_thread_is_raised_to_its_caller() -> None:
    async def work() -> str:
        try:
            await in_thread(lambda: 1 // 0)
        except ZeroDivisionError as error:
            return str(error)
        return ""

    stage = Stage()
    assert "zero" in await stage.result(stage.start(work()))
    stage.workers.close()


@in_loop
async def test_awaiting_a_delayed_returns_its_result() -> None:
    delayed: Delayed[int] = Delayed()

    async def work() -> int:
        return await until(delayed) + 1

    stage = Stage()
    begun = stage.start(work())
    assert begun.is_waiting
    assert not begun.is_working
    delayed.complete(1)
    assert await stage.result(begun) == 2


@in_loop
async def test_awaiting_a_delayed_raises_its_failure() -> None:
    delayed: Delayed[int] = Delayed()
    stage = Stage()
    begun = stage.start(_wait_for(delayed))
    delayed.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await stage.result(begun)


@in_loop
async def test_completed_delayed_is_not_waited_for() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.complete(5)
    assert Stage().start(_wait_for(delayed)) == 5


async def _wait_for(delayed: Delayed[int]) -> int:
    return await until(delayed)


@in_loop
async def test_an_error_before_the_first_wait_is_raised() -> None:
    async def work() -> None:
        raise ValueError("early")

    with pytest.raises(ValueError, match="early"):
        Stage().start(work())


@in_loop
async def test_an_error_in_a_later_turn_fails_the_work() -> None:
    stage = Stage()

    async def work() -> None:
        stage.spend()
        await pause()
        raise ValueError("late")

    begun = stage.start(work())
    with pytest.raises(ValueError, match="late"):
        await stage.result(begun)
    assert not stage.running


@in_loop
async def test_work_continues_after_its_client_disconnects() -> None:
    stage = Stage()
    done = asyncio.Event()

    async def work() -> None:
        stage.spend()
        await pause()
        await in_thread(lambda: None)
        done.set()

    begun = stage.start(work())
    begun.cancel()
    await done.wait()
    stage.workers.close()


@in_loop
async def test_work_that_waits_for_a_delayed_is_cancelled_with_its_client() -> None:
    delayed: Delayed[int] = Delayed()
    stage = Stage()
    begun = stage.start(_wait_for(delayed))
    begun.cancel()
    assert delayed.is_cancelled
    assert not stage.running


@in_loop
async def test_work_that_waits_for_other_work_is_working() -> None:
    stage = Stage()

    async def inner() -> int:
        stage.spend()
        await pause()
        return 3

    begun = stage.start(_wait_for(stage.start(inner())))
    assert begun.is_working
    assert await stage.result(begun) == 3


@in_loop
async def test_error_after_the_client_disconnected_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()

    async def work() -> None:
        stage.spend()
        await pause()
        raise ValueError("unseen")

    stage.start(work()).cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not stage.running
    assert "a request failed after its client had disconnected" in caplog.text


@in_loop
async def test_stopped_work_does_not_continue() -> None:
    stage = Stage()
    went_on: list[bool] = []

    async def work() -> None:
        stage.spend()
        await pause()
        went_on.append(True)

    begun = stage.start(work())
    begun.stop()
    for _ in range(5):
        await asyncio.sleep(0)
    assert went_on == []
    assert not stage.running


@in_loop
async def test_has_given_way_is_true_after_the_first_turn() -> None:
    stage = Stage()

    async def work() -> list[bool]:
        before = await has_yielded()
        stage.spend()
        await pause()
        return [before, await has_yielded()]

    assert await stage.result(stage.start(work())) == [False, True]


async def _in_thread(call: Callable[[], None], *, droppable: bool = False) -> None:
    await in_thread(call, droppable=droppable)


@in_loop
async def test_droppable_call_is_interrupted_when_the_client_disconnects() -> None:
    stage, call = Stage(), Endless()
    begun = stage.start(_in_thread(call, droppable=True))
    assert call.begun.wait(10)
    assert begun.may_be_dropped
    begun.cancel()
    assert call.interrupted.wait(10)
    assert not stage.running
    stage.workers.close()


@in_loop
async def test_other_calls_are_not_interrupted_when_the_client_disconnects() -> None:
    stage, may_end, done = Stage(), threading.Event(), asyncio.Event()

    async def work() -> None:
        await in_thread(lambda: (may_end.wait(10), check()))
        done.set()

    begun = stage.start(work())
    assert not begun.may_be_dropped
    begun.cancel()
    may_end.set()
    await done.wait()
    stage.workers.close()


@in_loop
async def test_call_does_not_begin_after_its_client_has_disconnected() -> None:
    stage, may_end, calls = Stage(), threading.Event(), []
    busy = [stage.start(_in_thread(lambda: check() if may_end.wait(10) else None)) for _ in range(WORKERS)]
    waiting = stage.start(_in_thread(lambda: calls.append(1), droppable=True))
    waiting.cancel()
    may_end.set()
    for work in busy:
        await stage.result(work)
    assert await stage.result(stage.start(_in_thread(lambda: calls.append(2)))) is None
    assert calls == [2]
    stage.workers.close()


@in_loop
async def test_work_of_a_disconnected_client_ends_before_its_next_droppable_call() -> None:
    stage, calls = Stage(), []

    async def work() -> None:
        stage.spend()
        await pause()
        calls.append("turn")
        await in_thread(lambda: calls.append("thread"), droppable=True)

    stage.start(work()).cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not stage.running
    assert calls == ["turn"]


@in_loop
async def test_stopped_work_interrupts_its_call() -> None:
    stage, call = Stage(), Endless()
    begun = stage.start(_in_thread(call))
    assert call.begun.wait(10)
    begun.stop()
    assert call.interrupted.wait(10)
    stage.workers.close()


@in_loop
async def test_handler_fails_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    stage, found_s = Stage(), sys.getswitchinterval()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        await stage.result(stage.start(_in_thread(lambda: None)))
    assert not stage.running
    assert sys.getswitchinterval() == found_s


def test_finish_runs_a_coroutine_without_a_loop() -> None:
    async def work() -> list[Any]:
        await pause()
        try:
            await in_thread(lambda: 1 // 0)
        except ZeroDivisionError:
            return [await in_thread(lambda: 5), await has_yielded()]
        return []

    assert finish(work()) == [5, None]


async def _failing(closed: list[bool]) -> None:
    try:
        await in_thread(lambda: 1 // 0)
    finally:
        closed.append(True)


def test_finish_raises_an_exception_that_the_coroutine_does_not_handle() -> None:
    closed: list[bool] = []
    with pytest.raises(ZeroDivisionError):
        finish(_failing(closed))
    assert closed


def test_finish_raises_if_the_brokers_are_stopped_during_a_call_in_a_thread() -> None:
    calls = []

    def call(resume: Callable[[], Any]) -> Any:
        calls.append(resume)
        if len(calls) > 1:
            raise RuntimeError("the brokers are stopped")
        return resume()

    work = _in_thread(lambda: 5)
    with pytest.raises(RuntimeError, match="stopped"):
        finish(work, call)
    work.close()
    gc.collect()


@detached
async def doubled(source: Delayed[int]) -> int:
    return 2 * await until(source)


def test_detached_coroutine_that_does_not_wait_has_its_result_at_once() -> None:
    known: Delayed[int] = Delayed()
    known.complete(3)
    assert doubled(known).result() == 6


def test_detached_coroutine_continues_inside_the_call_that_completes_what_it_awaits() -> None:
    source: Delayed[int] = Delayed()
    result = doubled(source)
    assert result.is_waiting
    source.complete(3)
    assert result.result() == 6


def test_detached_coroutine_runs_to_its_end_after_its_result_was_cancelled() -> None:
    source: Delayed[int] = Delayed()
    seen: list[int] = []

    @detached
    async def work() -> None:
        seen.append(await until(source))

    work().cancel()
    source.complete(3)
    assert seen == [3]


def test_exception_of_detached_coroutine_is_raised_where_its_result_is_used() -> None:
    source: Delayed[int] = Delayed()
    result = doubled(source)
    source.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        result.result()


def test_exception_of_detached_coroutine_before_its_first_wait_is_raised_by_the_call() -> None:
    @detached
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work()
