"""Fetch v0 to v3 of records in newer formats. Releases up to 3.9 convert them to the older formats."""

from kafkalet_conformance.building import ScenarioBuilder, at, batch, filled, record
from tools.recording.definitions import KAFKA_3_9, Scenarios

scenario = Scenarios("old_formats", KAFKA_3_9, Fetch=0)


def fetches(
    ask: ScenarioBuilder, topic: str, *offsets: int, note: str = "", versions: tuple[int, ...] = (0, 2, 3)
) -> None:
    for version in versions:
        for offset in offsets:
            ask.fetch(f"v{version} offset {offset}{note}", at(topic, offset), version=version)


@scenario("KIP-283 RecordsUtil.convertRecordBatch")
def down_codecs(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 returns compressed batches as wrapper messages with the same codec."""
    for codec in ("gzip", "snappy", "lz4"):
        t = ask.topic(codec)
        ask.produce(t, batch(record(0, "a", "k", [("h", "x")]), record(5, None), record(3, "c"), codec=codec))
        ask.produce(t, batch(10, 20, codec=codec))
        fetches(ask, t, 0, 1, 3, 4, note=f" {codec}")


@scenario("KIP-110 RecordsUtil.downConvert")
def down_zstd(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 returns UNSUPPORTED_COMPRESSION_TYPE if the first batch is compressed with zstd, and stops before
    a later batch with zstd."""
    t = ask.topic()
    ask.produce(t, batch(10))
    ask.produce(t, batch(20, 30, codec="zstd"))
    ask.produce(t, batch(40))
    fetches(ask, t, 0, 1, 2, 3)
    for version in (4, 9, 10):
        ask.fetch(f"v{version} offset 0", at(t), version=version)
    ask.fetch("beside a good one", at(t, 1), at(t, 3), version=2)
    u = ask.topic("u")
    ask.produce(u, batch(10, codec="zstd"))
    fetches(ask, u, 0, 1, note=" zstd first")


@scenario("KIP-98 KIP-283 RecordsUtil.downConvert")
def down_control(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 leaves out control batches, and returns no records if there is nothing else."""
    t = ask.topic()
    fields = ask.transaction(t)
    ask.produce(t, batch(10, 20, base_sequence=0, **fields), transactional_id="$X1")
    ask.end()
    ask.stable_at(t, 3)
    ask.produce(t, batch(30))
    ask.add_partitions(t)
    ask.produce(t, batch(40, base_sequence=2, **fields), transactional_id="$X1")
    ask.end(committed=False)
    ask.stable_at(t, 6)
    fetches(ask, t, 0, 1, 2, 3, 4, 5, 6)


@scenario("KIP-74 KIP-283 RecordsUtil.downConvert")
def down_limits(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 compares its limits with the sizes of the stored batches, before the conversion."""
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce_each(t, [filled(n, 22) for n in range(3)], partition=partition)
    for version in (0, 2, 3):
        for limit in (1, 60, 90, 100, 180, 250, 270):
            ask.fetch(f"v{version}, {limit} each", at(t, 0, 0, limit), at(t, 0, 1, limit), version=version)
    for limit in (1, 100, 300):
        ask.fetch(f"v3, {limit} in all", at(t), at(t, 0, 1), version=3, max_bytes=limit)


@scenario("KIP-32 RecordsUtil.convertRecordBatch")
def down_times(ask: ScenarioBuilder) -> None:
    """Fetch v2 and v3 convert append times, missing timestamps and batches with a producer id to format 1."""
    t = ask.topic(message_timestamp_type="LogAppendTime")
    ask.produce(t, batch(10, 20))
    ask.produce(t, batch(10, 20, codec="gzip"))
    fetches(ask, t, 0, 3, note=" append time")
    u = ask.topic("u")
    ask.let("none", -1)
    ask.produce(u, batch(record("$none"), record("$none")))
    ask.produce(u, batch(record("$none"), record("$none"), codec="gzip"))
    pid = ask.producer()
    ask.produce(u, batch(30, 40, producer_id=pid, producer_epoch=0, base_sequence=0))
    fetches(ask, u, 0, 2, 4, note=" no times")


@scenario("KIP-283 RecordsUtil.convertRecordBatch LogValidator.convertAndAssignOffsetsNonCompressed")
def down_and_up(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 returns messages that were produced in format 0 or 1, and converted to format 2, with the same
    content."""
    t = ask.topic()
    for magic in (0, 1):
        for codec in ("none", "gzip"):
            old = {"magic": magic, "codec": codec, "records": [record(10, "a", "k"), record(20, None)]}
            ask.produce(t, old)
    fetches(ask, t, 0, 3, 5)
    ask.fetch("v4", at(t), version=4)


@scenario("KafkaApis.handleFetchRequest ReplicaManager.readFromLog")
def down_errors(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 returns the same errors as later versions for offsets out of range, unknown partitions and replica
    ids."""
    t, nope = ask.topic(), ask.unknown_topic()
    ask.produce(t, batch(10, 20))
    ask.delete_records(t, 1)
    fetches(ask, t, 0, 1, 2, 3)
    for version in (0, 1, 2, 3):
        ask.fetch(f"v{version} unknown", at(nope), at(t, 1), version=version)
        ask.fetch(f"v{version} unknown partition", at(t, 0, 5), at(t, 1), version=version)
        ask.fetch(f"v{version} as replica 5", at(t, 1), version=version, replica_id=5)
        ask.fetch(f"v{version} as debugger", at(t, 1), version=version, replica_id=-2)
