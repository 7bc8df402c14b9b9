"""The recent lookups of a group's coordinator, and whether more clients are expected to join."""

from collections.abc import Callable

from kafkalet.broker.groups.recent_lookups import RECENT_MS, RecentLookups
from kafkalet.clock import ManualClock


class FakeClient:
    is_closed = False
    when_closed: Callable[[], object] | None = None

    def close(self, reason: str) -> None:
        self.is_closed = True

    def mute(self, ms: float) -> None:
        raise AssertionError


def looked_up(*groups: str) -> tuple[RecentLookups, list[FakeClient], ManualClock]:
    """Look up the coordinator of each of these groups with a different client, all at the same time."""
    clock = ManualClock()
    lookups, clients = RecentLookups(clock), [FakeClient() for _ in groups]
    for group, client in zip(groups, clients, strict=True):
        lookups.note(group, client)
    return lookups, clients, clock


def test_single_client_expects_no_more() -> None:
    lookups, _, _ = looked_up("g")
    assert not lookups.expects_more("g", 1)


def test_client_that_has_not_joined_is_expected() -> None:
    lookups, _, _ = looked_up("g", "g")
    assert lookups.expects_more("g", 1)
    assert not lookups.expects_more("g", 2)


def test_client_with_two_connections_counts_once() -> None:
    lookups, clients, _ = looked_up("g", "g")
    clients[0].close("test")
    assert not lookups.expects_more("g", 1)


def test_more_than_twice_as_many_closed_connections_as_members_expect_more() -> None:
    lookups, clients, _ = looked_up("g", "g", "g")
    for client in clients:
        client.close("test")
    assert lookups.expects_more("g", 1)
    assert not lookups.expects_more("g", 2)


def test_old_lookups_are_ignored() -> None:
    lookups, _, clock = looked_up("g", "g", "g")
    clock.advance(milliseconds=RECENT_MS + 1)
    assert not lookups.expects_more("g", 1)


def test_lookups_are_counted_by_group() -> None:
    lookups, _, clock = looked_up("g", "other", "other")
    assert not lookups.expects_more("g", 1)
    assert lookups.last_ms("g") == clock.now_ms()
    assert lookups.last_ms("unknown") == 0


def test_forgotten_group_expects_no_more() -> None:
    lookups, _, _ = looked_up("g", "g")
    lookups.forget("g")
    assert not lookups.expects_more("g", 1)


def test_closed_connections_are_pruned_without_further_lookups() -> None:
    lookups, clients, clock = looked_up("g", "other")
    for client in clients:
        client.close("test")
    clock.advance(milliseconds=2 * RECENT_MS)
    assert len(lookups) == 0


def test_old_connections_are_pruned_during_constant_lookups() -> None:
    lookups, _, clock = looked_up("g")
    for _ in range(100):
        clock.advance(milliseconds=RECENT_MS // 4)
        lookups.note("g", FakeClient())
    assert len(lookups) <= 9
