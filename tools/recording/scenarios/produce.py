"""Produce: accepted batches, and the errors and messages for rejected ones."""

from collections.abc import Sequence

from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch, record
from tools.recording.definitions import KAFKA_3_9, Scenarios

scenario = Scenarios("produce")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def log_of(ask: ScenarioBuilder, topic: str, case: str = "the log") -> None:
    ask.fetch(case, at(topic))


def tries(ask: ScenarioBuilder, topic: str, asked: dict[str, Sequence[Step]]) -> None:
    for case, batches in asked.items():
        ask.produce(topic, *batches, case=case)


def plain(**fields: object) -> Step:
    return batch(10, 20, set=fields)


@scenario("LogValidator.validateBatch DefaultRecordBatch.ensureValid", level="must")
def produce_bad_headers(ask: ScenarioBuilder) -> None:
    """Produce rejects a batch whose count, offset delta, length, magic or codec does not fit its content, and accepts
    wrong timestamps, leader epochs and unknown attribute bits in its header."""
    t = ask.topic()
    tries(
        ask,
        t,
        {
            "count too high": [plain(count=3)],
            "count too low": [plain(count=1)],
            "count 0": [plain(count=0)],
            "count -1": [plain(count=-1)],
            "last offset delta too high": [plain(last_offset_delta=2)],
            "last offset delta too low": [plain(last_offset_delta=0)],
            "last offset delta -1": [plain(last_offset_delta=-1)],
            "count and delta for none": [plain(count=0, last_offset_delta=-1)],
            "base offset 5": [plain(base_offset=5)],
            "base offset -1": [plain(base_offset=-1)],
            "leader epoch 9": [plain(leader_epoch=9)],
            "max timestamp 0": [plain(max_ts=0)],
            "max timestamp -1": [plain(max_ts=-1)],
            "max timestamp far ahead": [plain(max_ts=4_000_000_000_000)],
            "base timestamp 0": [plain(base_ts=0)],
            "magic 3": [plain(magic=3)],
            "magic -1": [plain(magic=-1)],
            "length 0": [plain(length=0)],
            "length too high": [plain(length=200)],
            "length too low": [plain(length=60)],
            "codec 5": [plain(attributes=5)],
            "codec 7": [plain(attributes=7)],
            "gzip that is none": [plain(attributes=1)],
            "unknown attribute bits": [plain(attributes=0x7F00)],
            "delete horizon bit": [plain(attributes=0x40)],
            "cut by one byte": [plain(truncate=1)],
            "header alone": [{"raw": "00000000000000000000000cffffffff02"}],
            "empty": [],
            "a batch without records": [batch(set={"count": 0, "last_offset_delta": 0})],
        },
    )
    log_of(ask, t)
    ask.step("send", id="null", api="Produce", version=9, body=producing(t, None), conn="null")
    ask.step("is_pending", case="null records are never answered", id="null", conn="null", wait_ms=700)


def producing(topic: str, records: object, partition: int = 0) -> Step:
    partitions = [{"index": partition, "records": records}]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 10000}
    return body | {"topics": [{"name": topic, "partitions": partitions}]}


@scenario("LogValidator.validateRecord LogValidator.validateMessagesAndAssignOffsetsCompressed")
def produce_bad_deltas(ask: ScenarioBuilder) -> None:
    """Produce accepts an uncompressed batch with wrong offset deltas if count and last delta agree; for a compressed
    one, it returns UNKNOWN_SERVER_ERROR."""
    t = ask.topic()
    for codec in ("none", "gzip"):
        shapes = {"gap": (0, 2), "twice": (0, 0), "backwards": (1, 0), "from one": (1, 2)}
        for name, deltas in shapes.items():
            records = [record(10 * d, f"{d}", offset_delta=d) for d in deltas]
            ask.produce(t, batch(*records, codec=codec), case=f"{codec} {name}")
            ask.produce(t, batch(*records, codec=codec, set={"last_offset_delta": 1}), case=f"{codec} {name}, delta 1")
    log_of(ask, t)


