"""Tests of turns: immediate under low load, queued by the time used once the loop is congested."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.tasks.turns import CHARGE_S, CREDIT_S, CYCLE_S, ROUND_S, SLICE_S, Turns


class Loop:
    """An event loop without sockets: each iteration runs the calls that were scheduled before it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.soon: list[Callable[[], None]] = []
        self.turns = Turns(self.soon.append, lambda: self.now_s)

    def iterate(self) -> None:
        calls = list(self.soon)
        self.soon.clear()
        for call in calls:
            call()


class Worker:
    """A task with a number of seconds of work, which works for at most one slice per turn."""

    def __init__(self, loop: Loop, work_s: float, piece_s: float = SLICE_S) -> None:
        self.virtual_s = 0.0
        self.loop, self.work_s, self.piece_s = loop, work_s, piece_s
        self.done_s: float | None = None
        self.turns = 0

    def take_turn(self) -> None:
        self.turns += 1
        piece_s = min(self.piece_s, self.work_s)
        self.loop.now_s += piece_s
        self.work_s -= piece_s
        if self.work_s > 1e-9:
            self.loop.turns.queue_again(self)
        else:
            self.done_s = self.loop.now_s

    def turn_failed(self, error: Exception) -> None:
        raise AssertionError(error)


class Broken(Worker):
    """A task that raises an exception in its turn."""

    error: Exception | None = None

    def take_turn(self) -> None:
        raise ValueError("a bug")

    def turn_failed(self, error: Exception) -> None:
        self.error = error


def work_directly(loop: Loop, task: Worker, seconds: float) -> None:
    loop.turns.begin()
    loop.now_s += seconds
    loop.turns.end(task)


def test_client_with_little_work_overtakes_a_flood_of_new_clients() -> None:
    loop = Loop()
    known = Worker(loop, 0.0001)
    work_directly(loop, known, 0.0001)
    flood = [Worker(loop, 0.020) for _ in range(50)]
    for each in flood:
        loop.turns.queue(each)
    loop.turns.queue(known)
    loop.iterate()
    assert known.done_s == pytest.approx(0.0002)


def test_a_task_that_queues_takes_its_turn_in_a_later_iteration() -> None:
    loop = Loop()
    task = Worker(loop, 0.001)
    loop.turns.queue(task)
    assert task.turns == 0
    loop.iterate()
    assert task.turns == 1


def test_turn_ends_after_its_slice() -> None:
    loop = Loop()
    loop.turns.begin()
    loop.now_s += SLICE_S
    assert not loop.turns.is_over()
    loop.now_s += 0.0001
    assert loop.turns.is_over()


def test_iterations_with_little_work_do_not_congest_the_loop() -> None:
    loop = Loop()
    task = Worker(loop, 0)
    for _ in range(1000):
        work_directly(loop, task, ROUND_S / 4)
        loop.iterate()
    assert not loop.turns.is_congested


def test_an_iteration_that_takes_longer_than_a_round_congests_the_loop() -> None:
    loop = Loop()
    task = Worker(loop, 0)
    for _ in range(4):
        work_directly(loop, task, ROUND_S * 0.6)
    assert loop.turns.is_congested


def test_an_empty_queue_ends_the_congestion() -> None:
    loop = Loop()
    task = Worker(loop, 0)
    for _ in range(4):
        work_directly(loop, task, ROUND_S * 0.6)
    loop.iterate()
    assert not loop.turns.is_congested


def test_a_round_ends_with_tasks_still_in_the_queue() -> None:
    loop = Loop()
    tasks = [Worker(loop, SLICE_S) for _ in range(10)]
    for task in tasks:
        loop.turns.queue(task)
    loop.iterate()
    assert 0 < sum(task.turns for task in tasks) <= ROUND_S / SLICE_S + 1
    assert loop.turns.is_congested


def test_tasks_with_equal_time_run_in_the_order_in_which_they_joined() -> None:
    loop = Loop()
    tasks = [Worker(loop, SLICE_S) for _ in range(6)]
    for task in tasks:
        loop.turns.queue(task)
    while any(task.done_s is None for task in tasks):
        loop.iterate()
    assert [task.done_s for task in tasks] == sorted(task.done_s or 0 for task in tasks)


def test_new_task_overtakes_busy_tasks() -> None:
    loop = Loop()
    busy = [Worker(loop, 1.0) for _ in range(30)]
    for task in busy:
        loop.turns.queue(task)
    for _ in range(50):
        loop.iterate()
    late = Worker(loop, 0.0001)
    began_s = loop.now_s
    loop.turns.queue(late)
    while late.done_s is None:
        loop.iterate()
    assert late.done_s - began_s <= 2 * ROUND_S + SLICE_S


