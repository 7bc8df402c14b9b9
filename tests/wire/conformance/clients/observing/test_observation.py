"""Observations of requests that arrive over the network."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import kafkalet
from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.schema import Request
from kafkalet_conformance.clients.observing.finding import Severity
from kafkalet_conformance.clients.observing.observation import Observation, observe
from kafkalet_conformance.clients.observing.sent import Fate


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster() as cluster:
        cluster.topic("t").create()
        yield cluster


class Wire:
    """A connection that sends requests."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.number = 0

    def frame(self, request: Request, version: int) -> bytes:
        self.number += 1
        return b"".join(bytes(piece) for piece in request_frame(request, version, self.number, "wire"))  # type: ignore[arg-type]

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        head = self.socket.recv(4, socket.MSG_WAITALL)
        return self.socket.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL) if head else b""

    def ask(self, request: Request, version: int) -> bytes:
        self.send(self.frame(request, version))
        return self.receive()


@contextmanager
def wire(cluster: kafkalet.Cluster) -> Iterator[Wire]:
    connection = Wire(cluster)
    with connection.socket:
        connection.ask(ApiVersionsRequest(client_software_name="wire", client_software_version="1"), 3)
        yield connection


def rules(observation: Observation) -> list[str]:
    return [finding.rule for finding in observation.findings()]


ALL = MetadataRequest(topics=None)


def test_correct_requests_have_no_finding(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.ask(ALL, 9)
    assert observation.findings() == []
    assert observation.counts == {"ApiVersions": 1, "Metadata": 1}
    assert observation.unchecked == 0


def test_requests_are_decoded_with_their_responses(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.ask(ALL, 9)
    sent = observation.requests[1]
    assert (sent.api, sent.version, sent.place.position, sent.place.client_id) == (Api.METADATA, 9, 2, "wire")
    assert sent.request == ALL
    assert isinstance(sent.response, MetadataResponse)
    assert [topic.name for topic in sent.response.topics] == ["t"]
    assert sent.fate is Fate.ANSWERED


def test_defect_that_the_broker_accepts_is_found(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        frame = bytearray(connection.frame(ALL, 9)) + b"\0"
        frame[:4] = (len(frame) - 4).to_bytes(4, "big")
        connection.send(bytes(frame))
        assert connection.receive()
    [finding] = observation.findings()
    assert (finding.severity, finding.rule, finding.request.api) == (Severity.VIOLATION, "trailing-bytes", "Metadata")
    assert finding.explanation.startswith(f"Metadata v9 request, byte {len(frame) - 5}: end: 1 byte after")


def test_request_that_closes_the_connection_is_judged(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.send(bytes((0, 0, 0, 10)) + (300).to_bytes(2, "big") + bytes(8))
        assert connection.receive() == b""
    assert "api-key" in rules(observation)
    assert observation.requests[-1].fate is Fate.REFUSED


def test_refused_request_follows_the_requests_before_it(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        refused = bytes((0, 0, 0, 10)) + (300).to_bytes(2, "big") + bytes(8)
        connection.send(connection.frame(ALL, 9) + connection.frame(ALL, 8) + refused)
        while connection.receive():
            pass
    assert [sent.place.api for sent in observation.requests] == ["ApiVersions", "Metadata", "Metadata", "API 300"]
    assert [sent.place.position for sent in observation.requests] == [1, 2, 3, 4]


def test_large_produce_request_is_kept_as_a_whole(cluster: kafkalet.Cluster) -> None:
    batch = build_batch(numbered([(1000, None, bytes(700_000), ())]))
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name="t", partition_data=[partition])]
    )
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.ask(request, 9)
    assert observation.findings() == []
    assert batch in observation.requests[-1].frame


def test_request_without_a_response_is_recorded_while_it_waits(cluster: kafkalet.Cluster) -> None:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = FetchRequest.Topic(topic="t", partitions=[partition])
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.send(connection.frame(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[topic]), 6))
        cluster.requests.wait_for("Fetch")
        assert observation.requests[-1].fate is Fate.WAITING
    connection.socket.close()


def test_requests_beyond_the_limit_are_counted_as_unchecked(cluster: kafkalet.Cluster) -> None:
    with observe(cluster, most_bytes=10) as observation, wire(cluster) as connection:
        connection.ask(ALL, 9)
    assert observation.unchecked == 2
    assert observation.requests == []


def test_journal_keeps_its_requests_before_during_and_after_an_observation(cluster: kafkalet.Cluster) -> None:
    with wire(cluster) as connection:
        connection.ask(ALL, 9)
        with observe(cluster):
            connection.ask(ALL, 8)
            assert len(cluster.requests.filter("Metadata")) == 2
        connection.ask(ALL, 7)
    assert [request.version for request in cluster.requests.filter("Metadata")] == [9, 8, 7]


def test_cluster_cannot_be_observed_twice_at_a_time(cluster: kafkalet.Cluster) -> None:
    with (
        observe(cluster),
        pytest.raises(RuntimeError, match="already observed"),
        observe(cluster),
    ):
        pass


def test_lost_response_is_marked_as_altered(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection, cluster.fault("Metadata", drop_response=True):
        connection.send(connection.frame(ALL, 9))
        cluster.requests.wait_for("Metadata")
    sent = observation.requests[-1]
    assert sent.place.api == "Metadata"
    assert sent.is_altered


def test_frame_with_a_negative_size_is_found(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.send((-5).to_bytes(4, "big", signed=True))
        assert connection.receive() == b""
    [finding] = observation.findings()
    assert finding.rule == "frame-size"
    assert finding.explanation == "after the request follows a frame of -5 bytes"


def test_request_that_arrives_while_the_client_is_throttled_is_found(cluster: kafkalet.Cluster) -> None:
    throttled = cluster.fault("Metadata", throttle=1, times=1)
    with observe(cluster) as observation, wire(cluster) as connection, throttled:
        assert connection.ask(ALL, 9)
        time.sleep(0.15)  # the rule is about time
        assert connection.ask(ALL, 9)
    assert rules(observation) == ["throttle-time"]


def test_ids_from_before_the_observation_are_accepted(cluster: kafkalet.Cluster) -> None:
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.ask(beat, 3)
    assert rules(observation) == ["member-id"]
    with observe(cluster) as observation, wire(cluster) as connection:
        connection.ask(beat, 3)
    assert rules(observation) == []


def test_requests_beyond_the_kept_size_are_still_checked(
    cluster: kafkalet.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkalet_conformance.clients.observing.observation.KEPT_BYTES", 1)
    with observe(cluster) as observation, wire(cluster) as connection:
        frame = bytearray(connection.frame(ALL, 9)) + b"\0"
        frame[:4] = (len(frame) - 4).to_bytes(4, "big")
        connection.send(bytes(frame))
        assert connection.receive()
    assert rules(observation) == ["trailing-bytes"]
    assert observation.not_kept == 1
    assert sum(observation.counts.values()) == 2
    assert [sent.frame for sent in observation.requests] == [b""]
