"""A classic group: its members join, one of them assigns the partitions, each fetches what it was given.

Also any group that only commits offsets: it has no members, and no protocol type.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup.
"""

from collections.abc import Sequence

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.group import Caller, Group, GroupType
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.subscription import ConsumerProtocolSubscription
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.protocol.records.batch import Batch

from .generations import Generations, State, unassigned
from .join import join
from .records import NO_TIMESTAMP, member_of, read_key, read_value, tombstone

CONSUMER_PROTOCOL = "consumer"


class ClassicGroup(Generations):
    """A group of the classic protocol."""

    type = GroupType.CLASSIC

    @property
    def protocol_type(self) -> str:
        return self.members.protocol_type or ""

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    # what members ask

    def join(self, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse | Delayed[JoinGroupResponse]:
        return join(self, request, caller)

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse | Delayed[SyncGroupResponse]:
        """A member's assignment. Before the leader has brought them all, it waits."""
        self.validate_member(request.member_id, request.group_instance_id)
        self._check_generation(request.generation_id)
        members = self.members
        for theirs, ours in (
            (request.protocol_type, members.protocol_type),
            (request.protocol_name, self.protocol_name),
        ):
            if theirs is not None and ours is not None and theirs != ours:
                raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if self.state is State.PREPARING_REBALANCE:
            return unassigned(Code.REBALANCE_IN_PROGRESS)
        member = members[request.member_id]
        self.synced(member)
        if self.state is State.STABLE:
            self.renew_session(member)
            return self.assigned(member)
        waiting = member.awaiting_sync = Delayed[SyncGroupResponse]()
        if member.member_id == members.leader_id:
            self.store({given.member_id: given.assignment for given in request.assignments})
            self.flush_first(waiting)
        return waiting

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """A sign of life; the answer says whether to join again."""
        self.validate_member(request.member_id, request.group_instance_id)
        self._check_generation(request.generation_id)
        self.renew_session(self.members[request.member_id])
        is_early = self.state is State.COMPLETING_REBALANCE
        if self.state is State.PREPARING_REBALANCE or (
            is_early and not self.shard.node.release.takes_heartbeats_before_assignments
        ):
            return HeartbeatResponse(error_code=Code.REBALANCE_IN_PROGRESS)
        return HeartbeatResponse(error_code=Code.NONE)

    def leave(self, leaving: Sequence[LeaveGroupRequest.Member]) -> list[LeaveGroupResponse.Member]:
        """Let members go, and go on without them once all are out."""
        size = len(self.members)
        answers = [
            LeaveGroupResponse.Member(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=self._leave(member.member_id, member.group_instance_id),
            )
            for member in leaving
        ]
        if any(answer.error_code == Code.NONE for answer in answers) and (
            len(self.members) < size or self.shard.node.release.misses_expected_members
        ):
            self.go_on()
        self.flush()
        return answers

    def _leave(self, member_id: str, instance_id: str | None) -> Code:
        if not member_id:  # an administrator knows only the name of a static member
            known_as = self.members.static_id(instance_id)
            if known_as is None:
                return Code.UNKNOWN_MEMBER_ID
            self.dismiss(self.members[known_as])
        elif self.members.is_expected(member_id):
            self.forget_expected(member_id)
        else:
            try:
                self.validate_member(member_id, instance_id)
            except KafkaError as error:
                return error.code
            self.dismiss(self.members[member_id])
        return Code.NONE

    def _check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise KafkaError(Code.ILLEGAL_GENERATION)

    # what others ask

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> None:
        if epoch < 0 and self.state is State.EMPTY:
            return  # somebody who reads without a group, or an administrator
        if epoch >= 0 or member_id or instance_id is not None:
            self.validate_member(member_id, instance_id)
            self._check_generation(epoch)
        elif not transactional and self.state is not State.EMPTY:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        if not transactional and self.state is State.COMPLETING_REBALANCE:
            raise KafkaError(Code.REBALANCE_IN_PROGRESS)  # it is in the generation that has no assignments yet

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Anybody may."""

    def check_delete(self) -> None:
        if self.state is not State.EMPTY:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Only of consumers is it known which offsets they still need."""
        if self.state is not State.EMPTY and self.members.protocol_type != CONSUMER_PROTOCOL:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def subscribed_topics(self) -> set[str] | None:
        """What its members read, as they told the leader. None where that is not known."""
        if self.members.protocol_type != CONSUMER_PROTOCOL:
            return None
        if not self.members:
            return set()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        try:
            for member in self.members:
                topics.update(_topics(member.protocols.get(self.protocol_name, b"")))
        except DecodeError:
            return None
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        topics = self.subscribed_topics()
        return self.members.protocol_type == CONSUMER_PROTOCOL if topics is None else topic in topics

    def offsets_expire_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Offsets of a group that has become empty count from then on; else those that nobody reads from the commit."""
        if self.members.protocol_type is None:
            return commit_timestamp_ms
        if self.state is State.EMPTY:
            return commit_timestamp_ms if self.state_since_ms is None else self.state_since_ms
        if self.state is State.STABLE and self.subscribed_topics() is not None:
            return commit_timestamp_ms
        return None

    def offset_committed(self, member_id: str) -> None:
        if member_id in self.members:
            self.renew_session(self.members[member_id])

    def tombstones(self) -> list[StateRecord]:
        """What removes the group from the log."""
        if self.generation == 0 and self.shard.node.release.spares_tombstones_of_simple_groups:
            return []
        return [tombstone(self.group_id)]


def classic_group(shard: Shard, group_id: str) -> Group:
    """The group of that name, made as one without members where there is none: whoever commits is one by that."""
    group = shard.groups.get(group_id)
    if group is None:
        group = shard.groups[group_id] = ClassicGroup(shard, group_id)
    return group


def new_classic_group(shard: Shard, group_id: str) -> ClassicGroup:
    """A group that somebody wants to be the first member of. Raises KafkaError where it cannot be written down."""
    group = ClassicGroup(shard, group_id)
    if shard.node.release.writes_new_groups:
        shard.append([group.record({})])
    shard.groups[group_id] = group
    return group


def replay(shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    """Take in what was written of a classic group. Members' sessions begin with `resume`."""
    group_id = read_key(key)
    if value is None:
        shard.groups.pop(group_id, None)
        return
    written = read_value(value)
    group = shard.groups[group_id] = ClassicGroup(shard, group_id)
    group.generation = written.generation
    group.protocol_name = written.protocol
    group.state = State.STABLE if written.members else State.EMPTY
    since_ms = written.current_state_timestamp
    group.state_since_ms = None if since_ms == NO_TIMESTAMP else since_ms
    for member in written.members:
        group.members.add(member_of(written, member))
    group.members.leader_id = written.leader
    group.members.protocol_type = written.protocol_type or None


def _topics(subscription: bytes) -> list[str]:
    """The topics in a consumer's metadata, which every version of it begins with."""
    return ConsumerProtocolSubscription.decode(subscription, 0, 2).topics
