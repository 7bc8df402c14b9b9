"""The share partitions whose state is in one partition of __share_group_state, on the broker that leads it.

Every change is appended to the log before the state in memory changes. Each method that appends returns the offset of
the last record, so that the caller can wait until it is replicated.

A write appends an update with the batches that changed; after `share.coordinator.snapshot.update.records.per.snapshot`
updates, a snapshot with all batches. Records before the oldest snapshot that is still the last one of its share
partition are redundant, and `prune` deletes them. A share partition that is not written any more would keep its last
snapshot, and everything after it; `snapshot_cold_partitions` therefore writes it again.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard, ShareCoordinatorOffsetsManager.
"""

import logging
from collections.abc import Iterable, Sequence

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog, StateRecord, client_code
from kafkalet.broker.quoting import shown
from kafkalet.protocol.errors import Code, KafkaError, ProtocolError
from kafkalet.protocol.records.record import Record

from . import records
from .outcomes import Outcomes
from .state import UNINITIALIZED, SharePartitionKey, SharePartitionState, StateBatch, combined

_LOG = logging.getLogger(__name__)

COLD_MS = 300_000
"""The age of a snapshot after which it is written again (share.coordinator.cold.partition.snapshot.interval.ms)."""


class _Stored:
    """A share partition in memory. The epochs are the highest ever stored, even if a later snapshot has lower ones."""

    __slots__ = ("leader_epoch", "outcomes", "state", "state_epoch", "updates")

    def __init__(self, state: SharePartitionState) -> None:
        self.state = state
        self.state_epoch = state.state_epoch
        self.leader_epoch = state.leader_epoch
        self.updates = 0
        """The number of updates since the last snapshot."""
        self.outcomes = Outcomes()
        self.outcomes.add(state.batches)


