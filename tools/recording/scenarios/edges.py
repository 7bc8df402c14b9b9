"""Edge cases: invalid records in batches, removed versions, inter-broker APIs, segments rolled by time."""

import struct

from kafkalet.protocol.records.crc32c import crc32c
from kafkalet_conformance.building import T0, TRANSACTION_ERRORS, ScenarioBuilder, Step, at, batch, record
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.notation.record_batches import BODY, varint
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("produce")


def crafted(body: bytes, count: int = 1, **more: int) -> Step:
    """Return a batch with these bytes as its records and a valid checksum."""
    fields = {"attributes": 0, "delta": count - 1, "base": T0, "max": T0, "pid": -1, "epoch": -1, "sequence": -1}
    tail = BODY.pack(*(fields | more).values(), count) + body
    return {"raw": (struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail).hex()}


def sized(body: bytes) -> bytes:
    return varint(len(body)) + body


GOOD = b"\0" + varint(0) + varint(0) + varint(-1) + sized(b"x") + varint(0)


@scenario("DefaultRecord.readFrom LogValidator.validateRecord", level="must")
def produce_bad_records(ask: ScenarioBuilder) -> None:
    """Produce returns INVALID_RECORD for a batch with a valid checksum whose records are malformed, and stores nothing
    of it."""
    t = ask.topic()
    start = b"\0" + varint(0) + varint(0)
    for case, body in {
        "good": sized(GOOD),
        "record longer than the batch": varint(100) + GOOD,
        "record shorter than its fields": varint(3) + GOOD,
        "record longer than its fields": sized(GOOD + b"\0"),
        "record of length 0": varint(0) + GOOD,
        "record of length -1": varint(-1) + GOOD,
        "bytes behind the last record": sized(GOOD) + b"\0\0\0",
        "key of length -2": sized(start + varint(-2) + sized(b"x") + varint(0)),
        "key longer than the record": sized(start + varint(50) + b"k" + varint(0)),
        "value longer than the record": sized(start + varint(-1) + varint(50) + b"x"),
        "value of length -5": sized(start + varint(-1) + varint(-5) + varint(0)),
        "-1 headers": sized(start + varint(-1) + sized(b"x") + varint(-1)),
        "more headers than there are": sized(start + varint(-1) + sized(b"x") + varint(5) + sized(b"h") + sized(b"v")),
        "a header without key": sized(start + varint(-1) + sized(b"x") + varint(1) + varint(-1) + sized(b"v")),
        "attributes of a record": sized(b"\x7f" + GOOD[1:]),
        "a varint that does not end": sized(b"\0" + b"\xff" * 11),
        "no record at all": b"",
        "half a record": sized(GOOD)[:5],
    }.items():
        ask.produce(t, crafted(body), case=case)
    two = sized(GOOD) + sized(b"\0" + varint(-5) + varint(1) + varint(-1) + sized(b"y") + varint(0))
    ask.produce(t, crafted(two, 2), case="an earlier time than the first")
    ask.produce(t, crafted(sized(GOOD), base=-5, max=-5), case="time -5")
    ask.produce(t, crafted(sized(GOOD), base=-(2**63), max=-(2**63)), case="the earliest time")
    ask.fetch("the log", at(t))
    ask.offsets("latest", t, -1)


@scenario("LogValidator.validateTimestamp DefaultRecordBatch", level="detail")
def produce_negative_times(ask: ScenarioBuilder) -> None:
    """Produce accepts records with timestamps below zero and stores them unchanged."""
    t = ask.topic()
    for n, ts in enumerate((-1, -2, -1000, -(2**62))):
        ask.let(f"T{n}", ts)
        for codec in ("none", "gzip"):
            ask.produce(t, batch(record(f"$T{n}"), codec=codec), case=f"{ts} {codec}")
    ask.fetch("the log", at(t))


@scenario("KIP-516 KafkaApis.handleProduceRequest", KAFKA_4_4, level="must", Produce=13)
def produce_topic_ids(ask: ScenarioBuilder) -> None:
    """Since version 13, Produce names topics by id, returns UNKNOWN_TOPIC_ID for unknown ids and the zero id, and
    stores the other topics."""
    t = ask.topic(partitions=2)
    bogus = ask.let("bogus.id", "0f0f0f0f-1111-4222-8333-444455556666")

    def send(case: str, *topics: tuple[str, int], acks: int = -1) -> None:
        wanted = [{"topic_id": i, "partitions": [{"index": p, "records": [batch(10)]}]} for i, p in topics]
        ask.request(case, "Produce", 13, {"acks": acks, "timeout_ms": 1000, "topics": wanted})

    send("known", ("$t.id", 0))
    send("unknown partition", ("$t.id", 7))
    send("unknown id", (bogus, 0))
    send("zero id", ("ZERO", 0))
    send("known and unknown", (bogus, 0), ("$t.id", 1))
    send("two entries", ("$t.id", 0), ("$t.id", 1))
    send("acks 5", ("$t.id", 0), acks=5)
    ask.offsets("latest", t, -1)


