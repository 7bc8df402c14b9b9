"""`kafkalet.broker.apis.create_topics`: cases that the recordings of Apache Kafka do not cover."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.cluster.controller import Controller
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed
from kafkalet.tasks.task import finish

from .asking import Asking, asking


def create(ask: Asking, *topics: dict[str, Any], version: int = 7, validate_only: bool = False) -> list[dict[str, Any]]:
    wanted = [{"num_partitions": -1, "replication_factor": -1, "assignments": [], "configs": []} | t for t in topics]
    answer = ask(Api.CREATE_TOPICS, version, topics=wanted, timeout_ms=1000, validate_only=validate_only)
    found: list[dict[str, Any]] = answer["topics"]
    return found


def test_partitions_and_leaders_are_spread_over_the_brokers() -> None:
    with asking(brokers=3) as ask:
        [made] = create(ask, {"name": "t", "num_partitions": 3, "replication_factor": 2})
        assert (made["error_code"], made["num_partitions"], made["replication_factor"]) == (0, 3, 2)
        partitions = ask.cluster._server.metadata.topics["t"].partitions
        assert sorted(partition.leader for partition in partitions) == [1, 2, 3]
        assert all(len(partition.replicas) == 2 for partition in partitions)


def test_missing_counts_come_from_broker_properties() -> None:
    config = {"num.partitions": "4", "default.replication.factor": "2", "log.retention.hours": "1"}
    with asking(brokers=2, config=config) as ask:
        [made] = create(ask, {"name": "t"})
        assert (made["num_partitions"], made["replication_factor"]) == (4, 2)
        [retention] = [config for config in made["configs"] if config["name"] == "retention.ms"]
        assert (retention["value"], retention["config_source"]) == ("3600000", 4)


def test_response_contains_the_properties_of_tiered_storage_in_3_3() -> None:
    with asking(version="3.3") as ask:
        [made] = create(ask, {"name": "t"}, version=5)
        found = {config["name"]: config["value"] for config in made["configs"]}
        assert len(found) == 29
        assert (found["local.retention.bytes"], found["local.retention.ms"]) == ("-2", "-2")
        assert found["remote.storage.enable"] == "false"


def test_tiered_storage_is_refused() -> None:
    with asking() as ask:
        [refused] = create(ask, {"name": "t", "configs": [{"name": "remote.storage.enable", "value": "true"}]})
        assert (refused["error_code"], refused["error_message"]) == (
            Code.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )


def test_response_contains_the_topic_id() -> None:
    with asking() as ask:
        [made] = create(ask, {"name": "t"})
        assert made["topic_id"] == ask.cluster._server.metadata.topics["t"].topic_id
        [seen] = create(ask, {"name": "u"}, validate_only=True)
        assert seen["topic_id"] not in (bytes(16), made["topic_id"])


def test_explicit_assignment_is_used_with_the_first_replica_as_leader() -> None:
    with asking(brokers=3) as ask:
        assignments = [{"partition_index": 1, "broker_ids": [3, 1]}, {"partition_index": 0, "broker_ids": [2, 3]}]
        [made] = create(ask, {"name": "t", "assignments": assignments})
        assert made["error_code"] == 0
        partitions = ask.cluster._server.metadata.topics["t"].partitions
        assert [(partition.leader, partition.replicas) for partition in partitions] == [(2, [2, 3]), (3, [3, 1])]


def test_assignment_with_different_replication_factors_is_refused() -> None:
    with asking(brokers=3) as ask:
        assignments = [{"partition_index": 0, "broker_ids": [2, 3]}, {"partition_index": 1, "broker_ids": [3]}]
        [made] = create(ask, {"name": "t", "assignments": assignments})
        assert made["error_code"] == 39
        assert "1 replica(s), but this is not consistent with previous partitions" in made["error_message"]


def test_too_many_partitions_are_refused_before_any_topic_is_created() -> None:
    with asking() as ask:
        for count in (10_000, 10_001, 2**31 - 1):
            answers = create(ask, {"name": "t", "num_partitions": count}, {"name": "u"})
            assert [answer["error_code"] for answer in answers] == [44, 44]
        assert ask.cluster._server.metadata.topics == {}


def test_refused_topic_does_not_affect_other_topics() -> None:
    with asking() as ask:
        answers = create(ask, {"name": "a b"}, {"name": "t"}, {"name": "u", "num_partitions": 0}, {"name": "v"})
        assert [answer["error_code"] for answer in answers] == [17, 0, 37, 0]
        assert list(ask.cluster._server.metadata.topics) == ["t", "v"]


def test_response_before_v5_has_no_configuration() -> None:
    with asking() as ask:
        [made] = create(ask, {"name": "t"}, version=4)
        assert (made["error_code"], made["num_partitions"], made["configs"]) == (0, -1, [])


def test_zero_timeout_creates_no_topics() -> None:
    with asking() as ask:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("t", "a b", "u", "u")]
        wanted = [{"assignments": [], "configs": []} | topic for topic in topics]
        with pytest.raises(KafkaError) as refused:
            ask(Api.CREATE_TOPICS, 5, topics=wanted, timeout_ms=0, validate_only=False)
        assert refused.value.code == Code.REQUEST_TIMED_OUT
        assert not ask.cluster._server.metadata.topics


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "9" * 5000])
def test_number_of_5000_digits_returns_invalid_config(digits: str) -> None:
    with asking() as ask:
        config = {"name": "retention.ms", "value": digits}
        wanted = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [config]}
        [topic] = create(ask, wanted)
        assert topic["error_code"] == Code.INVALID_CONFIG
        assert topic["error_message"].endswith("for configuration retention.ms: Not a number of type LONG")


def test_other_requests_create_topics_during_a_long_request() -> None:
    with asking() as ask:
        counts: dict[str, Any] = {"num_partitions": 60, "replication_factor": 1, "assignments": [], "configs": []}
        topics = [{"name": name} | counts for name in "tuv"]
        long = ask.cluster._server.call(lambda: ask.begin(Api.CREATE_TOPICS, 7, topics=topics, timeout_ms=1000))
        ask.cluster._server.call(lambda: long.send(None))
        assert list(ask.cluster._server.metadata.topics) == ["t"]
        assert create(ask, {"name": "v"})[0]["error_code"] == Code.NONE
        answer = ask.cluster._server.call(lambda: finish(long))
        codes = [topic.error_code for topic in answer.topics]
        assert codes == [Code.NONE, Code.NONE, Code.TOPIC_ALREADY_EXISTS]


def begin_large(ask: Asking, *counts: int) -> Any:
    fields: dict[str, Any] = {"replication_factor": 1, "assignments": [], "configs": []}
    topics = [{"name": f"t{number}", "num_partitions": count} | fields for number, count in enumerate(counts)]
    return ask.cluster._server.call(lambda: ask.begin(Api.CREATE_TOPICS, 7, topics=topics, timeout_ms=1000))


def test_topic_of_many_partitions_appears_when_all_of_it_exists() -> None:
    with asking() as ask:
        long = begin_large(ask, 1200)
        topics = ask.cluster._server.metadata.topics
        for _ in range(2):
            ask.cluster._server.call(lambda: long.send(None))
            assert not topics
        ask.cluster._server.call(lambda: finish(long))
        assert len(topics["t0"].partitions) == 1200
        assert {partition.index for partition in ask.cluster._server.nodes[1].partitions.values()} == set(range(1200))


def test_topic_that_was_created_meanwhile_is_refused() -> None:
    with asking() as ask:
        long = begin_large(ask, 1200)
        ask.cluster._server.call(lambda: long.send(None))
        assert create(ask, {"name": "t0"})[0]["error_code"] == Code.NONE
        answer = ask.cluster._server.call(lambda: finish(long))
        assert [topic.error_code for topic in answer.topics] == [Code.TOPIC_ALREADY_EXISTS]
        assert len(ask.cluster._server.metadata.topics["t0"].partitions) == 1


def test_no_topic_of_a_long_request_stays_if_the_metadata_cannot_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(controller: Controller) -> None:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr(Controller, "save_in_thread", fail)
    with asking() as ask:
        long = begin_large(ask, 60, 600, 1)
        with pytest.raises(StorageFailed):
            ask.cluster._server.call(lambda: finish(long))
        assert not ask.cluster._server.metadata.topics
        assert not ask.cluster._server.nodes[1].partitions
        assert ask.cluster._server.nodes[1].are_logs_open


def test_logs_of_many_partitions_are_created(tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        long = begin_large(ask, 60)
        ask.cluster._server.call(lambda: finish(long))
        ask.cluster._server.call(ask.cluster._server.nodes[1].open_logs)
        assert len(list(tmp_path.glob("t0-*/*.log"))) == 60
    with asking(data_dir=tmp_path) as ask:
        assert len(ask.cluster._server.metadata.topics["t0"].partitions) == 60
