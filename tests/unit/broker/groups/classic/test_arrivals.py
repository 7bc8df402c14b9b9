"""The recent lookups of a group's coordinator, and whether more clients are expected to join."""

from kafkalet.broker.groups.classic.arrivals import LATELY_MS, Arrivals
from kafkalet.clock import ManualClock


class Seeker:
    is_closed = False

    def close(self, reason: str) -> None:
        self.is_closed = True

    def mute(self, ms: float) -> None:
        raise AssertionError


def seen(*groups: str) -> tuple[Arrivals, list[Seeker], ManualClock]:
    """Look up the coordinator of each of these groups with a different client, all at the same time."""
    clock = ManualClock()
    arrivals, seekers = Arrivals(clock), [Seeker() for _ in groups]
    for group, seeker in zip(groups, seekers, strict=True):
        arrivals.note(group, seeker)
    return arrivals, seekers, clock


def test_single_client_expects_no_more() -> None:
    arrivals, _, _ = seen("g")
    assert not arrivals.expects_more("g", 1)


def test_client_that_has_not_joined_is_expected() -> None:
    arrivals, _, _ = seen("g", "g")
    assert arrivals.expects_more("g", 1)
    assert not arrivals.expects_more("g", 2)


def test_client_with_two_connections_counts_once() -> None:
    arrivals, seekers, _ = seen("g", "g")
    seekers[0].close("it goes on with the other")
    assert not arrivals.expects_more("g", 1)


def test_more_than_twice_as_many_closed_connections_as_members_expect_more() -> None:
    arrivals, seekers, _ = seen("g", "g", "g")
    for seeker in seekers:
        seeker.close("they go on with others")
    assert arrivals.expects_more("g", 1)
    assert not arrivals.expects_more("g", 2)


def test_old_lookups_are_ignored() -> None:
    arrivals, _, clock = seen("g", "g", "g")
    clock.advance(LATELY_MS + 1)
    assert not arrivals.expects_more("g", 1)


def test_lookups_are_counted_by_group() -> None:
    arrivals, _, clock = seen("g", "other", "other")
    assert not arrivals.expects_more("g", 1)
    assert arrivals.last_ms("g") == clock.now_ms()
    assert arrivals.last_ms("unknown") == 0


def test_forgotten_group_expects_no_more() -> None:
    arrivals, _, _ = seen("g", "g")
    arrivals.forget("g")
    assert not arrivals.expects_more("g", 1)


def test_closed_connections_are_pruned_without_further_lookups() -> None:
    arrivals, seekers, clock = seen("g", "other")
    for seeker in seekers:
        seeker.close("they go away")
    clock.advance(2 * LATELY_MS)
    assert len(arrivals) == 0


def test_old_connections_are_pruned_during_constant_lookups() -> None:
    arrivals, _, clock = seen("g")
    for _ in range(100):
        clock.advance(LATELY_MS // 4)
        arrivals.note("g", Seeker())
    assert len(arrivals) <= 9
