"""Throttling: what is counted, who rests, for how long. Times and amounts are those that Apache Kafka showed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkalet.broker.cluster.metadata import QuotaEntity
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.context import Context
from kafkalet.broker.quotas.entities import CONNECT, CONSUME, MUTATE, PRODUCE, REQUEST
from kafkalet.broker.quotas.throttling import FORGET_MS, MANY_METERS, Throttling
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalet.protocol.messages.produce import ProduceResponse

USER: QuotaEntity = frozenset({("user", "ANONYMOUS")})
ANY_CLIENT: QuotaEntity = frozenset({("client-id", None)})
ANY_ADDRESS: QuotaEntity = frozenset({("ip", None)})


class Client:
    """A connection that remembers how long it was muted."""

    is_closed = False

    def __init__(self) -> None:
        self.muted_ms: list[float] = []

    def close(self, reason: str) -> None:
        raise AssertionError(reason)

    def mute(self, ms: float) -> None:
        self.muted_ms.append(ms)


class Kitchen:
    """A throttling with quotas, a clock, and a client."""

    def __init__(self, entity: QuotaEntity, **quotas: float) -> None:
        self.clock = ManualClock()
        self.spent_s = 0.0
        self.throttling = Throttling(BrokerConfig(), self.clock, lambda: self.spent_s, self.look_up)
        self.lookups: dict[str, Delayed[str | None]] = {}
        self.throttling.obey({entity: quotas}, {})
        self.client = Client()
        broker = SimpleNamespace(node=SimpleNamespace(metadata=None, release=None, clock=self.clock), controller=None)
        self.context = Context(broker, self.client, ("127.0.0.1", 1), "PLAINTEXT")
        self.context.client_id = "c"

    def look_up(self, host: str) -> Delayed[str | None]:
        """Looks a host up until the test completes it."""
        lookup: Delayed[str | None] = Delayed()
        self.lookups[host] = lookup
        return lookup

    def ask(self, api: Api, answer: Any, request_bytes: int = 100, spent_s: float = 0.0) -> int:
        self.context.api = api
        self.throttling.begin(self.context, request_bytes)
        self.spent_s += spent_s
        self.throttling.end(answer, self.context)
        return answer.throttle_time_ms if answer is not None else -1

    def produce(self, request_bytes: int) -> int:
        return self.ask(Api.PRODUCE, ProduceResponse(responses=[]), request_bytes)


def test_a_producer_rests_that_sends_too_much() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 10_000.0})
    assert [kitchen.produce(20_000) for _ in range(7)] == [0, 0, 0, 0, 0, 2000, 4000]
    assert kitchen.client.muted_ms == [2000, 4000]
    kitchen.clock.advance(11_000)
    assert kitchen.produce(20_000) == 0


def test_a_producer_that_expects_no_answer_rests_too() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 10_000.0})
    kitchen.ask(Api.PRODUCE, None, 130_000)
    assert kitchen.client.muted_ms == [3000]


def test_only_produce_requests_count_as_produced_bytes() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 10_000.0})
    assert kitchen.ask(Api.LIST_OFFSETS, ListOffsetsResponse(topics=[]), 500_000) == 0


def test_time_spent_is_counted_and_no_rest_is_longer_than_a_window() -> None:
    kitchen = Kitchen(USER, **{REQUEST: 1.0})
    list_offsets = ListOffsetsResponse(topics=[])
    assert kitchen.ask(Api.LIST_OFFSETS, list_offsets, spent_s=0.1) == 0, "a hundredth of ten seconds"
    assert kitchen.ask(Api.LIST_OFFSETS, list_offsets, spent_s=0.005) == 500
    assert kitchen.ask(Api.LIST_OFFSETS, list_offsets, spent_s=5) == 1000


def test_time_in_which_a_request_waits_is_not_spent_on_it() -> None:
    kitchen = Kitchen(USER, **{REQUEST: 1.0})
    kitchen.context.api = Api.LIST_OFFSETS
    kitchen.throttling.begin(kitchen.context, 100)
    kitchen.spent_s += 0.05
    kitchen.throttling.pause(kitchen.context)
    kitchen.spent_s += 1000
    answer = ListOffsetsResponse(topics=[])
    kitchen.throttling.end(answer, kitchen.context)
    assert answer.throttle_time_ms == 0
    assert kitchen.ask(Api.LIST_OFFSETS, answer, spent_s=0.055) == 500


def test_an_answer_that_is_too_much_is_not_counted() -> None:
    kitchen = Kitchen(USER, **{CONSUME: 10_000.0})
    context, throttling = kitchen.context, kitchen.throttling
    context.api = Api.FETCH
    throttling.begin(context, 100)
    assert not throttling.refuses_fetch(90_000, context)
    assert throttling.refuses_fetch(20_000, context)
    assert context.throttle_ms == 1000
    assert not throttling.refuses_fetch(10_000, context)


def test_more_than_fits_into_all_windows_is_never_read() -> None:
    kitchen = Kitchen(USER, **{CONSUME: 10_000.0})
    assert kitchen.throttling.most_fetch_bytes(kitchen.context) == 100_000
    kitchen.throttling.obey({}, {})
    assert kitchen.throttling.most_fetch_bytes(kitchen.context) == float("inf")


def test_strict_mutations_are_refused_while_something_is_owed() -> None:
    kitchen = Kitchen(USER, **{MUTATE: 2.0})
    context, throttling = kitchen.context, kitchen.throttling
    throttling.mutate(10, True, context)
    throttling.mutate(15, True, context)
    with pytest.raises(KafkaError) as refused:
        throttling.mutate(5, True, context)
    assert refused.value.code is Code.THROTTLING_QUOTA_EXCEEDED
    assert context.throttle_ms == 1500
    kitchen.clock.advance(1500)
    throttling.mutate(5, True, context)


def test_other_mutations_are_only_slowed_down() -> None:
    kitchen = Kitchen(USER, **{MUTATE: 2.0})
    kitchen.throttling.mutate(25, False, kitchen.context)
    assert kitchen.context.throttle_ms == 1500
    kitchen.throttling.mutate(5, False, kitchen.context)
    assert kitchen.context.throttle_ms == 4000


def test_connections_beyond_the_quota_rest_and_are_not_counted() -> None:
    kitchen = Kitchen(ANY_ADDRESS, **{CONNECT: 2.0})
    connect = kitchen.throttling.connect
    assert [connect("127.0.0.1") for _ in range(20)] == [0] * 20
    assert connect("127.0.0.1") == 500
    assert connect("127.0.0.1") == 500
    assert connect("10.0.0.1") == 0, "each address counts for itself"
    kitchen.clock.advance(500)
    assert connect("127.0.0.1") == 0


def test_clients_count_for_themselves_where_the_quota_is_of_clients() -> None:
    kitchen = Kitchen(ANY_CLIENT, **{PRODUCE: 10_000.0})
    assert kitchen.produce(120_000) == 2000
    kitchen.context.client_id = "d"
    assert kitchen.produce(20_000) == 0


def test_a_new_quota_counts_at_once_and_what_was_counted_stays() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 100_000.0})
    assert kitchen.produce(110_000) == 0
    kitchen.throttling.obey({USER: {PRODUCE: 10_000.0}}, {})
    assert kitchen.produce(10_000) == 2000


def test_a_request_from_before_there_were_quotas_is_let_be() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 1.0})
    kitchen.context.api = Api.PRODUCE
    kitchen.throttling.end(ProduceResponse(responses=[]), kitchen.context)
    assert kitchen.client.muted_ms == []


def test_an_answer_without_a_place_for_it_names_no_time() -> None:
    kitchen = Kitchen(USER, **{PRODUCE: 10_000.0})
    kitchen.context.api = Api.PRODUCE
    kitchen.throttling.begin(kitchen.context, 120_000)
    kitchen.throttling.end(cast(Any, object()), kitchen.context)
    assert kitchen.client.muted_ms == [2000]


def test_meters_that_nobody_uses_any_more_are_dropped() -> None:
    kitchen = Kitchen(ANY_CLIENT, **{PRODUCE: 10_000.0})
    for number in range(MANY_METERS):
        kitchen.context.client_id = f"c{number}"
        kitchen.produce(1)
    kitchen.clock.advance(FORGET_MS + 1)
    kitchen.context.client_id = "another"
    kitchen.produce(1)
    assert len(kitchen.throttling._meters) == 1


def test_buckets_of_clients_that_mutate_no_more_are_dropped() -> None:
    kitchen = Kitchen(ANY_CLIENT, **{MUTATE: 10_000.0})
    for number in range(MANY_METERS):
        kitchen.context.client_id = f"c{number}"
        kitchen.throttling.mutate(1, True, kitchen.context)
    kitchen.clock.advance(FORGET_MS + 1)
    kitchen.context.client_id = "another"
    kitchen.throttling.mutate(1, True, kitchen.context)
    assert len(kitchen.throttling._buckets) == 1


HOST = frozenset({("ip", "host.example")})


def test_a_host_has_a_quota_once_its_address_is_known() -> None:
    kitchen = Kitchen(HOST, **{CONNECT: 1.0})
    assert kitchen.throttling.limits_connections
    assert [kitchen.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
    kitchen.lookups["host.example"].complete("10.0.0.1")
    assert any(kitchen.throttling.connect("10.0.0.1") for _ in range(50))


def test_a_host_whose_address_comes_along_is_not_looked_up() -> None:
    kitchen = Kitchen(frozenset({("ip", None)}), **{CONNECT: 1000.0})
    kitchen.throttling.obey({HOST: {CONNECT: 1.0}}, {"host.example": "10.0.0.1"})
    assert not kitchen.lookups
    assert any(kitchen.throttling.connect("10.0.0.1") for _ in range(50))


def test_a_host_is_looked_up_once() -> None:
    kitchen = Kitchen(HOST, **{CONNECT: 1.0})
    [first] = kitchen.lookups.values()
    kitchen.throttling.obey({HOST: {CONNECT: 2.0}}, {})
    assert kitchen.lookups["host.example"] is first
    first.complete("10.0.0.1")
    kitchen.throttling.obey({HOST: {CONNECT: 3.0}}, {})
    assert kitchen.lookups["host.example"] is first


def test_a_host_without_an_address_has_no_quota(caplog: pytest.LogCaptureFixture) -> None:
    kitchen = Kitchen(HOST, **{CONNECT: 1.0})
    kitchen.lookups["host.example"].complete(None)
    assert [kitchen.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
    assert "ignoring the quota of host 'host.example'" in caplog.text


def test_an_address_that_comes_after_its_quota_has_gone_is_dropped() -> None:
    kitchen = Kitchen(HOST, **{CONNECT: 1.0})
    kitchen.throttling.obey({}, {})
    kitchen.lookups["host.example"].complete("10.0.0.1")
    assert [kitchen.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
