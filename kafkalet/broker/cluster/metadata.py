"""The metadata image of a cluster: brokers, topics, partitions and their configuration.

Apache Kafka stores the metadata in the log of its KRaft controller, and every broker replays it. Here the brokers of a
cluster run in one process and share one image, so all of them see a change at the same time. The image only holds data;
it makes no decisions and does not access logs (the controller does).

The `leader_epoch` of a partition is incremented when its leader changes; its `partition_epoch` is incremented with
every change of the partition.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.broker.security.acl import Acls
from kafkalet.protocol.errors import Code, KafkaError

from .revision import DETACHED, Noting, Revision

if TYPE_CHECKING:  # imported only if there are quotas, credentials or tokens
    from kafkalet.broker.quotas.entities import QuotaEntity
    from kafkalet.broker.security.delegation_tokens import DelegationToken
    from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism

NO_LEADER = -1
MAX_TOPIC_NAME = 249
ZERO_ID = bytes(16)
MOST_DELETED_TOPICS = 10_000
"""How many deleted topics are remembered. Groups need these to detect that a topic was deleted."""
MOST_ZOOKEEPER_OFFSETS = 50_000
"""How many OffsetCommit v0 offsets are kept. If there are more, the oldest are dropped."""
NO_SEGMENT = ("", 0)
"""The value for a metadata log that has no segment, because it does not exist or consists only of a snapshot."""
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+\Z")


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION unless the name is valid.

    A valid name consists of 1 to 249 of the characters a-z A-Z 0-9 . _ - and is neither "." nor "..".

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
    """Return a random (version 4) UUID as 16 bytes (java.util.UUID.randomUUID)."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    return bytes(drawn)


def new_topic_id() -> bytes:
    """Return a random UUID that is not reserved and whose text form does not start with '-'.

    Source: org.apache.kafka.common.Uuid.randomUuid.
    """
    while True:
        drawn = random_uuid()
        if drawn[0] >> 2 != 62:  # the character with value 62 in URL-safe base64 is '-'
            return drawn


class Endpoint(NamedTuple):
    """The addresses at which clients reach a broker."""

    node_id: int
    host: str  # of the first listener
    port: int
    rack: str | None = None
    listeners: Mapping[str, tuple[str, int]] | None = None
    """The host and port of each listener, keyed by its name. None if the broker has only one listener."""

    def at(self, listener: str) -> Endpoint | None:
        """Return the endpoint with the address of a listener, or None if the broker does not advertise it."""
        if self.listeners is None:
            return self
        address = self.listeners.get(listener)
        return None if address is None else self._replace(host=address[0], port=address[1])


