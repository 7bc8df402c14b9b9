"""Administration of topics: CreateTopics, DeleteTopics, CreatePartitions, DescribeTopicPartitions."""

from typing import Any

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step, batch
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("topics")

EXCESSIVE = 10_001
"""One more than the records that a controller writes for one request (QuorumController.MAX_RECORDS_PER_USER_OP).

Requests for so many partitions are only validated: brokers that do not refuse them would create them."""
ILLEGAL = ("", ".", "..", "a b", "a/b", "ä", "x" * 250)


def create(
    ask: ScenarioBuilder, case: str, *topics: Step, version: int = 5, ids: tuple[str, ...] = (), **body: Any
) -> None:
    bind = {f"{name}.id": f"topics.{place}.topic_id" for place, name in enumerate(ids)}
    made = [{"num_partitions": 1, "replication_factor": 1} | topic for topic in topics]
    ask.request(case, "CreateTopics", version, {"topics": made} | body, **({"bind": bind} if bind else {}))


def configs(**given: str | None) -> list[Step]:
    return [{"name": name.replace("_", "."), "value": value} for name, value in given.items()]


def names(ask: ScenarioBuilder, *names: str) -> list[str]:
    return [ask.unique(name) for name in names]


def exists(ask: ScenarioBuilder, topic: str) -> None:
    body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    ask.until("Metadata", 4, body, "topics.0.error_code", 0)


@scenario("KIP-4 KIP-525 ReplicationControlManager.createTopics", level="must")
def create_topics_every_version(ask: ScenarioBuilder) -> None:
    """CreateTopics creates a topic in every version, returns TOPIC_ALREADY_EXISTS for a second one, and since version 5
    returns the properties of the topic."""
    for version in ask.versions("CreateTopics"):
        [t] = names(ask, f"t{version}")
        ids = (f"t{version}",) if version >= 7 else ()
        create(ask, f"v{version}", {"name": t, "num_partitions": 3}, version=version, ids=ids)
        create(ask, f"v{version} again", {"name": t, "num_partitions": 3}, version=version)


@scenario("KIP-464 ReplicationControlManager.createTopic", level="must")
def create_topics_counts(ask: ScenarioBuilder) -> None:
    """CreateTopics uses the defaults of the broker for -1, and returns INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR
    for other counts that are not possible."""
    for version in (4, 5):
        [t] = names(ask, f"defaults{version}")
        create(
            ask, f"defaults v{version}", {"name": t, "num_partitions": -1, "replication_factor": -1}, version=version
        )
    for partitions, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (0, 0), (-1, 3), (1, 32767)):
        [t] = names(ask, f"n{partitions}.{replicas}".replace("-", "m"))
        topic = {"name": t, "num_partitions": partitions, "replication_factor": replicas}
        create(ask, f"{partitions} partitions, {replicas} replicas", topic)
        create(ask, f"{partitions} partitions, {replicas} replicas, validate only", topic, validate_only=True)


@scenario("Topic.validate ReplicationControlManager.validateNewTopicNames", level="must")
def create_topics_names(ask: ScenarioBuilder) -> None:
    """CreateTopics returns INVALID_TOPIC_EXCEPTION for illegal names and for names that differ from a topic only in
    dots and underscores."""
    for name in ILLEGAL:
        create(ask, f"{name[:10]!r}", {"name": name})
    create(ask, "cluster metadata", {"name": "__cluster_metadata"})
    [t] = names(ask, "dots")
    create(ask, "with dots", {"name": t})
    exists(ask, t)
    collides = ask.let("collides", "c<unique>_" + ask.name + "_dots")
    create(ask, "with underscores for dots", {"name": collides})
    longest = ask.let("longest", "x" * 200 + "<unique>")
    create(ask, "a long one", {"name": longest})
    mixed = ask.let("mixed", "Az09._-<unique>")
    create(ask, "every character", {"name": mixed})


