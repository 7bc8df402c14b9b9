"""How long an empty classic group waits for more members."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.api import Api
from tests.unit.model.stage import Pending, Stage

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
