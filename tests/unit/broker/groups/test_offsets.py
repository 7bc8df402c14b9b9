"""Committed offsets: visible, pending, replaced, removed, and replayed after a restart."""

import pytest

from kafkalet.broker.groups.offsets import MANY_UNREPLICATED, Offsets
from kafkalet.broker.groups.offsets_records import CommittedOffset
from kafkalet.protocol.errors import Code, KafkaError

from .committing import Committing, committing

UNSTABLE = -Code.UNSTABLE_OFFSET_COMMIT


class FakeLog:
    """A log with a number of records, of which the first ones are replicated."""

    def __init__(self) -> None:
        self.end_offset = 0
        self.replicated: int | None = None
        self.refusal: KafkaError | None = None

    def append_encoded(self, payload: bytes, count: int, **producer: int) -> int:
        if self.refusal is not None:
            raise self.refusal
        self.end_offset += count
        return self.end_offset - 1

    def is_replicated(self, offset: int) -> bool:
        return self.replicated is None or offset < self.replicated


def offsets_on(log: FakeLog) -> Offsets:
    return Offsets(log, 3)  # type: ignore[arg-type]


def at(log: FakeLog, offset: int) -> CommittedOffset:
    return CommittedOffset(offset, record_offset=log.end_offset)


def seen(offsets: Offsets, group_id: str = "g", *, newest: bool = False) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): committed.offset
        for topic, by_partition in offsets.committed(group_id, newest=newest).items()
        for partition, committed in by_partition.items()
    }


def test_last_commit_of_partition_is_valid() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    assert offsets.commit("g", [("t", 0, at(log, 5)), ("u", 1, at(log, 6))]) == 1
    assert offsets.commit("g", [("t", 0, at(log, 4))]) == 2
    assert seen(offsets) == {("t", 0): 4, ("u", 1): 6}
    assert seen(offsets, "other") == {}


def test_commit_that_cannot_be_written_changes_nothing() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5))])
    log.refusal = KafkaError(Code.NOT_ENOUGH_REPLICAS)
    with pytest.raises(KafkaError):
        offsets.commit("g", [("t", 0, at(log, 6))])
    with pytest.raises(KafkaError):
        offsets.commit("g", [("t", 0, at(log, 6))], 7, 0)
    assert seen(offsets) == {("t", 0): 5}
    assert not offsets.is_pending("g", "t", 0)


def test_transactional_offset_is_pending_until_commit() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5))], 7, 0)
    assert seen(offsets) == {}
    assert offsets.is_pending("g", "t", 0)
    assert not offsets.is_pending("g", "t", 1)
    assert not offsets.is_pending("h", "t", 0)
    assert list(offsets.groups()) == ["g"]
    offsets.transaction_ended(8, committed=True)
    assert offsets.is_pending("g", "t", 0)
    offsets.transaction_ended(7, committed=True)
    assert seen(offsets) == {("t", 0): 5}
    assert not offsets.is_pending("g", "t", 0)


def test_transactional_offset_is_dropped_on_abort() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5))], 7, 0)
    offsets.transaction_ended(7, committed=False)
    assert seen(offsets) == {}
    assert list(offsets.groups()) == []


def test_transaction_does_not_overwrite_later_commit() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5)), ("t", 1, at(log, 6))], 7, 0)
    offsets.commit("g", [("t", 0, at(log, 8))])
    offsets.transaction_ended(7, committed=True)
    assert seen(offsets) == {("t", 0): 8, ("t", 1): 6}


def test_tombstones_cover_pending_offsets_once_per_partition() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5))])
    offsets.commit("g", [("t", 0, at(log, 6)), ("t", 1, at(log, 7))], 7, 0)
    keys = [record.key for record in offsets.tombstones("g")]
    assert keys == [b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\1\0\1g\0\1t\0\0\0\1"]
    assert seen(offsets) == {("t", 0): 5}


def test_removed_pending_offset_is_not_committed_by_transaction() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5)), ("t", 1, at(log, 6))], 7, 0)
    offsets.forget("g", [("t", 0)])
    offsets.transaction_ended(7, committed=True)
    assert seen(offsets) == {("t", 1): 6}
    offsets.forget("g")
    assert list(offsets.groups()) == []