@scenario("ControllerApis.createTopics ReplicationControlManager.createTopics")
def create_topics_several(ask: ScenarioBuilder) -> None:
    """CreateTopics handles each topic separately, and returns INVALID_REQUEST for a topic that the request names more
    than once.
    """
    one, two, three, four = names(ask, "one", "two", "three", "four")
    create(ask, "a good and a bad one", {"name": one}, {"name": two, "num_partitions": 0})
    create(ask, "one twice and another", {"name": three}, {"name": three, "num_partitions": 2}, {"name": four})
    create(ask, "three times", {"name": three}, {"name": three}, {"name": three})
    create(ask, "no topics")
    create(ask, "an illegal name twice", {"name": "a b"}, {"name": "a b"})


@scenario(
    "ReplicationControlManager.validateManualPartitionAssignment ReplicationControlManager.createTopic", level="must"
)
def create_topics_assignments(ask: ScenarioBuilder) -> None:
    """CreateTopics accepts replica assignments for consecutive partitions from 0, and returns
    INVALID_REPLICA_ASSIGNMENT for gaps, unknown brokers and repeated replicas."""
    body = {"topics": [], "allow_auto_topic_creation": False}
    ask.setup("Metadata", 4, body, bind={"N1": "brokers.0.node_id"})

    def assigned(case: str, *partitions: tuple[int, list[Any]], counts: tuple[int, int] = (-1, -1)) -> None:
        [t] = names(ask, "t" + "".join(word[0] for word in case.split()) + str(len(case)))
        assignments = [{"partition_index": index, "broker_ids": brokers} for index, brokers in partitions]
        topic = {"name": t, "num_partitions": counts[0], "replication_factor": counts[1], "assignments": assignments}
        create(ask, case, topic)

    assigned("two partitions", (0, ["$N1"]), (1, ["$N1"]))
    assigned("any order", (1, ["$N1"]), (0, ["$N1"]))
    assigned("with a number of partitions", (0, ["$N1"]), counts=(1, -1))
    assigned("with a replication factor", (0, ["$N1"]), counts=(-1, 1))
    assigned("with both", (0, ["$N1"]), counts=(1, 1))
    assigned("a gap", (0, ["$N1"]), (2, ["$N1"]))
    assigned("not from zero", (1, ["$N1"]))
    assigned("a negative partition", (-1, ["$N1"]))
    assigned("a partition twice", (0, ["$N1"]), (0, ["$N1"]))
    assigned("no brokers", (0, []))
    assigned("a broker that is not", (0, [77]))
    assigned("a broker twice", (0, ["$N1", "$N1"]))
    assigned("a negative broker", (0, [-1]))
    assigned("uneven", (0, ["$N1"]), (1, ["$N1", 77]))


@scenario("ControllerConfigurationValidator.validate LogConfig.validate")
def create_topics_configs(ask: ScenarioBuilder) -> None:
    """CreateTopics validates the properties of the new topic and returns INVALID_CONFIG for unknown names and invalid
    values."""

    def configured(case: str, given: list[Step], version: int = 5, **more: Any) -> None:
        [t] = names(ask, f"t{len(ask.steps)}")
        create(ask, case, {"name": t, "configs": given} | more, version=version)

    configured("several", configs(retention_ms="1000", cleanup_policy="compact,delete"))
    configured("spaces and capitals", configs(retention_ms=" 5 ", preallocate="TRUE"))
    configured("an unknown name", configs(retention_mss="1000"))
    configured("a bad value", configs(retention_ms="soon"))
    configured("a value out of range", configs(retention_ms="-2"))
    configured("null", configs(retention_ms=None))
    configured("null and another", configs(retention_ms=None, segment_ms="5"))
    configured("an empty text", configs(cleanup_policy=""))
    configured("one twice", [*configs(retention_ms="1"), *configs(retention_ms="2")])
    configured("a contradiction", configs(min_compaction_lag_ms="9", max_compaction_lag_ms="8"))
    configured("a broker's property", configs(log_retention_ms="9"))
    configured("old message format", configs(message_format_version="0.10.0"))
    configured("down-conversion", configs(message_downconversion_enable="false"))
    configured("small segments", configs(segment_bytes="100"))
    configured("internal small segments", configs(internal_segment_bytes="100"))
    configured("tiered", configs(remote_storage_enable="true"))
    configured("bad value and bad count", configs(retention_ms="soon"), num_partitions=0)
    configured("bad value, v4", configs(retention_ms="soon"), version=4)


