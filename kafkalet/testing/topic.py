"""The topics of the test kit: send, read and wait for records without a client."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kafkalet.broker import arguments
from kafkalet.broker.cluster.metadata import place
from kafkalet.broker.cluster.new_topics import NewTopic, check_config, check_property_names, checked_topic
from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record as StoredRecord
from kafkalet.units import counted, named

from .hold import Hold
from .reading import Isolation, PartitionReader, checked_isolation, partitions_shown, without_leader
from .record import (
    ANY,
    AnyValue,
    HeaderPairs,
    Headers,
    NewRecord,
    Record,
    Text,
    Time,
    encoded,
    header_pairs,
    milliseconds,
    shown,
)
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.arguments import PropertyValue
    from kafkalet.broker.cluster.metadata import PartitionState
    from kafkalet.broker.cluster.partition import Partition
    from kafkalet.broker.views import LogOffsets, LogView
    from kafkalet.embedded import EmbeddedCluster
    from kafkalet.storage.acceptance import ValidatedBatches
    from kafkalet.storage.values import Isolation as StorageIsolation

    from .layout import LayoutKind

T = TypeVar("T")

Where = Callable[[Record], object]
"""A predicate: a record matches if the result is true. It runs in the thread of the caller."""

MAX_BATCH_RECORDS = 1_000_000
SHOWN_RECORDS = 10
"""How many records the message of a failed wait shows."""
COMPARED_RECORDS = 200
"""The number of records compared with the expected one, in addition to those with the same key or value."""


class TopicMark:
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
        return f"<mark in {self.topic} at {self.offsets}>"


Since = TopicMark | Time
"""Where to start reading: a `TopicMark`, or a time; records with an older timestamp are then skipped."""


class Outgoing(NamedTuple):
    """A record to send, with its data encoded."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None
    """None means the current time of the broker."""
    partition: int | None
    """None means that the key determines the partition."""


class Appended(NamedTuple):
    """What was appended to a partition."""

    first_offset: int
    log_append_time_ms: int
    """The timestamp of the records if the broker sets it, otherwise -1."""


class Extent(NamedTuple):
    """What a consumer can read of a topic at one moment."""

    identity: object
    """None if the topic does not exist. It changes when records that were read may not exist anymore: the topic was
    created again, or a partition has a new leader epoch, as after a truncation and after `Cluster.restore`.
    """
    ends: dict[int, int | None]
    """The end of the visible records in each partition, or None if it has no leader."""


