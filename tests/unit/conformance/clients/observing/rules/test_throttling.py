"""Requests during the time for which a broker throttles a client."""

import pytest

from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet_conformance.clients.observing.rules.throttling import Throttling

from .synthetic import Exchanges

ALL = MetadataRequest(topics=None)
SLOW = MetadataResponse(throttle_time_ms=1000, brokers=[], topics=[])


@pytest.mark.parametrize(("after_s", "expected"), [(0.5, ["throttle-time"]), (1.1, []), (0.01, []), (0.98, [])])
def test_request_within_the_throttle_time_is_found(after_s: float, expected: list[str]) -> None:
    exchanges = Exchanges(Throttling())
    exchanges.ask(ALL, 6, SLOW)
    exchanges.sends(ALL, 6, after_s=after_s)
    assert exchanges.found == expected


def test_other_connections_are_not_throttled() -> None:
    exchanges = Exchanges(Throttling())
    exchanges.ask(ALL, 6, SLOW)
    exchanges.sends(ALL, 6, connection=2, after_s=0.5)
    assert exchanges.found == []


def test_version_in_which_the_broker_delays_the_response_is_not_judged() -> None:
    exchanges = Exchanges(Throttling())
    exchanges.ask(ALL, 5, SLOW)
    exchanges.sends(ALL, 5, after_s=0.5)
    assert exchanges.found == []
