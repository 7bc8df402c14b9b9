"""Configurations of share groups (KIP-932), of groups and of the broker."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from kafkalet_conformance.shares import ACCEPT, GROUP_RESOURCE, M, Reader, Share, of
from tools.recording.definitions import SHARE_GROUPS, Scenarios

from .configurations import DELETE, SET, alter, describe, resource, wait_for_config
from .features import SAFE, UPGRADE, change, finalized

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareFetch=1)

VALUES = {
    "share.auto.offset.reset": ("earliest", "LATEST", "by_duration:PT5M", "by_duration:-PT5M", "by_duration:", "none"),
    "share.isolation.level": ("read_committed", "READ_COMMITTED", "serializable", ""),
    "share.record.lock.duration.ms": ("15000", "60000", "14999", "60001", "0", "long"),
    "share.delivery.count.limit": ("2", "10", "1", "11", "-1", "2147483648"),
    "share.partition.max.record.locks": ("100", "4000", "99", "4001"),
    "share.heartbeat.interval.ms": ("5000", "15000", "4999", "15001"),
    "share.session.timeout.ms": ("45000", "60000", "44999", "60001"),
    "share.renew.acknowledge.enable": ("false", "TRUE", "maybe"),
}
"""Values of properties of groups, which are valid or not."""


@scenario("KIP-932 GroupConfig", level="must")
def share_group_configs(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs sets the share properties of a group within the limits of the broker."""
    g = ask.unique("g")
    for key, values in VALUES.items():
        for value in values:
            alter(ask, f"{key}={value or 'nothing'}", GROUP_RESOURCE, g, (key, SET, value))
        alter(ask, f"{key} is removed", GROUP_RESOURCE, g, (key, DELETE, None))
    alter(ask, "heartbeats as rare as the timeout", GROUP_RESOURCE, g, ("share.heartbeat.interval.ms", SET, "45000"))
    good = ("share.delivery.count.limit", SET, "3")
    alter(ask, "a good one and a bad one", GROUP_RESOURCE, g, good, ("share.isolation.level", SET, "x"))
    describe(ask, "neither is set", resource(GROUP_RESOURCE, g, "share.delivery.count.limit", "share.isolation.level"))
    alter(ask, "unknown", GROUP_RESOURCE, g, ("share.unknown", SET, "1"))


