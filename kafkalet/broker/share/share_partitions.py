"""The share partitions of a broker: those whose partitions it leads, and that members of share groups use.

A share partition is opened by the first fetch. It is dropped when its partition gets another leader, when its state was
reset, and when the connections of all members of its group have closed.

Members that wait for records wait for two keys of the purgatory: the partition, whose log may grow, and the share
partition, whose records may become available (`waiting_key`).

Source: kafka.server.share.SharePartitionManager and SharePartitionCache.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from kafkalet.broker.cluster.controller import Controller
from kafkalet.broker.cluster.node import Node
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached, until

from .configuration import ShareGroupConfigs
from .open_partition import FENCING, OpenSharePartition
from .persister import SharePersister
from .sessions import MemberKey, Place, ShareSessions
from .share_partition import Acknowledgement
from .state import SharePartitionKey

UNKNOWN_PARTITION = KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")


def waiting_key(key: SharePartitionKey) -> tuple[str, SharePartitionKey]:
    """Return the key for which members wait that have nothing to acquire."""
    return "share partition", key


class SharePartitions:
    """The share partitions and share sessions of the broker `node`."""

    def __init__(self, node: Node, persister: SharePersister, controller: Controller) -> None:
        self.node = node
        self.configs = ShareGroupConfigs(node)
        self.sessions = ShareSessions(lambda: node.config.group_share_max_share_sessions)
        self._persister = persister
        self._controller = controller
        self._opened: dict[SharePartitionKey, OpenSharePartition] = {}
        self._unloaded: deque[OpenSharePartition] = deque()

    def opened(self) -> list[OpenSharePartition]:
        """Return the share partitions that are in use."""
        return [opened for opened in self._opened.values() if opened.is_current]

    def find(self, key: SharePartitionKey) -> OpenSharePartition | None:
        """Return a share partition that is in use."""
        opened = self._opened.get(key)
        if opened is not None and not opened.is_current:
            self.drop(opened)
            return None
        return opened

    def open(self, key: SharePartitionKey, topic: str) -> OpenSharePartition:
        """Return a share partition, which is loaded soon if it is not in use yet.

        Raises NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION and KAFKA_STORAGE_ERROR.
        """
        opened = self.find(key)
        if opened is None:
            partition = self.node.partition(topic, key.partition)
            partition.log_for(None)
            opened = OpenSharePartition(
                key, partition, self.node, self._persister, self.configs, self._controller, self._changed
            )
            self._opened[key] = opened
            self._unloaded.append(opened)
            if len(self._unloaded) == 1:
                self.node.call_soon(self._load_next)
        return opened

    def _load_next(self) -> None:
        """Load the next share partition.

        In Kafka, each is loaded by a request to the share coordinator. So a member that opens several of them gets the
        records of the first one that is loaded, and a member that does not wait gets none.
        """
        self._unloaded.popleft().load()
        if self._unloaded:
            self.node.call_soon(self._load_next)

    def drop(self, opened: OpenSharePartition) -> None:
        """Use a share partition no more; the next fetch opens it again."""
        if self._opened.get(opened.key) is opened:
            del self._opened[opened.key]
        if not opened.is_fenced:
            opened.fence()

    def drop_group(self, group_id: str) -> None:
        """Drop all share partitions of a group."""
        for opened in [opened for key, opened in self._opened.items() if key.group_id == group_id]:
            self.drop(opened)

    def _changed(self, opened: OpenSharePartition) -> None:
        if opened.failure is not None:
            self.drop(opened)
        self.node.purgatory.touch(waiting_key(opened.key))

    # Members

    @detached
    async def acknowledge(
        self, member: MemberKey, acknowledged: Mapping[Place, Sequence[Acknowledgement]]
    ) -> dict[Place, KafkaError | None]:
        """Apply what a member says about its records. Return the errors; each partition is applied on its own."""
        group_id, member_id = member
        pending: dict[Place, tuple[OpenSharePartition | None, Delayed[KafkaError | None] | None]] = {}
        for place, acknowledgements in acknowledged.items():
            opened = self.find(SharePartitionKey(group_id, *place))
            pending[place] = opened, None if opened is None else opened.acknowledge(member_id, acknowledgements)
        return {place: await self._ended(*one) for place, one in pending.items()}

    @detached
    async def close_session(self, member: MemberKey) -> None:
        """End the session of a member, and release what it has acquired."""
        session = self.sessions.remove(member)
        if session is not None:
            await self._release(member, session.partitions)

    async def _release(self, member: MemberKey, places: Iterable[Place]) -> None:
        group_id, member_id = member
        found = [self.find(SharePartitionKey(group_id, *place)) for place in places]
        pending = [(opened, opened.release(member_id)) for opened in found if opened is not None]
        for opened, released in pending:
            await self._ended(opened, released)

    async def _ended(
        self, opened: OpenSharePartition | None, pending: Delayed[KafkaError | None] | None
    ) -> KafkaError | None:
        if opened is None or pending is None:
            return UNKNOWN_PARTITION
        error = await until(pending)
        if error is not None and error.code in FENCING:
            self.drop(opened)
        return error

    @detached
    async def disconnected(self, connection: int) -> None:
        """Release what the member has acquired that used a connection, which has closed."""
        member, session = self.sessions.disconnected(connection)
        if member is None:
            return
        if session is not None:
            await self._release(member, session.partitions)
        group_id, _ = member
        if self.sessions.is_empty(group_id):
            self.drop_group(group_id)

    def close(self) -> None:
        """End all sessions, and drop all share partitions."""
        self.sessions.clear()
        for opened in list(self._opened.values()):
            self.drop(opened)
