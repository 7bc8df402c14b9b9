"""Tests of the routes of the journal and of connections; real clients send the requests."""

import random
import socket
import threading
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaProducer

from tests.wire.control.asking import Asking


def produce(api: Asking, client_id: str = "app", topic: str = "t") -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "client.id": client_id})
    producer.produce(topic, b"x")
    producer.flush()


def test_requests_of_clients_are_shown(api: Asking) -> None:
    produce(api)
    [request] = api.get("/v1/requests?apis=Produce")["requests"]
    assert (request["client_id"], request["topics"], request["errors"]) == ("app", ["t"], [])
    assert request["text"].startswith("client=app Produce v")
    assert (request["request"], request["response"]) == (None, None)
    assert abs(request["time_ms"] - api.get("/v1/clock")["now_ms"]) < 60_000


def test_messages_are_decoded_on_request(api: Asking) -> None:
    produce(api)
    [request] = api.get("/v1/requests?apis=Produce&messages=true")["requests"]
    assert request["request"]["acks"] == -1
    assert request["response"]["responses"][0]["partition_responses"][0]["error_code"] == 0
    every = api.get("/v1/requests?messages=true")["requests"]
    assert {"ApiVersions", "Metadata", "Produce"} <= {each["api"] for each in every}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("apis=Produce", 2),
        ("apis=Produce&client_id=a", 1),
        ("apis=Produce&topic=u", 1),
        ("apis=Produce&errors=true", 0),
        ("apis=Produce&errors=false", 2),
        ("apis=Produce,Fetch&errors=NOT_LEADER_OR_FOLLOWER", 0),
    ],
)
def test_requests_are_selected_and_counted(api: Asking, query: str, count: int) -> None:
    produce(api, "a", "t")
    produce(api, "b", "u")
    assert len(api.get(f"/v1/requests?{query}")["requests"]) == count
    assert api.get(f"/v1/requests/count?{query}")["count"] == count


def test_times_and_the_limit_select_requests(api: Asking) -> None:
    produce(api)
    now_ms = api.get("/v1/cluster")["now_ms"]
    assert api.get(f"/v1/requests?since_ms={now_ms + 60_000}")["requests"] == []
    assert api.get(f"/v1/requests?until_ms={now_ms - 60_000}")["requests"] == []
    assert len(api.get(f"/v1/requests?since_ms={now_ms - 60_000}&limit=2")["requests"]) == 2


def test_counts_are_by_api_and_client(api: Asking) -> None:
    produce(api, "a")
    counts = api.get("/v1/requests/counts")["counts"]
    assert {"api": "Produce", "client_id": "a", "count": 1} in counts


def test_cleared_journal_is_empty(api: Asking) -> None:
    produce(api)
    assert api.ask("DELETE", "/v1/requests").status == 204
    assert api.get("/v1/requests?apis=Produce")["requests"] == []
    assert api.get("/v1/requests/count?apis=Produce") == {"count": 0}


@pytest.mark.parametrize("query", ["apis=Prodduce", "errors=NOT_LEADER", "since_ms=5&until_ms=4"])
def test_unknown_names_are_refused(api: Asking, query: str) -> None:
    answer = api.ask("GET", f"/v1/requests?{query}")
    assert (answer.status, answer.code) == (422, "invalid_argument")


def test_count_that_the_journal_cannot_know_is_refused(api: Asking) -> None:
    journal = api.cluster._server.journal
    assert journal is not None
    produce(api)
    api.cluster._server.call(lambda: setattr(journal, "dropped_until_s", 1e12))
    answer = api.ask("GET", "/v1/requests/count?topic=t")
    assert (answer.status, answer.code) == (409, "conflict")


def test_unsupported_requests_are_counted(api: Asking) -> None:
    assert api.get("/v1/requests/unsupported") == {"counts": {}, "requests": []}
    body = bytes([0, 52, 0, 0, 0, 0, 0, 7, 0, 3]) + b"app\0"  # Vote v0
    port = api.get("/v1/brokers/1")["port"]
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(len(body).to_bytes(4, "big") + body)
        client.recv(100)
    found = api.get("/v1/requests/unsupported")
    assert found["counts"] == {"Vote": 1}
    assert [(each["client_id"], each["version"]) for each in found["requests"]] == [("app", 0)]


def test_wait_for_requests_ends_with_the_request(api: Asking) -> None:
    found: list[Any] = []
    body = {"apis": ["Produce"], "client_id": "late"}
    waiting = threading.Thread(target=lambda: found.append(api.post("/v1/requests/wait", body)))
    waiting.start()
    produce(api, "early")
    produce(api, "late")
    waiting.join(10)
    assert [request["client_id"] for request in found[0]["requests"]] == ["late"]
    assert api.ask("POST", "/v1/requests/wait", {"apis": ["Fetch"], "timeout": 0}).status == 408


def test_reset_connection_is_gone(api: Asking) -> None:
    producer = KafkaProducer(bootstrap_servers=api.cluster.bootstrap_servers, client_id="app")
    producer.send("t", b"x").get(10)
    connections = [each for each in api.get("/v1/connections")["connections"] if each["client_id"] == "app"]
    assert connections
    for connection in connections:
        assert api.ask("POST", f"/v1/connections/{connection['id']}/reset").status == 204
    left = {each["id"] for each in api.get("/v1/connections")["connections"]}
    assert not left & {each["id"] for each in connections}
    producer.send("t", b"y").get(10)  # the producer connects again
    producer.close()


@pytest.mark.parametrize(("operation", "rest"), [("half-close", b""), ("black-hole", None)])
def test_connection_is_half_closed_or_becomes_a_black_hole(api: Asking, operation: str, rest: bytes | None) -> None:
    port = api.get("/v1/brokers/1")["port"]
    with socket.create_connection(("127.0.0.1", port)) as client:
        while not (connections := api.get("/v1/connections")["connections"]):
            pass
        assert api.ask("POST", f"/v1/connections/{connections[0]['id']}/{operation}").status == 204
        if rest is not None:
            assert client.recv(1) == rest
        else:
            client.sendall(bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0, 0]))
            client.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.recv(1)


def test_unknown_connection_is_not_found(api: Asking) -> None:
    assert api.ask("POST", "/v1/connections/127.0.0.1:1/reset").status == 404


def test_malformed_requests_are_shown(api: Asking) -> None:
    draw = random.Random(7)
    address = ("127.0.0.1", api.get("/v1/brokers/1")["port"])
    for _ in range(100):
        with socket.create_connection(address) as client:
            head = bytes([0, draw.choice((0, 1, 3, 8, 18, 22, 99)), 0, draw.randrange(16)])
            body = head + draw.randbytes(4) + b"\0\3app" + draw.randbytes(draw.randrange(60))
            client.sendall(len(body).to_bytes(4, "big") + body)
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass
    found = api.get("/v1/requests?messages=true&limit=1000")["requests"]
    assert len(found) > 20
    assert any(request["closed"] for request in found)
