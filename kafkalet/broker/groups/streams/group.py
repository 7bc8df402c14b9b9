"""A streams group, as maintained by its coordinator (KIP-1071).

    Empty ── member joins ──> NotReady ── all topics exist ──> Assigning ── target ──> Reconciling ──> Stable

The first member defines the topology of the group. The group stays NotReady as long as topics of the topology are
missing or have the wrong number of partitions; the broker creates internal topics.

What members report, such as the offsets of the tasks on their disks, is not written to the log. As in Kafka, the first
heartbeat of a new group leaves none of it behind (`is_new`).

Source: org.apache.kafka.coordinator.group.streams.StreamsGroup.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.group import GroupType, PartitionCheck
from kafkalet.broker.groups.modern.group import CommittingGroup, group_of, lists_protocol
from kafkalet.broker.groups.modern.members import LEAVING
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages import streams_group_metadata as messages
from kafkalet.protocol.messages import streams_group_structs as structs
from kafkalet.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse
from kafkalet.protocol.schema import Message

from . import records
from .members import Endpoint, MemberState, StreamsMember, StreamsMembers, Tasks, TaskSet, tasks_of
from .topology import Configured, InternalTopic, Topology

FIRST_WITH_MEMBER_EPOCHS = 9
STANDBY_REPLICAS, RACK_TAGS = "num.standby.replicas", "rack.aware.assignment.tags"
"""The configuration of the assignor, as the group stores it."""
DEFAULT_ASSIGNOR = "sticky"

Offsets = Mapping[str, Mapping[int, int]]
"""Offsets of tasks, by subtopology and partition: the sums over the partitions of all changelogs."""
_NO_OFFSETS: Offsets = {}

Described = StreamsGroupDescribeResponse.Group


class TaskOffsets(NamedTuple):
    """The offsets of the tasks on the disk of a member, and the end offsets of their changelogs."""

    offsets: Offsets = _NO_OFFSETS
    end_offsets: Offsets = _NO_OFFSETS


class StreamsGroup(CommittingGroup[StreamsMember]):
    """A streams group."""

    type = GroupType.STREAMS
    protocol_type = "streams"
    record_types = records.KEYS
    expires = True

    def __init__(self, shard: Shard, group_id: str) -> None:
        super().__init__(shard, group_id)
        self.group_epoch = 1  # in every release; before 4.3, the assignment epoch is 0
        self.members: StreamsMembers = StreamsMembers()
        self.target: dict[str, Tasks] = {}
        self.topology: Topology | None = None
        self.validated_topology_epoch = -1
        """The epoch of the topology whose topics exist."""
        self.assignment_configs: dict[str, str] = {}
        """The configuration of the assignor when the group epoch was last incremented."""
        self.configured: Configured | None = None
        self.task_offsets: dict[str, TaskOffsets] = {}
        self.shutdown_requested_by: str | None = None
        self.endpoint_epoch = 0
        """Incremented when the endpoint of a member changes, or the tasks of a member with an endpoint."""
        self.handed_out: tuple[int, dict[str, Tasks]] = -1, {}
        """An assignment epoch, and the target assignment that members get in it."""

    @property
    def is_new(self) -> bool:
        """Whether the group is not one of the shard's groups yet."""
        return self.shard.groups.get(self.group_id) is not self._this

    @property
    def state(self) -> str:
        if self.is_empty:
            return "Empty"
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return "NotReady"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    @property
    def subscribed_topics(self) -> Collection[str]:
        return () if self.topology is None else self.topology.required

    # The Group interface

    def is_subscribed_to(self, topic: str) -> bool:
        return not self.is_empty and self.topology is not None and topic in self.topology.sources

    def check_commit(
        self, member_id: str, instance_id: str | None, epoch: int, version: int, *, transactional: bool
    ) -> PartitionCheck | None:
        if (epoch < 0 and self.is_empty) or (transactional and (member_id, instance_id, epoch) == ("", None, -1)):
            return None
        member = self.member(member_id)
        if not transactional and version < FIRST_WITH_MEMBER_EPOCHS:
            raise KafkaError(
                Code.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the streams group protocol",
            )
        if epoch == member.member_epoch:
            return None
        if epoch > member.member_epoch:
            raise _stale(f"Received member epoch {epoch} is newer than current member epoch {member.member_epoch}.")
        return self._commit_check(member, epoch)

    def _commit_check(self, member: StreamsMember, epoch: int) -> PartitionCheck:
        """Return a check that lets a member commit offsets of tasks that it was assigned in this epoch or earlier."""
        topology = self.topology
        if topology is None:
            raise _stale("Topology is not available for offset commit validation.")

        def check(topic: str, _: bytes, partition: int) -> None:
            subtopology = topology.sources.get(topic)
            if subtopology is None:
                raise _stale(f"Topic {topic} is not in the topology.")
            name = subtopology.subtopology_id
            since = member.assigned.active.get(name, {}).get(partition)
            if since is None:
                since = member.pending_revocation.active.get(name, {}).get(partition)
            if since is None:
                raise _stale(f"Task {name}-{partition} is not assigned or pending revocation for member.")
            if epoch < since:
                raise _stale(
                    f"Received member epoch {epoch} is older than assignment epoch {since} for task {name}-{partition}."
                )

        return check

    def check_fetch_of(self, member: StreamsMember, epoch: int) -> None:
        if epoch != (expected := member.member_epoch):
            raise _stale(f"The received member epoch {epoch} does not match the expected member epoch {expected}.")

    def tombstones(self) -> list[StateRecord]:
        return [*map(self.encoded, records.without_group(self.group_id, self.members.in_order()))]

    # Configuration: taken from the group (resource type GROUP) if set there, otherwise from the broker

    @property
    def session_timeout_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("streams.session.timeout.ms", config.group_streams_session_timeout_ms)

    @property
    def heartbeat_interval_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("streams.heartbeat.interval.ms", config.group_streams_heartbeat_interval_ms)

    @property
    def assignment_interval_ms(self) -> int:
        node = self.shard.node
        if not node.release.keeps_assignment_epochs:
            return 0
        return self.own_number("streams.assignment.interval.ms", node.config.group_streams_assignment_interval_ms)

    @property
    def initial_rebalance_delay_ms(self) -> int:
        config = self.shard.node.config
        return self.own_number("streams.initial.rebalance.delay.ms", config.group_streams_initial_rebalance_delay_ms)

    def current_configs(self) -> dict[str, str]:
        """Return the configuration of the assignor."""
        config = self.shard.node.config
        replicas = self.own_number("streams.num.standby.replicas", config.group_streams_num_standby_replicas)
        own = self.shard.node.metadata.group_config.get(self.group_id) or {}
        tags = own.get("streams.rack.aware.assignment.tags")
        if tags is None:
            tags = config.given().get("group.streams.rack.aware.assignment.tags", "")
        configs = {STANDBY_REPLICAS: str(replicas)}
        if words := [tag.strip() for tag in tags.split(",") if tag.strip()]:
            configs[RACK_TAGS] = ",".join(words)
        return configs

    @property
    def assignor(self) -> str:
        own = self.shard.node.metadata.group_config.get(self.group_id) or {}
        return own.get("streams.assignor.name", DEFAULT_ASSIGNOR)

    # Records

    def enter_epoch(self, epoch: int, names: Iterable[str]) -> list[Change]:
        """Return the record of a new group epoch. The topology needs these topics."""
        return [self.epoch_record(epoch, self.hash_of(names))]

    def epoch_record(self, epoch: int, metadata_hash: int | None = None) -> Change:
        """Return the record of a new group epoch, in which nothing else but the metadata hash has changed."""
        hashed = self.metadata_hash if metadata_hash is None else metadata_hash
        return records.group_epoch(self.group_id, epoch, hashed, self.validated_topology_epoch, self.assignment_configs)

    def replay(self, change: Change) -> None:
        key, value = change
        match key:
            case messages.StreamsGroupMemberMetadataKey():
                self._replay_member(key.member_id, value)
            case messages.StreamsGroupMetadataKey():
                self._replay_epoch(value)
            case messages.StreamsGroupTopologyKey():
                self.topology = Topology(value) if isinstance(value, messages.StreamsGroupTopologyValue) else None
            case messages.StreamsGroupTargetAssignmentMetadataKey():
                self.replay_target_epoch(
                    value if isinstance(value, messages.StreamsGroupTargetAssignmentMetadataValue) else None
                )
            case messages.StreamsGroupTargetAssignmentMemberKey():
                self._replay_target(key.member_id, value)
            case messages.StreamsGroupCurrentMemberAssignmentKey():
                self._replay_current(key.member_id, value)

    def _replay_epoch(self, value: Message | None) -> None:
        if not isinstance(value, messages.StreamsGroupMetadataValue):
            self.replay_end()
            return
        self.group_epoch, self.metadata_hash = value.epoch, value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = {config.key: config.value for config in value.last_assignment_configs or ()}

    def _replay_member(self, member_id: str, value: Message | None) -> None:
        if not isinstance(value, messages.StreamsGroupMemberMetadataValue):
            self.members.remove(member_id)
            self.task_offsets.pop(member_id, None)
            if self.is_empty:
                self.shutdown_requested_by = None
            return
        endpoint = value.user_endpoint
        before = self.members.get(member_id) or StreamsMember(member_id)
        self.members.update(
            before._replace(
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                topology_epoch=value.topology_epoch,
                process_id=value.process_id,
                user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
                client_tags={tag.key: tag.value for tag in value.client_tags},
            )
        )

    def _replay_target(self, member_id: str, value: Message | None) -> None:
        if isinstance(value, messages.StreamsGroupTargetAssignmentMemberValue):
            self.target[member_id] = tasks_of(value.active_tasks, value.standby_tasks, value.warmup_tasks)
        else:
            self.target.pop(member_id, None)

    def _replay_current(self, member_id: str, value: Message | None) -> None:
        before = self.members.get(member_id)
        if isinstance(value, messages.StreamsGroupCurrentMemberAssignmentValue):
            assigned = tasks_of((), value.standby_tasks, value.warmup_tasks)
            pending = tasks_of((), value.standby_tasks_pending_revocation, value.warmup_tasks_pending_revocation)
            active, revoked, epoch = value.active_tasks, value.active_tasks_pending_revocation, value.member_epoch
            self.members.update(
                (before or StreamsMember(member_id))._replace(
                    member_epoch=epoch,
                    previous_member_epoch=value.previous_member_epoch,
                    state=MemberState(value.state) if value.state in {*MemberState} else MemberState.UNKNOWN,
                    assigned=assigned._replace(active=records.owned_tasks(active, epoch)),
                    pending_revocation=pending._replace(active=records.owned_tasks(revoked, epoch)),
                )
            )
        elif before is not None:
            self.members.update(
                before._replace(
                    member_epoch=LEAVING, previous_member_epoch=LEAVING, assigned=Tasks(), pending_revocation=Tasks()
                )
            )

    # StreamsGroupDescribe

    def described(self) -> Described:
        """Return the group as described by StreamsGroupDescribe (StreamsGroup.asDescribedGroup)."""
        return Described(
            group_id=self.group_id,
            group_state=self.state,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            topology=self._described_topology(),
            members=[self._described_member(self.member(member_id)) for member_id in self.members.in_order()],
            assignor_name=self.assignor,
        )

    def _described_topology(self) -> Described.Topology:
        if self.topology is None:  # Kafka fails here
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        configured = self.configured
        subtopology = Described.Topology.Subtopology
        if configured is not None and configured.is_ready and configured.subtopologies is not None:
            subtopologies = [
                subtopology(
                    subtopology_id=name,
                    source_topics=sorted(set(of.sources)),
                    repartition_sink_topics=sorted(set(of.repartition_sinks)),
                    state_changelog_topics=_described_topics(of.changelogs),
                    repartition_source_topics=_described_topics(of.repartition_sources),
                )
                for name, of in configured.subtopologies.items()
            ]
        else:
            subtopologies = [
                subtopology(
                    subtopology_id=name,
                    source_topics=sorted(of.source_topics),
                    repartition_sink_topics=sorted(of.repartition_sink_topics),
                    state_changelog_topics=_described_topics(map(_declared, of.state_changelog_topics)),
                    repartition_source_topics=_described_topics(map(_declared, of.repartition_source_topics)),
                )
                for name, of in sorted(self.topology.subtopologies.items())
            ]
        return Described.Topology(epoch=self.topology.epoch, subtopologies=subtopologies)

    def _described_member(self, member: StreamsMember) -> Described.Member:
        endpoint = member.user_endpoint
        offsets = self.task_offsets.get(member.member_id, TaskOffsets())
        return Described.Member(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None if endpoint is None else structs.Endpoint(host=endpoint.host, port=endpoint.port),
            client_tags=[structs.KeyValue(key=key, value=value) for key, value in member.client_tags.items()],
            task_offsets=_described_offsets(offsets.offsets),
            task_end_offsets=_described_offsets(offsets.end_offsets),
            assignment=_described_tasks(member.assigned),
            target_assignment=_described_tasks(self.target.get(member.member_id, Tasks())),
            is_classic=False,
        )


