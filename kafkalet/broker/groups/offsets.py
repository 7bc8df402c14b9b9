"""The committed offsets of the groups of one shard, and those that wait for the end of their transaction.

    commit ──────────────── record ──> committed
    commit in a transaction ─ record ──> pending, by producer ──── COMMIT marker ──> committed
                                                             └──── ABORT marker ───> forgotten

Of two offsets for one partition the one whose record lies further back in the log counts: what a transaction has left
pending for long does not undo what was committed since. Compaction keeps it so, because it keeps order.

Where followers are held back, what the log has and they have not is remembered with what was there before
(`_unreplicated`), for readers are told nothing that a change of leaders could take back.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager, kafka.coordinator.group.GroupMetadata.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.state_log import NO_PRODUCER, StateLog, StateRecord

from .offsets_records import Commit, CommittedOffset, encode_commits, encode_key, key_head

ByTopic = dict[str, dict[int, CommittedOffset]]

FIRST_SEQUENCE = 0
"""Commits are numbered like batches of producers, though each has the first number."""

MANY_UNREPLICATED = 1000
"""From so many changes on, those that followers have by now are looked for, even if nobody reads."""

EVERYWHERE = -1
"""In the place of the offset of a record that every in-sync replica has."""


class _Unreplicated(NamedTuple):
    """A change that followers do not have yet, and what was there before it."""

    last_offset: int
    group_id: str
    topic: str
    partition: int
    before: CommittedOffset | None


class Offsets:
    """What the groups of one shard have committed, in a log that is written in `value_version`."""

    def __init__(self, log: StateLog, value_version: int) -> None:
        self._log = log
        self._value_version = value_version
        self._committed: dict[str, ByTopic] = {}
        self._pending: dict[int, dict[str, ByTopic]] = {}  # by producer id
        self._unreplicated: list[_Unreplicated] = []
        self._settle_at = MANY_UNREPLICATED

    # Reading

    def committed(self, group_id: str, *, newest: bool = False) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """All that a group has committed, as far as every in-sync replica knows it, or what is newest; not to be
        changed."""
        by_topic = self._committed.get(group_id, {})
        if self._unreplicated and not newest:
            return self._as_replicated(group_id, by_topic)
        return by_topic

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the offset of this partition."""
        for by_group in self._pending.values():
            by_topic = by_group.get(group_id)
            if by_topic is not None and partition in by_topic.get(topic, ()):
                return True
        return False

    def is_unreplicated(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether the last change of this offset is not everywhere yet."""
        self._settle()
        return any(
            (change.group_id, change.topic, change.partition) == (group_id, topic, partition)
            for change in self._unreplicated
        )

    def known(self, group_id: str) -> Iterator[tuple[str, int]]:
        """The partitions for which a group has offsets, committed or pending."""
        seen = set()
        stores = [self._committed, *self._pending.values()]
        for by_group in stores:
            for topic, by_partition in by_group.get(group_id, {}).items():
                for partition in by_partition:
                    if (topic, partition) not in seen:
                        seen.add((topic, partition))
                        yield topic, partition

    def is_known(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether the group has an offset for this partition, committed or pending."""
        by_partition = self._committed.get(group_id, {}).get(topic, {})
        return partition in by_partition or self.is_pending(group_id, topic, partition)

    def groups(self) -> Iterator[str]:
        """The groups that have offsets, committed or pending."""
        yield from self._committed
        for by_group in self._pending.values():
            for group_id in by_group:
                if group_id not in self._committed:
                    yield group_id

    # Changing: first the log, then what is remembered

    def commit(
        self,
        group_id: str,
        commits: Sequence[Commit],
        producer_id: int = NO_PRODUCER,
        producer_epoch: int = NO_PRODUCER,
    ) -> int:
        """Write offsets as one batch; the offset of the last record. With a producer id they are pending until its
        transaction ends. Raises KafkaError with the log's code (StateLog.append), and then nothing has changed."""
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
        """The records that remove offsets of a group (all of them without `partitions`), also pending ones. Nobody
        is told: append them, then `forget` the same."""
        return [
            StateRecord(encode_key(key_head(group_id, topic), partition), None)
            for topic, partition in (self.known(group_id) if partitions is None else partitions)
        ]

    def forget(self, group_id: str, partitions: Iterable[tuple[str, int]] | None = None) -> None:
        """Remember offsets no more whose tombstones were written."""
        missing = self._missing(self._log.end_offset - 1)
        for topic, partition in list(self.known(group_id)) if partitions is None else partitions:
            self._remove(group_id, topic, partition, missing)

    def forget_pending(self, producer_id: int, group_id: str, commits: Iterable[Commit]) -> None:
        """Remember no more what this producer's transaction was about to commit in these partitions."""
        by_group = self._pending.get(producer_id, {})
        by_topic = by_group.get(group_id, {})
        for topic, partition, _ in commits:
            _drop(by_topic, topic, partition)
        if not by_topic:
            by_group.pop(group_id, None)
        if not by_group:
            self._pending.pop(producer_id, None)

    def transaction_ended(self, producer_id: int, *, committed: bool) -> None:
        """A marker was written: the pending offsets of this producer count now, or are forgotten."""
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
        """Take in a record of the log. None: a tombstone."""
        if committed is None:
            self._remove(group_id, topic, partition, EVERYWHERE)
        elif producer_id == NO_PRODUCER:
            self._put(group_id, topic, partition, committed, EVERYWHERE)
        else:
            self._put_pending(producer_id, group_id, topic, partition, committed)

    # Remembering

    def _missing(self, last_offset: int) -> int:
        """The offset, while a replica lacks the record there. When none does, none lacks an earlier record."""
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
        """Drop an offset, the pending ones for the same partition, and what is empty by that."""
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
        """Forget what was there before changes that are everywhere now."""
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
