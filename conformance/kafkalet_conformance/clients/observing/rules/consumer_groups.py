"""Groups of the consumer protocol: the contents and the epochs of heartbeats (KIP-848)."""

from collections.abc import Iterator

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Fate, Sent

from .rule import Remark, Rule

_SERVICE = "KIP-848, GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid"
_JOINING = Claim(
    "heartbeat-joining",
    "The first heartbeat has a subscription, a rebalance timeout and an empty list of owned partitions.",
    _SERVICE,
)
_ID = Claim("heartbeat-member-id", "Since version 1, a member chooses its member id before it joins.", "KIP-1082")
_OWNED = Claim(
    "heartbeat-owned",
    "A member owns only partitions that were assigned to it.",
    "KIP-848, AbstractMembershipManager",
)
_FENCED = {Code.FENCED_MEMBER_EPOCH, Code.UNKNOWN_MEMBER_ID}


class _Member:
    """A member as the coordinator and the member know it."""

    def __init__(self) -> None:
        self.epochs: set[int] = {0}
        """The epochs that the member may send."""
        self.why = "it has not joined"
        self.assigned: set[tuple[bytes, int]] = set()
        """All partitions that were ever assigned."""


class ConsumerMembers(Rule):
    """Follows the members of groups that use the consumer protocol."""

    CLAIM = Claim(
        "heartbeat-epoch",
        "A heartbeat has the epoch 0 to join, the latest epoch of the member, or -1 or -2 to leave.",
        "KIP-848, ConsumerMembershipManager",
    )

    def __init__(self) -> None:
        self._members: dict[tuple[str, str], _Member] = {}

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        request = sent.request
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            return
        epoch = request.member_epoch
        if epoch == 0:
            yield from _joining(sent, request)
        member = self._members.get((request.group_id, request.member_id))
        if member is None:
            if epoch == 0 and request.member_id:
                self._members[request.group_id, request.member_id] = _Member()
            return
        if epoch > 0 and epoch not in member.epochs:
            latest = max(member.epochs)
            yield f"{request.member_id!r} sends epoch {epoch}; {latest} is expected, because {member.why}"
        if request.topic_partitions is not None and epoch > 0:
            owned = {(topic.topic_id, each) for topic in request.topic_partitions for each in topic.partitions}
            if foreign := owned - member.assigned:
                topic_id, partition = min(foreign)
                text = f"{request.member_id!r} owns partition {partition} of {topic_id.hex()}, which was not assigned"
                yield Remark(_OWNED, text)
        if epoch < 0:
            member.epochs, member.why = {0}, "it has left"

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        request, response = sent.request, sent.response
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            return
        if not isinstance(response, ConsumerGroupHeartbeatResponse):
            return  # the member continues with an epoch that it knows
        member_id = response.member_id or request.member_id
        member = self._members.setdefault((request.group_id, member_id), _Member())
        is_known = sent.fate is Fate.ANSWERED and not sent.is_altered
        if response.error_code == Code.NONE:
            if request.member_epoch >= 0:
                told = {response.member_epoch, 0}
                member.epochs = told if is_known else member.epochs | told
                member.why = f"the response to {sent.place} contained it"
            if response.assignment is not None:
                member.assigned |= {
                    (topic.topic_id, each)
                    for topic in response.assignment.topic_partitions
                    for each in topic.partitions
                }
        elif response.error_code in _FENCED and is_known:
            member.epochs, member.why = {0}, f"the response to {sent.place} is {Code(response.error_code).name}"
        yield from ()


def _joining(sent: Sent, request: ConsumerGroupHeartbeatRequest) -> Iterator[Remark]:
    missing = []
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        missing.append("no subscription")
    if request.rebalance_timeout_ms == -1:
        missing.append("no rebalance timeout")
    if request.topic_partitions is None:
        missing.append("no list of owned partitions")
    elif request.topic_partitions:
        missing.append("owned partitions")
    if missing:
        yield Remark(_JOINING, f"the first heartbeat of {request.member_id!r} has {', '.join(missing)}")
    if sent.version >= 1 and not request.member_id:
        yield Remark(_ID, "the member id of the first heartbeat is empty")