@scenario("KIP-4 ReplicationControlManager.createTopics")
def create_topics_validate_only(ask: ScenarioBuilder) -> None:
    """CreateTopics with validate_only responds as if it created the topic, and does not create it."""
    for version in ask.versions("CreateTopics", 1):
        [t] = names(ask, f"t{version}")
        bind = {"bind": {f"t{version}.id": "topics.0.topic_id"}} if version >= 7 else {}
        body = {"topics": [{"name": t, "num_partitions": 2, "replication_factor": 1}], "validate_only": True}
        ask.request(f"v{version}", "CreateTopics", version, body, **bind)
    body = {"topics": [{"name": t}], "allow_auto_topic_creation": False}
    ask.request("it does not exist", "Metadata", 4, body)


@scenario("KIP-4 ControllerApis.deleteTopics", level="must")
def delete_topics_every_version(ask: ScenarioBuilder) -> None:
    """DeleteTopics deletes topics by name in every version and returns UNKNOWN_TOPIC_OR_PARTITION for unknown ones."""
    for version in ask.versions("DeleteTopics"):
        t = ask.topic(f"t{version}")
        n = ask.let(f"n{version}", "does-not-exist-<unique>")
        if version < 6:
            ask.request(f"v{version}", "DeleteTopics", version, {"topic_names": [t, n]})
        else:
            body = {"topics": [{"name": t, "topic_id": "ZERO"}, {"name": n, "topic_id": "ZERO"}]}
            ask.request(f"v{version}", "DeleteTopics", version, body)


@scenario("KIP-516 ControllerApis.deleteTopics", DeleteTopics=6)
def delete_topics_ids(ask: ScenarioBuilder) -> None:
    """DeleteTopics v6 accepts names or ids; it returns UNKNOWN_TOPIC_ID for unknown ids, and INVALID_REQUEST for a
    topic that has both, has neither, or is named twice."""

    def delete(case: str, *topics: tuple[str | None, str]) -> None:
        body = {"topics": [{"name": name, "topic_id": topic_id} for name, topic_id in topics]}
        ask.request(case, "DeleteTopics", 6, body)

    one, two, three = ask.topic("one"), ask.topic("two"), ask.topic("three")
    delete("name and id", (one, "$one.id"))
    delete("neither", (None, "ZERO"))
    delete("an unknown id", (None, "00000000-0000-0000-0000-000000000011"))
    delete("a name twice", (one, "ZERO"), (one, "ZERO"))
    delete("an id twice", (None, "$one.id"), (None, "$one.id"))
    delete("by id", (None, "$one.id"))
    delete("by id again", (None, "$one.id"))
    delete("the same by name and by id", (two, "ZERO"), (None, "$two.id"))
    delete("one by name and one by id", (two, "ZERO"), (None, "$three.id"))
    delete("an illegal name", ("a b", "ZERO"))
    delete("an empty name", ("", "ZERO"))
    delete("nothing")
    assert three


