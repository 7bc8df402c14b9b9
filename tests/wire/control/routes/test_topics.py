"""Tests of the routes of topics; kafka-python's admin client is the witness."""

from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from kafkalet.control import state
from tests.wire.control.asking import Asking, asking


def test_created_topic_is_visible_to_clients(api: Asking) -> None:
    created = api.post("/v1/topics", {"name": "orders", "partitions": 3, "config": {"retention.ms": "5000"}})
    assert created["config"] == {"retention.ms": "5000"}
    admin = KafkaAdminClient(bootstrap_servers=api.cluster.bootstrap_servers)
    [topic] = admin.describe_topics(["orders"])
    admin.close()
    assert len(topic["partitions"]) == 3


def test_topic_without_numbers_has_the_defaults_of_the_brokers(api: Asking) -> None:
    assert len(api.post("/v1/topics", {"name": "t"})["partitions"]) == 1


def test_partitions_are_added(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t", "partitions": 2})
    assert len(api.post("/v1/topics/t/add-partitions", {"count": 3})["partitions"]) == 5
    assert api.ask("POST", "/v1/topics/missing/add-partitions", {"count": 1}).code == "UNKNOWN_TOPIC_OR_PARTITION"


def test_properties_are_changed_and_removed(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t", "config": {"retention.ms": "5", "max.message.bytes": "100000"}})
    changed = api.post("/v1/topics/t/configure", {"config": {"retention.ms": "7", "max.message.bytes": None}})
    assert changed["config"] == {"retention.ms": "7"}
    assert api.ask("POST", "/v1/topics/t/configure", {"config": {"retention.ms": "soon"}}).code == "INVALID_CONFIG"


def test_assignments_place_replicas() -> None:
    with asking(brokers=3) as api:
        topic = api.post("/v1/topics", {"name": "t", "assignments": [[2, 1], [3, 2]]})
    assert [partition["replicas"] for partition in topic["partitions"]] == [[2, 1], [3, 2]]
    assert [partition["leader"] for partition in topic["partitions"]] == [2, 3]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "there"}, 409, "TOPIC_ALREADY_EXISTS"),
        ({"name": "not/valid"}, 422, "INVALID_TOPIC_EXCEPTION"),
        ({"name": "t", "replication_factor": 2}, 422, "INVALID_REPLICATION_FACTOR"),
        ({"name": "t", "config": {"retention.mss": "1"}}, 422, "INVALID_CONFIG"),
        ({"name": "t", "partitions": 0}, 400, "bad_request"),
        ({"name": "t", "partitions": 2, "assignments": [[1]]}, 422, "invalid_argument"),
        ({}, 400, "bad_request"),
        ({"name": "t", "partitons": 1}, 400, "bad_request"),
    ],
)
def test_topic_that_cannot_be_created_is_refused(api: Asking, body: object, status: int, code: str) -> None:
    api.post("/v1/topics", {"name": "there"})
    answer = api.ask("POST", "/v1/topics", body)
    assert (answer.status, answer.code) == (status, code)
    assert [topic["name"] for topic in api.get("/v1/topics")["topics"]] == ["there"]


def test_topics_are_listed_with_their_offsets(api: Asking) -> None:
    producer = KafkaProducer(bootstrap_servers=api.cluster.bootstrap_servers)
    producer.send("b", b"x").get(10)
    producer.send("a", b"x").get(10)
    producer.close()
    topics = api.get("/v1/topics")["topics"]
    assert [topic["name"] for topic in topics] == ["a", "b"]
    [partition] = topics[0]["partitions"]
    names = ("log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset")
    assert [partition[name] for name in names] == [0, 1, 1, 1]
    assert partition["size_bytes"] > 0


def test_internal_topics_are_listed_on_request(api: Asking) -> None:
    api.cluster.topic("__consumer_offsets").create()
    assert api.get("/v1/topics")["topics"] == []
    assert [topic["is_internal"] for topic in api.get("/v1/topics?internal=true")["topics"]] == [True]


def test_partition_without_a_leader_has_no_offsets() -> None:
    with asking(brokers=2) as api:
        api.post("/v1/topics", {"name": "t", "assignments": [[2]]})
        api.post("/v1/brokers/2/stop")
        [partition] = api.get("/v1/topics/t")["partitions"]
    assert (partition["leader"], partition["log_end_offset"], partition["size_bytes"]) == (None, None, None)


def test_deleted_topic_is_gone(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t"})
    assert api.ask("DELETE", "/v1/topics/t").status == 204
    assert api.ask("GET", "/v1/topics/t").code == "UNKNOWN_TOPIC_OR_PARTITION"
    assert api.ask("DELETE", "/v1/topics/t").status == 404


def test_partition_is_returned(api: Asking) -> None:
    topic = api.post("/v1/topics", {"name": "t", "partitions": 2})
    assert api.get("/v1/topics/t/partitions/1") == topic["partitions"][1]
    assert api.ask("GET", "/v1/topics/t/partitions/2").status == 404
    assert api.ask("GET", "/v1/topics/t/partitions/x").status == 400


def test_partitions_are_read_in_several_turns(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PARTITIONS_PER_TURN", 3)
    for name, partitions in (("a", 7), ("b", 1), ("c", 4)):
        api.post("/v1/topics", {"name": name, "partitions": partitions})
    turns: list[int] = []
    read = state.partition
    call = api.cluster._server.call

    def counted(*given: Any) -> Any:
        turns[-1] += 1
        return read(*given)

    def turn(function: Any) -> Any:
        turns.append(0)
        return call(function)

    monkeypatch.setattr(state, "partition", counted)
    monkeypatch.setattr(type(api.cluster._server), "call", lambda _, function: turn(function))
    topics = api.get("/v1/topics")["topics"]
    assert [(topic["name"], [each["partition"] for each in topic["partitions"]]) for topic in topics] == [
        ("a", list(range(7))),
        ("b", [0]),
        ("c", list(range(4))),
    ]
    assert turns == [3, 3, 3, 3, 0, 0]
