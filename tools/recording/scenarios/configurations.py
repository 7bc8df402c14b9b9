"""Configurations: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import Scenarios

scenario = Scenarios("configurations")

TOPIC, BROKER, LOGGER = 2, 4, 8
NODE = "1"  # the resource name of the broker, the first of the cluster
SET, DELETE, APPEND, SUBTRACT = range(4)


def resource(kind: int, name: str, *keys: str, all_keys: bool = False) -> Step:
    return {"resource_type": kind, "resource_name": name, "configuration_keys": None if all_keys else list(keys)}


def describe(ask: ScenarioBuilder, case: str, *resources: Step, version: int = 4, **body: Any) -> None:
    given = {"resources": list(resources), "include_synonyms": True} if version else {"resources": list(resources)}
    ask.request(case, "DescribeConfigs", version, given | body)


def alter(
    ask: ScenarioBuilder, case: str, kind: int, name: str, *configs: tuple[str, int, str | None], **more: Any
) -> None:
    version = more.pop("version", 1)
    given = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in configs]
    body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": given}], "validate_only": False}
    ask.request(case, "IncrementalAlterConfigs", version, body | more)


def wait_for_config(ask: ScenarioBuilder, kind: int, name: str, key: str, value: str) -> None:
    """Wait until the broker has applied a change."""
    body = {"resources": [resource(kind, name, key)]}
    ask.until("DescribeConfigs", 1, body, "results.0.configs.0.value", value)


@scenario("KIP-133 KIP-226 ConfigHelper.describeConfigs")
def describe_topic_configs(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns all properties of a topic in every version, with their sources and synonyms as the
    version allows."""
    made = ask.unique("t")
    given = [
        {"name": "retention.ms", "value": "1000"},
        {"name": "cleanup.policy", "value": "compact, delete"},
        {"name": "preallocate", "value": "FALSE"},
        {"name": "min.cleanable.dirty.ratio", "value": ".5"},
    ]
    topic = {"name": made, "num_partitions": 1, "replication_factor": 1, "configs": given}
    ask.setup("CreateTopics", 5, {"topics": [topic]})
    ask.wait_for_leader(made)
    for version in ask.versions("DescribeConfigs"):
        describe(ask, f"v{version}", resource(TOPIC, made, all_keys=True), version=version)
    describe(ask, "without synonyms", resource(TOPIC, made, all_keys=True), include_synonyms=False)


