"""Fetch: the records, order and errors returned for offsets, epochs and isolation levels."""

from typing import Any

from kafkalet_conformance.building import T0, UNKNOWN_TOPIC_ID, ScenarioBuilder, at, batch, filled, record
from tools.recording.definitions import Scenarios

scenario = Scenarios("fetch")

LAST = 17
"""The newest version that 3.9 and 4.4 both support."""


def topic_of(version: int, name: str = "t") -> str:
    return f"${name}.id" if version >= 13 else f"${name}"


@scenario("LocalLog.read LogSegment.read", level="must")
def fetch_mid_batch(ask: ScenarioBuilder) -> None:
    """Fetch from an offset inside a batch returns the whole batch, compressed or not."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        t = ask.topic(codec)
        ask.produce(t, batch(10, 20, 30, codec=codec))
        ask.produce(t, batch(40, 50, codec=codec))
        for offset in (0, 1, 3, 4, 5):
            ask.fetch(f"{codec} offset {offset}", at(t, offset))


@scenario("ReplicaManager.readFromLog UnifiedLog.checkLogStartOffset", level="must")
def fetch_out_of_range(ask: ScenarioBuilder) -> None:
    """Fetch returns OFFSET_OUT_OF_RANGE for offsets below the log start offset, above the log end offset, and below
    zero."""
    t = ask.topic()
    ask.produce_each(t, [batch(10, 20), batch(30, 40)])
    ask.delete_records(t, 3)
    for version in (4, 11, 13, LAST):
        for offset in (-1, -2, 0, 2, 3, 4, 5, 2**63 - 1, -(2**63)):
            ask.fetch(f"v{version} offset {offset}", at(topic_of(version), offset), version=version)
    for version in ask.versions("Fetch", 0, 3):
        for offset in (-1, 2, 3, 4, 5):
            ask.fetch(f"v{version} offset {offset}", at(t, offset), version=version)


@scenario("ReplicaManager.fetchMessages DelayedFetch.tryComplete")
def fetch_out_of_range_beside(ask: ScenarioBuilder) -> None:
    """A Fetch request with an offset out of range returns immediately, even if its other partitions have no records."""
    t = ask.topic(partitions=2)
    ask.produce(t, batch(10))
    ask.fetch("alone", at(t, 9), max_wait_ms=3000, min_bytes=1, timing=True)
    ask.fetch("beside an empty one", at(t, 9), at(t, 0, 1), max_wait_ms=3000, min_bytes=1, timing=True)
    ask.fetch("behind an empty one", at(t, 0, 1), at(t, 9), max_wait_ms=3000, min_bytes=1, timing=True)


@scenario("LogValidator.validateMessagesAndAssignOffsets LocalLog.read", level="must")
def fetch_as_written(ask: ScenarioBuilder) -> None:
    """Fetch returns batches with the codec, keys, values, headers and producer ids with which they were written."""
    t = ask.topic()
    pid = ask.producer()
    for n, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        wanted = [record(n, "a", "k", [("h", "x"), ("h", None)]), record(n + 1, None, "k"), record(n, "", "")]
        ask.produce(t, batch(*wanted, codec=codec))
    ask.produce(t, batch(1, 2, producer_id=pid, producer_epoch=0, base_sequence=0))
    ask.produce(t, batch(record(5, {"hex": "00ff80"}, {"hex": "c328"}, [("é", {"hex": "ff"})])))
    for version in (4, 10, 13, LAST):
        ask.fetch(f"v{version}", at(topic_of(version)), version=version)
        ask.fetch(f"v{version} read committed", at(topic_of(version), 15), version=version, isolation_level=1)


@scenario("KIP-98 FetchRequest.isolationLevel")
def fetch_isolation(ask: ScenarioBuilder) -> None:
    """Without transactions, aborted_transactions is null for read_uncommitted and empty for read_committed; an unknown
    isolation level fails with UNKNOWN_SERVER_ERROR."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for version in (4, 7, 11, LAST):
        for level in (0, 1, 2, -1):
            for offset in (0, 1):
                name = f"v{version} isolation {level} offset {offset}"
                ask.fetch(name, at(topic_of(version), offset), version=version, isolation_level=level)
        ask.fetch(f"v{version} out of range", at(topic_of(version), 2), version=version, isolation_level=1)


