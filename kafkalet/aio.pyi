"""The types of kafkalet.aio. `python -m tools.aio_stub` writes this file from the classes of the test kit."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Never, Self, overload

from kafkalet.broker import arguments
from kafkalet.broker.arguments import BrokerProperties, PropertyValue
from kafkalet.broker.cluster.compaction import CleanedPartition, RetainedPartition
from kafkalet.broker.cluster.leadership import Peer
from kafkalet.broker.cluster.new_topics import Topics
from kafkalet.broker.cluster.tiering import TieredPartition
from kafkalet.broker.config.listeners import Address
from kafkalet.broker.network.journal import Unsupported
from kafkalet.broker.security.acl import Acl
from kafkalet.broker.views import LogOffsets, LogView, TransactionView
from kafkalet.clock import Clock as AnyClock
from kafkalet.clock import MovableClock as SyncMovableClock
from kafkalet.protocol.errors import Code
from kafkalet.protocol.releases import NEWEST
from kafkalet.testing.cluster import Broker as SyncBroker
from kafkalet.testing.cluster import Cluster as SyncCluster
from kafkalet.testing.connections import ClientConnection
from kafkalet.testing.faults import Fault as SyncFault
from kafkalet.testing.group import Group as SyncGroup
from kafkalet.testing.group import Member, ShareMember
from kafkalet.testing.hold import Hold as SyncHold
from kafkalet.testing.lag import Place
from kafkalet.testing.layout import LayoutKind
from kafkalet.testing.mirror import Begun, Mirror
from kafkalet.testing.nodes import BrokerNode as SyncBrokerNode
from kafkalet.testing.reading import Isolation
from kafkalet.testing.record import ANY, AnyValue, HeaderPairs, NewRecord, Record, Text, Time
from kafkalet.testing.requests import AnyMoment, Moment, Request
from kafkalet.testing.requests import Requests as SyncRequests
from kafkalet.testing.security import Acls as SyncAcls
from kafkalet.testing.security import Users as SyncUsers
from kafkalet.testing.share_group import ShareGroup as SyncShareGroup
from kafkalet.testing.share_records import ShareRecord, ShareState
from kafkalet.testing.snapshot import Snapshot
from kafkalet.testing.topic import Since, TopicMark, Where
from kafkalet.testing.topic import Topic as SyncTopic
from kafkalet.testing.transaction import OpenTransaction as SyncOpenTransaction
from kafkalet.testing.transaction import Transaction as SyncTransaction

class Topic(Mirror):
    """A topic; see `kafkalet.testing.topic.Topic`."""

    sync: SyncTopic
    name: str
    async def add_partitions(self, count: int) -> Topic:
        """Add `count` partitions, as CreatePartitions does. Their replicas are spread over the brokers.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
    async def append(self, data: bytes | bytearray | memoryview, partition: int = 0) -> int:
        """Append an encoded record batch, such as one from `kafkalet.protocol.records.build`. Return its first offset.

        The batch is validated like a batch from any producer. Raises KafkaError with the code that Produce returns, or
        ValueError if the bytes are not a complete batch.
        """
    async def append_batches(self, data: bytes | bytearray | memoryview, partition: int = 0) -> Topic:
        """Append entries exactly as they are: offsets, leader epochs, timestamps and checksums are not changed.

        `data` has the format of log files and Fetch responses: batches of format 2, or messages of format 0 or 1.
        Gaps between offsets, control batches, batches without records and wrong checksums are allowed. Control batches
        end transactions, and the state of producers is updated. `kafkalet.protocol.records.build` builds batches; their
        first offset must be at least `log(partition).log_end_offset`.

        Raises ValueError, and appends nothing, if a log cannot contain the data: an entry is incomplete, an offset is
        below the log end or decreases, a leader epoch decreases or has not begun yet, or a batch contradicts the state
        of its producer.
        """
    @property
    def config(self) -> dict[str, str]:
        """The properties that are set for the topic, keyed by Kafka's names for them. Other properties have the value
        of the brokers.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
    async def configure(self, config: Mapping[str, PropertyValue | None]) -> Topic:
        """Change properties of the topic, as in `{"retention.ms": 1000}`. None removes a property.

        Raises KafkaError with INVALID_CONFIG, and changes nothing, if a property is unknown or a value is invalid.
        """
    async def count(self, isolation: Isolation = "read_uncommitted") -> int:
        """Return the number of records that a consumer gets, from the log start of each partition."""
    async def create(
        self,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> Topic:
        """Create the topic unless it exists.

        By default, `partitions` and `replication_factor` are those of the broker properties `num.partitions` and
        `default.replication.factor`. Alternatively, `assignments` lists the broker ids of each partition's replicas,
        the leader first.

        Raises ValueError if the topic exists with another number of partitions or other values of `config`, and
        KafkaError with the code that CreateTopics returns: INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
        INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT or INVALID_CONFIG.
        """
    async def delete(self) -> None:
        """Delete the topic and its records.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
    async def delete_records(self, before: int, partition: int = 0) -> Topic:
        """Advance the log start offset to `before`, as retention or DeleteRecords does. Compacted topics are allowed.

        Records below `before` can no longer be read. Raises ValueError if `before` is below the log start offset or
        above the high watermark.
        """
    @property
    def exists(self) -> bool:
        """Whether the topic has been created."""
    def hold_high_watermark(self, at: int | None = None, partition: int = 0) -> Begun[Hold]:
        """Keep the high watermark at `at`, or at its current value, until the result is released.

        Records above it are appended, but consumers do not see them, and producers with acks=all wait for them. The
        last stable offset does not advance either. Raises ValueError if the high watermark is already above `at`,
        because it never decreases.
        """
    def isr(self, partition: int = 0) -> list[int]:
        """Return the ids of the brokers whose replicas of a partition are in sync, in ascending order."""
    async def layout(
        self,
        kind: LayoutKind,
        first: int | None = None,
        size: int | None = None,
        after: int | None = None,
        partition: int = 0,
    ) -> Topic:
        """Append `first` ordinary records, a special part of the given `size`, and `after` ordinary records.

        On an empty partition, the special part begins at offset `first`. Key and value of each record are its offset as
        text. The layouts, with records in brackets and markers as M, for first=2, size=3, after=2:

            gap                 [0 1] [5 6]            offsets that no batch contains, left by compaction
            segment_gap         [0 1] [5 6]            the same, and the second batch begins a new segment
            segments            [0 1] [2 3] ...        `size` more segments, each with a batch of two records
            empty_batch         [0 1] [] [5 6]         a batch without records for offsets 2 to 4, left by compaction
            compacted           [0 1] [2 6] [7 8]      a batch that lost the `size` records between first and last
            starts_with_marker  M M M [3 4]            markers of transactions without records; `first` is 0
            ends_with_marker    [0 1] [2 3 4] M        a committed transaction; `after` is 0
            only_markers        M M M                  offsets without a single record; `first` and `after` are 0
            committed           [0 1] [2 3 4] M [6 7]  a committed transaction
            aborted             [0 1] [2 3 4] M [6 7]  an aborted transaction, visible only to read_uncommitted
            open                [0 1] [2 3 4] [5 6]    a transaction that never ends; read_committed stops before it
            old_magic           3 messages of format 0, 3 in a compressed one, the same in format 1; `first` is 0
            future_timestamp    [0 1] [2 3 4] [5 6]    the special records are from next year
            no_timestamp        [0 1] [2 3 4] [5 6]    the special records have the timestamp -1
            same_timestamp      [0 1] [2] [3] [4] ...  batches of one record, all with the same timestamp
            falling_timestamps  [0 1] [2] [3] [4] ...  batches of one record, each a second older than the one before

        By default, `first` and `after` are 5 unless the kind excludes them, and `size` is 3. The maximum is 100,000,
        except for gaps. Creates the topic if it does not exist. Raises ValueError for an unknown kind, for a number
        out of range, and for a `first` or `after` that the kind excludes.
        """
    def leader(self, partition: int = 0) -> int | None:
        """Return the id of the broker that leads a partition, or None if it has no leader.

        This method and the following ones raise KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not
        exist.
        """
    def leader_epoch(self, partition: int = 0) -> int:
        """Return the leader epoch of a partition."""
    def log(self, partition: int = 0) -> LogView:
        """Return a view of the log of a partition's leader: its offsets, segments and batches.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist.
        """
    @property
    def logs(self) -> list[LogView]:
        """A view of the log of each partition."""
    async def mark(self) -> TopicMark:
        """Return the current end of the topic, to read or wait for later records only: `records(since=mark)`."""
    async def move_leader(self, to: int, partition: int = 0, *, unclean: bool = False) -> Topic:
        """Make broker `to` the leader of a partition, in a new leader epoch.

        Raises KafkaError with PREFERRED_LEADER_NOT_AVAILABLE if its replica is not in sync. With `unclean`, the replica
        becomes leader anyway, and the records that it lacks are lost. Raises ValueError if the broker has no replica.
        """
    async def new_leader_epoch(self, partition: int = 0) -> Topic:
        """Start a new leader epoch with the same leader. Clients with the old epoch have to refresh their metadata."""
    def offsets(self, partition: int = 0) -> LogOffsets:
        """Return the log start offset, last stable offset, high watermark and log end offset at one moment.

        Raises KafkaError with LEADER_NOT_AVAILABLE if the partition has no leader.
        """
    @property
    def partition_count(self) -> int:
        """The number of partitions, or 0 if the topic does not exist."""
    async def records(
        self, isolation: Isolation = "read_uncommitted", since: Since | None = None, partition: int | None = None
    ) -> list[Record]:
        """Return the records that a consumer can receive now, by partition and offset.

        `since` skips older records: those before a `mark()`, or those with a timestamp before a time. If the topic does
        not exist, the result is empty. Raises KafkaError with LEADER_NOT_AVAILABLE if a partition has no leader: its
        records cannot be read.
        """
    def replicas(self, partition: int = 0) -> list[int]:
        """Return the ids of the brokers with a replica of a partition, the preferred leader first."""
    async def send(
        self,
        value: Text | None,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Record:
        """Append a record, as if a producer had sent it with acks=all, and return it with partition and offset.

        A str is encoded as UTF-8. A value of None is a tombstone. `partition` and `timestamp` default as for
        `send_batch`.
        """
    async def send_batch(
        self,
        records: Iterable[Text | NewRecord | tuple[Text | None, Text | None] | None],
        *,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        compression: str = "none",
    ) -> list[Record]:
        """Append records, in one batch for each partition, and return them with partitions and offsets.

        An element is a value, a pair of key and value, or a `kafkalet.NewRecord`. `headers`, `timestamp` and
        `partition` are the defaults of records that have none of their own. Records that would exceed
        `max.message.bytes` together are appended in several batches, as by a producer. If a partition refuses its
        records, nothing is appended.

        Without `partition`, the key of a record determines its partition, as in the Java producer; all records without
        a key go to one partition, and to the next one with the next call. Without `timestamp`, which is in milliseconds
        or a datetime, records have the current time of the broker. `compression` is "none", "gzip", "snappy", "lz4" or
        "zstd".
        """
    async def send_json(
        self,
        value: Any,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Record:
        """Append a record with `value` as JSON, and return it. Raises TypeError if JSON cannot represent it."""
    def shrink_isr(self, *brokers: int, partition: int = 0) -> Begun[Hold]:
        """Remove followers from the in-sync replicas, and hold them back until the result is released.

        Producers with acks=all do not wait for them, and get NOT_ENOUGH_REPLICAS if fewer than
        `min.insync.replicas` are left. Raises ValueError if a broker is not a follower.
        """
    def take_offline(self, partition: int = 0, broker: int | None = None) -> Begun[Hold]:
        """Take the replicas of a partition offline, or only the one of a broker, as if their disk had failed.

        Requests to these replicas get KAFKA_STORAGE_ERROR. Another in-sync replica becomes leader; if there is none,
        the partition has no leader. When the result is released, the replicas open their logs again, and follow or
        lead; stopping and starting the broker does the same. Raises ValueError if there is no such replica online.
        """
    async def truncate(self, to: int, partition: int = 0) -> Topic:
        """Remove the records at and after offset `to`, as if a replica that lacked them had been elected leader.

        A new leader epoch begins, and the other replicas truncate as well. Producers that wait for removed records get
        NOT_LEADER_OR_FOLLOWER; consumers beyond `to` are reset or report the truncation. A batch that contains
        `to` is removed as a whole. Raises ValueError if `to` is not between the log start offset and the log end.
        """
    async def values(
        self, isolation: Isolation = "read_uncommitted", since: Since | None = None, partition: int | None = None
    ) -> list[bytes | None]:
        """Return the values of `records`."""
    async def wait_for(
        self,
        n: int = 1,
        where: Where | None = None,
        key: Text | AnyValue | None = ANY,
        value: Text | AnyValue | None = ANY,
        timeout: float | None = None,
        *,
        json: Any = ANY,
        headers: HeaderPairs | None = None,
        exactly: int | None = None,
        isolation: Isolation = "read_uncommitted",
        since: Since | None = None,
        partition: int | None = None,
    ) -> list[Record]:
        """Wait until `n` records match, and return the first `n`, ordered by partition and offset.

        A record matches if it has this `key` and `value`, its value is equal to `json` when parsed as JSON, it has
        these `headers` (and possibly others), and `where(record)` is true. None as key or value matches null. Records
        that are in the topic already count, unless `since` excludes them. Raises AssertionError after `timeout` seconds
        (by default `cluster.timeout`), with the records that did arrive, the closest match first.

        With `exactly` in place of `n`, the wait also fails as soon as more records match, and does not end while a
        partition has no leader. Later records cannot be excluded: call `settle` first, and then
        `wait_for(exactly=0)`, to check that no record arrives.

        Records count once they have arrived, even if they are deleted during the wait. But if they are truncated, or
        `Cluster.restore` replaces them, only those count that the topic contains then.
        """
    async def wait_until(
        self,
        predicate: Callable[[list[Record]], object],
        timeout: float | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        since: Since | None = None,
        partition: int | None = None,
    ) -> list[Record]:
        """Wait until `predicate(records)` is true for the records of the topic, and return these records.

        The predicate is called in the caller's thread, immediately and after each change, but not while a partition has
        no leader, because its records are unknown. Records that are truncated or replaced during the wait do not count,
        as for `wait_for`. Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """

class Fault(Mirror):
    """A fault; see `kafkalet.testing.faults.Fault`. Use it with `async with`."""

    sync: SyncFault
    options: Mapping[str, Any]
    @property
    def fired(self) -> int:
        """How often the fault has fired."""
    @property
    def number(self) -> int:
        """The number of the fault, from 1 on. Requests on which it fires are marked with it, as in `(fault 1)`."""
    async def release(self) -> None:
        """Handle the requests that the fault holds (`hang`, `barrier`, `delay`). This ends a fault with `hang`."""
    async def remove(self) -> None:
        """Remove the fault. Requests that it holds are handled, and slow responses are completed.

        A second call has no effect.
        """
    @property
    def seen(self) -> list[str]:
        """The latest requests that matched, as in `Produce v9 from 'app' for t-0`, whether the fault fired or not."""
    @property
    def text(self) -> str:
        """The call that has set the fault, as in `fault('Produce', times=2)`."""
    async def unfired(self) -> str | None:
        """Return what happened instead if the fault has fired less often than expected, else None."""
    async def wait_until_fired(self, n: int = 1, timeout: float | None = None) -> Fault:
        """Wait until the fault has fired `n` times, and return it.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...

class Group(Mirror):
    """A consumer group; see `kafkalet.testing.group.Group`."""

    sync: SyncGroup
    group_id: str
    @property
    def assignment(self) -> dict[str, set[Place]]:
        """The partitions of each member, as (topic, partition), by member id."""
    @overload
    async def committed(self) -> dict[Place, int]: ...
    @overload
    async def committed(self, topic: str, partition: int) -> int | None: ...
    async def delete(self) -> None:
        """Delete the group with its offsets, or with the state of its records.

        Raises KafkaError with GROUP_ID_NOT_FOUND if it does not exist, and NON_EMPTY_GROUP if it has members.
        """
    async def evict(self, member_id: str) -> Self:
        """Remove a member, given its member id or its `group.instance.id`, as if its session had timed out.

        The other members get its partitions. Records that it has acquired in a share group stay locked until the locks
        expire or its connection closes. A client that is still alive notices with its next heartbeat, and joins again
        as a new member. Raises ValueError if there is no such member.
        """
    @property
    def lag(self) -> int:
        """The sum of the lags of all partitions."""
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
    @property
    def members(self) -> list[Member]:
        """The members, in the order in which they joined."""
    @property
    def protocol(self) -> str:
        """The protocol of the group: "classic" or "consumer", or "" if the group does not exist."""
    async def rebalance(self) -> Group:
        """Start a rebalance, unless one is in progress. The members notice with their next heartbeats.

        Members of a classic group join again. A consumer group enters a new epoch with a new target assignment. Raises
        ValueError if the group has no members.
        """
    async def seek(
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
    @property
    def state(self) -> str:
        """The state of the group, as named by Kafka: "Empty", or "Stable" if all members have their partitions.

        A classic group may also be "PreparingRebalance" or "CompletingRebalance", a group with the consumer protocol
        "Assigning" or "Reconciling". A group that does not exist is "Dead".
        """
    async def wait_for_commit(self, topic: str, partition: int, offset: int, timeout: float | None = None) -> int:
        """Wait until the committed offset of a partition is at least `offset`, and return it.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
    async def wait_for_lag(self, lag: int = 0, timeout: float | None = None) -> Self:
        """Wait until the group has processed all records but `lag`: committed them or, in a share group, ended their
        deliveries.

        The wait continues while the group does not exist or rebalances, or a partition has no leader. Raises
        AssertionError after `timeout` seconds (by default `cluster.timeout`), with the members, offsets and lag.
        """
    async def wait_until_stable(self, members: int | None = None, timeout: float | None = None) -> Self:
        """Wait until the group has this number of members (by default at least one), all with their assignments.

        Except in classic groups, members release and get partitions with their next heartbeats, every 5 seconds unless
        the broker properties `group.consumer.heartbeat.interval.ms` and `group.consumer.min.heartbeat.interval.ms`, or
        `group.share.heartbeat.interval.ms` for share groups, are smaller.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """

class ShareGroup(Mirror):
    """A share group; see `kafkalet.testing.share_group.ShareGroup`."""

    sync: SyncShareGroup
    group_id: str
    @property
    def assignment(self) -> dict[str, set[Place]]:
        """The partitions of each member, as (topic, partition), by member id."""
    @property
    def config(self) -> dict[str, str]:
        """The properties of the group, by Kafka's names. Others have the values of the brokers."""
    async def configure(self, config: Mapping[str, arguments.PropertyValue | None]) -> ShareGroup:
        """Change properties of the group, as in `{"share.auto.offset.reset": "earliest"}`. None removes a property.

        The group need not exist. Raises KafkaError with INVALID_CONFIG, and changes nothing, if a property is unknown
        or a value is invalid.
        """
    async def delete(self) -> None:
        """Delete the group and the state of its records.

        Raises KafkaError with GROUP_ID_NOT_FOUND if it does not exist, and NON_EMPTY_GROUP if it has members.
        """
    def deliveries(self, topic: str, partition: int, offset: int) -> int:
        """Return how often a record was delivered; 0 if it was not delivered yet, or does not exist."""
    async def evict(self, member_id: str) -> Self:
        """Remove a member, given its member id or its `group.instance.id`, as if its session had timed out.

        The other members get its partitions. Records that it has acquired in a share group stay locked until the locks
        expire or its connection closes. A client that is still alive notices with its next heartbeat, and joins again
        as a new member. Raises ValueError if there is no such member.
        """
    async def expire_locks(self, topic: str | None = None, *, member_id: str | None = None) -> int:
        """Expire acquisition locks now, as if share.record.lock.duration.ms had passed. Return how many there were.

        They are those of all topics and members, of one topic, or of one member. Its records are available to all
        members again, or archived if they were delivered as often as `share.delivery.count.limit` allows. A late
        acknowledgement returns INVALID_RECORD_STATE.
        """
    @property
    def lag(self) -> int:
        """The sum of the lags of all partitions."""
    @property
    def lags(self) -> dict[Place, int]:
        """The lag by (topic, partition): the high watermark minus the start offset and the completed deliveries.

        Before the first fetch, it is the number of records that the group would get (share.auto.offset.reset). Raises
        KafkaError with LEADER_NOT_AVAILABLE if one of the partitions has no leader.
        """
    @property
    def members(self) -> list[ShareMember]:
        """The members, in the order in which they joined."""
    async def records(self, state: ShareState | None = None, topic: str | None = None) -> list[ShareRecord]:
        """Return the records that the group has consumed or can consume, by topic, partition and offset.

        With `state`, only those that are "available", "acquired", "acknowledged" or "archived". Records that were
        skipped, because the group began after them, are left out, and so are deleted ones.
        """
    async def seek(
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
    def start_offset(self, topic: str, partition: int = 0) -> int | None:
        """Return the start offset of a partition: all records below it are acknowledged or archived.

        None means that no member has fetched from the partition yet: `share.auto.offset.reset` decides then.
        """
    @property
    def start_offsets(self) -> dict[Place, int]:
        """The start offsets by (topic, partition)."""
    @property
    def state(self) -> str:
        """The state of the group, as named by Kafka: "Empty", or "Stable" if all members have their partitions.

        A classic group may also be "PreparingRebalance" or "CompletingRebalance", a group with the consumer protocol
        "Assigning" or "Reconciling". A group that does not exist is "Dead".
        """
    async def wait_for(
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
    async def wait_for_lag(self, lag: int = 0, timeout: float | None = None) -> Self:
        """Wait until the group has processed all records but `lag`: committed them or, in a share group, ended their
        deliveries.

        The wait continues while the group does not exist or rebalances, or a partition has no leader. Raises
        AssertionError after `timeout` seconds (by default `cluster.timeout`), with the members, offsets and lag.
        """
    async def wait_until_stable(self, members: int | None = None, timeout: float | None = None) -> Self:
        """Wait until the group has this number of members (by default at least one), all with their assignments.

        Except in classic groups, members release and get partitions with their next heartbeats, every 5 seconds unless
        the broker properties `group.consumer.heartbeat.interval.ms` and `group.consumer.min.heartbeat.interval.ms`, or
        `group.share.heartbeat.interval.ms` for share groups, are smaller.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """

class Transaction(Mirror):
    """The transaction of a transactional id; see `kafkalet.testing.transaction.Transaction`."""

    sync: SyncTransaction
    transactional_id: str
    async def abort(self, timeout: float | None = None) -> Transaction:
        """Abort the open transaction, as the coordinator does after its timeout, and wait for its markers.

        The producer is fenced. Raises KafkaError with INVALID_TXN_STATE if no transaction is open.
        """
    @property
    def coordinator(self) -> int:
        """The id of the broker that coordinates the transactional id."""
    async def describe(self) -> TransactionView:
        """Return all attributes at one moment."""
    @property
    def partitions(self) -> list[Place]:
        """The partitions in the open transaction or, while it is being completed, the partitions without a marker."""
    @property
    def producer_epoch(self) -> int:
        """The epoch of the current producer. Producers with an older epoch are fenced."""
    @property
    def producer_id(self) -> int:
        """The producer id of the current producer."""
    @property
    def started_ms(self) -> int:
        """The start time of the last transaction, in milliseconds since 1970, or -1 if there was none."""
    @property
    def state(self) -> str:
        """The state: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort.

        It is "Dead" if no producer has used the transactional id.
        """
    @property
    def timeout_ms(self) -> int:
        """The time after which the coordinator aborts an open transaction, in milliseconds."""
    async def wait_until(self, state: str, timeout: float | None = None) -> Transaction:
        """Wait until the transaction is in this state, such as "CompleteCommit", and return it.

        Returns immediately if the transaction is already in this state. Raises AssertionError after `timeout`
        seconds (by default `cluster.timeout`), and ValueError for an unknown state.
        """

class OpenTransaction(Mirror):
    """A transaction without a client; see `kafkalet.testing.transaction.OpenTransaction`. Use it with `async with`."""

    sync: SyncOpenTransaction
    transactional_id: str
    async def abort(self) -> None:
        """Abort the transaction, and wait until all markers are written."""
    async def commit(self) -> None:
        """Commit the transaction, and wait until all markers are written."""
    async def send(
        self,
        topic: str,
        value: Text | None,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Record:
        """Append a record in the transaction, and return it. The arguments are those of `Topic.send`.

        Raises KafkaError with PRODUCER_FENCED if another producer has begun a transaction with this id, and with the
        code that a producer would get otherwise.
        """
    async def send_offsets(self, group_id: str, offsets: Mapping[Place, int]) -> OpenTransaction:
        """Add offsets of a consumer group, keyed by (topic, partition), to the transaction. They are committed
        with it.
        """
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...

class Hold(Mirror):
    """A condition; see `kafkalet.testing.hold.Hold`. Use it with `async with`, or await `release`."""

    sync: SyncHold
    async def release(self) -> None:
        """End the condition. A second call has no effect."""
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...

class BrokerNode(Mirror):
    """A single broker; see `kafkalet.testing.nodes.BrokerNode`."""

    sync: SyncBrokerNode
    node_id: int
    @property
    def address(self) -> tuple[str, int]:
        """The host and port that the broker advertises. Raises RuntimeError if it is stopped."""
    async def cut_off(self, *peers: Peer) -> None:
        """Cut the broker off from clients, the other brokers, or the controller, as a partition of the network does.

        Connections stay open, but carry nothing. Without the other brokers, the broker does not follow their leaders,
        and its own partitions have no followers. Without the controller, it serves clients by the metadata of now, the
        ISR of its partitions does not change, and after `broker.session.timeout.ms` on the clock, other replicas become
        leaders of its partitions.
        """
    @property
    def cut_off_from(self) -> list[Peer]:
        """What the broker does not reach, and what does not reach it; everything if it is paused."""
    @property
    def is_paused(self) -> bool:
        """Whether `pause` has suspended the broker."""
    @property
    def is_running(self) -> bool:
        """Whether the broker is running; a paused one is, too."""
    async def kill(self) -> None:
        """Stop the broker as if its process was killed: unlike with `stop`, the cluster does not know that it is gone.

        It leads and coordinates until `broker.session.timeout.ms` has passed on the clock, or until it is started
        again, and leaves the ISR of other leaders that get records after `replica.lag.time.max.ms`. It keeps what it
        has written, but since Kafka 4.1, it is no longer an eligible leader when it is started again (KIP-966).
        """
    async def pause(self) -> None:
        """Suspend the broker, as SIGSTOP suspends its process.

        Connections stay open, but get no responses, and the broker does not follow other leaders. After
        `replica.lag.time.max.ms` it leaves the ISR of partitions whose leaders get records, and after
        `broker.session.timeout.ms` on the clock, other replicas become leaders of its partitions.
        """
    async def reconnect(self) -> None:
        """Let the broker reach everything again. Records that other leaders do not have are truncated."""
    async def resume(self) -> None:
        """Let a paused broker continue. It serves the requests that have arrived, and catches up with other leaders."""
    async def start(self) -> None:
        """Start the broker again, on the same port."""
    async def stop(self) -> None:
        """Stop the broker. Its listener closes, and other replicas become leaders of its partitions."""

class Clock(Mirror):
    """The clock of a cluster; see `kafkalet.testing.clock.Clock`."""

    sync: SyncMovableClock
    async def advance(
        self,
        by: timedelta | None = None,
        /,
        *,
        milliseconds: float = 0,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        sessions: bool = False,
    ) -> None:
        """Advance the clock, and run all timers that become due, in order and each at its due time.

        `advance(hours=2)` and `advance(timedelta(hours=2))` do the same; the arguments are added up. Returns when all
        timers have run. With `sessions`, the time of clients advances as well, so sessions of members expire, long
        polls end, and idle connections are closed. A `ManualClock` has only one time, so these always advance.

        If a timer raises an exception, this method raises it, and the clock stops at the due time of that timer. Raises
        TypeError or ValueError if an argument is not a number, or if the sum is negative or leads beyond the year 9999.
        Raises RuntimeError if it is called in an event loop while another thread is advancing the clock.
        """
    def now(self) -> datetime:
        """Return the current time as a datetime in UTC."""
    def now_ms(self) -> int:
        """Return the current time, in milliseconds since 1970 (UTC)."""

class Requests(Mirror):
    """The requests of clients; see `kafkalet.testing.requests.Requests`."""

    sync: SyncRequests
    def __iter__(self) -> Iterator[Request]: ...
    def __len__(self) -> int:
        """Return how many requests are kept."""
    def between(self, start: AnyMoment, end: AnyMoment | None = None) -> Requests:
        """Select the requests that arrived in a period. Without `end`, it has no end.

        `start` and `end` are marks (see `mark`), datetimes, or milliseconds since 1970, by the clock of this machine.
        A datetime without a time zone is local time.
        """
    async def clear(self) -> None:
        """Forget all requests and counts, including those of unsupported requests. Requests in progress remain."""
    async def count(
        self,
        *apis: str,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
    ) -> int:
        """Return the number of requests since the start or the last `clear`. The arguments are those of `filter`.

        Raises LookupError if the number is unknown because the journal has dropped requests. A count by API and client
        id is always known.
        """
    def filter(
        self,
        *apis: str,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
    ) -> Requests:
        """Select requests by API (any of those named), client id, topic, and errors in the response.

        `topic` selects requests that name the topic in the request or the response. A Fetch in a session may name only
        topics with new data. `errors` is True for responses with any error, False for those without, or names of
        errors. Raises ValueError if an API or an error does not exist.
        """
    @overload
    async def last(self, *, client_id: str | None = None) -> Request: ...
    @overload
    async def last(self, n: int, *, client_id: str | None = None) -> list[Request]: ...
    async def mark(self) -> Moment:
        """Return the current moment, for `between`. Later requests arrive after it."""
    @property
    def unsupported(self) -> list[Unsupported]:
        """The requests for APIs or versions that the broker does not serve; each client, API and version once.

        They do not depend on the selection. ApiVersions is an exception: a client may send it in any version to find
        out which versions are served.
        """
    async def wait_for(
        self,
        *apis: str,
        n: int = 1,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
        where: Callable[[Request], object] | None = None,
        timeout: float | None = None,
    ) -> list[Request]:
        """Wait until there are at least `n` requests, and return them. The arguments are those of `filter`.

        A request counts when it arrives, even if it has no response yet. `where` is called with each request and
        returns whether it counts. Requests from before the call count as well; use `clear` or `between` to exclude
        them. Raises AssertionError with the last requests after `timeout` seconds (by default `cluster.timeout`).
        """

class Acls(Mirror):
    """The ACLs of a cluster; see `kafkalet.testing.security.Acls`."""

    sync: SyncAcls
    def __contains__(self, acl: str | Acl) -> bool: ...
    def __iter__(self) -> Iterator[Acl]: ...
    def __len__(self) -> int: ...
    async def add(self, *acls: str | Acl) -> None:
        """Create ACLs. They apply to the next request of each client. Those that exist stay as they are.

        Raises RuntimeError if the cluster has no authorizer.
        """
    async def remove(self, *acls: str | Acl) -> None:
        """Delete ACLs. Raises ValueError, and deletes nothing, if one of them does not exist."""

class Users(Mirror):
    """The users who can log in with a password; see `kafkalet.testing.security.Users`."""

    sync: SyncUsers
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    async def add(self, name: str, password: str) -> None:
        """Create a user who can log in with PLAIN and SCRAM, or change the password.

        Connections of the user stay open. Raises RuntimeError if no listener uses SASL.
        """
    async def remove(self, name: str) -> None:
        """Remove a user, who can no longer log in. Connections of the user stay open. Raises ValueError if unknown."""

class Cluster(Mirror):
    """A cluster in the running event loop; see `kafkalet.testing.cluster.Cluster`. Use it with `async with`."""

    sync: SyncCluster
    @property
    def acls(self) -> Acls:
        """The ACLs, to add and remove them while the cluster is running."""
    async def assert_no_unsupported(self) -> None:
        """Raise AssertionError if a client sent a request for an API or a version that the broker does not serve.

        ApiVersions is an exception: a client may send it in any version to find out which versions are served.
        """
    @property
    def bootstrap_controllers(self) -> str:
        """The address of the controller, for admin clients that connect to it (`bootstrap.controllers`, KIP-919).

        Raises RuntimeError if the controller has no listener or is stopped, or if no broker is running.
        """
    @property
    def bootstrap_servers(self) -> str:
        """The address of every running broker as `host:port`, separated by commas.

        If the brokers have several listeners, these are the addresses of the first one. Raises RuntimeError if no
        broker is running.
        """
    def bootstrap_servers_of(self, listener: str) -> str:
        """Return the address of every running broker at a listener, such as "EXTERNAL".

        Raises ValueError if the brokers do not advertise the listener, and RuntimeError if no broker is running.
        """
    def broker(self, node_id: int) -> BrokerNode:
        """Return one broker of the cluster, to stop and start it.

        Raises ValueError if there is no such broker.
        """
    def brokers(self) -> list[BrokerNode]:
        """Return the brokers, running or stopped, by id."""
    async def client_config(
        self,
        user: str | None = None,
        *,
        client: str = "confluent-kafka",
        mechanism: str | None = None,
        listener: str | None = None,
    ) -> dict[str, Any]:
        """Return the settings with which a client connects, logs in as a user, and trusts the brokers' certificates.

        `client` is "confluent-kafka" (also for other clients made with librdkafka), "kafka-python", "aiokafka" or
        "java". `mechanism` is "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER"; the default is the first
        one that the listener enables. With OAUTHBEARER, the client has an unsecured token with the user's name.
        `listener` is the name of a listener; the default is the first one where the user can log in. At a listener
        with TLS but without SASL, the client of a user gets a certificate with the user's name.

        Raises ValueError if the user cannot log in.
        """
    @property
    def clock(self) -> Clock:
        """The clock of the brokers: the argument `clock`, by default a `kafkalet.Clock`, which shows real time.

        `cluster.clock.advance(hours=2)` runs everything that becomes due in the next two hours.
        """
    @property
    def connections(self) -> list[ClientConnection]:
        """The open connections of clients, to reset them, half-close them, or turn them into black holes."""
    def fail_log_dir(self, log_dir: int | str | os.PathLike[str] = 0, broker: int | None = None) -> Begun[Hold]:
        """Make a log directory of a broker fail, as if its disk broke: it is offline until the result is released.

        Its partitions return KAFKA_STORAGE_ERROR. Other in-sync replicas become leaders; without one, a partition has
        no leader. The release is like a repair of the disk and a restart of the broker: the logs in the directory are
        recovered, and its replicas lead or follow again. It raises OSError if the directory cannot be used.

        `log_dir` is the number of the directory in `data_dir`, or its path. `broker` is only needed if there are
        several. Raises ValueError if the directory does not exist or is offline already.
        """
    def fault(
        self,
        api: str | Iterable[str] | None = None,
        *,
        error: str | Code | None = None,
        delay: float | None = None,
        hang: bool = False,
        barrier: int | None = None,
        drop_response: bool = False,
        disconnect: Literal["before", "after"] | None = None,
        corrupt: bool | int = False,
        truncate: int | None = None,
        throttle: float | None = None,
        bandwidth: float | None = None,
        respond: Callable[[Any, Any], object] | None = None,
        topic: str | re.Pattern[str] | None = None,
        partition: int | None = None,
        group: str | re.Pattern[str] | None = None,
        client_id: str | re.Pattern[str] | None = None,
        version: int | range | None = None,
        broker: int | None = None,
        when: Callable[[Any], object] | None = None,
        times: int | None = None,
        nth: int | None = None,
        every: int | None = None,
        probability: float | None = None,
        seed: int = 0,
        strict: bool = True,
        **unknown: Never,
    ) -> Fault:
        """Make requests fail. `api` is the name of an API, as in "Produce", a list of names, or None for all.

        What happens to a request:

        * `error`: the response has this error, such as "NOT_LEADER_OR_FOLLOWER". With `topic`, `partition` or `group`,
          only these items of the request fail, and the others are served. A Produce request with acks=0 gets no
          response, so its connection is closed, as Kafka does on an error.
        * `delay`: the request is handled after this number of seconds. Later requests on the connection wait as well.
          If the client disconnects in the meantime, the request is still handled, as in Kafka.
        * `hang`: the request is handled when `release` is called, or when the fault ends.
        * `barrier`: requests are held until this number of them have arrived, and then handled in that order.
        * `drop_response`: the request is handled, but its response is lost, and so are all later ones on the
          connection, because responses must keep the order of requests. The connection stays open, and later requests
          are handled. The client notices when its request times out.
        * `disconnect`: "before" closes the connection instead of handling the request, "after" instead of responding.
        * `corrupt`: this number of bytes in the response are corrupted (True: 1). For Fetch, these are bytes of the
          records of each partition, so that their CRC is wrong. A response without records does not count, but later
          faults do not get its request.
        * `truncate`: the connection is closed after this number of bytes of the response, including its size field.
        * `throttle`: the response has this throttle time in seconds, and the broker mutes the client for as long.
        * `bandwidth`: the response is sent at this number of bytes per second. When the fault ends, the rest is sent
          immediately.

        * `respond`: this function is called with the decoded request and the decoded response (see
          kafkalet.protocol.messages). It may change the response, or return another one, or return `kafkalet.DROP`,
          which drops the response like `drop_response`. With `error`, the response is that with the error.

        One of `delay`, `hang` and `barrier` can be combined with any other option. `throttle`, `bandwidth` and
        `respond` can be combined with options that send a whole response.

        Which requests match: those that name this `topic`, `partition` and `group`, sent by this `client_id`, in this
        `version` (a number or a range) to this `broker` (an id), for which `when` returns true. It is called with the
        decoded request (see kafkalet.protocol.messages) in the event loop of the broker, so it must be quick. Names
        must be equal, and patterns (`re.compile`) must match the whole name.

        On which of them the fault fires: on all, on the first `times`, on the `nth` (counted from 1), on `every` n-th,
        or on each with a `probability`; `seed` makes the choice reproducible. Several faults are tried in the order in
        which they were set. The first one that fires takes the request: later ones neither count nor change it.

        In a `with` statement, the fault is removed at the end of the block, and AssertionError is raised if the fault
        has not fired, or less often than `times`. Without `with`, the fault stays until `remove` is called, and
        `unfired_faults` reports it; the pytest plugin does both at the end of the test. With `strict=False`, a fault
        need not fire.

        Raises ValueError if an option is invalid, for example because the response has no field for the error.
        """
    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that are set."""
    def group(self, group_id: str) -> Group:
        """Return a consumer group, to read, wait for, and change its members, offsets and lag.

        The state of a group that does not exist is "Dead".
        """
    def groups(self) -> list[Group]:
        """Return the consumer groups, by id. Those on a stopped broker without another replica are left out."""
    def hold_replication(self, broker: int, topic: str | None = None, partition: int | None = None) -> Begun[Hold]:
        """Stop a broker's replicas from following their leaders: all replicas, those of one topic, or a single one.

        When the result is released, the replicas catch up before `release` returns. The topic must exist, and the
        broker must have a replica of it. A replica that is currently the leader is affected once another replica
        becomes the leader. Deleting the topic ends the hold.
        """
    @property
    def is_running(self) -> bool:
        """True while the brokers accept requests."""
    async def java_properties_file(
        self, user: str | None = None, *, mechanism: str | None = None, listener: str | None = None
    ) -> str:
        """Write the settings of `client_config(..., client="java")` to a properties file, and return its path.

        The command-line tools of Kafka take the file as `--command-config`. It is removed when the cluster stops.
        """
    async def move_coordinator(
        self, *, group: str | None = None, transactional_id: str | None = None, to: int | None = None
    ) -> int:
        """Make broker `to` the coordinator of a group or a transactional id, and return its id.

        Without `to`, another broker with an in-sync replica is chosen. Other groups (or transactional ids) in the same
        partition of the internal topic move as well. Raises ValueError if no other broker can be the coordinator, and
        KafkaError (PREFERRED_LEADER_NOT_AVAILABLE) if the replica of `to` is not in sync.
        """
    def now_ms(self) -> int:
        """Return the time of the brokers, in milliseconds since 1970."""
    def open_transaction(self, transactional_id: str, timeout: float = 60.0) -> OpenTransaction:
        """Return a context manager that begins a transaction, without a client.

        The transaction fences an older producer with this transactional id. It is committed at the end of the block,
        and aborted on an exception. The coordinator aborts it if it is still open after `timeout` seconds.
        """
    def refuse_connections(self, broker: int | None = None) -> Hold:
        """Refuse new connections to a broker, or to all, until the result is released.

        Open connections continue; to end them, call `reset` on each of `connections`. A broker that is restarted in the
        meantime also refuses connections.
        """
    async def remove_faults(self) -> None:
        """Remove all faults, and forget whether they have fired."""
    @property
    def requests(self) -> Requests:
        """The requests that clients sent to the brokers, with the responses, since the start or the last `clear`."""
    async def reset(self) -> None:
        """Remove all topics, groups, transactions, quotas and changed configs, in about a millisecond.

        The topics, users and ACLs given to the constructor are created again; the topics are empty. The brokers keep
        their ports and start again if they were stopped. All connections are closed; clients reconnect and find the
        topics deleted. Faults are removed. The clock is not changed.
        """
    async def restore(self, snapshot: Snapshot) -> None:
        """Replace the contents with those of a snapshot.

        The brokers keep their ports, and all connections are closed. Clients reconnect as after a restart of the
        brokers. Groups have their committed offsets but no members; running members join again. Leader epochs are
        higher than before, because clients ignore older ones. Raises ValueError, and changes nothing, if the snapshot
        has another number of brokers, other broker ids, or configs that this release does not allow.
        """
    async def roll(self, timeout: float | None = None) -> None:
        """Restart every running broker, one after the other, each on the same port (a rolling restart).

        After each restart, wait until the replicas of the broker are in sync. Raises AssertionError if this takes more
        than `timeout` seconds (by default `cluster.timeout`). Leaders move to other brokers.
        """
    async def run_cleaner(self, *, roll: bool = False) -> list[CleanedPartition]:
        """Compact all logs that are due, by Kafka's rules and the clock of the brokers. Return what was done.

        In the background, this happens every `log.cleaner.backoff.ms`. A log is due if more than
        `min.cleanable.dirty.ratio` of a log has not been compacted yet, or if a record has not been compacted for
        `max.compaction.lag.ms`. The active segment of a log is never compacted, and neither are records that are
        younger than `min.compaction.lag.ms` or not below the last stable offset. With `roll`, the active segments are
        rolled first, so that records which were just written can be compacted.

        Each replica that was compacted is in the result once. The call returns when no log is due anymore.
        """
    async def run_retention(self) -> list[RetainedPartition]:
        """Delete all expired segments now. Which have expired depends on `retention.ms`, `retention.bytes` and the
        clock of the brokers.

        In the background, this happens every `log.retention.check.interval.ms`. Return the replicas whose segments
        were deleted.
        """
    async def run_tiering(self) -> list[TieredPartition]:
        """Copy all segments that are due to remote storage, and delete those that have expired there.

        In the background, this happens every `remote.log.manager.task.interval.ms`, if the brokers have tiered storage
        (`remote.log.storage.system.enable`). The active segment of a log is never copied. Local segments that have been
        copied are deleted by `run_retention`. Return the partitions whose remote segments have changed. Raises
        RuntimeError without tiered storage.
        """
    async def settle(
        self,
        timeout: float | None = None,
        *,
        groups: bool | Collection[str] = True,
        transactions: bool = True,
        requests: bool = True,
    ) -> None:
        """Wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is open.

        A record that is missing after that will not arrive. A Fetch request that waits for records is not in progress.
        A request to which the broker will never respond is: Produce with null records, to which Kafka does not respond
        either. A partition without a leader is not quiet, because its records are unknown and producers wait for its
        leader.

        With `groups=True`, every group with members counts; a list of ids names the groups, with or without members.
        `groups=False`, `transactions=False` and `requests=False` switch a condition off; the last one also ignores
        partitions without a leader. The brokers cannot see a client between two requests, or one that consumes without
        a group: wait for an application to start first, for example with `group(...).wait_until_stable()`.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`), whose message lists what is
        still in progress.
        """
    def share_group(self, group_id: str) -> ShareGroup:
        """Return a share group, to read, wait for, and change its members and the state of its records.

        The state of a group that does not exist is "Dead".
        """
    def share_groups(self) -> list[ShareGroup]:
        """Return the share groups, by id, like `groups`."""
    async def snapshot(self) -> Snapshot:
        """Return a copy of the contents, to `restore` them later or in another cluster.

        It contains topics, their records and offsets, groups and committed offsets, open transactions, producer ids,
        configs, quotas, ACLs and SCRAM credentials, but not the clock, held replication or high watermarks, or offsets
        committed with OffsetCommit v0. Clients are not disturbed. Raises RuntimeError if a broker is stopped.
        """
    def stop_controller(self) -> Begun[Hold]:
        """Let no controller be active until the result is released, as if the processes of all controllers had ended.

        Leaders, ISRs and topics do not change, and requests of clients for the controller wait, for a minute at most.
        Brokers that were lost in the meantime are fenced when `broker.session.timeout.ms` has passed on the clock after
        the release.
        """
    @property
    def timeout(self) -> float:
        """The timeout of waits that specify none, in seconds."""
    @timeout.setter
    def timeout(self, seconds: float) -> None: ...
    def topic(
        self,
        name: str,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """Return a topic, to send, read and wait for records.

        With `partitions`, `config` or `replication_factor`, the topic is created unless it exists. Without them, the
        first `send` creates it with the broker's defaults. Raises ValueError if the topic exists with other partitions
        or config.
        """
    def topics(self, *, internal: bool = False) -> list[Topic]:
        """Return the topics, by name; with `internal`, those that Kafka creates for itself as well."""
    def transaction(self, transactional_id: str) -> Transaction:
        """Return the transaction of a transactional id, to read its state, wait for it, or abort the transaction.

        The state of a transactional id that no producer has used is "Dead".
        """
    def transactions(self) -> list[Transaction]:
        """Return the transactions of all transactional ids, by id, like `groups`."""
    async def unfired_faults(self) -> list[str]:
        """For each fault that has fired less often than expected, return what happened instead.

        Faults whose `with` block has ended are not included. May be called after the cluster has stopped.
        """
    @property
    def users(self) -> Users:
        """The users who can log in with a password, to add and remove them while the cluster is running."""
    def __init__(
        self,
        brokers: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        controller: str | None = None,
        advertise: Address | Mapping[str, Address] | None = None,
        racks: Sequence[str] | None = None,
        data_dir: arguments.DataDir | None = None,
        read_only: bool = False,
        config: BrokerProperties | None = None,
        topics: Topics = (),
        version: str = NEWEST,
        features: Mapping[str, int] | None = None,
        clock: AnyClock | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        super_users: Mapping[str, str] | Iterable[str] = (),
        acls: Iterable[str | Acl] = (),
        timeout: float = 10.0,
        **unknown: Never,
    ) -> None: ...
    @classmethod
    def around(cls, cluster: SyncCluster) -> Self: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...

class Broker(Cluster):
    """A cluster of one broker; see `kafkalet.testing.cluster.Broker`."""

    sync: SyncBroker
    @property
    def port(self) -> int:
        """The advertised port. Raises RuntimeError if the broker is not running."""
    def __init__(
        self,
        brokers: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        controller: str | None = None,
        advertise: Address | Mapping[str, Address] | None = None,
        racks: Sequence[str] | None = None,
        data_dir: arguments.DataDir | None = None,
        read_only: bool = False,
        config: BrokerProperties | None = None,
        topics: Topics = (),
        version: str = NEWEST,
        features: Mapping[str, int] | None = None,
        clock: AnyClock | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        super_users: Mapping[str, str] | Iterable[str] = (),
        acls: Iterable[str | Acl] = (),
        timeout: float = 10.0,
        **unknown: Never,
    ) -> None: ...
