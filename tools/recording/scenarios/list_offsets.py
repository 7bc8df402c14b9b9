"""ListOffsets: timestamps, special timestamps, log states, and the lists of v0."""

from kafkalet_conformance.building import T0, ScenarioBuilder, Step, batch, record
from tools.recording.definitions import Scenarios

scenario = Scenarios("list_offsets")

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
STRANGE = (-7, -100, -(2**63), 2**63 - 1)


def ends(ask: ScenarioBuilder, t: str, note: str = "") -> None:
    """Look up the earliest and latest offset and the maximum timestamp, in the versions that support them."""
    ask.time(f"earliest{note}", t, EARLIEST)
    ask.time(f"latest{note}", t, LATEST)
    ask.time(f"max timestamp{note}", t, MAX_TIMESTAMP, 7)


def entry(topic: str, *asked: tuple[int, int]) -> Step:
    """Return a topic of a request, from pairs of a partition and a timestamp."""
    return {"name": topic, "partitions": [{"partition_index": p, "timestamp": ts} for p, ts in asked]}


def times(ask: ScenarioBuilder, t: str, *asked: int, note: str = "") -> None:
    for ts in asked:
        ask.time(f"+{ts}{note}", t, ts)


@scenario("KIP-79 FileRecords.searchForTimestamp", level="must", area="list_offsets_timestamps")
def lo_time_unordered_batch(ask: ScenarioBuilder) -> None:
    """If timestamps go up and down in a batch, ListOffsets returns the first record in offset order that is late
    enough, not the one with the nearest timestamp."""
    t = ask.topic()
    ask.produce(t, batch(50, 10, 40, 60, 20, 60))
    times(ask, t, 0, 10, 11, 41, 50, 51, 60, 61)
    ends(ask, t)


@scenario("KIP-79 FileRecords.searchForTimestamp", level="must", area="list_offsets_timestamps")
def lo_time_unordered_batches(ask: ScenarioBuilder) -> None:
    """If timestamps go down from batch to batch, ListOffsets searches the first batch in offset order whose maximum
    timestamp is late enough."""
    t = ask.topic()
    ask.produce_each(t, [batch(300, 100), batch(50, 200), batch(250), batch(10, 400, 20), batch(350)])
    times(ask, t, 0, 60, 100, 101, 200, 201, 300, 301, 350, 351, 400, 401)
    ends(ask, t)


@scenario("KIP-734 LogSegment.readMaxTimestampAndOffsetSoFar", area="list_offsets_timestamps")
def lo_time_max_last_but_one(ask: ScenarioBuilder) -> None:
    """ListOffsets for the maximum timestamp returns the record that has it even if it is not in the last batch, and
    keeps the earlier record on a tie."""
    t = ask.topic()
    ask.produce_each(t, [batch(n) for n in (0, 1, 2, 3, 4, 6, 5)])
    ends(ask, t)
    times(ask, t, 5, 6, 7)
    ask.produce(t, batch(6))
    ask.time("a tie later: the earlier one stays", t, MAX_TIMESTAMP, 7)
    ask.produce(t, batch(7, 9, 8))
    ask.time("a new maximum inside a batch", t, MAX_TIMESTAMP, 7)


