"""What share groups read (KIP-932): where they begin, transactions, and logs whose beginning is deleted."""

from kafkalet_conformance.building import T0, ScenarioBuilder, at, batch, record
from kafkalet_conformance.shares import ACCEPT, BY_RECORD_LIMIT, GAP, RELEASE, M, N, Reader, Share, of, parts
from tools.recording.definitions import SHARE_GROUPS, Scenarios

from .share_acquisition import FIVE, in_group

DAY = 86_400_000

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareFetch=1)


@scenario("KIP-932 ShareGroupAutoOffsetResetStrategy", level="must")
def share_reset_latest(ask: ScenarioBuilder) -> None:
    """By default, a share group begins at the end of the log, when it reads a partition for the first time."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    group = Share(ask)
    group.joined(M, t, share_auto_offset_reset="latest")
    group.offsets("offsets before the first fetch", t)
    reader = Reader(group)
    reader.fetch("the first fetch", of("$t.id"), max_wait_ms=1000)
    group.offsets("offsets after the first fetch", t)
    ask.produce(t, batch(30))
    reader.fetch("a record that was written later")
    group.offsets("offsets while a record is acquired", t)
    reader.acknowledge("accept", of("$t.id", (2, 2, ACCEPT)))
    group.offsets("offsets at the end", t)


@scenario("KIP-932 ShareGroupAutoOffsetResetStrategy", level="must")
def share_reset_earliest(ask: ScenarioBuilder) -> None:
    """With share.auto.offset.reset=earliest, a share group begins at the first record that is left."""
    t = ask.topic()
    ask.produce_each(t, [FIVE, batch(60)])
    ask.delete_records(t, 2)
    group = Share(ask)
    group.joined(M, t, share_auto_offset_reset="earliest")
    group.offsets("offsets before the first fetch", t)
    Reader(group).fetch("the first fetch", of("$t.id"))
    group.offsets("offsets after the first fetch", t)


@scenario("KIP-932 ShareGroupAutoOffsetResetStrategy")
def share_reset_by_duration(ask: ScenarioBuilder) -> None:
    """With by_duration, a share group begins at the first record that is not older than the duration; as long as there
    is none, a fetch fails with OFFSET_NOT_AVAILABLE.
    """
    ask.step("bind_now", bind="Tnow")
    for name, reset in (("hour", "by_duration:PT1H"), ("years", "by_duration:P10000D"), ("now", "by_duration:PT0S")):
        t = ask.topic(name)
        old, new = {"ts": T0, "key": None, "value": "old"}, {"ts": "$Tnow", "key": None, "value": "new"}
        ask.produce_each(t, [batch(old, old), batch(new)])
        group = Share(ask, f"g{name}")
        group.joined(M, t, share_auto_offset_reset=reset)
        Reader(group, conn=name).fetch(f"{reset}: the first fetch", of(f"${name}.id"), max_wait_ms=1000)


@scenario("KIP-932 SharePartition")
def share_reset_changed(ask: ScenarioBuilder) -> None:
    """A change of share.auto.offset.reset has no effect on partitions that have a start offset."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    group = Share(ask)
    group.joined(M, t, share_auto_offset_reset="latest")
    reader = Reader(group)
    reader.fetch("", of("$t.id"), max_wait_ms=1000)
    group.configure(share_auto_offset_reset="earliest")
    key = {"resource_type": 32, "resource_name": group.id, "configuration_keys": ["share.auto.offset.reset"]}
    ask.until("DescribeConfigs", 1, {"resources": [key]}, "results.0.configs.0.value", "earliest")
    reader.poll("after the change")
    ask.produce(t, batch(30))
    reader.fetch("a record that was written later")
    group.offsets("offsets", t)


@scenario("KIP-932 DelayedShareFetch", level="must")
def share_read_committed(ask: ScenarioBuilder) -> None:
    """With share.isolation.level=read_committed, a share group gets records of committed transactions only, and no
    records beyond an open one.
    """
    t = ask.topic()
    fields = ask.transaction(t, "X1")
    ask.produce(t, batch(10, 20, base_sequence=0, **fields), transactional_id="$X1")
    ask.end("X1")
    ask.stable_at(t, 3)
    ask.add_partitions(t, "X1")
    ask.produce(t, batch(30, 40, base_sequence=2, **fields), transactional_id="$X1")
    ask.end("X1", committed=False)
    ask.stable_at(t, 6)
    ask.produce(t, batch(50))
    ask.add_partitions(t, "X1")
    ask.produce(t, batch(60, base_sequence=4, **fields), transactional_id="$X1")
    ask.produce(t, batch(70))
    group = Share(ask)
    group.joined(M, t, share_isolation_level="read_committed")
    reader = Reader(group)
    reader.fetch("committed records", of("$t.id"))
    reader.poll("nothing else before the transaction ends")
    reader.acknowledge("accept aborted records, too", of("$t.id", (0, 6, ACCEPT)))
    reader.acknowledge("accept", of("$t.id", (0, 2, ACCEPT), (5, 6, ACCEPT)))
    ask.end("X1")
    ask.stable_at(t, 10)
    reader.fetch("the open transaction was committed")
    reader.acknowledge("accept the rest", of("$t.id", (7, 8, ACCEPT)))
    group.offsets("offsets", t)


