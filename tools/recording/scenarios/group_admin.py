"""Group administration: FindCoordinator, DescribeGroups, ListGroups, DeleteGroups and OffsetDelete."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios

from .classic_groups import UNKNOWN_CLASSIC_MEMBER, Classic
from .group_offsets import Offsets

scenario = Scenarios("consumer_groups_classic")


def subscribed(*topics: str, version: int = 1, **more: Any) -> list[Step]:
    """Return the protocols of a consumer that supports only `range`."""
    return [{"name": "range", "metadata": {"subscription": {"version": version, "topics": list(topics)} | more}}]


@scenario("KIP-699 KafkaApis.getCoordinator", EVERY_RELEASE, level="must", area="metadata")
def coordinator_find(ask: ScenarioBuilder) -> None:
    """FindCoordinator returns the coordinator of groups and transactional ids, since version 4 for several keys, and
    INVALID_REQUEST for an unknown key type."""
    g = ask.unique("g")
    for kind in (0, 1):
        ask.until("FindCoordinator", 2, {"key": g, "key_type": kind}, "error_code", 0)
        ask.steps[-1]["timeout_ms"] = 40000
    for version in ask.versions("FindCoordinator"):
        for kind in (0, 1, 2, 3, -1):
            for name, key in (("a key", g), ("an empty key", "")):
                body: dict[str, Any] = {"key": key, "coordinator_keys": [key]}
                case = f"v{version} kind {kind}, {name}"
                if version == 0 and kind == 0:
                    ask.request(case, "FindCoordinator", version, body)
                elif version:
                    ask.request(case, "FindCoordinator", version, body | {"key_type": kind})
    last = ask.versions("FindCoordinator")[-1]
    several: dict[str, list[str]] = {"none": [], "two": [g, "another"], "twice": [g, g], "with an empty one": ["", g]}
    for name, keys in several.items():
        for kind in (0, 1, 9):
            body = {"key_type": kind, "coordinator_keys": keys}
            ask.request(f"{name}, kind {kind}", "FindCoordinator", last, body)


@scenario("KIP-430 KIP-1043 GroupMetadataManager.describeGroups", EVERY_RELEASE)
def group_describe(ask: ScenarioBuilder) -> None:
    """DescribeGroups returns state, protocol and members of a group in every state; for an unknown group, it returns
    the state Dead, and since version 6 the error GROUP_ID_NOT_FOUND."""
    t = ask.topic()
    group = Classic(ask)

    def describe(state: str) -> None:
        for version in ask.versions("DescribeGroups"):
            for operations in (False, True) if version >= 3 else (False,):
                more: Step = {"include_authorized_operations": True} if operations else {}
                case = f"v{version} {state}{', operations' if operations else ''}"
                ask.request(case, "DescribeGroups", version, {"groups": [group.id]} | more)

    describe("unknown")
    Offsets(ask, group.id).committed((t, (5,)))
    describe("only offsets")
    group.enter("M1", "range", "roundrobin", version=5, group_instance_id="i1")
    describe("before sync")
    group.synced("$M1", 1, "$M1", group_instance_id="i1")
    describe("stable")
    group.obtain_member_id("M2")
    group.send_join("b", "$M2")
    group.beats_until("$M1", 1, group_instance_id="i1")
    describe("preparing")
    group.send_join("a", "$M1", "range", "roundrobin", group_instance_id="i1")
    ask.receive("the second is in", "b")
    ask.receive("the first is in", "a")
    group.leave("the second leaves", "$M2")
    group.leave("the first leaves", {"member_id": "", "group_instance_id": "i1"})
    ask.until("DescribeGroups", 0, {"groups": [group.id]}, "groups.0.group_state", "Empty")
    describe("empty")
    for version in (0, ask.versions("DescribeGroups")[-1]):
        ask.request(f"v{version} none", "DescribeGroups", version, {"groups": []})
        ask.request(f"v{version} nameless", "DescribeGroups", version, {"groups": [""]})
        ask.request(
            f"v{version} twice, and unknown", "DescribeGroups", version, {"groups": [group.id, "nope", group.id]}
        )


@scenario("KIP-518 KIP-848 GroupMetadataManager.listGroups")
def group_list(ask: ScenarioBuilder) -> None:
    """ListGroups filters by state since version 4 and by type since version 5; both are case-insensitive."""
    t = ask.topic()
    simple = Classic(ask, "simple")
    Offsets(ask, simple.id).committed((t, (5,)))
    fresh, stable, empty = (Classic(ask, name) for name in ("fresh", "stable", "empty"))
    fresh.enter("M1")
    stable.enter("M2", protocol_type="consumer", protocols=subscribed(t))
    stable.synced("$M2", 1, "$M2", protocol_type="consumer")
    empty.enter("M3")
    empty.leave("a group becomes empty", "$M3")
    rebalancing = Classic(ask, "rebalancing")
    rebalancing.enter("M4")
    rebalancing.send_join("b", version=3)
    rebalancing.beats_until("$M4", 1)
    promised = Classic(ask, "promised")
    promised.obtain_member_id("M5")
    keep: dict[str, Any] = {"keep": {"groups": "group_id"}}
    ask.each_version("ListGroups", {"v#": {}}, **keep)
    states = (
        *(["Stable"], ["Empty"], ["PreparingRebalance"], ["CompletingRebalance"], ["Dead"], ["stable"], ["EMPTY"]),
        *(["Stable", "Empty"], ["Stable", "nope"], ["nope"], [""], ["Assigning"], ["Reconciling"], ["Unknown"]),
    )
    for wanted in states:
        ask.each_version("ListGroups", {f"v# states {wanted}": {"states_filter": wanted}}, 4, **keep)
    types = (
        *(["classic"], ["consumer"], ["share"], ["streams"], ["Classic"], ["CONSUMER"], ["nope"], [""], ["unknown"]),
        *(["classic", "nope"], ["classic", "consumer"]),
    )
    for wanted in types:
        ask.request(f"types {wanted}", "ListGroups", 5, {"types_filter": wanted}, **keep)
    both = {"types_filter": ["classic"], "states_filter": ["Stable"]}
    ask.request("a type and a state", "ListGroups", 5, both, **keep)
    ask.request("another type and a state", "ListGroups", 5, both | {"types_filter": ["consumer"]}, **keep)


@scenario("KIP-229 ClassicGroup.validateDeleteGroup", EVERY_RELEASE)
def group_delete(ask: ScenarioBuilder) -> None:
    """DeleteGroups deletes empty groups with their offsets, and returns NON_EMPTY_GROUP or GROUP_ID_NOT_FOUND for
    others."""
    t = ask.topic()
    for version in ask.versions("DeleteGroups"):

        def delete(case: str, *groups: str, version: int = version) -> None:
            ask.request(f"v{version} {case}", "DeleteGroups", version, {"groups_names": list(groups)})

        simple, stable, empty = (Classic(ask, f"{name}{version}") for name in ("simple", "stable", "empty"))
        Offsets(ask, simple.id).committed((t, (5,)))
        stable.enter("M1")
        empty.enter("M2")
        empty.leave(f"a group becomes empty, {version}", "$M2")
        delete("none")
        delete("unknown", "nope")
        delete("nameless", "")
        delete("not empty", stable.id)
        delete("several", simple.id, stable.id, empty.id, "nope")
        delete("again", simple.id, empty.id)
        for group in (simple, empty):
            group.describe(f"v{version} describe {group.id[1:]}")
        asked = {"group_id": simple.id, "topics": None}
        ask.request(f"v{version} its offsets are gone", "OffsetFetch", 7, asked)
        stable.leave(f"the other becomes empty, {version}", "$M1")
        delete("twice in one", stable.id, stable.id)
        promised = Classic(ask, f"promised{version}")
        promised.obtain_member_id("M3")
        delete("with a promise only", promised.id)
        promised.join(f"v{version} the promise after that", "$M3")


@scenario(
    "KIP-496 OffsetMetadataManager.deleteOffsets ClassicGroup.validateOffsetDelete", EVERY_RELEASE, area="offsets"
)
def group_offset_delete(ask: ScenarioBuilder) -> None:
    """OffsetDelete removes offsets of topics that no member subscribes to, and returns GROUP_SUBSCRIBED_TO_TOPIC for
    the others."""
    t, u, n = ask.topic("t", 2), ask.topic("u"), ask.unknown_topic()

    def delete(case: str, group: str, *topics: tuple[str, tuple[int, ...]]) -> None:
        asked = [
            {"name": name, "partitions": [{"partition_index": index} for index in wanted]} for name, wanted in topics
        ]
        ask.request(case, "OffsetDelete", 0, {"group_id": group, "topics": asked})

    def offsets(case: str, group: str) -> None:
        ask.request(case, "OffsetFetch", 7, {"group_id": group, "topics": None})

    unknown = Classic(ask, "unknown")
    delete("unknown group", unknown.id, (t, (0,)))
    delete("nameless group", "", (t, (0,)))
    simple = Classic(ask, "simple")
    Offsets(ask, simple.id).committed((t, (5, 6)))
    Offsets(ask, simple.id).committed((u, (7,)))
    delete("no topics", simple.id)
    delete("no partitions", simple.id, (t, ()))
    delete("never committed", simple.id, (u, (3,)), (n, (0,)))
    delete("one", simple.id, (t, (0,)))
    offsets("what is left", simple.id)
    delete("several, one twice, one that is gone", simple.id, (t, (0, 1, 1, 9)), (u, (0,)), (t, (1,)))
    offsets("nothing is left", simple.id)
    simple.describe("describe after the last")
    other = Classic(ask, "other")
    other.enter("M1")
    delete("a group of another type", other.id, (t, (0,)))
    other.synced("$M1", 1, "$M1")
    delete("a stable group of another type", other.id, (t, (0,)))
    for name, protocols in {
        "reads t": subscribed(t),
        "reads nothing": subscribed(),
        "unreadable": [{"name": "range", "metadata": "m"}],
    }.items():
        group = Classic(ask, name.replace(" ", "_"), "consumer")
        Offsets(ask, group.id).committed((t, (5, 6)))
        Offsets(ask, group.id).committed((u, (7,)))
        group.enter("M2", protocols=protocols)
        delete(f"{name}, before sync", group.id, (t, (0, 8)), (u, (0,)), (n, (0,)))
        group.synced("$M2", 1, "$M2")
        offsets(f"{name}, what is left before sync", group.id)
        delete(f"{name}, stable", group.id, (t, (0, 8)), (u, (0,)), (n, (0,)))
        group.leave(f"{name}: the reader leaves", "$M2")
        delete(f"{name}, empty", group.id, (t, (0, 8)), (u, (0,)), (n, (0,)))
        offsets(f"{name}, what is left", group.id)
        group.heartbeat(f"{name}, it stays", UNKNOWN_CLASSIC_MEMBER, 1)


@scenario("GroupCoordinatorService")
def groups_without_name(ask: ScenarioBuilder) -> None:
    """The empty name is that of a group without members for DescribeGroups, DeleteGroups and OffsetCommit; OffsetDelete
    refuses it with INVALID_GROUP_ID."""
    t = ask.topic()
    ask.group()
    ask.each_version("DeleteGroups", {"v# delete": {"groups_names": [""]}})
    ask.each_version("DescribeGroups", {"v# describe": {"groups": [""]}})
    deleted = [{"name": t, "partitions": [{"partition_index": 0}]}]
    ask.request("delete offsets", "OffsetDelete", 0, {"group_id": "", "topics": deleted})
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    named = [{"name": t, "partitions": [partition]}]
    member: Step = {"generation_id_or_member_epoch": 1, "member_id": "m"}
    ask.each_version("OffsetCommit", {"v# commit by a member": member | {"group_id": "", "topics": named}}, 0, 9)
