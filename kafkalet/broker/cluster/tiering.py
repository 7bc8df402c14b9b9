"""Tiered storage (KIP-405): what the remote log manager of each broker does with the partitions that it leads.

Every remote.log.manager.task.interval.ms, it copies the segments that take no appends anymore and are below the last
stable offset, and deletes the remote segments that have expired. Retention of the log deletes local segments once they
have been copied (Log.apply_retention); reads continue in the remote ones (Tier).

What is known about remote segments is in the topic `__remote_log_metadata`, in the format of Kafka's
TopicBasedRemoteLogMetadataManager. All brokers of the cluster share one copy of it in memory. If a broker stops while
it copies a segment, the segment stays in the state COPY_SEGMENT_STARTED: it is not read, is copied again under another
id, and is deleted by retention.

Source: org.apache.kafka.server.log.remote.storage.RemoteLogManager.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from kafkalet.broker.java_order import long_hash, murmur2
from kafkalet.broker.quoting import shown
from kafkalet.protocol.errors import DecodeError, KafkaError
from kafkalet.protocol.messages.remote_log_records import (
    RECORDS,
    RemoteLogRecord,
    RemoteLogSegmentId,
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataUpdateRecord,
    SegmentLeaderEpoch,
    TopicIdPartition,
)
from kafkalet.protocol.metadata_frame import decode_framed, encode_record
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.storage.log import Log
from kafkalet.storage.remote import RemoteSegment, RemoteStore, State, Tier, TieredLog
from kafkalet.storage.segment import Segment
from kafkalet.tasks.task import in_thread, pause

from .controller import Controller
from .metadata import TopicState, new_topic_id
from .new_topics import NewTopic
from .node import Node
from .partition import Partition
from .state_log import StateLog

_LOG = logging.getLogger(__name__)

METADATA_TOPIC = "__remote_log_metadata"
PARTITIONS, REPLICATION_FACTOR, MIN_ISR = 50, 3, 2
"""The defaults of `remote.log.metadata.topic.*`."""

_Known = dict[bytes, RemoteSegment]


class TieredPartition(NamedTuple):
    """What the remote log manager did to one partition."""

    topic: str
    partition: int
    broker: int
    copied_segments: int
    deleted_segments: int
    """The number of remote segments that were deleted."""
    log_start_offset: int
    remote_end_offset: int
    """The offset after the last one that has been copied."""


class Tiering:
    """The remote segments of a cluster. `directory` is that of its remote storage."""

    def __init__(self, controller: Controller, directory: str, *, durable: bool) -> None:
        self._controller = controller
        self._store = RemoteStore(directory, controller.clock, durable=durable)
        self._partitions: dict[tuple[bytes, int], _Known] | None = None
        """The metadata of the segments of each partition, keyed by topic id; None if it has not been read yet."""
        self._started: dict[Partition, int] = {}
        """The leader epochs in which partitions have been visited."""

    def tier_of(self, log: TieredLog) -> Tier:
        key = (log.topic_id or b"", log.partition)
        return Tier(log, self._store, lambda: self._known().get(key, _NOTHING))

    # The metadata topic

    def create_topic(self) -> None:
        """Create the metadata topic, unless it exists."""
        controller = self._controller
        if METADATA_TOPIC in controller.metadata.topics:
            return
        config, brokers = controller.config, len(controller.metadata.endpoints)
        prefix = config.remote_log_metadata_manager_impl_prefix + "remote.log.metadata.topic."
        given = {name.removeprefix(prefix): text for name, text in config.given().items() if name.startswith(prefix)}
        properties = {
            "cleanup.policy": "delete",
            "retention.ms": given.get("retention.ms", "-1"),
            "remote.storage.enable": "false",
        }
        if controller.release.limits_isr_of_remote_log_metadata:
            properties["min.insync.replicas"] = given.get("min.isr", str(MIN_ISR))
        replicas = int(given.get("replication.factor", min(REPLICATION_FACTOR, brokers)))
        controller.create_topic(
            NewTopic(METADATA_TOPIC, int(given.get("num.partitions", PARTITIONS)), properties, replicas)
        )

    def _known(self) -> Mapping[tuple[bytes, int], _Known]:
        if self._partitions is None:
            self._partitions = {}
            topic = self._controller.metadata.topics.get(METADATA_TOPIC)
            for index in range(0 if topic is None else len(topic.partitions)):
                if (state_log := self._log_of(topic, index)) is not None:
                    for _, records in state_log.read():
                        for record in records:
                            self._replay(record.value or b"")
        return self._partitions

    def _log_of(self, topic: TopicState | None, index: int) -> StateLog | None:
        state = None if topic is None else self._controller.metadata.partition(topic.name, index)
        node = None if state is None else self._controller.nodes.get(state.leader)
        if node is None:
            return None
        try:
            return StateLog(node.partition(METADATA_TOPIC, index), node.clock, node.purgatory)
        except KafkaError:
            return None

    def _replay(self, value: bytes) -> None:
        try:
            record = decode_framed(value, RECORDS)
        except DecodeError as error:
            _LOG.error("skipping a record of __remote_log_metadata: %s", shown(error))
            return
        if isinstance(record, RemoteLogSegmentMetadataRecord):
            self._apply(
                record.remote_log_segment_id,
                RemoteSegment(
                    record.remote_log_segment_id.id,
                    record.start_offset,
                    record.end_offset,
                    record.max_timestamp_ms,
                    record.segment_size_in_bytes,
                    {each.leader_epoch: each.offset for each in record.segment_leader_epochs},
                    State(record.remote_log_segment_state),
                ),
            )
        elif isinstance(record, RemoteLogSegmentMetadataUpdateRecord):
            place = record.remote_log_segment_id.topic_id_partition
            known = self._known().get((place.id, place.partition), _NOTHING).get(record.remote_log_segment_id.id)
            if known is not None:
                state = State(record.remote_log_segment_state)
                self._apply(record.remote_log_segment_id, known._replace(state=state))

    def _apply(self, segment_id: RemoteLogSegmentId, segment: RemoteSegment) -> None:
        """Note the state of a segment. The mapping is replaced, so that tiers see the change."""
        assert self._partitions is not None
        key = (segment_id.topic_id_partition.id, segment_id.topic_id_partition.partition)
        known = {**self._partitions.get(key, _NOTHING), segment.id: segment}
        if segment.state is State.DELETE_SEGMENT_FINISHED:
            del known[segment.id]
        self._partitions[key] = known

    def _publish(self, node: Node, log: Log, segment: RemoteSegment, *, has_aborted: bool = False) -> None:
        """Append the state of a segment to the metadata topic. Raises KafkaError."""
        self._known()
        place = TopicIdPartition(name=log.topic, id=log.topic_id or b"", partition=log.partition)
        segment_id = RemoteLogSegmentId(topic_id_partition=place, id=segment.id)
        now_ms = node.clock.now_ms()
        record: RemoteLogRecord
        if segment.state is State.COPY_SEGMENT_STARTED:
            record = RemoteLogSegmentMetadataRecord(
                remote_log_segment_id=segment_id,
                start_offset=segment.start_offset,
                end_offset=segment.end_offset,
                broker_id=node.node_id,
                max_timestamp_ms=segment.max_timestamp_ms,
                event_timestamp_ms=now_ms,
                segment_leader_epochs=[SegmentLeaderEpoch(leader_epoch=e, offset=o) for e, o in segment.epochs.items()],
                segment_size_in_bytes=segment.size_bytes,
                remote_log_segment_state=segment.state,
                txn_index_empty=not has_aborted and node.release.notes_empty_transaction_indexes,
            )
        else:
            record = RemoteLogSegmentMetadataUpdateRecord(
                remote_log_segment_id=segment_id,
                broker_id=node.node_id,
                event_timestamp_ms=now_ms,
                remote_log_segment_state=segment.state,
            )
        self.create_topic()
        topic = self._controller.metadata.topics[METADATA_TOPIC]
        state_log = self._log_of(topic, metadata_partition(place, len(topic.partitions)))
        if state_log is None:
            raise StorageFailed(f"no broker leads the partition of {METADATA_TOPIC} for {log.name}")
        state_log.append_encoded(encode_records([Record(0, 0, None, encode_record(record, 0))], 0, 0), 1)
        self._apply(segment_id, segment)

    # The tasks of the remote log manager

    async def run(self) -> list[TieredPartition]:
        """Copy and delete once what is due. Return the partitions with a change."""
        changed = []
        for node in list(self._controller.nodes.values()):
            for partition in node.open_partitions():
                with suppress(StorageFailed):  # already logged
                    if node.partitions.get((partition.topic, partition.index)) is partition and partition.is_leader:
                        changed += await self._run_for(node, partition)
                await pause()
        return changed

    async def _run_for(self, node: Node, partition: Partition) -> list[TieredPartition]:
        log, tier, copied, deleted = partition.log, partition.log.local.tier, 0, 0
        if tier is None:
            return []
        if self._started.get(partition) != partition.leader_epoch:
            self._started[partition] = partition.leader_epoch
            starts = [each.start_offset for each in tier.valid[:1]]
            self._raise_log_start(partition, min([log.local_log_start_offset, *starts]))
        try:
            for segment, end in list(_due(log, tier, node.clock.now_ms())) if log.copies_segments else ():
                if not await self._copy(node, partition, tier, segment, end):
                    break
                copied += 1
            deleted = self._expire(node, partition, tier)
        except (KafkaError, OSError) as error:
            reason = explain(error) if isinstance(error, OSError) else str(error)
            _LOG.error("%s: the remote log manager has failed, and will try again: %s", log.name, shown(reason))
        if not copied and not deleted:
            return []
        offsets = log.log_start_offset, tier.end_offset
        return [TieredPartition(log.topic, log.partition, node.node_id, copied, deleted, *offsets)]

    async def _copy(self, node: Node, partition: Partition, tier: Tier, segment: Segment, end: int) -> bool:
        """Copy a segment that ends before offset `end`. Return False if the partition has another leader now."""
        log, epoch = partition.log, partition.leader_epoch
        started = RemoteSegment(
            new_topic_id(),
            segment.base_offset,
            end - 1,
            segment.largest_timestamp,
            segment.size_bytes,
            _epochs_between(log, segment.base_offset, end),
        )
        self._publish(node, log, started, has_aborted=not segment.txn_index.is_empty)
        try:
            await in_thread(partial(tier.store.copy, log, segment, started))
        except OSError:
            self._delete(node, log, tier, started)
            raise
        if partition.leader_epoch != epoch or log.local.tier is not tier:
            self._delete(node, log, tier, started)
            return False
        self._publish(node, log, started._replace(state=State.COPY_SEGMENT_FINISHED))
        return True

    def _expire(self, node: Node, partition: Partition, tier: Tier) -> int:
        """Delete expired remote segments; return their number (RLMExpirationTask.cleanupExpiredRemoteLogSegments)."""
        log, config = partition.log, partition.log.config
        only_local = sum(each.size_bytes for each in log.segments if each.base_offset >= tier.end_offset)
        surplus = only_local + sum(each.size_bytes for each in tier.valid) - config.retention_bytes
        surplus = surplus if config.retention_bytes >= 0 else 0
        oldest_ms = node.clock.now_ms() - config.retention_ms if config.retention_ms >= 0 else -math.inf
        earliest = log.epochs.earliest
        expired, log_start = [], 0
        for each in tier.known:
            if each.state is State.DELETE_SEGMENT_STARTED or each.end_offset < log.log_start_offset:
                expired.append(each)
            elif each.is_in_lineage_of(log):
                is_old = each.max_timestamp_ms <= oldest_ms
                if not is_old and surplus < max(each.size_bytes, 1):
                    break
                surplus = max(surplus - each.size_bytes, 0)
                log_start = each.end_offset + 1
                expired.append(each)
            elif earliest is not None and max(each.epochs) < earliest.epoch:  # after an unclean election
                expired.append(each)
        self._raise_log_start(partition, log_start)
        for each in expired:
            self._delete(node, log, tier, each)
        return len(expired)

    def _raise_log_start(self, partition: Partition, to: int) -> None:
        if partition.log.maybe_increment_log_start_offset(min(to, partition.log.high_watermark)):
            partition.on_change(partition)

    def _delete(self, node: Node, log: Log, tier: Tier, segment: RemoteSegment) -> None:
        self._publish(node, log, segment._replace(state=State.DELETE_SEGMENT_STARTED))
        tier.store.delete(log, segment)
        self._publish(node, log, segment._replace(state=State.DELETE_SEGMENT_FINISHED))

    def delete_partition(self, node: Node, log: Log, tier: Tier) -> None:
        """Delete all remote segments of a partition, which is deleted or does not use remote storage anymore."""
        for each in tier.known:
            try:
                self._delete(node, log, tier, each)
            except (KafkaError, OSError) as error:
                _LOG.error("cannot delete remote segment %d of %s: %s", each.start_offset, log.name, shown(error))

    def quiet_ms(self) -> float:
        """Return the time until a segment becomes due, provided that nothing is appended or reconfigured meanwhile."""
        tiers = [
            (node.clock.now_ms(), partition.log, partition.log.local.tier)
            for node in self._controller.nodes.values()
            for partition in node.open_partitions()
            if partition.is_leader and partition.log.local.tier is not None
        ]
        return min((_quiet_ms(*each) for each in tiers), default=math.inf)


_NOTHING: _Known = {}


def _quiet_ms(now_ms: int, log: Log, tier: Tier | None) -> float:
    assert tier is not None
    if log.copies_segments and any(_due(log, tier, now_ms)):
        return 0
    first = next(iter(tier.known), None)
    age_limit = log.config.retention_ms
    expires = math.inf if first is None or age_limit < 0 else age_limit - max(now_ms - first.max_timestamp_ms, 0)
    return min(expires, log.retention_quiet_ms())


def _due(log: Log, tier: Tier, now_ms: int) -> Iterator[tuple[Segment, int]]:
    """Yield the segments to copy, with the offsets at which they end (RLMCopyTask.candidateLogSegments)."""
    stable, start = log.last_stable_offset, max(tier.end_offset, log.log_start_offset)
    if stable < start:
        return
    segments = log.segments.between(start, log.log_end_offset + 1)
    lag_ms, lag_bytes = log.config.remote_copy_lag()
    newer = sum(each.size_bytes for each in segments)
    for segment, following in pairwise(segments):
        if following.base_offset > stable:
            return
        newer -= segment.size_bytes
        age_ms = now_ms - segment.largest_timestamp
        is_old = lag_ms > 0 and (age_ms < 0 or age_ms >= lag_ms)
        if lag_ms != 0 != lag_bytes and not is_old and not 0 < lag_bytes <= newer:
            return
        yield segment, following.base_offset


def _epochs_between(log: Log, start: int, end: int) -> dict[int, int]:
    """Return the leader epochs of these records, with their first offsets here (epochEntriesInRange)."""
    entries = [each for each in log.epochs.entries if each.start_offset < end]
    first = max((at for at, each in enumerate(entries) if each.start_offset <= start), default=0)
    return {each.epoch: max(each.start_offset, start) for each in entries[first:]}


def metadata_partition(place: TopicIdPartition, partitions: int) -> int:
    """Return the partition of the metadata topic for a partition (RemoteLogMetadataTopicPartitioner)."""
    halves = (long_hash(place.id[8:]), long_hash(place.id[:8]), place.partition)
    hashed = 1
    for each in halves:  # Objects.hash
        hashed = (31 * hashed + each) & 0xFFFFFFFF
    return (murmur2(hashed.to_bytes(4, "big")) & 0x7FFFFFFF) % partitions
