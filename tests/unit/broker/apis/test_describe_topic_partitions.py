"""`kafkalet.broker.apis.describe_topic_partitions`: cases that the recordings of Apache Kafka do not cover."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.api import Api
from tests.profile import examples

from .asking import Asking, asking


def pages(ask: Asking, limit: int, *names: str) -> list[tuple[str, int]]:
    """Return all partitions, read page by page."""
    found: list[tuple[str, int]] = []
    cursor: dict[str, Any] | None = None
    topics = [{"name": name} for name in names]
    while True:
        answer = ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=topics, response_partition_limit=limit, cursor=cursor)
        page = [(t["name"], p["partition_index"]) for t in answer["topics"] for p in t["partitions"]]
        assert len(page) <= limit
        found += page
        cursor = answer["next_cursor"]
        if cursor is None:
            return found


def test_paging_returns_every_partition_once() -> None:
    counts = {"a": 3, "b": 1, "c": 4}
    everything = [(name, index) for name, count in counts.items() for index in range(count)]
    with asking() as ask:
        for name, count in counts.items():
            ask.cluster.topic(name).create(count)

        @given(limit=st.integers(1, 10), some=st.sets(st.sampled_from("abc"), min_size=1))
        @settings(max_examples=examples(0.3))
        def check(limit: int, some: set[str]) -> None:
            assert pages(ask, limit) == everything, "a request without names returns all topics"
            assert pages(ask, limit, *some) == [pair for pair in everything if pair[0] in some]

        check()


def test_broker_limits_the_page_size() -> None:
    with asking(config={"max.request.partition.size.limit": "2"}) as ask:
        ask.cluster.topic("t").create(3)
        answer = ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=2000, cursor=None)
        assert len(answer["topics"][0]["partitions"]) == 2
        assert answer["next_cursor"] == {"topic_name": "t", "partition_index": 2}


@pytest.mark.parametrize(("release", "isr", "eligible"), [("3.9", [2], []), ("4.4", [], [2])])
def test_partition_without_leader_has_no_error(release: str, isr: list[int], eligible: list[int]) -> None:
    with asking(brokers=2, version=release) as ask:
        ask.cluster.topic("t").create(assignments=[[2]])
        ask.cluster.broker(2).stop()
        answer = ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": "t"}], response_partition_limit=9, cursor=None)
        [partition] = answer["topics"][0]["partitions"]
        assert (partition["error_code"], partition["leader_id"], partition["offline_replicas"]) == (0, -1, [2])
        assert (partition["isr_nodes"], partition["eligible_leader_replicas"]) == (isr, eligible)
        answer = ask(Api.METADATA, 8, topics=[{"name": "t", "topic_id": bytes(16)}])
        [partition] = answer["topics"][0]["partitions"]
        assert (partition["error_code"], partition["isr_nodes"]) == (5, isr)
