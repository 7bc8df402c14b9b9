"""`kafkalet.broker.apis.describe_quorum`: all brokers are voters that have caught up."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .asking import Asking, asking


def describe(ask: Asking, *wanted: tuple[str, int], version: int = 2) -> Any:
    topics = [{"topic_name": name, "partitions": [{"partition_index": index}]} for name, index in wanted]
    return ask(Api.DESCRIBE_QUORUM, version, topics=topics)


def test_all_brokers_are_voters_and_the_controller_is_the_leader() -> None:
    with asking(brokers=3) as ask:
        answer = describe(ask, ("__cluster_metadata", 0))
        [quorum] = answer["topics"][0]["partitions"]
        assert (quorum["error_code"], quorum["leader_id"], quorum["observers"]) == (0, 1, [])
        ends = {voter["replica_id"]: voter["log_end_offset"] for voter in quorum["current_voters"]}
        assert ends == dict.fromkeys((1, 2, 3), quorum["high_watermark"])
        assert [node["node_id"] for node in answer["nodes"]] == [1, 2, 3]
        ask.cluster.broker(1).stop()
        [quorum] = ask(
            Api.DESCRIBE_QUORUM,
            2,
            node=2,
            topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}],
        )["topics"][0]["partitions"]
        assert quorum["leader_id"] == 2


@pytest.mark.parametrize("wanted", [[("t", 0)], [("__cluster_metadata", 1)], [("__cluster_metadata", 0), ("t", 0)]])
def test_other_partitions_are_unknown(wanted: list[tuple[str, int]]) -> None:
    with asking(topics=["t"]) as ask:
        answer = describe(ask, *wanted)
        codes = [partition["error_code"] for topic in answer["topics"] for partition in topic["partitions"]]
        assert (answer["error_code"], codes) == (0, [3] * len(wanted))