@scenario("ProduceRequest.validateRecords LogValidator.getFirstBatchAndMaybeValidateNoMoreBatches")
def produce_two_batches(ask: ScenarioBuilder) -> None:
    """Since version 3, Produce returns INVALID_RECORD for several batches of a partition and for an older format."""
    t = ask.topic()
    for version in (3, 7, 9):
        two = [{"index": 0, "records": [batch(10), batch(20)]}]
        body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": t, "partitions": two}]}
        ask.request(f"v{version} two v2 batches", "Produce", version, body)
    ask.produce(t, {"magic": 1, "records": [record(10)]}, case="v9 a v1 message", version=9)
    ask.produce(t, {"magic": 1, "records": [record(10), record(20)]}, batch(30), case="v9 v1 then v2", version=9)
    ask.produce(t, batch(30), {"magic": 0, "records": [record(10)]}, case="v9 v2 then v0", version=9)
    log_of(ask, t)


@scenario("KIP-724 LogValidator.convertAndAssignOffsetsNonCompressed", KAFKA_3_9, area="old_formats", Fetch=0)
def produce_up_converted(ask: ScenarioBuilder) -> None:
    """Produce v1 and v2 accept messages of format 0 and 1, plain or compressed, which the broker converts to batches of
    format 2."""
    t = ask.topic()
    for magic in (0, 1):
        for codec in ("none", "gzip", "snappy", "lz4"):
            old = {"magic": magic, "codec": codec, "records": [record(10, "a", "k"), record(5, None, "k")]}
            ask.produce(t, old, case=f"magic {magic} {codec}", version=2 if magic else 1)
    old = {"magic": 1, "codec": "gzip", "inner_offsets": "zero", "records": [record(10), record(20)]}
    ask.produce(t, old, case="inner offsets all zero", version=2)
    old = {"magic": 1, "records": [record(10), record(20), record(30)]}
    ask.produce(t, old, case="several messages", version=2)
    ask.produce(t, {"magic": 1, "records": [record(10)]}, batch(20), case="v1 and v2 mixed", version=2)
    ask.produce(t, batch(20), case="v2 in a v2 request", version=2)
    ask.produce(t, {"magic": 1, "records": [record(10)]}, case="v1 in a v1 request", version=1)
    ask.produce(t, {"magic": 1, "codec": "zstd", "records": [record(10)]}, case="zstd in v1", version=2)
    log_of(ask, t)
    ask.offsets("latest", t, -1)
    ask.offsets("max timestamp", t, -3, 7)


@scenario("LegacyRecord.ensureValid AbstractLegacyRecordBatch.ensureValid", KAFKA_3_9, area="old_formats", Fetch=0)
def produce_old_corrupt(ask: ScenarioBuilder) -> None:
    """Produce v1 and v2 return CORRUPT_MESSAGE for old messages with a wrong checksum or length, return INVALID_RECORD
    for codec 4, and ignore an incomplete last message."""
    t = ask.topic()
    for magic, version in ((0, 1), (1, 2)):
        for name, changed in {
            "crc": {"crc": 1},
            "length 5": {"length": 5},
            "length -5": {"length": -5},
            "cut": {"truncate": 3},
            "base offset 7": {"base_offset": 7},
            "codec 4": {"attributes": 4},
            "codec 7": {"attributes": 7},
        }.items():
            old = {"magic": magic, "records": [record(10)], "set": changed}
            ask.produce(t, old, case=f"magic {magic} {name}", version=version)
            wrapped = old | {"codec": "gzip"}
            ask.produce(t, wrapped, case=f"magic {magic} gzip {name}", version=version)
    log_of(ask, t)


