"""How a classic group comes from one generation to the next.

    Empty ──> PreparingRebalance ──> CompletingRebalance ──> Stable
                members join           the leader assigns      all have their assignment
      ^              │    ^                    │                  │
      └── nobody ────┘    └─── somebody comes, goes, or changes ──┘

Whoever asks to join waits until all members have, or until the rebalance timeout drops those who have not. Then all
are told the new generation, the leader also who is in it; its SyncGroup brings the assignments, which are written to
the log before anybody gets his own. A member that lets its session timeout pass without a sign is removed.

The first generation of an empty group may wait a little for more members (classic_beginning.py).

Nothing is answered in the middle of a change: answers are laid aside and given when the change is done (`flush`).

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, kafka.coordinator.group.GroupCoordinator.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.quoting import quoted
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Timer
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.join_group import JoinGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupResponse

from .delayed_join import Beginning
from .members import ClassicMember, ClassicMembers, place_in_java, place_in_scala
from .records import group_record

_LOG = logging.getLogger(__name__)

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""So long a new member waits for its first answer: its client may have gone, which nobody would notice."""


class State(StrEnum):
    """The states of a classic group, by their names in ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Generations:
    """The members of a group, and its way through its generations."""

    def __init__(self, shard: Shard, group_id: str) -> None:
        self.shard = shard
        self.group_id = group_id
        self.members = ClassicMembers()
        self.generation = 0
        self.protocol_name: str | None = None
        self.state = State.EMPTY
        self.state_since_ms: int | None = shard.clock.now_ms()
        self._is_initial = False  # the rebalance that is being prepared began with an empty group
        self._beginning = Beginning(shard, group_id, self.members, self._complete_join_later, self._complete_join)
        self._join_timer: Timer | None = None
        self._sync_timer: Timer | None = None
        self._answers: deque[tuple[Delayed[Any], Any]] = deque()
        self._flushing = False

    def enter(self, state: State) -> None:
        self.state = state
        self.state_since_ms = self.shard.clock.now_ms()

    def validate_member(self, member_id: str, instance_id: str | None, *, joins: bool = False) -> None:
        """Raise UNKNOWN_MEMBER_ID for who is none, and FENCED_INSTANCE_ID where another has taken his place."""
        known_as = self.members.static_id(instance_id)
        if known_as is not None and known_as != member_id:
            raise KafkaError(Code.FENCED_INSTANCE_ID)
        is_unheard_of = instance_id is not None and known_as is None
        counts = joins or self.shard.node.release.looks_for_instance_ids
        if member_id not in self.members or (is_unheard_of and counts):
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)

    # answers

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        """Answer a member if it waits for the next generation."""
        if member.awaiting_join is not None:
            self._answers.append((member.awaiting_join, response))
            member.awaiting_join = None

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """Answer a member if it waits for its assignment; say whether it did."""
        if member.awaiting_sync is None:
            return False
        self._answers.append((member.awaiting_sync, response))
        member.awaiting_sync = None
        return True

    def flush(self) -> None:
        """Give the answers that were laid aside. A client that asks again at once finds the change done."""
        if self._flushing:
            return
        self._flushing = True
        try:
            while self._answers:
                waiting, response = self._answers.popleft()
                waiting.complete(response)
        finally:
            self._flushing = False

    def flush_first(self, first: Delayed[Any]) -> None:
        """Give one of the answers that were laid aside, if it is there, before the others."""
        for index, (waiting, response) in enumerate(self._answers):
            if waiting is first:
                del self._answers[index]
                waiting.complete(response)
                return

    def _later(self, delay_ms: int, then: Callable[[], None]) -> Timer:
        def due() -> None:
            then()
            self.flush()

        return self.shard.clock.call_later(max(delay_ms, 0), due)

    # sessions

    def renew_session(self, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """A sign of life: its session lasts that much longer, by default as long as the member has said."""
        member.end_session()
        delay_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.session = self._later(delay_ms, lambda: self._session_expired(member))

    def _session_expired(self, member: ClassicMember) -> None:
        member.session = None
        if not member.is_alive:
            _LOG.info("group %s: no sign of %s, it is removed", quoted(self.group_id), quoted(member.member_id))
            self.dismiss(member)
            self.go_on()

    def expect_member(self, member_id: str, timeout_ms: int) -> None:
        """Give out a member id that has to be used within `timeout_ms`."""
        self.members.expect(member_id, self._later(timeout_ms, lambda: self.forget_expected(member_id)))

    def forget_expected(self, member_id: str) -> None:
        """An id that was given out will not be used; the group may have waited for just that."""
        self.members.remove(member_id)
        if self.state is State.PREPARING_REBALANCE and self.members.all_joined():
            self._complete_join()

    def dismiss(self, member: ClassicMember) -> None:
        """Take a member out, who is told so if it waits for anything. `go_on` has to follow."""
        self.answer_join(member, refused(Code.UNKNOWN_MEMBER_ID))
        self.answer_sync(member, unassigned(Code.UNKNOWN_MEMBER_ID))  # which Kafka forgets, so that it waits for ever
        self.members.remove(member.member_id)

    def fence(self, member: ClassicMember) -> None:
        """Another has taken this static member's place: nothing that it waits for will come."""
        self.answer_join(member, refused(Code.FENCED_INSTANCE_ID, member.member_id))
        self.answer_sync(member, unassigned(Code.FENCED_INSTANCE_ID))

    def go_on(self) -> None:
        """After somebody has gone: begin anew without him, or stop waiting for him."""
        if self.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self.prepare_rebalance()
        elif self.state is State.PREPARING_REBALANCE:
            self._complete_join_when_all_did()

    # joining

    def rebalance(self) -> None:
        """After somebody has joined: begin a rebalance, or look whether it was the last one to be waited for."""
        if self.state is State.PREPARING_REBALANCE:
            self._complete_join_when_all_did()
        else:
            self.prepare_rebalance()

    def prepare_rebalance(self) -> None:
        """Have everybody join again."""
        if self.state is State.COMPLETING_REBALANCE:
            self._propagate(Code.REBALANCE_IN_PROGRESS, {})
        self._forget_syncs()
        self._is_initial = self.state is State.EMPTY
        self.enter(State.PREPARING_REBALANCE)
        if self._is_initial:
            self._beginning.wait()
        elif self.members.all_joined():
            self._complete_join()
        else:
            self._join_timer = self._later(self.members.rebalance_timeout_ms, self._complete_join)

    def newcomer(self) -> None:
        """Somebody new is about to join: the first generation may wait longer."""
        if self.state is State.PREPARING_REBALANCE and self._is_initial:
            prolongs = self.generation == 0 or self.shard.node.release.delays_every_initial_rebalance
            self._beginning.newcomer(prolongs=prolongs)

    def _complete_join_later(self, delay_ms: int, then: Callable[[], None]) -> None:
        self._join_timer = self._later(delay_ms, then)

    def _complete_join_when_all_did(self) -> None:
        if not self._is_initial and self.members.all_joined():
            self._complete_join()

    def _complete_join(self) -> None:
        """Go on with those who have joined. Static members stay in the group even so, until their session ends."""
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
        self.enter(State.COMPLETING_REBALANCE)
        for member in members:
            self.answer_join(member, self.joined(member))
            self.renew_session(member)
            member.is_new = False
            members.unsynced.add(member.member_id)
        self._sync_timer = self._later(members.rebalance_timeout_ms, self._drop_unsynced)

    def select_protocol(self) -> str:
        """The protocol that the members would choose now. There has to be a member."""
        in_java = self.shard.node.release.keeps_groups_in_java
        return self.members.select_protocol(place_in_java if in_java else place_in_scala)

    def _become_empty(self) -> None:
        self.protocol_name = None
        self.enter(State.EMPTY)
        try:
            self.shard.append([self.record({})])
        except KafkaError as error:
            _LOG.warning("group %s is empty now, which could not be written: %s", quoted(self.group_id), error)

    def joined(self, member: ClassicMember) -> JoinGroupResponse:
        """What a member of this generation is told."""
        response = JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.members.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.members.leader_id or "",
            member_id=member.member_id,
            members=[],
        )
        if member.member_id == self.members.leader_id:
            response.members = self.member_list()
        return response

    def member_list(self) -> list[JoinGroupResponse.Member]:
        """Who is in this generation, for its leader."""
        name = self.protocol_name or ""
        return [
            JoinGroupResponse.Member(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.protocols[name]
            )
            for member in self.members
        ]

    # syncing

    def synced(self, member: ClassicMember) -> None:
        """A member has asked for its assignment."""
        self.members.unsynced.discard(member.member_id)
        if not self.members.unsynced and self._sync_timer is not None:
            self._sync_timer.cancel()
            self._sync_timer = None

    def _drop_unsynced(self) -> None:
        self._sync_timer = None
        for member_id in list(self.members.unsynced):
            self.members.remove(member_id)
        self.prepare_rebalance()

    def _forget_syncs(self) -> None:
        self.members.unsynced.clear()
        if self._sync_timer is not None:
            self._sync_timer.cancel()
            self._sync_timer = None

    def store(self, assignments: Mapping[str, bytes]) -> None:
        """The leader has assigned: everybody gets his own once that is written."""
        generation = self.generation

        def stored(code: Code) -> None:
            if self.state is State.COMPLETING_REBALANCE and self.generation == generation:
                self._propagate(code, assignments)
                if code is Code.NONE:
                    self.enter(State.STABLE)
                else:
                    self.prepare_rebalance()

        self._write(assignments, stored)

    def keep(self, member: ClassicMember, then: Callable[[Code], None]) -> None:
        """Write the group down with the new id of a static member, who keeps its assignment."""

        waiting = member.awaiting_join

        def kept(code: Code) -> None:
            if member.awaiting_join is waiting:  # it has not been fenced or removed meanwhile
                then(code)

        self._write({member.member_id: member.assignment for member in self.members}, kept)

    def _write(self, assignments: Mapping[str, bytes], then: Callable[[Code], None]) -> None:
        """Write the group with these assignments, and say when all replicas have it, or what went wrong."""
        is_asked_now = True

        def written(code: Code) -> bool:
            then(code)
            if is_asked_now:
                self.shard.node.call_soon(self.flush)  # the member that asks is answered first
            else:
                self.flush()
            return True

        try:
            offset = self.shard.append([self.record(assignments)])
        except KafkaError as error:
            written(error.code)
        else:
            self.shard.when_replicated(offset, self.shard.node.config.offsets_commit_timeout_ms, written)
        is_asked_now = False

    def _propagate(self, code: Code, assignments: Mapping[str, bytes]) -> None:
        """Tell everybody who waits for it his assignment, or what went wrong."""
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"") if code is Code.NONE else b""
            if self.answer_sync(member, self.assigned(member) if code is Code.NONE else unassigned(code)):
                self.renew_session(member)

    def assigned(self, member: ClassicMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.members.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    # the log

    def record(self, assignments: Mapping[str, bytes]) -> StateRecord:
        """The group as it is now, with these assignments by member id."""
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
        """Go on after it was read from the log: whoever was a member has one session timeout to come back."""
        for member in self.members:
            self.renew_session(member)
        if len(self.members) > self.shard.node.config.group_max_size:
            self.prepare_rebalance()
        self.flush()

    def close(self, code: Code = Code.NOT_COORDINATOR) -> None:
        """Give the group up: those who wait are told `code`, by default to look for another coordinator."""
        self.enter(State.DEAD)
        for timer in (self._join_timer, self._sync_timer):
            if timer is not None:
                timer.cancel()
        for member in self.members:
            self.answer_join(member, refused(code, member.member_id))
            self.answer_sync(member, unassigned(code))
        self.members.clear()
        self.flush()


def refused(code: Code, member_id: str = "") -> JoinGroupResponse:
    """A JoinGroup that comes to nothing."""
    return JoinGroupResponse(error_code=code, protocol_name=None, leader="", member_id=member_id, members=[])


def unassigned(code: Code) -> SyncGroupResponse:
    """A SyncGroup that comes to nothing."""
    return SyncGroupResponse(error_code=code, assignment=b"")
