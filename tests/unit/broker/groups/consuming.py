"""Members of a consumer group, on a stage whose clock the test controls."""

from typing import Any

from kafkalet.broker.groups.consumer.group import ConsumerGroup
from kafkalet.protocol.api import Api
from tests.unit.model.stage import Stage

AT_ONCE = {"offsets.topic.num.partitions": "1", "group.consumer.assignment.interval.ms": "0"}
"""A broker configuration that starts quickly and computes a new target assignment after every change."""
REBALANCE_MS = 30_000

Partitions = dict[str, list[int]]


class Consuming:
    """The members of a group, each with its member epoch and its assignment by topic name."""

    def __init__(self, stage: Stage, group_id: str = "g") -> None:
        self.stage = stage
        self.group_id = group_id
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Partitions] = {}
        self._node = 0

    @property
    def node(self) -> int:
        """The coordinator of the group. It is looked up only if it is unknown, because brokers count the lookups."""
        if self._node not in self.stage.alive:
            self._node = self.stage.coordinator(self.group_id, 0)
        return self._node

    @property
    def group(self) -> ConsumerGroup:
        shard = self.stage.cluster._server.brokers[self.node].coordinators.groups.shard_of(self.group_id)
        group = shard.groups[self.group_id]
        assert isinstance(group, ConsumerGroup)
        return group

    def send(self, member_id: str, epoch: int, version: int = 1, **fields: Any) -> Any:
        """Send a heartbeat and return the response."""
        fields = {"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch} | fields
        return self.stage.ask(Api.CONSUMER_GROUP_HEARTBEAT, version, self.node, client_id="ann", **fields)

    def join(self, member_id: str, *topics: str, **fields: Any) -> Partitions:
        """Join and return the assignment."""
        known: dict[str, Any] = {"rebalance_timeout_ms": REBALANCE_MS, "topic_partitions": []}
        if topics:
            known["subscribed_topic_names"] = list(topics)
        return self._took_in(member_id, self.send(member_id, 0, **known | fields))

    def beat(self, member_id: str, **fields: Any) -> Partitions:
        """Send a heartbeat that confirms the current assignment, and return the new one."""
        held = self.listed(self.owned[member_id])
        return self._took_in(member_id, self.send(member_id, self.epochs[member_id], topic_partitions=held, **fields))

    def leave(self, member_id: str, epoch: int = -1, **fields: Any) -> int:
        return int(self.send(member_id, epoch, **fields)["error_code"])

    def settle(self) -> None:
        """Let all members send heartbeats until nothing changes any more."""
        for _ in range(20):
            before = dict(self.epochs), dict(self.owned)
            for member_id in self.epochs:
                self.beat(member_id)
            if before == (self.epochs, self.owned):
                return
        raise AssertionError(f"no rest: {self.epochs}")

    def describe(self, version: int = 1) -> Any:
        answer = self.stage.ask(
            Api.CONSUMER_GROUP_DESCRIBE,
            version,
            self.node,
            group_ids=[self.group_id],
            include_authorized_operations=True,
        )
        [group] = answer["groups"]
        return group

    def commit(self, member_id: str, epoch: int, topic: str = "t", partition: int = 0, version: int = 9) -> int:
        fields = {"partition_index": partition, "committed_offset": 5, "committed_metadata": ""}
        answer = self.stage.ask(
            Api.OFFSET_COMMIT,
            version,
            self.node,
            group_id=self.group_id,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[{"name": topic, "partitions": [fields]}],
        )
        return int(answer["topics"][0]["partitions"][0]["error_code"])

    def listed(self, partitions: Partitions) -> list[dict[str, Any]]:
        topics = self.stage.cluster._server.metadata.topics
        return [
            {"topic_id": topics[name].topic_id, "partitions": of} for name, of in partitions.items() if name in topics
        ]

    def _took_in(self, member_id: str, answer: Any) -> Partitions:
        assert answer["error_code"] == 0, answer
        self.epochs[member_id] = answer["member_epoch"]
        if answer["assignment"] is not None:
            by_id = self.stage.cluster._server.metadata.topic_by_id
            self.owned[member_id] = {
                getattr(by_id(of["topic_id"]), "name", "gone"): of["partitions"]
                for of in answer["assignment"]["topic_partitions"]
            }
        return self.owned[member_id]
