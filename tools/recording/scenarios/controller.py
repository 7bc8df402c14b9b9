"""Requests to the listener of the controller, to which admin clients connect with bootstrap.controllers (KIP-919)."""

from typing import Any

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .configurations import APPEND, BROKER, DELETE, LOGGER, SET, TOPIC, resource

scenario = Scenarios("controller", controller=True)

CLIENT = {"client_software_name": "conformance", "client_software_version": "1.0"}
GROUP, CLIENT_METRICS = 32, 16
NO_NODE, NODE = "4711", "1"


def ask_it(ask: ScenarioBuilder, case: str, api: str, version: int, body: Step, **more: Any) -> None:
    """Send a request to the controller."""
    ask.request(case, api, version, body, conn="controller", **more)


@scenario("KIP-919 SimpleApiVersionManager", level="must")
def controller_api_versions(ask: ScenarioBuilder) -> None:
    """ApiVersions of a controller returns its APIs, which are not those of a broker."""
    for version in ask.versions("ApiVersions"):
        ask_it(ask, f"v{version}", "ApiVersions", version, CLIENT, only=["error_code", "api_keys"])
    ask_it(ask, "invalid name", "ApiVersions", 3, CLIENT | {"client_software_name": "#"}, only=["error_code"])
    ask_it(ask, "features", "ApiVersions", 3, CLIENT, only=["supported_features", "finalized_features"])


@scenario("KIP-1242 ControllerApis.handleApiVersionsRequest", KAFKA_4_4, ApiVersions=5)
def controller_expected_node(ask: ScenarioBuilder) -> None:
    """A controller does not compare the cluster id and node id that a client expects with its own."""
    ask.setup("DescribeCluster", 0, {}, bind={"cluster": "cluster_id"})
    for case, cluster_id, node_id in (
        ("cluster and node", "$cluster", 1),
        ("another cluster and the node", "another-cluster-id-000", 1),
        ("another node", "$cluster", 4711),
        ("cluster without node", "$cluster", -1),
        ("node without cluster", None, 1),
    ):
        body = CLIENT | {"cluster_id": cluster_id, "node_id": node_id}
        ask_it(ask, case, "ApiVersions", 5, body, only=["error_code"])


@scenario("KIP-919 ControllerApis.handleDescribeCluster", level="must")
def controller_describe_cluster(ask: ScenarioBuilder) -> None:
    """DescribeCluster at a controller returns the controllers, and refuses to return brokers."""
    for version in ask.versions("DescribeCluster"):
        for kind in (1, 2, 3, 0) if version else (1,):
            body: Step = {"include_cluster_authorized_operations": False} | ({"endpoint_type": kind} if version else {})
            found = ["error_code", "error_message", "endpoint_type", "controller_id", "cluster_authorized_operations"]
            ask_it(ask, f"v{version} of type {kind}", "DescribeCluster", version, body, only=found)
    body = {"include_cluster_authorized_operations": True, "endpoint_type": 2}
    ask_it(ask, "with operations", "DescribeCluster", 1, body, only=["cluster_authorized_operations"])
    ask_it(ask, "controllers", "DescribeCluster", 1, body, part="brokers.0.broker_id")
    for version in ask.versions("DescribeCluster", 1):
        for kind in (2, 3, 0):
            ask.request(f"v{version} of type {kind} at a broker", "DescribeCluster", version, {"endpoint_type": kind})
    if 2 in ask.versions("DescribeCluster"):
        ask_it(ask, "with fenced brokers", "DescribeCluster", 2, body | {"include_fenced_brokers": True}, only=found)


@scenario("KIP-595 KIP-853 KafkaRaftClient.handleDescribeQuorumRequest")
def controller_describe_quorum(ask: ScenarioBuilder) -> None:
    """DescribeQuorum at a controller returns what brokers return."""
    body = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    other = {"topics": [{"topic_name": "t", "partitions": [{"partition_index": 0}]}]}
    path = "topics.0.partitions.0"
    for version in ask.versions("DescribeQuorum"):
        for conn in ("controller", "main"):
            for part in (f"{path}.error_code", f"{path}.leader_id", f"{path}.current_voters.0.replica_id"):
                ask.request(f"v{version} at {conn}: {part}", "DescribeQuorum", version, body, part=part, conn=conn)
            ask.request(
                f"v{version} at {conn}: observers", "DescribeQuorum", version, body, part=f"{path}.observers", conn=conn
            )
            ask.request(f"v{version} at {conn}: another topic", "DescribeQuorum", version, other, conn=conn)
    for part in ("nodes.0.node_id", "nodes.0.listeners.0.name", "nodes.0.listeners.0.host"):
        ask_it(ask, part, "DescribeQuorum", 2, body, part=part)


