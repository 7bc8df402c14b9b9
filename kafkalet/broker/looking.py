"""What users look at in a running cluster: its logs, its groups, its transactional ids.

    cluster.log("topic", 0).last_stable_offset
    cluster.group("group").members
    cluster.transaction("transactional id").state

Each may be asked in any thread. The modules behind the views are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import arguments
from .cluster.leadership import Leadership
from .cluster.node import Node
from .running import Running
from .transactions.verification import Transactions

if TYPE_CHECKING:
    from .cluster.partition import Partition
    from .views import GroupView, LogView, TransactionView


class Looking(Running):
    """A cluster, seen from outside."""

    nodes: dict[int, Node]
    leadership: Leadership
    transactions: Transactions

    def log(self, topic: str, partition: int = 0) -> LogView:
        """A view of the log of a partition, as its leader has it. UNKNOWN_TOPIC_OR_PARTITION if it does not exist."""
        from .views import LogView

        self.call(lambda: self._leader(topic, partition))
        return LogView(topic, partition, lambda: self._leader(topic, partition).log, self.call)

    def group(self, group_id: str) -> GroupView:
        """A view of a group: its state, its members, what it has committed. One that does not exist is "Dead"."""
        from .views import GroupView

        return GroupView(arguments.text("the id of a group", group_id), self.nodes, self.call)

    def transaction(self, transactional_id: str) -> TransactionView:
        """The present state of a transactional id. TRANSACTIONAL_ID_NOT_FOUND if no producer has used it."""
        arguments.text("a transactional id", transactional_id)
        return self.call(lambda: self.transactions.view(transactional_id))

    def _leader(self, topic: str, partition: int) -> Partition:
        arguments.text("the name of a topic", topic)
        return self.leadership.leader_of(topic, arguments.number("the number of a partition", partition))
