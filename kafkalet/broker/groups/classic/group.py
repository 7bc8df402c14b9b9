"""A classic group: the state machine that takes its members from one generation to the next.

    Empty ──> PreparingRebalance ──> CompletingRebalance ──> Stable
                members join           the leader assigns      all have their assignment
      ^              │    ^                    │                  │
      └── no member ─┘    └── a member joins, leaves or changes ──┘

JoinGroup requests wait until all members have joined (Kafka's DelayedJoin) or until the rebalance timeout removes the
members that have not. The first generation of an empty group can be delayed so that more members join
(delayed_join.py). Then every member receives the new generation, and the leader also receives the list of members. The
leader sends the assignments in its SyncGroup request; they are written to the log before any member receives its own. A
member is removed when its session times out.

Responses are queued while the group changes and are sent when the change is complete (`flush`).

A group that is only used to commit offsets is also a classic group; it has no members and no protocol type.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup,
org.apache.kafka.coordinator.group.GroupMetadataManager, kafka.coordinator.group.GroupCoordinator.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeVar

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.group import Group, GroupType
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.java_order import place_in_java, place_in_scala
from kafkalet.broker.quoting import quoted, shown
from kafkalet.broker.watchers import NO_TOPIC
from kafkalet.clock import Clock, Timer
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.subscription import ConsumerProtocolSubscription
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.protocol.records.batch import Batch
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached, until

from .delayed_join import InitialDelayedJoin
from .members import ClassicMember, ClassicMembers
from .records import NO_TIMESTAMP, group_record, member_of, read_key, read_value, tombstone

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

CONSUMER_PROTOCOL = "consumer"
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The session timeout of a new member until it gets its first response.

Until then the member sends no heartbeats, so this timeout is the only way to notice that its client is gone.
"""


class State(StrEnum):
    """The states of a classic group, as named in ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


NEXT: Mapping[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.PREPARING_REBALANCE: frozenset({State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD}),
    State.COMPLETING_REBALANCE: frozenset({State.STABLE, State.PREPARING_REBALANCE, State.DEAD}),
    State.STABLE: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.DEAD: frozenset({State.DEAD}),
}
"""For each state, the states that may follow it (ClassicGroupState.validPreviousStates)."""


class _Response(NamedTuple):
    """A response to be sent once the group's current change is complete."""

    send: Callable[[], None]
    to: object