class Topic:
    """A topic of a cluster. The topic need not exist yet. `send` creates it with the broker's defaults.

    Methods raise KafkaError with the code that a client would get, and TypeError or ValueError for invalid arguments.
    """

    def __init__(self, cluster: EmbeddedCluster, name: str) -> None:
        self._cluster = cluster
        self.name = name

    def __repr__(self) -> str:
        if not self._cluster.is_running or not self.exists:
            return f"<topic {self.name}>"
        return f"<topic {self.name}: offsets {', '.join(map(self._offsets_shown, range(self.partition_count)))}>"

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
        wanted = arguments.properties(f"the config of topic {self.name}", config)
        if not self.exists:
            try:
                self._create(partitions, wanted, replication_factor, assignments)
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

    def _create(
        self,
        partitions: int | None,
        config: Mapping[str, PropertyValue] | None,
        replication_factor: int | None,
        assignments: Sequence[Sequence[int]] | None,
    ) -> None:
        """Create the topic as `create` does. Raises KafkaError with TOPIC_ALREADY_EXISTS if it exists."""
        count = -1 if partitions is None else partitions
        factor = -1 if replication_factor is None else replication_factor
        new = checked_topic(NewTopic(self.name, count, config or {}, factor))
        replicas = arguments.assignments(assignments)
        if replicas is not None and count not in (-1, len(replicas)):
            raise ValueError(f"partitions is {count}, but assignments lists {len(replicas)}")
        if replicas is not None and factor not in (-1, len(replicas[0])):
            raise ValueError(f"replication_factor is {factor}, but assignments lists {len(replicas[0])}")
        server = self._cluster._server
        check_property_names(new.properties, server.config)
        server.call(lambda: server.controller.create_topic(new, replicas))

    def delete(self) -> None:
        """Delete the topic and its records.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
        self._cluster._server.call(lambda: self._cluster._server.controller.delete_topic(self.name))

    @property
    def exists(self) -> bool:
        """Whether the topic has been created."""
        return self._cluster._server.call(lambda: self.name in self._cluster._server.metadata.topics)

    @property
    def partition_count(self) -> int:
        """The number of partitions, or 0 if the topic does not exist."""

        def count() -> int:
            state = self._cluster._server.metadata.topics.get(self.name)
            return 0 if state is None else len(state.partitions)

        return self._cluster._server.call(count)

    def add_partitions(self, count: int) -> Topic:
        """Add `count` partitions, as CreatePartitions does. Their replicas are spread over the brokers.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
        arguments.at_least(1, "count", count)
        server = self._cluster._server

        def add() -> None:
            state, metadata = server.metadata.existing_topic(self.name), server.metadata
            now, replicas = len(state.partitions), len(state.partitions[0].replicas)
            server.controller.add_partitions(state, place(count, replicas, metadata, now))

        server.call(add)
        return self

    @property
    def config(self) -> dict[str, str]:
        """The properties that are set for the topic, keyed by Kafka's names for them. Other properties have the value
        of the brokers.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
        server = self._cluster._server
        return server.call(lambda: dict(server.metadata.existing_topic(self.name).config))

    def configure(self, config: Mapping[str, PropertyValue | None]) -> Topic:
        """Change properties of the topic, as in `{"retention.ms": 1000}`. None removes a property.

        Raises KafkaError with INVALID_CONFIG, and changes nothing, if a property is unknown or a value is invalid.
        """
        changes = arguments.changes(f"the config of topic {self.name}", config)
        server = self._cluster._server

        def configure() -> None:
            topic = server.metadata.existing_topic(self.name)
            changed = {name: value for name, value in {**topic.config, **changes}.items() if value is not None}
            check_property_names([name for name in changed if name in changes], server.config)
            check_config(changed, server.config)
            server.controller.change_config(topic, changed)

        server.call(configure)
        return self

    def leader(self, partition: int = 0) -> int | None:
        """Return the id of the broker that leads a partition, or None if it has no leader.

        This method and the following ones raise KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not
        exist.
        """
        return self._state(partition, lambda state: None if state.leader < 0 else state.leader)

    def replicas(self, partition: int = 0) -> list[int]:
        """Return the ids of the brokers with a replica of a partition, the preferred leader first."""
        return self._state(partition, lambda state: list(state.replicas))

    def isr(self, partition: int = 0) -> list[int]:
        """Return the ids of the brokers whose replicas of a partition are in sync, in ascending order."""
        return self._state(partition, lambda state: sorted(state.isr))

    def leader_epoch(self, partition: int = 0) -> int:
        """Return the leader epoch of a partition."""
        return self._state(partition, lambda state: state.leader_epoch)

    def offsets(self, partition: int = 0) -> LogOffsets:
        """Return the log start offset, last stable offset, high watermark and log end offset at one moment.

        Raises KafkaError with LEADER_NOT_AVAILABLE if the partition has no leader.
        """
        return self.log(partition).offsets

    def _state(self, partition: int, read: Callable[[PartitionState], T]) -> T:
        server = self._cluster._server
        arguments.number("the number of a partition", partition)
        return server.call(lambda: read(server.metadata.existing_partition(self.name, partition)))

    def log(self, partition: int = 0) -> LogView:
        """Return a view of the log of a partition's leader: its offsets, segments and batches.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist.
        """
        from kafkalet.broker.views import LogView

        arguments.number("the number of a partition", partition)
        self._cluster._server.call(lambda: self._leader(partition))
        return LogView(self.name, partition, lambda: self._leader(partition).log, self._cluster._server.call)

    @property
    def logs(self) -> list[LogView]:
        """A view of the log of each partition."""
        return [self.log(partition) for partition in range(self.partition_count)]

    # Send

    def send(
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
        return self.send_batch([NewRecord(value, key, headers, timestamp, partition)])[0]

    def send_json(
        self,
        value: Any,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Record:
        """Append a record with `value` as JSON, and return it. Raises TypeError if JSON cannot represent it."""
        try:
            text = json.dumps(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"the value cannot be sent as JSON: {error}") from None
        return self.send(text, key, headers, timestamp, partition)

    def send_batch(
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
        codec = _codec(compression)
        return self._send(outgoing(records, headers, timestamp, partition), codec)

    def _send(self, records: Sequence[Outgoing], codec: Codec) -> list[Record]:
        """Append records as `send_batch` does.

        Raises KafkaError; if appending fails after all partitions have accepted their records, as with a broken disk,
        its message names the partitions that were written before.
        """
        by_partition, places = self._encode(records)
        appended = self._append(
            [(index, batch) for index, part in by_partition.items() for batch in self._batches(index, part, codec)]
        )
        return [self._sent(index, by_partition[index][at], appended[index]) for index, at in places]

    def _sent(self, partition: int, stored: StoredRecord, appended: Appended) -> Record:
        delta, time_ms, key, value, headers = stored
        time_ms = time_ms if appended.log_append_time_ms < 0 else appended.log_append_time_ms
        return Record(self.name, partition, appended.first_offset + delta, time_ms, key, value, Headers(headers))

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
        count = self.create().partition_count
        for given in {record.partition for record in records if record.partition is not None}:
            if not 0 <= given < count:
                raise ValueError(f"partition {given} does not exist; topic {self.name} has {partitions_shown(count)}")
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

    def _append(self, batches: Sequence[tuple[int, bytes]]) -> dict[int, Appended]:
        """Append batches, and return what was appended to each partition. Raises KafkaError; see `_send`."""

        def append() -> dict[int, Appended]:
            leaders = [self._leader(index) for index, _ in batches]
            for leader in leaders:
                leader.check_replicas()
            accepted = [self._accepted(leader, batch) for leader, (_, batch) in zip(leaders, batches, strict=True)]
            found: dict[int, Appended] = {}
            for leader, part, (index, batch) in zip(leaders, accepted, batches, strict=True):
                try:
                    appended = leader.produce_validated(part) or leader.append(bytearray(batch))
                except KafkaError as error:
                    raise self._refused(index, error, found) from error
                found.setdefault(index, Appended(appended.first_offset, appended.log_append_time_ms))
            return found

        return self._cluster._server.call(append)

    def _accepted(self, leader: Partition, batch: bytes) -> ValidatedBatches:
        try:
            return leader.log_for(None).validation(bytearray(batch), leader.leader_epoch)()
        except KafkaError as error:
            raise self._refused(leader.index, error) from error

    def _leader(self, partition: int) -> Partition:
        return self._cluster._server.leadership.leader_of(self.name, partition)

    def _refused(self, partition: int, error: KafkaError, written: Iterable[int] = ()) -> KafkaError:
        """Return the error of an append to a partition after other partitions have been written."""
        names = ", ".join(f"{self.name}-{index}" for index in sorted(written))
        text = f"{self.name}-{partition}: {str(error).removeprefix(f'{error.code.name}: ')}"
        return KafkaError(error.code, f"{text}; records were appended to {names}" if names else text)

    def append(self, data: bytes | bytearray | memoryview, partition: int = 0) -> int:
        """Append an encoded record batch, such as one from `kafkalet.protocol.records.build`. Return its first offset.

        The batch is validated like a batch from any producer. Raises KafkaError with the code that Produce returns, or
        ValueError if the bytes are not a complete batch.
        """
        batch = arguments.record_batches(data)
        arguments.number("the number of a partition", partition)
        return self._cluster._server.call(lambda: self._leader(partition).append(batch).first_offset)

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

    def _after(self, mark: TopicMark, partition: int) -> int:
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

    def mark(self) -> TopicMark:
        """Return the current end of the topic, to read or wait for later records only: `records(since=mark)`."""
        server = self._cluster._server

        def mark() -> TopicMark:
            state = server.metadata.topics.get(self.name)
            if state is None:
                return TopicMark(self.name, {})
            leaders = [server.leadership.leader_of(self.name, each.index) for each in state.partitions]
            ends = {leader.index: leader.log.log_end_offset for leader in leaders}
            return TopicMark(self.name, ends, state.topic_id, {leader.index: leader.leader_epoch for leader in leaders})

        return server.call(mark)

    def count(self, isolation: Isolation = "read_uncommitted") -> int:
        """Return the number of records that a consumer gets, from the log start of each partition."""
        return len(self.records(isolation))

    # The log

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
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data must be bytes, not {arguments.shown(data)}")
        given = bytes(data)
        self.create()
        leadership = self._cluster._server.leadership
        return self._change(partition, lambda: leadership.append_as_given(self._leader(partition), given))

    def layout(
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
        from .layout import layout

        self.create()
        layout(self._cluster, self.name, kind, first=first, size=size, after=after, partition=partition)
        return self

    def delete_records(self, before: int, partition: int = 0) -> Topic:
        """Advance the log start offset to `before`, as retention or DeleteRecords does. Compacted topics are allowed.

        Records below `before` can no longer be read. Raises ValueError if `before` is below the log start offset or
        above the high watermark.
        """
        arguments.number("before", before)
        return self._change(partition, lambda: self._leader(partition).advance_log_start(before))

    def hold_high_watermark(self, at: int | None = None, partition: int = 0) -> Hold:
        """Keep the high watermark at `at`, or at its current value, until the result is released.

        Records above it are appended, but consumers do not see them, and producers with acks=all wait for them. The
        last stable offset does not advance either. Raises ValueError if the high watermark is already above `at`,
        because it never decreases.
        """
        arguments.optional(arguments.number, "at", at)
        self.create()
        self._change(partition, lambda: self._leader(partition).hold_high_watermark(at))
        return self._hold(partition, "the high watermark of {} does not advance", self._release_high_watermark)

    def _release_high_watermark(self, partition: int) -> None:
        """Let the high watermark advance again. Has no effect if it is not held."""
        self._cluster._server.leadership.release_high_watermark(self.name, partition)

    # Leaders and replicas

    def truncate(self, to: int, partition: int = 0) -> Topic:
        """Remove the records at and after offset `to`, as if a replica that lacked them had been elected leader.

        A new leader epoch begins, and the other replicas truncate as well. Producers that wait for removed records get
        NOT_LEADER_OR_FOLLOWER; consumers beyond `to` are reset or report the truncation. A batch that contains
        `to` is removed as a whole. Raises ValueError if `to` is not between the log start offset and the log end.
        """
        arguments.number("to", to)

        def truncate() -> None:
            leader = self._leader(partition)
            leader.truncate(to)
            self._begin_epoch(leader, [leader.node_id])

        return self._change(partition, truncate)

    def new_leader_epoch(self, partition: int = 0) -> Topic:
        """Start a new leader epoch with the same leader. Clients with the old epoch have to refresh their metadata."""
        return self._change(partition, lambda: self._begin_epoch(self._leader(partition), None))

    def _begin_epoch(self, leader: Partition, isr: list[int] | None) -> None:
        server = self._cluster._server
        server.leadership.begin_epoch(server.metadata.topics[self.name], leader.state, leader.node_id, isr)
        server.controller.save()

    def move_leader(self, to: int, partition: int = 0, *, unclean: bool = False) -> Topic:
        """Make broker `to` the leader of a partition, in a new leader epoch.

        Raises KafkaError with PREFERRED_LEADER_NOT_AVAILABLE if its replica is not in sync. With `unclean`, the replica
        becomes leader anyway, and the records that it lacks are lost. Raises ValueError if the broker has no replica.
        """
        arguments.number("to", to)
        server = self._cluster._server

        def move() -> None:
            state = server.metadata.existing_partition(self.name, partition)
            if to not in state.replicas:
                there = named("broker", state.replicas)
                raise ValueError(f"broker {to} has no replica of {self.name}-{partition}; its replicas are on {there}")
            if unclean and to not in state.isr:
                node = server.nodes.get(to)
                if node is None:
                    raise ValueError(f"broker {to} is stopped; broker({to}).start() starts it again")
                self._begin_epoch(node.partition(self.name, partition), [to])
            else:
                server.elect_leader(self.name, partition, to)

        return self._change(partition, move)

    def take_offline(self, partition: int = 0, broker: int | None = None) -> Hold:
        """Take the replicas of a partition offline, or only the one of a broker, as if their disk had failed.

        Requests to these replicas get KAFKA_STORAGE_ERROR. Another in-sync replica becomes leader; if there is none,
        the partition has no leader. When the result is released, the replicas open their logs again, and follow or
        lead; stopping and starting the broker does the same. Raises ValueError if there is no such replica online.
        """
        server = self._cluster._server

        def take() -> None:
            online = [id_ for id_, node in server.nodes.items() if (self.name, partition) in node.partitions]
            state, chosen = self._replicas_among(online, partition, broker, "online")
            for node_id in sorted(chosen, key=lambda id_: id_ == state.leader):  # the leader last: one election
                reason = f"{self.name}-{partition} was taken offline by a test"
                server.nodes[node_id].take_offline(self.name, partition, reason)
                server.leadership.replica_left(server.metadata.topics[self.name], state, node_id)
            server.controller.save()

        self._change(partition, take)
        replicas = "the replicas" if broker is None else f"the replica on broker {broker}"
        return self._hold(partition, f"{replicas} of {{}} offline", partial(self._bring_online, broker=broker))

    def _bring_online(self, partition: int, broker: int | None) -> None:
        """Bring replicas online again. They open their logs, and follow or lead. Raises ValueError if there is none."""
        server = self._cluster._server
        offline = [id_ for id_, node in server.nodes.items() if (self.name, partition) in node.offline]
        state, chosen = self._replicas_among(offline, partition, broker, "offline")
        for node in (server.nodes[node_id] for node_id in chosen):
            del node.offline[self.name, partition]
            server.controller.add_replica_on(node, server.metadata.topics[self.name], state, skip_broken=True)
            server.leadership.replica_came(server.metadata.topics[self.name], state, node.node_id)
        server.controller.save()

    def _replicas_among(
        self, brokers: list[int], partition: int, broker: int | None, what: str
    ) -> tuple[PartitionState, list[int]]:
        """Return those of the brokers that are wanted. Raises ValueError if there is none."""
        state = self._cluster._server.metadata.existing_partition(self.name, partition)
        chosen = [node_id for node_id in brokers if broker in (None, node_id)]
        if not chosen:
            on = "" if broker is None else f" on broker {broker}"
            others = f"; there is one on {named('broker', brokers)}" if brokers else ""
            raise ValueError(f"no replica of {self.name}-{partition}{on} is {what}{others}")
        return state, chosen

    def shrink_isr(self, *brokers: int, partition: int = 0) -> Hold:
        """Remove followers from the in-sync replicas, and hold them back until the result is released.

        Producers with acks=all do not wait for them, and get NOT_ENOUGH_REPLICAS if fewer than
        `min.insync.replicas` are left. Raises ValueError if a broker is not a follower.
        """
        if not brokers:
            raise ValueError("shrink_isr() needs the id of at least one broker")
        for broker in brokers:
            arguments.number("the id of a broker", broker)
        server = self._cluster._server

        def shrink() -> None:
            leader = self._leader(partition)
            for broker in brokers:
                if broker not in leader.followers:
                    raise ValueError(
                        f"broker {broker} is not a follower of {self.name}-{partition}, which has leader "
                        f"{leader.node_id} and {named('follower', leader.followers)}"
                    )
            server.leadership.shrink_isr(leader, brokers)
            server.controller.save()

        self._change(partition, shrink)
        return self._hold(partition, f"{named('follower', brokers)} of {{}} out of sync", self._expand_isr)

    def _expand_isr(self, partition: int) -> None:
        """Let the followers that are held back catch up; they join the in-sync replicas again."""
        server = self._cluster._server
        server.metadata.existing_partition(self.name, partition)
        server.leadership.expand_isr(self.name, partition)
        server.controller.save()

    def _change(self, partition: int, change: Callable[[], object]) -> Topic:
        arguments.number("partition", partition)
        self._cluster._server.call(change)
        return self

    def _hold(self, partition: int, condition: str, release: Callable[[int], object]) -> Hold:
        return Hold(self._cluster, condition.format(f"{self.name}-{partition}"), partial(release, partition))

    # Wait

    def wait_for(
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
        __tracebackhide__ = True
        least = _wanted_number(n, exactly)
        wanted = _Wanted(where, key, value, json, headers)
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
            is_known = not reading.leaderless or exactly is None or len(matching) > exactly
            return matching if len(matching) >= least and is_known else None

        def failure() -> str:
            what = f"{'' if exactly is None else 'exactly '}{counted(least, 'record')}{wanted}"
            got = f"{len(matching)} of the {len(arrived)} records in the topic match"
            if len(arrived) < 2:
                verb = "matches" if matching else "does not match"
                got = f"the only record in the topic {verb}" if arrived else "no record arrived"
            lines = [wanted.described(record) for record in wanted.closest_first(arrived)[:SHOWN_RECORDS]]
            return self._failure(f"for {what}", timeout, got, reading, lines, len(arrived))

        wait(self._cluster, look, timeout, failure)
        if exactly is not None and len(matching) > exactly:
            raise AssertionError(failure())
        matching.sort(key=lambda record: (record.partition, record.offset))
        return matching[:least]

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
            return arrived if not reading.leaderless and is_true() else None

        def is_true() -> object:
            try:
                return predicate(arrived)
            except Exception as error:
                error.add_note(f"raised by {_name(predicate)}, which wait_until calls with the list of all records")
                raise

        def failure() -> str:
            got = f"it is false for {counted(len(arrived), 'record')} in the topic" if arrived else "no record arrived"
            lines = [repr(record) for record in arrived[-SHOWN_RECORDS:][::-1]]
            return self._failure(f"for {_name(predicate)} to be true", timeout, got, reading, lines, len(arrived))

        return list(wait(self._cluster, look, timeout, failure))

    def _failure(
        self, what: str, timeout: float | None, got: str, reading: _Reading, records: Sequence[str], arrived: int
    ) -> str:
        """Describe a wait that has timed out. `records` are those that arrived, the most interesting ones first."""
        lines = [f"topic {self.name}: waited {timeout_s(self._cluster, timeout):g} s {what}: {got}"]
        lines += [f"  {record}" for record in records]
        if arrived > len(records):
            lines.append(f"  and {arrived - len(records)} more")
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
        self._mark = since if isinstance(since, TopicMark) else None
        self._from_ms = None if since is None or isinstance(since, TopicMark) else milliseconds("since", since)
        self._only = None if partition is None else arguments.number("partition", partition)
        self._readers: dict[int, PartitionReader] = {}
        self._identity: object = None
        self.has_restarted = False
        """Whether the last `read` began at the start, because records of earlier ones may not exist anymore."""
        self.leaderless = ""
        """Which partitions could not be read, because they have no leader."""
        if isinstance(since, TopicMark) and since.topic != topic.name:
            raise ValueError(f"since is a mark in topic {since.topic}; this is topic {topic.name}")

    def read(self) -> list[Record]:
        self.has_restarted = False
        while (found := self._read_unless_replaced()) is None:
            pass
        return found if self._from_ms is None else [record for record in found if record.timestamp >= self._from_ms]

    def _read_unless_replaced(self) -> list[Record] | None:
        """Read the new records. Return None if the topic has changed in the meantime, because the records may then be
        from two histories.
        """
        identity, ends = self._topic._extent(self._isolation)
        if self._only is not None and ends and self._only not in ends:
            raise ValueError(
                f"partition {self._only} does not exist; topic {self._topic.name} has {partitions_shown(len(ends))}"
            )
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


def _wanted_number(n: Any, exactly: int | None) -> int:
    """Return the number of records to wait for."""
    if callable(n):
        raise TypeError(f"n must be an int, not {arguments.shown(n)}; a predicate is the argument where=")
    if isinstance(n, (str, bytes)):
        raise TypeError(f"n must be an int, not {arguments.shown(n)}; a value to wait for is the argument value=")
    if exactly is None:
        number = arguments.number("n", n)
        if number < 1:
            raise ValueError(f"n is {n}; it must be at least 1. To check that no record arrives, call settle() first")
        return number
    if n != 1:
        raise TypeError("n and exactly exclude each other; give one of them")
    return arguments.at_least(0, "exactly", exactly)


class _Wanted:
    """The condition of a wait."""

    def __init__(
        self,
        where: Where | None,
        key: Text | AnyValue | None,
        value: Text | AnyValue | None,
        json: Any,
        headers: HeaderPairs | None,
    ) -> None:
        if where is not None and not callable(where):
            raise TypeError(f"where must be a function of a record, not {arguments.shown(where)}")
        if json is not ANY and value is not ANY:
            raise TypeError("value and json exclude each other; give one of them")
        self._where = where
        self._key = key if isinstance(key, AnyValue) else encoded("key", key)
        self._value = value if isinstance(value, AnyValue) else encoded("value", value)
        self._json = json
        self._headers = header_pairs(headers)

    def matches(self, record: Record) -> bool:
        return (
            self._key in (ANY, record.key)
            and self._value in (ANY, record.value)
            and (self._json is ANY or bool(_parsed(record) == self._json))
            and all(pair in record.headers.pairs for pair in self._headers)
            and (self._where is None or self._is_where(self._where, record))
        )

    @staticmethod
    def _is_where(where: Where, record: Record) -> bool:
        try:
            return bool(where(record))
        except Exception as error:
            error.add_note(f"raised by where={_name(where)} for {record!r}")
            raise

    def described(self, record: Record) -> str:
        """Return a record as text, with the reason if it can never match."""
        is_json = self._json is ANY or _parsed(record) is not _NOT_JSON
        return f"{record!r}{'' if is_json else ' is not JSON'}"

    def closest_first(self, records: Sequence[Record]) -> list[Record]:
        """Sort records by similarity to the wanted one, and equally similar ones from newest to oldest.

        Comparing takes long. Of many records, only the last ones are compared, and the last ones with the same key or
        value.
        """
        if len(records) > COMPARED_RECORDS:
            older = [record for record in records[:-COMPARED_RECORDS] if self._resembles(record)]
            records = [*older[-COMPARED_RECORDS:], *records[-COMPARED_RECORDS:]]
        return sorted(
            records, key=lambda record: (self._similarity(record), record.timestamp, record.offset), reverse=True
        )

    def _resembles(self, record: Record) -> bool:
        return record.key == self._key or record.value == self._value

    def _similarity(self, record: Record) -> float:
        value = self._value if self._json is ANY else json.dumps(self._json, default=repr).encode()
        pairs = [(self._key, record.key), (value, record.value)]
        return sum(_ratio(wanted, found) for wanted, found in pairs if not isinstance(wanted, AnyValue))

    def __str__(self) -> str:
        parts = [] if isinstance(self._key, AnyValue) else [f"key {shown(self._key)}"]
        parts += [] if isinstance(self._value, AnyValue) else [f"value {shown(self._value)}"]
        parts += [] if self._json is ANY else [f"JSON {self._json!r}"]
        parts += [f"headers {dict(self._headers)!r}"] if self._headers else []
        parts += [f"where {_name(self._where)}"] if self._where is not None else []
        return f" with {' and '.join(parts)}" if parts else ""


_NOT_JSON = object()


def _parsed(record: Record) -> Any:
    """Return the value of a record parsed as JSON, or _NOT_JSON."""
    try:
        return record.json()
    except ValueError:
        return _NOT_JSON


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", repr(function))


def _ratio(wanted: bytes | None, found: bytes | None) -> float:
    """Return the similarity of two values, from 0 to 1, or 2 if they are equal. Only the first 500 bytes are
    compared.
    """
    if wanted is None or found is None:
        return 2.0 if wanted is found else 0.0
    return 2.0 if wanted == found else SequenceMatcher(None, wanted[:500], found[:500], autojunk=False).ratio()


def outgoing(
    records: Iterable[Text | NewRecord | tuple[Text | None, Text | None] | None],
    headers: HeaderPairs | None = None,
    timestamp: Time | None = None,
    partition: int | None = None,
) -> list[Outgoing]:
    """Return the records that `Topic.send_batch` appends with these arguments."""
    default = NewRecord(None, None, headers, timestamp, partition)
    return [_outgoing(_new_record(each), default) for each in _listed(records)]


def _outgoing(new: NewRecord, default: NewRecord) -> Outgoing:
    """Return a record to send. If it has no headers, timestamp or partition, those of `default` are used."""
    headers = default.headers if new.headers is None else new.headers
    timestamp = default.timestamp if new.timestamp is None else new.timestamp
    partition = default.partition if new.partition is None else new.partition
    return Outgoing(
        encoded("the key of a record", new.key),
        encoded("the value of a record", new.value),
        header_pairs(headers),
        None if timestamp is None else milliseconds("timestamp", timestamp),
        None if partition is None else arguments.number("partition", partition),
    )


def _new_record(given: Text | NewRecord | tuple[Text | None, Text | None] | None) -> NewRecord:
    if isinstance(given, NewRecord):
        return given
    if not isinstance(given, tuple):
        return NewRecord(given)
    if len(given) != 2:
        raise TypeError(f"an element is a value, a pair of key and value, or a NewRecord, not {arguments.shown(given)}")
    return NewRecord(given[1], given[0])


def _listed(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, Mapping):
        raise TypeError(
            f"send_batch takes a list of values or of pairs, not {arguments.shown(values)}; pass the items() of a dict"
        )
    if isinstance(values, (str, bytes, bytearray, NewRecord)) or not isinstance(values, Iterable):
        raise TypeError(f"send_batch takes a list of values, not {arguments.shown(values)}; send() takes one value")
    found = list(islice(values, MAX_BATCH_RECORDS + 1))
    if not 0 < len(found) <= MAX_BATCH_RECORDS:
        raise ValueError(f"send_batch takes 1 to {MAX_BATCH_RECORDS} values, not {len(found) or 'none'}")
    return found


def _codec(name: str) -> Codec:
    codec = Codec.__members__.get(arguments.text("compression", name).upper())
    if codec is None:
        raise ValueError(f"compression is {name!r}; it must be one of {', '.join(Codec.__members__).lower()}")
    return codec
