"""Requests to the share coordinator, for one share partition."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import kafkalet
from kafkalet.broker.cluster.state_topics import SHARE_GROUP_STATE
from kafkalet.broker.share.state import SharePartitionKey
from tests.wire.brokers import Plain, Wire

ACKNOWLEDGED = 2


class Store:
    """The share coordinator of a cluster whose topic `t` has one partition."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self.wire = Wire(cluster)
        server = cluster._server
        server.call(lambda: server.controller.state_topic(SHARE_GROUP_STATE))
        self.topic_id = str(UUID(bytes=server.call(lambda: server.metadata.topics["t"].topic_id)))

    def ask(self, api: str, version: int = 0, group_id: str = "jobs", **fields: Any) -> Plain:
        """Send a request for partition 0, or `partition`, and return its result."""
        topic_id = fields.pop("topic_id", self.topic_id)
        topic = {"topic_id": topic_id, "partitions": [{"partition": 0} | fields]}
        response = self.wire.ask(api, version, {"group_id": group_id, "topics": [topic]})
        [result] = response["results"]
        [partition] = result["partitions"]
        assert result["topic_id"] == topic_id
        return partition  # type: ignore[no-any-return]

    def initialize(self, state_epoch: int = 0, start_offset: int = 0, **more: Any) -> Plain:
        return self.ask("InitializeShareGroupState", state_epoch=state_epoch, start_offset=start_offset, **more)

    def read(self, leader_epoch: int = 0, **more: Any) -> Plain:
        return self.ask("ReadShareGroupState", leader_epoch=leader_epoch, **more)

    def write(self, *batches: tuple[int, int, int, int], start_offset: int = 0, **more: Any) -> Plain:
        names = ("first_offset", "last_offset", "delivery_state", "delivery_count")
        given = [dict(zip(names, batch, strict=True)) for batch in batches]
        fields = {"state_epoch": 0, "leader_epoch": 0, "delivery_complete_count": 0, **more}
        return self.ask("WriteShareGroupState", 1, start_offset=start_offset, state_batches=given, **fields)

    def summary(self, **more: Any) -> Plain:
        return self.ask("ReadShareGroupStateSummary", 1, leader_epoch=0, **more)

    def delete(self, **more: Any) -> Plain:
        return self.ask("DeleteShareGroupState", **more)

    def batches(self) -> list[tuple[int, ...]]:
        return [tuple(batch.values()) for batch in self.read()["state_batches"]]

    @property
    def key(self) -> SharePartitionKey:
        return SharePartitionKey("jobs", UUID(self.topic_id).bytes, 0)


@contextmanager
def store(**options: Any) -> Iterator[Store]:
    with kafkalet.Cluster(topics=["t"], **options) as cluster:
        opened = Store(cluster)
        try:
            yield opened
        finally:
            opened.wire.close()
