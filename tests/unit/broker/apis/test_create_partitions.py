"""`kafkalet.broker.apis.create_partitions`: cases that the recordings of Apache Kafka do not cover."""

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
    return [partition.leader for partition in ask.cluster._server.metadata.topics["t"].partitions]


def test_leaders_of_new_partitions_continue_round_robin() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(2, replication_factor=2)
        assert grow(ask, 6)["error_code"] == 0
        assert leaders(ask) == [1, 2, 3, 1, 2, 3]
        assert all(len(partition.replicas) == 2 for partition in ask.cluster._server.metadata.topics["t"].partitions)
        assert ask.cluster.topic("t").log(5).log_end_offset == 0


def test_explicit_assignment_is_used() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(1, replication_factor=1)
        assert grow(ask, 3, [3], [2])["error_code"] == 0
        assert leaders(ask) == [1, 3, 2]


def test_assignment_with_another_replication_factor_is_refused() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(1, replication_factor=1)
        refused = grow(ask, 2, [3, 2])
        assert refused["error_code"] == 39
        assert "2 replica(s), but this is not consistent with previous partitions" in refused["error_message"]


def test_validate_only_creates_no_partitions() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create(1)
        assert grow(ask, 3, validate_only=True)["error_code"] == 0
        assert len(leaders(ask)) == 1


@pytest.mark.parametrize(("release", "code"), [("3.9", -1), ("4.4", 44)])
def test_too_many_partitions_are_refused(release: str, code: int) -> None:
    with asking(version=release) as ask:
        ask.cluster.topic("t").create(1)
        assert grow(ask, 2**31 - 1)["error_code"] == code
        assert len(leaders(ask)) == 1


def test_zero_timeout_creates_no_partitions() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        topics = [{"name": name, "count": 2, "assignments": None} for name in ("t", "nope")]
        with pytest.raises(KafkaError) as refused:
            ask(Api.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=-1, validate_only=False)
        assert refused.value.code == Code.REQUEST_TIMED_OUT
        assert leaders(ask) == [1]