class ClassicGroup:
    """A group of the classic protocol."""

    type = GroupType.CLASSIC
    expires = True

    def __init__(self, shard: Shard, group_id: str, state: State = State.EMPTY) -> None:
        self.shard = shard
        self.group_id = group_id
        self.members = ClassicMembers()
        self.generation = 0
        self.visible_from = 0
        self.protocol_name: str | None = None
        self._state = state
        self.state_since_ms: int | None = shard.clock.now_ms()
        self._is_initial = False  # whether the current rebalance began with an empty group
        self._initial_join = InitialDelayedJoin(shard, group_id, self.members, self._pause_join)
        self._join_timer: Timer | None = None
        self._sync_timer: Timer | None = None
        self._responses: deque[_Response] = deque()
        self._flushing = False

    @property
    def state(self) -> State:
        return self._state

    @property
    def protocol_type(self) -> str:
        return self.members.protocol_type or ""

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    def _transition_to(self, state: State) -> None:
        """Enter a state. Raises AssertionError if the current state does not allow it."""
        if state not in NEXT[self._state]:
            raise AssertionError(f"group {self.group_id} cannot change from {self._state} to {state}")
        self._state = state
        self.state_since_ms = self.shard.clock.now_ms()
        self.shard.node.watchers.touch(NO_TOPIC)

    def validate_member(self, member_id: str, instance_id: str | None, *, joins: bool = False) -> None:
        """Raise UNKNOWN_MEMBER_ID if `member_id` is not a member.

        Raises FENCED_INSTANCE_ID if another member now owns the instance id.
        """
        known_as = self.members.static_id(instance_id)
        if known_as is not None and known_as != member_id:
            raise KafkaError(Code.FENCED_INSTANCE_ID)
        is_unheard_of = instance_id is not None and known_as is None
        counts = joins or self.shard.node.release.refuses_unknown_instance_ids
        if member_id not in self.members or (is_unheard_of and counts):
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)

    # Responses

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        """Complete the member's waiting JoinGroup request, if there is one."""
        if member.awaiting_join is not None:
            self._queue(member.awaiting_join, response)
            member.awaiting_join = None

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """Complete the member's waiting SyncGroup request. Returns False if there is none."""
        if member.awaiting_sync is None:
            return False
        self._queue(member.awaiting_sync, response)
        member.awaiting_sync = None
        return True

    def _queue(self, waiting: Delayed[T], response: T) -> None:
        self._responses.append(_Response(partial(waiting.complete, response), waiting))

    def flush(self) -> None:
        """Send the queued responses.

        By now the change is complete, so a client may send its next request immediately.
        """
        if self._flushing:
            return
        self._flushing = True
        try:
            while self._responses:
                self._responses.popleft().send()
        finally:
            self._flushing = False

    def _flush_first(self, first: Delayed[SyncGroupResponse]) -> None:
        """Send the queued response to `first`, if there is one, ahead of the others."""
        for index, response in enumerate(self._responses):
            if response.to is first:
                del self._responses[index]
                response.send()
                return

    def _later(self, delay_ms: int, then: Callable[[], None], clock: Clock | None = None) -> Timer:
        def due() -> None:
            then()
            self.flush()

        return (clock or self.shard.client_clock).call_later(max(delay_ms, 0), due)

    # Sessions

    def renew_session(self, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """Restart the session timeout of a member, by default with the timeout that the member requested."""
        member.end_session()
        delay_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.session = self._later(delay_ms, lambda: self._session_expired(member))

    def _session_expired(self, member: ClassicMember) -> None:
        member.session = None
        if not member.is_awaiting_response:
            _LOG.info(
                "group %s: member %s is removed: its session timed out", quoted(self.group_id), quoted(member.member_id)
            )
            self._remove_member(member)
            self._member_left()

    def add_pending_member(self, member_id: str, timeout_ms: int) -> None:
        """Reserve a member id. The client has to join with this id within `timeout_ms`."""
        self.members.add_pending(member_id, self._later(timeout_ms, lambda: self.remove_pending_member(member_id)))

    def remove_pending_member(self, member_id: str) -> None:
        """Drop a reserved member id and complete the join if the group was waiting only for this member."""
        self.members.remove(member_id)
        if self.state is State.PREPARING_REBALANCE and self.members.all_joined():
            self._complete_join()

    def _remove_member(self, member: ClassicMember) -> None:
        """Remove a member and fail its waiting requests. The caller has to call `_member_left` afterwards."""
        self.answer_join(member, join_error(Code.UNKNOWN_MEMBER_ID))
        # Kafka does not complete this request, so there the client would never get a response
        self.answer_sync(member, sync_error(Code.UNKNOWN_MEMBER_ID))
        self.members.remove(member.member_id)

    def fence(self, member: ClassicMember) -> None:
        """Fail the waiting requests of a static member that has been replaced."""
        self.answer_join(member, join_error(Code.FENCED_INSTANCE_ID, member.member_id))
        self.answer_sync(member, sync_error(Code.FENCED_INSTANCE_ID))

    def _member_left(self) -> None:
        """Start a rebalance after members were removed, or complete the current one if all others have joined."""
        if self.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self.prepare_rebalance()
        elif self.state is State.PREPARING_REBALANCE:
            self._complete_join_if_all_joined()

    def evict(self, member_id: str) -> None:
        """Remove a member as if its session had timed out, even while it waits for a response.

        Raises UNKNOWN_MEMBER_ID.
        """
        if self.members.is_pending(member_id):
            self.remove_pending_member(member_id)
        elif member_id in self.members:
            self._remove_member(self.members[member_id])
            self._member_left()
        else:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        self.flush()

    # Joining

    def force_rebalance(self) -> None:
        """Start a rebalance, unless one is in progress or the group has no members."""
        if self.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self.prepare_rebalance()
            self.flush()

    def rebalance(self) -> None:
        """Start a rebalance after a member joined, or complete the current one if all members have now joined."""
        if self.state is State.PREPARING_REBALANCE:
            self._complete_join_if_all_joined()
        else:
            self.prepare_rebalance()

    def prepare_rebalance(self) -> None:
        """Start a rebalance: all members have to join again."""
        if self.state is State.COMPLETING_REBALANCE:
            self._propagate(Code.REBALANCE_IN_PROGRESS, {})
        self._remove_pending_syncs()
        self._is_initial = self.state is State.EMPTY
        self._transition_to(State.PREPARING_REBALANCE)
        if self._is_initial:
            self._begin_first_generation()
        elif self.members.all_joined():
            self._complete_join()
        else:
            self._join_timer = self._later(self.members.rebalance_timeout_ms, self._complete_join)

    def new_member_added(self) -> None:
        """Extend the initial delay, if it has not ended yet, because a member is about to be added."""
        if self.state is State.PREPARING_REBALANCE and self._is_initial:
            prolongs = self.generation == 0 or self.shard.node.release.delays_every_initial_rebalance
            self._initial_join.new_member_added(prolongs=prolongs)

    @detached
    async def _begin_first_generation(self) -> None:
        await self._initial_join.wait()
        self._complete_join()

    def _pause_join(self, delay_ms: int, clock: Clock) -> Delayed[None]:
        elapsed: Delayed[None] = Delayed()
        self._join_timer = self._later(delay_ms, partial(elapsed.complete, None), clock)
        return elapsed

    def _complete_join_if_all_joined(self) -> None:
        if not self._is_initial and self.members.all_joined():
            self._complete_join()

    def _complete_join(self) -> None:
        """Start the next generation with the members that have joined.

        Static members that have not joined remain in the group until their session times out.
        """
        if self._join_timer is not None:
            self._join_timer.cancel()
            self._join_timer = None
        for member in self.members:
            if member.awaiting_join is None and not member.is_static:
                self.members.remove(member.member_id)
        if not self.members.elect_joined_leader() and self.members:
            self._join_timer = self._later(self.members.rebalance_timeout_ms, self._complete_join)
            return
        self.generation += 1
        self.members.unsynced.clear()
        if self.members:
            self._begin_generation()
        else:
            self._become_empty()

    def _begin_generation(self) -> None:
        members = self.members
        self.protocol_name = self.select_protocol()
        self._transition_to(State.COMPLETING_REBALANCE)
        for member in members:
            self.answer_join(member, self.join_response(member))
            self.renew_session(member)
            member.is_new = False
            members.unsynced.add(member.member_id)
        if self.shard.node.release.drops_unsynced_members:
            self._sync_timer = self._later(members.rebalance_timeout_ms, self._drop_unsynced)

    def select_protocol(self) -> str:
        """Return the protocol that the members would choose now. Requires at least one member."""
        in_java = self.shard.node.release.breaks_ties_like_java
        return self.members.select_protocol(place_in_java if in_java else place_in_scala)

    def _become_empty(self) -> None:
        self.protocol_name = None
        self._transition_to(State.EMPTY)
        try:
            self.shard.append([self.record({})])
        except KafkaError as error:
            _LOG.warning("group %s: cannot write the empty group to the log: %s", quoted(self.group_id), shown(error))

    def join_response(self, member: ClassicMember) -> JoinGroupResponse:
        """Return the response for a member of the current generation."""
        response = JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.members.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.members.leader_id or "",
            member_id=member.member_id,
            members=[],
        )
        if member.member_id == self.members.leader_id:
            response.members = self._member_list()
        return response

    def _member_list(self) -> list[JoinGroupResponse.Member]:
        """Return the member list that the leader receives."""
        name = self.protocol_name or ""
        return [
            JoinGroupResponse.Member(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.protocols[name]
            )
            for member in self.members
        ]

    # Syncing

    def _remove_pending_sync(self, member: ClassicMember) -> None:
        """Record that a member has sent its SyncGroup request in this generation."""
        self.members.unsynced.discard(member.member_id)
        if not self.members.unsynced and self._sync_timer is not None:
            self._sync_timer.cancel()
            self._sync_timer = None

    def _drop_unsynced(self) -> None:
        self._sync_timer = None
        for member_id in list(self.members.unsynced):
            self.members.remove(member_id)
        self.prepare_rebalance()

    def _remove_pending_syncs(self) -> None:
        self.members.unsynced.clear()
        if self._sync_timer is not None:
            self._sync_timer.cancel()
            self._sync_timer = None

    @detached
    async def _store_assignments(self, assignments: Mapping[str, bytes]) -> None:
        """Write the leader's assignments to the log, then send each member its own assignment."""
        generation = self.generation
        code = await self._write(assignments)
        if self.state is State.COMPLETING_REBALANCE and self.generation == generation:
            self._propagate(code, assignments)
            if code is Code.NONE:
                self._transition_to(State.STABLE)
            else:
                self.prepare_rebalance()

    async def write_replaced_member(self, member: ClassicMember) -> Code | None:
        """Write the group to the log after a static member has got a new member id. Its assignment stays the same.

        Returns NONE or an error, or None if the member was fenced or removed in the meantime.
        """
        waiting = member.awaiting_join
        code = await self._write({member.member_id: member.assignment for member in self.members})
        return code if member.awaiting_join is waiting else None

    async def _write(self, assignments: Mapping[str, bytes]) -> Code:
        """Append the group's record with these assignments.

        Returns NONE once the record is replicated, or an error code if that fails. Responses are then sent. If the
        result is known at once, they follow the response to the current request.
        """
        try:
            code = await until(self.shard.replicated(self.shard.append([self.record(assignments)])))
        except KafkaError as error:
            code = error.code
        self.shard.node.call_soon(self.flush)
        return code

    def _propagate(self, code: Code, assignments: Mapping[str, bytes]) -> None:
        """Complete all waiting SyncGroup requests with the member's assignment or with an error."""
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"") if code is Code.NONE else b""
            if self.answer_sync(member, self._sync_response(member) if code is Code.NONE else sync_error(code)):
                self.renew_session(member)

    def _sync_response(self, member: ClassicMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.members.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    # SyncGroup, Heartbeat, LeaveGroup

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse | Delayed[SyncGroupResponse]:
        """Return the assignment of a member. The request waits until the leader has sent the assignments."""
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
            return sync_error(Code.REBALANCE_IN_PROGRESS)
        member = members[request.member_id]
        self._remove_pending_sync(member)
        if self.state is State.STABLE:
            self.renew_session(member)
            return self._sync_response(member)
        waiting = member.awaiting_sync = Delayed[SyncGroupResponse]()
        if member.member_id == members.leader_id:
            self._store_assignments({given.member_id: given.assignment for given in request.assignments})
            self._flush_first(waiting)
        return waiting

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Extend the session of a member. REBALANCE_IN_PROGRESS tells it to join again."""
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
        """Remove members, then start one rebalance for all of them."""
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
            len(self.members) < size or self.shard.node.release.rebalances_when_pending_member_leaves
        ):
            self._member_left()
        self.flush()
        return answers

    def _leave(self, member_id: str, instance_id: str | None) -> Code:
        if not member_id:  # administrators remove a static member by its instance id
            known_as = self.members.static_id(instance_id)
            if known_as is None:
                return Code.UNKNOWN_MEMBER_ID
            self._remove_member(self.members[known_as])
        elif self.members.is_pending(member_id):
            self.remove_pending_member(member_id)
        else:
            try:
                self.validate_member(member_id, instance_id)
            except KafkaError as error:
                return error.code
            self._remove_member(self.members[member_id])
        return Code.NONE

    def _check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise KafkaError(Code.ILLEGAL_GENERATION)

    # The Group interface

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> None:
        checks = self.shard.node.release.checks_members_of_empty_groups
        if epoch < 0 and self.state is State.EMPTY and not checks:
            return  # the client is a consumer that only commits offsets, or an administrator
        if epoch >= 0 or member_id or instance_id is not None:
            self.validate_member(member_id, instance_id)
            self._check_generation(epoch)
        elif not transactional and self.state is not State.EMPTY:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        if not transactional and self.state is State.COMPLETING_REBALANCE:
            # members of the new generation do not have their assignments yet
            raise KafkaError(Code.REBALANCE_IN_PROGRESS)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Allow every caller, because classic groups do not restrict OffsetFetch."""

    def check_delete(self) -> None:
        if self.state is not State.EMPTY:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Raise NON_EMPTY_GROUP if the group has members that are not consumers: their subscriptions are unknown."""
        if self.state is not State.EMPTY and self.members.protocol_type != CONSUMER_PROTOCOL:
            raise KafkaError(Code.NON_EMPTY_GROUP)

    def subscribed_topics(self) -> set[str] | None:
        """Return the topics in the subscriptions of all members, or None if they are not known."""
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
        """Return the time at which the group became empty if it is empty, or the time of the commit if it is stable."""
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
        """Return the tombstone of the group, if the release writes one."""
        if self.generation == 0 and self.shard.node.release.spares_tombstones_of_simple_groups:
            return []
        return [tombstone(self.group_id)]

    # Records

    def record(self, assignments: Mapping[str, bytes]) -> StateRecord:
        """Return the record of the group in its current state, with these assignments, which are keyed by member id."""
        return group_record(
            self.group_id,
            self.members,
            assignments,
            generation=self.generation,
            protocol_name=self.protocol_name,
            state_since_ms=self.state_since_ms,
            version=self.shard.node.release.group_value_version,
        )

    def resume(self) -> None:
        """Start the session timeouts after a replay, which gives each member one session timeout to come back."""
        for member in self.members:
            self.renew_session(member)
        if len(self.members) > self.shard.node.config.group_max_size:
            self.prepare_rebalance()
        self.flush()

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Close the group and fail all waiting requests with `code`.

        The default code makes clients look up the coordinator again.
        """
        self._transition_to(State.DEAD)
        for timer in (self._join_timer, self._sync_timer):
            if timer is not None:
                timer.cancel()
        for member in self.members:
            self.answer_join(member, join_error(code, member.member_id))
            self.answer_sync(member, sync_error(code))
        self.members.clear()
        self.flush()


def join_error(code: Code, member_id: str = "") -> JoinGroupResponse:
    """Return a JoinGroup response with an error."""
    return JoinGroupResponse(error_code=code, protocol_name=None, leader="", member_id=member_id, members=[])


def sync_error(code: Code) -> SyncGroupResponse:
    """Return a SyncGroup response with an error."""
    return SyncGroupResponse(error_code=code, assignment=b"")


def classic_group(shard: Shard, group_id: str, *, is_written: bool = False) -> Group:
    """Return the group with this id. If there is none, create an empty classic group.

    `is_written` says whether the log already has records of the group.
    """
    group = shard.groups.get(group_id)
    if group is None:
        group = shard.groups[group_id] = ClassicGroup(shard, group_id)
        if shard.node.release.hides_unwritten_groups and not is_written:
            group.visible_from = shard.log.end_offset + 1
    return group


def new_classic_group(shard: Shard, group_id: str) -> ClassicGroup:
    """Create a group for its first member. Raises KafkaError if its record cannot be written."""
    group = ClassicGroup(shard, group_id)
    if shard.node.release.writes_new_groups:
        shard.append([group.record({})])
    shard.groups[group_id] = group
    return group


def replay(shard: Shard, version: int, key: bytes, value: bytes | None, batch: Batch) -> None:
    """Apply the record of a classic group from the log. The session timeouts start later, in `resume`."""
    group_id = read_key(key)
    if value is None:
        shard.groups.pop(group_id, None)
        return
    written = read_value(value)
    group = ClassicGroup(shard, group_id, State.STABLE if written.members else State.EMPTY)
    shard.groups[group_id] = group
    group.generation = written.generation
    group.protocol_name = written.protocol
    since_ms = written.current_state_timestamp
    group.state_since_ms = None if since_ms == NO_TIMESTAMP else since_ms
    for member in written.members:
        group.members.add(member_of(written, member))
    group.members.leader_id = written.leader
    group.members.protocol_type = written.protocol_type or None


def _topics(subscription: bytes) -> list[str]:
    """Return the topics of a subscription. The topics are the first field in every version."""
    return ConsumerProtocolSubscription.decode(subscription, 0, 2).topics
