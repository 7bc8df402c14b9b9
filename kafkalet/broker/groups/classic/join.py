"""JoinGroup for a classic group: new members, rejoining members and static members that restart.

A new member is assigned a member id. Since JoinGroup v4, a dynamic member has to join again with this id before it is
added (KIP-394). A static member has an instance id, which identifies it when it restarts and joins without a member id
(KIP-345). It then replaces its predecessor, which is fenced. No rebalance is needed unless the members would now choose
a different protocol.

A request that has to wait gets a Delayed, which `ClassicGroup` completes when all members have joined. The first
generation of a group starts after a delay (delayed_join.py), as long as consumers that have sent FindCoordinator are
expected to join (recent_lookups.py).

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoinToClassicGroup.
"""

import logging

from kafkalet.broker.cluster.metadata import random_uuid
from kafkalet.broker.groups.group import Caller
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.text import MAX_STRING_BYTES
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached

from .group import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicGroup, State, join_error
from .members import ClassicMember

_LOG = logging.getLogger(__name__)

Answer = JoinGroupResponse | Delayed[JoinGroupResponse]

FIRST_WITH_MEMBER_IDS = 4
FIRST_WITH_SKIPPED_ASSIGNMENT = 9


class _Join:
    """Handles one JoinGroup request for a classic group."""

    __slots__ = ("caller", "group", "instance_id", "member_id", "protocols", "request")

    def __init__(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller) -> None:
        self.group = group
        self.request = request
        self.caller = caller
        self.member_id = request.member_id
        self.instance_id = request.group_instance_id
        self.protocols: dict[str, bytes] = {}
        for protocol in request.protocols:
            self.protocols.setdefault(protocol.name, protocol.metadata)  # the first occurrence of a name wins

    def answer(self) -> Answer:
        group = self.group
        if not self._has_room():
            group.remove_pending_member(self.member_id)
            return join_error(Code.GROUP_MAX_SIZE_REACHED)
        if not self._is_consistent():
            return join_error(Code.INCONSISTENT_GROUP_PROTOCOL, self.member_id)
        if not self.member_id:
            return self._join_without_id()
        if group.members.is_pending(self.member_id):
            # only dynamic members are assigned an id beforehand; Kafka also fails here
            if self.instance_id is not None:
                return join_error(Code.UNKNOWN_SERVER_ERROR)
            return self._add_member(self.member_id)
        group.validate_member(self.member_id, self.instance_id, joins=True)
        return self._rejoin(group.members[self.member_id])

    def _has_room(self) -> bool:
        """Return whether the group has room for the member.

        During a rebalance, only members that have already joined count.
        """
        group, limit = self.group, self.group.shard.node.config.group_max_size
        members = group.members
        if group.state is State.EMPTY or len(members) < limit:
            return True
        if group.state is State.PREPARING_REBALANCE:
            waits = self.member_id in members and members[self.member_id].awaiting_join is not None
            return waits or members.awaiting_join() < limit
        return self.member_id in members

    def _is_consistent(self) -> bool:
        request, members = self.request, self.group.members
        if self.group.state is State.EMPTY:
            return bool(request.protocol_type) and bool(self.protocols)
        return members.protocol_type == request.protocol_type and members.supports(self.protocols)

    # New members

    def _join_without_id(self) -> Answer:
        group = self.group
        member_id = f"{self.caller.client_id if self.instance_id is None else self.instance_id}-{_uuid_text()}"
        if len(member_id.encode()) > MAX_STRING_BYTES:
            # Kafka returns the same error, because it cannot write the id to the log. However, by then it has already
            # added the member.
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"member id of {len(member_id.encode())} bytes is too long")
        known_as = group.members.static_id(self.instance_id)
        if known_as is not None:
            return self._replace_static_member(known_as, member_id)
        if self.instance_id is None and self.caller.version >= FIRST_WITH_MEMBER_IDS:
            group.add_pending_member(member_id, self.request.session_timeout_ms)
            return join_error(Code.MEMBER_ID_REQUIRED, member_id)
        return self._add_member(member_id)

    def _add_member(self, member_id: str) -> Answer:
        group, request = self.group, self.request
        member = ClassicMember(
            member_id,
            self.instance_id,
            self.caller.client_id,
            self.caller.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms(),
            protocol_type=request.protocol_type,
            protocols=self.protocols,
        )
        member.is_new = True
        waiting = member.awaiting_join = Delayed()
        group.new_member_added()
        group.members.add(member)
        group.renew_session(member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        group.rebalance()
        return waiting

    def _rebalance_timeout_ms(self) -> int:
        return self.request.rebalance_timeout_ms if self.caller.version >= 1 else self.request.session_timeout_ms

    # Existing members

    def _rejoin(self, member: ClassicMember) -> Answer:
        """Let a member join again.

        A follower whose protocols have not changed gets the current generation again, and so does any member that
        missed its response.
        """
        group = self.group
        if group.state is State.EMPTY:  # a group in this state has no members
            return join_error(Code.UNKNOWN_MEMBER_ID, self.member_id)
        if group.state is not State.PREPARING_REBALANCE and member.matches(self.protocols):
            if group.state is State.COMPLETING_REBALANCE:
                return group.join_response(member)
            if member.member_id != group.members.leader_id:
                return group.join_response(member)
        waiting = self._update_member(member)
        group.rebalance()
        return waiting

    def _update_member(self, member: ClassicMember) -> Delayed[JoinGroupResponse]:
        self.group.members.change_protocols(member, self.protocols)
        if self.group.shard.node.release.takes_new_timeouts:
            member.session_timeout_ms = self.request.session_timeout_ms
            member.rebalance_timeout_ms = self._rebalance_timeout_ms()
        waiting = member.awaiting_join = Delayed[JoinGroupResponse]()
        return waiting

    # Restarted static members

    def _replace_static_member(self, old_id: str, new_id: str) -> Answer:
        """Replace a static member that joins without its member id. A client that still uses the old id is fenced."""
        group, members = self.group, self.group.members
        old_leader_id = members.leader_id or ""
        group.fence(members[old_id])
        member = members.replace_static(old_id, new_id)
        group.renew_session(member)
        before = member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms
        waiting = self._update_member(member)
        if group.state is State.COMPLETING_REBALANCE or (
            group.state is State.STABLE and group.select_protocol() != group.protocol_name
        ):
            group.prepare_rebalance()
        elif group.state is State.STABLE:
            self._write_replaced(member, old_id, old_leader_id, before)
        else:
            group.rebalance()
        return waiting

    @detached
    async def _write_replaced(
        self, member: ClassicMember, old_id: str, old_leader_id: str, before: tuple[dict[str, bytes], int, int]
    ) -> None:
        """Write the new id of a restarted static member, then complete its JoinGroup request.

        If writing failed, the member keeps the old id.
        """
        group = self.group
        code = await group.write_replaced_member(member)
        if code is None:
            return
        if code is not Code.NONE:
            names = (quoted(group.group_id), quoted(member.member_id), quoted(old_id))
            _LOG.warning("group %s: cannot write member id %s, keeping %s: %s", *names, code.name)
            answer = group.join_response(member)
            answer.error_code, answer.member_id, answer.leader, answer.members = code, "", old_leader_id, []
            group.answer_join(member, answer)
            group.members.replace_static(member.member_id, old_id)
            protocols, member.session_timeout_ms, member.rebalance_timeout_ms = before
            group.members.change_protocols(member, protocols)
            group.renew_session(member)
            return
        answer = group.join_response(member)
        if self.caller.version >= FIRST_WITH_SKIPPED_ASSIGNMENT:
            answer.skip_assignment = group.members.leader_id == member.member_id
        else:  # older clients must not think that they are the leader: their assignment would be ignored
            answer.leader, answer.members = old_leader_id, []
        group.answer_join(member, answer)


def join(group: ClassicGroup, request: JoinGroupRequest, caller: Caller) -> Answer:
    """Handle a JoinGroup request. Returns a Delayed if it has to wait for other members."""
    try:
        answer = _Join(group, request, caller).answer()
    except KafkaError as error:
        answer = join_error(error.code, request.member_id)
    group.flush()
    return answer


def _uuid_text() -> str:
    """Return a random UUID in the text form of java.util.UUID."""
    digits = random_uuid().hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
