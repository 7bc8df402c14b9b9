"""Signs of consumers that are on their way into a group."""

from kafkalet.broker.groups.arrivals import LATELY_MS, Arrivals

NOW_MS = 1_000_000


class Seeker:
    is_closed = False

    def close(self, reason: str) -> None:
        self.is_closed = True

    def mute(self, ms: float) -> None:
        raise AssertionError


def seen(*groups: str) -> tuple[Arrivals, list[Seeker]]:
    """A client for each group named, all at once."""
    arrivals, seekers = Arrivals(), [Seeker() for _ in groups]
    for group, seeker in zip(groups, seekers, strict=True):
        arrivals.note(group, seeker, NOW_MS)
    return arrivals, seekers


def test_a_consumer_alone_expects_nobody() -> None:
    arrivals, _ = seen("g")
    assert not arrivals.expects_more("g", 1, NOW_MS)


def test_whoever_has_asked_and_not_joined_is_expected() -> None:
    arrivals, _ = seen("g", "g")
    assert arrivals.expects_more("g", 1, NOW_MS)
    assert not arrivals.expects_more("g", 2, NOW_MS)


def test_a_client_that_asks_on_a_second_connection_is_one() -> None:
    arrivals, seekers = seen("g", "g")
    seekers[0].close("it goes on with the other")
    assert not arrivals.expects_more("g", 1, NOW_MS)


def test_many_that_closed_their_connections_come_back() -> None:
    arrivals, seekers = seen("g", "g", "g")
    for seeker in seekers:
        seeker.close("they go on with others")
    assert arrivals.expects_more("g", 1, NOW_MS)
    assert not arrivals.expects_more("g", 2, NOW_MS)


def test_who_asked_long_ago_is_not_expected() -> None:
    arrivals, _ = seen("g", "g", "g")
    assert not arrivals.expects_more("g", 1, NOW_MS + LATELY_MS + 1)


def test_groups_are_apart() -> None:
    arrivals, _ = seen("g", "other", "other")
    assert not arrivals.expects_more("g", 1, NOW_MS)
    assert arrivals.last_ms("g") == NOW_MS
    assert arrivals.last_ms("nobody's") == 0


def test_a_group_that_has_begun_expects_nobody() -> None:
    arrivals, _ = seen("g", "g")
    arrivals.forget("g")
    assert not arrivals.expects_more("g", 1, NOW_MS)


def test_what_is_long_ago_takes_no_memory() -> None:
    arrivals, _ = seen("g", "other")
    arrivals.note("third", Seeker(), NOW_MS + LATELY_MS + 1)
    assert arrivals.last_ms("g") == arrivals.last_ms("other") == 0
