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

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kafkalet.broker import arguments
from kafkalet.protocol.errors import KafkaError
from kafkalet.units import counted

from .clients import MOST_LINES, limited, safely
from .group import DEAD, AnyGroup, Failures, Seen, ShareMember, shard_of
from .lag import Place
from .share_records import SharePlace, ShareRecord, ShareState, checked_state, persister, records_of
from .waiting import wait

if TYPE_CHECKING:
    from kafkalet.broker.groups.shard import Shard
    from kafkalet.tasks.delayed import Delayed


class ShareGroup(AnyGroup):
    """A share group of a cluster, which need not exist. Each access to an attribute reads its current value.

    Attributes raise RuntimeError if the cluster is not running, and KafkaError with COORDINATOR_NOT_AVAILABLE if the
    broker with the group is stopped.
    """

    _is_share = True

    def __repr__(self) -> str:
        try:
            seen = self._see()
            return (
                f"<share group {self.group_id}: {seen.state}, {counted(len(seen.members), 'member')}, lag {seen.lag}>"
            )
        except (KafkaError, RuntimeError) as error:
            return f"<share group {self.group_id}: {error}>"

    @property
    def members(self) -> list[ShareMember]:
        """The members, in the order in which they joined."""
        return [each for each in self._members() if isinstance(each, ShareMember)]

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
        changes = arguments.changes(f"the config of group {self.group_id}", config)
        server = self._cluster._server

        def configure() -> None:
            from kafkalet.broker.config.group_properties import check

            both = {**server.metadata.group_config.get(self.group_id, {}), **changes}
            changed = {name: value for name, value in both.items() if value is not None}
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
            for each in share_places(self._known())
            if each.start_offset is not None
        }

    @property
    def lags(self) -> dict[Place, int]:
        """The lag by (topic, partition): the high watermark minus the start offset and the completed deliveries.

        Before the first fetch, it is the number of records that the group would get (share.auto.offset.reset). Raises
        KafkaError with LEADER_NOT_AVAILABLE if one of the partitions has no leader.
        """
        return self._lags()

    # Records

    def records(self, state: ShareState | None = None, topic: str | None = None) -> list[ShareRecord]:
        """Return the records that the group has consumed or can consume, by topic, partition and offset.

        With `state`, only those that are "available", "acquired", "acknowledged" or "archived". Records that were
        skipped, because the group began after them, are left out, and so are deleted ones.
        """
        arguments.optional(arguments.text, "topic", topic)
        return self._records(self._known(), checked_state(state), topic)

    def _records(self, seen: Seen, state: ShareState | None, topic: str | None) -> list[ShareRecord]:
        found: list[ShareRecord] = []
        for each in share_places(seen):
            if topic in (None, each.topic):
                found += records_of(self._cluster, each, state)
        return found

    def deliveries(self, topic: str, partition: int, offset: int) -> int:
        """Return how often a record was delivered; 0 if it was not delivered yet, or does not exist."""
        place = arguments.text("topic", topic), arguments.number("partition", partition)
        arguments.number("offset", offset)
        for each in share_places(self._known()):
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
        wanted = {state: arguments.at_least(1, state, n) for state, n in given.items() if n is not None}
        if not wanted:
            raise TypeError("wait_for() takes a number of records, as in wait_for(acknowledged=3)")
        arguments.optional(arguments.text, "topic", topic)

        def is_reached(seen: Seen) -> bool:
            places = [each for each in share_places(seen) if topic in (None, each.topic)]
            return all(
                sum(each.count(state) for each in places) >= n and len(self._records(seen, state, topic)) >= n
                for state, n in wanted.items()
            )

        what = " and ".join(f"{n} {state}" for state, n in wanted.items())
        plural = "record" if sum(wanted.values()) == 1 else "records"
        return self._wait(is_reached, f"{what} {plural}{'' if topic is None else f' of {topic}'}", timeout)

    def _failure(self, what: str, timeout: float | None, seen: Seen) -> str:
        text = super()._failure(what, timeout, seen)
        held = (
            [] if seen.state == DEAD else safely(lambda: [repr(each) for each in self._records(seen, "acquired", None)])
        )
        return "\n".join([text, *(f"  {each}" for each in limited(held, MOST_LINES))])

    # Change

    def expire_locks(self, topic: str | None = None, *, member_id: str | None = None) -> int:
        """Expire acquisition locks now, as if share.record.lock.duration.ms had passed. Return how many there were.

        They are those of all topics and members, of one topic, or of one member. Its records are available to all
        members again, or archived if they were delivered as often as `share.delivery.count.limit` allows. A late
        acknowledgement returns INVALID_RECORD_STATE.
        """
        arguments.optional(arguments.text, "topic", topic)
        arguments.optional(arguments.text, "the id of a member", member_id)

        def expire() -> int:
            self._existing()
            return sum(
                opened.expire_locks(member_id)
                for broker in self._cluster._server.brokers.values()
                for opened in broker.shares.opened()
                if opened.key.group_id == self.group_id and topic in (None, opened.partition.topic)
            )

        return self._cluster._server.call(expire)

    def _move(self, shard: Shard, offsets: Mapping[Place, int]) -> Delayed[Failures]:
        from kafkalet.broker.cluster.state_topics import SHARE_GROUP_STATE
        from kafkalet.broker.groups.share.group import group_to_join
        from kafkalet.broker.groups.share.initialization import Initialization, initialize
        from kafkalet.broker.groups.share.states import States, StateTopic

        self._cluster._server.controller.state_topic(SHARE_GROUP_STATE)
        group = group_to_join(shard, self.group_id)
        now_ms = shard.clock.now_ms()
        by_topic: dict[bytes, dict[int, int]] = {}
        topics: dict[bytes, StateTopic] = {}
        for (topic, partition), offset in offsets.items():
            topic_id = shard.node.metadata.existing_topic(topic).topic_id
            by_topic.setdefault(topic_id, {})[partition] = offset
            topics[topic_id] = StateTopic(topic, frozenset(by_topic[topic_id]), now_ms)
        group.commit([group.with_states((group.states or States()).begin(topics))])
        wanted = Initialization(self.group_id, group.group_epoch, by_topic)
        return initialize(persister(self._cluster), partial(shard_of, self._cluster), wanted)

    def delete(self) -> None:
        """Delete the group and the state of its records.

        Raises KafkaError with GROUP_ID_NOT_FOUND if it does not exist, and NON_EMPTY_GROUP if it has members.
        """

        def begin() -> Delayed[Failures]:
            from kafkalet.broker.groups.share.group import ShareGroup
            from kafkalet.broker.groups.share.initialization import delete_states, states_to_delete

            shard, group = self._existing()
            assert isinstance(group, ShareGroup)
            self._check_empty(shard, f"share group {self.group_id} cannot be deleted")
            return delete_states(persister(self._cluster), self.group_id, states_to_delete(group))

        self._change(begin)
        super().delete()

    def _change(self, change: Callable[[], Delayed[Failures] | None]) -> None:
        """Change the state of share partitions, wait until this is replicated, and open them again at the next fetch.

        Raises the first error.
        """
        server = self._cluster._server

        def start() -> Delayed[Failures]:
            changing = change()
            assert changing is not None
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


def share_places(seen: Seen) -> list[SharePlace]:
    """Return the partitions of a share group."""
    return [each for each in seen.positions if isinstance(each, SharePlace)]