class PartitionState:
    """The replicas and the leader of a partition. The leader is -1 if the partition has none.

    During a reassignment, `replicas` contains the new replicas followed by the old ones. `adding` and `removing` list
    those that are being added and removed.

    `elr` are the eligible leader replicas (KIP-966): they left the ISR while it was smaller than min.insync.replicas,
    but have all records below the high watermark, so one of them can lead if the ISR is empty. `last_known_elr`
    contains the last leader while there is none.

    The state changes only through its methods. Each change increments `partition_epoch` (PartitionChangeBuilder) and
    advances the revision (revision.py).
    """

    __slots__ = (
        *("adding", "elr", "high_watermark_limit", "index", "isr", "last_known_elr", "leader", "leader_epoch"),
        *("partition_epoch", "removing", "replicas", "revision"),
    )

    def __init__(
        self, index: int, replicas: list[int], away: Container[int] = (), revision: Revision = DETACHED
    ) -> None:
        """Create a new partition. `revision` is the revision of the cluster; add_topic also sets it.

        If there are other replicas, those on brokers that are `away` are not in sync and cannot lead.
        """
        self.index = index
        self.replicas = replicas
        self.revision = revision
        self.isr = [node for node in replicas if node not in away] or list(replicas)
        self.elr: list[int] = []
        self.last_known_elr: list[int] = []
        self.leader = self.isr[0] if self.isr else NO_LEADER
        self.leader_epoch = 0
        self.partition_epoch = 0
        self.adding: list[int] = []
        self.removing: list[int] = []
        self.high_watermark_limit: int | None = None
        """A limit set by a test: the high watermark does not advance above it, whichever replica leads. Not saved."""

    @property
    def may_lead(self) -> list[int]:
        """The replicas that can be elected without `unclean.leader.election.enable`."""
        return self.isr or self.elr or self.last_known_elr

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
        elr: Sequence[int] = (),
        last_known_elr: Sequence[int] = (),
    ) -> None:
        """Restore the state that was saved in an earlier run of the cluster."""
        self.leader, self.isr = leader, isr
        self.elr, self.last_known_elr = list(elr), list(last_known_elr)
        self.leader_epoch, self.partition_epoch = leader_epoch, partition_epoch
        self.adding, self.removing = adding, removing
        self.revision.advance()

    def change_leader(self, leader: int, isr: list[int] | None = None, elr: Sequence[int] = ()) -> None:
        """Start a new leader epoch with this leader, or NO_LEADER.

        The in-sync replicas and the eligible leader replicas stay the same unless `isr` is given.
        """
        self.leader = leader
        self.leader_epoch += 1
        if isr is not None:
            self.isr, self.elr = isr, list(elr)
        if leader != NO_LEADER:
            self.last_known_elr = []
        self.partition_epoch += 1
        self.revision.advance()

    def change_isr(self, isr: list[int], elr: Sequence[int] = ()) -> None:
        """Change the in-sync replicas and the eligible leader replicas. The leader stays the same."""
        self.isr, self.elr = isr, list(elr)
        self.partition_epoch += 1
        self.revision.advance()

    def begin_move(self, replicas: list[int]) -> None:
        """Start a reassignment to `replicas`. Current replicas that are not in this list are removed when it ends.

        If another reassignment is in progress, its replicas count as current. Its lists of added and removed replicas
        remain, unless the new reassignment has its own (ReplicationControlManager.changePartitionReassignment).
        """
        removing = sorted(set(self.replicas) - set(replicas))
        adding = sorted(set(replicas) - set(self.replicas))
        self.replicas = replicas + removing
        self.removing = removing or self.removing
        self.adding = adding or self.adding
        self.partition_epoch += 1
        self.revision.advance()

    def end_move(self, isr: list[int], dropped: Collection[int], alive: Container[int]) -> None:
        """Complete or cancel a reassignment by removing the `dropped` replicas, which starts a new leader epoch.

        If the leader is removed, the first replica that is in sync and alive becomes leader.
        """
        self.replicas = [node for node in self.replicas if node not in dropped]
        self.isr, self.adding, self.removing = isr, [], []
        self.elr = [node for node in self.elr if node in self.replicas and node not in isr]
        if dropped:
            if self.leader in dropped:
                self.leader = next((node for node in self.replicas if node in isr and node in alive), NO_LEADER)
            self.leader_epoch += 1
        self.partition_epoch += 1
        self.revision.advance()

    def note_leader_epoch(self, epoch: int) -> None:
        """Adopt a later leader epoch that was found in a log. The partition does not count as changed."""
        self.leader_epoch = max(self.leader_epoch, epoch)
        self.revision.advance()