@scenario("KIP-919 ControllerApis.handle", level="must")
def controller_unsupported_apis(ask: ScenarioBuilder) -> None:
    """A controller closes the connection if it does not support the API of a request."""
    topics: Step = {"topics": []}
    for api, version, body in (
        ("Metadata", 9, topics | {"allow_auto_topic_creation": False}),
        ("ListOffsets", 5, topics | {"replica_id": -1, "isolation_level": 0}),
        ("FindCoordinator", 2, {"key": "g", "key_type": 0}),
        ("ListGroups", 2, {}),
        ("DescribeLogDirs", 1, {"topics": None}),
        ("DescribeClientQuotas", 0, {"components": [], "strict": False}),
        ("DeleteRecords", 1, topics | {"timeout_ms": 1000}),
        ("DescribeProducers", 0, topics),
    ):
        ask_it(ask, api, api, version, body)
    tokens = {"owners": None}
    ask_it(
        ask,
        "tokens, which it only advertises",
        "DescribeDelegationToken",
        ask.versions("DescribeDelegationToken")[-1],
        tokens,
    )


def alter(ask: ScenarioBuilder, case: str, *resources: Step, version: int = 1, **more: Any) -> None:
    ask_it(ask, case, "IncrementalAlterConfigs", version, {"resources": list(resources), "validate_only": False} | more)


def change(kind: int, name: str, *configs: tuple[str, int, str | None]) -> Step:
    given = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in configs]
    return {"resource_type": kind, "resource_name": name, "configs": given}


