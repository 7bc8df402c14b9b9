"""Responses to users with rights on topics: DESCRIBE, other insufficient rights, and sufficient ones, in a request."""

from typing import Any

from kafkalet_conformance.access import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    READ,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
)
from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch, one
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import Rights, all_except, as_user, ends, of_kinds, together_and_alone, unknown_id

scenario = Scenarios("authorization", acl=True)

SOURCES = ("KIP-11", "kafka.server.KafkaApis")


def producing(topic: str) -> Step:
    return {"name": topic, "partitions": [{"index": 0, "records": [batch(10)]}]}


@scenario("KIP-11 KafkaApis", EVERY_RELEASE, level="must")
def rights_produce(ask: ScenarioBuilder) -> None:
    """Produce appends to topics with WRITE; in the same request, topics without WRITE fail with
    TOPIC_AUTHORIZATION_FAILED, whatever else the user may do with them."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(WRITE), "written": (WRITE,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "written": (WRITE,)})

    def body(named: list[Any]) -> Step:
        return {"acks": 1, "timeout_ms": 1000, "topics": named}

    together_and_alone(ask, "Produce", {kind: producing(topic) for kind, topic in topics.items()}, body, 3, 12)
    by_id = {kind: {"topic_id": f"${kind}.id", "partitions": producing("")["partitions"]} for kind in kinds}
    by_id["unknown id"] = {"topic_id": unknown_id(ask), "partitions": producing("")["partitions"]}
    together_and_alone(ask, "Produce", by_id, body, 13)
    nothing = {"acks": 0, "timeout_ms": 1000, "topics": [producing(topics["none"])]}
    ask.step("request_then_apiversions", case="acks 0", api="Produce", version=9, body=nothing, conn="user-0")
    rights.remove()


@scenario("KIP-679 KafkaApis", EVERY_RELEASE, level="must")
def rights_produce_idempotent(ask: ScenarioBuilder) -> None:
    """Idempotent batches need WRITE on the topic; IDEMPOTENT_WRITE on the cluster does not replace it."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "written": (WRITE,)})
    ask.producer()
    for number, (kind, topic) in enumerate(topics.items()):
        sent = batch(10, producer_id="$P1", producer_epoch="$E1", base_sequence=0)
        named = {"name": topic, "partitions": [{"index": 0, "records": [sent]}]}
        ask.request(kind, "Produce", 9, {"acks": -1, "topics": [named]}, conn="user")
        if number == 0:
            rights.on_cluster(IDEMPOTENT_WRITE)
            ask.request(f"{kind}, IDEMPOTENT_WRITE", "Produce", 9, {"acks": -1, "topics": [named]}, conn="user")
    rights.remove()


@scenario("KIP-98 KafkaApis", EVERY_RELEASE, level="must")
def rights_produce_transactional(ask: ScenarioBuilder) -> None:
    """Produce in a transaction needs WRITE on the transactional id, and then on each topic."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "written": (WRITE,)})
    fields = ask.transaction(topics["written"])
    ask.add_partitions(topics["none"])
    sequences: dict[str, int] = {}

    def sent(kind: str) -> Step:
        made = batch(10, **fields, base_sequence=0)
        return {"name": topics[kind], "partitions": [{"index": 0, "records": [made]}]}

    def ask_all(case: str) -> None:
        for kind in topics:
            body = {"transactional_id": "$X1", "acks": -1, "topics": [sent(kind)]}
            ask.request(f"{kind}, {case}", "Produce", 9, body, conn="user")
            sequences[kind] = sequences.get(kind, 0) + 1

    ask_all("no right on the transactional id")
    rights.grant(TRANSACTIONAL_IDS, "$X1", DESCRIBE)
    ask_all("DESCRIBE on the transactional id")
    rights.grant(TRANSACTIONAL_IDS, "$X1", WRITE)
    ask_all("WRITE on the transactional id")
    ask.end()
    rights.remove()


@scenario("KIP-11 KafkaApis", EVERY_RELEASE, level="must")
def rights_fetch(ask: ScenarioBuilder) -> None:
    """Fetch reads topics with READ; in the same request, topics without READ fail with
    TOPIC_AUTHORIZATION_FAILED, whatever else the user may do with them."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(READ), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "readable": (READ,)})
    for kind in kinds:
        ask.produce(topics[kind], batch(10))

    def body(wanted: list[Any]) -> Step:
        return ask.fetching(*wanted)

    by_name = {kind: at(topic) for kind, topic in topics.items()}
    together_and_alone(ask, "Fetch", by_name, body, 4, 12)
    by_id = {kind: at(f"${kind}.id") for kind in kinds}
    by_id["unknown id"] = at(unknown_id(ask))
    together_and_alone(ask, "Fetch", by_id, body, 13)
    rights.remove()


