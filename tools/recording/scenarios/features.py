"""UpdateFeatures, and the features in ApiVersions after it."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_3_9, KAFKA_4_4, Scenarios

scenario = Scenarios("features")

TRANSACTION, GROUP, METADATA = "transaction.version", "group.version", "metadata.version"
ELIGIBLE = "eligible.leader.replicas.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def change(ask: ScenarioBuilder, case: str, version: int, *updates: tuple[str, int, int], **more: Any) -> None:
    """Send UpdateFeatures; an update is (name, level, upgrade type), in version 0 (name, level, allow downgrade)."""
    ask.request(case, "UpdateFeatures", version, {"feature_updates": [_update(version, *u) for u in updates]} | more)


def _update(version: int, name: str, level: int, kind: int) -> Step:
    how = {"upgrade_type": kind} if version else {"allow_downgrade": kind != UPGRADE}
    return {"feature": name, "max_version_level": level} | how


def finalized(ask: ScenarioBuilder, case: str) -> None:
    ask.step("sleep", ms=300)  # until the broker has applied it
    body = {"client_software_name": "test", "client_software_version": "1"}
    ask.request(case, "ApiVersions", 4, body, only=["finalized_features"])


@scenario("KIP-584 KIP-778 FeatureControlManager.updateFeature")
def update_features_errors(ask: ScenarioBuilder) -> None:
    """UpdateFeatures returns INVALID_UPDATE_VERSION for unknown features, unsupported levels and downgrades that are
    not allowed, and success for the current level."""
    for v in ask.versions("UpdateFeatures"):
        change(ask, f"v{v} nothing", v)
        for name, level, kind in (
            ("nope", 1, UPGRADE),
            ("nope", 0, UPGRADE),
            ("nope", 0, SAFE),
            ("nope", -1, UPGRADE),
            ("", 1, UPGRADE),
            (METADATA, 999, UPGRADE),
            (METADATA, -1, SAFE),
            (METADATA, 1, UPGRADE),
            (METADATA, 1, SAFE),
            (METADATA, 7, UNSAFE),
            (METADATA, 15, SAFE),
            (TRANSACTION, 9, UPGRADE),
            (TRANSACTION, 1, UPGRADE),
            (GROUP, 0, UPGRADE),
            (GROUP, 1, UPGRADE),
            (GROUP, 1, SAFE),
        ):
            change(ask, f"v{v} {name} to {level}, {kind}", v, (name, level, kind))
        change(ask, f"v{v} two, bad ones", v, ("zzz", 1, UPGRADE), ("aaa", 1, UPGRADE))
        change(ask, f"v{v} one twice", v, (GROUP, 1, UPGRADE), (GROUP, 5, UPGRADE))
        change(ask, f"v{v} in no time", v, ("nope", 1, UPGRADE), timeout_ms=0)
    for v in ask.versions("UpdateFeatures", 1):
        for kind in (0, 4, -1):
            change(ask, f"v{v} upgrade type {kind}", v, (METADATA, 20, kind))
        change(ask, f"v{v} validate only", v, (TRANSACTION, 1, SAFE), validate_only=True)
        change(ask, f"v{v} validate only, beyond", v, (TRANSACTION, 7, SAFE), validate_only=True)
    finalized(ask, "as before")


@scenario("KIP-584 KIP-1022 FeatureControlManager.updateFeature", KAFKA_4_4)
def update_features_levels(ask: ScenarioBuilder) -> None:
    """UpdateFeatures lowers and raises the levels of features, and since release 4.0 applies all updates of a request
    or none."""
    for name, levels in ((TRANSACTION, (1, 0)), (GROUP, (0,)), ("streams.version", (0,)), ("share.version", (1, 0))):
        for level in levels:
            change(ask, f"{name} down to {level}", 2, (name, level, SAFE))
            finalized(ask, f"{name} is {level}")
        highest = 2 if name in (TRANSACTION, "share.version") else 1
        change(ask, f"{name} up again", 2, (name, highest, UPGRADE))
    change(ask, "two down", 1, (TRANSACTION, 1, UNSAFE), (GROUP, 0, SAFE))
    finalized(ask, "two are down")
    change(ask, "a good and a bad one", 2, (TRANSACTION, 2, UPGRADE), (GROUP, 9, UPGRADE))
    finalized(ask, "still down")
    change(ask, "two up", 1, (TRANSACTION, 2, UPGRADE), (GROUP, 1, UPGRADE))
    change(ask, "one twice, down and further", 1, (TRANSACTION, 1, SAFE), (TRANSACTION, 0, SAFE))
    finalized(ask, "down at once")
    change(ask, "one twice, up", 0, (TRANSACTION, 1, UPGRADE), (TRANSACTION, 2, UPGRADE))
    finalized(ask, "as in the beginning")


@scenario("KIP-584 FeatureControlManager.updateFeatures", KAFKA_3_9)
def update_features_apart(ask: ScenarioBuilder) -> None:
    """Before release 4.0, UpdateFeatures applies each update of a request separately, so that an invalid update does
    not prevent the others."""
    for level in (20, 17):
        change(ask, f"metadata down to {level}", 1, (METADATA, level, SAFE))
        finalized(ask, f"metadata is {level}")
    change(ask, "good and bad", 1, ("nope", 1, UPGRADE), (METADATA, 19, UPGRADE), ("aaa", 1, UPGRADE))
    finalized(ask, "the good one counts")
    change(ask, "one twice", 1, (METADATA, 20, UPGRADE), (METADATA, 21, UPGRADE))
    finalized(ask, "as in the beginning")


@scenario("KIP-966 ConfigurationControlManager.incrementalAlterConfigs", KAFKA_4_4, level="detail")
def update_features_eligible_leaders(ask: ScenarioBuilder) -> None:
    """While eligible leader replicas are enabled, min.insync.replicas cannot be set for one broker or removed for the
    cluster, and returns INVALID_CONFIG."""
    from .configurations import BROKER, DELETE, NODE, SET, alter, describe, resource

    key = "min.insync.replicas"
    asked = {"resources": [resource(BROKER, NODE, key)]}
    alter(ask, "on: of a broker", BROKER, NODE, (key, SET, "1"))
    alter(ask, "on: removed from all", BROKER, "", (key, DELETE, None))
    change(ask, "off", 2, (ELIGIBLE, 0, SAFE))
    alter(ask, "off: of a broker", BROKER, NODE, (key, SET, "3"))
    ask.until("DescribeConfigs", 1, asked, "results.0.configs.0.value", "3")
    alter(ask, "off: removed from all", BROKER, "", (key, DELETE, None))
    ask.step("sleep", ms=500)
    describe(ask, "off: all", resource(BROKER, "", key))
    describe(ask, "off: a broker", resource(BROKER, NODE, key))
    change(ask, "on again", 2, (ELIGIBLE, 1, UPGRADE))
    ask.step("sleep", ms=1000)
    describe(ask, "on again: all", resource(BROKER, "", key))
    describe(ask, "on again: a broker", resource(BROKER, NODE, key))
    alter(ask, "as in the beginning", BROKER, "", (key, SET, "1"))
    ask.until("DescribeConfigs", 1, asked, "results.0.configs.0.value", "1")


@scenario("KIP-584 FeatureControlManager", UpdateFeatures=1)
def features_refused(ask: ScenarioBuilder) -> None:
    """UpdateFeatures refuses unknown features, levels that do not exist, and downgrades without the right type."""

    def update(case: str, *updates: Step) -> None:
        body = {"feature_updates": list(updates), "validate_only": True, "timeout_ms": 10000}
        ask.each_version("UpdateFeatures", {f"v# {case}": body}, 1)

    def feature(level: int, kind: int = 1, name: str = "metadata.version") -> Step:
        return {"feature": name, "max_version_level": level, "upgrade_type": kind}

    update("unknown feature", feature(1, name="nope"))
    update("empty name", feature(1, name=""))
    update("level too high", feature(9999))
    update("level below zero", feature(-1))
    update("level 0", feature(0))
    update("upgrade to a lower level", feature(1))
    update("safe downgrade", feature(1, 2))
    update("unsafe downgrade", feature(1, 3))
    update("unknown type", feature(1, 9))
    update("a feature twice", feature(7), feature(8))
    update("no feature")
