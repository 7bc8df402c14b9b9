"""Tests of the routes of brokers."""

import socket
from collections.abc import Iterator

import pytest

from tests.wire.control.asking import Asking, asking


@pytest.fixture
def three() -> Iterator[Asking]:
    with asking(brokers=3) as api:
        yield api


def test_stopped_broker_starts_on_its_port(three: Asking) -> None:
    before = three.get("/v1/brokers/2")
    stopped = three.post("/v1/brokers/2/stop")
    assert (stopped["is_running"], stopped["port"]) == (False, None)
    assert [broker["is_running"] for broker in three.get("/v1/brokers")["brokers"]] == [True, False, True]
    assert three.post("/v1/brokers/2/start") == before


@pytest.mark.parametrize("action", ["stop", "start", "pause", "resume"])
def test_change_of_a_broker_is_idempotent(three: Asking, action: str) -> None:
    assert three.post(f"/v1/brokers/2/{action}") == three.post(f"/v1/brokers/2/{action}")


def test_paused_broker_is_running_until_it_is_fenced(three: Asking) -> None:
    paused = three.post("/v1/brokers/2/pause")
    assert (paused["is_paused"], paused["is_running"]) == (True, True)
    assert three.get("/v1/brokers/2") == paused
    assert not three.post("/v1/brokers/2/resume")["is_paused"]


def test_broker_is_cut_off_from_peers_until_it_is_reconnected(three: Asking) -> None:
    for _ in range(2):
        assert three.post("/v1/brokers/2/cut-off", {"peers": ["clients"]})["cut_off_from"] == ["clients"]
    three.post("/v1/brokers/2/cut-off", {"peers": ["clients", "brokers"]})
    assert three.get("/v1/brokers/2")["cut_off_from"] == ["brokers", "clients"]
    assert three.post("/v1/brokers/2/reconnect")["cut_off_from"] == []
    assert three.post("/v1/brokers/2/reconnect")["cut_off_from"] == []


def test_controller_is_stopped_until_it_is_started(three: Asking) -> None:
    for _ in range(2):
        three.ask("POST", "/v1/controller/stop")
    three.post("/v1/brokers/2/stop")
    refused = three.ask("POST", "/v1/brokers/2/start")
    assert (refused.status, refused.message) == (422, "broker 2 cannot start, because the controller is stopped")
    for _ in range(2):
        three.ask("POST", "/v1/controller/start")
    assert three.post("/v1/brokers/2/start")["is_running"]


@pytest.mark.parametrize("path", ["", "/stop", "/start", "/pause", "/hold-replication"])
def test_unknown_broker_is_not_found(three: Asking, path: str) -> None:
    answer = three.ask("POST" if path else "GET", f"/v1/brokers/9{path}")
    assert (answer.status, answer.message) == (404, "broker 9 does not exist")


def test_held_replica_leaves_the_high_watermark_behind(three: Asking) -> None:
    three.post("/v1/topics", {"name": "t", "assignments": [[1, 2]]})
    three.post("/v1/brokers/2/hold-replication", {"topic": "t"})
    three.post("/v1/topics/t/records", {"value": "x"})
    held = three.get("/v1/topics/t/partitions/0")
    three.post("/v1/brokers/2/hold-replication/release", {"topic": "t"})
    released = three.get("/v1/topics/t/partitions/0")
    assert [(each["high_watermark"], each["log_end_offset"]) for each in (held, released)] == [(0, 1), (1, 1)]


def test_replica_that_is_not_held_cannot_be_released(three: Asking) -> None:
    assert three.ask("POST", "/v1/brokers/2/hold-replication/release", {}).status == 422


def test_brokers_roll_on_their_ports(three: Asking) -> None:
    three.post("/v1/topics", {"name": "t", "replication_factor": 3})
    before = three.get("/v1/brokers")
    assert three.post("/v1/roll") == before
    assert sorted(three.get("/v1/topics/t/partitions/0")["isr"]) == [1, 2, 3]


def test_log_directory_fails_and_is_restored(three: Asking) -> None:
    three.post("/v1/topics", {"name": "t", "assignments": [[2, 1]]})
    three.post("/v1/brokers/2/fail-log-dir")
    failed = three.get("/v1/topics/t/partitions/0")
    assert (failed["leader"], failed["offline_replicas"]) == (1, [2])
    assert three.ask("POST", "/v1/brokers/2/fail-log-dir", {"log_dir": "missing"}).status == 422
    three.post("/v1/brokers/2/fail-log-dir/release", {"log_dir": 0})
    assert three.get("/v1/topics/t/partitions/0")["offline_replicas"] == []


def test_refused_connections_are_accepted_again(three: Asking) -> None:
    address = ("127.0.0.1", three.get("/v1/brokers/2")["port"])
    three.post("/v1/brokers/2/refuse-connections")
    assert not answers(address)
    three.post("/v1/brokers/2/refuse-connections/release")
    assert answers(address)


def answers(address: tuple[str, int]) -> bool:
    """Return whether a broker answers an ApiVersions request."""
    try:
        with socket.create_connection(address, timeout=5) as client:
            client.sendall(bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0, 0]))
            return bool(client.recv(1))
    except OSError:
        return False
