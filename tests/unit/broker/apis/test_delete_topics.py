"""`kafkalet.broker.apis.delete_topics`: cases that the recordings of Apache Kafka do not cover."""

import os

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from tests.wire.brokers import batch

from .asking import asking


def test_deleted_topic_has_no_logs_on_any_broker() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(2, replication_factor=2)
        ask.cluster.topic("t").append(batch(b"a"))
        answer = ask(Api.DELETE_TOPICS, 5, topic_names=["t"], timeout_ms=1000)
        assert [topic["error_code"] for topic in answer["responses"]] == [0]
        for node in ask.cluster._server.nodes.values():
            assert node.partitions == {}
            left = [name for name in os.listdir(node.directories.paths[0]) if name.startswith("t-")]
            assert [name.endswith("-delete") for name in left] == [True], (
                "the directory is deleted when the last reader has finished"
            )


def test_disabled_deletion_refuses_every_topic() -> None:
    with asking(config={"delete.topic.enable": "false"}) as ask:
        ask.cluster.topic("t").create()
        topic_id = ask.cluster._server.metadata.topics["t"].topic_id
        by_name = [ask(Api.DELETE_TOPICS, version, topic_names=["t"], timeout_ms=1) for version in (2, 3)]
        assert [answer["responses"][0]["error_code"] for answer in by_name] == [42, 73]
        by_id = ask(Api.DELETE_TOPICS, 6, topics=[{"name": None, "topic_id": topic_id}], timeout_ms=1)
        assert by_id["responses"][0]["error_code"] == 73
        assert "t" in ask.cluster._server.metadata.topics


def test_topic_named_by_name_and_by_id_is_not_deleted() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        topic_id = ask.cluster._server.metadata.topics["t"].topic_id
        both = [{"name": None, "topic_id": topic_id}, {"name": "t", "topic_id": bytes(16)}]
        answer = ask(Api.DELETE_TOPICS, 6, topics=both, timeout_ms=1)
        assert [topic["error_code"] for topic in answer["responses"]] == [42]
        assert "t" in ask.cluster._server.metadata.topics


def test_zero_timeout_deletes_no_topics() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        with pytest.raises(KafkaError) as refused:
            ask(Api.DELETE_TOPICS, 5, topic_names=["t", "nope"], timeout_ms=0)
        assert refused.value.code == Code.REQUEST_TIMED_OUT
        assert "t" in ask.cluster._server.metadata.topics