@scenario("KIP-467 LogValidator.validateKey", level="must")
def produce_compacted(ask: ScenarioBuilder) -> None:
    """A compacted topic accepts empty keys and tombstones, but rejects records without a key: their batch gets
    INVALID_RECORD, and since version 8, the response names them."""
    t = ask.topic(cleanup_policy="compact")
    for codec in ("none", "gzip"):
        ask.produce(t, batch(record(1, "a"), codec=codec), case=f"{codec} no key")
        mixed = [record(1, "a", "k"), record(2, "b"), record(3, "c", "k"), record(4, "d")]
        ask.produce(t, batch(*mixed, codec=codec), case=f"{codec} some keys")
        ask.produce(t, batch(record(1, "a", ""), codec=codec), case=f"{codec} empty key")
        ask.produce(t, batch(record(1, None, "k"), codec=codec), case=f"{codec} tombstone")
    for version in (3, 7, 8):
        no_key = [{"index": 0, "records": [batch(record(1, "a"))]}]
        body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": t, "partitions": no_key}]}
        ask.request(f"v{version} no key", "Produce", version, body)
    log_of(ask, t)


@scenario("KIP-937 LogValidator.validateTimestamp")
def produce_timestamp_bounds(ask: ScenarioBuilder) -> None:
    """The timestamp bounds of a topic apply to every codec, but not to records without a timestamp or to topics with
    LogAppendTime."""
    ask.step("bind_now", bind="TN")
    bounds: Step = {"message_timestamp_before_max_ms": 60_000, "message_timestamp_after_max_ms": 60_000}
    t = ask.topic(**bounds)
    for name, ts in {
        "now": "$TN",
        "50 s ago": "$TN-50000",
        "70 s ago": "$TN-70000",
        "in 50 s": "$TN+50000",
        "in 70 s": "$TN+70000",
    }.items():
        for codec in ("none", "gzip"):
            ask.produce(t, batch(record(ts), codec=codec), case=f"{name} {codec}")
    ask.produce(t, batch(record("$TN"), record("$TN-70000"), record("$TN"), record("$TN+70000")), case="some")
    ask.let("none", -1)
    ask.produce(t, batch(record("$none")), case="no time")
    u = ask.topic("u", message_timestamp_type="LogAppendTime", **bounds)
    ask.produce(u, batch(record("$TN-70000")), case="LogAppendTime does not care")
    ask.produce(u, batch(record("$TN"), ts_type="append"), case="append time from a client, LogAppendTime")
    ask.produce(t, batch(record("$TN"), ts_type="append"), case="append time from a client, CreateTime")
    ask.offsets("latest t", t, -1)
    ask.offsets("latest u", u, -1)


@scenario("KIP-32 LogValidator.validateMessagesAndAssignOffsets", level="must")
def produce_log_append_time(ask: ScenarioBuilder) -> None:
    """In a topic with LogAppendTime, Produce returns the append time with the base offset, with every codec and in
    every version."""
    t = ask.topic(message_timestamp_type="LogAppendTime")
    for codec in CODECS:
        ask.produce(t, batch(10, 20, 5, codec=codec), case=codec)
    for version in ask.versions("Produce", 3, 11):
        ask.produce(t, batch(10), case=f"v{version}", version=version)


@scenario(
    "KIP-98 ProducerAppendInfo.checkSequence ProducerAppendInfo.checkProducerEpoch", level="must", area="idempotence"
)
def produce_sequences(ask: ScenarioBuilder) -> None:
    """A producer id may start at any sequence number, continues without gaps, wraps around at 2147483647, and starts at
    0 in a new epoch."""
    t = ask.topic()
    pid = ask.producer()

    def send(case: str, sequence: int, n: int = 1, epoch: int = 0, producer: object = pid, **more: object) -> None:
        fields = {"producer_id": producer, "producer_epoch": epoch, "base_sequence": sequence}
        ask.produce(t, batch(*range(n), **fields, **more), case=case)

    send("first not at 0", 5)
    send("gap behind it", 9)
    send("next", 6, 2)
    send("again", 6, 2)
    send("again in part", 6)
    send("again with more", 6, 3)
    for n in range(8, 14):
        send(f"sequence {n}", n)
    send("the fifth last again", 9)
    send("the sixth last again", 8)
    send("long ago", 5)
    send("epoch 1 not at 0", 14, epoch=1)
    send("epoch 1 at 0", 0, epoch=1)
    send("epoch 0 again", 14, epoch=0)
    send("epoch -1", 0, epoch=-1)
    send("sequence -1", -1, epoch=1)
    send("sequence -5", -5, epoch=1)
    send("another producer never seen", 3, producer=987654)
    send("producer -5", 0, producer=-5)
    send("wraps around", 2147483647, 2, producer=987655)
    send("behind the wrap", 1, producer=987655)
    send("gzip", 1, 2, epoch=1, codec="gzip")
    send("transactional without a transactional id", 3, epoch=1, transactional=True)
    log_of(ask, t)