@scenario("KIP-320 Partition.checkCurrentLeaderEpoch", level="must")
def fetch_leader_epoch(ask: ScenarioBuilder) -> None:
    """Fetch immediately returns UNKNOWN_LEADER_EPOCH for an epoch above the current one, before it checks the offset,
    and does not compare negative epochs.
    """
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    for version in (9, 12, LAST):
        for epoch in (-1, 0, 1, -2):
            for offset in (0, 9):
                name = f"v{version} epoch {epoch} offset {offset}"
                ask.fetch(name, at(topic_of(version), offset, current_leader_epoch=epoch), version=version)
    ask.fetch(
        "an epoch from the future does not wait",
        at(t, 2, current_leader_epoch=3),
        max_wait_ms=3000,
        min_bytes=1,
        timing=True,
    )


@scenario("KIP-595 Partition.readRecords")
def fetch_diverging(ask: ScenarioBuilder) -> None:
    """Fetch compares last_fetched_epoch with the epochs of the leader, and immediately returns the diverging epoch
    and its end offset, or OFFSET_OUT_OF_RANGE for an unknown epoch.
    """
    t = ask.topic()
    ask.produce_each(t, [batch(10, 20), batch(30)])
    for version in (12, LAST):
        for epoch in (-1, 0, 1, -2, 5):
            for offset in (0, 2, 3, 4):
                name = f"v{version} last fetched epoch {epoch} offset {offset}"
                ask.fetch(name, at(topic_of(version), offset, last_fetched_epoch=epoch), version=version)
    ask.fetch("no wait", at(t, 3, last_fetched_epoch=1), version=12, max_wait_ms=3000, min_bytes=1, timing=True)


@scenario("KafkaApis.handleFetchRequest FetchRequest.fetchData")
def fetch_order(ask: ScenarioBuilder) -> None:
    """Fetch returns partitions in the order of the request; a partition that is named twice is returned once, from the
    last of its offsets.
    """
    t, u = ask.topic(partitions=3), ask.topic("u", 2)
    for topic, partition in ((t, 0), (t, 1), (t, 2), (u, 0), (u, 1)):
        ask.produce(topic, batch(partition, value=f"{topic[1]}{partition}"), partition=partition)
    for version in (4, 7, 12):
        if version in ask.versions("Fetch"):
            ask.fetch(f"v{version} backwards", at(u, 0, 1), at(u), at(t, 0, 2), at(t, 0, 0), version=version)
            ask.fetch(f"v{version} back and forth", at(t), at(u), at(t, 0, 1), at(u, 0, 1), version=version)
            ask.fetch(f"v{version} twice", at(t), at(t, 1), version=version)
            ask.fetch(f"v{version} twice apart", at(t, 1), at(u), at(t, 0), version=version)
    ids = [at("$t.id"), at("$u.id"), at("$t.id", 0, 1)]
    ask.fetch("v13 back and forth", *ids, version=13)


