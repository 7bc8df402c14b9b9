"""`kafkalet.broker.apis.find_coordinator`: the coordinators of groups and transactional ids."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.model.stage import Stage

GROUP, TRANSACTION, SHARE = 0, 1, 2
ONE = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "1"}


@contextmanager
def staged(brokers: int, version: str = "newest", **config: str) -> Iterator[Stage]:
    stage = Stage(brokers, version, **config)
    try:
        yield stage
    finally:
        stage.close()


@pytest.mark.parametrize("version", range(4))
def test_single_key_is_found(version: int) -> None:
    with staged(1, "newest", **ONE) as stage:
        endpoint = stage.cluster._server.metadata.endpoints[1]
        for key_type in (GROUP, TRANSACTION) if version else (GROUP,):
            more = {"key_type": key_type} if version else {}
            found = stage.ask(Api.FIND_COORDINATOR, version, 1, key="k", **more)
            assert (found["error_code"], found["node_id"]) == (Code.NONE, 1)
            assert (found["host"], found["port"]) == (endpoint.host, endpoint.port)
            assert version == 0 or found["error_message"] == "NONE"


@pytest.mark.parametrize("version", [4, 5, 6])
def test_several_keys_are_found_in_one_request(version: int) -> None:
    with staged(3, "newest", **ONE) as stage:
        found = stage.ask(Api.FIND_COORDINATOR, version, 2, key_type=GROUP, coordinator_keys=["a", "b", "c", "a"])
        answers = found["coordinators"]
        assert [(answer["key"], answer["error_code"]) for answer in answers] == [("a", 0), ("b", 0), ("c", 0), ("a", 0)]
        assert sorted(answer["node_id"] for answer in answers[:3]) == [1, 2, 3]
        assert answers[0]["node_id"] == answers[3]["node_id"] == stage.coordinator("a", GROUP)


def test_first_request_creates_the_internal_topic() -> None:
    with staged(2, "newest", **ONE) as stage:
        assert stage.cluster._server.metadata.topics == {}
        stage.ask(Api.FIND_COORDINATOR, 3, 1, key="k", key_type=GROUP)
        [topic] = stage.cluster._server.metadata.topics.values()
        assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 3)
        assert all(sorted(partition.replicas) == [1, 2] for partition in topic.partitions)


def test_partition_without_leader_returns_coordinator_not_available() -> None:
    with staged(2, "newest", **ONE, **{"offsets.topic.replication.factor": "1"}) as stage:
        gone = stage.coordinator("k", GROUP)
        stage.stop_broker(gone)
        found = stage.ask(Api.FIND_COORDINATOR, 3, 3 - gone, key="k", key_type=GROUP)
        assert (found["error_code"], found["node_id"], found["port"]) == (Code.COORDINATOR_NOT_AVAILABLE, -1, -1)


def test_replication_factor_above_broker_count_returns_coordinator_not_available() -> None:
    with staged(1, "newest", **{"offsets.topic.replication.factor": "3"}) as stage:
        found = stage.ask(Api.FIND_COORDINATOR, 3, 1, key="k", key_type=GROUP)
        assert (found["error_code"], found["node_id"]) == (Code.COORDINATOR_NOT_AVAILABLE, -1)


@pytest.mark.parametrize("key_type", [SHARE, 9])
def test_unknown_key_type_returns_invalid_request(key_type: int) -> None:
    with staged(1) as stage:
        found = stage.ask(Api.FIND_COORDINATOR, 6, 1, key_type=key_type, coordinator_keys=["k"])
        [answer] = found["coordinators"]
        assert (answer["error_code"], answer["node_id"], answer["host"]) == (Code.INVALID_REQUEST, -1, "")


def test_share_group_returns_coordinator_not_available_before_4_0() -> None:
    with staged(1, "3.9") as stage:
        found = stage.ask(Api.FIND_COORDINATOR, 6, 1, key_type=SHARE, coordinator_keys=["k"])
        assert found["coordinators"][0]["error_code"] == Code.COORDINATOR_NOT_AVAILABLE