@scenario("KIP-932 GroupConfig")
def share_group_configs_described(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns the share properties of a group with their defaults, which are those of the broker."""
    g = ask.unique("g")
    describe(ask, "defaults", resource(GROUP_RESOURCE, g, *VALUES))
    alter(ask, "set", GROUP_RESOURCE, g, ("share.delivery.count.limit", SET, "7"))
    wait_for_config(ask, GROUP_RESOURCE, g, "share.delivery.count.limit", "7")
    for version in ask.versions("DescribeConfigs", 1):
        describe(ask, f"v{version}: one is set", resource(GROUP_RESOURCE, g, *VALUES), version=version)
    alter(ask, "removed", GROUP_RESOURCE, g, ("share.delivery.count.limit", DELETE, None))
    wait_for_config(ask, GROUP_RESOURCE, g, "share.delivery.count.limit", "5")
    describe(ask, "all properties", resource(GROUP_RESOURCE, g, all_keys=True))
    described = {"resources": [resource(GROUP_RESOURCE, g, *VALUES)], "include_documentation": True}
    ask.request("types", "DescribeConfigs", 4, described | {"include_documentation": False})


BROKER_KEYS = (
    *("group.share.delivery.count.limit", "group.share.partition.max.record.locks"),
    *("group.share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms"),
    *("group.share.max.record.lock.duration.ms", "group.share.session.timeout.ms"),
    *("group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms", "group.share.max.size"),
    *("group.share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms"),
    *("group.share.max.heartbeat.interval.ms", "group.share.max.share.sessions", "group.share.assignors"),
    *("group.share.persister.class.name", "group.share.assignment.interval.ms", "group.share.min.delivery.count.limit"),
    *("group.share.max.delivery.count.limit", "share.coordinator.state.topic.num.partitions"),
    *("share.coordinator.snapshot.update.records.per.snapshot", "share.coordinator.append.linger.ms"),
    *("share.coordinator.state.topic.compression.codec", "share.coordinator.cold.partition.snapshot.interval.ms"),
    *("share.coordinator.write.timeout.ms", "share.fetch.purgatory.purge.interval.requests"),
    *("share.coordinator.state.topic.prune.interval.ms", "group.share.dlq.manager.class.name"),
    *("errors.deadletterqueue.auto.create.topics.enable", "errors.deadletterqueue.topic.name.prefix"),
)


@scenario("KIP-932 ShareGroupConfig")
def share_broker_configs(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns the properties of a broker for share groups and their coordinators, with defaults."""
    describe(ask, "properties of the broker", resource(4, "1", *BROKER_KEYS))


@scenario("KIP-932 GroupConfig")
def share_group_configs_of_any_group(ask: ScenarioBuilder) -> None:
    """The properties of a group can be set before it exists, whatever its name is, and are listed then."""
    g = ask.unique("g")
    alter(ask, "a group that does not exist", GROUP_RESOURCE, g, ("share.delivery.count.limit", SET, "4"))
    wait_for_config(ask, GROUP_RESOURCE, g, "share.delivery.count.limit", "4")
    alter(ask, "a group without name", GROUP_RESOURCE, "", ("share.delivery.count.limit", SET, "4"))
    describe(ask, "a group without name", resource(GROUP_RESOURCE, "", "share.delivery.count.limit"))
    alter(ask, "validate only", GROUP_RESOURCE, g, ("share.delivery.count.limit", SET, "6"), validate_only=True)
    describe(ask, "as before", resource(GROUP_RESOURCE, g, "share.delivery.count.limit"))


@scenario("KIP-932 KIP-584 KafkaApis GroupCoordinatorService")
def share_version_off(ask: ScenarioBuilder) -> None:
    """While share.version is 0, requests of share groups return UNSUPPORTED_VERSION; afterwards, the group continues
    where it was.
    """
    highest = 2 if ask.release >= "4.4" else 1
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("accept one", of("$t.id", (0, 0, ACCEPT)))
    change(ask, "off", 2, ("share.version", 0, SAFE))
    finalized(ask, "features without share groups")
    ask.until("ShareGroupHeartbeat", 1, group.beating(M, 0, t), "error_code", 35)
    state = group.state("$t.id")
    asked = {"groups": [{"group_id": group.id, "topics": [{"topic_name": t, "partitions": [0]}]}]}
    offsets = [{"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
    accepted = {"group_id": group.id, "member_id": M, "share_session_epoch": 2, "topics": [of("$t.id", (1, 1, ACCEPT))]}
    sent: dict[str, Step] = {
        "ShareGroupHeartbeat": group.beating(M, 0, t),
        "ShareGroupDescribe": {"group_ids": [group.id]},
        "ShareFetch": group.fetching(M, 2, max_wait_ms=0),
        "ShareAcknowledge": accepted,
        "DescribeShareGroupOffsets": asked,
        "AlterShareGroupOffsets": {"group_id": group.id, "topics": offsets},
        "DeleteShareGroupOffsets": {"group_id": group.id, "topics": [{"topic_name": t}]},
        "ReadShareGroupState": state,
        "ReadShareGroupStateSummary": state,
    }
    for api, body in sent.items():
        ask.each_version(api, {f"off: {api} v#": body})
    ask.request("off: list", "ListGroups", 5, {"types_filter": ["share"]}, keep={"groups": "group_id"})
    key = {"key_type": 2, "coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAQ:0"]}
    ask.request("off: find a coordinator", "FindCoordinator", 6, key)
    change(ask, "on", 2, ("share.version", highest, UPGRADE))
    finalized(ask, "features with share groups")
    ask.until("ShareGroupHeartbeat", 1, group.beating(M, 0, t), "error_code", 0)
    Reader(group, conn="again").fetch("on: what was not accepted", of("$t.id"))