@scenario("Partition.followerReplicaOrThrow KIP-903")
def fetch_replica_ids(ask: ScenarioBuilder) -> None:
    """Fetch returns NOT_LEADER_OR_FOLLOWER to a broker id that is not a replica of the partition, and treats other
    negative replica ids as consumers."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for replica in (-2, -3, 0, 5, 2147483647):
        for version in (4, 11, 13):
            for offset in (0, 1):
                name = f"v{version} replica {replica} offset {offset}"
                ask.fetch(name, at(topic_of(version), offset), version=version, replica_id=replica)
    for version in (15, LAST):
        for replica in (-2, 5):
            state = {"replica_id": replica, "replica_epoch": -1}
            ask.fetch(f"v{version} replica {replica}", at("$t.id"), version=version, replica_state=state)


@scenario("ReplicaManager.fetchMessages DelayedFetch.tryComplete")
def fetch_nothing(ask: ScenarioBuilder) -> None:
    """A Fetch request without partitions, or only with partitions that do not exist, returns immediately."""
    t = ask.topic()
    for version in (4, 7, 12, 13, LAST):
        ask.fetch(f"v{version} no topics", version=version, max_wait_ms=2000, min_bytes=1, timing=True)
        topic = {"topic_id": "$t.id", "partitions": []} if version >= 13 else {"topic": t, "partitions": []}
        ask.fetch(f"v{version} no partitions", topic, version=version, max_wait_ms=2000, min_bytes=1, timing=True)
    ask.fetch("bad name", at("a b/c"), max_wait_ms=2000, min_bytes=1, timing=True)
    ask.fetch("empty name", at(""), max_wait_ms=2000, min_bytes=1, timing=True)
    ask.fetch("partition -1", at(t, 0, -1), max_wait_ms=2000, min_bytes=1, timing=True)


@scenario("KIP-32 LogValidator.validateMessagesAndAssignOffsetsCompressed")
def fetch_append_time_codecs(ask: ScenarioBuilder) -> None:
    """With LogAppendTime and every codec, the append time is the maximum timestamp of a batch and applies to all its
    records, and the base timestamp stays that of the producer."""
    t = ask.topic(message_timestamp_type="LogAppendTime")
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        ask.produce(t, batch(10, 5, codec=codec))
    ask.fetch("v11", at(t))
    ask.fetch("v11 from 3", at(t, 3), isolation_level=1)


@scenario("KIP-110 LogValidator.validateMessagesAndAssignOffsets")
def fetch_compression_type(ask: ScenarioBuilder) -> None:
    """The topic property compression.type makes the broker compress batches with its codec or store them uncompressed,
    unless it is "producer"."""
    for kind in ("gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"):
        t = ask.topic(kind, compression_type=kind)
        ask.produce(t, batch(10, 20))
        ask.produce(t, batch(30, 5, codec="gzip"))
        ask.produce(t, batch(40, codec="lz4"))
        ask.fetch(f"{kind} v11", at(t))
        for version in (4, 9, 10):
            if version in ask.versions("Fetch"):
                ask.fetch(f"{kind} v{version} from 2", at(t, 2, max_bytes=1), version=version, max_bytes=1)


@scenario("KIP-107 UnifiedLog.checkLogStartOffset LocalLog.read", level="must")
def fetch_log_start(ask: ScenarioBuilder) -> None:
    """If the log start offset is inside a batch, Fetch from it returns the whole batch, and OFFSET_OUT_OF_RANGE below
    it."""
    t = ask.topic()
    ask.produce_each(t, [batch(10, 20, 30), batch(40)])
    for cut in (1, 3, 4):
        ask.delete_records(t, cut)
        for offset in (0, cut - 1, cut, 4):
            for version in (4, 5, 13):
                ask.fetch(f"start {cut}, v{version} offset {offset}", at(topic_of(version), offset), version=version)


@scenario("LocalLog.read LogSegment.read")
def fetch_segments(ask: ScenarioBuilder) -> None:
    """Fetch returns records from one segment at most, even if its limits allow more."""
    t = ask.topic(segment_bytes=1048576)
    ask.produce_each(t, [filled(n, 400_000) for n in range(6)])
    for offset in range(7):
        ask.fetch(f"offset {offset}", at(t, offset, max_bytes=10_000_000))
        ask.fetch(f"offset {offset}, 500000 bytes", at(t, offset, max_bytes=500_000))


@scenario("KafkaApis.handleFetchRequest")
def fetch_unknown_beside(ask: ScenarioBuilder) -> None:
    """Fetch returns UNKNOWN_TOPIC_OR_PARTITION for unknown partitions after all others, and unknown partitions do not
    end the wait of the others."""
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    ask.produce(t, batch(10))
    for version in (4, 12):
        ask.fetch(f"v{version} unknown first", at(nope), at(t), version=version)
        ask.fetch(f"v{version} unknown between", at(t), at(nope), at(t, 0, 1), version=version)
        ask.fetch(f"v{version} unknown partition", at(t), at(t, 0, 9), at(t, 0, 1), version=version)
        body = {"max_wait_ms": 1000, "min_bytes": 1}
        ask.fetch(f"v{version} unknown beside idle", at(nope), at(t, 0, 1), version=version, timing=True, **body)
        ask.fetch(
            f"v{version} unknown partition beside idle", at(t, 0, 9), at(t, 0, 1), version=version, timing=True, **body
        )
        ask.fetch(f"v{version} only unknown", at(nope), at(nope, 0, 3), version=version, timing=True, **body)


@scenario("KIP-516 KafkaApis.handleFetchRequest", level="must")
def fetch_recreated(ask: ScenarioBuilder) -> None:
    """After a topic was deleted and created again, Fetch by the old topic id returns UNKNOWN_TOPIC_ID, and Fetch by
    name or by the new id reads the new topic."""
    t = ask.topic()
    ask.produce(t, batch(10))
    ask.let("old.id", "$t.id")
    ask.setup("DeleteTopics", 5, {"topic_names": [t], "timeout_ms": 10000})
    body = {"replica_id": -1, "topics": [{"name": t, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    ask.until("ListOffsets", 1, body, "topics.0.partitions.0.error_code", 3)
    for version in (11, 12):
        ask.fetch(f"v{version} deleted", at(t), version=version)
    ask.fetch("v13 deleted", at("$t.id"), version=13)
    made = {"name": t, "num_partitions": 1, "replication_factor": 1, "configs": []}
    ask.setup("CreateTopics", 7, {"topics": [made]}, retry_errors=[36], bind={"new.id": "topics.0.topic_id"})
    ask.wait_for_leader(t)
    ask.fetch("v12 made again", at(t), version=12)
    ask.fetch("v13 old id", at("$t.id"), version=13)
    ask.fetch("v13 new id", at("$new.id"), version=13)


@scenario("KIP-392 ReplicaManager.findPreferredReadReplica")
def fetch_rack(ask: ScenarioBuilder) -> None:
    """Fetch accepts a rack id and names no preferred read replica if replica.selector.class is not set."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for version in (11, 12, LAST):
        for offset in (0, 1):
            ask.fetch(f"v{version} offset {offset}", at(topic_of(version), offset), version=version, rack_id="a rack")


