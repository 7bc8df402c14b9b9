"""`kafkalet.broker.apis.describe_quorum`: the controllers are voters, the brokers observers, and all have caught up."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .asking import Asking, asking


def describe(ask: Asking, *wanted: tuple[str, int], version: int = 2) -> Any:
    topics = [{"topic_name": name, "partitions": [{"partition_index": index}]} for name, index in wanted]
    return ask(Api.DESCRIBE_QUORUM, version, topics=topics)


def quorum_of(ask: Asking) -> tuple[int, list[int], list[int]]:
    """Return the leader, the voters and the observers."""
    [quorum] = describe(ask, ("__cluster_metadata", 0))["topics"][0]["partitions"]
    assert {each["log_end_offset"] for each in quorum["current_voters"]} == {quorum["high_watermark"]}
    voters, observers = ([each["replica_id"] for each in quorum[kind]] for kind in ("current_voters", "observers"))
    return quorum["leader_id"], voters, observers


def test_first_broker_is_the_controller_by_default() -> None:
    with asking(brokers=3) as ask:
        assert quorum_of(ask) == (1, [1], [2, 3])
        assert describe(ask, ("__cluster_metadata", 0))["nodes"] == [{"node_id": 1, "listeners": []}]


def test_controllers_apart_from_the_brokers_are_voters() -> None:
    voters = {"controller.quorum.voters": "3000@a:1,3001@b:1"}
    with asking(brokers=2, config=voters) as ask:
        assert quorum_of(ask) == (3000, [3000, 3001], [1, 2])


def test_listener_of_the_controller_is_described() -> None:
    with asking(controller="3000@127.0.0.1:0") as ask:
        [node] = describe(ask, ("__cluster_metadata", 0))["nodes"]
        [listener] = node["listeners"]
        at = f"{listener['host']}:{listener['port']}"
        assert (node["node_id"], listener["name"], at) == (3000, "CONTROLLER", ask.cluster.bootstrap_controllers)


@pytest.mark.parametrize("wanted", [[("t", 0)], [("__cluster_metadata", 1)], [("__cluster_metadata", 0), ("t", 0)]])
def test_other_partitions_are_unknown(wanted: list[tuple[str, int]]) -> None:
    with asking(topics=["t"]) as ask:
        answer = describe(ask, *wanted)
        codes = [partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]]
        assert (answer["error_code"], codes) == (0, [3] * len(wanted))