@scenario("ControllerApis.deleteTopics")
def delete_topics_names(ask: ScenarioBuilder) -> None:
    """DeleteTopics returns INVALID_REQUEST for a topic that is named twice, and deletes the other topics of the
    request."""
    t, u = ask.topic("t"), ask.topic("u")
    ask.request("twice", "DeleteTopics", 5, {"topic_names": [t, t]})
    ask.request("twice and another", "DeleteTopics", 5, {"topic_names": [t, u, t]})
    ask.request("once", "DeleteTopics", 5, {"topic_names": [t]})
    ask.request("again", "DeleteTopics", 5, {"topic_names": [t]})
    ask.request("illegal", "DeleteTopics", 4, {"topic_names": ["a b", ""]})
    ask.request("none", "DeleteTopics", 4, {"topic_names": []})
    body = {"topics": [{"name": t}], "allow_auto_topic_creation": False}
    ask.until("Metadata", 4, body, "topics.0.error_code", 3)
    ask.request("gone", "Metadata", 4, body)
    ask.time("gone for ListOffsets", t, -1)


@scenario("KIP-516 ReplicationControlManager.deleteTopic", level="must")
def delete_topics_and_again(ask: ScenarioBuilder) -> None:
    """A topic that is deleted and created again is empty and has another topic id."""
    t = ask.topic()
    ask.produce(t, batch(1, 2, 3))
    ask.setup("DeleteTopics", 4, {"topic_names": [t]})
    body = {"topics": [{"name": t}], "allow_auto_topic_creation": False}
    ask.until("Metadata", 4, body, "topics.0.error_code", 3)
    create(ask, "again", {"name": t}, version=5)
    ask.wait_for_leader(t)
    ask.time("it is empty", t, -1)


@scenario("KIP-195 ReplicationControlManager.createPartitions", level="must")
def create_partitions_every_version(ask: ScenarioBuilder) -> None:
    """CreatePartitions adds partitions in every version, and only validates with validate_only."""
    t = ask.topic()
    count = 1
    for version in ask.versions("CreatePartitions"):
        count += 2
        body = {"topics": [{"name": t, "count": count, "assignments": None}], "timeout_ms": 30000}
        ask.request(f"v{version} validate only", "CreatePartitions", version, body | {"validate_only": True})
        ask.request(f"v{version}", "CreatePartitions", version, body | {"validate_only": False})
    ask.wait_for_leader(t, count)
    ask.request("all of them", "Metadata", 4, {"topics": [{"name": t}], "allow_auto_topic_creation": False})


@scenario("KIP-195 ReplicationControlManager.createPartitions")
def create_partitions_errors(ask: ScenarioBuilder) -> None:
    """CreatePartitions returns INVALID_PARTITIONS if the count does not grow, INVALID_REPLICA_ASSIGNMENT for wrong
    assignments, and UNKNOWN_TOPIC_OR_PARTITION for unknown topics."""
    t, n = ask.topic(partitions=3), ask.unknown_topic()
    ask.setup("Metadata", 4, {"topics": [], "allow_auto_topic_creation": False}, bind={"N1": "brokers.0.node_id"})

    def grow(case: str, topic: str, count: int, *replicas: list[Any], null: bool = True) -> None:
        assignments = None if null else [{"broker_ids": brokers} for brokers in replicas]
        body = {"topics": [{"name": topic, "count": count, "assignments": assignments}], "validate_only": False}
        ask.request(case, "CreatePartitions", 1, body)

    grow("as many", t, 3)
    grow("fewer", t, 2)
    grow("none", t, 0)
    grow("negative", t, -1)
    grow("an unknown topic", n, 3)
    grow("an illegal name", "a b", 3)
    grow("no assignments", t, 4, null=False)
    grow("too few assignments", t, 5, ["$N1"], null=False)
    grow("too many assignments", t, 4, ["$N1"], ["$N1"], null=False)
    grow("an assignment without brokers", t, 4, [], null=False)
    grow("a broker that is not", t, 4, [77], null=False)
    grow("a broker twice", t, 4, ["$N1", "$N1"], null=False)
    grow("more replicas than before", t, 4, ["$N1", 77], null=False)
    grow("one assigned", t, 4, ["$N1"], null=False)
    twice = {"name": t, "count": 9, "assignments": None}
    other = {"name": n, "count": 9, "assignments": None}
    ask.request("twice", "CreatePartitions", 1, {"topics": [twice, twice, other], "validate_only": False})
    ask.request("no topics", "CreatePartitions", 1, {"topics": [], "validate_only": False})


