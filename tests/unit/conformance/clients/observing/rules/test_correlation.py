"""Correlation ids of one connection."""

from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet_conformance.clients.observing.rules.correlation import CorrelationIds

from .synthetic import Exchanges

ALL = MetadataRequest(topics=None)
NONE = MetadataResponse(brokers=[], topics=[])


def test_ids_in_any_order_are_correct() -> None:
    exchanges = Exchanges(CorrelationIds())
    for number in (3, 0, 5):
        exchanges.sends(ALL, 1, correlation_id=number)
    assert exchanges.found == []


def test_id_of_a_request_in_flight_is_found() -> None:
    exchanges = Exchanges(CorrelationIds())
    exchanges.sends(ALL, 1, correlation_id=7)
    exchanges.sends(ALL, 1, correlation_id=7)
    assert exchanges.found == ["correlation-unique"]


def test_id_of_a_completed_request_may_be_used_again() -> None:
    exchanges = Exchanges(CorrelationIds())
    exchanges.ask(ALL, 1, NONE, correlation_id=7)
    exchanges.sends(ALL, 1, correlation_id=7)
    assert exchanges.found == []


def test_ids_of_different_connections_are_independent() -> None:
    exchanges = Exchanges(CorrelationIds())
    exchanges.sends(ALL, 1, correlation_id=7, connection=1)
    exchanges.sends(ALL, 1, correlation_id=7, connection=2)
    assert exchanges.found == []
