"""Scenarios found by random histories (`python -m tests.oracle.differential`)."""

from typing import Any

from kafkalet.conformance.building import ScenarioBuilder, Step, at, batch, record
from tools.recording.definitions import KAFKA_3_9, define

UNKNOWN_ID = "0f0f0f0f-1111-4222-8333-444455556666"


@define("produce", "KafkaApis.handleProduceRequest ProduceRequest.validateRecords", level="detail")
def found_produce_twice(ask: ScenarioBuilder) -> None:
    """If a Produce request names a partition twice, the broker answers it once, and an error of the first entry does
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


@define("produce", "ProduceRequest.validateRecords ByteBufferLogInputStream.nextBatch", level="detail")
def found_produce_short_messages(ask: ScenarioBuilder) -> None:
    """Produce since version 3 answers CORRUPT_MESSAGE for batches of format 2 that are too short, after the checks of
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


@define(
    "old_formats", "LegacyRecord.ensureValid ByteBufferLogInputStream.nextBatch", KAFKA_3_9, level="detail", Fetch=0
)
def found_produce_short_old_messages(ask: ScenarioBuilder) -> None:
    """Produce 1 and 2 accept messages of the format of their version with short values, and reject messages of other
    formats."""
    t = ask.topic()
    for version in (1, 2):
        for name, value in (("format 2", {"magic": 2}), ("format 1", {"magic": 1}), ("format 0", {"magic": 0})):
            for size in (0, 10, 20, 30, 40):
                old = {"magic": version - 1, "records": [record(10, {"fill": "v", "size": size})], "set": value}
                ask.produce(t, old, case=f"v{version} {name}, value of {size}", version=version)
    ask.fetch("the log", at(t))


