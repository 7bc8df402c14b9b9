"""Which records ShareFetch acquires (KIP-932, KIP-1206): limits in records and bytes, batches, modes, and waiting."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch, filled
from kafkalet_conformance.shares import ACCEPT, BY_BATCH, BY_RECORD_LIMIT, OPEN, RELEASE, M, N, Reader, Share, of, parts
from tools.recording.definitions import SHARE_GROUPS, Scenarios

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareFetch=1)

FIVE = batch(10, 20, 30, 40, 50)


def in_group(ask: ScenarioBuilder, *batches: Step, **configs: str) -> Share:
    """Return a group with a member that reads the topic `t`, which has these batches."""
    t = ask.topic()
    ask.produce_each(t, batches)
    group = Share(ask)
    group.joined(M, t, **configs)
    return group


@scenario("KIP-932 KIP-1206 SharePartition", level="must", ShareFetch=2)
def share_acquire_by_batch(ask: ScenarioBuilder) -> None:
    """Without a strict limit, a fetch acquires whole batches, up to the first that reaches the maximum number of
    records.
    """
    group = in_group(ask, FIVE, batch(60, 70), batch(80), FIVE)
    reader = Reader(group)
    reader.fetch("two records of a batch of five", of("$t.id"), max_records=2, share_acquire_mode=BY_BATCH)
    reader.fetch("three records of smaller batches", max_records=3, share_acquire_mode=BY_BATCH)
    reader.fetch("one record", max_records=1)
    reader.poll("nothing is left")


@scenario("KIP-1206 SharePartition", level="must", ShareFetch=2)
def share_acquire_by_record_limit(ask: ScenarioBuilder) -> None:
    """With a strict limit, a fetch acquires no more records than the maximum, and the next one continues inside the
    batch.
    """
    group = in_group(ask, FIVE, batch(60, 70), FIVE)
    strict = {"share_acquire_mode": BY_RECORD_LIMIT}
    reader = Reader(group)
    reader.fetch("two records", of("$t.id"), max_records=2, **strict)
    reader.fetch("four records of two batches", max_records=4, **strict)
    reader.fetch("the rest", **strict)
    reader.poll("nothing is left", **strict)
    reader.acknowledge("accept over the limits of the batches", of("$t.id", (1, 7, ACCEPT)))
    group.offsets("offsets", "$t")


@scenario("KIP-1206 SharePartition", ShareFetch=2)
def share_acquire_modes_mixed(ask: ScenarioBuilder) -> None:
    """The modes can alternate, and after records have been released, each limits what is delivered again."""
    group = in_group(ask, FIVE, FIVE)
    reader = Reader(group)
    reader.fetch("three records", of("$t.id"), max_records=3, share_acquire_mode=BY_RECORD_LIMIT)
    reader.fetch("one record, by batch", max_records=1)
    reader.acknowledge("release all", of("$t.id", (0, 4, RELEASE)))
    reader.fetch("two of them", max_records=2, share_acquire_mode=BY_RECORD_LIMIT)
    reader.fetch("one of them, by batch", max_records=1)
    reader.fetch("all, by batch")


@scenario("KIP-1206 SharePartition", ShareFetch=2)
def share_acquire_mode_unknown(ask: ScenarioBuilder) -> None:
    """An acquire mode that does not exist returns UNKNOWN_SERVER_ERROR, and acquires nothing."""
    group = in_group(ask, FIVE)
    for mode in (2, -1):
        body = group.fetching(M, OPEN, of("$t.id"), share_acquire_mode=mode)
        ask.request(f"mode {mode}", "ShareFetch", 2, body, conn=f"mode{mode}")
    Reader(group).fetch("all records", of("$t.id"))


@scenario("KIP-932 SharePartition", level="must")
def share_acquire_by_two_members(ask: ScenarioBuilder) -> None:
    """No record is acquired by two members: the second one gets what the first one left."""
    group = in_group(ask, FIVE, batch(60, 70))
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member, one batch", of("$t.id"), max_records=1)
    second.fetch("second member", of("$t.id"))
    first.poll("first member again")
    second.poll("second member again")
    second.acknowledge("second member accepts", of("$t.id", (5, 6, ACCEPT)))
    first.acknowledge("first member releases", of("$t.id", (0, 4, RELEASE)))
    second.fetch("second member gets the released records")
    second.acknowledge("second member accepts them", of("$t.id", (0, 4, ACCEPT)))
    group.offsets("offsets", "$t")


@scenario("KIP-932 SharePartition")
def share_batch_size(ask: ScenarioBuilder) -> None:
    """The batch size divides the acquired records at the limits of batches; it never divides a batch."""
    group = in_group(ask, batch(10, 20), batch(30, 40), batch(50, 60), FIVE, batch(70))
    reader = Reader(group)
    for size in (1, 2, 3, 4, 100):
        reader.fetch(f"batch size {size}", of("$t.id"), batch_size=size)
        reader.acknowledge(f"release after batch size {size}", of("$t.id", (0, 11, RELEASE)))
        reader.close(f"close after batch size {size}")
        reader = Reader(group)
        if size == 3:
            group.configure(share_delivery_count_limit=10)


@scenario("KIP-932 SharePartition")
def share_batch_size_without_redelivery(ask: ScenarioBuilder) -> None:
    """If records of different batches are released together, the batch size divides them as before."""
    group = in_group(ask, *[batch(each) for each in range(10, 70, 10)])
    reader = Reader(group)
    reader.fetch("batch size 4", of("$t.id"), batch_size=4)
    reader.acknowledge("release some", of("$t.id", (1, 2, RELEASE), (4, 4, RELEASE)))
    reader.fetch("batch size 2", batch_size=2)


@scenario("KIP-932 KafkaApis SharePartitionManager")
def share_max_records(ask: ScenarioBuilder) -> None:
    """A fetch for no records or no bytes gets none; a batch size of 0 adds an empty batch to the acquired ones."""
    group = in_group(ask)
    Reader(group).open(of("$t.id"))
    ask.produce("$t", FIVE)
    for v in ask.versions("ShareFetch"):
        group.fetch(f"v{v}: no records", M, OPEN, of("$t.id"), version=v, max_records=0, max_wait_ms=0)
        group.fetch(f"v{v}: no records again", M, 1, version=v, max_records=0, max_wait_ms=0)
    reader = Reader(group)
    reader.poll("no records, strictly", of("$t.id"), max_records=0, share_acquire_mode=BY_RECORD_LIMIT)
    reader.poll("no bytes", max_bytes=0)
    reader.fetch("a batch size of 0", batch_size=0)
    reader.acknowledge("accept", of("$t.id", (0, 4, ACCEPT)))


@scenario("KIP-932 SharePartitionManager")
def share_max_records_negative(ask: ScenarioBuilder) -> None:
    """A negative maximum number of records gets no records."""
    group = in_group(ask)
    reader = Reader(group)
    reader.open(of("$t.id"))
    ask.produce("$t", FIVE)
    reader.poll("negative, by batch", max_records=-1)
    reader.poll("negative, strictly", max_records=-1, share_acquire_mode=BY_RECORD_LIMIT)
    reader.fetch("all records")


@scenario("KIP-932 DelayedShareFetch")
def share_negative_limits(ask: ScenarioBuilder) -> None:
    """A negative wait is none, a negative minimum of bytes is reached at once, and so is a negative batch size."""
    group = in_group(ask)
    reader = Reader(group)
    reader.open(of("$t.id"))
    reader.fetch("a negative wait", max_wait_ms=-1)
    ask.produce("$t", FIVE)
    reader.poll("a negative minimum of bytes", min_bytes=-1)
    reader.acknowledge("release", of("$t.id", (0, 4, RELEASE)))
    reader.fetch("a negative batch size", batch_size=-1)
    reader.acknowledge("release again", of("$t.id", (0, 4, RELEASE)))
    reader.fetch("all records")


@scenario("KIP-932 DelayedShareFetch", level="must")
def share_max_bytes(ask: ScenarioBuilder) -> None:
    """A fetch acquires the batches that fit in the maximum of bytes, and at least one, however large it is."""
    group = in_group(ask, filled(10, 1000), filled(20, 1000), filled(30, 1000), filled(40, 5000))
    reader = Reader(group)
    reader.fetch("one byte", of("$t.id"), max_bytes=1)
    reader.fetch("2,500 bytes", max_bytes=2500)
    reader.fetch("10 bytes", max_bytes=10)
    reader.poll("nothing is left")


@scenario("KIP-932 DelayedShareFetch")
def share_max_bytes_of_partitions(ask: ScenarioBuilder) -> None:
    """The maximum of bytes is divided among the partitions that have records."""
    t = ask.topic(partitions=2)
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.open(parts("$t.id", 0, 1))
    for partition in (0, 1):
        ask.produce_each(t, [filled(10, 1000), filled(20, 1000)], partition=partition)
    reader.fetch("2,500 bytes of two partitions", max_bytes=2500)
    reader.fetch("the rest")
    reader.poll("nothing is left")


@scenario("KIP-932 DelayedShareFetch")
def share_max_records_of_partitions(ask: ScenarioBuilder) -> None:
    """The maximum number of records applies to all partitions together, and each fetch begins with another one."""
    t = ask.topic(partitions=3)
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.open(parts("$t.id", 0, 1, 2))
    for partition in range(3):
        ask.produce_each(t, [batch(10), batch(20)], partition=partition)
    for number in range(1, 6):
        reader.fetch(f"one record, fetch {number}", max_records=1, share_acquire_mode=BY_RECORD_LIMIT)
    reader.fetch("the rest")


@scenario("KIP-932 DelayedShareFetch", level="must")
def share_fetch_waits(ask: ScenarioBuilder) -> None:
    """A fetch without records waits for the maximum time."""
    group = in_group(ask)
    Reader(group).open(of("$t.id"))
    for epoch, v in enumerate(ask.versions("ShareFetch"), 1):
        body = group.fetching(M, epoch, max_wait_ms=700)
        ask.request(f"v{v}: no records", "ShareFetch", v, body, timing_max_wait_ms=700)


@scenario("KIP-932 DelayedShareFetch", level="must")
def share_fetch_woken(ask: ScenarioBuilder) -> None:
    """A waiting fetch returns when a record is written, or when another member releases one."""
    group = in_group(ask)
    first, second = Reader(group), Reader(group, N, conn="second")
    first.open(of("$t.id"))
    second.open(of("$t.id"))
    first.send("written", max_wait_ms=14000)
    ask.pending("wait for a record", "written")
    ask.produce("$t", batch(10, 20))
    ask.receive("a record is written", "written")
    second.send("released", max_wait_ms=14000)
    ask.pending("wait for a release", "released")
    group.ask.request(
        "release",
        "ShareAcknowledge",
        ask.versions("ShareAcknowledge")[-1],
        {"group_id": group.id, "member_id": M, "share_session_epoch": 2, "topics": [of("$t.id", (1, 1, RELEASE))]},
    )
    ask.receive("a record is released", "released")


@scenario("KIP-932 DelayedShareFetch")
def share_min_bytes(ask: ScenarioBuilder) -> None:
    """A fetch that waits for more bytes than there are returns them after the maximum time."""
    group = in_group(ask)
    version = ask.versions("ShareFetch")[-1]
    reader = Reader(group)
    reader.open(of("$t.id"))
    ask.produce_each("$t", [batch(10), batch(20)])
    reader.poll("without waiting", min_bytes=1 << 20)
    reader.acknowledge("release", of("$t.id", (0, 1, RELEASE)))
    body = group.fetching(M, 3, min_bytes=1 << 20, max_wait_ms=700)
    ask.request("700 ms", "ShareFetch", version, body, timing_max_wait_ms=700)
    body = group.fetching(M, 4, min_bytes=0, max_wait_ms=700)
    ask.request("no minimum", "ShareFetch", version, body, timing_max_wait_ms=700)


@scenario("KIP-932 SharePartition")
def share_max_record_locks(ask: ScenarioBuilder) -> None:
    """When as many records are in flight as share.partition.max.record.locks allows, nothing more is acquired until
    some are acknowledged.
    """
    each = batch(*range(10, 60))
    group = in_group(ask, each, each, each, share_partition_max_record_locks="100")
    reader = Reader(group)
    reader.fetch("up to the limit", of("$t.id"), max_records=1000)
    reader.poll("at the limit", max_records=1000)
    reader.acknowledge("accept the second batch", of("$t.id", (50, 99, ACCEPT)))
    reader.poll("the first batch is still in flight", max_records=1000)
    reader.acknowledge("accept the first batch", of("$t.id", (0, 49, ACCEPT)))
    reader.fetch("below the limit", max_records=1000)


@scenario("KIP-932 SharePartition", level="must")
def share_compressed(ask: ScenarioBuilder) -> None:
    """Compressed batches are delivered as they are, also if only some of their records are acquired."""
    group = in_group(ask, batch(10, 20, 30, value="x" * 50, codec="gzip"), batch(40, 50, codec="lz4"))
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("accept two", of("$t.id", (0, 0, ACCEPT), (1, 3, RELEASE), (4, 4, ACCEPT)))
    reader.fetch("the others")


@scenario("KIP-932 SharePartition")
def share_empty_topic(ask: ScenarioBuilder) -> None:
    """A fetch from an empty topic returns no error and no records, in the first request as in later ones."""
    group = in_group(ask)
    Reader(group).open(of("$t.id"))
    for v in ask.versions("ShareFetch"):
        group.fetch(f"v{v}: open", M, OPEN, of("$t.id"), version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 1", M, 1, version=v, max_wait_ms=0)
        group.acknowledge(f"v{v}: acknowledge", M, 2, of("$t.id", (0, 0, ACCEPT)), version=v)
    group.offsets("offsets", "$t")