class StateShard:
    """The share partitions of one partition. Valid as long as this broker leads it in one leader epoch."""

    def __init__(self, node: Node, log: StateLog) -> None:
        self.node = node
        self.log = log
        self._stored: dict[SharePartitionKey, _Stored] = {}
        self._snapshot_offsets: dict[SharePartitionKey, int] = {}
        self._redundant_before = 0
        self._pruned_before = 0

    # Loading

    def load(self) -> None:
        """Replay the log."""
        for batch, read in self.log.read():
            if batch.is_control:
                continue
            for record in read:
                self._replay(record)

    def _replay(self, record: Record) -> None:
        try:
            kind, key = records.decode_key(bytes(record.key or b"\xff\xff"))
            if key is None:
                _LOG.warning("%r: skipping offset %d: unknown type %d", self.log.partition, record.offset, kind)
            elif record.value is None:
                self._removed(key, record.offset)
            elif kind == records.SNAPSHOT:
                self._snapshot_taken(key, records.decode_snapshot(bytes(record.value)), record.offset)
            else:
                self._updated(key, records.decode_update(bytes(record.value)))
        except (ProtocolError, ValueError) as problem:
            _LOG.error("%r: skipping the record at offset %d: %s", self.log.partition, record.offset, shown(problem))

    # What records change

    def _snapshot_taken(self, key: SharePartitionKey, state: SharePartitionState, offset: int) -> None:
        stored = self._stored.get(key)
        if stored is None:
            self._stored[key] = _Stored(state)
        else:
            stored.state = state
            stored.state_epoch = max(stored.state_epoch, state.state_epoch)
            stored.leader_epoch = max(stored.leader_epoch, state.leader_epoch)
            stored.outcomes.forget_from(state.start_offset)
            stored.outcomes.add(state.batches)
            if stored.updates >= self._updates_per_snapshot:
                stored.updates = 0
        self._snapshot_offsets[key] = offset
        self._redundant_before = min(self._snapshot_offsets.values())

    def _updated(self, key: SharePartitionKey, change: SharePartitionState) -> None:
        stored = self._stored.get(key)
        if stored is None:
            stored = self._stored[key] = _Stored(change)
        else:
            state = stored.state
            start_offset = state.start_offset if change.start_offset == UNINITIALIZED else change.start_offset
            stored.state = state._replace(
                start_offset=start_offset,
                leader_epoch=state.leader_epoch if change.leader_epoch == -1 else change.leader_epoch,
                delivery_complete_count=change.delivery_complete_count,
                batches=self._combined(state.batches, change.batches, start_offset),
            )
            stored.leader_epoch = max(stored.leader_epoch, change.leader_epoch)
            stored.outcomes.add(change.batches)
        stored.updates += 1

    def _removed(self, key: SharePartitionKey, offset: int) -> None:
        self._stored.pop(key, None)
        self._snapshot_offsets[key] = offset
        self._redundant_before = min(self._snapshot_offsets.values())
        del self._snapshot_offsets[key]

    # Requests

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> int:
        """Store a share partition without delivered records. Raises KafkaError: FENCED_STATE_EPOCH and others."""
        _not_negative(key.partition, "The partition id")
        self._check_epoch(state_epoch, "The state epoch")
        stored = self._stored.get(key)
        if stored is not None and self._is_fenced(state_epoch, stored.state_epoch):
            raise KafkaError(Code.FENCED_STATE_EPOCH, _FENCED_STATE)
        self._check_exists(key)
        now_ms = self.node.clock.now_ms()
        state = SharePartitionState(
            state_epoch=state_epoch,
            start_offset=start_offset,
            delivery_complete_count=UNINITIALIZED if start_offset == UNINITIALIZED else 0,
            snapshot_epoch=0 if stored is None else stored.state.snapshot_epoch + 1,
            created_ms=now_ms,
            written_ms=now_ms,
        )
        return self._take_snapshot(key, state)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> tuple[SharePartitionState, int]:
        """Return the state for a new leader of the partition, and store the leader's epoch if it is new.

        Raises KafkaError: INVALID_REQUEST if the share partition is not initialized, FENCED_LEADER_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        _not_negative(key.partition, "The partition id")
        self._check_epoch(leader_epoch, "The leader epoch")
        stored = self._stored.get(key)
        if stored is None:
            raise KafkaError(Code.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed.")
        if self._is_fenced(leader_epoch, stored.leader_epoch):
            raise KafkaError(Code.FENCED_LEADER_EPOCH, _FENCED_LEADER)
        self._check_exists(key)
        state = stored.state
        if leader_epoch in (stored.leader_epoch, _ANY_EPOCH):
            return state, self.log.end_offset - 1
        change = state._replace(leader_epoch=leader_epoch, batches=())
        return state, self._store(key, stored, change, leader_epoch)

    def write(self, key: SharePartitionKey, change: SharePartitionState) -> int:
        """Store the batches that have changed, and a start offset that has advanced.

        Raises KafkaError: INVALID_REQUEST if the share partition is not initialized, FENCED_LEADER_EPOCH,
        FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _not_negative(key.partition, "The partition id")
        self._check_epoch(change.leader_epoch, "The leader epoch")
        self._check_epoch(change.state_epoch, "The state epoch")
        stored = self._stored.get(key)
        if stored is None:
            raise KafkaError(Code.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed.")
        if self._is_fenced(change.leader_epoch, stored.leader_epoch):
            raise KafkaError(Code.FENCED_LEADER_EPOCH, _FENCED_LEADER)
        if self._is_fenced(change.state_epoch, stored.state_epoch):
            raise KafkaError(Code.FENCED_STATE_EPOCH, _FENCED_STATE)
        self._check_exists(key)
        return self._store(key, stored, change, stored.state.leader_epoch)

    def summary(self, key: SharePartitionKey) -> SharePartitionState:
        """Return the state, or one that is UNINITIALIZED. Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION."""
        _not_negative(key.partition, "The partition id")
        self._check_exists(key)
        stored = self._stored.get(key)
        return SharePartitionState(0, UNINITIALIZED) if stored is None else stored.state

    def outcomes(self, key: SharePartitionKey) -> Iterable[StateBatch]:
        """Return how deliveries have ended (outcomes.py)."""
        stored = self._stored.get(key)
        return () if stored is None else stored.outcomes

    def delete(self, key: SharePartitionKey) -> int:
        """Delete a share partition; one that is not stored counts as deleted."""
        _not_negative(key.partition, "The partition id")
        self._check_exists(key)
        return self._remove([key] if key in self._stored else [])

    def _store(self, key: SharePartitionKey, stored: _Stored, change: SharePartitionState, leader_epoch: int) -> int:
        state = stored.state
        start_offset, count = change.start_offset, change.delivery_complete_count
        if self._is_strict:
            if start_offset == state.start_offset:
                count = max(count, state.delivery_complete_count)
            elif start_offset < state.start_offset:
                start_offset, count = state.start_offset, state.delivery_complete_count
        if stored.updates >= self._updates_per_snapshot:
            now_ms = self.node.clock.now_ms()
            start_offset = state.start_offset if start_offset == UNINITIALIZED else start_offset
            return self._take_snapshot(
                key,
                SharePartitionState(
                    state_epoch=state.state_epoch,
                    start_offset=start_offset,
                    leader_epoch=leader_epoch,
                    delivery_complete_count=count,
                    batches=self._combined(state.batches, change.batches, start_offset),
                    snapshot_epoch=state.snapshot_epoch + 1,
                    created_ms=now_ms,
                    written_ms=now_ms,
                ),
            )
        update = SharePartitionState(
            state_epoch=state.state_epoch,
            start_offset=start_offset,
            leader_epoch=leader_epoch,
            delivery_complete_count=count,
            batches=self._combined((), change.batches, start_offset),
            snapshot_epoch=state.snapshot_epoch,
        )
        offset = self._append([records.update(key, update)])
        self._updated(key, update)
        return offset

    def _take_snapshot(self, key: SharePartitionKey, state: SharePartitionState) -> int:
        offset = self._append([records.snapshot(key, state)])
        self._snapshot_taken(key, state, offset)
        return offset

    def _remove(self, keys: Sequence[SharePartitionKey]) -> int:
        if not keys:
            return self.log.end_offset - 1
        last = self._append([records.tombstone(key) for key in keys])
        for offset, key in enumerate(keys, last - len(keys) + 1):
            self._removed(key, offset)
        return last

    def _append(self, appended: Sequence[StateRecord]) -> int:
        try:
            return self.log.append(appended)
        except KafkaError as error:
            raise KafkaError(client_code(error.code), error.message) from error

    @property
    def _is_strict(self) -> bool:
        return self.node.release.protects_share_states

    def _combined(
        self, batches: Iterable[StateBatch], changes: Iterable[StateBatch], start_offset: int
    ) -> tuple[StateBatch, ...]:
        return combined(batches, changes, start_offset, self.node.release.merges_share_states)

    def _check_epoch(self, epoch: int, name: str) -> None:
        if self._is_strict:
            _not_negative(epoch, name)

    def _is_fenced(self, epoch: int, stored_epoch: int) -> bool:
        return stored_epoch > epoch and (self._is_strict or epoch != _ANY_EPOCH)

    def _check_exists(self, key: SharePartitionKey) -> None:
        topic = self.node.metadata.topic_by_id(key.topic_id)
        if topic is None or len(topic.partitions) <= key.partition:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN)

    @property
    def _updates_per_snapshot(self) -> int:
        return self.node.config.share_coordinator_snapshot_update_records_per_snapshot

    # Maintenance

    def remove_deleted_topics(self) -> None:
        """Delete the share partitions of topics that do not exist any more."""
        self._remove([key for key in self._stored if self.node.metadata.topic_by_id(key.topic_id) is None])

    def snapshot_cold_partitions(self) -> None:
        """Write the snapshots again that are older than COLD_MS, unless all of them have been written again already."""
        if all(stored.state.created_ms != stored.state.written_ms for stored in self._stored.values()):
            return
        now_ms = self.node.clock.now_ms()
        for key, stored in list(self._stored.items()):
            state = stored.state
            if now_ms - state.written_ms >= COLD_MS:
                again = state._replace(snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)
                self._take_snapshot(key, again)

    def prune(self) -> None:
        """Delete the records that no share partition needs."""
        if self._redundant_before > self._pruned_before and self.log.is_current:
            self.log.partition.delete_records(min(self._redundant_before, self.log.partition.log.high_watermark))
            self._pruned_before = self._redundant_before


_ANY_EPOCH = -1
"""An epoch that is not compared, before Kafka 4.4."""
_UNKNOWN = "This server does not host this topic-partition."
_FENCED_LEADER = "The leader epoch in the request is older than the epoch on the broker."
_FENCED_STATE = "The coordinator rejected the request because the state epoch did not match."


def _not_negative(number: int, name: str) -> None:
    if number < 0:
        raise KafkaError(Code.INVALID_REQUEST, f"{name} cannot be a negative number.")
