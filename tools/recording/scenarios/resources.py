"""Configurations of groups and client metrics subscriptions, ListConfigResources, and client telemetry."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder
from tools.recording.definitions import KAFKA_3_9, KAFKA_4_4, Scenarios

from .configurations import APPEND, DELETE, SET, SUBTRACT, alter, describe, resource, wait_for_config

scenario = Scenarios("configurations")

METRICS, GROUP = 16, 32
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def replace(ask: ScenarioBuilder, case: str, kind: int, name: str, *configs: tuple[str, str], **more: Any) -> None:
    given = [{"name": key, "value": value} for key, value in configs]
    body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": given}], "validate_only": False}
    ask.request(case, "AlterConfigs", 2, body | more)


@scenario("KIP-848 ConfigHelper.describeConfigs", KAFKA_3_9, level="detail")
def group_configs_before(ask: ScenarioBuilder) -> None:
    """Release 3.9 with its default group coordinator returns INVALID_REQUEST for the resource type of groups."""
    g = ask.unique("g")
    describe(ask, "all", resource(GROUP, g, all_keys=True))
    describe(ask, "no name", resource(GROUP, "", all_keys=True))
    alter(ask, "set", GROUP, g, (SESSION, SET, "50000"))
    alter(ask, "too little", GROUP, g, (SESSION, SET, "1"))
    alter(ask, "unknown", GROUP, g, ("nope", SET, "1"))
    alter(ask, "no name: set", GROUP, "", (SESSION, SET, "50000"))
    alter(ask, "appended", GROUP, g, (SESSION, APPEND, "50000"))
    alter(ask, "unknown operation", GROUP, g, (SESSION, 9, "50000"))
    alter(ask, "null", GROUP, g, (SESSION, SET, None))
    alter(ask, "removed", GROUP, g, (SESSION, DELETE, None))
    replace(ask, "replaced", GROUP, g, (HEARTBEAT, "6000"))
    replace(ask, "replaced by too little", GROUP, g, (HEARTBEAT, "1"))
    replace(ask, "no name: replaced", GROUP, "", (HEARTBEAT, "6000"))
    replace(ask, "replaced by nothing", GROUP, g)


@scenario("KIP-848 GroupConfig.validate ConfigHelper.createGroupConfigEntry", KAFKA_4_4)
def group_configs(ask: ScenarioBuilder) -> None:
    """Properties of a group can be set, replaced and described, and values outside of the limits of the broker fail
    with INVALID_CONFIG."""
    g, h = ask.unique("g"), ask.unique("h")
    for v in ask.versions("DescribeConfigs", 1):
        describe(ask, f"v{v}", resource(GROUP, g, all_keys=True), version=v)
    describe(ask, "by name", resource(GROUP, g, SESSION, "nope"))
    describe(ask, "no name", resource(GROUP, "", all_keys=True))
    alter(ask, "set", GROUP, g, (SESSION, SET, "50000"))
    wait_for_config(ask, GROUP, g, SESSION, "50000")
    describe(ask, "is set", resource(GROUP, g, SESSION, HEARTBEAT))
    for value in ("1", "44999", "60001", "x", "", "50000.5", "-1"):
        alter(ask, f"session {value!r}", GROUP, g, (SESSION, SET, value))
    for value in ("4999", "15001", "15000", "5000", "x"):
        alter(ask, f"heartbeat {value!r}", GROUP, g, (HEARTBEAT, SET, value))
    alter(ask, "unknown", GROUP, g, ("nope", SET, "1"))
    alter(ask, "unknown and known", GROUP, g, ("nope", SET, "1"), (SESSION, SET, "51000"))
    alter(ask, "unknown deleted", GROUP, g, ("nope", DELETE, None))
    alter(ask, "no name: set", GROUP, "", (SESSION, SET, "50000"))
    alter(ask, "only validated", GROUP, h, (SESSION, SET, "50000"), validate_only=True)
    alter(ask, "appended", GROUP, h, (SESSION, APPEND, "50000"))
    alter(ask, "subtracted", GROUP, h, (SESSION, SUBTRACT, "50000"))
    alter(ask, "unknown operation", GROUP, h, (SESSION, 9, "50000"))
    alter(ask, "unknown appended", GROUP, h, ("nope", APPEND, "50000"))
    alter(ask, "null", GROUP, h, (SESSION, SET, None))
    alter(ask, "twice", GROUP, h, (SESSION, SET, "50000"), (SESSION, SET, "50000"))
    describe(ask, "not set", resource(GROUP, h, SESSION))
    replace(ask, "replaced", GROUP, g, (HEARTBEAT, "6000"))
    wait_for_config(ask, GROUP, g, SESSION, "45000")
    describe(ask, "is replaced", resource(GROUP, g, SESSION, HEARTBEAT))
    replace(ask, "replaced by too little", GROUP, g, (HEARTBEAT, "1"))
    replace(ask, "replaced by what is unknown", GROUP, g, ("nope", "1"))
    replace(ask, "no name: replaced", GROUP, "", (HEARTBEAT, "6000"))
    alter(ask, "removed", GROUP, g, (HEARTBEAT, DELETE, None))
    wait_for_config(ask, GROUP, g, HEARTBEAT, "5000")


@scenario("KIP-932 KIP-1071 GroupConfig.validate", KAFKA_4_4, level="detail")
def group_configs_later(ask: ScenarioBuilder) -> None:
    """Release 4.4 validates the group properties of share and streams groups against the limits of the broker and
    returns INVALID_CONFIG outside of them."""
    g = ask.unique("g")
    for name, values in (
        ("share.session.timeout.ms", ("44999", "50000")),
        ("share.heartbeat.interval.ms", ("4999", "6000")),
        ("share.record.lock.duration.ms", ("3", "999", "14999", "20000", "70000")),
        ("share.delivery.count.limit", ("1", "2", "7", "11")),
        ("share.partition.max.record.locks", ("1", "99", "500", "10001")),
        ("share.auto.offset.reset", ("nope", "earliest", "by_duration:PT1H", "by_duration:x", "none")),
        ("share.isolation.level", ("nope", "read_committed", "READ_COMMITTED")),
        ("share.renew.acknowledge.enable", ("x", "false", "TRUE")),
        ("consumer.assignment.interval.ms", ("-1", "500", "20000")),
        ("share.assignment.interval.ms", ("-1", "500", "20000")),
        ("streams.assignment.interval.ms", ("-1", "500", "20000")),
        ("streams.session.timeout.ms", ("44999", "50000")),
        ("streams.heartbeat.interval.ms", ("4999", "6000")),
        ("streams.num.standby.replicas", ("-1", "1", "3")),
        ("streams.initial.rebalance.delay.ms", ("-1", "100")),
        ("streams.assignor.name", ("nope", "sticky")),
        ("streams.rack.aware.assignment.tags", ("a,b", "")),
        ("errors.deadletterqueue.topic.name", ("a b", "dlq")),
        ("errors.deadletterqueue.copy.record.enable", ("x", "true")),
    ):
        for value in values:
            alter(ask, f"{name} {value!r}", GROUP, g, (name, SET, value))
    alter(ask, "session below heartbeat", GROUP, g, (SESSION, SET, "45000"), (HEARTBEAT, SET, "15000"))
    replace(ask, "nothing", GROUP, g)


@scenario("KIP-714 ClientMetricsConfigs.validate", area="telemetry")
def client_metrics_configs(ask: ScenarioBuilder) -> None:
    """Client metrics subscriptions can be set, replaced and described, and invalid intervals and match patterns are
    rejected."""
    m = ask.unique("m")
    for v in ask.versions("DescribeConfigs", 1):
        describe(ask, f"v{v}", resource(METRICS, m, all_keys=True), version=v)
    describe(ask, "by name", resource(METRICS, m, "interval.ms", "nope"))
    describe(ask, "no name", resource(METRICS, "", all_keys=True))
    for name, value in (
        ("interval.ms", "99"),
        ("interval.ms", "3600001"),
        ("interval.ms", "x"),
        ("interval.ms", ""),
        ("metrics", "org.a,org.b"),
        ("metrics", ""),
        ("metrics", "*"),
        ("match", "client_id=a.*,client_software_name=x"),
        ("match", "client_id"),
        ("match", "client_id=a=b"),
        ("match", "nope=1"),
        ("match", "client_id=["),
        ("match", "client_id=a,,client_id=b"),
        ("match", " client_id = a , client_software_name = b"),
        ("match", "client_source_port=1,client_software_version=2,client_source_address=3,client_instance_id=4"),
        ("match", ""),
        ("nope", "1"),
    ):
        alter(ask, f"{name} {value!r}", METRICS, m, (name, SET, value))
    alter(ask, "no name: set", METRICS, "", ("interval.ms", SET, "1000"))
    alter(ask, "appended", METRICS, m, ("metrics", APPEND, "org.c"))
    alter(ask, "subtracted", METRICS, m, ("metrics", SUBTRACT, "org.a"))
    alter(ask, "unknown operation", METRICS, m, ("metrics", 5, "org.a"))
    alter(ask, "only validated", METRICS, m, ("interval.ms", SET, "5000"), validate_only=True)
    alter(ask, "unknown deleted", METRICS, m, ("nope", DELETE, None))
    alter(ask, "two", METRICS, m, ("interval.ms", SET, "1000"), ("metrics", SET, "org.a,org.b"))
    wait_for_config(ask, METRICS, m, "interval.ms", "1000")
    describe(ask, "is set", resource(METRICS, m, all_keys=True))
    replace(ask, "replaced", METRICS, m, ("interval.ms", "200"))
    wait_for_config(ask, METRICS, m, "interval.ms", "200")
    describe(ask, "is replaced", resource(METRICS, m, all_keys=True))
    replace(ask, "replaced by too little", METRICS, m, ("interval.ms", "2"))
    replace(ask, "replaced by what is unknown", METRICS, m, ("nope", "2"))
    alter(ask, "removed", METRICS, m, ("interval.ms", DELETE, None))
    ask.step("sleep", ms=500)
    describe(ask, "is removed", resource(METRICS, m, all_keys=True))


@scenario("KIP-1142 KafkaApis.handleListClientMetricsResources")
def list_config_resources(ask: ScenarioBuilder) -> None:
    """ListConfigResources lists the resources with a configuration by type, and returns UNSUPPORTED_VERSION for types
    that its version does not support."""
    g, m = ask.unique("g"), ask.unique("m")
    t = ask.topic()
    has_groups = ask.release >= "4"
    if has_groups:
        alter(ask, "group", GROUP, g, (SESSION, SET, "50000"))
        wait_for_config(ask, GROUP, g, SESSION, "50000")
    alter(ask, "metrics", METRICS, m, ("interval.ms", SET, "1000"))
    wait_for_config(ask, METRICS, m, "interval.ms", "1000")
    ask.request("v0", "ListConfigResources", 0, {}, keep={"config_resources": "resource_name"})
    for v in ask.versions("ListConfigResources", 1):
        keep = {"config_resources": "resource_name"}
        ask.request("all", "ListConfigResources", v, {"resource_types": []}, keep=keep)
        for types in ([2], [4], [8], [16], [32], [16, 32], [32, 2, 16], [4, 8], [8, 4, 8]):
            mine = {} if types[0] in (4, 8) else {"keep": keep}
            ask.request(f"types {types}", "ListConfigResources", v, {"resource_types": types}, **mine)
        for types in ([99], [0], [1], [64], [-1], [16, 99]):
            ask.request(f"types {types}", "ListConfigResources", v, {"resource_types": types})
    describe(ask, "the topic", resource(2, t, "retention.ms"))
    if has_groups:
        alter(ask, "no group", GROUP, g, (SESSION, DELETE, None))
    alter(ask, "no metrics", METRICS, m, ("interval.ms", DELETE, None))


@scenario(
    "KIP-714 ClientMetricsManager.processGetTelemetrySubscriptionRequest "
    "ClientMetricsManager.processPushTelemetryRequest",
    area="telemetry",
)
def telemetry(ask: ScenarioBuilder) -> None:
    """A broker assigns a client instance id and a subscription, returns THROTTLING_QUOTA_EXCEEDED to early requests,
    and rejects pushes with an unknown subscription or codec."""
    m = ask.unique("m")
    bind = {"c": "client_instance_id", "Nsub": "subscription_id"}
    only = {"only": ["error_code", "client_instance_id", "push_interval_ms", "telemetry_max_bytes"]}
    only["only"] += ["accepted_compression_types", "delta_temporality", "requested_metrics"]
    ask.request("a new client", "GetTelemetrySubscriptions", 0, {"client_instance_id": "ZERO"}, bind=bind, **only)
    ask.request("at once again", "GetTelemetrySubscriptions", 0, {"client_instance_id": "$c"}, **only)
    push = {"client_instance_id": "$c", "subscription_id": "$Nsub", "terminating": False, "metrics": ""}
    ask.request("push", "PushTelemetry", 0, push)
    ask.request("push at once again", "PushTelemetry", 0, push)
    ask.request("push without an id", "PushTelemetry", 0, push | {"client_instance_id": "ZERO"})
    for name, value in (("metrics", "org.apache.a"), ("interval.ms", "100")):
        alter(ask, f"subscribe {name}", METRICS, m, (name, SET, value))
    wait_for_config(ask, METRICS, m, "interval.ms", "100")
    new = {"client_instance_id": "ZERO"}
    ask.request("a subscribed client", "GetTelemetrySubscriptions", 0, new, bind=bind, **only)
    for case, more in (
        ("push an unknown subscription", {"subscription_id": 1}),
        ("push an unknown compression", {"compression_type": 9}),
        ("push nothing", {}),
        ("push what is no metrics", {"metrics": "xxxx"}),
        ("push the last time", {"terminating": True}),
        ("push after the last time", {"terminating": True}),
        ("push after the last time, not terminating", {}),
    ):
        ask.step("sleep", ms=150)
        ask.request(case, "PushTelemetry", 0, push | more)
    replace(ask, "no subscription", METRICS, m)


@scenario("KIP-714 ClientMetricsManager", area="telemetry")
def telemetry_too_large(ask: ScenarioBuilder) -> None:
    """PushTelemetry refuses metrics that are larger than telemetry.max.bytes with TELEMETRY_TOO_LARGE."""
    ask.setup("GetTelemetrySubscriptions", 0, {"client_instance_id": "ZERO"}, must_succeed=False)
    ask.steps[-1]["bind"] = {"client": "client_instance_id", "Nsub": "subscription_id"}
    body: dict[str, Any] = {"client_instance_id": "$client", "subscription_id": "$Nsub", "terminating": False}
    large = body | {"compression_type": 0, "metrics": {"fill": "m", "size": (1 << 20) + 1}}
    ask.request("one byte too many", "PushTelemetry", 0, large)
