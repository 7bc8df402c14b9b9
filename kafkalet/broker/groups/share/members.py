"""The members of a share group.

Source: org.apache.kafka.coordinator.group.modern.share.ShareGroupMember.
"""

from typing import NamedTuple

from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

STABLE = 0
_NOTHING: Assignment = {}


class ShareMember(NamedTuple):
    """A member of a share group. The host is formatted as in Java: "/127.0.0.1"."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: int = STABLE  # other states do not occur, but a later release might write them
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    assigned: Assignment = _NOTHING

    @property
    def instance_id(self) -> str | None:
        """None: share groups have no static members."""
        return None

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return whether the member has its target assignment of this epoch."""
        return self.state == STABLE and self.member_epoch == epoch

    def updated_by(self, request: ShareGroupHeartbeatRequest, client_id: str, client_host: str) -> "ShareMember":
        """Return the member updated by a heartbeat. A null field in the heartbeat means that it has not changed."""
        names = request.subscribed_topic_names
        return self._replace(
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            topic_names=self.topic_names if names is None else frozenset(names),
            client_id=client_id,
            client_host=client_host,
        )