@scenario("KIP-227 KIP-11 KafkaApis", level="must")
def rights_fetch_session(ask: ScenarioBuilder) -> None:
    """A fetch session keeps partitions that the user may not read, and checks the current rights at each fetch."""
    for v in (12, ask.versions("Fetch")[-1]):
        rights = Rights(ask)
        none, readable = (ask.topic(f"{kind}{v}") for kind in ("none", "readable"))
        rights.grant(TOPICS, readable, READ)
        for topic in (none, readable):
            ask.produce(topic, batch(10))
        wanted = [at(f"{topic}.id" if v > 12 else topic, 1) for topic in (none, readable)]
        opening = ask.fetching(*wanted, session_id=0, session_epoch=0)
        session = f"S{v}"
        ask.request(f"v{v}: open", "Fetch", v, opening, conn="user", bind={session: "session_id"})
        epochs = iter(range(1, 9))

        def again(case: str, v: int = v, session: str = session, epochs: Any = epochs) -> None:
            body = ask.fetching(session_id=f"${session}", session_epoch=next(epochs))
            ask.request(f"v{v}: {case}", "Fetch", v, body, conn="user")

        again("nothing new")
        rights.grant(TOPICS, none, READ)
        again("READ granted")
        again("nothing new after READ was granted")
        rights.remove()
        again("READ revoked")
        again("still revoked")


