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
    """Join with a version that does not require a member id."""
    return stage.begin(Api.JOIN_GROUP, 3, 1, **MEMBER)


def look_for_coordinator(stage: Stage) -> None:
    stage.coordinator("g", 0)  # a different client each time


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


def test_single_consumer_starts_generation_immediately(stage: Stage) -> None:
    look_for_coordinator(stage)
    assert len(members(join(stage))) == 1


def test_delay_of_zero_waits_for_no_other_consumer() -> None:
    stage = Stage(1, **{"group.initial.rebalance.delay.ms": "0"})
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    assert len(members(join(stage))) == 1
    stage.close()


def test_group_waits_for_second_consumer_that_looked_up_coordinator(stage: Stage) -> None:
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    first = join(stage)
    assert first.is_waiting
    second = join(stage)
    stage.advance(50)
    # only the leader gets the member list
    assert sorted(len(members(pending)) for pending in (first, second)) == [0, 2]


def test_group_waits_only_shortly_for_consumer_that_never_joins(stage: Stage) -> None:
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    first = join(stage)
    stage.advance(41)
    assert len(members(first)) == 1


def test_group_does_not_wait_for_clock_that_stands_still(stage: Stage) -> None:
    look_for_coordinator(stage)
    look_for_coordinator(stage)
    first, second = join(stage), join(stage)
    stage.pass_real_time(41)
    assert sorted(len(members(pending)) for pending in (first, second)) == [0, 2]


def test_constant_lookups_do_not_extend_maximum_wait(stage: Stage) -> None:
    for _ in range(20):
        look_for_coordinator(stage)
    first = join(stage)
    for _ in range(11):
        stage.advance(30)
        look_for_coordinator(stage)
    assert len(members(first)) == 1


def test_explicit_delay_applies_to_single_consumer(patient: Stage) -> None:
    look_for_coordinator(patient)
    first = join(patient)
    patient.advance(999)
    assert first.is_waiting
    patient.advance(1)
    assert len(members(first)) == 1


def test_new_member_extends_explicit_delay(patient: Stage) -> None:
    look_for_coordinator(patient)
    first = join(patient)
    patient.advance(500)
    second = join(patient)
    patient.advance(500)
    assert first.is_waiting
    patient.advance(1000)
    assert sorted(len(members(pending)) for pending in (first, second)) == [0, 2]
