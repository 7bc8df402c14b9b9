"""The share groups of the test kit: their members, and the state and delivery count of each record (KIP-932).

    jobs = kafka.share_group("jobs")
    jobs.configure({"share.auto.offset.reset": "earliest"})
    jobs.wait_for(acquired=1)                  a member has a record
    jobs.expire_locks()                        and has kept it too long
    jobs.wait_for(acknowledged=1)              until it is delivered again and acknowledged

Acquisition locks and the ages of records are log time: `clock.advance(seconds=31)` expires the locks, and the members
stay in the group. Their sessions and long polls are client time, which advances only with `sessions=True`.

A record is in one of these states:

    available       not delivered yet, or released, or its lock has expired
    acquired        delivered to a member, which has not acknowledged it
    acknowledged    accepted
    archived        rejected, delivered too often, or an offset without a record

Kafka forgets a record once all records before it are acknowledged or archived, too; the start offset is then above it.
The test kit still knows its state (kafkalet/broker/share/outcomes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from kafkalet.broker import arguments
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.units import counted

from .clients import MOST_LINES, limited, safely
from .group import CONSUMER_OFFSETS, DEAD, Place, check_coordinator, find_shard, seek_places, seek_target
from .record import Time
from .share_records import SharePlace, ShareRecord, ShareState, checked_state, persister, records_of, see_place
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.groups.shard import Shard
    from kafkalet.broker.groups.share.group import ShareGroup as BrokerShareGroup
    from kafkalet.broker.groups.share.members import ShareMember as BrokerShareMember
    from kafkalet.embedded import EmbeddedCluster
    from kafkalet.tasks.delayed import Delayed

T = TypeVar("T")


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


class SeenShareGroup(NamedTuple):
    """A share group at one moment."""

    state: str
    members: list[ShareMember]
    places: list[SharePlace]
    unknown: list[str]
    """Descriptions of the partitions without a leader, or whose state is on a stopped broker."""
    is_settled: bool
    """Whether all partitions of the subscribed topics are assigned."""

    @property
    def lag(self) -> int:
        return sum(each.lag for each in self.places)


class ShareGroup:
    """A share group of a cluster, which need not exist. Each access to an attribute reads its current value.

    Attributes raise RuntimeError if the cluster is not running, and KafkaError with COORDINATOR_NOT_AVAILABLE if the
    broker with the group is stopped.
    """

    def __init__(self, cluster: EmbeddedCluster, group_id: str) -> None:
        self._cluster = cluster
        self.group_id = group_id

    def __repr__(self) -> str:
        try:
            seen = self._see()
            return (
                f"<share group {self.group_id}: {seen.state}, {counted(len(seen.members), 'member')}, lag {seen.lag}>"
            )
        except (KafkaError, RuntimeError) as error:
            return f"<share group {self.group_id}: {error}>"

    # The group

    @property
    def state(self) -> str:
        """The state of the group: "Empty", "Stable" if it has members, or "Dead" if it does not exist."""
        return self._look(lambda shard, group: str(group.state) if group is not None else DEAD, DEAD)

    @property
    def members(self) -> list[ShareMember]:
        """The members, in the order in which they joined."""
        return self._look(lambda shard, group: members_of(shard, group), [])

    @property
    def assignment(self) -> dict[str, set[Place]]:
        """The partitions of each member, as (topic, partition), by member id."""
        return {member.member_id: set(member.assignment) for member in self.members}

    @property
    def config(self) -> dict[str, str]:
        """The properties of the group, by Kafka's names. Others have the values of the brokers."""
        server = self._cluster._server
        return server.call(lambda: dict(server.metadata.group_config.get(self.group_id, {})))

    def configure(self, config: Mapping[str, arguments.PropertyValue | None]) -> ShareGroup:
        """Change properties of the group, as in `{"share.auto.offset.reset": "earliest"}`. None removes a property.

        The group need not exist. Raises KafkaError with INVALID_CONFIG, and changes nothing, if a property is unknown
        or a value is invalid.
        """
        what = f"the config of group {self.group_id}"
        given = config if isinstance(config, Mapping) else arguments.properties(what, config)
        wanted = arguments.properties(what, {name: value for name, value in given.items() if value is not None})
        server = self._cluster._server

        def configure() -> None:
            from kafkalet.broker.config.group_properties import check

            before = server.metadata.group_config.get(self.group_id, {})
            removed = given.keys() - wanted.keys()
            changed = {name: value for name, value in {**before, **wanted}.items() if name not in removed}
            check(changed, server.config)
            server.controller.change_properties(server.metadata.group_config, self.group_id, changed)

        server.call(configure)
        return self

    # Positions

    def start_offset(self, topic: str, partition: int = 0) -> int | None:
        """Return the start offset of a partition: all records below it are acknowledged or archived.

        None means that no member has fetched from the partition yet: `share.auto.offset.reset` decides then.
        """
        return self.start_offsets.get((arguments.text("topic", topic), arguments.number("partition", partition)))

    @property
    def start_offsets(self) -> dict[Place, int]:
        """The start offsets by (topic, partition)."""
        return {
            (each.topic, each.partition): each.start_offset
            for each in self._known().places
            if each.start_offset is not None
        }

    @property
    def lags(self) -> dict[Place, int]:
        """The lag by (topic, partition): the high watermark minus the start offset and the completed deliveries.

        Before the first fetch, it is the number of records that the group would get (share.auto.offset.reset). Raises
        KafkaError with LEADER_NOT_AVAILABLE if one of the partitions has no leader.
        """
        return {(each.topic, each.partition): each.lag for each in self._known().places}

    @property
    def lag(self) -> int:
        """The sum of the lags of all partitions."""
        return sum(self.lags.values())

    def _known(self) -> SeenShareGroup:
        seen = self._see()
        if seen.unknown:
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, f"share group {self.group_id}: {seen.unknown[0]}")
        return seen

    # Records

    def records(self, state: ShareState | None = None, topic: str | None = None) -> list[ShareRecord]:
        """Return the records that the group has consumed or can consume, by topic, partition and offset.

        With `state`, only those that are "available", "acquired", "acknowledged" or "archived". Records that were
        skipped, because the group began after them, are left out, and so are deleted ones.
        """
        if topic is not None:
            arguments.text("topic", topic)
        return self._records(self._known(), checked_state(state), topic)

    def _records(self, seen: SeenShareGroup, state: ShareState | None, topic: str | None) -> list[ShareRecord]:
        found: list[ShareRecord] = []
        for each in seen.places:
            if topic in (None, each.topic):
                found += records_of(self._cluster, each, state)
        return found

    def deliveries(self, topic: str, partition: int, offset: int) -> int:
        """Return how often a record was delivered; 0 if it was not delivered yet, or does not exist."""
        place = arguments.text("topic", topic), arguments.number("partition", partition)
        arguments.number("offset", offset)
        for each in self._known().places:
            if (each.topic, each.partition) == place:
                return next((run.deliveries for run in each.runs if run.first <= offset <= run.last), 0)
        return 0

    # Wait

    def wait_for(
        self,
        *,
        available: int | None = None,
        acquired: int | None = None,
        acknowledged: int | None = None,
        archived: int | None = None,
        topic: str | None = None,
        timeout: float | None = None,
    ) -> ShareGroup:
        """Wait until at least this number of records are in each of these states, of all topics or of one.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`), with the members and records.
        """
        __tracebackhide__ = True
        given: dict[ShareState, int | None] = {
            "available": available,
            "acquired": acquired,
            "acknowledged": acknowledged,
            "archived": archived,
        }
        wanted = {state: arguments.number(state, n) for state, n in given.items() if n is not None}
        if not wanted:
            raise TypeError("wait_for() takes a number of records, as in wait_for(acknowledged=3)")
        for state, n in wanted.items():
            if n < 1:
                raise ValueError(f"{state} is {n}; it must be at least 1")
        if topic is not None:
            arguments.text("topic", topic)

        def is_reached(seen: SeenShareGroup) -> bool:
            counts = dict.fromkeys(wanted, 0)
            for run in (run for each in seen.places if topic in (None, each.topic) for run in each.runs):
                if run.state in counts:
                    counts[run.state] += run.size
            return all(
                counts[state] >= n and len(self._records(seen, state, topic)) >= n for state, n in wanted.items()
            )

        what = " and ".join(f"{n} {state}" for state, n in wanted.items())
        plural = "record" if sum(wanted.values()) == 1 else "records"
        return self._wait(is_reached, f"{what} {plural}{'' if topic is None else f' of {topic}'}", timeout)

    def wait_for_lag(self, lag: int = 0, timeout: float | None = None) -> ShareGroup:
        """Wait until the deliveries of all records but `lag` have ended.

        The wait continues while the group does not exist, or partitions are not assigned or have no leader. Raises
        AssertionError after `timeout` seconds (by default `cluster.timeout`), with the members and records.
        """
        __tracebackhide__ = True
        if arguments.number("lag", lag) < 0:
            raise ValueError(f"lag is {lag}; it must be at least 0")

        def is_reached(seen: SeenShareGroup) -> bool:
            return bool(seen.places) and seen.is_settled and not seen.unknown and seen.lag <= lag

        return self._wait(is_reached, f"a lag of {lag}", timeout)

    def wait_until_stable(self, members: int | None = None, timeout: float | None = None) -> ShareGroup:
        """Wait until the group has this number of members (by default at least one), and all partitions are assigned.

        Members get partitions with their next heartbeats, every 5 seconds unless the broker property
        `group.share.heartbeat.interval.ms` is smaller.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
        __tracebackhide__ = True
        if members is not None and arguments.number("members", members) < 1:
            raise ValueError(
                f"members is {members}; it must be at least 1. The state of a group without members is Empty"
            )

        def is_reached(seen: SeenShareGroup) -> bool:
            return seen.state == "Stable" and seen.is_settled and members in (None, len(seen.members))

        what = "at least one member" if members is None else counted(members, "member")
        return self._wait(is_reached, f"the group to be stable with {what}", timeout)

    def _wait(self, is_reached: Callable[[SeenShareGroup], bool], what: str, timeout: float | None) -> ShareGroup:
        __tracebackhide__ = True
        last: list[SeenShareGroup] = []

        def look() -> SeenShareGroup | None:
            try:
                last[:] = [self._see()]
                return last[0] if is_reached(last[0]) else None
            except KafkaError:
                last[:] = [NOTHING]  # until the coordinator starts again
                return None

        wait(self._cluster, look, timeout, lambda: self._failure(what, timeout, last[0]), requests=True)
        return self

    def _failure(self, what: str, timeout: float | None, seen: SeenShareGroup) -> str:
        waited = f"waited {timeout_s(self._cluster, timeout):g} s for {what}"
        head = f"share group {self.group_id}: {waited}: the group is {seen.state}"
        lines = [f"{head} and has {counted(len(seen.members), 'member')}", *described(seen)]
        if seen.state == DEAD:
            lines.append(f"  {self._cluster._server.call(self._why_dead)}")
        else:
            held = safely(lambda: [repr(each) for each in self._records(seen, "acquired", None)])
            lines += [f"  {each}" for each in limited(held, MOST_LINES)]
        return "\n".join(lines)

    def _why_dead(self) -> str:
        try:
            self._existing()
        except KafkaError as error:
            return str(error.message)
        return f"share group {self.group_id} exists now"

    # Change

    def expire_locks(self, topic: str | None = None, *, member_id: str | None = None) -> int:
        """Expire acquisition locks now, as if share.record.lock.duration.ms had passed. Return how many there were.

        They are those of all topics and members, of one topic, or of one member. Its records are available to all
        members again, or archived if they were delivered as often as `share.delivery.count.limit` allows. A late
        acknowledgement returns INVALID_RECORD_STATE.
        """
        if topic is not None:
            arguments.text("topic", topic)
        if member_id is not None:
            arguments.text("the id of a member", member_id)

        def expire() -> int:
            self._existing()
            return sum(
                opened.expire_locks(member_id)
                for broker in self._cluster._server.brokers.values()
                for opened in broker.shares.opened()
                if opened.key.group_id == self.group_id and topic in (None, opened.partition.topic)
            )

        return self._cluster._server.call(expire)

    def evict(self, member_id: str) -> ShareGroup:
        """Remove a member, as if its session had timed out. The other members get its partitions.

        The records that it has acquired stay locked until the locks expire (`expire_locks`) or its connection closes. A
        client that is still alive notices with its next heartbeat, and joins again. Raises ValueError if there is no
        such member.
        """
        arguments.text("the id of a member", member_id)

        def evict() -> None:
            from kafkalet.broker.groups.administration import evict

            shard, group = self._existing()
            ids = [each.member_id for each in members_of(shard, group)]
            if member_id not in ids:
                known = ", ".join(ids) or "none"
                raise ValueError(f"share group {self.group_id} has no member {member_id!r}; its members: {known}")
            evict(group, member_id)

        self._cluster._server.call(evict)
        return self

    def seek(
        self,
        offset: int | Literal["earliest", "latest"] | datetime | None = None,
        topic: str | None = None,
        partition: int | None = None,
        *,
        timestamp: Time | None = None,
    ) -> ShareGroup:
        """Set other start offsets, as `kafka-share-groups --reset-offsets` does. The group must have no members.

        The new offset is `offset`, the earliest or latest offset, or that of the first record at or after a time: a
        datetime, or `timestamp` in milliseconds since 1970. By default, all partitions that the group has consumed
        change; otherwise those of a topic, or one partition. All records at or after the new offset are delivered
        again, with new delivery counts. The group is created if it does not exist.

        Raises KafkaError with NON_EMPTY_GROUP if the group has members.
        """
        target = seek_target(offset, timestamp)
        if topic is None and partition is not None:
            raise TypeError(f"partition is {partition}, but no topic is given; give both")
        if topic is not None:
            arguments.text("topic", topic)
        if partition is not None:
            arguments.number("partition", partition)

        def seek() -> Delayed[dict[tuple[bytes, int], KafkaError]]:
            from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE
            from kafkalet.broker.groups.share.group import group_to_join
            from kafkalet.broker.groups.share.initialization import Initialization, initialize
            from kafkalet.broker.groups.share.states import States, StateTopic

            server = self._cluster._server
            server.controller.state_topic(CONSUMER_OFFSETS)
            server.controller.state_topic(SHARE_GROUP_STATE)
            shard = find_shard(self._cluster, self.group_id)
            if shard is None:
                raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE, f"no broker coordinates group {self.group_id}")
            group = group_to_join(shard, self.group_id)
            self._check_empty(shard, group, "offsets cannot be moved")
            metadata = shard.node.metadata
            if topic is None:
                places = _places(shard, group)
                if not places:
                    raise ValueError(f"share group {self.group_id} has consumed no partition; name a topic")
            else:
                places = seek_places(shard, topic, partition)
            offsets: dict[bytes, dict[int, int]] = {}
            for place in places:
                topic_id = metadata.existing_topic(place[0]).topic_id
                offsets.setdefault(topic_id, {})[place[1]] = target(self._cluster, place)
            names = {metadata.existing_topic(name).topic_id: name for name, _ in places}
            now_ms = shard.clock.now_ms()
            topics = {id_: StateTopic(names[id_], frozenset(of), now_ms) for id_, of in offsets.items()}
            group.commit([group.with_states((group.states or States()).begin(topics))])
            wanted = Initialization(self.group_id, group.group_epoch, offsets)
            return initialize(persister(self._cluster), self._shard_of, wanted)

        self._finish(seek)
        return self

    def delete(self) -> None:
        """Delete the group and the state of its records.

        Raises KafkaError with GROUP_ID_NOT_FOUND if it does not exist, and NON_EMPTY_GROUP if it has members.
        """

        def begin() -> Delayed[dict[tuple[bytes, int], KafkaError]]:
            from kafkalet.broker.groups.share.initialization import delete_states, states_to_delete

            shard, group = self._existing()
            self._check_empty(shard, group, "the group cannot be deleted")
            return delete_states(persister(self._cluster), self.group_id, states_to_delete(group))

        def delete() -> None:
            from kafkalet.broker.groups.administration import delete

            shard, _ = self._existing()
            delete(shard, self.group_id)

        self._finish(begin)
        self._cluster._server.call(delete)

    def _check_empty(self, shard: Shard, group: BrokerShareGroup, what: str) -> None:
        if members := members_of(shard, group):
            names = ", ".join(f"{each.member_id} (client {each.client_id})" for each in members)
            raise KafkaError(
                Code.NON_EMPTY_GROUP, f"share group {self.group_id} has members, so {what}; stop them: {names}"
            )

    def _finish(self, begin: Callable[[], Delayed[dict[tuple[bytes, int], KafkaError]]]) -> None:
        """Change the state of share partitions, wait until this is replicated, and open them again at the next fetch.

        Raises the first error.
        """
        server = self._cluster._server

        def start() -> Delayed[dict[tuple[bytes, int], KafkaError]]:
            changing = begin()
            if changing.is_waiting:
                changing.then(lambda failures: server.watchers.touch())
            return changing

        changing = server.call(start)
        if changing.is_waiting:
            what = f"share group {self.group_id}: the change is not replicated"
            wait(self._cluster, lambda: None if changing.is_waiting else True, None, lambda: what)

        def drop() -> None:
            for broker in server.brokers.values():
                broker.shares.drop_group(self.group_id)

        server.call(drop)
        for error in changing.result().values():
            raise error

    # Looking

    def _shard_of(self, group_id: str) -> Shard:
        shard = find_shard(self._cluster, group_id)
        if shard is None:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE, f"no broker coordinates group {group_id}")
        return shard

    def _existing(self) -> tuple[Shard, BrokerShareGroup]:
        """Return the group and its shard. Raises KafkaError with GROUP_ID_NOT_FOUND."""
        shard = find_shard(self._cluster, self.group_id)
        if shard is None:
            check_coordinator(self._cluster, CONSUMER_OFFSETS, self.group_id)
        group = None if shard is None else share_group_of(shard, self.group_id)
        if shard is None or group is None:
            if shard is not None and self.group_id in shard.groups:
                hint = f'{self.group_id} is a consumer group; use kafka.group("{self.group_id}")'
            else:
                known = ", ".join(sorted(share_group_ids(self._cluster))[:20])
                hint = f"share group {self.group_id} does not exist; share groups: {known or 'none'}"
            raise KafkaError(Code.GROUP_ID_NOT_FOUND, hint)
        return shard, group

    def _look(self, see: Callable[[Shard, BrokerShareGroup | None], T], nothing: T) -> T:
        """Call `see` in the event loop. Return `nothing` if there are no groups yet.

        Raises KafkaError with COORDINATOR_NOT_AVAILABLE if the coordinator of the group is stopped.
        """

        def look() -> T:
            shard = find_shard(self._cluster, self.group_id)
            if shard is not None:
                return see(shard, share_group_of(shard, self.group_id))
            check_coordinator(self._cluster, CONSUMER_OFFSETS, self.group_id)
            return nothing

        return self._cluster._server.call(look)

    def _see(self) -> SeenShareGroup:
        return self._look(lambda shard, group: see_share_group(self._cluster, shard, self.group_id), NOTHING)


NOTHING = SeenShareGroup(DEAD, [], [], [], False)


def described(seen: SeenShareGroup) -> list[str]:
    """Return lines that describe the members and the partitions of a group, for the text of a failed wait."""
    lines = []
    for member in seen.members:
        places = ", ".join(f"{topic}-{index}" for topic, index in sorted(member.assignment)) or "nothing"
        lines.append(f"  member {member.member_id} (client {member.client_id!r} at {member.host}): {places}")
    lines = list(limited(lines, MOST_LINES))
    lines += limited([f"  {each}" for each in (*seen.unknown, *seen.places)], MOST_LINES)
    if seen.members and not seen.is_settled:
        lines.append(
            "  members of a share group get partitions with their next heartbeats, by default within 5 s; for shorter "
            "waits, set group.share.heartbeat.interval.ms in the config of the broker"
        )
    return lines


# Functions that run in the event loop


def share_group_of(shard: Shard, group_id: str) -> BrokerShareGroup | None:
    """Return the share group with this id, or None if there is none."""
    from kafkalet.broker.groups.share.group import ShareGroup

    group = shard.groups.get(group_id)
    return group if isinstance(group, ShareGroup) else None


def share_group_ids(cluster: EmbeddedCluster) -> list[str]:
    """Return the ids of all share groups."""
    from .group import all_shards

    return [
        group_id
        for shard in all_shards(cluster)
        for group_id in shard.groups
        if share_group_of(shard, group_id) is not None
    ]


def see_share_group(cluster: EmbeddedCluster, shard: Shard, group_id: str) -> SeenShareGroup:
    """Return a share group with its members and the state of its records."""
    group = share_group_of(shard, group_id)
    if group is None:
        return NOTHING
    places: list[SharePlace] = []
    unknown: list[str] = []
    for place in _places(shard, group):
        try:
            places.append(see_place(cluster, group_id, *place))
        except KafkaError as error:
            if error.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:
                unknown.append(f"{place[0]}-{place[1]}: no leader, so the lag is unknown")
    return SeenShareGroup(str(group.state), members_of(shard, group), places, unknown, _is_settled(shard, group))


def members_of(shard: Shard, group: BrokerShareGroup | None) -> list[ShareMember]:
    """Return the members of a share group."""
    if group is None:
        return []
    return [_member(shard, group.member(member_id)) for member_id in group.members.in_order()]


def _member(shard: Shard, member: BrokerShareMember) -> ShareMember:
    places = {
        (topic.name, index)
        for topic_id, of in member.assigned.items()
        if (topic := shard.node.metadata.topic_by_id(topic_id)) is not None
        for index in of
    }
    return ShareMember(
        member.member_id,
        member.client_id,
        member.client_host.lstrip("/"),
        member.rack_id,
        member.topic_names,
        frozenset(places),
    )


def _subscribed(shard: Shard, group: BrokerShareGroup) -> Iterator[Place]:
    for name in group.members.names:
        if (topic := shard.node.metadata.topics.get(name)) is not None:
            yield from ((name, state.index) for state in topic.partitions)


def _places(shard: Shard, group: BrokerShareGroup) -> list[Place]:
    """Return the partitions with a state, and those of the subscribed topics."""
    places = set(_subscribed(shard, group))
    if group.states is not None:
        for topics in (group.states.initializing, group.states.initialized):
            for topic_id, of in topics.items():
                if (topic := shard.node.metadata.topic_by_id(topic_id)) is not None:
                    places.update((topic.name, index) for index in of.partitions)
    return sorted(places)


def _is_settled(shard: Shard, group: BrokerShareGroup) -> bool:
    members = [group.member(member_id) for member_id in group.members.in_order()]
    if any(not member.is_reconciled_to(group.group_epoch) for member in members):
        return False
    assigned = {place for member in members for place in _member(shard, member).assignment}
    return assigned.issuperset(_subscribed(shard, group))
