"""The groups of the test kit: what consumer groups and share groups have in common, and consumer groups.

orders = kafka.group("orders")
orders.wait_for_lag(0)                     all records are processed and committed
orders.evict(member_id)                    a session times out
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeVar, overload

from kafkalet.broker import arguments
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.units import counted

from .clients import MOST_LINES, limited
from .lag import PartitionLag, Place, UnknownLag, group_lag
from .reading import offset_at, partitions_shown
from .record import Time, milliseconds
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.cluster.metadata import MetadataImage
    from kafkalet.broker.groups.group import Group as BrokerGroup
    from kafkalet.broker.groups.group import Member as BrokerMember
    from kafkalet.broker.groups.shard import Shard
    from kafkalet.embedded import EmbeddedCluster
    from kafkalet.tasks.delayed import Delayed

    from .share_records import SharePlace

T = TypeVar("T")

Failures = dict[tuple[bytes, int], KafkaError]
"""The errors of partitions, by topic id and index."""

CONSUMER_OFFSETS = "__consumer_offsets"
DEAD = "Dead"
LATEST, EARLIEST = -1, -2
"""Special timestamps of ListOffsets."""
HEARTBEAT_HINTS = {
    "consumer": "  members of a consumer group notice a change with their next heartbeat, by default within 5 s; for "
    "shorter waits, set group.consumer.heartbeat.interval.ms and group.consumer.min.heartbeat.interval.ms in the "
    "config of the broker",
    "share": "  members of a share group get partitions with their next heartbeats, by default within 5 s; for shorter "
    "waits, set group.share.heartbeat.interval.ms in the config of the broker",
}
"""By protocol: why the members may not have their partitions yet."""


class Member(NamedTuple):
    """A member of a group."""

    member_id: str
    client_id: str
    host: str
    """The address of the client, such as "127.0.0.1"."""
    instance_id: str | None
    """The `group.instance.id` of a static member, otherwise None."""
    assignment: frozenset[Place]
    """The partitions that the member may read, as (topic, partition)."""


class ShareMember(NamedTuple):
    """A member of a share group."""

    member_id: str
    client_id: str
    host: str
    """The address of the client, such as "127.0.0.1"."""
    rack_id: str | None
    topics: frozenset[str]
    """The topics to which the member subscribes."""
    assignment: frozenset[Place]
    """The partitions that the member may read, as (topic, partition). Several members may have the same ones."""


class Seen(NamedTuple):
    """A group at one moment."""

    state: str
    protocol: str
    """`classic`, `consumer` or `share`; empty if the group does not exist."""
    members: Sequence[Member | ShareMember]
    positions: Sequence[PartitionLag | SharePlace]
    unknown: Sequence[UnknownLag] = ()
    """The partitions without a leader, or whose state is on a stopped broker."""
    is_settled: bool = False
    """Whether all members have the partitions that they will get."""

    @property
    def lag(self) -> int:
        return sum(each.lag for each in self.positions)


class AnyGroup:
    """A group of either kind."""

    _is_share = False

    def __init__(self, cluster: EmbeddedCluster, group_id: str) -> None:
        self._cluster = cluster
        self.group_id = group_id

    @property
    def _title(self) -> str:
        return "share group" if self._is_share else "group"

    # The group

    @property
    def state(self) -> str:
        """The state of the group, as named by Kafka: "Empty", or "Stable" if all members have their partitions.

        A classic group may also be "PreparingRebalance" or "CompletingRebalance", a group with the consumer protocol
        "Assigning" or "Reconciling". A group that does not exist is "Dead".
        """
        return self._look(lambda shard, group: str(group.state) if group is not None else DEAD, DEAD)

    @property
    def assignment(self) -> dict[str, set[Place]]:
        """The partitions of each member, as (topic, partition), by member id."""
        return {member.member_id: set(member.assignment) for member in self._members()}

    def _members(self) -> list[Member | ShareMember]:
        return self._look(members_of, [])

    @property
    def lag(self) -> int:
        """The sum of the lags of all partitions."""
        return self._known().lag

    def _lags(self) -> dict[Place, int]:
        return {(each.topic, each.partition): each.lag for each in self._known().positions}

    def _known(self) -> Seen:
        seen = self._see()
        if seen.unknown:
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, f"{self._title} {self.group_id}: {seen.unknown[0]}")
        return seen

    # Wait

    def wait_for_lag(self, lag: int = 0, timeout: float | None = None) -> Self:
        """Wait until the group has processed all records but `lag`: committed them or, in a share group, ended their
        deliveries.

        The wait continues while the group does not exist or rebalances, or a partition has no leader. Raises
        AssertionError after `timeout` seconds (by default `cluster.timeout`), with the members, offsets and lag.
        """
        __tracebackhide__ = True
        arguments.at_least(0, "lag", lag)

        def is_reached(seen: Seen) -> bool:
            is_begun = bool(seen.positions) or (seen.state == "Stable" and seen.protocol != "share")
            return is_begun and seen.is_settled and not seen.unknown and seen.lag <= lag

        return self._wait(is_reached, f"a lag of {lag}", timeout)

    def wait_until_stable(self, members: int | None = None, timeout: float | None = None) -> Self:
        """Wait until the group has this number of members (by default at least one), all with their assignments.

        Except in classic groups, members release and get partitions with their next heartbeats, every 5 seconds unless
        the broker properties `group.consumer.heartbeat.interval.ms` and `group.consumer.min.heartbeat.interval.ms`, or
        `group.share.heartbeat.interval.ms` for share groups, are smaller.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
        __tracebackhide__ = True
        if members is not None and arguments.number("members", members) < 1:
            raise ValueError(
                f"members is {members}; it must be at least 1. The state of a group without members is Empty"
            )

        def is_reached(seen: Seen) -> bool:
            return seen.state == "Stable" and seen.is_settled and members in (None, len(seen.members))

        what = "at least one member" if members is None else counted(members, "member")
        return self._wait(is_reached, f"the group to be stable with {what}", timeout)

    def _wait(self, is_reached: Callable[[Seen], bool], what: str, timeout: float | None) -> Self:
        __tracebackhide__ = True
        last: list[Seen] = []

        def look() -> Seen | None:
            last[:] = [self._see_or_dead()]
            return last[0] if is_reached(last[0]) else None

        wait(self._cluster, look, timeout, lambda: self._failure(what, timeout, last[0]), requests=True)
        return self

    def _see_or_dead(self) -> Seen:
        try:
            return self._see()
        except KafkaError:
            return NOTHING  # until the coordinator starts again

    def _failure(self, what: str, timeout: float | None, seen: Seen) -> str:
        waited = f"waited {timeout_s(self._cluster, timeout):g} s for {what}"
        head = f"{self._title} {self.group_id}: {waited}: the group is {seen.state}"
        lines = [f"{head} and has {counted(len(seen.members), 'member')}", *described(seen)]
        if seen.state == DEAD:
            lines.append(f"  {self._cluster._server.call(self._why_dead)}")
        return "\n".join(lines)

    def _why_dead(self) -> str:
        try:
            self._existing()
        except KafkaError as error:
            return str(error.message)
        return f"{self._title} {self.group_id} exists now"

    # Change

    def evict(self, member_id: str) -> Self:
        """Remove a member, given its member id or its `group.instance.id`, as if its session had timed out.

        The other members get its partitions. Records that it has acquired in a share group stay locked until the locks
        expire or its connection closes. A client that is still alive notices with its next heartbeat, and joins again
        as a new member. Raises ValueError if there is no such member.
        """
        arguments.text("the id of a member", member_id)

        def evict() -> None:
            from kafkalet.broker.groups.administration import evict

            _, group = self._existing()
            members = list(group.members)
            found = [each.member_id for each in members if member_id in (each.member_id, each.instance_id)]
            if not found:
                ids = ", ".join(each.member_id for each in members) or "none"
                raise ValueError(f"{self._title} {self.group_id} has no member {member_id!r}; its members: {ids}")
            evict(group, found[0])

        self._cluster._server.call(evict)
        return self

    def seek(
        self,
        offset: int | Literal["earliest", "latest"] | datetime | None = None,
        topic: str | None = None,
        partition: int | None = None,
        *,
        timestamp: Time | None = None,
    ) -> Self:
        """Commit other offsets, as `kafka-consumer-groups --reset-offsets` does. The group must have no members.

        The new offset is `offset`, the earliest or latest offset, or that of the first record at or after a time: a
        datetime, or `timestamp` in milliseconds since 1970. By default, the offsets of all partitions with an offset of
        the group change; otherwise those of a topic or of one partition. A given offset is committed even if it is out
        of range. The group is created if it does not exist.

        In a share group, these are the start offsets, as for `kafka-share-groups --reset-offsets`: all records at or
        after them are delivered again, with new delivery counts.

        Raises KafkaError with NON_EMPTY_GROUP if the group has members.
        """
        target = seek_target(offset, timestamp)
        if topic is None and partition is not None:
            raise TypeError(f"partition is {partition}, but no topic is given; give both")
        arguments.optional(arguments.text, "topic", topic)
        arguments.optional(arguments.number, "partition", partition)

        def seek() -> Delayed[Failures] | None:
            from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS

            self._cluster._server.controller.state_topic(CONSUMER_OFFSETS)
            shard = shard_of(self._cluster, self.group_id)
            self._check_empty(shard, f"offsets of {self._title} {self.group_id} cannot be moved")
            known = places_of if self._is_share else committed_of
            places = known(shard, self.group_id) if topic is None else seek_places(shard, topic, partition)
            offsets = {place: target(self._cluster, place) for place in places}
            if not offsets:
                raise ValueError(f"{self._title} {self.group_id} has no offsets yet; name a topic")
            return self._move(shard, offsets)

        self._change(seek)
        return self

    def _move(self, shard: Shard, offsets: Mapping[Place, int]) -> Delayed[Failures] | None:
        """Set the offsets of a group without members."""
        from kafkalet.broker.groups.administration import move_offsets

        move_offsets(shard, self.group_id, offsets)
        return None

    def _change(self, change: Callable[[], Delayed[Failures] | None]) -> None:
        """Call `change` in the event loop, and wait until it is complete."""
        self._cluster._server.call(change)

    def _check_empty(self, shard: Shard, what: str) -> None:
        if members := members_of(shard, self._group_of(shard)):
            names = ", ".join(f"{each.member_id} (client {each.client_id})" for each in members)
            raise KafkaError(Code.NON_EMPTY_GROUP, f"{what}; stop its members: {names}")

    def delete(self) -> None:
        """Delete the group with its offsets, or with the state of its records.

        Raises KafkaError with GROUP_ID_NOT_FOUND if it does not exist, and NON_EMPTY_GROUP if it has members.
        """

        def delete() -> None:
            from kafkalet.broker.groups.administration import delete

            delete(self._existing()[0], self.group_id)

        self._cluster._server.call(delete)

    # Looking

    def _existing(self) -> tuple[Shard, BrokerGroup]:
        """Return the group and its shard. Raises KafkaError with GROUP_ID_NOT_FOUND."""
        shard = find_shard(self._cluster, self.group_id)
        if shard is None:
            check_coordinator(self._cluster, CONSUMER_OFFSETS, self.group_id)
        group = None if shard is None else self._group_of(shard)
        if shard is None or group is None:
            if shard is not None and self.group_id in shard.groups:
                other = ("consumer group", "group") if self._is_share else ("share group", "share_group")
                reason = f'{self.group_id} is a {other[0]}; use kafka.{other[1]}("{self.group_id}")'
            else:
                known = ", ".join(group_ids(self._cluster, is_share=self._is_share)[:20]) or "none"
                reason = f"{self._title} {self.group_id} does not exist; {self._title}s: {known}"
            raise KafkaError(Code.GROUP_ID_NOT_FOUND, reason)
        return shard, group

    def _look(self, see: Callable[[Shard, BrokerGroup | None], T], nothing: T) -> T:
        """Call `see` in the event loop. Return `nothing` if there are no groups yet.

        Raises KafkaError with COORDINATOR_NOT_AVAILABLE if the coordinator of the group is stopped.
        """

        def look() -> T:
            shard = find_shard(self._cluster, self.group_id)
            if shard is not None:
                return see(shard, self._group_of(shard))
            check_coordinator(self._cluster, CONSUMER_OFFSETS, self.group_id)
            return nothing

        return self._cluster._server.call(look)

    def _group_of(self, shard: Shard) -> BrokerGroup | None:
        return group_of(shard, self.group_id, is_share=self._is_share)

    def _see(self) -> Seen:
        return self._look(lambda shard, _: see(self._cluster, shard, self.group_id, is_share=self._is_share), NOTHING)


