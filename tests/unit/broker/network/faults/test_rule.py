"""Tests of which requests a fault matches, and on which of them it fires."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .brokers import Asking, asking
from .test_engine import produce


@pytest.fixture
def ask() -> Iterator[Asking]:
    with asking() as asked:
        asked.cluster.topic("t").create(2)
        asked.cluster.topic("u").create()
        yield asked


def firings(ask: Asking, requests: int, **options: Any) -> list[int]:
    """Return which of a number of requests a fault fires on, from 1 on."""
    fired = []
    with ask.cluster.fault("Produce", error="NOT_ENOUGH_REPLICAS", **options, strict=False) as fault:
        for number in range(1, requests + 1):
            before = fault.fired
            produce(ask, 0)
            if fault.fired > before:
                fired.append(number)
    return fired


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"times": 2}, [1, 2]),
        ({"nth": 3}, [3]),
        ({"every": 2}, [2, 4, 6]),
        ({"every": 2, "times": 2}, [2, 4]),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_fault_fires_on_selected_requests(ask: Asking, options: dict[str, Any], expected: list[int]) -> None:
    assert firings(ask, 6, **options) == expected


def test_probability_is_reproducible(ask: Asking) -> None:
    first = firings(ask, 40, probability=0.5, seed=7)
    assert 0 < len(first) < 40
    assert firings(ask, 40, probability=0.5, seed=7) == first
    assert firings(ask, 40, probability=0.5, seed=8) != first


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "t"},
        {"topic": re.compile("[st]")},
        {"partition": 0},
        {"client_id": "tester"},
        {"client_id": re.compile("test.*")},
        {"version": 9},
        {"version": range(8, 10)},
        {"broker": 1},
        {"when": lambda request: request.acks == 1},
    ],
)
def test_filter_matches(ask: Asking, options: dict[str, Any]) -> None:
    assert firings(ask, 1, **options) == [1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topic": "u"}, "Produce was for t-0, not topic 'u'"),
        ({"topic": re.compile("t.")}, "Produce was for t-0, not topic /t./"),
        ({"partition": 1}, "Produce was for t-0, not partition 1"),
        ({"topic": "t", "partition": 1}, "Produce was for t-0, not topic 't', partition 1"),
        ({"client_id": "app"}, "Produce came from client 'tester', not 'app'"),
        ({"version": 8}, "Produce had version 9, not 8"),
        ({"version": range(3, 6)}, "Produce had version 9, not 3 to 5"),
        ({"when": lambda request: request.acks == 0}, "Produce was refused by when="),
        ({"when": lambda request: 1 / 0}, "Produce: when= raised ZeroDivisionError: division by zero"),
    ],
)
def test_reason_of_a_miss_is_recorded(ask: Asking, options: dict[str, Any], reason: str) -> None:
    with ask.cluster.fault("Produce", delay=1, **options, strict=False) as fault:
        produce(ask, 0)
        produce(ask, 0)
        assert dict(fault._rule.misses) == {reason: 2}
        fault._rule.problem = None


def test_request_to_another_broker_does_not_match() -> None:
    with asking(brokers=2) as ask, ask.cluster.fault("Metadata", delay=1, broker=2, strict=False) as fault:
        ask(Api.METADATA, 12, topics=None)
        assert dict(fault._rule.misses) == {"Metadata was sent to broker 1, not 2": 1}


def test_request_without_a_place_for_the_error_does_not_match(ask: Asking) -> None:
    with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE", strict=False) as fault:
        assert ask(Api.METADATA, 12, topics=[])["topics"] == []
        assert dict(fault._rule.misses) == {"Metadata v12 named no item that could have an error": 1}


def test_produce_without_acks_has_no_response_to_drop(ask: Asking) -> None:
    with ask.cluster.fault("Produce", drop_response=True, strict=False) as fault:
        produce(ask, 0, acks=0)
        assert dict(fault._rule.misses) == {"Produce had acks=0 and expects no response": 1}


def test_fault_without_api_matches_all(ask: Asking) -> None:
    with ask.cluster.fault(throttle=0.005) as fault:
        produce(ask, 0)
        ask(Api.METADATA, 12, topics=None)
    assert fault.seen == ["Produce v9 from 'tester' for t-0", "Metadata v12 from 'tester'"]


def test_several_apis_match(ask: Asking) -> None:
    with ask.cluster.fault(["Heartbeat", "Metadata"], throttle=0.005) as fault:
        produce(ask, 0)
        ask(Api.METADATA, 12, topics=[{"name": "t"}])
        ask(Api.HEARTBEAT, 4, group_id="g", generation_id=1, member_id="m")
    assert fault.seen == ["Metadata v12 from 'tester' for t", "Heartbeat v4 from 'tester' for group g"]
