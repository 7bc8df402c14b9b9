"""Cache the partition leaders, leader epochs and broker addresses from Metadata responses.

If a leader turns out to be wrong, it is forgotten and looked up again. If a topic was deleted and created again, it has
a new id, and its old entries are dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from kafkalet.protocol.errors import Code, code_of
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.wire import ZERO_UUID

from .connection import Address

TopicPartition = tuple[str, int]

LOWEST_VERSION = 4
"""The first version in which a request can be prevented from creating topics (0.11)."""


class Leader(NamedTuple):
    """The leader of a partition; `epoch` is -1 if unknown."""

    node_id: int
    epoch: int


class Metadata:
    """The cached metadata of a cluster."""

    def __init__(self) -> None:
        self.brokers: dict[int, Address] = {}
        self.leaders: dict[TopicPartition, Leader] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.partitions: dict[str, int] = {}
        """The number of partitions of each topic."""
        self.internal: set[str] = set()
        self.cluster_id: str | None = None

    @staticmethod
    def request(topics: Iterable[str] | None) -> MetadataRequest:
        """Return a request for these topics, or for all topics if None."""
        rows = None if topics is None else [MetadataRequest.Topic(name=name) for name in topics]
        return MetadataRequest(topics=rows, allow_auto_topic_creation=False)

    def take(self, answer: MetadataResponse, asked: Collection[str] | None) -> dict[str, Code]:
        """Store the content of a response. Return the requested topics for which it has no metadata, with their
        errors."""
        self.brokers = {row.node_id: Address(row.host, row.port) for row in answer.brokers}
        self.cluster_id = answer.cluster_id
        failed = dict.fromkeys(asked or (), Code.UNKNOWN_TOPIC_OR_PARTITION)
        for topic in answer.topics:
            name = topic.name or ""
            self.forget(name)
            if topic.error_code != Code.NONE:
                failed[name] = code_of(topic.error_code)
                continue
            failed.pop(name, None)
            self.partitions[name] = len(topic.partitions)
            self.topic_ids[name] = topic.topic_id
            if topic.is_internal:
                self.internal.add(name)
            for row in topic.partitions:
                if row.leader_id in self.brokers:
                    self.leaders[name, row.partition_index] = Leader(row.leader_id, row.leader_epoch)
        return failed

    def forget(self, topic: str) -> None:
        """Drop the metadata of a topic."""
        for partition in range(self.partitions.pop(topic, 0)):
            self.leaders.pop((topic, partition), None)
        self.topic_ids.pop(topic, None)

    def forget_leader(self, topic: str, partition: int) -> None:
        """Drop the leader of a partition, so that it is looked up again."""
        self.leaders.pop((topic, partition), None)

    def topic_id(self, topic: str) -> bytes:
        """Return the id of a topic; all zeros if it has none."""
        return self.topic_ids.get(topic, ZERO_UUID)
