"""More consumer groups: subscriptions to patterns, group configurations, and members with expired sessions."""

from functools import partial

from kafkalet.conformance.building import ScenarioBuilder, protocols
from tools.recording.definitions import EVERY_RELEASE, KAFKA_4_4, define

from .classic_groups import Classic
from .consumer_groups import A, B, C, Consumers
from .consumer_migration import Mixed, assignment

scenario = partial(define, "consumer_groups_kip848", releases=KAFKA_4_4, ConsumerGroupHeartbeat=1)

NONE = {"subscribed_topic_names": None}


@scenario("KIP-848 GroupMetadataManager.consumerGroupHeartbeat")
def consumer_group_patterns(ask: ScenarioBuilder) -> None:
    """Members of a group can use several patterns and share one, internal topics match patterns too, and patterns with
    back references or look-behind are invalid."""
    t, u = ask.topic("x.t", 2), ask.topic("y.u", 1)
    first = ask.let("first", f"c<unique>.{ask.name}.x.*")
    second = ask.let("second", f"c<unique>.{ask.name}.[xy].*")
    group = Consumers(ask)
    body = {"group_ids": [group.id], "include_authorized_operations": False}
    group.join("by the first pattern", A, subscribed_topic_regex=first, server_assignor="range", **NONE)
    ask.until("ConsumerGroupDescribe", 1, body, "groups.0.group_epoch", 3)
    group.describe("after the first")
    group.beat("the first, again", A, 2)
    group.beat("it holds what it should", A, 3, held={t: (0, 1)})
    group.join("by the second pattern", B, subscribed_topic_regex=second, server_assignor="range", **NONE)
    group.describe("after the second, which is not looked up at once")
    group.beat("the second, again", B, 3)
    ask.until("ConsumerGroupHeartbeat", 1, group.beating(B, 3), "member_epoch", 4)
    ask.steps[-1]["timeout_ms"] = 30000
    group.describe("after the second was looked up")
    group.join("by the same pattern as the second", C, u, subscribed_topic_regex=second, server_assignor="range")
    group.describe("after the third")
    group.leave("the second leaves", B)
    group.describe("after the second left")
    group.leave("the third leaves", C)
    group.describe("after the third left")
    odd = Consumers(ask, "odd")
    body = {"group_ids": [odd.id], "include_authorized_operations": False}
    odd.join("a pattern for internal topics", A, subscribed_topic_regex="__consumer_off.*", **NONE)
    ask.step("sleep", ms=200)
    odd.beat("its next heartbeat", A, 1)
    odd.beat("its next heartbeat in epoch 2", A, 2)
    odd.describe("a pattern for internal topics, described")
    for name, pattern in {
        "unclosed": "(",
        "look-behind": "(?<=a)b",
        "back reference": "(a)\\1",
        "quantifier": "*",
    }.items():
        made = Consumers(ask, name.replace(" ", "_").replace("-", "_"))
        made.join(f"a pattern: {name}", A, subscribed_topic_regex=pattern, **NONE)


@scenario("KIP-848 GroupConfig GroupMetadataManager.consumerGroupHeartbeatIntervalMs")
def consumer_group_config(ask: ScenarioBuilder) -> None:
    """The group property consumer.heartbeat.interval.ms changes the heartbeat interval in the responses to members of
    this group."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    group.join("join", A, t)
    configs = [{"name": "consumer.heartbeat.interval.ms", "config_operation": 0, "value": "7000"}]
    altered = {"resource_type": 32, "resource_name": group.id, "configs": configs}
    ask.setup("IncrementalAlterConfigs", 1, {"resources": [altered], "validate_only": False})
    asked = [{"resource_type": 32, "resource_name": group.id, "configuration_keys": [configs[0]["name"]]}]
    ask.until("DescribeConfigs", 4, {"resources": asked}, "results.0.configs.0.value", "7000")
    group.beat("the next heartbeat", A, 2)
    group.beat("an epoch that is not its own", A, 9)
    group.join("another", B, t)
    group.leave("it leaves", B)
    other = Consumers(ask, "other")
    other.join("a group without", A, t)


@scenario(
    "KIP-848 GroupMetadataManager.scheduleConsumerGroupJoinTimeoutIfAbsent "
    "GroupMetadataManager.scheduleConsumerGroupSyncTimeout",
    level="must",
)
def consumer_group_late_classic(ask: ScenarioBuilder) -> None:
    """A consumer group removes classic members that do not rejoin, sync or send heartbeats in time."""
    t = ask.topic("t", 2)
    body = {"include_authorized_operations": False}
    silent = Mixed(ask, "silent")
    silent.joined(A, t)
    silent.classic_join("one with a short session", "short", protocols(t), session_timeout_ms=6000)
    silent.beat("the consumer gives up", A, 2)
    silent.beat("the consumer gave up", A, 2, held={t: (0,)})
    silent.classic.heartbeat("its heartbeat", "short", 3)
    late = Mixed(ask, "late")
    late.classic_join(
        "a classic member that has a second", "", protocols(t), version=3, bind="M1", rebalance_timeout_ms=1000
    )
    late.classic_sync("it syncs", "$M1", 1, {"$M1": assignment(t=[0, 1])})
    late.join("a consumer joins", B, t)
    late.classic.heartbeat("it is told", "$M1", 1)
    gone = body | {"group_ids": [late.id]}
    ask.until("ConsumerGroupDescribe", 1, gone, "groups.0.members.1", None)
    late.describe_both("it did not rejoin")
    late.classic.heartbeat("its heartbeat after that", "$M1", 1)
    late.beat("the consumer after that", B, 2)
    unsynced = Mixed(ask, "unsynced")
    unsynced.joined(C, t)
    unsynced.classic_join("one that will not sync", "lazy", protocols(t), rebalance_timeout_ms=1000)
    unsynced.describe_both("before it is late")
    ask.until("ConsumerGroupDescribe", 1, body | {"group_ids": [unsynced.id]}, "groups.0.members.1", None)
    unsynced.describe_both("it did not sync")
    unsynced.classic_sync("its sync after that", "lazy", 3)
    ask.until("ConsumerGroupDescribe", 1, body | {"group_ids": [silent.id]}, "groups.0.members.1", None)
    silent.describe_both("it was silent")
    silent.classic.heartbeat("its heartbeat after it was silent", "short", 3)


@define("consumer_groups_classic", "KIP-394 GroupMetadataManager.expirePendingSync", EVERY_RELEASE)
def group_runs_out(ask: ScenarioBuilder) -> None:
    """A member id that JoinGroup allocated expires if its member does not join in time, and so does a member between
    join and sync."""
    promised = Classic(ask, "promised")
    promised.obtain_member_id("M1", session_timeout_ms=6000)
    unsynced = Classic(ask, "unsynced")
    unsynced.enter("M2", session_timeout_ms=6000)
    beating = Classic(ask, "beating")
    beating.enter("M3", session_timeout_ms=6000)
    beating.synced("$M3", 1, "$M3")
    ask.step("sleep", ms=4000)
    beating.heartbeat("a heartbeat in time", "$M3", 1)
    unsynced.describe("in time")
    ask.step("sleep", ms=3500)
    beating.heartbeat("another in time", "$M3", 1)
    promised.join("the promise after its time", "$M1", session_timeout_ms=6000)
    unsynced.describe("after the session is over")
    unsynced.sync("a sync after the session is over", "$M2", 1, "$M2")