@scenario("KIP-339 ControllerApis.handleIncrementalAlterConfigs ConfigurationControlManager")
def controller_incremental_alter_configs(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs at a controller changes every broker, and refuses nodes that are not registered."""
    topic, key = ask.topic(), "log.cleaner.threads"
    for version in ask.versions("IncrementalAlterConfigs"):
        alter(ask, f"v{version} a topic", change(TOPIC, topic, ("max.message.bytes", SET, "2000")), version=version)
    alter(ask, "an unknown topic", change(TOPIC, ask.unknown_topic(), ("max.message.bytes", SET, "2000")))
    alter(ask, "a bad value", change(TOPIC, topic, ("max.message.bytes", SET, "x")))
    alter(ask, "an unknown property", change(TOPIC, topic, ("nope", SET, "x")))
    alter(ask, "append", change(TOPIC, topic, ("cleanup.policy", APPEND, "compact")))
    alter(ask, "append to a number", change(TOPIC, topic, ("max.message.bytes", APPEND, "1")))
    alter(ask, "null", change(TOPIC, topic, ("max.message.bytes", SET, None)))
    alter(ask, "no topic name", change(TOPIC, "", ("max.message.bytes", SET, "2000")))
    for name in (NODE, NO_NODE, "-1", "x", ""):
        alter(ask, f"broker {name!r}", change(BROKER, name, (key, SET, "2")))
        alter(ask, f"broker {name!r}, reset", change(BROKER, name, (key, DELETE, None)))
    alter(ask, "append to a number of a broker", change(BROKER, NODE, (key, APPEND, "1")))
    alter(ask, "an unknown type", change(77, "x", ("k", SET, "v")))
    alter(ask, "a group", change(GROUP, "g", ("consumer.session.timeout.ms", SET, "46000")))
    alter(ask, "a group again", change(GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)))
    alter(ask, "a group without name", change(GROUP, "", ("consumer.session.timeout.ms", SET, "46000")))
    alter(ask, "client metrics", change(CLIENT_METRICS, "m", ("interval.ms", SET, "5000")))
    alter(ask, "client metrics again", change(CLIENT_METRICS, "m", ("interval.ms", DELETE, None)))
    twice = change(TOPIC, topic, ("max.message.bytes", SET, "3000"))
    alter(ask, "twice", twice, twice)
    alter(ask, "only validated", change(TOPIC, topic, ("max.message.bytes", SET, "4000")), validate_only=True)
    body = {"resources": [resource(TOPIC, topic, "max.message.bytes", "cleanup.policy")]}
    ask_it(ask, "described", "DescribeConfigs", 4, body)
    alter(ask, "a key twice", change(TOPIC, topic, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")))
    alter(ask, "an unknown operation", change(TOPIC, topic, ("retention.ms", 9, "1")))


@scenario("KIP-133 ControllerApis.handleLegacyAlterConfigs ConfigurationControlManager")
def controller_alter_configs(ask: ScenarioBuilder) -> None:
    """AlterConfigs at a controller replaces the properties of a topic or of any broker."""
    topic = ask.topic()

    def replace(case: str, *resources: tuple[int, str, str, str | None], version: int = 2, **more: Any) -> None:
        given = [
            {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "value": value}]}
            for kind, name, key, value in resources
        ]
        ask_it(ask, case, "AlterConfigs", version, {"resources": given, "validate_only": False} | more)

    for version in ask.versions("AlterConfigs"):
        replace(f"v{version} a topic", (TOPIC, topic, "max.message.bytes", "2000"), version=version)
    replace("an unknown topic", (TOPIC, ask.unknown_topic(), "max.message.bytes", "2000"))
    replace("a bad value", (TOPIC, topic, "max.message.bytes", "x"))
    replace("null", (TOPIC, topic, "max.message.bytes", None))
    replace("an unknown type", (77, "x", "k", "v"))
    replace("a broker that is not registered", (BROKER, NO_NODE, "log.cleaner.threads", "2"))
    same = (TOPIC, topic, "max.message.bytes", "3000")
    replace("twice", same, same)


@scenario("KIP-919 ControllerApis.handleDescribeConfigsRequest")
def controller_describe_configs(ask: ScenarioBuilder) -> None:
    """DescribeConfigs at a controller returns the properties of the controller, of topics and of groups."""
    topic = ask.topic(max_message_bytes=2000)
    keys = ("log.cleaner.threads", "process.roles", "node.id", "num.io.threads")

    def describe(case: str, *resources: Step, version: int = 4) -> None:
        body = {"resources": list(resources)} | ({"include_synonyms": True} if version else {})
        ask_it(ask, case, "DescribeConfigs", version, body)

    for version in ask.versions("DescribeConfigs"):
        describe(f"v{version} a topic", resource(TOPIC, topic, "max.message.bytes"), version=version)
    describe("every property of the topic", resource(TOPIC, topic, all_keys=True))
    describe("the controller", resource(BROKER, NODE, "num.io.threads", "node.id"))
    describe("all brokers", resource(BROKER, "", *keys))
    describe("another broker", resource(BROKER, NO_NODE, *keys))
    describe("not a number", resource(BROKER, "x", *keys))
    describe("an unknown topic", resource(TOPIC, ask.unknown_topic()))
    describe("a group", resource(GROUP, "g", "consumer.session.timeout.ms"))
    describe("the loggers of another broker", resource(LOGGER, NO_NODE))
    describe("an unknown type", resource(77, "x"))


@scenario("KIP-919 ControllerApis")
def controller_topics(ask: ScenarioBuilder) -> None:
    """CreateTopics, CreatePartitions, DeleteTopics, ElectLeaders and reassignments work at a controller."""
    name = ask.unique("t")
    wait = {"timeout_ms": 30_000}
    made = {"name": name, "num_partitions": 1, "replication_factor": 1}
    ask_it(ask, "created", "CreateTopics", 5, wait | {"topics": [made]})
    ask_it(ask, "created again", "CreateTopics", 5, wait | {"topics": [made]})
    ask_it(ask, "twice", "CreateTopics", 5, wait | {"topics": [made, made]})
    ask_it(
        ask, "too many replicas", "CreateTopics", 5, wait | {"topics": [made | {"name": "x", "replication_factor": 9}]}
    )
    more = wait | {"topics": [{"name": name, "count": 3, "assignments": None}], "validate_only": False}
    ask_it(ask, "grown", "CreatePartitions", 2, more)
    ask_it(ask, "grown again", "CreatePartitions", 2, more)
    elected = wait | {"election_type": 0, "topic_partitions": [{"topic": name, "partitions": [0, 7]}]}
    ask_it(ask, "elected", "ElectLeaders", 2, elected)
    moved = {
        "name": name,
        "partitions": [{"partition_index": 0, "replicas": [4711]}, {"partition_index": 1, "replicas": None}],
    }
    ask_it(ask, "reassigned", "AlterPartitionReassignments", 0, wait | {"topics": [moved]})
    ask_it(ask, "reassignments", "ListPartitionReassignments", 0, wait | {"topics": None})
    ask_it(ask, "deleted", "DeleteTopics", 5, wait | {"topic_names": [name]})
    ask_it(ask, "deleted again", "DeleteTopics", 5, wait | {"topic_names": [name]})


@scenario("KIP-919 ControllerApis AclApis")
def controller_security(ask: ScenarioBuilder) -> None:
    """A controller without security refuses ACLs and delegation tokens as brokers do, and stores SCRAM credentials."""
    acl = {
        "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:u", "host": "*",
        "operation": 3, "permission_type": 3,
    }  # fmt: skip
    wanted = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    ask_it(ask, "described ACLs", "DescribeAcls", 2, wanted)
    ask_it(ask, "created ACLs", "CreateAcls", 2, {"creations": [acl]})
    ask_it(ask, "deleted ACLs", "DeleteAcls", 2, {"filters": [wanted]})
    ask_it(ask, "created token", "CreateDelegationToken", 2, {"renewers": [], "max_lifetime_ms": -1})
    ask_it(ask, "renewed token", "RenewDelegationToken", 2, {"hmac": {"hex": "00"}, "renew_period_ms": 1})
    ask_it(ask, "expired token", "ExpireDelegationToken", 2, {"hmac": {"hex": "00"}, "expiry_time_period_ms": 1})
    upsertion = {"name": "controller-u", "mechanism": 1, "iterations": 4096, "salt": "s", "salted_password": "p"}
    deletion = {"name": "controller-u", "mechanism": 1}
    ask_it(ask, "SCRAM", "AlterUserScramCredentials", 0, {"upsertions": [upsertion], "deletions": []})
    ask_it(ask, "SCRAM deleted", "AlterUserScramCredentials", 0, {"upsertions": [], "deletions": [deletion]})
    ask_it(ask, "SCRAM deleted again", "AlterUserScramCredentials", 0, {"upsertions": [], "deletions": [deletion]})
    entity = [{"entity_type": "user", "entity_name": "controller-u"}]
    for value, remove in ((1000.0, False), (0.0, True)):
        op = {"key": "producer_byte_rate", "value": value, "remove": remove}
        body = {"entries": [{"entity": entity, "ops": [op]}], "validate_only": False}
        ask_it(ask, f"quota, removed: {remove}", "AlterClientQuotas", 1, body)


@scenario("KIP-853 KIP-919 ControllerApis ClusterControlManager")
def controller_nodes(ask: ScenarioBuilder) -> None:
    """A controller refuses changes of a quorum with static voters, and to unregister nodes that it does not know."""
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9999}
    good: Step = {"cluster_id": None, "voter_id": 7, "voter_directory_id": UNKNOWN_TOPIC_ID}
    zero = "00000000-0000-0000-0000-000000000000"
    for conn in ("controller", "main"):
        for case, voter, listeners in (
            ("a voter", good, [listener]),
            ("no directory id", good | {"voter_directory_id": zero}, [listener]),
            ("negative id", good | {"voter_id": -1}, [listener]),
            ("no listener", good, []),
            ("another listener", good, [listener | {"name": "X"}]),
            ("the controller", good | {"voter_id": 1}, [listener]),
            ("another cluster", good | {"cluster_id": "another", "voter_id": -1}, [listener]),
        ):
            added = voter | {"timeout_ms": 1000, "listeners": listeners}
            ask.request(f"add {case} at {conn}", "AddRaftVoter", 0, added, conn=conn)
            ask.request(f"remove {case} at {conn}", "RemoveRaftVoter", 0, voter, conn=conn)
        for broker_id in (4711, -1):
            ask.request(f"unregister {broker_id} at {conn}", "UnregisterBroker", 0, {"broker_id": broker_id}, conn=conn)


@scenario("ControllerRegistrationManager ClusterControlManager", KAFKA_4_4, UnregisterController=0)
def controller_unregistered(ask: ScenarioBuilder) -> None:
    """UnregisterController refuses unknown controllers and the active one."""
    for controller_id in (4711, 1):
        ask_it(ask, f"id {controller_id}", "UnregisterController", 0, {"controller_id": controller_id})
    ask.step("sleep", ms=1000)
    body = {"include_cluster_authorized_operations": False, "endpoint_type": 2}
    ask_it(ask, "the controller", "DescribeCluster", 1, body, part="brokers.0.broker_id")
    ask_it(ask, "as the leader", "DescribeCluster", 1, body, only=["controller_id"])


@scenario("KIP-584 FeatureControlManager.updateFeatures")
def controller_update_features(ask: ScenarioBuilder) -> None:
    """UpdateFeatures works at a controller, and ApiVersions at the controller and at a broker have the new level."""
    newest = ask.versions("UpdateFeatures")[-1]

    def update(case: str, name: str, level: int, kind: int, **more: Any) -> None:
        body = {"feature_updates": [{"feature": name, "max_version_level": level, "upgrade_type": kind}]} | more
        ask_it(ask, case, "UpdateFeatures", newest, body)

    def levels(case: str) -> None:
        ask.step("sleep", ms=500)
        for conn in ("controller", "main"):
            ask.request(f"{case} at {conn}", "ApiVersions", 3, CLIENT, only=["finalized_features"], conn=conn)

    levels("before")
    update("unknown", "nope", 1, 1)
    update("too high", "metadata.version", 9999, 1)
    if ask.release >= "4":
        update("down", "transaction.version", 1, 2)
        levels("down")
        update("up", "transaction.version", 2, 1)
    else:
        update("down", "metadata.version", 20, 2)
        levels("down")
        update("up", "metadata.version", 21, 1)
    levels("up")
