"""A group with members of both protocols."""

from typing import Any

from kafkalet.broker.groups.classic.consumer_protocol import read_assignment
from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.consumer.group import ConsumerGroup
from kafkalet.protocol.messages.subscription import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tests.unit.model.stage import Stage

from .acting import Acting
from .consuming import Consuming, Partitions

VERSION = 1


def subscription(*topics: str, owned: Partitions | None = None) -> bytes:
    held = [TopicPartition(topic=topic, partitions=of) for topic, of in (owned or {}).items()]
    said = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=held)
    return VERSION.to_bytes(2, "big") + said.encode(VERSION)


def assignment(partitions: Partitions, user_data: bytes | None = None) -> bytes:
    listed = [TopicPartition(topic=topic, partitions=of) for topic, of in partitions.items()]
    return b"\0\1" + ConsumerProtocolAssignment(assigned_partitions=listed, user_data=user_data).encode(1)


class Migrating:
    """The group "g" of a broker with a topic "t" of six partitions."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.classic = Acting(stage)
        self.consumer = Consuming(stage)

    @property
    def group(self) -> Any:
        return self.stage.cluster._server.brokers[1].coordinators.groups.shard_of("g").groups["g"]

    @property
    def is_classic(self) -> bool:
        return isinstance(self.group, ClassicGroup)

    @property
    def is_consumer(self) -> bool:
        return isinstance(self.group, ConsumerGroup)

    def begin_classic(self, **fields: Any) -> str:
        """Join as a single classic member that is assigned all of "t", and return its member id."""
        fields = {"protocols": {"range": subscription("t")}} | fields
        if "group_instance_id" in fields:
            joined = self.classic.join(**fields)
            member_id = str(joined.answer()["member_id"])
        else:
            member_id, joined = self.classic.enter(**fields)
        if joined.is_waiting:  # two clients have looked up the coordinator, so the group waits for the second
            self.stage.advance(1000)
        generation = joined.answer()["generation_id"]
        everything = assignment({"t": list(range(6))})
        answer = self.classic.sync(generation, member_id, {member_id: everything}).answer()
        assert answer["error_code"] == 0
        return member_id

    def rejoin(self, member_id: str, owned: Partitions | None = None, **fields: Any) -> Any:
        """Rejoin with the partitions that the member owns, and return the response."""
        return self.classic.join(member_id, protocols={"range": subscription("t", owned=owned)}, **fields).answer()

    def partitions(self, member_id: str, generation: int) -> list[int]:
        """Return the partitions of "t" that a classic member is assigned."""
        return self._listed(self.classic.sync(generation, member_id).answer())

    def partitions_of_static(self, member_id: str, instance_id: str = "i") -> list[int]:
        """Return the partitions of "t" that a static member is assigned in its current generation."""
        generation = self.group.generation
        return self._listed(self.classic.sync(generation, member_id, group_instance_id=instance_id).answer())

    def _listed(self, answer: Any) -> list[int]:
        assert answer["error_code"] == 0, answer
        assigned = read_assignment(answer["assignment"]).assigned_partitions
        return [partition for topic in assigned for partition in topic.partitions]
