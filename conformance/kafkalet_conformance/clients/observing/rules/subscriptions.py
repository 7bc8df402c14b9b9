"""Subscriptions and assignments of consumers, which are opaque bytes in JoinGroup and SyncGroup."""

from collections.abc import Iterator

from kafkalet.protocol.messages.join_group import JoinGroupRequest
from kafkalet.protocol.messages.subscription import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkalet.protocol.messages.sync_group import SyncGroupRequest
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Sent
from kafkalet_conformance.clients.observing.strict import check_embedded

from .rule import Remark, Rule


class Subscriptions(Rule):
    """Decodes the subscriptions and assignments of groups with the protocol type "consumer"."""

    CLAIM = Claim(
        "consumer-protocol",
        "A consumer encodes its subscription and the assignments as other consumers expect them.",
        "ConsumerProtocol, KIP-429, KIP-792, KIP-881",
    )

    def __init__(self) -> None:
        self._groups: set[str] = set()
        """The groups of consumers."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        request = sent.request
        if isinstance(request, JoinGroupRequest):
            if request.protocol_type == "consumer":
                self._groups.add(request.group_id)
                for protocol in request.protocols:
                    for complaint in check_embedded(protocol.metadata, ConsumerProtocolSubscription):
                        yield f"subscription of protocol {protocol.name!r}, {complaint}"
        elif isinstance(request, SyncGroupRequest) and request.group_id in self._groups:
            for assignment in request.assignments:
                for complaint in check_embedded(assignment.assignment, ConsumerProtocolAssignment):
                    yield f"assignment of {assignment.member_id!r}, {complaint}"