@define("fetch", "KIP-516 KafkaApis.handleFetchRequest", level="detail", Fetch=13)
def found_fetch_unknown_order(ask: ScenarioBuilder) -> None:
    """Fetch answers UNKNOWN_SERVER_ERROR for the whole request if it mixes partitions of a known topic id, an unknown
    one and the zero id without a session."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for version in ask.versions("Fetch", 13):
        who: dict[str, Any] = {} if version < 15 else {"replica_state": {"replica_id": 7, "replica_epoch": -1}}
        asked = (
            at("$t.id", partition=9),
            at(UNKNOWN_ID),
            at("$t.id"),
            at("ZERO", partition=3),
            at("$t.id", partition=8),
        )
        ask.fetch(f"v{version}", *asked, version=version)
        ask.fetch(f"v{version} follower", *asked, version=version, **(who or {"replica_id": 7}))


@define("fetch_sessions", "KIP-227 KIP-516 FetchSession.update", level="detail", Fetch=13)
def found_session_zero_id(ask: ScenarioBuilder) -> None:
    """Release 3.9 answers UNKNOWN_SERVER_ERROR to a fetch that opens a session with the zero topic id, and release 4.4
    answers UNKNOWN_TOPIC_ID for this topic alone."""
    t = ask.topic(partitions=3)
    for partition in range(3):
        ask.produce(t, batch(10), partition=partition)
    ask.fetch("open with zero", at("$t.id"), at("ZERO"), version=13, session_id=0, session_epoch=0)
    ask.steps[-1]["bind"] = {"S0": "session_id"}
    ask.fetch("open with unknown", at("$t.id"), at(UNKNOWN_ID), version=13, session_id=0, session_epoch=0)
    ask.steps[-1]["bind"] = {"S": "session_id"}

    def go_on(case: str, epoch: int, *wanted: Step, **more: Any) -> None:
        ask.fetch(case, *wanted, version=13, session_id="$S", session_epoch=epoch, **more)

    zero = {"forgotten_topics_data": [{"topic_id": "ZERO", "partitions": [0]}]}
    go_on("add, zero, add", 1, at("$t.id", partition=1), at("ZERO"), at("$t.id", partition=2))
    go_on("the same epoch again", 1)
    go_on("forget zero", 2, at("$t.id", partition=2), **zero)
    go_on("the same epoch once more", 2)
    go_on("a new session with zero", 0, at("$t.id"), at("ZERO"))
    ask.steps[-1]["bind"] = {"S1": "session_id"}
    go_on("it has ended the old one", 3)


@define("topics", "ControllerApis.handleCreateTopics ReplicationControlManager.createTopics", level="detail")
def found_no_time(ask: ScenarioBuilder) -> None:
    """CreateTopics, CreatePartitions and DeleteTopics with a timeout of 0 or less answer REQUEST_TIMED_OUT and change
    nothing."""
    t = ask.topic()
    new = ask.let("u", "c<unique>.found_no_time.u")
    for timeout_ms in (0, -1):
        topics = [{"name": name} for name in (new, "a b", "twice", "twice")]
        for version in (2, 5):
            body: dict[str, Any] = {"topics": topics, "timeout_ms": timeout_ms}
            ask.request(f"create v{version} in {timeout_ms}", "CreateTopics", version, body)
        body = {"topics": [{"name": "twice"}, {"name": "twice"}], "timeout_ms": timeout_ms}
        ask.request(f"create only doubles in {timeout_ms}", "CreateTopics", 5, body)
        more = [{"name": name, "count": 2, "assignments": None} for name in (t, new)]
        body = {"topics": more, "timeout_ms": timeout_ms, "validate_only": False}
        ask.request(f"grow in {timeout_ms}", "CreatePartitions", 2, body)
        ask.request(f"delete in {timeout_ms}", "DeleteTopics", 5, {"topic_names": [t, new], "timeout_ms": timeout_ms})
        either = [{"name": t}, {"name": None, "topic_id": UNKNOWN_ID}]
        ask.request(f"delete v6 in {timeout_ms}", "DeleteTopics", 6, {"topics": either, "timeout_ms": timeout_ms})
    ask.request(
        "as before",
        "Metadata",
        9,
        {"topics": [{"name": t}, {"name": new}], "allow_auto_topic_creation": False},
        only=["topics"],
    )


@define("topics", "ReplicationControlManager.createTopics", level="detail")
def found_create_topics_faults(ask: ScenarioBuilder) -> None:
    """If a topic of CreateTopics has an invalid property and other errors, the broker answers INVALID_CONFIG."""
    bad = [{"name": "retention.ms", "value": "x"}]
    none = [{"name": "retention.ms", "value": None}]
    twice = [{"partition_index": 0, "broker_ids": [1]}, {"partition_index": 0, "broker_ids": [1]}]
    cases: dict[str, Step] = {
        "configuration and partitions": {"num_partitions": 0, "configs": bad},
        "configuration and replicas": {"replication_factor": -5, "configs": bad},
        "configuration and counts with assignments": {"assignments": twice, "configs": bad},
        "configuration and assignments": {
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": twice,
            "configs": bad,
        },
        "null and partitions": {"num_partitions": 0, "configs": none},
        "null and assignments": {"num_partitions": -1, "replication_factor": -1, "assignments": twice, "configs": none},
    }
    for n, (case, fault) in enumerate(cases.items()):
        name = ask.let(f"u{n}", f"c<unique>.found_faults.u{n}")
        ask.request(case, "CreateTopics", 5, {"topics": [{"name": name} | fault], "timeout_ms": 5000})


@define(
    "metadata",
    "KIP-966 DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest",
    level="detail",
    DescribeTopicPartitions=0,
)
def found_describe_empty_name(ask: ScenarioBuilder) -> None:
    """DescribeTopicPartitions answers UNKNOWN_SERVER_ERROR for the whole request if one topic name is empty and no
    cursor skips it."""
    t = ask.topic()
    names = [{"name": ""}, {"name": t}]
    bodies: dict[str, dict[str, Any]] = {
        "alone": {"topics": [{"name": ""}]},
        "beside another": {"topics": names},
        "with a cursor": {"topics": names, "cursor": {"topic_name": t, "partition_index": 0}},
        "under the cursor": {"topics": names, "cursor": {"topic_name": "", "partition_index": 0}},
    }
    for case, body in bodies.items():
        ask.request(case, "DescribeTopicPartitions", 0, {"response_partition_limit": 2000} | body)


@define(
    "transactions", "KIP-890 ProducerAppendInfo.checkProducerEpoch ReplicaManager.handleProduceAppend", level="detail"
)
def found_transactional_epochs(ask: ScenarioBuilder) -> None:
    """For a transactional batch with a transactional id of another producer, Produce answers INVALID_PRODUCER_EPOCH
    below the epoch in the log and INVALID_PRODUCER_ID_MAPPING otherwise."""
    t = ask.topic()
    x = ask.let("X1", f"c<unique>.{ask.name}.X1")
    ask.coordinator(x, 1)
    for name, owner in (("P1", None), ("P2", x)):
        body = {"transactional_id": owner, "transaction_timeout_ms": 60000}
        ask.setup("InitProducerId", 3, body, bind={name: "producer_id"}, retry_errors=[14, 15, 16])
    plain = batch(10, producer_id="$P1", producer_epoch=1, base_sequence=0)
    ask.produce(t, plain, case="not transactional, in epoch 1", version=9)
    for version in ask.versions("Produce", 9, 12):
        for owner, of in ((x, "another producer's"), ("c.nobody", "nobody's")):
            for epoch in (0, 1, 2):
                for sequence in (0, 1):
                    records = batch(
                        10, transactional=True, producer_id="$P1", producer_epoch=epoch, base_sequence=sequence
                    )
                    case = f"v{version} {of} id, epoch {epoch}, sequence {sequence}"
                    ask.produce(t, records, case=case, version=version, transactional_id=owner)