@scenario(
    "KIP-966 DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest",
    area="metadata",
    DescribeTopicPartitions=0,
)
def describe_topic_partitions(ask: ScenarioBuilder) -> None:
    """DescribeTopicPartitions returns topics sorted by name up to a limit, continues at a cursor, and rejects cursors
    at topics that the request does not name."""
    t, u, n = ask.topic("t", partitions=3), ask.topic("u", partitions=2), ask.unknown_topic("zz")

    def describe(case: str, *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        at = cursor and {"topic_name": cursor[0], "partition_index": cursor[1]}
        body = {"topics": [{"name": topic} for topic in topics], "response_partition_limit": limit, "cursor": at}
        ask.request(case, "DescribeTopicPartitions", 0, body)

    describe("one", t)
    describe("two, sorted by name", u, t)
    describe("one twice", t, t)
    describe("an unknown one", n)
    describe("known and unknown", n, t)
    describe("an illegal name", "a b")
    describe("a limit inside a topic", t, u, limit=2)
    describe("a limit at the end of a topic", t, u, limit=3)
    describe("a limit inside the second", t, u, limit=4)
    describe("a limit of all", t, u, limit=5)
    describe("a limit of 0", t, limit=0)
    describe("a negative limit", t, limit=-1)
    describe("from a cursor", t, u, cursor=(t, 1))
    describe("from a cursor, limited", t, u, cursor=(t, 1), limit=1)
    describe("from a cursor at the second", t, u, cursor=(u, 1))
    describe("a cursor past the partitions", t, u, cursor=(t, 3))
    describe("a cursor at a topic not asked for", t, cursor=(u, 0))
    describe("a negative cursor", t, cursor=(t, -1))
    describe("a cursor at an unknown topic", t, n, cursor=(n, 0))


@scenario("ControllerApis.handleCreateTopics ReplicationControlManager.createTopics", level="detail")
def found_no_time(ask: ScenarioBuilder) -> None:
    """CreateTopics, CreatePartitions and DeleteTopics with a timeout of 0 or less return REQUEST_TIMED_OUT and change
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
        either = [{"name": t}, {"name": None, "topic_id": UNKNOWN_TOPIC_ID}]
        ask.request(f"delete v6 in {timeout_ms}", "DeleteTopics", 6, {"topics": either, "timeout_ms": timeout_ms})
    ask.request(
        "as before",
        "Metadata",
        9,
        {"topics": [{"name": t}, {"name": new}], "allow_auto_topic_creation": False},
        only=["topics"],
    )


@scenario("ReplicationControlManager.createTopics", level="detail")
def found_create_topics_faults(ask: ScenarioBuilder) -> None:
    """If a topic of CreateTopics has an invalid property and other errors, the broker returns INVALID_CONFIG."""
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


@scenario("ReplicationControlManager", KAFKA_4_4)
def topics_excessive(ask: ScenarioBuilder) -> None:
    """Requests for more than 10,000 partitions are refused with POLICY_VIOLATION."""
    t, n = ask.topic(), ask.unknown_topic()
    made = [{"name": n, "num_partitions": EXCESSIVE, "replication_factor": 1}]
    ask.each_version("CreateTopics", {"v# create": {"topics": made, "validate_only": True}}, 5)
    extended = [{"name": t, "count": EXCESSIVE + 1, "assignments": None}]
    ask.each_version("CreatePartitions", {"v# extend": {"topics": extended, "validate_only": True}})
    ask.request("t still has one partition", "Metadata", 8, {"topics": [{"name": t}]}, only=["topics"])