def test_previous_offset_is_dropped_after_replication() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    log.replicated = 0
    offsets.commit("g", [("t", 0, at(log, 1))])
    log.replicated = None
    offsets.commit("g", [("t", 0, at(log, 2))])
    assert not offsets._unreplicated


def test_previous_offsets_do_not_accumulate_without_reads() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    for number in range(3 * MANY_UNREPLICATED):
        log.replicated = log.end_offset  # followers have all but the last commit
        offsets.commit("g", [("t", 0, at(log, number))])
    assert len(offsets._unreplicated) <= MANY_UNREPLICATED


def test_readers_see_replicated_offsets_only() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5))])
    log.replicated = 1
    offsets.commit("g", [("t", 0, at(log, 6)), ("t", 1, at(log, 7))])
    offsets.commit("g", [("t", 0, at(log, 8))])
    assert seen(offsets) == {("t", 0): 5}
    assert seen(offsets, newest=True) == {("t", 0): 8, ("t", 1): 7}
    assert offsets.is_unreplicated("g", "t", 1)
    assert not offsets.is_unreplicated("g", "u", 1)
    log.replicated = 3
    assert seen(offsets) == {("t", 0): 6, ("t", 1): 7}
    offsets.forget("g", [("t", 1)])
    assert seen(offsets) == {("t", 0): 6, ("t", 1): 7}
    log.replicated = 4
    assert seen(offsets) == {("t", 0): 8}


def test_forget_pending_drops_only_given_partitions() -> None:
    log = FakeLog()
    offsets = offsets_on(log)
    offsets.commit("g", [("t", 0, at(log, 5)), ("t", 1, at(log, 6))], 7, 0)
    offsets.forget_pending(7, "g", [("t", 0, at(log, 8))])
    assert (offsets.is_pending("g", "t", 0), offsets.is_pending("g", "t", 1)) == (False, True)
    offsets.forget_pending(7, "g", [("t", 1, at(log, 8))])
    offsets.forget_pending(7, "g", [("t", 1, at(log, 8))])
    assert list(offsets.groups()) == []


@pytest.mark.parametrize("kafka_version", ["newest", "3.9"])
def test_restart_preserves_all_offsets(kafka_version: str) -> None:
    with committing(version=kafka_version) as client:
        client.commit({0: 5, 1: 6, 2: 7}, metadata="said")
        client.commit({0: 8})
        client.delete(2)
        pending = client.begin_transaction()
        assert client.commit_in(pending, {1: 60}) == {("t", 1): 0}
        client.stage.restart()
        again = Committing(client.stage)
        assert again.fetch(0, 1, 2) == [8, 6, -1]
        assert again.fetch(0, 1, 2, require_stable=True) == [8, UNSTABLE, -1]
        [topic] = again.begin_fetch(1).answer()["topics"]
        assert topic["partitions"][0]["metadata"] == "said"
        again.end_transaction(pending, committed=True)
        assert again.fetch(0, 1, 2, require_stable=True) == [8, 60, -1]
        again.stage.restart()
        assert Committing(client.stage).fetch(0, 1, 2, require_stable=True) == [8, 60, -1]


def test_aborted_offset_is_not_restored_after_restart() -> None:
    with committing() as client:
        client.commit({0: 5})
        client.commit_in(producer := client.begin_transaction(), {0: 50, 1: 51})
        client.end_transaction(producer, committed=False)
        assert client.fetch(0, 1, require_stable=True) == [5, -1]
        client.stage.restart()
        assert Committing(client.stage).fetch(0, 1, require_stable=True) == [5, -1]


def test_offset_committed_after_pending_one_is_valid_after_restart() -> None:
    with committing() as client:
        client.commit_in(producer := client.begin_transaction(), {0: 50, 1: 51})
        client.commit({0: 9})
        client.end_transaction(producer, committed=True)
        assert client.fetch(0, 1) == [9, 51]
        client.stage.restart()
        assert Committing(client.stage).fetch(0, 1) == [9, 51]