@scenario("KIP-932 SharePartition", level="must")
def share_read_committed_aborted_first(ask: ScenarioBuilder) -> None:
    """Under read_committed, aborted records are archived without being delivered, but their marker is acquired."""
    t = ask.topic()
    fields = ask.transaction(t, "X1")
    ask.produce(t, batch(10, 20, base_sequence=0, **fields), transactional_id="$X1")
    ask.end("X1", committed=False)
    ask.stable_at(t, 3)
    group = Share(ask)
    group.joined(M, t, share_isolation_level="read_committed")
    reader = Reader(group)
    reader.fetch("only aborted records", of("$t.id"), max_wait_ms=500)
    ask.produce(t, batch(30))
    reader.fetch("the next record")
    reader.acknowledge("accept an aborted record", of("$t.id", (0, 0, ACCEPT)))
    reader.acknowledge("accept", of("$t.id", (3, 3, ACCEPT)))
    group.offsets("offsets", t)


@scenario("KIP-932 SharePartition", level="must")
def share_read_uncommitted(ask: ScenarioBuilder) -> None:
    """By default, a share group gets records of open and aborted transactions, and acquires markers like records."""
    t = ask.topic()
    fields = ask.transaction(t, "X1")
    ask.produce(t, batch(10, 20, base_sequence=0, **fields), transactional_id="$X1")
    ask.end("X1", committed=False)
    ask.stable_at(t, 3)
    ask.produce(t, batch(30))
    ask.add_partitions(t, "X1")
    ask.produce(t, batch(40, base_sequence=2, **fields), transactional_id="$X1")
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("accept, with a gap", of("$t.id", (0, 4, (ACCEPT, ACCEPT, GAP, ACCEPT, RELEASE))))
    group.offsets("offsets", t)
    reader.fetch("the released record")
    ask.end("X1")
    ask.stable_at(t, 6)
    reader.fetch("the marker", max_wait_ms=500)


@scenario("KIP-932 ShareGroupConfig")
def share_isolation_changed(ask: ScenarioBuilder) -> None:
    """A change of share.isolation.level applies to the next fetch."""
    t = ask.topic()
    fields = ask.transaction(t, "X1")
    ask.produce(t, batch(10, base_sequence=0, **fields), transactional_id="$X1")
    group = Share(ask)
    group.joined(M, t, share_isolation_level="read_committed")
    reader = Reader(group)
    reader.fetch("read_committed", of("$t.id"), max_wait_ms=300)
    group.configure(share_isolation_level="read_uncommitted")
    key = {"resource_type": 32, "resource_name": group.id, "configuration_keys": ["share.isolation.level"]}
    ask.until("DescribeConfigs", 1, {"resources": [key]}, "results.0.configs.0.value", "read_uncommitted")
    reader.fetch("read_uncommitted")
    ask.end("X1")


@scenario("KIP-932 KIP-107 SharePartition", level="must")
def share_records_deleted(ask: ScenarioBuilder) -> None:
    """After the beginning of the log has been deleted, a fetch returns nothing, and the next one the records that are
    left.
    """
    t = ask.topic()
    ask.produce_each(t, [FIVE, FIVE, batch(60)])
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("the first batch", of("$t.id"), max_records=1)
    ask.delete_records(t, 7)
    reader.fetch("the first fetch after that", max_wait_ms=500)
    group.offsets("offsets", t)
    reader.fetch("the records that are left")
    reader.acknowledge("accept deleted records", of("$t.id", (0, 4, ACCEPT)))
    reader.acknowledge("accept the rest", of("$t.id", (7, 10, ACCEPT)))
    group.offsets("offsets at the end", t)


@scenario("KIP-932 KIP-107 SharePartition")
def share_released_records_deleted(ask: ScenarioBuilder) -> None:
    """Released records that have been deleted from the log are not delivered again."""
    t = ask.topic()
    ask.produce_each(t, [FIVE, batch(60, 70)])
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("release all", of("$t.id", (0, 6, RELEASE)))
    ask.delete_records(t, 3)
    reader.fetch("the first fetch after that", max_wait_ms=500)
    reader.fetch("what is left")
    reader.acknowledge("accept what is left", of("$t.id", (3, 4, ACCEPT), (5, 6, ACCEPT)))
    group.offsets("offsets", t)


