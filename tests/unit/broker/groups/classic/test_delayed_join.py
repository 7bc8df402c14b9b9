"""How long an empty classic group waits for more members, and which arrivals it watches."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.groups.classic.delayed_join import LATELY_MS, Arrivals
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from tests.unit.model.stage import Pending, Stage


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


MEMBER = {
    "group_id": "g",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 60_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}


def join(stage: Stage) -> Pending:
    """Join in a version that asks for no member id first."""
    return stage.begin(Api.JOIN_GROUP, 3, 1, **MEMBER)


def look_for_coordinator(stage: Stage) -> None:
    stage.coordinator("g", 0)  # each time from a client of its own


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(1)
    yield stage
    stage.close()


@pytest.fixture
def patient() -> Iterator[Stage]:
    stage = Stage(1, **{"group.initial.rebalance.delay.ms": "1000"})
    yield stage
    stage.close()


def members(pending: Pending) -> list[Any]:
    answer = pending.answer()
    assert answer["error_code"] == 0
    return list(answer["members"])


def test_a_consumer_alone_begins_at_once(stage: Stage) -> None:
    look_for_coordinator(stage)
    assert len(members(join(stage))) == 1


def test_nobody_is_waited_for_when_the_property_says_zero() -> None:
    stage = Stage(1, **{"group.initial.rebalance.delay.ms": "0"})
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    assert len(members(join(stage))) == 1
    stage.close()


def test_a_consumer_that_is_seen_coming_is_waited_for(stage: Stage) -> None:
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    first = join(stage)
    assert first.is_waiting
    second = join(stage)
    stage.advance(50)
    assert sorted(len(members(pending)) for pending in (first, second)) == [0, 2]  # the leader is told of both


def test_a_consumer_that_does_not_come_is_waited_for_only_a_moment(stage: Stage) -> None:
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    first = join(stage)
    stage.advance(41)
    assert len(members(first)) == 1


def test_many_that_come_late_are_not_waited_for_longer_than_that(stage: Stage) -> None:
    for _ in range(20):
        look_for_coordinator(stage)
    first = join(stage)
    for _ in range(11):
        stage.advance(30)
        look_for_coordinator(stage)
    assert len(members(first)) == 1


def test_the_property_makes_everybody_wait(patient: Stage) -> None:
    look_for_coordinator(patient)
    first = join(patient)
    patient.advance(999)
    assert first.is_waiting
    patient.advance(1)
    assert len(members(first)) == 1


def test_who_comes_meanwhile_prolongs_the_wait(patient: Stage) -> None:
    look_for_coordinator(patient)
    first = join(patient)
    patient.advance(500)
    second = join(patient)
    patient.advance(500)
    assert first.is_waiting
    patient.advance(1000)
    assert sorted(len(members(pending)) for pending in (first, second)) == [0, 2]