@scenario("ReplicaManager.isValidRequiredAcks Partition.appendRecordsToLeader")
def produce_acks_values(ask: ScenarioBuilder) -> None:
    """Produce returns INVALID_REQUIRED_ACKS for unknown values of acks, after it looked for the partition, and accepts
    any timeout if one replica is enough."""
    t, u = ask.topic(), ask.topic("u", min_insync_replicas=2)
    for acks in (-2, 2, 5, 1, -1):
        ask.produce(t, batch(10), case=f"acks {acks}", acks=acks)
        ask.produce(u, batch(10), case=f"acks {acks}, min.insync.replicas 2", acks=acks)
    ask.produce(t, batch(10), case="acks 2, unknown partition", acks=2, partition=7)
    ask.produce(t, batch(10), case="timeout 0", timeout_ms=0)
    ask.produce(t, batch(10), case="timeout -1", timeout_ms=-1)
    ask.offsets("latest", t, -1)
    ask.offsets("latest of the other", u, -1)


@scenario("KafkaApis.handleProduceRequest ReplicaManager.appendToLocalLog", level="must")
def produce_nowhere(ask: ScenarioBuilder) -> None:
    """Produce returns UNKNOWN_TOPIC_OR_PARTITION for unknown partitions, stores the others, and ignores a transactional
    id without a transactional batch."""
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    good = {"index": 0, "records": [batch(10)]}
    for version in (3, 7, 9, 12 if 12 in ask.versions("Produce") else 11):
        body = {"acks": -1, "timeout_ms": 1000}
        ask.request(
            f"v{version} unknown topic", "Produce", version, body | {"topics": [{"name": nope, "partitions": [good]}]}
        )
        many = [{"name": t, "partitions": [{"index": p, "records": [batch(10)]} for p in (1, 5, -1)]}]
        ask.request(f"v{version} beside", "Produce", version, body | {"topics": many})
        ask.request(f"v{version} nothing", "Produce", version, body | {"topics": []})
        ask.request(f"v{version} no partitions", "Produce", version, body | {"topics": [{"name": t, "partitions": []}]})
    twice = [{"name": t, "partitions": [good, good]}]
    ask.request("a partition twice", "Produce", 9, {"acks": -1, "timeout_ms": 1000, "topics": twice})
    ask.produce("a b/c", batch(10), case="bad name")
    ask.produce(t, batch(10), case="with a transactional id nobody has", transactional_id="nobody")
    ask.offsets("latest", t, -1)