@scenario("KIP-98 KIP-360 TransactionCoordinator.handleInitProducerId", level="must", area="idempotence")
def init_producer_id(ask: ScenarioBuilder) -> None:
    """InitProducerId without a transactional id allocates a new producer id in every version, and returns
    INVALID_REQUEST for an empty transactional id or for half of a producer id and epoch."""
    for version in ask.versions("InitProducerId"):
        body: Step = {"transactional_id": None, "transaction_timeout_ms": 60000}
        ask.setup("InitProducerId", version, body, retry_errors=TRANSACTION_ERRORS)
        ask.request(f"v{version}", "InitProducerId", version, body, bind={f"P{version}": "producer_id"})
        ask.request(f"v{version} timeout 0", "InitProducerId", version, body | {"transaction_timeout_ms": 0})
        ask.steps[-1]["bind"] = {f"P{version}0": "producer_id"}
        if version >= 3:
            for pid, epoch in ((5, 0), (5, -1), (-1, 0), (5, 32767)):
                asked = body | {"producer_id": pid, "producer_epoch": epoch}
                ask.request(f"v{version} id {pid} epoch {epoch}", "InitProducerId", version, asked)
                ask.steps[-1]["bind"] = {f"P{version}{pid}{epoch}".replace("-", "m"): "producer_id"}
        empty = body | {"transactional_id": ""}
        ask.request(f"v{version} empty transactional id", "InitProducerId", version, empty)


@scenario("KIP-664 ReplicaManager.activeProducerState", area="idempotence", DescribeProducers=0)
def describe_producers(ask: ScenarioBuilder) -> None:
    """DescribeProducers returns the epoch, last sequence number and last timestamp of every producer of a partition,
    UNKNOWN_TOPIC_OR_PARTITION for unknown partitions, and INVALID_TOPIC_EXCEPTION for illegal names."""
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    pid = ask.producer()

    def describe(case: str, topic: str, *partitions: int) -> None:
        topics = [{"name": topic, "partition_indexes": list(partitions)}]
        ask.request(case, "DescribeProducers", 0, {"topics": topics})

    describe("none yet", t, 0)
    ask.produce(t, batch(10, 20, producer_id=pid, producer_epoch=0, base_sequence=0))
    describe("one batch", t, 0, 1)
    ask.produce(t, batch(30, 5, producer_id=pid, producer_epoch=0, base_sequence=2))
    describe("two batches", t, 0)
    ask.produce(t, batch(40, producer_id=pid, producer_epoch=3, base_sequence=0))
    describe("another epoch", t, 0)
    describe("unknown partition", t, 7)
    describe("unknown topic", nope, 0)
    describe("bad name", "a b", 0)
    ask.request("none", "DescribeProducers", 0, {"topics": []})


@scenario(
    "LogSegment.shouldRoll UnifiedLog.legacyFetchOffsetsBefore", level="detail", area="old_formats", ListOffsets=0
)
def lo_v0_segments_by_time(ask: ScenarioBuilder) -> None:
    """A log rolls its segment after segment.ms by the timestamps of records, except with LogAppendTime, where the
    timestamps of producers do not count."""
    t = ask.topic(segment_ms=1000)
    for ts in (0, 400, 1000, 1001, 1500, 2001, 2002, 2002, 5000, 4000, 3000, 6001, 6002):
        ask.produce(t, batch(ts))
    ask.offsets("latest", t, -1, 0, max_num_offsets=20)
    u = ask.topic("u", segment_ms=1000)
    for times in ((0, 900), (500, 1100), (100, 2200), (2300,), (100,), (3301,)):
        ask.produce(u, batch(*times))
    ask.offsets("latest of several records", u, -1, 0, max_num_offsets=20)
    v = ask.topic("v", segment_ms=1000, message_timestamp_type="LogAppendTime")
    for ts in (0, 5000, 10000):
        ask.produce(v, batch(ts))
    ask.offsets("times of clients do not count with append time", v, -1, 0, max_num_offsets=20)


@scenario("KIP-33 LogSegment.shouldRoll UnifiedLog.fetchOffsetByTimestamp", area="list_offsets_timestamps")
def lo_time_segments_by_time(ask: ScenarioBuilder) -> None:
    """A log starts a new segment after segment.ms by record timestamps or when an index is full, and timestamp lookups
    and fetches follow these segments."""
    t = ask.topic(segment_ms=1000)
    for ts in (0, 400, 1000, 2500, 2001, 5000, 4000, 3000, 6001):
        ask.produce(t, batch(ts))
    u = ask.topic("u", segment_index_bytes=24, index_interval_bytes=1)
    for n in range(12):
        ask.produce(u, batch(n * 10 if n % 3 else 1000 - n, value={"fill": "i", "size": 10}))
    for name, topic in (("by time", t), ("by index", u)):
        for ts in (0, 11, 399, 401, 1001, 2002, 2501, 3500, 5001, 6001, 6002):
            ask.time(f"{name} +{ts}", topic, ts)
        ask.time(f"{name} greatest", topic, -3, 7)
        for offset in (0, 1, 5, 8):
            ask.fetch(f"{name} from {offset}", at(topic, offset, max_bytes=100_000))


