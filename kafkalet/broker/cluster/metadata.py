"""What a cluster knows of itself: brokers, topics, partitions and their configuration.

Apache Kafka keeps this in the metadata log of its KRaft controller, and every broker replays it. Here the brokers of a
cluster live in one process and share one image, so that a change is seen by all of them at once. The image is plain
data: it decides nothing and touches no log (the cluster does).

A partition's `leader_epoch` goes up whenever its leader changes, `partition_epoch` with every change of it.
"""

import os
import re
from collections.abc import Collection, Container, Iterable, Iterator
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

NO_LEADER = -1
MAX_TOPIC_NAME = 249
ZERO_ID = bytes(16)
MOST_DELETED_TOPICS = 10_000
"""So many deleted topics are remembered, to tell groups that they are gone."""
MOST_ZOOKEEPER_OFFSETS = 50_000
"""So many offsets of OffsetCommit v0 are kept; then those that were committed longest ago go."""
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+\Z")


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION unless a topic may be called so (1 to 249 of a-z A-Z 0-9 . _ -; not . or ..).

    Source: org.apache.kafka.common.internals.Topic.validate.
    """
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = "'.' or '..' is not allowed"
    elif len(name) > MAX_TOPIC_NAME:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_TOPIC_NAME}"
    elif not _LEGAL_TOPIC_NAME.match(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def random_uuid() -> bytes:
    """A random (version 4) uuid as 16 bytes (java.util.UUID.randomUUID)."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    return bytes(drawn)


def new_topic_id() -> bytes:
    """A random uuid, never one of the reserved ids or one whose text form starts with '-'.

    Source: org.apache.kafka.common.Uuid.randomUuid.
    """
    while True:
        drawn = random_uuid()
        if drawn[0] >> 2 != 62:  # the sixty-third character of the URL-safe alphabet is '-'
            return drawn


QuotaEntity = frozenset[tuple[str, str | None]]
"""Whom a quota is for: types ("user", "client-id", "ip") with names, None for whoever has no quota of his own."""


