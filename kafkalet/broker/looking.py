"""What users look at in a running cluster: its logs, its groups, its transactional ids.

    cluster.log("topic", 0).last_stable_offset
    cluster.group("group").members
    cluster.transaction("transactional id").state

Each may be asked from whatever thread. What the views are made of is imported when somebody looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .leadership import Leadership
from .node import Node
from .running import Running
from .transactions.verification import Transactions

if TYPE_CHECKING:
    from .views import GroupView, LogView, TransactionView


class Looking(Running):
    """A cluster, seen from outside."""

    nodes: dict[int, Node]
    leadership: Leadership
    transactions: Transactions

    def log(self, topic: str, partition: int = 0) -> LogView:
        """A view of the leader's log. UNKNOWN_TOPIC_OR_PARTITION where there is none."""
        from .views import LogView

        leader = self.call(lambda: self.leadership.leader_of(topic, partition))
        return LogView(leader.log, self.call)

    def group(self, group_id: str) -> GroupView:
        """A view of a group: its state, its members, what it has committed."""
        from .views import GroupView

        return GroupView(group_id, self.nodes, self.call)

    def transaction(self, transactional_id: str) -> TransactionView:
        """How a transactional id stands now. TRANSACTIONAL_ID_NOT_FOUND where nobody has used it."""
        return self.call(lambda: self.transactions.view(transactional_id))
