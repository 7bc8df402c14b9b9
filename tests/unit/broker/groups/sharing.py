"""Members of a share group, on a stage whose clock the test controls."""

from typing import Any

from kafkalet.broker.groups.share.group import ShareGroup
from kafkalet.protocol.api import Api
from tests.unit.model.stage import Stage

FEW_PARTITIONS = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.share.assignment.interval.ms": "0",
}
"""A broker configuration that starts quickly and computes a new target assignment after every change."""

Partitions = dict[str, list[int]]


class Sharing:
    """The members of a share group, each with its member epoch and its assignment by topic name."""

    def __init__(self, stage: Stage, group_id: str = "g") -> None:
        self.stage = stage
        self.group_id = group_id
        self.epochs: dict[str, int] = {}
        self.assigned: dict[str, Partitions] = {}
        self.node = stage.coordinator(group_id, 0)

    @property
    def group(self) -> ShareGroup:
        shard = self.stage.cluster._server.brokers[self.node].coordinators.groups.shard_of(self.group_id)
        group = shard.groups[self.group_id]
        assert isinstance(group, ShareGroup)
        return group

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        return self.stage.ask(api, version, self.node, client_id="ann", **fields)

    def send(self, member_id: str, epoch: int, *topics: str, **fields: Any) -> Any:
        """Send a heartbeat and return the response. Without topics, the subscription is null."""
        known = {"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch}
        if topics:
            known["subscribed_topic_names"] = list(topics)
        return self.ask(Api.SHARE_GROUP_HEARTBEAT, 1, **known | fields)

    def join(self, member_id: str, *topics: str, **fields: Any) -> Partitions:
        """Join and return the assignment."""
        return self._took_in(member_id, self.send(member_id, 0, *(topics or ("t",)), **fields))

    def beat(self, member_id: str, *topics: str) -> Partitions:
        """Send a heartbeat with the current epoch, and return the assignment."""
        return self._took_in(member_id, self.send(member_id, self.epochs[member_id], *topics))

    def share(self, *member_ids: str) -> None:
        """Let members join, and assign them the partitions of topic "t"."""
        for member_id in member_ids:
            self.join(member_id)
        for member_id in (*member_ids, *member_ids):
            self.beat(member_id)

    def describe(self) -> Any:
        answer = self.ask(Api.SHARE_GROUP_DESCRIBE, 1, group_ids=[self.group_id], include_authorized_operations=True)
        [group] = answer["groups"]
        return group

    def offsets(self, version: int = 1) -> dict[tuple[str, int], int]:
        """Return the start offsets of all initialized partitions."""
        groups = [{"group_id": self.group_id, "topics": None}]
        [group] = self.ask(Api.DESCRIBE_SHARE_GROUP_OFFSETS, version, groups=groups)["groups"]
        return {
            (topic["topic_name"], partition["partition_index"]): partition["start_offset"]
            for topic in group["topics"]
            for partition in topic["partitions"]
        }

    def alter(self, topic: str, offsets: dict[int, int]) -> Any:
        partitions = [{"partition_index": index, "start_offset": offset} for index, offset in offsets.items()]
        topics = [{"topic_name": topic, "partitions": partitions}]
        return self.ask(Api.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=self.group_id, topics=topics)

    def _took_in(self, member_id: str, answer: Any) -> Partitions:
        assert answer["error_code"] == 0, answer
        self.epochs[member_id] = answer["member_epoch"]
        if answer["assignment"] is not None:
            by_id = self.stage.cluster._server.metadata.topic_by_id
            self.assigned[member_id] = {
                getattr(by_id(of["topic_id"]), "name", "gone"): of["partitions"]
                for of in answer["assignment"]["topic_partitions"]
            }
        return self.assigned[member_id]