class Endpoint(NamedTuple):
    """Where clients reach a broker."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class PartitionState:
    """Who leads a partition and who follows; -1 where nobody leads.

    While its replicas are moved, `replicas` holds the new ones and behind them those that are to go; `adding` and
    `removing` say which are new and which are to go.

    The state changes only through its methods; each change raises `partition_epoch` by one (PartitionChangeBuilder).
    """

    __slots__ = ("adding", "index", "isr", "leader", "leader_epoch", "partition_epoch", "removing", "replicas")

    def __init__(self, index: int, replicas: list[int], away: Container[int] = ()) -> None:
        """A new partition; of its replicas those `away` neither lead nor are in sync, unless there are no others."""
        self.index = index
        self.replicas = replicas
        self.isr = [node for node in replicas if node not in away] or list(replicas)
        self.leader = self.isr[0] if self.isr else NO_LEADER
        self.leader_epoch = 0
        self.partition_epoch = 0
        self.adding: list[int] = []
        self.removing: list[int] = []

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    def restore(
        self,
        *,
        leader: int,
        isr: list[int],
        leader_epoch: int,
        partition_epoch: int,
        adding: list[int],
        removing: list[int],
    ) -> None:
        """Be as an earlier run of the cluster has left the partition."""
        self.leader, self.isr = leader, isr
        self.leader_epoch, self.partition_epoch = leader_epoch, partition_epoch
        self.adding, self.removing = adding, removing

    def change_leader(self, leader: int, isr: list[int] | None = None) -> None:
        """Begin a new leader epoch under `leader` (NO_LEADER: nobody), with these in-sync replicas if they change."""
        self.leader = leader
        self.leader_epoch += 1
        if isr is not None:
            self.isr = isr
        self.partition_epoch += 1

    def change_isr(self, isr: list[int]) -> None:
        """Change the in-sync replicas under the same leader."""
        self.isr = isr
        self.partition_epoch += 1

    def begin_move(self, replicas: list[int]) -> None:
        """Let `replicas` hold the partition; those that hold it now and are not among them go when the move ends."""
        old = self.replicas
        self.removing = sorted(set(old) - set(replicas))
        self.adding = sorted(set(replicas) - set(old))
        self.replicas = replicas + self.removing
        self.partition_epoch += 1

    def end_move(self, isr: list[int], dropped: Collection[int], alive: Container[int]) -> None:
        """End a move, or take it back: the replicas that are `dropped` no longer hold the partition.

        That begins a new leader epoch; if the leader is dropped, the first replica leads that is in sync and alive.
        """
        self.replicas = [node for node in self.replicas if node not in dropped]
        self.isr, self.adding, self.removing = isr, [], []
        if dropped:
            if self.leader in dropped:
                self.leader = next((node for node in self.replicas if node in isr and node in alive), NO_LEADER)
            self.leader_epoch += 1
        self.partition_epoch += 1

    def note_leader_epoch(self, epoch: int) -> None:
        """Continue from an epoch that was found in a log, if it is later. That is no change of the partition."""
        self.leader_epoch = max(self.leader_epoch, epoch)


class TopicState:
    """A topic: its id, its partitions by index, and the properties that were set on it."""

    __slots__ = ("changed_in", "config", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[PartitionState], config: dict[str, str]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.config = config
        self.changed_in = 0
        """The version of the image in which the topic was made or changed last."""

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class MetadataImage:
    """The metadata of one cluster."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.endpoints: dict[int, Endpoint] = {}
        self.away: set[int] = set()  # brokers that were stopped and may come back
        self.topics: dict[str, TopicState] = {}
        self.broker_config: dict[int | None, dict[str, str]] = {}  # by node; None: the default of the whole cluster
        self.group_config: dict[str, dict[str, str]] = {}  # by group
        self.client_metrics: dict[str, dict[str, str]] = {}  # the subscriptions to metrics of clients, by name
        self.client_quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.feature_levels: dict[str, int] = {}  # those that were changed
        self.feature_changes = 0
        self.version = 1
        """Goes up with every change of topics or their partitions."""
        self.version_of_new_topics = 1
        """The version in which a topic was made last."""
        self._deleted_in: dict[str, int] = {}  # the version in which a topic was deleted, the oldest first
        self._forgotten_version = 0  # in which the last topic was deleted that is no longer in `_deleted_in`
        self._zookeeper_offsets: dict[tuple[str, str, int], int] = {}
        self._by_id: dict[bytes, TopicState] = {}

    @property
    def controller_id(self) -> int:
        """The broker that clients send administration to: the first one alive, -1 when none is."""
        return min(self.endpoints, default=-1)

    def endpoints_of(self, nodes: Iterable[int]) -> list[Endpoint]:
        """Where clients reach these brokers, those that are alive."""
        return [self.endpoints[node] for node in sorted(nodes) if node in self.endpoints]

    def topic_by_id(self, topic_id: bytes) -> TopicState | None:
        return self._by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionState | None:
        state = self.topics.get(topic)
        if state is None or not 0 <= index < len(state.partitions):
            return None
        return state.partitions[index]

    def existing_topic(self, name: str) -> TopicState:
        """The topic; KafkaError with UNKNOWN_TOPIC_OR_PARTITION and a text if it does not exist."""
        topic = self.topics.get(name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
        return topic

    def existing_partition(self, name: str, index: int) -> PartitionState:
        """The partition; KafkaError with UNKNOWN_TOPIC_OR_PARTITION and a text if it does not exist."""
        partitions = self.existing_topic(name).partitions
        if not 0 <= index < len(partitions):
            known = "0" if len(partitions) == 1 else f"0 to {len(partitions) - 1}"
            raise KafkaError(
                Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} has no partition {index}; it has partition {known}"
            )
        return partitions[index]

    def add_topic(self, topic: TopicState) -> None:
        self.topics[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._deleted_in.pop(topic.name, None)
        self.topic_changed(topic.name)
        self.version_of_new_topics = self.version

    def remove_topic(self, name: str) -> TopicState:
        topic = self.topics.pop(name)
        del self._by_id[topic.topic_id]
        self.version += 1
        self._deleted_in.pop(name, None)
        self._deleted_in[name] = self.version
        if len(self._deleted_in) > MOST_DELETED_TOPICS:
            oldest = next(iter(self._deleted_in))
            self._forgotten_version = self._deleted_in.pop(oldest)
        return topic

    def topic_changed(self, name: str) -> None:
        """A topic or its partitions are not what they were."""
        self.version += 1
        self.topics[name].changed_in = self.version

    def may_have_changed(self, name: str, since: int) -> bool:
        """Whether a topic was made, changed or deleted after version `since`.

        Also True, needlessly, for a topic that does not exist if it may be among those whose deletion is forgotten.
        """
        topic = self.topics.get(name)
        changed_in = self._deleted_in.get(name, self._forgotten_version) if topic is None else topic.changed_in
        return changed_in > since

    def keep_zookeeper_offset(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        """Keep an offset of OffsetCommit v0. ZooKeeper keeps all of them for ever; here the latest are kept."""
        kept = self._zookeeper_offsets
        kept.pop((group_id, topic, partition), None)
        kept[group_id, topic, partition] = offset
        if len(kept) > MOST_ZOOKEEPER_OFFSETS:
            del kept[next(iter(kept))]

    def zookeeper_offset(self, group_id: str, topic: str, partition: int) -> int | None:
        """The offset that OffsetCommit v0 has kept."""
        return self._zookeeper_offsets.get((group_id, topic, partition))

    def collides_with(self, name: str) -> str | None:
        """An existing topic whose metric name would be the same: '.' and '_' count as one character there."""
        flat = name.replace(".", "_")
        return next((other for other in self.topics if other.replace(".", "_") == flat and other != name), None)

    def all_partitions(self) -> Iterator[tuple[TopicState, PartitionState]]:
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition


def spread(
    partitions: int, replication_factor: int, nodes: Iterable[int], first_index: int = 0, away: Collection[int] = ()
) -> list[list[int]]:
    """Replica lists for new partitions, so that leaders and followers are spread over `nodes` in turn.

    Nodes that are `away` are taken where there are too few others. INVALID_REPLICATION_FACTOR when there are fewer
    nodes than replicas, or none that is not away. The first replica leads.
    """
    ring, rest = sorted(nodes), sorted(away)
    if not ring or not 0 < replication_factor <= len(ring) + len(rest):
        raise KafkaError(
            Code.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(ring) + len(rest)} broker(s) are registered.",
        )
    here = min(replication_factor, len(ring))
    return [
        [ring[(index + step) % len(ring)] for step in range(here)]
        + [rest[(index + step) % len(rest)] for step in range(replication_factor - here)]
        for index in range(first_index, first_index + partitions)
    ]