def _stale(message: str) -> KafkaError:
    return KafkaError(Code.STALE_MEMBER_EPOCH, message)


def _declared(topic: structs.TopicInfo) -> InternalTopic:
    config = {each.key: each.value for each in topic.topic_configs}
    return InternalTopic(topic.name, topic.partitions, topic.replication_factor, config)


def _described_topics(topics: Iterable[InternalTopic]) -> list[structs.TopicInfo]:
    return [
        structs.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[structs.KeyValue(key=key, value=value) for key, value in topic.config.items()],
        )
        for topic in sorted(topics)
    ]


def _described_offsets(offsets: Offsets) -> list[structs.TaskOffset]:
    return [
        structs.TaskOffset(subtopology_id=name, partition=partition, offset=offsets[name][partition])
        for name in sorted(offsets)
        for partition in sorted(offsets[name])
    ]


def _described_tasks(tasks: Tasks) -> Described.Member.Assignment:
    def ids(kind: TaskSet) -> list[structs.TaskIds]:
        return [structs.TaskIds(subtopology_id=name, partitions=sorted(kind[name])) for name in sorted(kind)]

    return Described.Member.Assignment(
        active_tasks=ids(tasks.active), standby_tasks=ids(tasks.standby), warmup_tasks=ids(tasks.warmup)
    )


# The streams groups of a shard


def group_to_join(shard: Shard, group_id: str) -> tuple[StreamsGroup, list[StateRecord]]:
    """Return the streams group that a member joins, which becomes a group of the shard with its first record.

    It may replace an empty classic group. Also returns the records that delete that group. Raises GROUP_ID_NOT_FOUND if
    the id is that of another group.
    """
    group = shard.groups.get(group_id)
    if isinstance(group, ClassicGroup) and group.is_empty:
        return StreamsGroup(shard, group_id), group.tombstones()
    return group_of(StreamsGroup, group or StreamsGroup(shard, group_id), group_id), []


def runs_streams_groups(node: Node) -> bool:
    """Return whether streams groups are enabled.

    This depends on `group.coordinator.rebalance.protocols` and on the feature `streams.version`.
    """
    return lists_protocol(node, "streams", default=True) and node.feature_level("streams.version") >= 1
