"""A replica of a partition: fencing, the high watermark, and lookups of offsets and epochs."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from kafkalet.broker.cluster.metadata import PartitionState, TopicState
from kafkalet.broker.cluster.partition import EpochEnd, Partition
from kafkalet.broker.config.release import Release
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.files import File
from kafkalet.storage.lookup import EARLIEST, LATEST, MAX_TIMESTAMP
from kafkalet.storage.values import AppendResult, Isolation, TimestampOffset
from kafkalet.storage.verification import Guard
from kafkalet.tasks.task import finish
from tests.unit.storage.place import with_epoch
from tests.unit.storage.producing import logged
from tests.wire.brokers import batch, timed

LEADER, FIRST, SECOND, AWAY = 1, 2, 3, 4
NOW_MS = 1_600_000_000_000

Make = Callable[..., Partition]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Creates partitions led by broker 1 and followed by 2 and 3, without any brokers; broker 4 is not alive."""
    directory = LogDirectory(str(tmp_path), ManualClock(), durable=False, cluster_id=None, node_id=1)
    changes: list[Partition] = []

    def made(replicas: tuple[int, ...] = (LEADER, FIRST, SECOND), release: str = "newest", **config: str) -> Partition:
        state = PartitionState(0, list(replicas))
        topic = TopicState("t", bytes(15) + b"\1", [state], {})
        properties = {name.replace("_", "."): value for name, value in config.items()}
        log_config = LogConfig.of(properties, Release.of(release).log_rules)
        log = directory.get_or_create("t", 0, topic.topic_id, log_config)
        partition = Partition(LEADER, topic, state, log, Release.of(release), changes.append, {LEADER, FIRST, SECOND})
        partition.lead(NOW_MS)
        return partition

    yield made
    directory.close(discard=True)


def code_of(call: Callable[[], object]) -> Code:
    with pytest.raises(KafkaError) as refusal:
        call()
    return refusal.value.code


# Fencing


@pytest.mark.parametrize(
    ("given", "code"),
    [(0, Code.FENCED_LEADER_EPOCH), (2, Code.FENCED_LEADER_EPOCH), (4, Code.UNKNOWN_LEADER_EPOCH)],
)
def test_other_leader_epoch_is_refused(make: Make, given: int, code: Code) -> None:
    partition = make()
    partition.state.leader_epoch = 3
    assert code_of(lambda: partition.fence(given)) == code
    partition.fence(3)
    partition.fence(None)


def test_offline_log_raises_storage_error_for_any_epoch(make: Make) -> None:
    partition = make()
    partition.log.failures.take_offline(OSError(errno.EIO, os.strerror(errno.EIO), "t-0"))
    partition.log.failures.take_offline(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "t-0"))
    assert code_of(lambda: partition.log_for(9)) == Code.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaError, match="t-0: Input/output error"):
        partition.log_for(None)


def test_epoch_is_checked_before_leadership(make: Make) -> None:
    partition = make()
    partition.state.leader = FIRST
    assert code_of(lambda: partition.log_for(9)) == Code.UNKNOWN_LEADER_EPOCH
    assert code_of(lambda: partition.log_for(0)) == Code.NOT_LEADER_OR_FOLLOWER
    assert partition.log_for(0, only_leader=False) is partition.log


def test_only_leader_appends(make: Make) -> None:
    partition = make()
    partition.state.leader = FIRST
    assert code_of(lambda: partition.append(batch(b"a"))) == Code.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


def test_appended_batch_has_leader_epoch(make: Make) -> None:
    partition = make()
    partition.state.leader_epoch = 7
    partition.append(batch(b"a"))
    [(_, entry)] = [found for segment in partition.log.segments for found in segment.entries()]
    assert entry.leader_epoch == 7


# Transactions (KIP-890)


def verification_of(partition: Partition) -> Guard:
    """Start the verification of a transaction of producer 7."""
    return partition.log.start_verification(7, 0, 0)


TRANSACTIONAL = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}


@pytest.mark.parametrize("is_validated_apart", [False, True])
def test_batch_of_verified_transaction_is_appended(make: Make, is_validated_apart: bool) -> None:
    partition = make(replicas=(LEADER,))
    guard = verification_of(partition)
    assert produce(partition, guard, is_validated_apart).first_offset == 0


