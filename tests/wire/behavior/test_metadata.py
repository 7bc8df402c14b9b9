"""Metadata: leaders and replicas of partitions, and automatic topic creation."""

from typing import Any

import pytest

from kafkalet.protocol.errors import Code

from .client import LATEST, Client

MISSING = "there-is-no-such-topic"


def ask(broker: Client, *topics: str, version: int = 9, create: bool = False) -> list[dict[str, Any]]:
    body = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": create}
    said: list[dict[str, Any]] = broker.ask("Metadata", version, body)["topics"]
    return said


def test_every_partition_has_a_leader_and_replicas(broker: Client) -> None:
    [said] = ask(broker, broker.topic(3))
    [node] = broker.server.nodes
    result = [(p["partition_index"], p["leader_id"], p["isr_nodes"]) for p in said["partitions"]]
    assert sorted(result) == [(n, node, [node]) for n in range(3)]


def test_topic_that_must_not_be_created_stays_unknown(broker: Client) -> None:
    for _ in range(2):
        [said] = ask(broker, MISSING)
        assert said["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_requested_topic_is_created(broker: Client) -> None:
    name = f"auto-{broker.topic()}"
    ask(broker, name, create=True)
    body = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    broker.until("Metadata", 9, body, lambda said: said["topics"][0]["error_code"] == 0)
    broker.until("ListOffsets", 1, broker.listing(name, LATEST, 0), lambda said: "error_code': 0" in str(said))


@pytest.mark.parametrize("name", ["", "a b", "x" * 250, ".", ".."])
def test_invalid_topic_name_is_refused(broker: Client, name: str) -> None:
    [said] = ask(broker, name, create=True)
    assert said["error_code"] == Code.INVALID_TOPIC_EXCEPTION


def test_empty_list_requests_no_topics_and_null_requests_all(broker: Client) -> None:
    topic = broker.topic()
    assert ask(broker) == []
    everything = broker.ask("Metadata", 9, {"topics": None, "allow_auto_topic_creation": False})["topics"]
    assert topic in {said["name"] for said in everything}


def test_topics_can_be_requested_by_id(broker: Client) -> None:
    """KIP-516."""
    topic = broker.topic()
    body = {"topics": [{"name": None, "topic_id": broker.topic_ids[topic]}], "allow_auto_topic_creation": False}
    [said] = broker.ask("Metadata", 12, body)["topics"]
    assert (said["error_code"], said["name"]) == (0, topic)
