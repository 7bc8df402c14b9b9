"""Groups of the classic protocol: member ids and generations (KIP-394, KIP-345).

A member is known by its group and member id. A member is assumed to know only responses on the same connection.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkalet.protocol.messages.sync_group import SyncGroupRequest
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Sent

from .rule import Remark, Rule

_SOURCE = "AbstractCoordinator"
_REQUIRED = Claim(
    "member-id-required",
    "After MEMBER_ID_REQUIRED, a member joins with the member id of the response.",
    "KIP-394, AbstractCoordinator.JoinGroupResponseHandler",
)
_TOLD = Claim(
    "member-id", "A member id in a request is empty, or one that the coordinator gave.", f"KIP-394, {_SOURCE}"
)
_DEAD = Claim(
    "member-id-dead",
    "A member that has left, or that the coordinator does not know, does not use its member id.",
    f"{_SOURCE}.resetStateAndRejoin",
)
_ASSIGNMENTS = Claim("sync-assignments", "Only the leader of a group sends assignments.", f"{_SOURCE}.onJoinFollower")
MARGIN_S = 1.0
"""How long a member may take to apply a response, because a commit may already be on its way."""

Member = tuple[str, str]
"""A group and a member id."""


class _Use(NamedTuple):
    """A member id in a request."""

    group: str
    member_id: str
    generation: int
    """-1 if the request contains none."""
    is_leaving: bool = False


class _Generation(NamedTuple):
    """A generation that the coordinator sent to a member."""

    generation: int
    leader: str
    sent: Sent


class ClassicMembers(Rule):
    """Follows the members of groups."""

    CLAIM = Claim(
        "generation",
        "A member sends the generation of its latest JoinGroup.",
        f"{_SOURCE}.Generation",
    )

    def __init__(self) -> None:
        self._members: dict[Member, list[_Generation]] = {}
        """The generations of each member."""
        self._dead: dict[Member, tuple[Sent, str]] = {}
        """The members that have left or were removed, with the request that showed it, and the reason."""
        self._required: dict[tuple[int, str], tuple[Sent, str]] = {}
        """The last MEMBER_ID_REQUIRED response and its member id, keyed by connection and group."""
        self._consumers: set[str] = set()
        """Groups with members that use the consumer protocol; their offsets have epochs instead of generations."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        if sent.place.position == 1 and sent.api is not Api.API_VERSIONS:
            self.sees_everything = False
        if sent.api is Api.CONSUMER_GROUP_HEARTBEAT:
            self._consumers.add(getattr(sent.request, "group_id", ""))
        request = sent.request
        if isinstance(request, JoinGroupRequest):
            yield from self._join(sent, request)
        elif isinstance(request, SyncGroupRequest) and request.assignments:
            told = self._members.get((request.group_id, request.member_id), [])
            joined = next((each for each in told if each.generation == request.generation_id), None)
            if joined is not None and joined.leader != request.member_id:
                text = f"{request.member_id!r} sends {len(request.assignments)} assignments; {joined.leader!r} leads"
                yield Remark(_ASSIGNMENTS, text)
        for use in _uses(sent):
            yield from self._use(sent, use)

    def _join(self, sent: Sent, request: JoinGroupRequest) -> Iterator[Remark]:
        required = self._required.pop((sent.connection, request.group_id), None)
        if required is not None and sent.follows(required[0]) and request.member_id != required[1]:
            text = (
                f"the member joins with {request.member_id!r}; the response to {required[0].place} gave {required[1]!r}"
            )
            yield Remark(_REQUIRED, text)

    def _use(self, sent: Sent, use: _Use) -> Iterator[str | Remark]:
        member = (use.group, use.member_id)
        if not use.member_id or use.group in self._consumers:
            return
        dead = self._dead.get(member)
        if dead is not None and not use.is_leaving and _knows(sent, dead[0]):
            yield Remark(_DEAD, f"{use.member_id!r} is used after {dead[1]}")
            return
        told = self._members.get(member)
        if told is None:
            if self.sees_everything:
                self._members[member] = []  # one finding is enough
                yield Remark(_TOLD, f"no response contained the member id {use.member_id!r}")
            return
        if use.generation < 0 or not told:
            return
        latest = told[-1]
        if use.generation not in {each.generation for each in told}:
            if self.sees_everything:
                yield f"{use.member_id!r} sends generation {use.generation}, but joined {latest.generation}"
        elif use.generation != latest.generation and _knows(sent, latest.sent):
            yield f"{use.member_id!r} sends generation {use.generation}; {latest.generation} is the latest"

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        request, response = sent.request, sent.response
        if isinstance(request, JoinGroupRequest) and isinstance(response, JoinGroupResponse):
            self._joined(sent, request, response)
        if not sent.is_altered:
            for use in _uses(sent):
                error = _error(sent)
                if use.is_leaving and error == Code.NONE:
                    self._dead[use.group, use.member_id] = sent, "it has left"
                elif error == Code.UNKNOWN_MEMBER_ID:
                    self._dead[use.group, use.member_id] = sent, "UNKNOWN_MEMBER_ID"
        yield from ()

    def _joined(self, sent: Sent, request: JoinGroupRequest, response: JoinGroupResponse) -> None:
        member = (request.group_id, response.member_id)
        if response.error_code == Code.MEMBER_ID_REQUIRED:
            self._members.setdefault(member, [])
            if not sent.is_altered:
                self._required[sent.connection, request.group_id] = sent, response.member_id
        elif response.error_code == Code.NONE:
            self._dead.pop(member, None)
            generations = self._members.setdefault(member, [])
            generations.append(_Generation(response.generation_id, response.leader, sent))
        elif response.member_id:
            self._members.setdefault(member, [])

    def closed(self, closed: Closed) -> None:
        for key in [key for key in self._required if key[0] == closed.connection]:
            del self._required[key]


def _knows(sent: Sent, earlier: Sent) -> bool:
    """Return whether the member knew an earlier response when it sent a request."""
    return sent.connection == earlier.connection and not earlier.is_altered and sent.follows(earlier, MARGIN_S)


def _uses(sent: Sent) -> Iterator[_Use]:
    """Yield the member ids in a request."""
    request = sent.request
    if isinstance(request, JoinGroupRequest):
        yield _Use(request.group_id, request.member_id, -1)
    elif isinstance(request, SyncGroupRequest | HeartbeatRequest):
        yield _Use(request.group_id, request.member_id, request.generation_id)
    elif isinstance(request, OffsetCommitRequest):
        yield _Use(request.group_id, request.member_id, request.generation_id_or_member_epoch)
    elif isinstance(request, LeaveGroupRequest):
        if sent.version < 3:
            yield _Use(request.group_id, request.member_id, -1, is_leaving=True)
        for member in request.members:
            yield _Use(request.group_id, member.member_id, -1, is_leaving=True)


def _error(sent: Sent) -> int | None:
    """Return the error of a response, or the first one of its partitions; None without a response."""
    response = sent.response
    if isinstance(response, OffsetCommitResponse):
        return next((each.error_code for topic in response.topics for each in topic.partitions), Code.NONE)
    return None if response is None else getattr(response, "error_code", Code.NONE)
