"""Which clients have asked for the coordinator of a group lately, and whether they are still to join."""

from kafkalet.broker.groups.classic.arrivals import LATELY_MS, Arrivals
from kafkalet.clock import ManualClock


class Seeker:
    is_closed = False

    def close(self, reason: str) -> None:
        self.is_closed = True

    def mute(self, ms: float) -> None:
        raise AssertionError


def seen(*groups: str) -> tuple[Arrivals, list[Seeker], ManualClock]:
    """A client for each group named, all at once."""
    clock = ManualClock()
    arrivals, seekers = Arrivals(clock), [Seeker() for _ in groups]
    for group, seeker in zip(groups, seekers, strict=True):
        arrivals.note(group, seeker)
    return arrivals, seekers, clock


def test_a_consumer_alone_expects_nobody() -> None:
    arrivals, _, _ = seen("g")
    assert not arrivals.expects_more("g", 1)


def test_whoever_has_asked_and_not_joined_is_expected() -> None:
    arrivals, _, _ = seen("g", "g")
    assert arrivals.expects_more("g", 1)
    assert not arrivals.expects_more("g", 2)


def test_a_client_that_asks_on_a_second_connection_is_one() -> None:
    arrivals, seekers, _ = seen("g", "g")
    seekers[0].close("it goes on with the other")
    assert not arrivals.expects_more("g", 1)


def test_many_that_closed_their_connections_come_back() -> None:
    arrivals, seekers, _ = seen("g", "g", "g")
    for seeker in seekers:
        seeker.close("they go on with others")
    assert arrivals.expects_more("g", 1)
    assert not arrivals.expects_more("g", 2)


def test_who_asked_long_ago_is_not_expected() -> None:
    arrivals, _, clock = seen("g", "g", "g")
    clock.advance(LATELY_MS + 1)
    assert not arrivals.expects_more("g", 1)


def test_groups_are_apart() -> None:
    arrivals, _, clock = seen("g", "other", "other")
    assert not arrivals.expects_more("g", 1)
    assert arrivals.last_ms("g") == clock.now_ms()
    assert arrivals.last_ms("nobody's") == 0


def test_a_group_that_has_begun_expects_nobody() -> None:
    arrivals, _, _ = seen("g", "g")
    arrivals.forget("g")
    assert not arrivals.expects_more("g", 1)


def test_connections_are_forgotten_though_nobody_asks_again() -> None:
    arrivals, seekers, clock = seen("g", "other")
    for seeker in seekers:
        seeker.close("they go away")
    clock.advance(2 * LATELY_MS)
    assert len(arrivals) == 0


def test_a_group_that_is_asked_for_all_the_time_forgets_old_connections() -> None:
    arrivals, _, clock = seen("g")
    for _ in range(100):
        clock.advance(LATELY_MS // 4)
        arrivals.note("g", Seeker())
    assert len(arrivals) <= 9
