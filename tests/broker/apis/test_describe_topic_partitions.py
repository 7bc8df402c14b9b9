"""`kafkalet.broker.apis.describe_topic_partitions`: what the transcripts of Apache Kafka leave open."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.api import Api

from .asking import Asking, asking


def pages(ask: Asking, limit: int, *names: str) -> list[tuple[str, int]]:
    """All partitions, read page by page."""
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


def test_page_by_page_every_partition_comes_once() -> None:
    counts = {"a": 3, "b": 1, "c": 4}
    everything = [(name, index) for name, count in counts.items() for index in range(count)]
    with asking() as ask:
        for name, count in counts.items():
            ask.cluster.create_topic(name, count)

        @given(limit=st.integers(1, 10), some=st.sets(st.sampled_from("abc"), min_size=1))
        @settings(max_examples=30, deadline=None)
        def check(limit: int, some: set[str]) -> None:
            assert pages(ask, limit) == everything, "no names are all names"
            assert pages(ask, limit, *some) == [pair for pair in everything if pair[0] in some]

        check()


def test_the_broker_has_a_limit_too() -> None:
    with asking(config={"max.request.partition.size.limit": "2"}) as ask:
        ask.cluster.create_topic("t", 3)
        answer = ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=2000, cursor=None)
        assert len(answer["topics"][0]["partitions"]) == 2
        assert answer["next_cursor"] == {"topic_name": "t", "partition_index": 2}
