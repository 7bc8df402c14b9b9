"""Tests of server-sent events."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from unittest.mock import ANY

import pytest
from confluent_kafka import Producer

from kafkalet.control import server, state
from kafkalet.control.routes import events
from tests.wire.brokers import Wire
from tests.wire.control.asking import Asking, asking


class Stream:
    """The events of a stream, read one by one."""

    def __init__(self, connection: http.client.HTTPConnection, only: str) -> None:
        connection.request("GET", f"/v1/events?only={only}")
        self.response = connection.getresponse()
        assert self.response.headers["Content-Type"] == "text/event-stream"

    def next(self) -> tuple[str, Any]:
        """Return the name and the data of the next event, or an empty name and the text of the next comment."""
        lines = []
        while line := self.response.readline().decode().rstrip("\n"):
            lines.append(line)
        if lines and lines[0].startswith(":"):
            return "", lines[0]
        event, data = lines
        return event.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@contextmanager
def streaming(api: Asking, only: str = "") -> Iterator[Stream]:
    connection = api.connect()
    stream = Stream(connection, only)
    try:
        yield stream
    finally:
        stream.response.close()
        connection.close()


def test_stream_begins_with_everything(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t"})
    with streaming(api, "topics,brokers") as stream:
        found = dict([stream.next(), stream.next()])
    assert [broker["node_id"] for broker in found["brokers"]["brokers"]] == [1]
    assert found["topics"] == {"topics": [api.get("/v1/topics/t")], "removed": []}


def test_stream_continues_with_changed_items(api: Asking) -> None:
    api.post("/v1/topics", {"name": "a"})
    api.post("/v1/topics", {"name": "b"})
    with streaming(api, "topics") as stream:
        stream.next()
        producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers})
        producer.produce("b", b"x")
        producer.flush()
        name, data = stream.next()
    assert (name, [topic["name"] for topic in data["topics"]], data["removed"]) == ("topics", ["b"], [])
    assert data["topics"][0]["partitions"][0]["high_watermark"] == 1


def test_stream_names_removed_items(api: Asking) -> None:
    api.post("/v1/topics", {"name": "a"})
    with streaming(api, "topics") as stream:
        stream.next()
        api.ask("DELETE", "/v1/topics/a")
        assert stream.next() == ("topics", {"topics": [], "removed": ["a"]})


def test_changes_in_quick_succession_are_one_event(api: Asking) -> None:
    with streaming(api, "topics") as stream:
        stream.next()
        for _ in range(50):
            api.cluster.topic("t").send("x")
        ends = []
        while not ends or ends[-1] < 50:
            ends.append(stream.next()[1]["topics"][0]["partitions"][0]["log_end_offset"])
    assert len(ends) < 25


def test_only_changed_topics_are_read_again(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        api.post("/v1/topics", {"name": name})
    source = events.Topics(api.cluster)
    assert [topic["name"] for topic in source.read(None)["topics"]] == ["a", "b", "c"]
    read: list[Any] = []
    monkeypatch.setattr(state, "partition", lambda server, name, each: read.append(name) or {"changed": name})
    assert source.read({"b", "unknown"}) == {"topics": [ANY], "removed": []}
    assert source.read(set()) is None
    assert read == ["b"]
    source._read_all_at_s -= events.READ_ALL_S
    source.read(set())
    assert read == ["b", "a", "b", "c"]


def test_append_names_its_topic_as_the_change(api: Asking) -> None:
    topic = api.cluster.topic("t")
    topic.send("x")
    with api.cluster._server.watchers.watch(requests=True) as changed:
        producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers})
        producer.produce("t", b"x")
        producer.flush()
        assert topic.count() == 2
        assert changed.take_topics() == {"t"}


def test_stopped_broker_is_an_event() -> None:
    with asking(brokers=2) as api, streaming(api, "brokers") as stream:
        stream.next()
        api.post("/v1/brokers/2/stop")
        [broker] = stream.next()[1]["brokers"]
    assert (broker["node_id"], broker["is_running"]) == (2, False)


def test_commit_of_a_group_is_an_event(api: Asking) -> None:
    api.post("/v1/topics/t/records", {"value": "x"})
    with streaming(api, "groups") as stream:
        assert stream.next() == ("groups", {"groups": [], "removed": []})
        api.post("/v1/groups/g/seek", {"offset": "earliest", "topic": "t"})
        [group] = stream.next()[1]["groups"]
    assert (group["group_id"], group["lag"]) == ("g", 1)


def test_beginning_a_transaction_is_an_event(api: Asking) -> None:
    with streaming(api, "transactions") as stream:
        assert stream.next() == ("transactions", {"transactions": [], "removed": []})
        producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": "tx"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("t", b"x")
        producer.flush()
        while (state := stream.next()[1]["transactions"][0]["state"]) != "Ongoing":
            assert state == "Empty"
        producer.abort_transaction(10)


def test_firing_of_a_fault_is_an_event(api: Asking) -> None:
    with streaming(api, "faults") as stream:
        assert stream.next() == ("faults", {"faults": [], "removed": []})
        fault = api.post("/v1/faults", {"api": "Metadata", "delay": 0.001})
        assert stream.next()[1]["faults"] == [fault]
        producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers})
        producer.list_topics(timeout=10)
        assert stream.next()[1]["faults"][0]["fired"] > 0
        api.ask("DELETE", "/v1/faults")
        while (removed := stream.next()[1]["removed"]) == []:
            pass
    assert removed == [fault["id"]]


def test_advanced_clock_is_an_event(api: Asking) -> None:
    with streaming(api, "clock") as stream:
        assert abs(stream.next()[1]["ahead_ms"]) < 20
        api.post("/v1/topics", {"name": "t"})  # no event, although it wakes the stream
        api.post("/v1/clock/advance", {"hours": 1})
        while (ahead_ms := stream.next()[1]["ahead_ms"]) < 3_500_000:  # timers fire on the way, and wake the stream
            pass
        assert abs(ahead_ms - 3_600_000) < 20


def test_new_requests_are_events(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_REQUESTS", 1)
    with streaming(api, "requests") as stream:
        assert stream.next() == ("requests", {"requests": [], "skipped": 0})
        producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "client.id": "app"})
        producer.produce("t", b"x")
        producer.flush()
        seen, skipped = [], 0
        while "Produce" not in seen:
            data = stream.next()[1]
            skipped += data["skipped"]
            seen += [request["api"] for request in data["requests"]]
            assert len(data["requests"]) == 1
        assert len(seen) + skipped >= 3


def test_polls_do_not_displace_other_requests_from_an_event(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_REQUESTS", 2)
    poll = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1, "isolation_level": 0, "topics": []}
    with closing(Wire(api.cluster)) as wire:
        wire.ask("ListOffsets", 1, {"replica_id": -1, "topics": []})
        for _ in range(5):
            wire.ask("Fetch", 4, poll)
        with streaming(api, "requests") as stream:
            data = stream.next()[1]
    assert [request["api"] for request in data["requests"]] == ["ListOffsets", "Fetch", "Fetch"]
    assert data["skipped"] == 3


def test_started_broker_is_an_event() -> None:
    with asking(brokers=2) as api:
        api.post("/v1/brokers/2/stop")
        with streaming(api, "brokers") as stream:
            stream.next()
            api.post("/v1/brokers/2/start")
            [broker] = stream.next()[1]["brokers"]
    assert (broker["node_id"], broker["is_running"]) == (2, True)


def test_quiet_stream_has_heartbeats(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    with streaming(api, "brokers") as stream:
        stream.next()
        assert stream.next() == ("", ": heartbeat")


def test_unknown_kind_is_refused(api: Asking) -> None:
    assert "did you mean topics?" in api.ask("GET", "/v1/events?only=topic").message


def test_streams_beyond_the_limit_are_refused(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    while api.control.streams.acquire(blocking=False):
        pass
    assert api.ask("GET", "/v1/events").status == 503
    api.control.streams.release()
    with streaming(api, "brokers") as stream:
        assert stream.next()[0] == "brokers"


def test_slow_reader_is_dropped(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STREAM_TIMEOUT_S", 0.2)
    monkeypatch.setattr(events, "INTERVAL_S", 0.0)
    api.post("/v1/topics", {"name": "t", "partitions": 1000})
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", api.control.port))
        slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.recv(1)
        with api.cluster._server.watchers.watch() as changed:
            while api.control._http._threads_by_socket:
                api.cluster.topic("t").send("x")
                changed.wait(0.01)
    assert api.get("/v1/brokers")


def test_stream_ends_with_the_brokers() -> None:
    with asking() as api:
        connection = api.connect()
        stream = Stream(connection, "brokers")
        stream.next()
    assert stream.response.read() == b""
    connection.close()