@scenario("KIP-11 KafkaApis")
def rights_fetch_follower(ask: ScenarioBuilder) -> None:
    """A Fetch request of a follower needs CLUSTER_ACTION on the cluster; READ on the topic is not sufficient."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "readable": (READ,)}, {"readable": (READ,)})

    def ask_all(case: str) -> None:
        for kind, topic in topics.items():
            ask.request(f"{kind}, {case}", "Fetch", 11, ask.fetching(at(topic), replica_id=4711), conn="user")

    ask_all("without CLUSTER_ACTION")
    rights.on_cluster(CLUSTER_ACTION)
    ask_all("with CLUSTER_ACTION")
    rights.remove()


@scenario("KIP-11 KafkaApis", EVERY_RELEASE, level="must")
def rights_offsets_of_logs(ask: ScenarioBuilder) -> None:
    """ListOffsets and OffsetForLeaderEpoch need DESCRIBE on each topic, which READ, WRITE, DELETE and ALTER imply."""
    rights = Rights(ask)
    implying = {"described": (DESCRIBE,), "readable": (READ,), "alterable": (ALTER,)}
    kinds = {"none": (), "neighbors": (CREATE, DESCRIBE_CONFIGS, ALTER_CONFIGS)} | implying
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,)})
    for kind in kinds:
        ask.produce(topics[kind], batch(10))
    latest = {kind: one(topic, partition_index=0, timestamp=-1, max_num_offsets=1) for kind, topic in topics.items()}
    together_and_alone(ask, "ListOffsets", latest, lambda wanted: {"replica_id": -1, "topics": wanted})
    partition = {"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}
    epochs = {kind: {"topic": topic, "partitions": [partition]} for kind, topic in topics.items()}
    together_and_alone(ask, "OffsetForLeaderEpoch", epochs, lambda wanted: {"topics": wanted})
    rights.on_cluster(CLUSTER_ACTION)
    everything = {"topics": list(epochs.values())}
    ask.request("CLUSTER_ACTION instead of DESCRIBE", "OffsetForLeaderEpoch", 3, everything, conn="user")
    listed = {"replica_id": -1, "topics": list(latest.values())}
    ask.request("CLUSTER_ACTION does not list offsets", "ListOffsets", 5, listed, conn="user")
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-516", EVERY_RELEASE, level="must")
def rights_metadata(ask: ScenarioBuilder) -> None:
    """Metadata describes the named topics with DESCRIBE, and returns TOPIC_AUTHORIZATION_FAILED for the others; a
    request for all topics omits the others.
    """
    rights = Rights(ask)
    neighbors = (CREATE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
    kinds = {"none": (), "neighbors": neighbors, "described": (DESCRIBE,), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "neighbors": neighbors})
    without: Any = {"only": ["topics", "cluster_authorized_operations"], "conn": "user", "any_order": True}
    versions = ask.versions("Metadata")
    for v in sorted({versions[0], 1, 4, 9, versions[-1]} & set(versions)):
        no_creation = {"allow_auto_topic_creation": False} if v >= 4 else {}
        named = [{"name": topic} for kind, topic in topics.items() if no_creation or not kind.startswith("missing")]
        ask.request(f"v{v}: named", "Metadata", v, {"topics": named} | no_creation, **without)
        everything: Step = {"topics": None} if v else {"topics": []}
        kept = {"topics": "name"}
        ask.request(f"v{v}: all topics", "Metadata", v, everything | no_creation, keep=kept, **without)
    no_creation = {"allow_auto_topic_creation": False}
    for kind, topic in topics.items():
        ask.request(kind, "Metadata", 9, {"topics": [{"name": topic}]} | no_creation, **without)
    for v in ask.versions("Metadata", 12):
        ids = [{"name": None, "topic_id": f"${kind}.id"} for kind in kinds]
        unknown = [{"name": None, "topic_id": unknown_id(ask)}]
        ask.request(f"v{v}: ids", "Metadata", v, {"topics": ids + unknown} | no_creation, **without)
    rights.remove()


@scenario("KIP-430 AuthHelper.authorizedOperations", EVERY_RELEASE)
def rights_listed(ask: ScenarioBuilder) -> None:
    """Metadata and DescribeCluster list the operations that the user may perform, with those that other operations
    imply; the operations on the cluster need DESCRIBE on the cluster."""
    rights = Rights(ask)
    kinds = {
        "described": (DESCRIBE,),
        "readable": (READ,),
        "written": (WRITE, DESCRIBE_CONFIGS),
        "altered": (ALTER, ALTER_CONFIGS),
        "deleted": (DELETE, CREATE),
    }
    topics = of_kinds(ask, rights, kinds)
    everything = ask.topic("everything")
    rights.grant(TOPICS, everything, 2)
    denied = ask.topic("denied")
    rights.grant(TOPICS, denied, 2)
    rights.deny(TOPICS, denied, WRITE)
    wanted = [{"name": topic} for topic in (*topics.values(), everything, denied)]
    for v in ask.versions("Metadata", 8):
        if v in (8, 10, ask.versions("Metadata")[-1]):
            asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": v <= 10}
            body = {"topics": wanted, "allow_auto_topic_creation": False} | asked
            only = ["topics", "cluster_authorized_operations"]
            ask.request(f"v{v}: topics", "Metadata", v, body, conn="user", only=only, any_order=True)
    body = {"topics": wanted, "response_partition_limit": 100}
    ask.each_version("DescribeTopicPartitions", {"described v#": body}, conn="user", any_order=True)
    for case, operation in (("IDEMPOTENT_WRITE", IDEMPOTENT_WRITE), ("CREATE", CREATE), ("ALTER", ALTER)):
        rights.on_cluster(operation)
        of_cluster(ask, case)
    rights.on_cluster(2)
    of_cluster(ask, "ALL")
    rights.remove()


def of_cluster(ask: ScenarioBuilder, case: str) -> None:
    """Request the operations on the cluster in Metadata and DescribeCluster."""
    body = {"topics": [], "allow_auto_topic_creation": False, "include_cluster_authorized_operations": True}
    body["include_topic_authorized_operations"] = False
    ask.request(f"cluster with {case}", "Metadata", 8, body, conn="user", only=["cluster_authorized_operations"])
    only = ["error_code", "cluster_authorized_operations"]
    for v in ends(ask.versions("DescribeCluster")):
        asked = {"include_cluster_authorized_operations": True}
        ask.request(f"cluster v{v} with {case}", "DescribeCluster", v, asked, conn="user", only=only)


@scenario("KIP-11 KafkaApis KIP-290", EVERY_RELEASE, level="must")
def rights_auto_creation(ask: ScenarioBuilder) -> None:
    """Metadata creates a missing topic for users with DESCRIBE on it and CREATE on the topic or on the cluster."""
    rights = Rights(ask)
    kinds = {"none": (), "created": (CREATE,), "described": (DESCRIBE,), "both": (DESCRIBE, CREATE), "other": (READ,)}
    topics = of_kinds(ask, rights, {}, kinds)

    def ask_all(case: str) -> None:
        for kind, topic in topics.items():
            body = {"topics": [{"name": topic}], "allow_auto_topic_creation": True}
            ask.request(f"{kind}, {case}", "Metadata", 9, body, conn="user", only=["topics"])
            if kind == "missing both" or "cluster" in case:
                ask.step("sleep", ms=500)

    mixed = {"topics": [{"name": topics[f"missing {kind}"]} for kind in ("none", "described", "created", "other")]}
    mixed["allow_auto_topic_creation"] = True  # type: ignore[assignment]
    ask.request("several", "Metadata", 9, mixed, conn="user", only=["topics"], any_order=True)
    oldest = {"topics": [{"name": topics["missing described"]}]}
    ask.request("oldest version", "Metadata", ask.versions("Metadata")[0], oldest, conn="user", only=["topics"])
    ask_all("CREATE on topics")
    rights.on_cluster(CREATE)
    ask_all("CREATE on the cluster")
    rights.remove()
    for topic in topics.values():
        ask.setup("DeleteTopics", 4, {"topic_names": [topic]}, must_succeed=False)


@scenario("KIP-966 DescribeTopicPartitionsRequestHandler")
def rights_describe_topic_partitions(ask: ScenarioBuilder) -> None:
    """DescribeTopicPartitions describes topics with DESCRIBE, and leaves out the others if no topic is named."""
    rights = Rights(ask)
    kinds = {"none": (), "neighbors": (CREATE, DESCRIBE_CONFIGS), "described": (DESCRIBE,), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,)})
    named = {kind: {"name": topic} for kind, topic in topics.items()}

    def body(wanted: list[Any]) -> Step:
        return {"topics": wanted, "response_partition_limit": 10}

    together_and_alone(ask, "DescribeTopicPartitions", named, body, any_order=True)
    limited = body(list(named.values())) | {"response_partition_limit": 1}
    ask.request("limit of one partition", "DescribeTopicPartitions", 0, limited, conn="user", any_order=True)
    kept = {"topics": "name"}
    ask.request("all topics", "DescribeTopicPartitions", 0, body([]), conn="user", keep=kept, only=["topics"])
    rights.remove()


@scenario("KIP-664 KafkaApis")
def rights_describe_producers(ask: ScenarioBuilder) -> None:
    """DescribeProducers needs READ on each topic; topics without READ fail with TOPIC_AUTHORIZATION_FAILED."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(READ), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "readable": (READ,)})
    wanted = {kind: {"name": topic, "partition_indexes": [0]} for kind, topic in topics.items()}
    together_and_alone(ask, "DescribeProducers", wanted, lambda named: {"topics": named})
    rights.remove()