def test_idle_task_accumulates_no_credit() -> None:
    loop = Loop()
    first, second = Worker(loop, 1.0), Worker(loop, 1.0)
    loop.turns.queue(first)
    for _ in range(40):
        loop.iterate()
    before = first.turns
    loop.turns.queue(second)
    for _ in range(20):
        loop.iterate()
    assert abs(second.turns - (first.turns - before)) <= 2 + CREDIT_S / SLICE_S


@given(st.lists(st.tuples(st.floats(0.001, 0.2), st.floats(0.0005, SLICE_S)), min_size=2, max_size=8))
def test_busy_tasks_share_the_time_equally(costs: list[tuple[float, float]]) -> None:
    """No task gets ahead of another one with work left by more than its credit and two slices."""
    loop = Loop()
    tasks = [Worker(loop, work_s, piece_s) for work_s, piece_s in costs]
    total = {id(task): task.work_s for task in tasks}
    for task in tasks:
        loop.turns.queue(task)
    while any(task.done_s is None for task in tasks):
        loop.iterate()
        busy = [total[id(task)] - task.work_s for task in tasks if task.done_s is None]
        if busy:
            assert max(busy) - min(busy) <= CREDIT_S + 2 * SLICE_S + 1e-6


def test_work_started_in_a_connections_turn_does_not_overtake_others() -> None:
    loop = Loop()
    connection, work, other = Worker(loop, 0), Worker(loop, SLICE_S), Worker(loop, SLICE_S)
    loop.turns.begin()
    loop.now_s += SLICE_S
    loop.turns.queue_again(work)
    loop.turns.end(connection)
    loop.turns.queue(other)
    while work.done_s is None or other.done_s is None:
        loop.iterate()
    assert other.done_s == pytest.approx(2 * SLICE_S)
    assert work.done_s == pytest.approx(3 * SLICE_S)


def test_turn_longer_than_a_round_congests_the_loop() -> None:
    loop = Loop()
    work_directly(loop, Worker(loop, 0), ROUND_S * 1.1)
    assert loop.turns.is_congested


def test_charge_for_a_long_interruption_is_limited() -> None:
    """Python may collect garbage, or another process use the CPU, during the turn of a small request."""
    loop = Loop()
    busy = [Worker(loop, 10.0) for _ in range(5)]
    for task in busy:
        loop.turns.queue(task)
    for _ in range(50):
        loop.iterate()
    unlucky = Worker(loop, 1.0, piece_s=1.0)
    loop.turns.queue(unlucky)
    while unlucky.done_s is None:
        loop.iterate()
    unlucky.work_s, unlucky.done_s, began_s = 0.0001, None, loop.now_s
    loop.turns.queue(unlucky)
    while unlucky.done_s is None:
        loop.iterate()
    assert unlucky.done_s - began_s <= len(busy) * (CHARGE_S + 2 * SLICE_S)


def test_client_with_little_work_overtakes_new_clients() -> None:
    loop = Loop()
    small = Worker(loop, 0.0001)
    loop.turns.queue(small)
    loop.iterate()
    new = [Worker(loop, SLICE_S) for _ in range(100)]
    for task in new:
        loop.turns.queue(task)
    small.work_s = 0.0001
    loop.turns.queue(small)
    loop.iterate()
    assert small.turns == 2


def test_turns_are_shorter_when_many_queue() -> None:
    loop = Loop()
    deadlines: list[float] = []

    class Watching(Worker):
        def take_turn(self) -> None:
            deadlines.append(loop.turns.deadline_s - loop.now_s)
            super().take_turn()

    for _ in range(100):
        loop.turns.queue(Watching(loop, 0.001))
    while len(deadlines) < 100:
        loop.iterate()
    assert deadlines[0] == pytest.approx(CYCLE_S / 100)
    assert deadlines[-1] == pytest.approx(SLICE_S)


def test_exception_of_a_turn_fails_only_its_task() -> None:
    loop = Loop()
    broken, others = Broken(loop, 0), [Worker(loop, ROUND_S) for _ in range(3)]
    for task in (broken, *others):
        loop.turns.queue(task)
    for _ in range(10):
        loop.iterate()
    assert str(broken.error) == "a bug"
    assert all(other.done_s is not None for other in others)
