"""The partitions of a Fetch request: which were requested, which are refused, and which have to be read.

The request and its session (fetch_sessions.py) determine the partitions. Those with an unknown topic name or topic id
are refused before anything is read, as are those that the client may not read: a follower needs CLUSTER_ACTION on the
cluster, a consumer READ on each topic.

A consumer of a thousand partitions sends requests that name only one of them, or none, but the broker has to check all
partitions of the session. Most of them are *quiet*: the reader has read all that it may read, and already knows the
high watermark and the log start offset. Reading such a partition returns nothing, and the response leaves it out
(IncrementalContext.settle). Therefore a plain request (fetch.py) reads only the other partitions. If a quiet partition
changes while the request waits, it is read as well. A partition that needs the general handler is never quiet, for
example because of an error, a leader epoch or a reader that may have diverged.
"""

from collections.abc import Callable, Iterable

from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import CachedPartition, IncrementalContext, Key, RequestedPartition
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.storage.values import Isolation, LogOffsetMetadata

MOST_PARTITIONS = 5000
"""If a session has more partitions than this, all of them are read, with pauses for other requests."""
READS_FROM_FOLLOWERS_SINCE = 11
"""The first version in which consumers may read from followers."""

ErrorOf = Callable[[str, int], Code | None]


class FetchPartitions:
    """The partitions of one request."""

    def __init__(self, request: FetchRequest, context: Context, replica_id: int) -> None:
        self._request = request
        self._context = context
        self._replica_id = replica_id
        self._by_id = context.version >= 13
        self.session = context.broker.fetch_sessions.context(
            request.session_id,
            request.session_epoch,
            self._requested(),
            self._forgotten(),
            uses_topic_ids=self._by_id,
            from_follower=replica_id >= 0,
            name_of=self._name_of,
        )
        self.readable: list[tuple[Key, RequestedPartition]] = []
        """The partitions that are read, in order."""
        self.refused: dict[Key, Code] = {}
        """The errors of partitions that are not read."""
        self._known: list[tuple[Key, CachedPartition]] | None = None
        """The partitions that may be quiet; None if all are read."""
        self._quiet: list[tuple[Key, Partition, int, LogOffsetMetadata, RequestedPartition]] = []

    def __bool__(self) -> bool:
        """Return whether at least one partition is not refused."""
        return bool(self.readable or self._quiet)

    # The request

    def _requested(self) -> list[tuple[Key, RequestedPartition]]:
        """Return the requested partitions. Duplicates keep their first position and last parameters."""
        requested: dict[Key, RequestedPartition] = {}
        for topic in self._request.topics:
            name, topic_id = (self._name_of(topic.topic_id), topic.topic_id) if self._by_id else (topic.topic, None)
            for partition in topic.partitions:
                leader_epoch, fetched_epoch = partition.current_leader_epoch, partition.last_fetched_epoch
                requested[name, topic_id, partition.partition] = RequestedPartition(
                    partition.fetch_offset,
                    partition.partition_max_bytes,
                    partition.log_start_offset,
                    leader_epoch if leader_epoch >= 0 else None,
                    fetched_epoch if fetched_epoch >= 0 else None,
                )
        return list(requested.items())

    def _forgotten(self) -> list[Key]:
        return [
            (self._name_of(topic.topic_id), topic.topic_id, index) if self._by_id else (topic.topic, None, index)
            for topic in self._request.forgotten_topics_data
            for index in topic.partitions
        ]

    def _name_of(self, topic_id: bytes) -> str:
        """Return the name of the topic with this id, or "" if it is unknown."""
        topic = self._context.metadata.topic_by_id(topic_id)
        return "" if topic is None else topic.name

    # Which partitions are read

    def select(self, error_of: ErrorOf | None, isolation: Isolation | None) -> None:
        """Find the partitions to read. Partitions for which `error_of` returns an error need not exist.

        If `isolation` is not None, quiet partitions are left out.
        """
        session = self.session
        if isolation is not None and isinstance(session, IncrementalContext) and len(session.known) <= MOST_PARTITIONS:
            self._known = session.known
            self._isolation = isolation
        refusal_of = self._refusal if self._context.authorizer is None else self._refusal_with_rights()
        for key, requested in self._not_quiet():
            refusal = refusal_of(key, error_of)
            if refusal is None:
                self.readable.append((key, requested))
            else:
                self.refused[key] = refusal
        if self._replica_id < 0:  # for consumers, Kafka puts unknown ids first; the sort is stable
            self.refused = dict(sorted(self.refused.items(), key=lambda one: one[1] != Code.UNKNOWN_TOPIC_ID))

    def to_read(self) -> list[tuple[Key, RequestedPartition]]:
        """Return the partitions to read after a wait, including quiet ones that have changed."""
        if self._known is not None:
            self.readable = self._not_quiet()
        return self.readable

    def waiting_for(self) -> Iterable[tuple[str, int]]:
        """Return the topics and indexes of the partitions that may end a wait."""
        waiting = self.session.requested if self._quiet else self.readable
        return ((name, index) for (name, topic_id, index), _ in waiting if (name, topic_id, index) not in self.refused)

    def _refusal(self, key: Key, error_of: ErrorOf | None) -> Code | None:
        """Return the error of a partition that does not exist, otherwise None."""
        name, topic_id, index = key
        if error_of is not None and error_of(name, index) is not None:
            return None
        if topic_id is not None and not name:
            return Code.UNKNOWN_TOPIC_ID
        if self._context.metadata.partition(name, index) is None:
            return Code.UNKNOWN_TOPIC_OR_PARTITION
        return None

    def _refusal_with_rights(self) -> Callable[[Key, ErrorOf | None], Code | None]:
        """Return a function that also refuses partitions that the client may not read."""
        context, follows = self._context, self._replica_id >= 0
        may_follow = follows and context.allows_on_cluster(Operation.CLUSTER_ACTION)

        def refusal(key: Key, error_of: ErrorOf | None) -> Code | None:
            name, topic_id, _ = key
            is_named = topic_id is None or bool(name)
            if not may_follow and (
                follows or (is_named and not context.allows(Operation.READ, ResourceType.TOPIC, name))
            ):
                return Code.TOPIC_AUTHORIZATION_FAILED
            return self._refusal(key, error_of)

        return refusal

    # Quiet partitions

    def _not_quiet(self) -> list[tuple[Key, RequestedPartition]]:
        """Find the quiet partitions, and return the others."""
        if self._known is None:
            return self.session.requested
        self._quiet.clear()
        return [
            (key, cached.requested)
            for key, cached in self._known
            if key not in self.refused and not self._is_quiet(key, cached)
        ]

    def _is_quiet(self, key: Key, cached: CachedPartition) -> bool:
        """Return whether a partition is quiet. If so, remember its state."""
        name, topic_id, index = key
        node = self._context.node
        partition = node.partitions.get((name, index))
        if partition is None or (topic_id is not None and topic_id != partition.topic_id):
            return False
        requested, state = cached.requested, partition.state
        if (
            (requested.current_leader_epoch is not None and requested.current_leader_epoch != state.leader_epoch)
            or requested.last_fetched_epoch is not None
            or (self._context.version < READS_FROM_FOLLOWERS_SINCE and state.leader != node.node_id)
        ):
            return False
        try:
            log = partition.log
            limit = log.limit(self._isolation)
        except (KafkaError, OSError):
            return False
        if (
            limit.offset != requested.fetch_offset
            or cached.high_watermark != log.high_watermark
            or cached.log_start_offset != log.log_start_offset
            or log.log_start_offset > limit.offset
            or log.failures.offline is not None
        ):
            return False
        self._quiet.append((key, partition, state.leader_epoch, limit, requested))
        return True

    def changed(self) -> list[tuple[Key, RequestedPartition, LogOffsetMetadata]]:
        """Return the partitions that are no longer quiet, with the positions of their readers."""
        if not self._quiet:
            return []
        partitions, isolation = self._context.node.partitions, self._isolation
        return [
            (key, requested, limit)
            for key, partition, leader_epoch, limit, requested in self._quiet
            if partition.state.leader_epoch != leader_epoch
            or partition.log.limit(isolation) is not limit
            or partition.log.failures.offline is not None
            or partitions.get((key[0], key[2])) is not partition
        ]