class TopicState:
    """A topic: its id, its partitions by index, and its configuration overrides."""

    __slots__ = ("changed_in", "config", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[PartitionState], config: dict[str, str]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.config = config
        self.changed_in = 0
        """The version of the image in which the topic was created or last changed."""

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class MetadataImage:
    """The metadata of a cluster."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.revision = Revision()
        self.endpoints: dict[int, Endpoint] = Noting(self.revision)
        """The brokers whose sessions have not ended.

        After UnregisterBroker, a broker is neither here nor in `away` until it is started again.
        """
        self.away: dict[int, Endpoint] = {}
        """The stopped brokers, which Kafka calls fenced."""
        self.unresponsive: set[int] = set()
        """The brokers that serve no clients at the moment, although their sessions may not have ended."""
        self.cordoned: set[int] = set()
        """The brokers that receive no new replicas, because all their log directories are cordoned (KIP-1066)."""
        self.topics: dict[str, TopicState] = {}
        self.broker_config: dict[int | None, dict[str, str]] = {}  # by node id; None: the cluster-wide default
        self.group_config: dict[str, dict[str, str]] = {}  # by group
        self.client_metrics: dict[str, dict[str, str]] = {}  # client metrics subscriptions, by name
        self.client_quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.acls = Acls()
        self.scram_credentials: dict[tuple[str, ScramMechanism], ScramCredential] = {}  # by user and mechanism
        self.delegation_tokens: dict[str, DelegationToken] = {}  # by token id
        self.feature_levels: dict[str, int] = {}  # only features whose level has been changed
        self.feature_changes = 0
        self.metadata_log: tuple[str, int] | None = NO_SEGMENT
        """The last segment of the Apache Kafka metadata log that is included in this image, and its size.

        None for an image that was saved before this was recorded.
        """
        self.version = 1
        """Incremented whenever a topic or one of its partitions changes."""
        self.version_of_new_topics = 1
        """The version in which the most recent topic was created."""
        self._deleted_in: dict[str, int] = {}  # the version in which each topic was deleted, oldest first
        # the deletion version of the topic that was dropped most recently from `_deleted_in`
        self._forgotten_version = 0
        self._zookeeper_offsets: dict[tuple[str, str, int], int] = {}
        self._by_id: dict[bytes, TopicState] = {}
        self._by_metric: dict[str, list[str]] = {}
        """The topics whose names contain '.' or '_', in order of their creation, keyed by their names in metrics."""

    def copy(self) -> MetadataImage:
        """Return an image that does not follow the changes of this one."""
        return deepcopy(self, {id(self.revision): self.revision})

    @property
    def controller_id(self) -> int:
        """The running broker with the lowest id, to which clients send admin requests; -1 if none is running."""
        return min(self.endpoints.keys() - self.unresponsive, default=-1)

    @property
    def may_contain_secrets(self) -> bool:
        """Whether a file with this metadata must be readable only by its owner. Broker properties may be passwords."""
        return bool(self.scram_credentials or self.delegation_tokens or any(self.broker_config.values()))

    @property
    def racks(self) -> dict[int, str | None]:
        """The rack of each broker that is running."""
        return {node: endpoint.rack for node, endpoint in self.endpoints.items()}

    def endpoints_at(self, listener: str, nodes: Iterable[int] | None = None) -> dict[int, Endpoint]:
        """Return the addresses of running brokers, or of those in `nodes`, at a listener. They are keyed by broker id.

        Brokers that do not advertise the listener are left out.
        """
        known = self.endpoints
        wanted = known if nodes is None else [node for node in sorted(nodes) if node in known]
        return {node: found for node in wanted if (found := known[node].at(listener)) is not None}

    def fenced_at(self, listener: str) -> dict[int, Endpoint]:
        """Return the addresses of stopped brokers at a listener, keyed by broker id."""
        return {node: found for node, known in self.away.items() if (found := known.at(listener)) is not None}

    def topic_by_id(self, topic_id: bytes) -> TopicState | None:
        return self._by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionState | None:
        state = self.topics.get(topic)
        if state is None or not 0 <= index < len(state.partitions):
            return None
        return state.partitions[index]

    def existing_topic(self, name: str) -> TopicState:
        """Return a topic. Raises UNKNOWN_TOPIC_OR_PARTITION with a message if it does not exist."""
        topic = self.topics.get(name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
        return topic

    def existing_partition(self, name: str, index: int) -> PartitionState:
        """Return a partition. Raises UNKNOWN_TOPIC_OR_PARTITION with a message if it does not exist."""
        partitions = self.existing_topic(name).partitions
        if not 0 <= index < len(partitions):
            known = "0" if len(partitions) == 1 else f"0 to {len(partitions) - 1}"
            raise KafkaError(
                Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} has no partition {index}; it has partition {known}"
            )
        return partitions[index]

    def add_topic(self, topic: TopicState) -> None:
        for state in topic.partitions:
            state.revision = self.revision
        self.topics[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        if "_" in (metric := _metric_name(topic.name)):
            self._by_metric.setdefault(metric, []).append(topic.name)
        self._deleted_in.pop(topic.name, None)
        self.topic_changed(topic.name)
        self.version_of_new_topics = self.version

    def remove_topic(self, name: str) -> TopicState:
        topic = self.topics.pop(name)
        del self._by_id[topic.topic_id]
        if "_" in (metric := _metric_name(name)):
            self._by_metric[metric].remove(name)
            if not self._by_metric[metric]:
                del self._by_metric[metric]
        self.version += 1
        self.revision.advance()
        self._deleted_in.pop(name, None)
        self._deleted_in[name] = self.version
        if len(self._deleted_in) > MOST_DELETED_TOPICS:
            oldest = next(iter(self._deleted_in))
            self._forgotten_version = self._deleted_in.pop(oldest)
        return topic

    def topic_changed(self, name: str) -> None:
        """Record that a topic or one of its partitions has changed."""
        self.version += 1
        self.topics[name].changed_in = self.version
        self.revision.advance()

    def may_have_changed(self, name: str, since: int) -> bool:
        """Return whether a topic was created, changed or deleted after version `since`.

        The result can also be True if the topic does not exist, because only the latest deletions are remembered.
        """
        topic = self.topics.get(name)
        changed_in = self._deleted_in.get(name, self._forgotten_version) if topic is None else topic.changed_in
        return changed_in > since

    def keep_zookeeper_offset(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        """Store an offset committed by OffsetCommit v0. Unlike ZooKeeper, this keeps only the most recent ones."""
        kept = self._zookeeper_offsets
        kept.pop((group_id, topic, partition), None)
        kept[group_id, topic, partition] = offset
        if len(kept) > MOST_ZOOKEEPER_OFFSETS:
            del kept[next(iter(kept))]

    def zookeeper_offset(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the offset committed by OffsetCommit v0, or None."""
        return self._zookeeper_offsets.get((group_id, topic, partition))

    def collides_with(self, name: str) -> str | None:
        """Return an existing topic whose metrics would have the same name, because '.' and '_' are equivalent there."""
        return next((other for other in self._by_metric.get(_metric_name(name), ()) if other != name), None)

    def all_partitions(self) -> Iterator[tuple[TopicState, PartitionState]]:
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition


def _metric_name(topic: str) -> str:
    return topic.replace(".", "_")


def place(partitions: int, replication_factor: int, metadata: MetadataImage, first_index: int = 0) -> list[list[int]]:
    """Return the replicas of new partitions, on brokers with a log directory that is not cordoned; see `spread`."""
    racks = {node: rack for node, rack in metadata.racks.items() if node not in metadata.cordoned}
    return spread(partitions, replication_factor, racks, first_index, metadata.away.keys() - metadata.cordoned)


def spread(
    partitions: int,
    replication_factor: int,
    racks: Mapping[int, str | None],
    first_index: int = 0,
    away: Collection[int] = (),
) -> list[list[int]]:
    """Return the replicas of new partitions. The first replica is the leader.

    `racks` has the rack of each node. Leaders and replicas are distributed round-robin over the racks, and over the
    nodes of each rack (StripedReplicaPlacer, which begins with a random node). Nodes that are `away` are used only if
    there are not enough others. Raises INVALID_REPLICATION_FACTOR if there are fewer nodes than replicas, or if all
    nodes are away.
    """
    ring, rest = sorted(racks), sorted(away)
    if not ring or not 0 < replication_factor <= len(ring) + len(rest):
        raise KafkaError(
            Code.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(ring) + len(rest)} broker(s) are registered.",
        )
    here = min(replication_factor, len(ring))
    by_rack = [[node for node in ring if racks[node] == rack] for rack in sorted({*racks.values()}, key=str)]

    def striped(index: int) -> Iterator[int]:
        lap, first = divmod(index, len(by_rack))
        turned = [nodes[lap % len(nodes) :] + nodes[: lap % len(nodes)] for nodes in by_rack]
        stripes = zip_longest(*turned[first:], *turned[:first])
        return (node for stripe in stripes for node in stripe if node is not None)

    return [
        [*islice(striped(index), here)]
        + [rest[(index + step) % len(rest)] for step in range(replication_factor - here)]
        for index in range(first_index, first_index + partitions)
    ]