@scenario(
    "LogSegment.shouldRoll UnifiedLog.legacyFetchOffsetsBefore", level="detail", area="old_formats", ListOffsets=0
)
def lo_v0_segments_by_index(ask: ScenarioBuilder) -> None:
    """A log rolls its segment when the offset index or the time index is full, which depends on index.interval.bytes
    and on whether timestamps rise."""
    for name, size, interval in (("a", 24, 1), ("b", 12, 1), ("c", 40, 100), ("d", 24, 0)):
        t = ask.topic(name, segment_index_bytes=size, index_interval_bytes=interval)
        ask.produce_each(t, [batch(n, value={"fill": "i", "size": 10}) for n in range(14)])
        ask.offsets(f"index of {size}, every {interval}", t, -1, 0, max_num_offsets=20)
        equal = ask.topic(f"{name}2", segment_index_bytes=size, index_interval_bytes=interval)
        ask.produce_each(equal, [batch(5, value={"fill": "i", "size": 10}) for n in range(14)])
        ask.offsets(f"index of {size}, every {interval}, equal times", equal, -1, 0, max_num_offsets=20)


@scenario("KIP-896 RequestContext.parseRequest SocketServer.parseRequestHeader", area="malformed_requests")
def foreign_apis(ask: ScenarioBuilder) -> None:
    """A broker closes the connection for APIs of controllers and for versions that its release removed or does not have
    yet."""
    for key in (4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73, 80, 82, 93, 200):
        for version in (0, 1):
            ask.raw(f"key {key} v{version}", struct.pack(">hhih1s", key, version, 5, 1, b"c"))
    for api, versions in (("Produce", (0, 2)), ("Fetch", (0, 3)), ("ListOffsets", (0,)), ("DeleteTopics", (0,))):
        for version in versions:
            if version not in ask.versions(api):
                ask.raw(f"{api} v{version}", struct.pack(">hhih1s", APIS[api], version, 5, 1, b"c") + bytes(20))
    for api in ("Produce", "Fetch", "ListOffsets", "Metadata", "CreateTopics", "DeleteRecords"):
        beyond = ask.versions(api)[-1] + 1
        ask.raw(f"{api} beyond its newest", struct.pack(">hhih1sb", APIS[api], beyond, 5, 1, b"c", 0) + bytes(20))


@scenario(
    "KIP-43 KIP-152 KafkaApis.handleSaslHandshakeRequest KafkaApis.handleSaslAuthenticateRequest",
    area="malformed_requests",
)
def sasl_on_plaintext(ask: ScenarioBuilder) -> None:
    """A listener without SASL returns ILLEGAL_SASL_STATE to SaslHandshake and SaslAuthenticate."""
    for version in ask.versions("SaslHandshake"):
        ask.request(f"handshake v{version}", "SaslHandshake", version, {"mechanism": "PLAIN"}, conn=f"h{version}")
    for version in ask.versions("SaslAuthenticate"):
        body = {"auth_bytes": {"hex": "0061006200"}}
        ask.request(f"authenticate v{version}", "SaslAuthenticate", version, body, conn=f"a{version}")


@scenario("KIP-482 KIP-903 KIP-951", level="detail", area="fetch")
def fetch_tags(ask: ScenarioBuilder) -> None:
    """Fetch ignores the cluster id tag, reads the replica state tag since version 15, and returns
    NOT_LEADER_OR_FOLLOWER if the leader itself fetches as a follower."""
    t = ask.topic()
    ask.produce(t, batch(10))
    ask.fetch("another cluster id", at(t), version=12, cluster_id="not-this-one")
    for version in (15, 17):
        for replica, epoch in ((-1, -1), (1, -1), (1, 5), (-2, -1)):
            state = {"replica_id": replica, "replica_epoch": epoch}
            name = f"v{version} replica {replica} epoch {epoch}"
            ask.fetch(name, at("$t.id"), version=version, replica_state=state)
    for version in (3, 4, 11, 13):
        if version in ask.versions("Fetch"):
            ask.fetch(f"v{version} as broker 1", at("$t.id" if version > 12 else t), version=version, replica_id=1)


@scenario("UnifiedLog.append LogValidator.validateMessagesAndAssignOffsets", level="must", area="list_offsets")
def lo_after_refusals(ask: ScenarioBuilder) -> None:
    """Batches that a broker rejects, and Produce requests without records, change neither the offsets nor the maximum
    timestamp of the log."""
    t = ask.topic(max_message_bytes=200)
    ask.produce(t, batch(10))
    ask.produce(t, batch(record(99, {"fill": "x", "size": 500})), case="too large")
    ask.produce(t, batch(99, set={"crc": 7}), case="corrupt")
    ask.produce(t, batch(99), batch(98), case="two")
    for ts in (-1, -2, -3, T0 + 50):
        ask.offsets(f"{ts}", t, ts, 7)