@scenario("UnifiedLog.append UnifiedLog.analyzeAndValidateRecords", level="must")
def produce_limits(ask: ScenarioBuilder) -> None:
    """The limit max.message.bytes counts a batch both as sent and as the broker stores it after compression or
    decompression."""
    t = ask.topic(max_message_bytes=1000)
    text = {"fill": "x", "size": 929}
    for codec in ("none", "gzip"):
        ask.produce(t, batch(record(1, text), codec=codec), case=f"{codec}, 1000 bytes plain")
        ask.produce(t, batch(record(1, {"fill": "x", "size": 931}), codec=codec), case=f"{codec}, 1002 bytes plain")
        ask.produce(t, batch(record(1, {"fill": "x", "size": 5000}), codec=codec), case=f"{codec}, 5071 bytes plain")
    u = ask.topic("u", max_message_bytes=1000, compression_type="uncompressed")
    ask.produce(u, batch(record(1, {"fill": "x", "size": 5000}), codec="gzip"), case="unpacked it is too large")
    v = ask.topic("v", max_message_bytes=1000, compression_type="gzip")
    ask.produce(v, batch(record(1, {"fill": "x", "size": 5000})), case="packed it would fit")
    for version in (3, 7, 8):
        big = [{"index": 0, "records": [batch(record(1, {"fill": "x", "size": 5000}))]}]
        body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": t, "partitions": big}]}
        ask.request(f"v{version} too large", "Produce", version, body)
    for topic in (t, u, v):
        ask.offsets(f"latest {topic[1]}", topic, -1)


@scenario("LogValidator.validateMessagesAndAssignOffsetsCompressed KIP-110", level="must")
def produce_broken_compression(ask: ScenarioBuilder) -> None:
    """Produce rejects compressed batches that cannot be decompressed or hold another number of records, and zstd before
    version 7."""
    t = ask.topic()
    for n, codec in enumerate(CODECS[1:], start=1):
        ask.produce(t, plain(attributes=n), case=f"{codec} over plain records")
        ask.produce(t, batch(10, 20, codec=codec, set={"count": 3}), case=f"{codec} count 3")
        ask.produce(t, batch(10, 20, codec=codec, set={"count": 1}), case=f"{codec} count 1")
        ask.produce(t, batch(10, 20, codec=codec), case=f"{codec} good")
    for version in (3, 6, 7):
        zstd = [{"index": 0, "records": [batch(10, codec="zstd")]}]
        body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": t, "partitions": zstd}]}
        ask.request(f"v{version} zstd", "Produce", version, body)
    ask.offsets("latest", t, -1)


@scenario("KIP-98 LogValidator.validateBatch", level="must")
def produce_control(ask: ScenarioBuilder) -> None:
    """Produce rejects control batches from clients."""
    t = ask.topic()
    marker = record(10, {"hex": "000000000000"}, {"hex": "00000001"})
    ask.produce(t, batch(marker, control=True), case="control")
    ask.produce(t, batch(marker, control=True, transactional=True), case="control, transactional")
    fields = {"producer_id": 4711, "producer_epoch": 0, "base_sequence": 0}
    ask.produce(t, batch(marker, control=True, transactional=True, **fields), case="control of a producer")
    ask.produce(t, batch(marker, control=True, **fields | {"base_sequence": -1}), case="control without sequence")
    ask.offsets("latest", t, -1)


@scenario("KIP-107 ReplicaManager.appendRecords")
def produce_after_delete(ask: ScenarioBuilder) -> None:
    """Since version 5, Produce returns the log start offset, even after it was moved, and together with an
    INVALID_RECORD error."""
    t = ask.topic()
    ask.produce(t, batch(10, 20, 30))
    ask.delete_records(t, 2)
    for version in (3, 5, 8, 9):
        ask.produce(t, batch(40), case=f"v{version}", version=version)
    ask.delete_records(t, -1)
    ask.produce(t, batch(50), case="all deleted")
    ask.produce(t, plain(count=5), case="refused")


