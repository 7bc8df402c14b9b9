"""The committed offsets of all groups of one shard, including those of open transactions.

    commit ───────────────── record ──> committed
    transactional commit ─── record ──> pending, by producer ──┬── COMMIT marker ──> committed
                                                               └── ABORT marker ───> dropped

If two offsets were committed for a partition, the one whose record comes later in the log is valid, so a transaction
that stayed open for a long time does not overwrite a later commit. Compaction does not change this, because it
preserves the order of the records.

Readers must never see an offset that a change of leader could revert. Until a change in the log is replicated, the
previous offset is kept (`_unreplicated`) and returned instead.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager, kafka.coordinator.group.GroupMetadata.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.state_log import NO_PRODUCER, StateLog, StateRecord

from .offsets_records import Commit, CommittedOffset, encode_commits, encode_key, key_head

ByTopic = dict[str, dict[int, CommittedOffset]]

FIRST_SEQUENCE = 0
"""Like producer batches, batches of commits have a base sequence, but it is always 0."""

MANY_UNREPLICATED = 1000
"""When this many changes are remembered as unreplicated, those that have since been replicated are dropped."""

EVERYWHERE = -1
"""Used instead of a record offset for changes that every in-sync replica has."""


class _Unreplicated(NamedTuple):
    """A change that has not yet been replicated to all in-sync replicas, and the offset that it replaced."""

    last_offset: int
    group_id: str
    topic: str
    partition: int
    before: CommittedOffset | None


class Offsets:
    """The committed offsets of the groups of one shard. New records are written in `value_version`."""

    def __init__(self, log: StateLog, value_version: int) -> None:
        self._log = log
        self._value_version = value_version
        self._committed: dict[str, ByTopic] = {}
        self._pending: dict[int, dict[str, ByTopic]] = {}  # by producer id
        self._unreplicated: list[_Unreplicated] = []
        self._settle_at = MANY_UNREPLICATED

    # Reading

    def committed(self, group_id: str, *, newest: bool = False) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """Return all committed offsets of a group. The result must not be modified.

        By default, a change counts only when all in-sync replicas have it. With `newest`, all changes in the leader's
        log count.
        """
        by_topic = self._committed.get(group_id, {})
        if self._unreplicated and not newest:
            return self._as_replicated(group_id, by_topic)
        return by_topic

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Return whether an open transaction contains an offset for this partition."""
        for by_group in self._pending.values():
            by_topic = by_group.get(group_id)
            if by_topic is not None and partition in by_topic.get(topic, ()):
                return True
        return False

    def is_unreplicated(self, group_id: str, topic: str, partition: int) -> bool:
        """Return whether a change of this offset has not yet been replicated to all in-sync replicas."""
        self._settle()
        return any(
            (change.group_id, change.topic, change.partition) == (group_id, topic, partition)
            for change in self._unreplicated
        )

    def known(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Yield the partitions for which a group has offsets, committed or pending."""
        seen = set()
        stores = [self._committed, *self._pending.values()]
        for by_group in stores:
            for topic, by_partition in by_group.get(group_id, {}).items():
                for partition in by_partition:
                    if (topic, partition) not in seen:
                        seen.add((topic, partition))
                        yield topic, partition

    def is_known(self, group_id: str, topic: str, partition: int) -> bool:
        """Return whether the group has an offset for this partition, committed or pending."""
        by_partition = self._committed.get(group_id, {}).get(topic, {})
        return partition in by_partition or self.is_pending(group_id, topic, partition)

    def groups(self) -> Iterator[str]:
        """Yield the groups that have offsets, committed or pending."""
        yield from self._committed
        for by_group in self._pending.values():
            for group_id in by_group:
                if group_id not in self._committed:
                    yield group_id

    # Changes, which are first written to the log and then applied to the state in memory

    def commit(
        self,
        group_id: str,
        commits: Sequence[Commit],
        producer_id: int = NO_PRODUCER,
        producer_epoch: int = NO_PRODUCER,
    ) -> int:
        """Append offsets as one batch and return the log offset of its last record.

        With a producer id, the offsets stay pending until the producer's transaction ends. If the log raises KafkaError
        (StateLog.append), nothing has changed.
        """
        last_offset = self._log.append_encoded(
            encode_commits(group_id, commits, self._value_version),
            len(commits),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=FIRST_SEQUENCE,
        )
        if producer_id == NO_PRODUCER:
            self._put_all(group_id, commits, self._missing(last_offset))
        else:
            for topic, partition, committed in commits:
                self._put_pending(producer_id, group_id, topic, partition, committed)
        return last_offset

    def tombstones(self, group_id: str, partitions: Iterable[tuple[str, int]] | None = None) -> list[StateRecord]:
        """Return the tombstones of a group's offsets, committed or pending, in `partitions` (default: all).

        This does not remove the offsets: append the tombstones, then call `forget` with the same arguments.
        """
        return [
            StateRecord(encode_key(key_head(group_id, topic), partition), None)
            for topic, partition in (self.known(group_id) if partitions is None else partitions)
        ]

    def forget(self, group_id: str, partitions: Iterable[tuple[str, int]] | None = None) -> None:
        """Drop offsets whose tombstones have been appended."""
        missing = self._missing(self._log.end_offset - 1)
        for topic, partition in list(self.known(group_id)) if partitions is None else partitions:
            self._remove(group_id, topic, partition, missing)

    def forget_pending(self, producer_id: int, group_id: str, commits: Iterable[Commit]) -> None:
        """Drop the pending offsets of a producer for the partitions in `commits`."""
        by_group = self._pending.get(producer_id, {})
        by_topic = by_group.get(group_id, {})
        for topic, partition, _ in commits:
            _drop(by_topic, topic, partition)
        if not by_topic:
            by_group.pop(group_id, None)
        if not by_group:
            self._pending.pop(producer_id, None)

    def transaction_ended(self, producer_id: int, *, committed: bool) -> None:
        """Commit or drop the pending offsets of a producer after its transaction marker was written."""
        by_group = self._pending.pop(producer_id, None)
        if by_group is None or not committed:
            return
        missing = self._missing(self._log.end_offset - 1)
        for group_id, by_topic in by_group.items():
            for topic, by_partition in by_topic.items():
                present = self._committed.get(group_id, {}).get(topic, {})
                for partition, pending in by_partition.items():
                    existing = present.get(partition)
                    if existing is None or pending.record_offset > existing.record_offset:
                        self._put(group_id, topic, partition, pending, missing)

    def replay(
        self, group_id: str, topic: str, partition: int, committed: CommittedOffset | None, producer_id: int
    ) -> None:
        """Apply a record read from the log. `committed` is None for a tombstone."""
        if committed is None:
            self._remove(group_id, topic, partition, EVERYWHERE)
        elif producer_id == NO_PRODUCER:
            self._put(group_id, topic, partition, committed, EVERYWHERE)
        else:
            self._put_pending(producer_id, group_id, topic, partition, committed)

    # State in memory

    def _missing(self, last_offset: int) -> int:
        """Return `last_offset`, or EVERYWHERE if every in-sync replica has all records up to this one."""
        if not self._log.is_replicated(last_offset):
            return last_offset
        self._unreplicated.clear()
        return EVERYWHERE

    def _put_all(self, group_id: str, commits: Sequence[Commit], missing: int) -> None:
        if missing != EVERYWHERE:
            for topic, partition, committed in commits:
                self._put(group_id, topic, partition, committed, missing)
            return
        by_topic = self._committed.setdefault(group_id, {})
        for topic, partition, committed in commits:
            by_partition = by_topic.get(topic)
            if by_partition is None:
                by_partition = by_topic[topic] = {}
            by_partition[partition] = committed

    def _put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset, missing: int) -> None:
        by_topic = self._committed.get(group_id)
        if by_topic is None:
            by_topic = self._committed[group_id] = {}
        by_partition = by_topic.get(topic)
        if by_partition is None:
            by_partition = by_topic[topic] = {}
        if missing != EVERYWHERE:
            self._remember(_Unreplicated(missing, group_id, topic, partition, by_partition.get(partition)))
        by_partition[partition] = committed

    def _put_pending(
        self, producer_id: int, group_id: str, topic: str, partition: int, committed: CommittedOffset
    ) -> None:
        by_topic = self._pending.setdefault(producer_id, {}).setdefault(group_id, {})
        by_topic.setdefault(topic, {})[partition] = committed

    def _remove(self, group_id: str, topic: str, partition: int, missing: int) -> None:
        """Remove an offset and the pending offsets of the same partition.

        Dictionaries that become empty are also removed.
        """
        by_topic = self._committed.get(group_id)
        before = None if by_topic is None else _drop(by_topic, topic, partition)
        if by_topic is not None and not by_topic:
            del self._committed[group_id]
        if before is not None and missing != EVERYWHERE:
            self._remember(_Unreplicated(missing, group_id, topic, partition, before))
        for producer_id, by_group in list(self._pending.items()):
            pending = by_group.get(group_id)
            if pending is None:
                continue
            _drop(pending, topic, partition)
            if not pending:
                del by_group[group_id]
            if not by_group:
                del self._pending[producer_id]

    def _remember(self, change: _Unreplicated) -> None:
        if len(self._unreplicated) >= self._settle_at:
            self._settle()
            self._settle_at = max(MANY_UNREPLICATED, 2 * len(self._unreplicated))
        self._unreplicated.append(change)

    def _settle(self) -> None:
        """Forget changes that have been replicated to all in-sync replicas."""
        is_replicated = self._log.is_replicated
        self._unreplicated = [change for change in self._unreplicated if not is_replicated(change.last_offset)]

    def _as_replicated(self, group_id: str, by_topic: ByTopic) -> ByTopic:
        self._settle()
        changes = [change for change in self._unreplicated if change.group_id == group_id]
        if not changes:
            return by_topic
        seen = {topic: dict(by_partition) for topic, by_partition in by_topic.items()}
        for change in reversed(changes):
            if change.before is None:
                _drop(seen, change.topic, change.partition)
            else:
                seen.setdefault(change.topic, {})[change.partition] = change.before
        return seen


def _drop(by_topic: ByTopic, topic: str, partition: int) -> CommittedOffset | None:
    by_partition = by_topic.get(topic)
    if by_partition is None:
        return None
    dropped = by_partition.pop(partition, None)
    if not by_partition:
        del by_topic[topic]
    return dropped
