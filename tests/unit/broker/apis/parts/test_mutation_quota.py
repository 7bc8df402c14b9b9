"""`kafkalet.broker.apis.parts.mutation_quota`: CreateTopics, DeleteTopics and CreatePartitions with a quota."""

from typing import Any

from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from tests.unit.broker.apis.asking import Asking, asking

QUOTA_EXCEEDED = 89


def with_quota(ask: Asking, mutations: float) -> None:
    entity = [{"entity_type": "user", "entity_name": "ANONYMOUS"}]
    op = {"key": "controller_mutation_rate", "value": mutations, "remove": False}
    answer = ask(Api.ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": entity, "ops": [op]}], validate_only=False)
    assert answer["entries"][0]["error_code"] == 0


def create(ask: Asking, version: int = 7, node: int = 1, **topics: int) -> list[int]:
    wanted: list[dict[str, Any]] = [
        {"name": name, "num_partitions": count, "replication_factor": 1, "assignments": [], "configs": []}
        for name, count in topics.items()
    ]
    answer = ask(Api.CREATE_TOPICS, version, node=node, topics=wanted, timeout_ms=1000, validate_only=False)
    return [topic["error_code"] for topic in answer["topics"]]


def delete(ask: Asking, version: int, name: str) -> int:
    fields: dict[str, Any] = (
        {"topic_names": [name]} if version < 6 else {"topics": [{"name": name, "topic_id": bytes(16)}]}
    )
    answer = ask(Api.DELETE_TOPICS, version, timeout_ms=1000, **fields)
    code = answer["responses"][0]["error_code"]
    assert isinstance(code, int)
    return code


def grow(ask: Asking, version: int, name: str, count: int) -> int:
    wanted = [{"name": name, "count": count, "assignments": None}]
    answer = ask(Api.CREATE_PARTITIONS, version, topics=wanted, timeout_ms=1000, validate_only=False)
    code = answer["results"][0]["error_code"]
    assert isinstance(code, int)
    return code


def test_newer_versions_over_quota_are_refused() -> None:
    with asking(clock=ManualClock()) as ask:
        with_quota(ask, 2.0)
        assert create(ask, a=10, b=15, c=5) == [0, 0, QUOTA_EXCEEDED]
        assert "c" not in ask.cluster._server.metadata.topics
        assert delete(ask, 6, "a") == QUOTA_EXCEEDED
        assert "a" in ask.cluster._server.metadata.topics
        assert grow(ask, 3, "a", 11) == QUOTA_EXCEEDED


def test_earlier_versions_over_quota_are_only_throttled() -> None:
    with asking(clock=ManualClock()) as ask:
        with_quota(ask, 2.0)
        assert create(ask, version=5, a=10, b=15, c=5) == [0, 0, 0]
        assert grow(ask, 2, "a", 11) == 0
        assert delete(ask, 4, "a") == 0


def test_request_refused_for_another_reason_is_not_counted() -> None:
    with asking(clock=ManualClock()) as ask:
        with_quota(ask, 2.0)
        assert create(ask, **{"a" * 250: 30}) == [17]
        assert create(ask, a=22) == [0]
        assert create(ask, b=1) == [0]
        assert create(ask, c=1) == [QUOTA_EXCEEDED]


def test_controller_counts_the_mutations_of_all_brokers() -> None:
    with asking(brokers=2, clock=ManualClock()) as ask:
        with_quota(ask, 2.0)
        assert create(ask, a=30) == [0]
        assert create(ask, node=2, b=1) == [QUOTA_EXCEEDED]
