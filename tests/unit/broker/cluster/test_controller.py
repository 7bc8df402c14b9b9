"""`kafkalet.broker.cluster.controller`: topics are saved together, and their logs are created when used."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.storage.failures import StorageFailed
from tests.unit.model.stage import Pending, Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A broker whose worker threads do nothing before `run_calls`."""
    stage = Stage(1)
    stage.calls = []
    yield stage
    stage.close()


def creating(stage: Stage, name: str) -> Pending:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    return stage.begin(Api.CREATE_TOPICS, 4, 1, topics=[topic], timeout_ms=1000, validate_only=False)


def code(answer: dict[str, Any]) -> int:
    [topic] = answer["topics"]
    return int(topic["error_code"])


def fail_writes(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device", "kafkalet.json")

    monkeypatch.setattr("kafkalet.broker.cluster.metadata_store.replace_file", fail)


def test_response_is_sent_after_the_topic_has_been_saved(stage: Stage) -> None:
    pending = creating(stage, "a")
    stage.settle()
    assert pending.is_waiting
    assert stage.run_calls() == 1
    assert code(pending.answer()) == Code.NONE


def test_topics_that_wait_are_saved_together(stage: Stage) -> None:
    first = creating(stage, "a")
    others = [creating(stage, name) for name in ("b", "c", "d")]
    assert stage.run_calls() == 1
    assert code(first.answer()) == Code.NONE
    assert all(other.is_waiting for other in others)
    assert stage.run_calls() == 1
    assert [code(other.answer()) for other in others] == [Code.NONE] * 3


def test_topic_that_cannot_be_saved_does_not_exist(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_writes(stage, monkeypatch)
    pending = [creating(stage, name) for name in ("a", "b")]
    while stage.calls:
        stage.run_calls()
    assert [code(each.answer()) for each in pending] == [Code.KAFKA_STORAGE_ERROR] * 2
    assert stage.cluster._server.metadata.topics == {}


def test_topic_is_saved_after_another_could_not_be_saved(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as failing:
        fail_writes(stage, failing)
        first, second = creating(stage, "a"), creating(stage, "b")
        stage.run_calls()
    stage.run_calls()
    assert (code(first.answer()), code(second.answer())) == (Code.KAFKA_STORAGE_ERROR, Code.NONE)
    assert list(stage.cluster._server.metadata.topics) == ["b"]


def test_topic_is_saved_if_its_client_disconnects(stage: Stage) -> None:
    creating(stage, "a")
    waiting = creating(stage, "b")
    waiting.cancel()
    while stage.calls:
        stage.run_calls()
    stage.calls = None
    stage.restart()
    assert sorted(stage.cluster._server.metadata.topics) == ["a", "b"]


def test_first_group_creates_the_log_of_its_partition_only(stage: Stage) -> None:
    stage.calls = None
    stage.cluster._server.controller.logs_added = lambda: None  # nothing is created afterwards
    assert stage.coordinator("g", 0) == 1
    partitions = stage.cluster._server.nodes[1].partitions.values()
    assert [partition.is_open for partition in partitions].count(True) == 1
    assert len(partitions) == 50


def test_internal_topic_that_cannot_be_saved_has_no_coordinator(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_writes(stage, monkeypatch)
    pending = stage.begin(Api.FIND_COORDINATOR, 3, 1, key="g", key_type=0)
    stage.run_calls()
    assert pending.answer()["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
    assert stage.cluster._server.metadata.topics == {}


def test_log_that_cannot_be_created_has_no_coordinator(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.calls = None
    node = stage.cluster._server.nodes[1]

    def fail(*arguments: object, **options: object) -> None:
        raise StorageFailed("no space")

    monkeypatch.setattr(node.directories, "get_or_create", fail)
    found = stage.ask(Api.FIND_COORDINATOR, 3, 1, key="g", key_type=0)
    assert found["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
