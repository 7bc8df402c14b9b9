from kafkalet import ManualClock
from kafkalet.pipeline.live.client_properties import Settings
from kafkalet.pipeline.live.patience import Patience

SETTINGS = Settings.of({"retry.backoff.ms": "1", "retry.backoff.max.ms": "4", "default.api.timeout.ms": "1000"})


def test_there_is_patience_until_the_time_is_over() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock)
    assert patience.pause()
    clock.advance(999)
    assert not patience.is_over
    assert patience.pause()
    clock.advance(1)
    assert patience.is_over
    assert not patience.pause()


def test_progress_gives_all_the_time_back() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock)
    clock.advance(1000)
    patience.begin_again()
    assert not patience.is_over
    clock.advance(999)
    assert patience.pause()


def test_another_time_may_be_given() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock, 10)
    clock.advance(10)
    assert patience.is_over


def test_pauses_grow_up_to_a_limit() -> None:
    patience = Patience(SETTINGS, ManualClock())
    pauses = []
    for _ in range(5):
        pauses.append(patience._next_ms)
        patience.pause()
    assert pauses == [1, 2, 4, 4, 4]
