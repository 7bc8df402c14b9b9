"""The topics of the test kit: send, read and wait for records without a client."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record as StoredRecord

from .reading import Isolation, PartitionReader, checked_isolation, without_leader
from .record import HeaderPairs, Record, Text, Time, encoded, header_pairs, milliseconds, shown
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.arguments import PropertyValue
    from kafkalet.broker.cluster.partition import Partition
    from kafkalet.broker.views import LogView
    from kafkalet.storage.acceptance import ValidatedBatches
    from kafkalet.storage.values import Isolation as StorageIsolation

    from .operations import ClusterOperations
    from .shape import HeldHighWatermark, ShapeKind

Where = Callable[[Record], object]
"""A predicate: a record matches if the result is true. It runs in the thread of the caller."""

MAX_BATCH_RECORDS = 1_000_000
SHOWN_RECORDS = 10
"""The number of records that the message of a failed wait shows."""
COMPARED_RECORDS = 200
"""The number of records compared with the expected one, in addition to those with the same key or value."""


class Mark:
    """A position at the end of a topic, returned by `Topic.mark`. Pass it as `since` to skip earlier records."""

    __slots__ = ("epochs", "offsets", "topic", "topic_id")

    def __init__(
        self,
        topic: str,
        offsets: Mapping[int, int],
        topic_id: bytes | None = None,
        epochs: Mapping[int, int] | None = None,
    ) -> None:
        self.topic = topic
        self.offsets = dict(offsets)
        """The log end offset of each partition."""
        self.topic_id = topic_id
        """The id of the topic. All records of a topic that was created later are after the mark."""
        self.epochs = dict(epochs or {})
        """The leader epoch of each partition. Records that replaced older ones since are after the mark."""

    def __repr__(self) -> str:
        return f"<Mark in {self.topic} at {self.offsets}>"


Since = Mark | Time
"""Where to start reading: a `Mark`, or a time; records with an older timestamp are then skipped."""


class Outgoing(NamedTuple):
    """A record to send."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None
    """None means the current time of the broker."""
    partition: int | None
    """None means that the key determines the partition."""


class Extent(NamedTuple):
    """What a consumer can read of a topic at one moment."""

    identity: object
    """None if the topic does not exist. It changes when records that were read may not exist anymore: the topic was
    created again, or a partition has a new leader epoch, as after a truncation and after `Cluster.restore`.
    """
    ends: dict[int, int | None]
    """The end of the visible records in each partition, or None if it has no leader."""