@scenario("KIP-133 ConfigHelper.describeConfigs")
def describe_configs_keys(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns only the properties that the request names, leaves out unknown names, and returns an
    error for each unknown or illegal topic."""
    t, n = ask.topic("t"), ask.unknown_topic()
    describe(ask, "two", resource(TOPIC, t, "retention.ms", "segment.ms"))
    describe(ask, "one twice", resource(TOPIC, t, "retention.ms", "retention.ms"))
    describe(ask, "an unknown one", resource(TOPIC, t, "retention.mss"))
    describe(ask, "one of brokers", resource(TOPIC, t, "log.retention.ms"))
    describe(ask, "an unknown topic", resource(TOPIC, n, "retention.ms"))
    describe(ask, "an illegal topic", resource(TOPIC, "a b", "retention.ms"))
    describe(ask, "an empty topic name", resource(TOPIC, "", "retention.ms"))
    describe(ask, "several resources", resource(TOPIC, t, "retention.ms"), resource(TOPIC, n, "retention.ms"))
    describe(ask, "a resource twice", resource(TOPIC, t, "retention.ms"), resource(TOPIC, t, "segment.ms"))
    describe(ask, "nothing")


@scenario("KIP-226 ConfigHelper.createBrokerConfigEntry")
def describe_broker_configs(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns properties of a broker with their synonyms, and INVALID_REQUEST for another broker id or
    resource type."""
    b = NODE
    keys = (
        *("log.retention.hours", "log.retention.ms", "log.retention.minutes", "log.segment.bytes"),
        *("message.max.bytes", "compression.type", "log.roll.ms", "log.roll.hours", "log.flush.interval.ms"),
        *("fetch.max.bytes", "max.connections", "ssl.keystore.password", "num.io.threads", "broker.rack"),
        *("log.cleanup.policy", "unclean.leader.election.enable", "producer.id.expiration.ms", "log.preallocate"),
    )
    for version in ask.versions("DescribeConfigs", 1):
        describe(ask, f"v{version}", resource(BROKER, b, *keys), version=version)
    describe(ask, "no such name", resource(BROKER, b, "no.such.name"))
    describe(ask, "cluster-wide", resource(BROKER, "", all_keys=True))
    describe(ask, "cluster-wide, by name", resource(BROKER, "", "num.partitions", "max.connections"))
    describe(ask, "another broker", resource(BROKER, "77", "num.partitions"))
    describe(ask, "no number", resource(BROKER, "one", "num.partitions"))
    describe(ask, "type 0", resource(0, "x"))
    describe(ask, "type 1", resource(1, "x"))
    describe(ask, "type 99", resource(99, "x"))
    describe(ask, "loggers of no broker", resource(LOGGER, "", "x"))
    describe(ask, "loggers of another broker", resource(LOGGER, "77", "x"))
    describe(ask, "an unknown logger", resource(LOGGER, b, "no.such.logger"))


@scenario("KIP-339 ConfigurationControlManager.incrementalAlterConfigs", level="must")
def incremental_topic(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs sets, deletes, appends to and subtracts from single properties of a topic, and rejects
    invalid values and operations."""
    t = ask.topic("t")
    for version in ask.versions("IncrementalAlterConfigs"):
        alter(ask, f"set v{version}", TOPIC, t, ("retention.ms", SET, str(1000 + version)), version=version)
        wait_for_config(ask, TOPIC, t, "retention.ms", str(1000 + version))
    describe(ask, "as set", resource(TOPIC, t, "retention.ms"))
    alter(ask, "delete", TOPIC, t, ("retention.ms", DELETE, None))
    wait_for_config(ask, TOPIC, t, "retention.ms", "604800000")
    describe(ask, "as deleted", resource(TOPIC, t, "retention.ms"))
    alter(ask, "delete what is not set", TOPIC, t, ("retention.bytes", DELETE, None))
    alter(ask, "append to a default", TOPIC, t, ("cleanup.policy", APPEND, "compact"))
    wait_for_config(ask, TOPIC, t, "cleanup.policy", "delete,compact")
    alter(ask, "append what is there", TOPIC, t, ("cleanup.policy", APPEND, "compact"))
    alter(ask, "subtract", TOPIC, t, ("cleanup.policy", SUBTRACT, "delete"))
    wait_for_config(ask, TOPIC, t, "cleanup.policy", "compact" if ask.release >= "3.3" else "compact,compact")
    alter(ask, "subtract what is not there", TOPIC, t, ("cleanup.policy", SUBTRACT, "delete"))
    alter(ask, "append a bad word", TOPIC, t, ("cleanup.policy", APPEND, "shrink"))
    alter(ask, "append to a number", TOPIC, t, ("retention.ms", APPEND, "5"))
    alter(ask, "subtract from a number", TOPIC, t, ("retention.ms", SUBTRACT, "5"))
    alter(ask, "append null", TOPIC, t, ("cleanup.policy", APPEND, None))
    alter(ask, "a bad operation", TOPIC, t, ("cleanup.policy", 9, "compact"))
    alter(ask, "set and delete the same", TOPIC, t, ("retention.ms", SET, "5"), ("retention.ms", DELETE, None))
    alter(ask, "a good and a bad one", TOPIC, t, ("retention.ms", SET, "5"), ("segment.ms", SET, "soon"))
    describe(ask, "neither counts", resource(TOPIC, t, "retention.ms", "segment.ms"))
    alter(ask, "an unknown name", TOPIC, t, ("retention.mss", SET, "5"))
    alter(ask, "delete an unknown name", TOPIC, t, ("retention.mss", DELETE, None))
    alter(ask, "null", TOPIC, t, ("retention.ms", SET, None))
    alter(ask, "spaces", TOPIC, t, ("retention.ms", SET, " 7 "))
    describe(ask, "spaces as set", resource(TOPIC, t, "retention.ms"))
    alter(ask, "nothing", TOPIC, t)
    alter(ask, "validate only", TOPIC, t, ("retention.ms", SET, "8"), validate_only=True)
    alter(ask, "validate only, bad", TOPIC, t, ("retention.ms", SET, "soon"), validate_only=True)
    describe(ask, "as before", resource(TOPIC, t, "retention.ms"))


@scenario("KIP-339 ConfigurationControlManager.incrementalAlterConfigs")
def incremental_resources(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs handles each resource separately, with errors for unknown topics, illegal names, unknown
    types and repeated resources."""
    t, n = ask.topic("t"), ask.unknown_topic()
    change = ("retention.ms", SET, "5")
    alter(ask, "an unknown topic", TOPIC, n, change)
    alter(ask, "an unknown topic, a bad value", TOPIC, n, ("retention.ms", SET, "soon"))
    alter(ask, "an illegal topic", TOPIC, "a b", change)
    alter(ask, "an empty topic name", TOPIC, "", change)
    for kind in (0, 1, 3, 99):
        alter(ask, f"type {kind}", kind, "x", change)
    given = [{"name": "retention.ms", "config_operation": SET, "value": "5"}]
    one = {"resource_type": TOPIC, "resource_name": t, "configs": given}
    other = {"resource_type": TOPIC, "resource_name": n, "configs": given}
    both = {"resources": [one, other], "validate_only": True}
    ask.request("a known and an unknown topic", "IncrementalAlterConfigs", 1, both)
    twice = {"resources": [one, one, other], "validate_only": True}
    ask.request("a resource twice", "IncrementalAlterConfigs", 1, twice)
    ask.request("no resources", "IncrementalAlterConfigs", 1, {"resources": [], "validate_only": False})


@scenario("KIP-226 KIP-339 DynamicBrokerConfig")
def incremental_broker(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs changes dynamic properties of one broker or of all brokers, and the value of the single
    broker takes precedence."""
    b = NODE
    key, more = "log.cleaner.backoff.ms", "message.max.bytes"
    alter(ask, "one broker", BROKER, b, (key, SET, "20001"))
    wait_for_config(ask, BROKER, b, key, "20001")
    alter(ask, "all brokers", BROKER, "", (key, SET, "20002"), (more, SET, "1048600"))
    body = {"resources": [resource(BROKER, "", key)]}
    ask.until("DescribeConfigs", 1, body, "results.0.configs.0.value", "20002")
    wait_for_config(ask, BROKER, b, more, "1048600")
    describe(ask, "the broker", resource(BROKER, b, key, more))
    describe(ask, "all brokers described", resource(BROKER, "", key, more))
    t = ask.topic("t")
    describe(ask, "a topic", resource(TOPIC, t, "max.message.bytes"))
    alter(ask, "delete for one", BROKER, b, (key, DELETE, None))
    wait_for_config(ask, BROKER, b, key, "20002")
    describe(ask, "the broker again", resource(BROKER, b, key))
    alter(ask, "delete for all", BROKER, "", (key, DELETE, None), (more, DELETE, None))
    wait_for_config(ask, BROKER, b, key, "15000")
    wait_for_config(ask, BROKER, b, more, "1048588")
    describe(ask, "the broker at last", resource(BROKER, b, key, more))


@scenario("KIP-226 KIP-339 DynamicBrokerConfig.validate")
def incremental_broker_errors(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs returns INVALID_REQUEST for read-only properties and invalid values of a broker, and
    INVALID_CONFIG for appending to a property that is not a list."""
    b = NODE
    for name in (b, ""):
        where = "one" if name else "all"
        alter(ask, f"{where}: read-only", BROKER, name, ("num.partitions", SET, "5"))
        alter(ask, f"{where}: unknown", BROKER, name, ("no.such.name", SET, "5"), validate_only=True)
        alter(ask, f"{where}: a bad value", BROKER, name, ("max.connections", SET, "many"))
        alter(ask, f"{where}: out of range", BROKER, name, ("max.connections", SET, "-1"))
        alter(ask, f"{where}: a per-broker one", BROKER, name, ("ssl.keystore.type", SET, "PEM"), validate_only=True)
        alter(ask, f"{where}: null", BROKER, name, ("max.connections", SET, None))
        alter(ask, f"{where}: append to a number", BROKER, name, ("max.connections", APPEND, "5"))
        alter(ask, f"{where}: append to an unknown", BROKER, name, ("no.such.name", APPEND, "5"))
        alter(ask, f"{where}: a list", BROKER, name, ("log.cleanup.policy", APPEND, "compact"), validate_only=True)
        alter(ask, f"{where}: a bad operation", BROKER, name, ("max.connections", 9, "5"))
        alter(ask, f"{where}: nothing", BROKER, name)
    for operation, value in ((SET, "2"), (DELETE, None), (SET, "x")):
        for name in (b, ""):
            change = ("min.insync.replicas", operation, value)
            alter(ask, f"min.insync.replicas {operation} {value} of {name!r}", BROKER, name, change, validate_only=True)
    alter(ask, "another broker", BROKER, "77", ("max.connections", SET, "5"))
    alter(ask, "no number", BROKER, "one", ("max.connections", SET, "5"))
    alter(ask, "a negative broker", BROKER, "-1", ("max.connections", SET, "5"))


@scenario("KIP-133 ConfigurationControlManager.legacyAlterConfigs")
def alter_configs_whole(ask: ScenarioBuilder) -> None:
    """AlterConfigs replaces all properties of a resource, so that properties that the request does not name return to
    their defaults."""
    t, n = ask.topic("t"), ask.unknown_topic()

    def whole(case: str, kind: int, name: str, *configs: tuple[str, str | None], version: int = 1, **more: Any) -> None:
        given = [{"name": key, "value": value} for key, value in configs]
        body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": given}]}
        ask.request(case, "AlterConfigs", version, body | {"validate_only": False} | more)

    for version in ask.versions("AlterConfigs"):
        whole(f"v{version}", TOPIC, t, ("segment.ms", str(60000 + version)), version=version)
        wait_for_config(ask, TOPIC, t, "segment.ms", str(60000 + version))
    describe(ask, "the rest is gone", resource(TOPIC, t, "retention.ms", "segment.ms"))
    whole("validate only", TOPIC, t, ("retention.ms", "5"), validate_only=True)
    whole("a bad value", TOPIC, t, ("retention.ms", "soon"))
    whole("an unknown name", TOPIC, t, ("retention.mss", "5"))
    whole("null", TOPIC, t, ("retention.ms", None))
    whole("one twice", TOPIC, t, ("retention.ms", "5"), ("retention.ms", "6"))
    describe(ask, "as before", resource(TOPIC, t, "retention.ms", "segment.ms"))
    whole("an unknown topic", TOPIC, n, ("retention.ms", "5"))
    whole("an illegal topic", TOPIC, "a b", ("retention.ms", "5"))
    whole("an empty topic name", TOPIC, "", ("retention.ms", "5"))
    for kind in (0, 1, 8, 99):
        whole(f"type {kind}", kind, "x", ("retention.ms", "5"))
    whole("another broker", BROKER, "77", ("max.connections", "5"))
    whole("a read-only one of a broker", BROKER, "1", ("num.partitions", "5"))
    whole("a bad value of a broker", BROKER, "1", ("max.connections", "many"))
    whole("nothing at all", TOPIC, t)
    wait_for_config(ask, TOPIC, t, "segment.ms", "604800000")
    describe(ask, "everything is gone", resource(TOPIC, t, "retention.ms", "segment.ms"))