@scenario("KIP-932 KIP-107 SharePartition")
def share_all_records_deleted(ask: ScenarioBuilder) -> None:
    """After all records have been deleted, the group continues with new ones."""
    t = ask.topic()
    ask.produce_each(t, [FIVE])
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    ask.delete_records(t, 5)
    reader.fetch("nothing is left", max_wait_ms=500)
    ask.produce(t, batch(60))
    reader.fetch("a new record")
    reader.acknowledge("accept deleted records", of("$t.id", (0, 4, ACCEPT)))
    reader.acknowledge("accept the new one", of("$t.id", (5, 5, ACCEPT)))
    group.offsets("offsets", t)


@scenario("KIP-932 SharePartition", level="must")
def share_partitions_together(ask: ScenarioBuilder) -> None:
    """A fetch returns the records of all partitions of a session, and each partition has its own state."""
    t = ask.topic(partitions=2)
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.open(parts("$t.id", 0, 1))
    ask.produce(t, batch(10, 20), partition=0)
    ask.produce(t, batch(10, 20, 30), partition=1)
    reader.fetch("two partitions")
    reader.acknowledge("accept one of each", of("$t.id", (0, 0, ACCEPT)), of("$t.id", (0, 0, ACCEPT), partition=1))
    reader.acknowledge("release the others", of("$t.id", (1, 1, RELEASE)), of("$t.id", (1, 2, RELEASE), partition=1))
    group.offsets("offsets", t, partitions=(0, 1))


@scenario("KIP-932 KIP-1206 SharePartition", ShareFetch=2)
def share_state_of_group(ask: ScenarioBuilder) -> None:
    """ReadShareGroupState returns what the members have acknowledged, as batches with states and delivery counts."""
    group = in_group(ask, FIVE, FIVE)
    reader = Reader(group)
    state = group.state("$t.id")

    def read(case: str) -> None:
        ask.request(f"state {case}", "ReadShareGroupState", 0, state)
        version = ask.versions("ReadShareGroupStateSummary")[-1]
        ask.request(f"summary {case}", "ReadShareGroupStateSummary", version, state)

    read("before the first fetch")
    reader.fetch("all records", of("$t.id"))
    read("after the first fetch")
    reader.acknowledge("accept in the middle", of("$t.id", (2, 3, ACCEPT)))
    read("with two accepted records")
    reader.acknowledge("release and reject", of("$t.id", (4, 6, (RELEASE, 3, 3))))
    read("with released and rejected records")
    reader.acknowledge("accept the first two", of("$t.id", (0, 1, ACCEPT)))
    read("after the start offset has moved")
    reader.fetch("the released record", max_records=1, share_acquire_mode=BY_RECORD_LIMIT)
    reader.acknowledge("accept all", of("$t.id", (4, 4, ACCEPT), (7, 9, ACCEPT)))
    read("at the end")
    other = Reader(group, N, conn="second")
    other.poll("nothing is left", of("$t.id"))


@scenario("KIP-932 SharePartition", level="must")
def share_compacted(ask: ScenarioBuilder) -> None:
    """Offsets that compaction has removed are acquired with the records around them, and acknowledged as gaps."""
    t = ask.topic(cleanup_policy="compact", min_cleanable_dirty_ratio="0.001", segment_ms="1000")
    keys = ("a", "b", "a", "b", "c", "a", "d")
    ask.produce(t, batch(*[record(10 + n, f"v{n}", key) for n, key in enumerate(keys)]))
    ask.produce(t, batch(record(20, "v7", "d")))
    ask.produce(t, batch(record(DAY, "end", "end")))
    fetched = ask.fetching(at(t))
    ask.until("Fetch", 11, fetched, "responses.0.partitions.0.records.0.count", 3)
    ask.steps[-1]["timeout_ms"] = 60000
    ask.fetch("the compacted log", at(t))
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("three records", of("$t.id"), max_records=4, share_acquire_mode=BY_RECORD_LIMIT)
    reader.fetch("the rest")
    reader.acknowledge("accept, with gaps", of("$t.id", (0, 4, (GAP, GAP, GAP, ACCEPT, RELEASE))))
    group.offsets("offsets", t)
    reader.fetch("the released record")
    reader.acknowledge("accept all that is left", of("$t.id", (4, 8, ACCEPT)))
    reader.acknowledge("accept the released record", of("$t.id", (4, 4, ACCEPT)))
    group.offsets("offsets at the end", t)
