"""`kafkalet.broker.quotas.throttling`: measured usage and throttle times. The values were observed with Kafka."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.context import Context
from kafkalet.broker.quotas.entities import CONNECT, CONSUME, MUTATE, PRODUCE, REQUEST, QuotaEntity
from kafkalet.broker.quotas.throttling import FORGET_MS, MANY_METERS, Throttling
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalet.protocol.messages.produce import ProduceResponse
from kafkalet.tasks.delayed import Delayed

USER: QuotaEntity = frozenset({("user", "ANONYMOUS")})
ANY_CLIENT: QuotaEntity = frozenset({("client-id", None)})
ANY_ADDRESS: QuotaEntity = frozenset({("ip", None)})


class Client:
    """A connection that records for how long it was muted."""

    is_closed = False
    when_closed: Callable[[], object] | None = None

    def __init__(self) -> None:
        self.muted_ms: list[float] = []

    def close(self, reason: str) -> None:
        raise AssertionError(reason)

    def mute(self, ms: float) -> None:
        self.muted_ms.append(ms)


class Bench:
    """A Throttling with quotas, a clock and a client."""

    def __init__(self, entity: QuotaEntity, **quotas: float) -> None:
        self.clock = ManualClock()
        self.spent_s = 0.0
        self.throttling = Throttling(BrokerConfig(), self.clock, lambda: self.spent_s, self.look_up)
        self.lookups: dict[str, Delayed[str | None]] = {}
        self.throttling.obey({entity: quotas}, {})
        self.client = Client()
        node = SimpleNamespace(metadata=None, release=None, clock=self.clock)
        broker = SimpleNamespace(node=node, controller=None, authorizer=None)
        self.context = Context(broker, self.client, ("127.0.0.1", 1), "PLAINTEXT")
        self.context.client_id = "c"

    def look_up(self, host: str) -> Delayed[str | None]:
        """Start a lookup that the test completes."""
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


def test_producer_over_quota_is_muted() -> None:
    bench = Bench(USER, **{PRODUCE: 10_000.0})
    assert [bench.produce(20_000) for _ in range(7)] == [0, 0, 0, 0, 0, 2000, 4000]
    assert bench.client.muted_ms == [2000, 4000]
    bench.clock.advance(milliseconds=11_000)
    assert bench.produce(20_000) == 0


def test_producer_without_response_is_muted() -> None:
    bench = Bench(USER, **{PRODUCE: 10_000.0})
    bench.ask(Api.PRODUCE, None, 130_000)
    assert bench.client.muted_ms == [3000]


def test_only_produce_requests_count_as_produced_bytes() -> None:
    bench = Bench(USER, **{PRODUCE: 10_000.0})
    assert bench.ask(Api.LIST_OFFSETS, ListOffsetsResponse(topics=[]), 500_000) == 0


def test_processing_time_is_counted_and_throttle_time_is_at_most_one_window() -> None:
    bench = Bench(USER, **{REQUEST: 1.0})
    list_offsets = ListOffsetsResponse(topics=[])
    assert bench.ask(Api.LIST_OFFSETS, list_offsets, spent_s=0.1) == 0, "one percent of ten seconds"
    assert bench.ask(Api.LIST_OFFSETS, list_offsets, spent_s=0.005) == 500
    assert bench.ask(Api.LIST_OFFSETS, list_offsets, spent_s=5) == 1000


def test_waiting_time_is_not_processing_time() -> None:
    bench = Bench(USER, **{REQUEST: 1.0})
    bench.context.api = Api.LIST_OFFSETS
    bench.throttling.begin(bench.context, 100)
    bench.spent_s += 0.05
    bench.throttling.pause(bench.context)
    bench.spent_s += 1000
    answer = ListOffsetsResponse(topics=[])
    bench.throttling.end(answer, bench.context)
    assert answer.throttle_time_ms == 0
    assert bench.ask(Api.LIST_OFFSETS, answer, spent_s=0.055) == 500


def test_refused_fetch_response_is_not_counted() -> None:
    bench = Bench(USER, **{CONSUME: 10_000.0})
    context, throttling = bench.context, bench.throttling
    context.api = Api.FETCH
    throttling.begin(context, 100)
    assert not throttling.refuses_fetch(90_000, context)
    assert throttling.refuses_fetch(20_000, context)
    assert context.throttle_ms == 1000
    assert not throttling.refuses_fetch(10_000, context)


def test_fetch_size_is_limited_to_the_quota_of_all_windows() -> None:
    bench = Bench(USER, **{CONSUME: 10_000.0})
    assert bench.throttling.most_fetch_bytes(bench.context) == 100_000
    bench.throttling.obey({}, {})
    assert bench.throttling.most_fetch_bytes(bench.context) == float("inf")


def test_strict_mutations_over_quota_are_refused() -> None:
    bench = Bench(USER, **{MUTATE: 2.0})
    context, throttling = bench.context, bench.throttling
    throttling.mutate(10, True, context)
    throttling.mutate(15, True, context)
    with pytest.raises(KafkaError) as refused:
        throttling.mutate(5, True, context)
    assert refused.value.code is Code.THROTTLING_QUOTA_EXCEEDED
    assert context.throttle_ms == 1500
    bench.clock.advance(milliseconds=1500)
    throttling.mutate(5, True, context)


def test_other_mutations_over_quota_are_only_throttled() -> None:
    bench = Bench(USER, **{MUTATE: 2.0})
    bench.throttling.mutate(25, False, bench.context)
    assert bench.context.throttle_ms == 1500
    bench.throttling.mutate(5, False, bench.context)
    assert bench.context.throttle_ms == 4000


def test_connections_over_quota_are_delayed_and_not_counted() -> None:
    bench = Bench(ANY_ADDRESS, **{CONNECT: 2.0})
    connect = bench.throttling.connect
    assert [connect("127.0.0.1") for _ in range(20)] == [0] * 20
    assert connect("127.0.0.1") == 500
    assert connect("127.0.0.1") == 500
    assert connect("10.0.0.1") == 0, "each address is measured separately"
    bench.clock.advance(milliseconds=500)
    assert connect("127.0.0.1") == 0


def test_clients_are_measured_separately_under_a_client_quota() -> None:
    bench = Bench(ANY_CLIENT, **{PRODUCE: 10_000.0})
    assert bench.produce(120_000) == 2000
    bench.context.client_id = "d"
    assert bench.produce(20_000) == 0


def test_new_quota_applies_immediately_to_the_usage_so_far() -> None:
    bench = Bench(USER, **{PRODUCE: 100_000.0})
    assert bench.produce(110_000) == 0
    bench.throttling.obey({USER: {PRODUCE: 10_000.0}}, {})
    assert bench.produce(10_000) == 2000


def test_request_from_before_the_first_quota_is_not_measured() -> None:
    bench = Bench(USER, **{PRODUCE: 1.0})
    bench.context.api = Api.PRODUCE
    bench.throttling.end(ProduceResponse(responses=[]), bench.context)
    assert bench.client.muted_ms == []


def test_response_without_throttle_time_field_is_left_unchanged() -> None:
    bench = Bench(USER, **{PRODUCE: 10_000.0})
    bench.context.api = Api.PRODUCE
    bench.throttling.begin(bench.context, 120_000)
    bench.throttling.end(cast(Any, object()), bench.context)
    assert bench.client.muted_ms == [2000]


def test_unused_meters_are_dropped() -> None:
    bench = Bench(ANY_CLIENT, **{PRODUCE: 10_000.0})
    for number in range(MANY_METERS):
        bench.context.client_id = f"c{number}"
        bench.produce(1)
    bench.clock.advance(milliseconds=FORGET_MS + 1)
    bench.context.client_id = "another"
    bench.produce(1)
    assert len(bench.throttling._meters) == 1


def test_unused_buckets_are_dropped() -> None:
    bench = Bench(ANY_CLIENT, **{MUTATE: 10_000.0})
    for number in range(MANY_METERS):
        bench.context.client_id = f"c{number}"
        bench.throttling.mutate(1, True, bench.context)
    bench.clock.advance(milliseconds=FORGET_MS + 1)
    bench.context.client_id = "another"
    bench.throttling.mutate(1, True, bench.context)
    assert len(bench.throttling._buckets) == 1


HOST = frozenset({("ip", "host.example")})


def test_host_has_a_quota_once_its_name_is_resolved() -> None:
    bench = Bench(HOST, **{CONNECT: 1.0})
    assert bench.throttling.limits_connections
    assert [bench.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
    bench.lookups["host.example"].complete("10.0.0.1")
    assert any(bench.throttling.connect("10.0.0.1") for _ in range(50))


def test_host_with_a_given_address_is_not_resolved() -> None:
    bench = Bench(frozenset({("ip", None)}), **{CONNECT: 1000.0})
    bench.throttling.obey({HOST: {CONNECT: 1.0}}, {"host.example": "10.0.0.1"})
    assert not bench.lookups
    assert any(bench.throttling.connect("10.0.0.1") for _ in range(50))


def test_host_is_resolved_once() -> None:
    bench = Bench(HOST, **{CONNECT: 1.0})
    [first] = bench.lookups.values()
    bench.throttling.obey({HOST: {CONNECT: 2.0}}, {})
    assert bench.lookups["host.example"] is first
    first.complete("10.0.0.1")
    bench.throttling.obey({HOST: {CONNECT: 3.0}}, {})
    assert bench.lookups["host.example"] is first


def test_host_that_cannot_be_resolved_has_no_quota(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(HOST, **{CONNECT: 1.0})
    bench.lookups["host.example"].complete(None)
    assert [bench.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
    assert "ignoring the quota of host 'host.example'" in caplog.text


def test_address_that_arrives_after_its_quota_was_removed_is_dropped() -> None:
    bench = Bench(HOST, **{CONNECT: 1.0})
    bench.throttling.obey({}, {})
    bench.lookups["host.example"].complete("10.0.0.1")
    assert [bench.throttling.connect("10.0.0.1") for _ in range(50)] == [0] * 50
