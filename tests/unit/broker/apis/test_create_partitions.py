"""`kafkalet.broker.apis.create_partitions`: what the transcripts of Apache Kafka leave open."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .asking import Asking, asking


def grow(ask: Asking, count: int, *replicas: list[int], validate_only: bool = False) -> dict[str, Any]:
    assignments = [{"broker_ids": brokers} for brokers in replicas] or None
    topics = [{"name": "t", "count": count, "assignments": assignments}]
    answer = ask(Api.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=1000, validate_only=validate_only)
    [result] = answer["results"]
    assert isinstance(result, dict)
    return result


def leaders(ask: Asking) -> list[int]:
    return [partition.leader for partition in ask.cluster.server.metadata.topics["t"].partitions]


def test_new_partitions_go_on_round_the_brokers() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.create_topic("t", 2, 2)
        assert grow(ask, 6)["error_code"] == 0
        assert leaders(ask) == [1, 2, 3, 1, 2, 3]
        assert all(len(partition.replicas) == 2 for partition in ask.cluster.server.metadata.topics["t"].partitions)
        assert ask.cluster.log("t", 5).log_end_offset == 0


def test_replicas_can_be_assigned() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.create_topic("t", 1, 1)
        assert grow(ask, 3, [3], [2])["error_code"] == 0
        assert leaders(ask) == [1, 3, 2]


def test_assigned_replicas_have_to_be_as_many_as_before() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.create_topic("t", 1, 1)
        refused = grow(ask, 2, [3, 2])
        assert refused["error_code"] == 39
        assert "2 replica(s), but this is not consistent with previous partitions" in refused["error_message"]


def test_validate_only_makes_none() -> None:
    with asking() as ask:
        ask.cluster.create_topic("t", 1)
        assert grow(ask, 3, validate_only=True)["error_code"] == 0
        assert len(leaders(ask)) == 1


def test_too_many_are_refused() -> None:
    with asking() as ask:
        ask.cluster.create_topic("t", 1)
        assert grow(ask, 2**31 - 1)["error_code"] == 44
        assert len(leaders(ask)) == 1


def test_without_time_nothing_grows() -> None:
    with asking() as ask:
        ask.cluster.create_topic("t")
        topics = [{"name": name, "count": 2, "assignments": None} for name in ("t", "nope")]
        with pytest.raises(KafkaError) as refused:
            ask(Api.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=-1, validate_only=False)
        assert refused.value.code == Code.REQUEST_TIMED_OUT
        assert leaders(ask) == [1]