NOTHING = Seen(DEAD, "", (), ())
"""A group that does not exist."""


class Group(AnyGroup):
    """A consumer group of a cluster. The group need not exist. Each access to an attribute reads its current value.

    Groups of both protocols are supported: "classic", and "consumer" (KIP-848). For share groups, use
    `Cluster.share_group`. Attributes raise RuntimeError if the cluster is not running, and KafkaError with
    COORDINATOR_NOT_AVAILABLE if the broker with the group is stopped.
    """

    def __repr__(self) -> str:
        try:
            return f"<group {self.group_id}: {self.state}, {len(self.members)} members, offsets {self.committed()}>"
        except (KafkaError, RuntimeError) as error:
            return f"<group {self.group_id}: {error}>"

    @property
    def protocol(self) -> str:
        """The protocol of the group: "classic" or "consumer", or "" if the group does not exist."""
        return self._look(lambda shard, group: str(group.type) if group is not None else "", "")

    @property
    def members(self) -> list[Member]:
        """The members, in the order in which they joined."""
        return [each for each in self._members() if isinstance(each, Member)]

    @overload
    def committed(self) -> dict[Place, int]: ...

    @overload
    def committed(self, topic: str, partition: int) -> int | None: ...

    def committed(self, topic: str | None = None, partition: int | None = None) -> dict[Place, int] | int | None:
        """Return the committed offsets by (topic, partition), or the one of a partition (None if there is none).

        Offsets in open transactions are not included.
        """
        offsets: dict[Place, int] = self._look(lambda shard, _: committed_of(shard, self.group_id), {})
        if topic is None and partition is None:
            return offsets
        if topic is None or partition is None:
            raise TypeError("committed() takes a topic and a partition, or neither")
        return offsets.get((arguments.text("topic", topic), arguments.number("partition", partition)))

    @property
    def lags(self) -> dict[Place, int]:
        """The lag by (topic, partition), for partitions with offsets and for those that members subscribe to.

        The lag is the high watermark minus the committed offset, or 0 if only transaction markers are left in between.
        Without a committed offset, it is the number of records since a consumer started at the end of the log
        (`auto.offset.reset=latest`), provided that no other consumer of the topic has the same `client.id`; otherwise,
        all records of the partition count. If a connected member reads with read_committed, the lag ends at the last
        stable offset, and is 0 if only aborted records and markers are left; aborted records before a record that the
        member can read count, as in Kafka's tools. After it has left, the high watermark is the end, because nothing
        shows how the group will read.

        Raises KafkaError with LEADER_NOT_AVAILABLE if one of the partitions has no leader.
        """
        return self._lags()

    def wait_for_commit(self, topic: str, partition: int, offset: int, timeout: float | None = None) -> int:
        """Wait until the committed offset of a partition is at least `offset`, and return it.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
        __tracebackhide__ = True
        arguments.text("topic", topic)
        arguments.number("partition", partition)
        arguments.at_least(0, "offset", offset)

        def look() -> int | None:
            try:
                found = self.committed(topic, partition)
            except KafkaError:
                return None  # until the coordinator starts again
            return found if found is not None and found >= offset else None

        what = f"a commit of offset {offset} in {topic}-{partition}"
        return wait(self._cluster, look, timeout, lambda: self._failure(what, timeout, self._see_or_dead()))

    # Change

    def rebalance(self) -> Group:
        """Start a rebalance, unless one is in progress. The members notice with their next heartbeats.

        Members of a classic group join again. A consumer group enters a new epoch with a new target assignment. Raises
        ValueError if the group has no members.
        """

        def rebalance() -> None:
            from kafkalet.broker.groups.administration import rebalance

            _, group = self._existing()
            if group.is_empty:
                raise ValueError(f"group {self.group_id} has no members, so it cannot rebalance")
            rebalance(group)

        self._cluster._server.call(rebalance)
        return self


# Functions that run in the event loop


def find_shard(cluster: EmbeddedCluster, group_id: str) -> Shard | None:
    """Return the shard of a group, or None if no running broker coordinates it."""
    for broker in cluster._server.brokers.values():
        try:
            return broker.coordinators.groups.shard_for_offsets(group_id)
        except KafkaError:
            continue  # another broker coordinates the group
    return None


def shard_of(cluster: EmbeddedCluster, group_id: str) -> Shard:
    """Return the shard of a group. Raises KafkaError with COORDINATOR_NOT_AVAILABLE."""
    shard = find_shard(cluster, group_id)
    if shard is None:
        raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE, f"no broker coordinates group {group_id}")
    return shard


def check_coordinator(cluster: EmbeddedCluster, topic: str, key: str) -> None:
    """Raise KafkaError with COORDINATOR_NOT_AVAILABLE if the coordinator of a group or a transactional id is stopped.

    `topic` is the internal topic with its state. If it does not exist yet, there are no groups or transactions.
    """
    from kafkalet.broker.cluster.state_topics import partition_of

    state = cluster._server.metadata.topics.get(topic)
    if state is None:
        return
    index = partition_of(key, len(state.partitions))
    if state.partitions[index].leader not in cluster._server.nodes:
        raise KafkaError(
            Code.COORDINATOR_NOT_AVAILABLE, f"the coordinator of {key} is stopped: {topic}-{index} has no leader"
        )


def group_of(shard: Shard, group_id: str, *, is_share: bool) -> BrokerGroup | None:
    """Return the consumer group or the share group with this id, or None if there is none."""
    group = shard.groups.get(group_id)
    return group if group is not None and is_share_group(group) is is_share else None


def is_share_group(group: BrokerGroup) -> bool:
    from kafkalet.broker.groups.group import GroupType

    return group.type is GroupType.SHARE


def seek_places(shard: Shard, topic: str, partition: int | None) -> list[Place]:
    """Return all partitions of a topic, or one. Raises KafkaError or ValueError if it does not exist."""
    count = len(shard.node.metadata.existing_topic(topic).partitions)
    if partition is None:
        return [(topic, index) for index in range(count)]
    if not 0 <= partition < count:
        raise ValueError(f"partition {partition} does not exist; topic {topic} has {partitions_shown(count)}")
    return [(topic, partition)]


def all_shards(cluster: EmbeddedCluster) -> list[Shard]:
    """Return the shards of all running brokers that coordinate groups."""
    brokers = cluster._server.brokers.values()
    return [shard for broker in brokers for shard in broker.coordinators.loaded_group_shards()]


def group_ids(cluster: EmbeddedCluster, *, is_share: bool) -> list[str]:
    """Return the ids of all consumer groups, or of all share groups. May be called from any thread."""

    def look() -> list[str]:
        groups = [item for shard in all_shards(cluster) for item in shard.groups.items()]
        return sorted({group_id for group_id, group in groups if is_share_group(group) is is_share})

    return cluster._server.call(look)


def see(cluster: EmbeddedCluster, shard: Shard, group_id: str, *, is_share: bool) -> Seen:
    """Return a consumer group or a share group with its members and lag."""
    group = group_of(shard, group_id, is_share=is_share)
    members = members_of(shard, group)
    if is_share:
        from .share_records import see_places

        if group is None:
            return NOTHING
        places, unknown = see_places(cluster, group_id, places_of(shard, group_id))
        return Seen(str(group.state), str(group.type), members, places, unknown, _has_assigned_all(shard, group))
    assigned = {place: each.client_id for each in members for place in each.assignment}
    subscribed = _subscribed(shard.node.metadata, group)
    lags, unknown = group_lag(cluster, committed_of(shard, group_id), subscribed, assigned)
    if group is None:
        return Seen(DEAD, "", members, lags, unknown)
    return Seen(str(group.state), str(group.type), members, lags, unknown, group.state in ("Stable", "Empty"))


def committed_of(shard: Shard, group_id: str) -> dict[Place, int]:
    """Return the committed offsets of a group."""
    return {
        (topic, partition): committed.offset
        for topic, by_partition in shard.offsets.committed(group_id).items()
        for partition, committed in by_partition.items()
    }


def places_of(shard: Shard, group_id: str) -> list[Place]:
    """Return the partitions of a share group: those with a state, and those of the subscribed topics."""
    from kafkalet.broker.groups.share.group import ShareGroup

    group = shard.groups.get(group_id)
    places = _subscribed(shard.node.metadata, group)
    if isinstance(group, ShareGroup) and group.states is not None:
        for topics in (group.states.initializing, group.states.initialized):
            places |= _named(shard.node.metadata, {topic_id: of.partitions for topic_id, of in topics.items()})
    return sorted(places)


def _has_assigned_all(shard: Shard, group: BrokerGroup) -> bool:
    """Return whether the members of a share group have their partitions, and these are all of the subscribed topics."""
    from kafkalet.broker.groups.share.group import ShareGroup

    assert isinstance(group, ShareGroup)
    if any(not member.is_reconciled_to(group.group_epoch) for member in group.members):
        return False
    assigned = {place for member in members_of(shard, group) for place in member.assignment}
    return assigned.issuperset(_subscribed(shard.node.metadata, group))


def members_of(shard: Shard, group: BrokerGroup | None) -> list[Member | ShareMember]:
    """Return the members of a group."""
    return [] if group is None else [_member(member, group, shard.node.metadata) for member in group.members]


def _member(member: BrokerMember, group: BrokerGroup, metadata: MetadataImage) -> Member | ShareMember:
    from kafkalet.broker.groups.classic.consumer_protocol import Malformed, read_assignment
    from kafkalet.broker.groups.classic.members import ClassicMember
    from kafkalet.broker.groups.consumer.members import ConsumerMember
    from kafkalet.broker.groups.share.members import ShareMember as BrokerShareMember
    from kafkalet.broker.groups.streams.group import StreamsGroup
    from kafkalet.broker.groups.streams.members import StreamsMember

    known = member.member_id, member.client_id, member.client_host.lstrip("/")
    if isinstance(member, BrokerShareMember):
        return ShareMember(*known, member.rack_id, member.topic_names, frozenset(_named(metadata, member.assigned)))
    places: set[Place] = set()
    if isinstance(member, ClassicMember):
        try:
            for of in read_assignment(member.assignment).assigned_partitions if member.assignment else ():
                places.update((of.topic, index) for index in of.partitions)
        except Malformed:
            pass  # a member of another protocol, such as that of Kafka Connect
    elif isinstance(member, StreamsMember):
        assert isinstance(group, StreamsGroup)
        tasks = member.assigned.active
        places = {
            (topic, index)
            for topic, index in _subscribed(metadata, group)
            if group.topology is not None and index in tasks.get(group.topology.sources[topic].subtopology_id, ())
        }
    else:
        assert isinstance(member, ConsumerMember)
        places = _named(metadata, member.assigned)
    return Member(*known, member.instance_id, frozenset(places))


def _named(metadata: MetadataImage, by_topic_id: Mapping[bytes, Iterable[int]]) -> set[Place]:
    """Return partitions with the names of their topics. Deleted topics are left out."""
    return {
        (topic.name, index)
        for topic_id, partitions in by_topic_id.items()
        if (topic := metadata.topic_by_id(topic_id)) is not None
        for index in partitions
    }


def _subscribed(metadata: MetadataImage, group: BrokerGroup | None) -> set[Place]:
    """Return the partitions of the topics to which members of the group subscribe."""
    from kafkalet.broker.groups.classic.group import ClassicGroup
    from kafkalet.broker.groups.consumer.group import ConsumerGroup
    from kafkalet.broker.groups.share.group import ShareGroup
    from kafkalet.broker.groups.streams.group import StreamsGroup

    names: set[str] = set()
    if isinstance(group, ClassicGroup):
        names = group.subscribed_topics() or set()
    elif isinstance(group, StreamsGroup):
        names = set() if group.topology is None else set(group.topology.sources)
    elif isinstance(group, ConsumerGroup | ShareGroup):
        names = set(group.members.topics())
    topics = [topic for name in names if (topic := metadata.topics.get(name)) is not None]
    return {(topic.name, state.index) for topic in topics for state in topic.partitions}


def described(seen: Seen) -> list[str]:
    """Return lines that describe the members and the lag of a group, for the message of a failed wait.

    If there are many, only some members are described, and the partitions with the largest lag.
    """
    lines = []
    for member in seen.members:
        places = ", ".join(f"{topic}-{index}" for topic, index in sorted(member.assignment)) or "nothing"
        lines.append(f"  member {member.member_id} (client {member.client_id!r} at {member.host}): {places}")
    lines = list(limited(lines, MOST_LINES))
    lags = seen.positions if len(seen.positions) <= MOST_LINES else sorted(seen.positions, key=lambda each: -each.lag)
    lines += limited([f"  {each}" for each in (*seen.unknown, *lags)], MOST_LINES)
    if seen.protocol in HEARTBEAT_HINTS and not seen.is_settled:
        lines.append(HEARTBEAT_HINTS[seen.protocol])
    return lines


def seek_target(offset: int | str | datetime | None, timestamp: Time | None) -> Callable[[EmbeddedCluster, Place], int]:
    """Return a function that finds the offset to seek to in a partition."""
    if (offset is None) == (timestamp is None):
        raise TypeError('seek takes an offset ("earliest", "latest", a number or a datetime) or a timestamp')
    if isinstance(offset, str):
        if offset not in ("earliest", "latest"):
            raise ValueError(f'offset is {offset!r}; it must be a number, a datetime, "earliest" or "latest"')
        timestamp = EARLIEST if offset == "earliest" else LATEST
    elif isinstance(offset, datetime):
        timestamp = milliseconds("offset", offset)
    elif offset is not None:
        if (number := arguments.number("offset", offset)) < 0:
            raise ValueError(f'offset is {number}; it must be at least 0. seek("latest") moves to the end')
        return lambda cluster, place: number
    elif (timestamp := milliseconds("timestamp", timestamp if timestamp is not None else 0)) < 0:
        raise ValueError(f"timestamp is {timestamp}; it must be at least 0")
    time_ms = milliseconds("timestamp", timestamp)
    return lambda cluster, place: offset_at(cluster, place, time_ms)
