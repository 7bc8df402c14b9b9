"""A group of the consumer protocol, as those who deal with groups of every kind see it.

Modules of their own decide: consumer_heartbeat (members join, stay, catch up), consumer_leaving (they go, or are found
missing), consumer_target (who is to get what), consumer_reconciliation (who may have it already), consumer_regex,
consumer_classic (members of the classic protocol), downgrade and upgrade (from one kind to the other).

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.
"""

from collections.abc import Sequence
from typing import Any

from kafkalet.broker.groups.group import Caller, PartitionCheck
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.protocol.records.batch import Batch

from . import classic_members as consumer_classic
from .commits import check_commit, check_fetch
from .leaving import expect_all
from .records import KEYS, Change
from .replay import take_in
from .state import ConsumerState


class ConsumerGroup(ConsumerState):
    """A group whose members are (or may be) of the consumer protocol."""

    # members of the classic protocol

    def join(self, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse | Delayed[JoinGroupResponse]:
        return consumer_classic.join(self, request, caller)

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        return consumer_classic.sync(self, request)

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        return consumer_classic.heartbeat(self, request)

    def leave(self, leaving: Sequence[LeaveGroupRequest.Member]) -> list[LeaveGroupResponse.Member]:
        return consumer_classic.leave(self, leaving)

    # what others ask

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> PartitionCheck | None:
        if (epoch < 0 and self.is_empty) or (transactional and (member_id, instance_id, epoch) == ("", None, -1)):
            return None
        return check_commit(
            self.member(member_id), epoch, version, self.shard.node.release, transactional=transactional
        )

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        if member_id is None:  # what Kafka's lookup of a member is not made for
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        check_fetch(self.member(member_id), epoch)

    def check_delete(self) -> None:
        if not self.is_empty:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Of topics that nobody reads they may always go."""

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.members.topics()

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def offset_committed(self, member_id: str) -> None:
        """Only heartbeats are signs of life here."""

    def resume(self) -> None:
        expect_all(self)


def replay(shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    """Take in what was written of consumer groups."""
    key_type, value_type = KEYS[version]
    read: Any = key_type.decode(key, version)
    group = shard.groups.get(read.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:  # it is a group of another kind by now, or none
            return
        group = shard.groups[read.group_id] = ConsumerGroup(shard, read.group_id)
    take_in(group, Change(read, None if value is None else value_type.decode(value, 0, 2)))