@scenario("KIP-734 LogSegment.shallowOffsetOfMaxTimestampSoFar", area="list_offsets_timestamps")
def lo_time_max_ties(ask: ScenarioBuilder) -> None:
    """ListOffsets returns the first record with the maximum timestamp, inside a batch and across batches, with every
    compression codec."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        t = ask.topic(codec)
        ask.produce(t, batch(10, 30, 30, 20, codec=codec))
        ends(ask, t, f" {codec}")
        ask.produce(t, batch(30, 5, codec=codec))
        ends(ask, t, f" {codec} after a tie")
        times(ask, t, 11, 30, 31, note=f" {codec}")


@scenario("KIP-79 FileRecords.searchForTimestamp", level="must", area="list_offsets_timestamps")
def lo_time_codecs(ask: ScenarioBuilder) -> None:
    """ListOffsets finds records by timestamp inside batches that are compressed with snappy, lz4 or zstd."""
    for codec in ("snappy", "lz4", "zstd"):
        t = ask.topic(codec)
        ask.produce(t, batch(*range(0, 100, 10), codec=codec))
        ask.produce(t, batch(200, 190, 180, codec=codec))
        times(ask, t, 0, 5, 45, 90, 91, 185, 200, 201, note=f" {codec}")
        ends(ask, t, f" {codec}")


@scenario("KIP-32 KIP-734 FileRecords.searchForTimestamp", level="detail", area="list_offsets_timestamps")
def lo_time_minus_one(ask: ScenarioBuilder) -> None:
    """ListOffsets ignores records without a timestamp (-1), finds records with timestamp 0, and returns offset -1 if no
    record is late enough."""
    t = ask.topic()
    ask.produce(t, batch(record(-1 - T0), record(-T0), record(-1 - T0)))
    ask.offsets("0", t, 0)
    ask.offsets("1", t, 1)
    ends(ask, t)
    u = ask.topic("u")
    ask.produce(u, batch(record(-1 - T0), record(-1 - T0)))
    ask.offsets("u 0", u, 0)
    ends(ask, u, " u")
    ask.produce(u, batch(record(5 - T0)))
    ask.offsets("u 0 then 5", u, 0)
    ask.offsets("u 5", u, 5)
    ask.offsets("u 6", u, 6)
    ends(ask, u, " u then 5")


@scenario("KIP-33 UnifiedLog.searchOffsetInLocalLog", area="list_offsets_timestamps")
def lo_time_segments_unordered(ask: ScenarioBuilder) -> None:
    """If the timestamps of segments overlap, ListOffsets searches the first segment in offset order whose maximum
    timestamp is late enough."""
    t = ask.topic(**ask.small_segments())
    for base in (1000, 500, 1500, 700, 1500, 200):
        ask.produce_each(t, [batch(base + n, base + n + 5, value=ask.fill(40)) for n in (0, 20)])
    times(ask, t, 0, 500, 501, 1000, 1025, 1026, 1499, 1500, 1520, 1525, 1526)
    ends(ask, t)


@scenario("KIP-107 UnifiedLog.searchOffsetInLocalLog", area="list_offsets_timestamps")
def lo_time_segments_deleted(ask: ScenarioBuilder) -> None:
    """ListOffsets finds no deleted record by timestamp while the log start offset moves through the segments, and
    returns offset -1 in the segment of the log start if only deleted records match."""
    t = ask.topic(**ask.small_segments())
    for n in range(12):
        ask.produce(t, batch(n * 10, n * 10 + 5, value=ask.fill(60)))
    for cut in (1, 6, 7, 15, 23, 24):
        ask.delete_records(t, cut)
        times(ask, t, 0, cut * 5, cut * 5 + 1, 115, note=f" start {cut}")
        ends(ask, t, f" start {cut}")


@scenario("KIP-734 UnifiedLog.fetchOffsetByTimestamp", level="detail", area="list_offsets_timestamps")
def lo_time_max_deleted(ask: ScenarioBuilder) -> None:
    """ListOffsets for the maximum timestamp still returns a record before the log start offset as long as its segment
    exists."""
    t = ask.topic()
    ask.produce(t, batch(10, 90, 30))
    ask.produce(t, batch(40, 50))
    ask.delete_records(t, 2)
    ends(ask, t, " inside the batch that has it")
    times(ask, t, 0, 31, 45, 51, 60, 90, note=" start 2")
    ask.delete_records(t, 3)
    ends(ask, t, " behind that batch")
    times(ask, t, 0, 41, 51, note=" start 3")


@scenario("KIP-32 FileRecords.searchForTimestamp", area="list_offsets_timestamps")
def lo_time_append_batches(ask: ScenarioBuilder) -> None:
    """In a topic with LogAppendTime, all records of a batch have the same timestamp, and ListOffsets returns the first
    of them that is not deleted."""
    t = ask.topic(message_timestamp_type="LogAppendTime")
    ask.produce(t, batch(10, 20, 30))
    ask.produce(t, batch(5, 4, codec="gzip"))
    ask.offsets("0", t, 0)
    ask.time("+0", t, 0)
    ask.offsets("far ahead", t, 4_000_000_000_000)
    ask.step("sleep", ms=20)
    ask.produce(t, batch(7))
    ends(ask, t)
    ask.delete_records(t, 1)
    ask.offsets("0 start 1", t, 0)
    ask.delete_records(t, 4)
    ask.offsets("0 start 4", t, 0)
    ends(ask, t, " start 4")


@scenario("KIP-734 KIP-405 KIP-1005 ReplicaManager.isListOffsetsTimestampUnsupported")
def lo_special_times_every_version(ask: ScenarioBuilder) -> None:
    """ListOffsets supports -3 since version 7, -4 since 8, -5 since 9 and -6 since 11, and returns UNSUPPORTED_VERSION
    for negative timestamps that its version does not define."""
    t = ask.topic()
    ask.produce(t, batch(10, 30, 20))
    for version in ask.versions("ListOffsets", 1):
        for ts in (LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING, *STRANGE):
            ask.offsets(f"v{version} {ts}", t, ts, version)


@scenario("ReplicaManager.fetchOffset ReplicaManager.isListOffsetsTimestampUnsupported", level="detail")
def lo_special_times_nowhere(ask: ScenarioBuilder) -> None:
    """ListOffsets checks whether its version supports the timestamp before it looks for the topic or partition."""
    t, nope = ask.topic(), ask.unknown_topic()
    for version in (1, 4, 6, 7, 8, 9, 9):
        for ts in (LATEST, 0, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING, -99):
            ask.offsets(f"v{version} {ts} nowhere", nope, ts, version)
        ask.offsets(f"v{version} -99 partition 5", t, -99, version, partition=5)


@scenario("ListOffsetsRequest.duplicatePartitions ReplicaManager.fetchOffset", level="detail")
def lo_duplicates(ask: ScenarioBuilder) -> None:
    """ListOffsets returns INVALID_REQUEST for a partition that the request names twice, and serves the other partitions
    normally.
    """
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    ask.produce(t, batch(10, 20))

    body = {"replica_id": -1, "topics": [entry(t, (0, -1), (0, -2), (1, -1))]}
    ask.each_version("ListOffsets", {"v# twice in a topic": body}, 1)
    for version in (1, 5, 7):
        for name, topics in {
            "same time twice": [entry(t, (0, -1), (0, -1))],
            "two entries of a topic": [entry(t, (0, -1)), entry(t, (0, -2))],
            "two entries, two partitions": [entry(t, (0, -1)), entry(t, (1, -1))],
            "twice nowhere": [entry(nope, (0, -1), (0, -1)), entry(t, (0, -1))],
            "twice with an unknown time": [entry(t, (0, -99), (0, -1))],
            "unknown partition twice": [entry(t, (7, -1), (7, -1))],
        }.items():
            ask.request(f"v{version} {name}", "ListOffsets", version, {"replica_id": -1, "topics": topics})


@scenario("KafkaApis.handleListOffsetRequest ReplicaManager.fetchOffset", level="detail")
def lo_empty_requests(ask: ScenarioBuilder) -> None:
    """ListOffsets returns no topics for a request without topics, and UNKNOWN_TOPIC_OR_PARTITION for illegal topic
    names and partition numbers that do not exist."""
    t = ask.topic()
    for version in (1, 4, 9):
        ask.request(f"v{version} no topics", "ListOffsets", version, {"replica_id": -1, "topics": []})
        body = {"replica_id": -1, "topics": [{"name": t, "partitions": []}]}
        ask.request(f"v{version} no partitions", "ListOffsets", version, body)
        ask.offsets(f"v{version} empty name", "", -1, version)
        ask.offsets(f"v{version} bad name", "a b/c", -1, version)
        ask.offsets(f"v{version} long name", "x" * 300, -1, version)
        ask.offsets(f"v{version} partition -1", t, -1, version, partition=-1)
        ask.offsets(f"v{version} partition 2147483647", t, -1, version, partition=2147483647)


@scenario("Partition.fetchOffsetForTimestamp ListOffsetsRequest", level="detail")
def lo_replica_ids(ask: ScenarioBuilder) -> None:
    """If the leader has no uncommitted records, ListOffsets returns the same offsets to consumers, debugging clients
    and follower ids; for an unknown isolation level, it returns UNKNOWN_SERVER_ERROR.
    """
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    for version in (1, 7):
        for replica in (-1, -2, -3, 0, 1, 2147483647):
            for ts in (LATEST, EARLIEST, T0 + 15, T0 + 25):
                name = f"v{version} replica {replica} {ts - T0 if ts > 0 else ts}"
                ask.offsets(name, t, ts, version, replica_id=replica)
    for isolation in (0, 1, 2, 127, -1, -128):
        ask.offsets(f"isolation {isolation}", t, -1, 5, isolation_level=isolation)


@scenario("KafkaApis.handleListOffsetRequest ReplicaManager.fetchOffset", level="must")
def lo_many_partitions(ask: ScenarioBuilder) -> None:
    """ListOffsets handles each partition of a request separately, so that unknown partitions do not affect the offsets
    of the others."""
    t, u, nope = ask.topic(partitions=3), ask.topic("u", 2), ask.unknown_topic()
    ask.produce(t, batch(10, 20), partition=0)
    ask.produce(t, batch(30), partition=2)
    ask.produce(u, batch(5, 6, 7), partition=1)
    asked = [
        entry(t, (0, -1), (1, -2), (2, -1), (3, -1)),
        entry(nope, (0, -1), (1, -2)),
        entry(u, (1, T0 + 6), (0, T0 + 6)),
    ]
    ask.each_version("ListOffsets", {"v#": {"replica_id": -1, "topics": asked}}, 1)


@scenario("KIP-320 Partition.checkCurrentLeaderEpoch")
def lo_leader_epoch_times(ask: ScenarioBuilder) -> None:
    """ListOffsets checks the leader epoch for every kind of timestamp, after the support for the timestamp and the
    existence of the partition."""
    t, nope = ask.topic(), ask.unknown_topic()
    ask.produce(t, batch(10, 20))
    for epoch in (-1, 0, 1, -2, 2147483647):
        for ts in (LATEST, EARLIEST, MAX_TIMESTAMP, T0 + 15, T0 + 99):
            note = ts - T0 if ts > 0 else ts
            ask.offsets(f"epoch {epoch} {note}", t, ts, 7, current_leader_epoch=epoch)
        ask.offsets(f"epoch {epoch} as replica 1", t, -1, 7, current_leader_epoch=epoch, replica_id=1)
    ask.offsets("epoch 5 nowhere", nope, -1, 7, current_leader_epoch=5)
    ask.offsets("epoch 5 unknown time", t, -99, 7, current_leader_epoch=5)


@scenario("KIP-107 UnifiedLog.fetchOffsetByTimestamp UnifiedLog.maybeIncrementLogStartOffset", level="must")
def lo_start_moves(ask: ScenarioBuilder) -> None:
    """ListOffsets follows a log start offset that moves through batches and segments, and finds no record before it by
    timestamp."""
    t = ask.topic(**ask.small_segments())
    ask.produce_each(t, [batch(n * 10, n * 10 + 1, n * 10 + 2, value=ask.fill(30)) for n in range(6)])
    for cut in (0, 1, 3, 4, 9, 17, 18):
        ask.delete_records(t, cut)
        for version, ts in ((5, EARLIEST), (5, LATEST), (7, MAX_TIMESTAMP), (8, EARLIEST_LOCAL), (9, LATEST_TIERED)):
            if version in ask.versions("ListOffsets"):
                ask.offsets(f"start {cut}, {ts}", t, ts, version)
        times(ask, t, 0, 11, 49, 52, 53, note=f" start {cut}")
    ask.produce(t, batch(100, 101))
    ends(ask, t, " after new records")
    times(ask, t, 0, 101, 102, note=" after new records")


@scenario("ReplicationControlManager.deleteTopic UnifiedLog.fetchOffsetByTimestamp", level="must")
def lo_recreated_topic(ask: ScenarioBuilder) -> None:
    """A topic that is created again under its name starts empty at offset 0, and ListOffsets returns
    UNKNOWN_TOPIC_OR_PARTITION while the topic does not exist."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    ends(ask, t)
    ask.setup("DeleteTopics", 5, {"topic_names": [t], "timeout_ms": 10000})
    latest = {"replica_id": -1, "topics": [entry(t, (0, -1))]}
    ask.until("ListOffsets", 1, latest, "topics.0.partitions.0.error_code", 3)
    ends(ask, t, " deleted")
    made = {"name": t, "num_partitions": 1, "replication_factor": 1, "configs": []}
    ask.setup("CreateTopics", 5, {"topics": [made]}, retry_errors=[36])
    ask.wait_for_leader(t)
    ends(ask, t, " made again")
    times(ask, t, 0, note=" made again")