def creating(topic: str, **more: Any) -> Step:
    return {"name": topic, "num_partitions": 1, "replication_factor": 1} | more


@scenario("KIP-11 KafkaApis ControllerApis KIP-290 KIP-525", EVERY_RELEASE, level="must")
def rights_create_topics(ask: ScenarioBuilder) -> None:
    """CreateTopics needs CREATE on the topic or on the cluster, and shows configurations to users with
    DESCRIBE_CONFIGS; whether a topic exists is not disclosed."""
    rights = Rights(ask)
    existing = {"none": (), "described": (DESCRIBE,), "created": (CREATE,)}
    missing = {
        "none": (),
        "described": (DESCRIBE,),
        "neighbors": all_except(CREATE),
        "created": (CREATE,),
        "configs": (CREATE, DESCRIBE_CONFIGS),
    }
    topics = of_kinds(ask, rights, existing, missing)
    wanted = {kind: creating(topic) for kind, topic in topics.items() if kind != "missing configs"}

    def body(made: list[Any]) -> Step:
        return {"topics": made, "validate_only": True}

    together_and_alone(ask, "CreateTopics", wanted, body, 1, any_order=True)
    seen = {"configs": [{"name": "retention.ms", "value": "-1"}]}
    first, last = ask.versions("CreateTopics")[0], ask.versions("CreateTopics")[-1]
    for case, kind in (("without DESCRIBE_CONFIGS", "created"), ("with DESCRIBE_CONFIGS", "configs")):
        made = creating(topics[f"missing {kind}"], **seen)
        ask.request(case, "CreateTopics", last, {"topics": [made]}, conn="user")
    twice = [creating(topics["missing none"]), creating(topics["missing none"])]
    ask.request("an unauthorized topic twice", "CreateTopics", last, body(twice), conn="user")
    again = [creating(topics["missing created"])]
    ask.request("what exists now", "CreateTopics", first, {"topics": again}, conn="user")
    invalid = [creating("not a valid name!"), creating(topics["missing none"], num_partitions=-7)]
    ask.request("invalid", "CreateTopics", last, body(invalid), conn="user", any_order=True)
    internal = [creating("__cluster_metadata")]
    ask.request("internal topic", "CreateTopics", last, body(internal), conn="user", any_order=True)
    rights.on_cluster(CREATE)
    cluster = {kind: made for kind, made in wanted.items() if kind in ("none", "created", "missing none")}
    for kind, made in cluster.items():
        ask.request(f"CREATE on the cluster: {kind}", "CreateTopics", last, body([made]), conn="user")
    ask.request("CREATE on the cluster: invalid", "CreateTopics", last, body(invalid), conn="user", any_order=True)
    ask.request(
        "CREATE on the cluster: internal topic", "CreateTopics", last, body(internal), conn="user", any_order=True
    )
    rights.remove()
    for kind in ("created", "configs"):
        ask.setup("DeleteTopics", 4, {"topic_names": [topics[f"missing {kind}"]]})