@scenario("KafkaApis.handleProduceRequest ProduceRequest.validateRecords", level="detail")
def found_produce_twice(ask: ScenarioBuilder) -> None:
    """If a Produce request names a partition twice, the broker returns it once, and an error of the first entry does
    not stop the second from being stored."""
    t = ask.topic(partitions=2)
    sound, crc = batch(10, 20), batch(30, set={"crc": 1})
    cut, short, length = batch(30, set={"truncate": 1}), batch(30, set={"length": 48}), batch(30, set={"length": 0})
    zstd, none, transactional = batch(30, codec="zstd"), batch(30, set={"attributes": 5}), batch(30, transactional=True)

    def send(case: str, *batches: Step, version: int = 9, index: int = 0) -> None:
        twice = [{"index": index, "records": [each]} for each in batches]
        whole = {"index": 1, "records": [batch(70)]}
        body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": t, "partitions": [*twice, whole]}]}
        ask.request(case, "Produce", version, body)

    send("both sound", sound, batch(40))
    bad: dict[str, tuple[Step, int]] = {
        "cut": (cut, 9), "length 0": (length, 9), "header too short": (short, 9), "checksum": (crc, 9),
        "zstd too early": (zstd, 6), "no such codec in v6": (none, 6), "no such codec in v7": (none, 7),
        "transactional": (transactional, 9), "an old message": ({"magic": 1, "records": [record(10)]}, 9),
    }  # fmt: skip
    for name, (wrong, version) in bad.items():
        send(f"sound, then {name}", sound, wrong, version=version)
        send(f"{name}, then sound", wrong, sound, version=version)
    send("a partition that is not there", sound, batch(40), index=9)
    ask.fetch("the log", at(t))
    ask.fetch("the log beside", at(t, partition=1))


@scenario("ProduceRequest.validateRecords ByteBufferLogInputStream.nextBatch", level="detail")
def found_produce_short_messages(ask: ScenarioBuilder) -> None:
    """Produce since version 3 returns CORRUPT_MESSAGE for batches of format 2 that are too short, after the checks of
    the codec and of the transactional id."""
    t = ask.topic()
    for version in (3, 7, 9):
        ask.produce(
            t,
            {"magic": 0, "records": [record(10, "v")], "set": {"magic": 1}},
            case=f"v{version} format 1",
            version=version,
        )
        for length in (37, 38, 39, 48):
            ask.produce(
                t, batch(10, set={"length": length}), case=f"v{version} format 2, length {length}", version=version
            )
    for attributes in (4, 5, 16, 32):
        for version in (6, 9):
            case = f"v{version} format 2, length 48, attributes {attributes}"
            ask.produce(t, batch(10, set={"length": 48, "attributes": attributes}), case=case, version=version)
    ask.offsets("latest", t, -1)


@scenario(
    "LegacyRecord.ensureValid ByteBufferLogInputStream.nextBatch",
    KAFKA_3_9,
    level="detail",
    area="old_formats",
    Fetch=0,
)
def found_produce_short_old_messages(ask: ScenarioBuilder) -> None:
    """Produce v1 and v2 accept messages with short values in the format of their version, and reject messages in other
    formats."""
    t = ask.topic()
    for version in (1, 2):
        for name, value in (("format 2", {"magic": 2}), ("format 1", {"magic": 1}), ("format 0", {"magic": 0})):
            for size in (0, 10, 20, 30, 40):
                old = {"magic": version - 1, "records": [record(10, {"fill": "v", "size": size})], "set": value}
                ask.produce(t, old, case=f"v{version} {name}, value of {size}", version=version)
    ask.fetch("the log", at(t))


@scenario("ReplicaManager")
def produce_internal_topics(ask: ScenarioBuilder) -> None:
    """Clients may not produce to internal topics: Produce fails with INVALID_TOPIC_EXCEPTION."""
    ask.group()
    for v in ask.versions("Produce", 3, 12):
        for acks in (-1, 1):
            ask.produce("__consumer_offsets", batch(10), case=f"v{v} acks {acks}", version=v, acks=acks)
    ask.produce("__consumer_offsets", batch(10), partition=4711, case="unknown partition", version=9)


@scenario("KIP-937 LogValidator", level="must")
def produce_times_too_far(ask: ScenarioBuilder) -> None:
    """Records whose timestamp is too far from the broker's time are refused with INVALID_TIMESTAMP."""
    t = ask.topic(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    ask.step("bind_now", bind="T1")
    for case, time in (("now", "$T1"), ("an hour ago", "$T1-3600000"), ("in an hour", "$T1+3600000")):
        for v in ask.versions("Produce", 3, 12):
            ask.produce(t, batch(record(time)), case=f"v{v} {case}", version=v)