@pytest.mark.parametrize("is_validated_apart", [False, True])
def test_batch_with_outdated_verification_is_refused(make: Make, is_validated_apart: bool) -> None:
    """A marker or another batch was written in between, so the coordinator's response is outdated."""
    partition = make(replicas=(LEADER,))
    guard = verification_of(partition)
    partition.log.producers.verifications.end(7)
    verification_of(partition)
    assert code_of(lambda: produce(partition, guard, is_validated_apart)) == Code.INVALID_TXN_STATE
    assert partition.log.log_end_offset == 0


def test_verification_that_ends_during_validation_refuses_batch(make: Make) -> None:
    partition = make(replicas=(LEADER,))
    guard = verification_of(partition)
    accepted = finish(partition.validate(batch(b"a", **TRANSACTIONAL), guard))
    partition.log.producers.verifications.end(7)
    assert code_of(lambda: partition.produce_validated(accepted, guard)) == Code.INVALID_TXN_STATE


def produce(partition: Partition, guard: Guard, is_validated_apart: bool) -> AppendResult:
    """Produce a transactional batch, in one step or, like a large batch, validated separately."""
    records = batch(b"a", **TRANSACTIONAL)
    if not is_validated_apart:
        return partition.produce(records, guard)
    appended = partition.produce_validated(finish(partition.validate(records, guard)), guard)
    assert appended is not None
    return appended


# The high watermark


def test_leader_without_followers_advances_high_watermark_with_each_append(make: Make) -> None:
    partition = make(replicas=(LEADER,))
    partition.append(batch(b"a", b"b"))
    assert partition.log.high_watermark == 2


def test_high_watermark_is_minimum_of_in_sync_replicas(make: Make) -> None:
    partition = make()
    partition.append(batch(b"a", b"b", b"c"))
    assert partition.log.high_watermark == 0
    assert not partition.follower_has(FIRST, 3, 0, NOW_MS)
    assert partition.follower_has(SECOND, 2, 0, NOW_MS)
    assert partition.log.high_watermark == 2


def test_replica_out_of_sync_does_not_hold_back_high_watermark(make: Make) -> None:
    partition = make()
    partition.append(batch(b"a"))
    partition.follower_has(FIRST, 1, 0, NOW_MS)
    partition.state.isr = [LEADER, FIRST]
    assert partition.advance_high_watermark()
    assert partition.log.high_watermark == 1


def test_high_watermark_never_decreases(make: Make) -> None:
    partition = make()
    partition.append(batch(b"a", b"b"))
    for node in (FIRST, SECOND):
        partition.follower_has(node, 2, 0, NOW_MS)
    assert not partition.follower_has(SECOND, 0, 0, NOW_MS)
    assert partition.log.high_watermark == 2


def test_follower_offset_beyond_log_end_is_capped(make: Make) -> None:
    partition = make(replicas=(LEADER, FIRST))
    partition.append(batch(b"a"))
    partition.follower_has(FIRST, 1000, 0, NOW_MS)
    assert partition.log.high_watermark == 1


@pytest.mark.parametrize(("release", "high_watermark"), [("3.6", 1), ("3.7", 0)])
def test_since_kip_966_too_few_in_sync_replicas_hold_back_high_watermark(
    make: Make, release: str, high_watermark: int
) -> None:
    partition = make(release=release, min_insync_replicas="2")
    partition.state.isr = [LEADER]
    partition.append(batch(b"a"))
    assert partition.log.high_watermark == high_watermark


@pytest.mark.parametrize(("release", "enough"), [("3.6", False), ("3.7", True)])
def test_since_kip_966_min_insync_replicas_is_capped_at_replicas(make: Make, release: str, enough: bool) -> None:
    assert make(replicas=(LEADER, FIRST), release=release, min_insync_replicas="3").has_enough_replicas is enough


def test_follower_is_caught_up_when_it_has_all_records(make: Make) -> None:
    partition = make()
    partition.append(batch(b"a", b"b"))
    partition.follower_has(FIRST, 1, 0, NOW_MS + 5)
    assert partition.followers[FIRST].caught_up_ms == NOW_MS
    partition.follower_has(FIRST, 2, 0, NOW_MS + 9)
    assert partition.followers[FIRST].caught_up_ms == NOW_MS + 9


