"""What the broker knows of a group of the consumer protocol (KIP-848).

    group epoch         goes up with every change of members, subscriptions or topics
    assignment epoch    the group epoch that the target was computed for
    member epoch        the assignment epoch that a member has reached

    Empty ── group epoch > assignment epoch ──> Assigning ── target ──> Reconciling ── all have theirs ──> Stable

Only records change it (consumer_replay).

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup, modern.ModernGroup.
"""

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.group import GroupType
from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.errors import Code, KafkaError

from .members import ConsumerMember, ConsumerMembers
from .records import without_group
from .timers import MemberTimers

NEVER_READ = -1


class ConsumerState:
    """A group whose members are (or may be) of the consumer protocol."""

    type = GroupType.CONSUMER
    protocol_type = "consumer"

    def __init__(self, shard: Shard, group_id: str) -> None:
        self.shard = shard
        self.group_id = group_id
        self.members = ConsumerMembers()
        self.timers = MemberTimers(shard.clock)
        self.group_epoch = shard.node.release.first_epoch_of_consumer_groups
        self.metadata_hash = 0
        self.metadata_version = NEVER_READ
        """The version of the cluster's metadata that the hash was computed from."""
        self.has_partition_metadata = False
        """A release before 4.1 has left a record that goes at the next occasion."""
        self.assignment_epoch = self.group_epoch
        self.assignment_timestamp_ms = 0
        self.target: dict[str, Assignment] = {}
        self.is_resolving = False
        """Regular expressions are being looked up."""
        self._assigned: dict[bytes, dict[int, str]] = {}

    @property
    def state(self) -> str:
        if not len(self.members):
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not len(self.members)

    @property
    def assigned(self) -> dict[bytes, dict[int, str]]:
        """Who has a partition in his target, by topic and partition."""
        return self._assigned

    def member(self, member_id: str) -> ConsumerMember:
        """A member. UNKNOWN_MEMBER_ID where there is none of that id."""
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def target_of(self, member: ConsumerMember) -> Assignment:
        """What a member is to get; a static one takes over what was meant for its instance."""
        known = self.members.static(member.instance_id) if member.instance_id is not None else member
        return {} if known is None else self.target.get(known.member_id, {})

    def set_target(self, member_id: str, assignment: Assignment | None) -> None:
        """Replace a member's target; None: it has none any more."""
        for topic_id, partitions in self.target.pop(member_id, {}).items():
            holders = self._assigned.get(topic_id, {})
            for partition in partitions:
                if holders.get(partition) == member_id:
                    del holders[partition]
            if not holders:
                self._assigned.pop(topic_id, None)
        if assignment is None:
            return
        self.target[member_id] = assignment
        for topic_id, partitions in assignment.items():
            self._assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    def tombstones(self) -> list[StateRecord]:
        """The records that remove the group from the log."""
        changes = without_group(self.group_id, self.members.in_order(), self.members.resolved)
        return [change.encoded(self.shard.node.release) for change in changes]

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Another broker coordinates the group now, or it has become another one. Nobody waits for an answer here."""
        self.timers.close()
