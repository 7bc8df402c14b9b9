from kafkalet.broker.groups.modern.timers import MemberTimers, Wait
from kafkalet.clock import ManualClock


class Waiting:
    def __init__(self) -> None:
        self.clock = ManualClock(0)
        self.timers = MemberTimers(self.clock)
        self.missed: list[int] = []

    def schedule(self, delay_ms: int, wait: Wait = Wait.SESSION) -> None:
        self.timers.schedule(wait, "a", delay_ms, lambda: self.missed.append(self.clock.now_ms()))


def test_missed_deadline_calls_back_once() -> None:
    waiting = Waiting()
    waiting.schedule(100)
    waiting.clock.advance(milliseconds=1000)
    assert waiting.missed == [100]
    assert (Wait.SESSION, "a") not in waiting.timers


def test_rescheduling_postpones_deadline() -> None:
    waiting = Waiting()
    waiting.schedule(100)
    waiting.clock.advance(milliseconds=60)
    waiting.schedule(100)
    waiting.clock.advance(milliseconds=99)
    assert waiting.missed == []
    waiting.clock.advance(milliseconds=1)
    assert waiting.missed == [160]


def test_rescheduling_can_advance_deadline() -> None:
    waiting = Waiting()
    waiting.schedule(1000)
    waiting.schedule(10)
    waiting.clock.advance(milliseconds=5000)
    assert waiting.missed == [10]


def test_cancelled_deadline_does_not_call_back() -> None:
    waiting = Waiting()
    for wait in Wait:
        waiting.schedule(100, wait)
    waiting.timers.cancel(Wait.JOIN, "a")
    waiting.timers.forget("a")
    waiting.clock.advance(milliseconds=1000)
    assert waiting.missed == []


def test_closed_timers_do_not_call_back() -> None:
    waiting = Waiting()
    waiting.schedule(100)
    waiting.timers.close()
    waiting.clock.advance(milliseconds=1000)
    assert waiting.missed == []