@scenario("KIP-11 KafkaApis ControllerApis KIP-516", EVERY_RELEASE, level="must")
def rights_delete_topics(ask: ScenarioBuilder) -> None:
    """DeleteTopics needs DELETE on each topic; by id, a user without DESCRIBE does not see the name."""
    rights = Rights(ask)
    kinds = {
        "none": (),
        "described": (DESCRIBE,),
        "neighbors": all_except(DELETE),
        "deleted": (DELETE,),
        "ided": (DELETE,),
    }
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "deleted": (DELETE,)})
    refused = {kind: topic for kind, topic in topics.items() if kind not in ("deleted", "ided")}
    together_and_alone(ask, "DeleteTopics", refused, lambda names: {"topic_names": names}, 0, 5)
    mixed = {"topic_names": [topics["deleted"], topics["none"], topics["missing deleted"]]}
    ask.request("mixed", "DeleteTopics", 5, mixed, conn="user")
    for v in ask.versions("DeleteTopics", 6):
        by_name = {kind: {"name": topic} for kind, topic in refused.items()}
        together_and_alone(ask, "DeleteTopics", by_name, lambda named: {"topics": named}, v, v)
        ids = {f"id of {kind}": {"name": None, "topic_id": f"${kind}.id"} for kind in kinds if kind in refused}
        ids["unknown id"] = {"name": None, "topic_id": unknown_id(ask)}
        for case, wanted in ids.items():
            ask.request(f"v{v}: {case}", "DeleteTopics", v, {"topics": [wanted]}, conn="user")
        by_id = {"name": None, "topic_id": "$ided.id"}
        ask.request(f"v{v}: id of deletable", "DeleteTopics", v, {"topics": [by_id]}, conn="user")
        twice = [{"name": topics["none"]}, {"name": topics["none"]}]
        ask.request(f"v{v}: an unauthorized name twice", "DeleteTopics", v, {"topics": twice}, conn="user")
        both = [{"name": topics["described"]}, {"name": None, "topic_id": "$described.id"}]
        ask.request(f"v{v}: name and id", "DeleteTopics", v, {"topics": both}, conn="user")
        hidden = [{"name": topics["none"]}, {"name": None, "topic_id": "$none.id"}]
        ask.request(f"v{v}: name and id without DESCRIBE", "DeleteTopics", v, {"topics": hidden}, conn="user")
    rights.remove()