# Deleting


def test_low_watermark_is_smallest_log_start_of_live_replicas(make: Make) -> None:
    partition = make(replicas=(LEADER, FIRST, SECOND, AWAY))
    partition.append(batch(b"a", b"b", b"c"))
    for node, start in ((FIRST, 2), (SECOND, 1), (AWAY, 0)):
        partition.follower_has(node, 3, start, NOW_MS)
    partition.log.maybe_increment_log_start_offset(3)
    assert partition.low_watermark == 1


def test_low_watermark_is_unknown_before_first_fetch_of_follower(make: Make) -> None:
    assert make().low_watermark == -1


@pytest.mark.parametrize(("before", "code"), [(2, 1), (-2, 1), (-(1 << 63), 1), ((1 << 63) - 1, 1)])
def test_records_above_high_watermark_cannot_be_deleted(make: Make, before: int, code: int) -> None:
    partition = make()
    partition.append(batch(b"a", b"b"))
    partition.follower_has(FIRST, 2, 0, NOW_MS)
    partition.follower_has(SECOND, 1, 0, NOW_MS)
    assert code_of(lambda: partition.delete_records(before)) == code
    assert partition.log.log_start_offset == 0
    assert partition.delete_records(-1) == 1


# Offsets by time


@pytest.fixture
def lagging(make: Make) -> Partition:
    """Records at 1000, 2000 and 3000. The followers have the first two; the current leader was elected after the
    second.
    """
    partition = make()
    for time in (1000, 2000, 3000):
        partition.append(timed(time))
    for node in (FIRST, SECOND):
        partition.follower_has(node, 1, 0, NOW_MS)
    return partition


@pytest.mark.parametrize(
    ("timestamp", "isolation", "found"),
    [
        (LATEST, Isolation.HIGH_WATERMARK, TimestampOffset(-1, 1, 0)),
        (LATEST, Isolation.LAST_STABLE, TimestampOffset(-1, 1, 0)),
        (LATEST, None, TimestampOffset(-1, 3, 0)),
        (EARLIEST, Isolation.HIGH_WATERMARK, TimestampOffset(-1, 0, 0)),
        (1000, Isolation.HIGH_WATERMARK, TimestampOffset(1000, 0, 0)),
        (1001, Isolation.HIGH_WATERMARK, None),
        (1001, None, TimestampOffset(2000, 1, 0)),
        (MAX_TIMESTAMP, Isolation.HIGH_WATERMARK, None),
        (MAX_TIMESTAMP, None, TimestampOffset(3000, 2, 0)),
        (9999, None, None),
    ],
)
def test_consumers_find_no_offset_above_high_watermark(
    lagging: Partition, timestamp: int, isolation: Isolation | None, found: TimestampOffset | None
) -> None:
    assert finish(lagging.offset_for(timestamp, isolation, None, True)) == found


@pytest.mark.parametrize("timestamp", [LATEST, 1001, 9999, MAX_TIMESTAMP])
def test_lagging_new_leader_returns_offset_not_available(lagging: Partition, timestamp: int) -> None:
    lagging.lead(NOW_MS)
    assert code_of(lambda: finish(lagging.offset_for(timestamp, Isolation.HIGH_WATERMARK, None, True))) == 78
    finish(lagging.offset_for(timestamp, None, None, True))


@pytest.mark.parametrize(("timestamp", "offset"), [(EARLIEST, 0), (1000, 0)])
def test_lagging_new_leader_returns_offsets_below_high_watermark(
    lagging: Partition, timestamp: int, offset: int
) -> None:
    lagging.lead(NOW_MS)
    found = finish(lagging.offset_for(timestamp, Isolation.HIGH_WATERMARK, None, True))
    assert found is not None
    assert found.offset == offset


def test_new_leader_returns_latest_offset_after_catching_up(lagging: Partition) -> None:
    lagging.lead(NOW_MS)
    for node in (FIRST, SECOND):
        lagging.follower_has(node, 3, 0, NOW_MS)
    found = finish(lagging.offset_for(LATEST, Isolation.HIGH_WATERMARK, None, True))
    assert found == TimestampOffset(-1, 3, 0)


