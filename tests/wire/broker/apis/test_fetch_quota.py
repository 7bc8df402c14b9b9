"""`kafkalet.broker.apis.fetch_quota`: throttling of consumers, over the wire."""

from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet_conformance.playing.connection import Connection

NO_SESSION = 0


def set_up(broker: kafkalet.Broker, bytes_per_second: float) -> Connection:
    broker.topic("t").create(config={"retention.ms": "-1"})
    for _ in range(20):
        broker.topic("t").append(build_batch([Record(0, broker._server.clock.now_ms(), None, b"x" * 20_000, ())]))
    connection = Connection("127.0.0.1", broker.port)
    entity = [{"entity_type": "client-id", "entity_name": "conformance"}]
    op = {"key": "consumer_byte_rate", "value": bytes_per_second, "remove": False}
    body = {"entries": [{"entity": entity, "ops": [op]}], "validate_only": False}
    assert connection.ask("AlterClientQuotas", 1, body)["entries"][0]["error_code"] == 0
    return connection


def fetch(connection: Connection, offset: int = 0, version: int = 11, **body: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 20_000}
    asked = {"topics": [{"topic": "t", "partitions": [partition]}], "max_wait_ms": 0}
    return connection.ask("Fetch", version, asked | body)


def records_of(answer: dict[str, Any]) -> list[int]:
    return [len(partition["records"]) for topic in answer["responses"] for partition in topic["partitions"]]


@pytest.mark.parametrize("version", [9, 11], ids=["read in turns", "read in one step"])
def test_fetch_over_quota_gets_empty_response(version: int) -> None:
    with kafkalet.Broker(clock=ManualClock()) as broker:
        connection = set_up(broker, 10_000.0)
        for offset in range(4):
            answer = fetch(connection, offset, version)
            assert (answer["throttle_time_ms"], records_of(answer)) == (0, [1])
        refused = fetch(connection, 4, version)
        assert (refused["error_code"], refused["responses"], refused["session_id"]) == (0, [], NO_SESSION)
        assert 0 < refused["throttle_time_ms"] < 100, "100,500 bytes in ten seconds exceed the quota by half a percent"
        connection.close()


def test_quota_does_not_apply_to_replica_0() -> None:
    with kafkalet.Broker(clock=ManualClock()) as broker:
        connection = set_up(broker, 1.0)
        assert fetch(connection, replica_id=0)["throttle_time_ms"] == 0
        assert fetch(connection)["throttle_time_ms"] > 0
        connection.close()


def test_fetch_response_is_limited_to_all_quota_windows() -> None:
    clock = ManualClock()
    with kafkalet.Broker(clock=clock) as broker:
        connection = set_up(broker, 5_000.0)
        fetch(connection, 20)  # returns nothing, but starts the quota windows
        broker._server.call(lambda: clock.advance(milliseconds=10_900))
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        answer = fetch(connection, topics=[{"topic": "t", "partitions": [partition]}])
        [records] = [partition["records"] for topic in answer["responses"] for partition in topic["partitions"]]
        assert sum(entry.get("size", entry.get("partial_bytes")) for entry in records) == 50_000
        connection.close()


def test_throttled_fetch_session_returns_held_back_records_later() -> None:
    clock = ManualClock()
    with kafkalet.Broker(clock=clock) as broker:
        connection = set_up(broker, 10_000.0)
        session = fetch(connection, session_id=0, session_epoch=0)["session_id"]
        assert session != NO_SESSION
        for epoch in (1, 2, 3):
            assert records_of(fetch(connection, 0, session_id=session, session_epoch=epoch)) == [1]
        refused = fetch(connection, 0, session_id=session, session_epoch=4)
        assert (refused["responses"], refused["session_id"]) == ([], session)
        broker._server.call(lambda: clock.advance(milliseconds=12_000))
        assert records_of(fetch(connection, 0, session_id=session, session_epoch=5)) == [1]
        connection.close()


def test_throttled_fetch_opens_no_session() -> None:
    with kafkalet.Broker(clock=ManualClock()) as broker:
        connection = set_up(broker, 10_000.0)
        for _ in range(4):
            fetch(connection)
        assert fetch(connection, session_id=0, session_epoch=0)["session_id"] == NO_SESSION
        assert not broker._server.brokers[1].fetch_sessions.sessions
        connection.close()
