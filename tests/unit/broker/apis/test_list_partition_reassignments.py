"""`kafkalet.broker.apis.list_partition_reassignments`: ongoing reassignments of all or some topics."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .asking import asking

MOVING = [{"partition_index": 1, "replicas": [2, 1], "adding_replicas": [2], "removing_replicas": [1]}]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (None, ["t"]),
        ([{"name": "t", "partition_indexes": [0, 1, 7]}], ["t"]),
        ([{"name": "t", "partition_indexes": [0]}], []),
        ([{"name": "u", "partition_indexes": [0]}], []),
        ([{"name": "nope", "partition_indexes": [0]}], []),
        ([], []),
    ],
)
def test_only_ongoing_reassignments_are_listed(asked: Any, found: list[str]) -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1], [1]])
        ask.cluster.topic("u").create(assignments=[[1]])
        ask.cluster.hold_replication(2)
        partitions = [{"partition_index": index, "replicas": [index + 1]} for index in (0, 1)]
        ask.cluster.broker(2).stop()
        ask.cluster.broker(2).start()
        from kafkalet.protocol.records.build import build_batch, numbered

        ask.cluster.topic("t").append(build_batch(numbered([(1_600_000_000_000, None, b"v", ())])), 1)
        ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, topics=[{"name": "t", "partitions": partitions}])
        answer = ask(Api.LIST_PARTITION_REASSIGNMENTS, 0, topics=asked)
        assert answer["topics"] == [{"name": name, "partitions": MOVING} for name in found]