def test_disk_error_during_lookup_raises_storage_error(lagging: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: File, length: int, position: int) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO), file.path)

    monkeypatch.setattr(File, "read", fail)
    assert code_of(lambda: finish(lagging.offset_for(1500, None, None, True))) == Code.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(("consumer", "offsets"), [(True, [1, 0]), (False, [3, 0])])
def test_legacy_offsets_above_high_watermark_are_hidden_from_consumers(
    lagging: Partition, consumer: bool, offsets: list[int]
) -> None:
    assert lagging.legacy_offsets(LATEST, 10, consumer, True, NOW_MS) == offsets


def test_negative_number_of_offsets_returns_unknown_server_error(lagging: Partition) -> None:
    assert code_of(lambda: lagging.legacy_offsets(LATEST, -1, True, True, NOW_MS)) is Code.UNKNOWN_SERVER_ERROR


# Epochs


@pytest.fixture
def aged(make: Make) -> Partition:
    """A log with offsets 0 and 1 from epoch 0, offset 2 from epoch 3, and none from the current epoch 5."""
    partition = make(replicas=(LEADER,))
    partition.append(batch(b"a", b"b"))
    partition.state.leader_epoch = 3
    partition.lead(NOW_MS)
    partition.append(batch(b"c"))
    partition.state.leader_epoch = 5
    partition.lead(NOW_MS)
    return partition


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(0, (0, 2)), (1, (0, 2)), (2, (0, 2)), (3, (3, 3)), (4, (3, 3)), (5, (5, 3)), (6, (-1, -1)), (-1, (-1, -1))],
)
def test_epoch_ends_where_the_next_begins_or_at_the_log_end(aged: Partition, epoch: int, end: tuple[int, int]) -> None:
    assert aged.end_of_epoch(epoch) == EpochEnd(*end)


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (0, 0, None),
        (2, 0, None),
        (3, 0, (0, 2)),  # that epoch ended at 2
        (2, 1, (0, 2)),  # an epoch that is not in this log
        (3, 3, None),
        (1000, 3, (3, 3)),
        (3, 5, None),
    ],
)
def test_diverging_reader_gets_end_of_common_epoch(
    aged: Partition, offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    read = aged.read(offset, 1000, Isolation.HIGH_WATERMARK, True, None, epoch)
    assert read.diverging == (None if diverging is None else EpochEnd(*diverging))
    assert (read.result is None) == (diverging is not None)


def test_unknown_later_epoch_is_out_of_range(aged: Partition) -> None:
    call = aged.read
    assert code_of(lambda: call(3, 1000, Isolation.HIGH_WATERMARK, True, None, 6)) == Code.OFFSET_OUT_OF_RANGE


def test_diverged_reader_below_log_start_is_out_of_range(aged: Partition) -> None:
    aged.delete_records(1)
    call = aged.read
    assert code_of(lambda: call(0, 1000, Isolation.HIGH_WATERMARK, True, None, 1)) == Code.OFFSET_OUT_OF_RANGE


def test_read_returns_offsets_before_read(aged: Partition) -> None:
    read = aged.read(0, 1000, Isolation.LOG_END, True, None, None)
    assert (read.log_start_offset, read.last_stable_offset, read.high_watermark, read.log_end_offset) == (0, 3, 3, 3)


@pytest.mark.parametrize("offset", [0, 4])
def test_log_cannot_be_truncated_to_offset_outside_it(aged: Partition, offset: int) -> None:
    aged.delete_records(1)
    with pytest.raises(ValueError, match=f"cannot be truncated to {offset}"):
        aged.truncate(offset)


def test_high_watermark_can_be_held_where_it_is_but_not_below(aged: Partition) -> None:
    aged.hold_high_watermark(3)
    aged.append(batch(b"d"))
    assert aged.log.high_watermark == 3
    with pytest.raises(ValueError, match="cannot be held at 2"):
        aged.hold_high_watermark(2)


def test_epoch_starts_after_given_records_of_earlier_epochs(aged: Partition) -> None:
    aged.append_as_given(with_epoch(logged(3), 4) + with_epoch(logged(4), 5))
    assert aged.epoch_start_offset == 4