class Topic:
    """A topic of a cluster, which need not exist yet. `send` creates it with the broker's defaults.

    Methods raise KafkaError with the code that a client would get, and TypeError or ValueError for invalid arguments.
    """

    def __init__(self, cluster: ClusterOperations, name: str) -> None:
        self._cluster = cluster
        self.name = name

    def __repr__(self) -> str:
        if not self._cluster.is_running or not self.exists:
            return f"<topic {self.name}>"
        return f"<topic {self.name}: offsets {', '.join(map(self._offsets_shown, range(self.partitions)))}>"

    def _offsets_shown(self, partition: int) -> str:
        try:
            offsets = self.log(partition).offsets
        except KafkaError as error:
            return error.code.name
        return f"{offsets[0]}..{offsets[3]}"

    # The topic

    def create(
        self,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """Create the topic unless it exists.

        Raises ValueError if it exists with another number of partitions or other values of `config`, and KafkaError if
        it cannot be created.
        """
        wanted = arguments.properties(f"the config of topic {self.name}", config)
        if not self.exists:
            count = -1 if partitions is None else partitions
            replicas = -1 if replication_factor is None else replication_factor
            try:
                self._cluster.create_topic(self.name, count, replicas, wanted)
            except KafkaError as error:  # a client or another thread may have created it in the meantime
                if error.code is not Code.TOPIC_ALREADY_EXISTS:
                    raise
        state = self._cluster._server.metadata.topics[self.name]
        if partitions is not None and partitions != len(state.partitions):
            raise ValueError(f"topic {self.name} exists with partitions={len(state.partitions)}, not {partitions}")
        for name, value in wanted.items():
            if state.config.get(name) != value:
                raise ValueError(f"topic {self.name} exists with {name}={state.config.get(name)}, not {value}")
        return self

    def delete(self) -> None:
        """Delete the topic and its records."""
        self._cluster.delete_topic(self.name)

    @property
    def exists(self) -> bool:
        """Whether the topic has been created."""
        return self._cluster._server.call(lambda: self.name in self._cluster._server.metadata.topics)

    @property
    def partitions(self) -> int:
        """The number of partitions, or 0 if the topic does not exist."""

        def count() -> int:
            state = self._cluster._server.metadata.topics.get(self.name)
            return 0 if state is None else len(state.partitions)

        return self._cluster._server.call(count)

    def log(self, partition: int = 0) -> LogView:
        """Return a view of the log of a partition: its offsets, segments and batches."""
        return self._cluster.log(self.name, partition)

    @property
    def logs(self) -> list[LogView]:
        """A view of the log of each partition."""
        return [self.log(partition) for partition in range(self.partitions)]

    # Send

    def send(
        self,
        value: Text | None,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Topic:
        """Append a record, as if a producer had sent it with acks=all.

        A str is encoded as UTF-8. A value of None is a tombstone. `partition` and `timestamp` default as for
        `send_batch`.
        """
        return self.send_batch([(key, value)], headers=headers, timestamp=timestamp, partition=partition)

    def send_json(
        self,
        value: Any,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Topic:
        """Append a record whose value is `value` as JSON. Raises TypeError if JSON cannot represent it."""
        return self.send(json.dumps(value), key, headers, timestamp, partition)

    def send_batch(
        self,
        values: Iterable[Text | tuple[Text | None, Text | None] | None],
        *,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        compression: str = "none",
    ) -> Topic:
        """Append records, in one batch for each partition. An element is a value or a pair of key and value.

        Records that would exceed `max.message.bytes` together are appended in several batches, as by a producer.
        Without `partition`, the key of a record determines its partition, as in the Java producer; all records without
        a key go to one partition, and to the next one with the next call. Without `timestamp`, which is in milliseconds
        or a datetime, records have the current time of the broker. `compression` is "none", "gzip", "snappy", "lz4" or
        "zstd".
        """
        codec = _codec(compression)
        self._send(outgoing(values, headers, timestamp, partition), codec)
        return self

    def _send(self, records: Sequence[Outgoing], codec: Codec) -> list[tuple[int, int]]:
        """Append records as `send_batch` does, and return the partition and the offset of each.

        Unless all partitions accept their records, nothing is appended. Raises KafkaError; if appending fails
        nevertheless, as with a broken disk, its message names the partitions that were written before.
        """
        by_partition, places = self._encode(records)
        batches = [
            (index, batch) for index, part in by_partition.items() for batch in self._batches(index, part, codec)
        ]
        first_offsets = self._append(batches)
        return [(index, first_offsets[index] + delta) for index, delta in places]

    def _encode(self, records: Sequence[Outgoing]) -> tuple[dict[int, list[StoredRecord]], list[tuple[int, int]]]:
        """Return the records to append by partition, and the place of each in the result.

        Their offsets start at 0 in each partition. Creates the topic if it does not exist.
        """
        now_ms = self._cluster.now_ms()
        by_partition: dict[int, list[StoredRecord]] = {}
        places: list[tuple[int, int]] = []
        for record, index in zip(records, self._partitions_for(records), strict=True):
            time_ms = now_ms if record.timestamp_ms is None else record.timestamp_ms
            part = by_partition.setdefault(index, [])
            places.append((index, len(part)))
            part.append(StoredRecord(len(part), time_ms, record.key, record.value, record.headers))
        return by_partition, places

    def _partitions_for(self, records: Sequence[Outgoing]) -> list[int]:
        """Return the partition of each record. Creates the topic if it does not exist."""
        count = self.create().partitions
        for given in {record.partition for record in records if record.partition is not None}:
            if not 0 <= given < count:
                raise ValueError(f"partition {given} does not exist; topic {self.name} has {count}")
        turns = self._cluster._turns
        turn = turns.get(self.name, 0)
        if any(record.partition is None and record.key is None for record in records):
            turns[self.name] = turn + 1
        return [
            record.partition
            if record.partition is not None
            else turn % count
            if record.key is None
            else partition_of(record.key, count)
            for record in records
        ]

    def _batches(self, partition: int, records: Sequence[StoredRecord], codec: Codec) -> Iterator[bytes]:
        """Yield the records in batches that the topic accepts. A record that is too large is in a batch alone."""
        batch = build_batch(records, codec=codec)
        most_bytes = self._most_batch_bytes(partition) if len(records) > 1 else len(batch)
        if len(batch) <= most_bytes:
            yield batch
            return
        number = 1 + math.ceil(len(batch) / most_bytes)  # one more, because batches differ in size
        size = math.ceil(len(records) / min(number, len(records)))
        for start in range(0, len(records), size):
            part = [record._replace(offset=at) for at, record in enumerate(records[start : start + size])]
            yield from self._batches(partition, part, codec)

    def _most_batch_bytes(self, partition: int) -> int:
        def look() -> int:
            config = self._leader(partition).log.config
            return min(config.max_message_bytes, config.segment_bytes)

        return self._cluster._server.call(look)

    def _append(self, batches: Sequence[tuple[int, bytes]]) -> dict[int, int]:
        """Append batches, and return the first offset in each partition. Raises KafkaError; see `_send`."""

        def append() -> dict[int, int]:
            leaders = [self._leader(index) for index, _ in batches]
            for leader in leaders:
                leader.check_replicas()
            accepted = [self._accepted(leader, batch) for leader, (_, batch) in zip(leaders, batches, strict=True)]
            first_offsets: dict[int, int] = {}
            for leader, part, (index, batch) in zip(leaders, accepted, batches, strict=True):
                try:
                    appended = leader.produce_validated(part) or leader.append(bytearray(batch))
                except KafkaError as error:
                    raise self._refused(index, error, first_offsets) from error
                first_offsets.setdefault(index, appended.first_offset)
            return first_offsets

        return self._cluster._server.call(append)

    def _accepted(self, leader: Partition, batch: bytes) -> ValidatedBatches:
        try:
            return leader.log_for(None).validation(bytearray(batch), leader.leader_epoch)()
        except KafkaError as error:
            raise self._refused(leader.index, error) from error

    def _leader(self, partition: int) -> Partition:
        return self._cluster._server.leadership.leader_of(self.name, partition)

    def _refused(self, partition: int, error: KafkaError, written: Iterable[int] = ()) -> KafkaError:
        """Return the error of an append to a partition, after others have been written."""
        names = ", ".join(f"{self.name}-{index}" for index in sorted(written))
        text = f"{self.name}-{partition}: {str(error).removeprefix(f'{error.code.name}: ')}"
        return KafkaError(error.code, f"{text}; records were appended to {names}" if names else text)

    # Read

    def records(
        self, isolation: Isolation = "read_uncommitted", since: Since | None = None, partition: int | None = None
    ) -> list[Record]:
        """Return the records that a consumer can receive now, by partition and offset.

        `since` skips older records: those before a `mark()`, or those with a timestamp before a time. If the topic does
        not exist, the result is empty. Raises KafkaError with LEADER_NOT_AVAILABLE if a partition has no leader: its
        records cannot be read.
        """
        reading = _Reading(self, isolation, since, partition)
        found = reading.read()
        if reading.leaderless:
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, f"topic {self.name}: {reading.leaderless}")
        return found

    def values(
        self, isolation: Isolation = "read_uncommitted", since: Since | None = None, partition: int | None = None
    ) -> list[bytes | None]:
        """Return the values of `records`."""
        return [record.value for record in self.records(isolation, since, partition)]

    def _reader(self, partition: int, isolation: StorageIsolation, offset: int) -> PartitionReader:
        return PartitionReader(self._cluster, self.name, partition, isolation, offset)

    def _extent(self, isolation: StorageIsolation) -> Extent:
        server = self._cluster._server

        def look() -> Extent:
            state = server.metadata.topics.get(self.name)
            if state is None:
                return Extent(None, {})
            ends: dict[int, int | None] = {}
            for partition in state.partitions:
                try:
                    ends[partition.index] = isolation.bound(server.leadership.leader_of(self.name, partition.index).log)
                except KafkaError:
                    ends[partition.index] = None
            return Extent((state.topic_id, [each.leader_epoch for each in state.partitions]), ends)

        return server.call(look)

    def _after(self, mark: Mark, partition: int) -> int:
        """Return the offset of the first record after a mark.

        It is lower than the marked one if the log was truncated below it (OffsetForLeaderEpoch, KIP-320).
        """
        server = self._cluster._server
        marked, epoch = mark.offsets.get(partition, 0), mark.epochs.get(partition)

        def look() -> int:
            if mark.topic_id not in (None, server.metadata.existing_topic(self.name).topic_id):
                return 0
            leader = server.leadership.leader_of(self.name, partition)
            if epoch in (None, leader.leader_epoch):
                return marked
            end = leader.log.end_offset_for_epoch(epoch).start_offset
            return marked if end < 0 else min(marked, end)

        return server.call(look)

    def mark(self) -> Mark:
        """Return the current end of the topic, to read or wait for later records only: `records(since=mark)`."""
        server = self._cluster._server

        def mark() -> Mark:
            state = server.metadata.topics.get(self.name)
            if state is None:
                return Mark(self.name, {})
            leaders = [server.leadership.leader_of(self.name, each.index) for each in state.partitions]
            ends = {leader.index: leader.log.log_end_offset for leader in leaders}
            return Mark(self.name, ends, state.topic_id, {leader.index: leader.leader_epoch for leader in leaders})

        return server.call(mark)

    @property
    def visible(self) -> int:
        """The number of records that a consumer gets with read_uncommitted, from the log start of each partition."""
        return len(self.records())

    @property
    def visible_committed(self) -> int:
        """The number of records that a consumer gets with read_committed, from the log start of each partition."""
        return len(self.records("read_committed"))

    # Shape

    def append_batches(self, data: bytes | bytearray | memoryview, partition: int = 0) -> Topic:
        """Append entries exactly as they are: offsets, leader epochs, timestamps and checksums are not changed.

        `data` has the format of log files and Fetch responses: batches of format 2, or messages of format 0 or 1.
        Gaps between offsets, control batches, batches without records and wrong checksums are allowed. Control batches
        end transactions, and the state of producers is updated. `kafkalet.protocol.records.build` builds batches; their
        first offset must be at least `log(partition).log_end_offset`.

        Raises ValueError, and appends nothing, if a log cannot contain the data: an entry is incomplete, an offset is
        below the log end or decreases, a leader epoch decreases or has not begun yet, or a batch contradicts the state
        of its producer.
        """
        from . import shape

        self.create()
        shape.append_batches(self._cluster, self.name, data, partition)
        return self

    def shape(
        self,
        kind: ShapeKind,
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
        from . import shape

        self.create()
        shape.shape(self._cluster, self.name, kind, first=first, size=size, after=after, partition=partition)
        return self

    def advance_log_start(self, offset: int, partition: int = 0) -> Topic:
        """Advance the log start offset, as retention or DeleteRecords does. Compacted topics are allowed.

        Records below `offset` can no longer be read. Raises ValueError if `offset` is below the log start offset or
        above the high watermark.
        """
        from . import shape

        shape.advance_log_start(self._cluster, self.name, offset, partition)
        return self

    def hold_high_watermark(self, at: int | None = None, partition: int = 0) -> HeldHighWatermark:
        """Keep the high watermark from advancing beyond `at`, or beyond its current value.

        Records above it are appended, but consumers do not see them, and producers with acks=all wait for them. The
        last stable offset does not advance either. The hold ends with `release_high_watermark`, or with the `with`
        block of the result. Raises ValueError if the high watermark is already above `at`, because it never decreases.
        """
        from . import shape

        self.create()
        return shape.hold_high_watermark(self._cluster, self.name, at, partition)

    def release_high_watermark(self, partition: int = 0) -> Topic:
        """Let the high watermark advance again. If it is not held, nothing changes."""
        from . import shape

        shape.release_high_watermark(self._cluster, self.name, partition)
        return self

    # Leaders and replicas

    def truncate(self, to: int, partition: int = 0) -> Topic:
        """Remove the records at and after offset `to`, as if a replica that lacked them had been elected leader.

        A new leader epoch begins, and the other replicas truncate as well. Producers that wait for removed records get
        NOT_LEADER_OR_FOLLOWER; consumers beyond `to` are reset or report the truncation. A batch that contains
        `to` is removed as a whole. Raises ValueError if `to` is not between the log start offset and the log end.
        """
        from . import shape

        shape.truncate(self._cluster, self.name, to, partition)
        return self

    def new_leader_epoch(self, partition: int = 0) -> Topic:
        """Start a new leader epoch with the same leader. Clients with the old epoch have to refresh their metadata."""
        from . import shape

        shape.new_leader_epoch(self._cluster, self.name, partition)
        return self

    def move_leader(self, to: int, partition: int = 0, *, unclean: bool = False) -> Topic:
        """Make broker `to` the leader of a partition, in a new leader epoch.

        Raises KafkaError with PREFERRED_LEADER_NOT_AVAILABLE if its replica is not in sync. With `unclean`, the replica
        becomes leader anyway, and the records that it lacks are lost. Raises ValueError if the broker has no replica.
        """
        from . import shape

        shape.move_leader(self._cluster, self.name, to, partition, unclean=unclean)
        return self

    def take_offline(self, partition: int = 0, broker: int | None = None) -> Topic:
        """Take the replicas of a partition offline, or only the one of a broker, as if their disk had failed.

        Requests to these replicas get KAFKA_STORAGE_ERROR. Another in-sync replica becomes leader; if there is none,
        the partition has no leader. Stopping and starting the broker, or `bring_online`, brings them back. Raises
        ValueError if there is no such replica online.
        """
        from . import shape

        shape.take_offline(self._cluster, self.name, partition, broker)
        return self

    def bring_online(self, partition: int = 0, broker: int | None = None) -> Topic:
        """Undo `take_offline`: the replicas open their logs again, and follow or lead.

        Raises ValueError if there is no such replica offline.
        """
        from . import shape

        shape.bring_online(self._cluster, self.name, partition, broker)
        return self

    def shrink_isr(self, *brokers: int, partition: int = 0) -> Topic:
        """Remove followers from the in-sync replicas, and hold them back so that they stay out.

        Producers with acks=all do not wait for them, and get NOT_ENOUGH_REPLICAS if fewer than
        `min.insync.replicas` are left. Raises ValueError if a broker is not a follower.
        """
        from . import shape

        shape.shrink_isr(self._cluster, self.name, brokers, partition)
        return self

    def expand_isr(self, partition: int = 0) -> Topic:
        """Let the followers of a partition that are held back catch up; they join the in-sync replicas again."""
        from . import shape

        shape.expand_isr(self._cluster, self.name, partition)
        return self

    # Wait

    def wait_for(
        self,
        n: int = 1,
        where: Where | None = None,
        key: Text | None = None,
        value: Text | None = None,
        timeout: float | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        since: Since | None = None,
        partition: int | None = None,
    ) -> list[Record]:
        """Wait until `n` records match, and return the first `n`, ordered by partition and offset.

        A record matches if it has this `key` and `value` (if given) and `where(record)` is true. Records that are in
        the topic already count, unless `since` excludes them. Raises AssertionError after `timeout` seconds (by default
        `cluster.timeout`), with the records that did arrive, the closest match first.

        Records count once they have arrived, even if they are deleted during the wait. But if they are truncated, or
        `Cluster.restore` replaces them, only those count that the topic contains then.
        """
        if arguments.number("n", n) < 1:
            raise ValueError(
                f"n is {n}; it must be at least 1. To check that no record arrives, call settle(), then records()"
            )
        __tracebackhide__ = True
        wanted = _Wanted(where, encoded("key", key), encoded("value", value))
        reading = _Reading(self, isolation, since, partition)
        arrived: list[Record] = []
        matching: list[Record] = []

        def look() -> list[Record] | None:
            new = reading.read()
            if reading.has_restarted:
                arrived.clear()
                matching.clear()
            arrived.extend(new)
            matching.extend([record for record in new if wanted.matches(record)])
            return matching if len(matching) >= n else None

        def failure() -> str:
            what = f"{n} record{'s' if n > 1 else ''}{wanted}"
            got = (
                f"{len(matching)} of the {len(arrived)} records in the topic match" if arrived else "no record arrived"
            )
            return self._failure(f"for {what}", timeout, got, reading, wanted.closest_first(arrived), len(arrived))

        wait(self._cluster, look, timeout, failure)
        matching.sort(key=lambda record: (record.partition, record.offset))
        return matching[:n]

    def wait_until(
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
        __tracebackhide__ = True
        if not callable(predicate):
            raise TypeError(f"wait_until takes a function of a list of records, not {arguments.shown(predicate)}")
        reading = _Reading(self, isolation, since, partition)
        arrived: list[Record] = []

        def look() -> list[Record] | None:
            new = reading.read()
            if reading.has_restarted:
                arrived.clear()
            if new:
                arrived.extend(new)
                arrived.sort(key=lambda record: (record.partition, record.offset))
            return arrived if not reading.leaderless and predicate(arrived) else None

        def failure() -> str:
            name = getattr(predicate, "__name__", repr(predicate))
            got = f"it is false for the {len(arrived)} records in the topic" if arrived else "no record arrived"
            latest = arrived[-SHOWN_RECORDS:][::-1]
            return self._failure(f"for {name} to be true", timeout, got, reading, latest, len(arrived))

        return list(wait(self._cluster, look, timeout, failure))

    def _failure(
        self, what: str, timeout: float | None, got: str, reading: _Reading, records: Sequence[Record], arrived: int
    ) -> str:
        """Describe a wait that has timed out. `records` arrived, the most interesting ones first."""
        lines = [f"topic {self.name}: waited {timeout_s(self._cluster, timeout):g} s {what}: {got}"]
        lines += [f"  {record!r}" for record in records[:SHOWN_RECORDS]]
        if arrived > SHOWN_RECORDS:
            lines.append(f"  and {arrived - SHOWN_RECORDS} more")
        if reading.leaderless:
            lines.append(f"  {reading.leaderless}")
        if not self._cluster.is_running or not self.exists:
            known = list(self._cluster._server.metadata.topics)  # a copy, because the event loop may change it
            names = sorted(name for name in known if not name.startswith("__"))
            lines.append(f"  topic {self.name} does not exist; topics: {', '.join(names[:20]) or 'none'}")
        return "\n".join(lines)


class _Reading:
    """Reads the partitions of a topic. Each `read` returns what has become visible since the last one."""

    def __init__(self, topic: Topic, isolation: str, since: Since | None, partition: int | None) -> None:
        self._topic = topic
        self._isolation = checked_isolation(isolation)
        self._mark = since if isinstance(since, Mark) else None
        self._from_ms = None if since is None or isinstance(since, Mark) else milliseconds("since", since)
        self._only = None if partition is None else arguments.number("partition", partition)
        self._readers: dict[int, PartitionReader] = {}
        self._identity: object = None
        self.has_restarted = False
        """Whether the last `read` began at the start, because records of earlier ones may not exist anymore."""
        self.leaderless = ""
        """Which partitions could not be read, because they have no leader."""
        if isinstance(since, Mark) and since.topic != topic.name:
            raise ValueError(f"since is a mark in topic {since.topic}; this is topic {topic.name}")

    def read(self) -> list[Record]:
        self.has_restarted = False
        while (found := self._read_unless_replaced()) is None:
            pass
        return found if self._from_ms is None else [record for record in found if record.timestamp >= self._from_ms]

    def _read_unless_replaced(self) -> list[Record] | None:
        """Return None if the topic changed in the meantime, so that records of two histories may have been read."""
        identity, ends = self._topic._extent(self._isolation)
        if self._only is not None and ends and self._only not in ends:
            raise ValueError(f"partition {self._only} does not exist; topic {self._topic.name} has {len(ends)}")
        if identity != self._identity:
            self.has_restarted = True
            self._readers.clear()
            self._identity = identity
        if self._only is not None and ends:
            ends = {self._only: ends[self._only]}
        self.leaderless = without_leader([index for index, end in ends.items() if end is None], len(ends))
        found: list[Record] = []
        try:
            for index, end in ends.items():
                if end is not None:
                    found += self._reader(index).read(end)
        except KafkaError as error:
            if error.code in (Code.LEADER_NOT_AVAILABLE, Code.UNKNOWN_TOPIC_OR_PARTITION):
                return None
            raise
        return None if found and self._topic._extent(self._isolation).identity != identity else found

    def _reader(self, partition: int) -> PartitionReader:
        reader = self._readers.get(partition)
        if reader is None:
            start = 0 if self._mark is None else self._topic._after(self._mark, partition)
            self._readers[partition] = reader = self._topic._reader(partition, self._isolation, start)
        return reader


class _Wanted:
    """The condition of a wait."""

    def __init__(self, where: Where | None, key: bytes | None, value: bytes | None) -> None:
        if where is not None and not callable(where):
            raise TypeError(f"where must be a function of a record, not {arguments.shown(where)}")
        self._where = where
        self._key = key
        self._value = value

    def matches(self, record: Record) -> bool:
        return (
            (self._key is None or record.key == self._key)
            and (self._value is None or record.value == self._value)
            and (self._where is None or bool(self._where(record)))
        )

    def closest_first(self, records: Sequence[Record]) -> list[Record]:
        """Sort records by similarity to the wanted one, and equally similar ones from newest to oldest.

        Comparing takes long, so that of many records, only the last ones are compared, and the last ones with the same
        key or value.
        """
        if len(records) > COMPARED_RECORDS:
            older = [record for record in records[:-COMPARED_RECORDS] if self._resembles(record)]
            records = [*older[-COMPARED_RECORDS:], *records[-COMPARED_RECORDS:]]
        return sorted(
            records, key=lambda record: (self._similarity(record), record.timestamp, record.offset), reverse=True
        )

    def _resembles(self, record: Record) -> bool:
        return (self._key is not None and record.key == self._key) or (
            self._value is not None and record.value == self._value
        )

    def _similarity(self, record: Record) -> float:
        pairs = [(self._key, record.key), (self._value, record.value)]
        return sum(_ratio(wanted, found) for wanted, found in pairs if wanted is not None)

    def __str__(self) -> str:
        parts = [f"key {shown(self._key)}"] if self._key is not None else []
        parts += [f"value {shown(self._value)}"] if self._value is not None else []
        parts += [f"where {getattr(self._where, '__name__', self._where)}"] if self._where is not None else []
        return f" with {' and '.join(parts)}" if parts else ""


def _ratio(wanted: bytes, found: bytes | None) -> float:
    """Return the similarity of two values, from 0 to 1. Only their first 500 bytes are compared."""
    if found is None:
        return 0.0
    return 2.0 if wanted == found else SequenceMatcher(None, wanted[:500], found[:500], autojunk=False).ratio()


def outgoing(
    values: Iterable[Text | tuple[Text | None, Text | None] | None],
    headers: HeaderPairs | None,
    timestamp: Time | None,
    partition: int | None,
) -> list[Outgoing]:
    """Return the records that `Topic.send_batch` appends with these arguments."""
    pairs = header_pairs(headers)
    time_ms = None if timestamp is None else milliseconds("timestamp", timestamp)
    if partition is not None:
        arguments.number("partition", partition)
    return [Outgoing(*_key_and_value(value), pairs, time_ms, partition) for value in _listed(values)]


def _listed(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, Mapping):
        raise TypeError(
            f"send_batch takes a list of values or of pairs, not {arguments.shown(values)}; pass the items() of a dict"
        )
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"send_batch takes a list of values, not {arguments.shown(values)}; send() takes one value")
    found = list(islice(values, MAX_BATCH_RECORDS + 1))
    if not 0 < len(found) <= MAX_BATCH_RECORDS:
        raise ValueError(f"send_batch takes 1 to {MAX_BATCH_RECORDS} values, not {len(found) or 'none'}")
    return found


def _key_and_value(given: Text | tuple[Text | None, Text | None] | None) -> tuple[bytes | None, bytes | None]:
    if not isinstance(given, tuple):
        return None, encoded("the value of a record", given)
    if len(given) != 2:
        raise TypeError(f"an element is a value or a pair of key and value, not {arguments.shown(given)}")
    return encoded("the key of a record", given[0]), encoded("the value of a record", given[1])


def _codec(name: str) -> Codec:
    codec = Codec.__members__.get(arguments.text("compression", name).upper())
    if codec is None:
        raise ValueError(f"compression is {name!r}; it must be one of {', '.join(Codec.__members__).lower()}")
    return codec