@scenario("DefaultRecord.readFrom LocalLog.read", level="must")
def fetch_record_shapes(ask: ScenarioBuilder) -> None:
    """Fetch returns records with null and empty keys and values, long fields and headers as they were produced."""
    t = ask.topic()
    ask.produce(t, batch(record(0, None, None), record(0, "", ""), record(-T0, "zero"), record(2**30, "later")))
    ask.produce(t, batch(record(1, {"fill": "é", "size": 130}, {"fill": "k", "size": 300}, [("", ""), ("x", None)])))
    ask.produce(t, batch(record(1, "far", offset_delta=0), record(1, "gap", offset_delta=1)))
    ask.fetch("v11", at(t))
    ask.fetch("v4", at(t), version=4)
    ask.offsets("latest", t, -1)


@scenario("KIP-516 KafkaApis.handleFetchRequest", level="detail", Fetch=13)
def found_fetch_unknown_order(ask: ScenarioBuilder) -> None:
    """Fetch returns UNKNOWN_SERVER_ERROR for the whole request if it mixes partitions of a known topic id, an unknown
    one and the zero id without a session."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for version in ask.versions("Fetch", 13):
        who: dict[str, Any] = {} if version < 15 else {"replica_state": {"replica_id": 7, "replica_epoch": -1}}
        asked = (
            at("$t.id", partition=9),
            at(UNKNOWN_TOPIC_ID),
            at("$t.id"),
            at("ZERO", partition=3),
            at("$t.id", partition=8),
        )
        ask.fetch(f"v{version}", *asked, version=version)
        ask.fetch(f"v{version} follower", *asked, version=version, **(who or {"replica_id": 7}))


@scenario("KIP-320 Partition", level="must")
def fetch_leader_epoch_every_version(ask: ScenarioBuilder) -> None:
    """Fetch ignores negative leader epochs, and returns UNKNOWN_LEADER_EPOCH for one that the leader does not know
    yet."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for v in ask.versions("Fetch", 9, 12):
        for epoch in (-2, -1, 0, 1):
            ask.fetch(f"v{v} epoch {epoch}", at(t, current_leader_epoch=epoch), version=v)
    for v in ask.versions("Fetch", 13):
        for epoch in (-2, 1):
            ask.fetch(f"v{v} epoch {epoch}", at("$t.id", current_leader_epoch=epoch), version=v)