@scenario("KIP-11 KafkaApis ControllerApis", level="must")
def rights_partitions_and_records(ask: ScenarioBuilder) -> None:
    """CreatePartitions needs ALTER on each topic, and DeleteRecords needs DELETE."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "notalter": all_except(ALTER), "alterable": (ALTER,)}
    kinds |= {"notdelete": all_except(DELETE), "deletable": (DELETE,)}
    some = {"none": (), "described": (DESCRIBE,), "alterable": (ALTER,), "deletable": (DELETE,)}
    topics = of_kinds(ask, rights, kinds, some)
    for kind in kinds:
        ask.produce(topics[kind], batch(10, 20))
    wider = {kind: {"name": topic, "count": 2, "assignments": None} for kind, topic in topics.items()}
    together_and_alone(
        ask, "CreatePartitions", wider, lambda named: {"topics": named, "validate_only": True}, any_order=True
    )
    twice = [wider["none"], wider["none"]]
    ask.request("an unauthorized topic twice", "CreatePartitions", 1, {"topics": twice}, conn="user")
    ask.request("extend", "CreatePartitions", 1, {"topics": [wider["alterable"], wider["none"]]}, conn="user")
    shortened = {
        kind: {"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]} for kind, topic in topics.items()
    }
    together_and_alone(ask, "DeleteRecords", shortened, lambda named: {"topics": named})
    rights.remove()


@scenario("KIP-133 KIP-339 ConfigHelper", EVERY_RELEASE)
def rights_topic_configurations(ask: ScenarioBuilder) -> None:
    """Describing the configuration of a topic needs DESCRIBE_CONFIGS, which ALTER_CONFIGS implies; changing it needs
    ALTER_CONFIGS."""
    rights = Rights(ask)
    kinds = {
        "none": (),
        "described": (DESCRIBE,),
        "neighbors": all_except(DESCRIBE_CONFIGS, ALTER_CONFIGS),
        "shown": (DESCRIBE_CONFIGS,),
        "altered": (ALTER_CONFIGS,),
    }
    some = {"none": (), "described": (DESCRIBE,), "shown": (DESCRIBE_CONFIGS,), "altered": (ALTER_CONFIGS,)}
    topics = of_kinds(ask, rights, kinds, some)

    def resource(name: str, **more: Any) -> Step:
        return {"resource_type": 2, "resource_name": name} | more

    def body(resources: list[Any]) -> Step:
        return {"resources": resources}

    keys = {"configuration_keys": ["retention.ms"]}
    described = {kind: resource(topic, **keys) for kind, topic in topics.items()}
    together_and_alone(ask, "DescribeConfigs", described, body)
    replaced = {
        kind: resource(topic, configs=[{"name": "retention.ms", "value": "90000"}]) for kind, topic in topics.items()
    }
    together_and_alone(ask, "AlterConfigs", replaced, body)
    change = {"name": "retention.ms", "value": "80000", "config_operation": 0}
    altered = {kind: resource(topic, configs=[change]) for kind, topic in topics.items()}
    together_and_alone(ask, "IncrementalAlterConfigs", altered, body, any_order=True)
    checked = {"validate_only": True, "resources": [altered["altered"], altered["shown"]]}
    ask.request("validate only", "IncrementalAlterConfigs", 0, checked, conn="user", any_order=True)
    as_user(ask, "DescribeConfigs", {"what was altered": body([described["altered"]])})
    rights.remove()
