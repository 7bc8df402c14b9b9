"""`kafkalet.broker.apis.alter_client_quotas`: changes of quotas and their effect on clients."""

import threading
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.apis import alter_client_quotas
from kafkalet.broker.quotas import hosts
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_conformance.playing.connection import Closed, Connection
from tests.unit.broker.apis.asking import Asking, asking

INVALID_REQUEST = 42
PRODUCE, REQUEST, CONNECT = "producer_byte_rate", "request_percentage", "connection_creation_rate"


def entry(entity: dict[str, str | None], **values: float | None) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()],
    }


def alter(ask: Asking, *entries: dict[str, Any], validate_only: bool = False) -> list[int]:
    answer = ask(Api.ALTER_CLIENT_QUOTAS, 1, entries=list(entries), validate_only=validate_only)
    return [entry["error_code"] for entry in answer["entries"]]


def test_entity_is_changed_atomically() -> None:
    with asking() as ask:
        bad = entry({"user": "u"}, **{PRODUCE: 5.0, "nope": 1.0})
        good = entry({"user": "v"}, **{PRODUCE: 5.0})
        assert alter(ask, bad, good) == [INVALID_REQUEST, 0]
        assert ask.cluster._server.metadata.client_quotas == {frozenset({("user", "v")}): {PRODUCE: 5.0}}


def test_duplicate_entity_is_refused_once() -> None:
    with asking() as ask:
        assert alter(ask, entry({"user": "u"}, **{PRODUCE: 5.0}), entry({"user": "u"})) == [INVALID_REQUEST]


def test_last_duplicate_entity_wins_with_zookeeper() -> None:
    with asking(version="2.8") as ask:
        assert alter(ask, entry({"user": "u"}, **{PRODUCE: 5.0}), entry({"user": "u"}, **{PRODUCE: 6.0})) == [0]
        assert ask.cluster._server.metadata.client_quotas == {frozenset({("user", "u")}): {PRODUCE: 6.0}}


def test_validate_only_stores_nothing() -> None:
    with asking() as ask:
        assert alter(ask, entry({"user": "u"}, **{PRODUCE: 5.0}), validate_only=True) == [0]
        assert not ask.cluster._server.metadata.client_quotas


def test_entity_without_quotas_is_removed() -> None:
    with asking() as ask:
        alter(ask, entry({"user": "u"}, **{PRODUCE: 5.0, REQUEST: 50.0}))
        alter(ask, entry({"user": "u"}, **{PRODUCE: None}))
        assert ask.cluster._server.metadata.client_quotas == {frozenset({("user", "u")}): {REQUEST: 50.0}}
        alter(ask, entry({"user": "u"}, **{REQUEST: None}))
        assert not ask.cluster._server.metadata.client_quotas


def test_broker_without_quotas_does_not_measure_requests() -> None:
    with asking() as ask:
        router = ask.cluster._server.brokers[1].router
        assert router.hooks.throttle is None
        alter(ask, entry({"user": "u"}, **{PRODUCE: 5.0}))
        assert (router.hooks.throttle is None) is False
        alter(ask, entry({"user": "u"}, **{PRODUCE: None}))
        assert (router.hooks.throttle is None) is True


def test_quotas_survive_a_restart(tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        alter(ask, entry({"user": "u", "client-id": None}, **{PRODUCE: 5.0}))
    with asking(data_dir=tmp_path) as ask:
        assert ask.cluster._server.metadata.client_quotas == {
            frozenset({("user", "u"), ("client-id", None)}): {PRODUCE: 5.0}
        }
        assert ask.cluster._server.brokers[1].router.hooks.throttle is not None


def test_producer_over_quota_receives_the_throttle_time_and_is_muted() -> None:
    clock = ManualClock()
    batch = build_batch(numbered([(clock.now_ms(), None, b"x" * 120_000, ())]))
    with kafkalet.Broker(clock=clock, topics=["t"]) as broker:
        connection = Connection("127.0.0.1", broker.port)
        quota = entry({"client-id": None}, **{PRODUCE: 10_000.0})
        assert connection.ask("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})["entries"]
        partition = {"index": 0, "records": [{"raw": batch.hex()}]}
        answer = connection.ask("Produce", 7, {"topics": [{"name": "t", "partitions": [partition]}]})
        assert answer["throttle_time_ms"] in range(2000, 2100)
        sent = connection.send("ApiVersions", 0, {})
        assert not connection.has_answer(sent, 0.1)
        broker._server.call(lambda: clock.advance(milliseconds=2100))
        assert connection.receive(sent)["error_code"] == 0
        connection.close()


def test_connection_over_quota_is_delayed_and_closed() -> None:
    clock = ManualClock()
    with kafkalet.Broker(clock=clock) as broker:
        first = Connection("127.0.0.1", broker.port)
        quota = entry({"ip": "127.0.0.1"}, **{CONNECT: 1.0})
        first.ask("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
        let_in = [Connection("127.0.0.1", broker.port) for _ in range(10)]
        for connection in let_in:
            assert connection.ask("ApiVersions", 0, {})["error_code"] == 0
        turned_away = Connection("127.0.0.1", broker.port)
        sent = turned_away.send("ApiVersions", 0, {})
        assert not turned_away.has_answer(sent, 0.1)
        broker._server.call(lambda: clock.advance(milliseconds=1000))
        try:
            turned_away.receive(sent)
        except (Closed, OSError):
            closed = True
        else:
            closed = False
        assert closed
        for connection in (first, turned_away, *let_in):
            connection.close()


def test_host_name_is_resolved_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker serves other requests while the name server is slow."""
    threads = []

    def look_up(host: str) -> str | None:
        threads.append(threading.current_thread().name)
        return "10.0.0.1" if host == "host.example" else None

    monkeypatch.setattr(alter_client_quotas, "look_up", look_up)
    with kafkalet.Cluster() as cluster:
        connection = Connection("127.0.0.1", cluster._server.metadata.endpoints[1].port)
        entries = [entry({"ip": host}, **{CONNECT: 5.0}) for host in ("host.example", "unknown.example", "10.0.0.2")]
        answer = connection.ask("AlterClientQuotas", 1, {"entries": entries, "validate_only": False})
        connection.close()
        assert [each["error_code"] for each in answer["entries"]] == [0, INVALID_REQUEST, 0]
        assert all(name.startswith("kafkalet-worker") for name in threads)
        assert len(threads) == 2
        assert cluster._server.metadata.client_quotas.keys() == {
            frozenset({("ip", "host.example")}),
            frozenset({("ip", "10.0.0.2")}),
        }


def test_stored_host_name_is_resolved_in_a_thread_at_startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = threading.Event()
    threads = []

    def look_up(host: str) -> str | None:
        threads.append(threading.current_thread().name)
        looked_up.set()
        return "10.0.0.1"

    monkeypatch.setattr(hosts, "look_up", look_up)
    monkeypatch.setattr(alter_client_quotas, "look_up", look_up)
    with asking(data_dir=tmp_path) as ask:
        assert alter(ask, entry({"ip": "host.example"}, **{CONNECT: 5.0})) == [0]
    looked_up.clear()
    threads.clear()
    with kafkalet.Cluster(data_dir=tmp_path):
        assert looked_up.wait(30)
    assert threads[0].startswith("kafkalet-worker")