@scenario("KIP-195 ReplicaManager.fetchOffset", level="must")
def lo_added_partitions(ask: ScenarioBuilder) -> None:
    """Partitions that CreatePartitions adds are empty, and ListOffsets returns UNKNOWN_TOPIC_OR_PARTITION for them
    before they exist."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    ask.offsets("partition 1 before", t, -1, 5, partition=1)
    ask.setup("CreatePartitions", 1, {"topics": [{"name": t, "count": 3, "assignments": None}], "timeout_ms": 10000})
    ask.wait_for_leader(t, 3)
    for partition in range(4):
        for ts in (LATEST, EARLIEST, T0):
            ask.offsets(f"partition {partition}, {ts if ts < 0 else 'T0'}", t, ts, 5, partition=partition)


@scenario("KIP-107 KIP-734 UnifiedLog.fetchOffsetByTimestamp")
def lo_retention_none_left(ask: ScenarioBuilder) -> None:
    """After all records of a log with several segments were deleted, timestamp lookups find nothing, but the maximum
    timestamp is still that of a deleted record in the last segment."""
    t = ask.topic(**ask.small_segments())
    ask.produce_each(t, [batch(n * 10, value=ask.fill(100)) for n in range(5)])
    ask.delete_records(t, -1)
    ends(ask, t, " all deleted")
    times(ask, t, 0, 40, note=" all deleted")
    ask.produce(t, batch(5))
    ends(ask, t, " one again")
    times(ask, t, 0, 6, note=" one again")


@scenario("UnifiedLog.legacyFetchOffsetsBefore", area="old_formats", ListOffsets=0)
def lo_v0_segments(ask: ScenarioBuilder) -> None:
    """ListOffsets v0 returns the log end offset and the base offsets of the segments in descending order, up to a
    number of offsets and a time of last modification.
    """
    t = ask.topic(**ask.small_segments())
    ask.produce_each(t, [batch(n * 10, n * 10 + 5, value=ask.fill(60)) for n in range(7)])
    for limit in (0, 1, 2, 3, 7, 8, 100):
        for ts in (LATEST, EARLIEST):
            ask.offsets(f"{ts}, at most {limit}", t, ts, 0, max_num_offsets=limit)
    for ts in (0, 1, T0, T0 + 35, T0 + 1000, 4_000_000_000_000, 2**63 - 1):
        ask.offsets(f"time {ts}, at most 10", t, ts, 0, max_num_offsets=10)
    for replica in (-2, 0, 1):
        ask.offsets(f"latest as replica {replica}", t, LATEST, 0, max_num_offsets=10, replica_id=replica)


@scenario("KIP-107 UnifiedLog.legacyFetchOffsetsBefore", level="detail", area="old_formats", ListOffsets=0)
def lo_v0_deleted(ask: ScenarioBuilder) -> None:
    """ListOffsets v0 returns the log start offset in place of base offsets below it, and lists it once for every
    remaining segment."""
    t = ask.topic(**ask.small_segments())
    ask.produce_each(t, [batch(n * 10, n * 10 + 1, n * 10 + 2, value=ask.fill(60)) for n in range(4)])
    for cut in (1, 3, 4, 10, 12):
        ask.delete_records(t, cut)
        for ts in (LATEST, EARLIEST, 0, 4_000_000_000_000):
            ask.offsets(f"start {cut}, {ts}", t, ts, 0, max_num_offsets=10)


@scenario("KIP-107 UnifiedLog.legacyFetchOffsetsBefore", level="detail", area="old_formats", ListOffsets=0)
def lo_v0_all_deleted(ask: ScenarioBuilder) -> None:
    """After all records were deleted, ListOffsets v0 lists the log end offset twice, and after the next record the end
    and the start offset."""
    t = ask.topic()
    ask.produce(t, batch(10, 20, 30))
    ask.delete_records(t, 3)
    for ts in (LATEST, EARLIEST, 0, 4_000_000_000_000):
        ask.offsets(f"{ts}", t, ts, 0, max_num_offsets=10)
    ask.produce(t, batch(40))
    for ts in (LATEST, EARLIEST, 0, 4_000_000_000_000):
        ask.offsets(f"{ts} with one more", t, ts, 0, max_num_offsets=10)


@scenario(
    "KafkaApis.handleListOffsetRequest UnifiedLog.legacyFetchOffsetsBefore",
    level="detail",
    area="old_formats",
    ListOffsets=0,
)
def lo_v0_many(ask: ScenarioBuilder) -> None:
    """ListOffsets v0 handles each partition separately: if a partition is named twice, it is returned twice."""
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    ask.produce(t, batch(10, 20))

    def entry(topic: str, *asked: tuple[int, int, int]) -> Step:
        fields = ("partition_index", "timestamp", "max_num_offsets")
        return {"name": topic, "partitions": [dict(zip(fields, values, strict=True)) for values in asked]}

    for name, topics in {
        "two partitions": [entry(t, (0, -1, 2), (1, -1, 2))],
        "twice": [entry(t, (0, -1, 2), (0, -2, 2))],
        "two entries": [entry(t, (0, -1, 2)), entry(t, (1, -2, 2))],
        "nowhere beside": [entry(nope, (0, -1, 2)), entry(t, (0, -1, 2), (5, -1, 1))],
        "none": [],
        "no partitions": [entry(t)],
    }.items():
        ask.request(name, "ListOffsets", 0, {"replica_id": -1, "topics": topics})
