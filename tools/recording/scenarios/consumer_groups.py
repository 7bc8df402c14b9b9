"""Groups of the consumer protocol (KIP-848): ConsumerGroupHeartbeat, ConsumerGroupDescribe, and offsets of members."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_3_9, KAFKA_4_4, Scenarios

from .classic_groups import Classic
from .group_offsets import Offsets, fetching

scenario = Scenarios("consumer_groups_kip848", KAFKA_4_4, ConsumerGroupHeartbeat=1)

A, B, C, D, E = MEMBERS = tuple(f"member-{letter}-0000000000000" for letter in "abcde")
NO_NAMES = {"subscribed_topic_names": None}
UNKNOWN_MEMBER = "nobody-00000000000000000"


class Consumers:
    """A group of the consumer protocol: requests of its members."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g") -> None:
        self.ask = ask
        self.id = ask.group(name)
        ask.step("sleep", ms=40)  # the coordinator learns of new topics with a delay

    def beating(self, member: str, epoch: int, **fields: Any) -> Step:
        held = fields.pop("held", None)
        owned = None if held is None else [held_of(topic, *partitions) for topic, partitions in held.items()]
        body = {"group_id": self.id, "member_id": member, "member_epoch": epoch, "topic_partitions": owned}
        return body | fields

    def beat(self, case: str, member: str, epoch: int, version: int = 1, **fields: Any) -> None:
        """Send ConsumerGroupHeartbeat; `held` contains the partitions that the member reports, keyed by topic."""
        step = {key: fields.pop(key) for key in ("bind", "only") if key in fields}
        self.ask.request(case, "ConsumerGroupHeartbeat", version, self.beating(member, epoch, **fields), **step)

    def joining(self, *topics: str, **fields: Any) -> Step:
        return {"rebalance_timeout_ms": 60000, "subscribed_topic_names": list(topics), "held": {}} | fields

    def join(self, case: str, member: str, *topics: str, **fields: Any) -> None:
        self.beat(case, member, 0, **self.joining(*topics, **fields))

    def joined(self, member: str, *topics: str, **fields: Any) -> None:
        body = self.beating(member, 0, **self.joining(*topics, **fields))
        self.ask.setup("ConsumerGroupHeartbeat", 1, body)

    def leave(self, case: str, member: str, epoch: int = -1, **fields: Any) -> None:
        self.beat(case, member, epoch, **fields)

    def describe(self, case: str, version: int = 1, **more: Any) -> None:
        body = {"group_ids": [self.id], "include_authorized_operations": False} | more
        self.ask.request(case, "ConsumerGroupDescribe", version, body)


def held_of(topic: str, *partitions: int) -> Step:
    return {"topic_id": f"{topic}.id" if topic.startswith("$") else topic, "partitions": list(partitions)}


@scenario(
    "KIP-848 KafkaApis.handleConsumerGroupHeartbeat KafkaApis.isConsumerGroupProtocolEnabled",
    releases=KAFKA_3_9,
    ConsumerGroupHeartbeat=0,
)
def consumer_group_not_enabled(ask: ScenarioBuilder) -> None:
    """A broker whose consumer group protocol is disabled returns UNSUPPORTED_VERSION to ConsumerGroupHeartbeat and
    ConsumerGroupDescribe."""
    t = ask.topic()
    group = Consumers(ask)
    group.join("join", A, t, version=0)
    group.join("join without a member id", "", t, version=0)
    group.beat("heartbeat of an unknown member", A, 1, version=0)
    group.leave("leave", A, version=0)
    group.join("join a group without a name", A, t, version=0, group_id="")
    group.describe("describe", version=0)
    group.describe("describe nothing", version=0, group_ids=[])
    group.describe("describe a group without a name", version=0, group_ids=["", "another"])


@scenario("KIP-848 GroupMetadataManager.consumerGroupHeartbeat CurrentAssignmentBuilder.build", level="must")
def consumer_group_life(ask: ScenarioBuilder) -> None:
    """ConsumerGroupHeartbeat returns the assignment when it has changed or when the member sends all fields; a changed
    subscription bumps the member epoch, and requests with an older or newer epoch are fenced."""
    t, u = ask.topic("t", 3), ask.topic("u", 2)
    group = Consumers(ask)
    group.describe("describe before anything")
    group.join("join", A, t)
    group.describe("describe after joining")
    group.beat("nothing new", A, 2)
    group.beat("nothing new again", A, 2)
    group.beat("what is held", A, 2, held={t: (0, 1, 2)})
    group.beat("all fields as they were", A, 2, **group.joining(t, held={t: (0, 1, 2)}))
    group.beat("two topics", A, 2, subscribed_topic_names=[t, u])
    group.beat("nothing new with two topics", A, 3)
    group.beat("the other topic is held", A, 3, held={t: (0, 1, 2), u: (0, 1)})
    group.describe("describe with two topics")
    group.beat("another order", A, 3, subscribed_topic_names=[u, t])
    group.beat("one topic fewer", A, 3, subscribed_topic_names=[u], held={t: (0, 1, 2), u: (0, 1)})
    group.beat("it still holds both", A, 3, held={t: (0, 1, 2), u: (0, 1)})
    group.describe("describe while it holds what it has to give up")
    group.beat("it holds what it should", A, 3, held={u: (0, 1)})
    group.beat("nothing new with one topic", A, 4)
    group.beat("no topics", A, 4, subscribed_topic_names=[])
    group.describe("describe without topics")
    group.beat("it holds nothing", A, 4, held={})
    group.beat("a topic that is not there yet", A, 5, subscribed_topic_names=["no-such-topic-ever"])
    group.describe("describe with an unknown topic")
    group.beat("an older epoch", A, 4)
    group.beat("a far older epoch", A, 1)
    group.beat("a newer epoch", A, 9)
    group.beat("join again", A, 0, **group.joining(t))
    group.describe("describe after joining again")
    group.leave("leave", A)
    group.leave("leave again", A)
    group.beat("heartbeat after leaving", A, 7)
    group.describe("describe the empty group")
    for version in (0, 1):
        group.describe(f"v{version}, with operations", version=version, include_authorized_operations=True)
    group.join("join the empty group", B, t)
    group.describe("describe after another joined")


@scenario("KIP-848 GroupMetadataManager.throwIfConsumerGroupHeartbeatRequestIsInvalid", level="must")
def consumer_group_refused(ask: ScenarioBuilder) -> None:
    """ConsumerGroupHeartbeat returns INVALID_REQUEST for missing or empty fields, UNSUPPORTED_ASSIGNOR for an unknown
    assignor, and UNKNOWN_MEMBER_ID for epochs of unknown members."""
    t = ask.topic()
    group = Consumers(ask)
    good = group.joining(t)
    for version in (0, 1):
        faults: dict[str, Step] = {
            "no group id": {"group_id": ""},
            "a blank group id": {"group_id": " "},
            "no member id": {"member_id": ""},
            "a blank member id": {"member_id": "  "},
            "a long member id": {"member_id": "m" * 100},
            "no rebalance timeout": {"rebalance_timeout_ms": -1},
            "a rebalance timeout of 0": {"rebalance_timeout_ms": 0},
            "a long rebalance timeout": {"rebalance_timeout_ms": 2147483647},
            "nothing held": {"held": None},
            "something held": {"held": {t: (0,)}},
            "no subscription": {"subscribed_topic_names": None},
            "an empty subscription": {"subscribed_topic_names": []},
            "a topic twice": {"subscribed_topic_names": [t, t]},
            "an odd topic": {"subscribed_topic_names": ["a b"]},
            "a topic without a name": {"subscribed_topic_names": [""]},
            "an empty instance id": {"instance_id": ""},
            "a blank instance id": {"instance_id": " "},
            "an empty rack": {"rack_id": ""},
            "a blank rack": {"rack_id": " "},
            "an empty assignor": {"server_assignor": ""},
            "a blank assignor": {"server_assignor": " "},
            "an unknown assignor": {"server_assignor": "sticky"},
            "an assignor in capitals": {"server_assignor": "RANGE"},
            "a rack": {"rack_id": "r"},
            "an assignor": {"server_assignor": "range"},
        }
        for n, (name, fault) in enumerate(faults.items()):
            made = f"{version}x{n}-00000000000000000000"
            ask.let("other", f"c<unique>.{ask.name}.{version}.{n}")
            fields = {"group_id": "$other", "member_id": made, "member_epoch": 0} | good | fault
            own_id = {"bind": {"M1": "member_id"}} if version == 0 and fields["member_id"] == "" else {}
            ask.request(
                f"v{version} {name}",
                "ConsumerGroupHeartbeat",
                version,
                group.beating(made, 0, **{k: v for k, v in fields.items() if k != "member_epoch"}),
                **own_id,
            )
        for epoch in (-3, -2, -1, 1, 5):
            group.beat(f"v{version} epoch {epoch} of an unknown member in an unknown group", A, epoch, version=version)
        group.beat(f"v{version} epoch -2 with an instance id", A, -2, version=version, instance_id="i1")
        group.beat(f"v{version} epoch -1 without a member id", "", -1, version=version)
    group.joined(A, t)
    for epoch in (-2, -1, 0, 1, 2):
        fields = good if epoch == 0 else {}
        if epoch:
            group.beat(f"epoch {epoch} of an unknown member", UNKNOWN_MEMBER, epoch)
            group.beat(
                f"epoch {epoch} of an unknown member with an instance id", UNKNOWN_MEMBER, epoch, instance_id="i9"
            )
    group.beat("something held that does not exist", A, 2, held={t: (7,)})
    group.beat("an unknown topic held", A, 2, held={"00000000-0000-4000-8000-0000000000ff": (0,)})
    group.beat("rebalance timeout changes", A, 2, rebalance_timeout_ms=70000)
    group.beat("an unknown assignor in a heartbeat", A, 2, server_assignor="sticky")
    group.beat("another assignor", A, 2, server_assignor="range")
    group.beat("a rack in a heartbeat", A, 2, rack_id="r")
    group.beat("an empty instance id in a heartbeat", A, 2, instance_id="")
    group.beat("an instance id in a heartbeat", A, 2, instance_id="i5")
    group.describe("describe")


@scenario("KIP-848 KIP-1082 GroupMetadataManager.consumerGroupHeartbeat", level="must")
def consumer_group_member_ids(ask: ScenarioBuilder) -> None:
    """ConsumerGroupHeartbeat v0 allocates a member id if the request has none; v1 requires one, and accepts any
    string."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    group.join("v0 without an id", "", t, version=0, bind={"M1": "member_id"})
    group.beat("v0 the next heartbeat", "$M1", 2, version=0)
    group.join("v0 with an id of its own", A, t, version=0)
    group.join("v1 without an id", "", t)
    group.beat("v1 the heartbeat of who joined in version 0", A, 3)
    group.join("v1 any text", "x", t)
    group.join("v1 odd text", "a b/\u00e9", t)
    group.describe("describe")


@scenario("KIP-848 CurrentAssignmentBuilder.computeNextAssignment", level="must")
def consumer_group_two(ask: ScenarioBuilder) -> None:
    """A new member gets its partitions only after the other member reported that it no longer owns them, and the group
    is Reconciling until then."""
    t = ask.topic("t", 4)
    group = Consumers(ask)
    group.join("the first joins", A, t)
    group.beat("the first holds all", A, 2, held={t: (0, 1, 2, 3)})
    group.join("the second joins", B, t)
    group.describe("describe after that")
    group.beat("the second waits", B, 3)
    group.beat("the second says that it holds nothing", B, 3, held={})
    group.beat("the first hears what it keeps", A, 2)
    group.describe("describe while the first gives up")
    group.beat("the first says nothing new", A, 2)
    group.beat("the first still holds all", A, 2, held={t: (0, 1, 2, 3)})
    group.beat("the first holds too few", A, 2, held={t: (0,)})
    group.describe("describe after that, too")
    group.beat("the first holds what it keeps", A, 2, held={t: (0, 1)})
    group.beat("the first goes on", A, 3)
    group.describe("describe before the second hears")
    group.beat("the second gets the rest", B, 3)
    group.beat("the second holds the rest", B, 3, held={t: (2, 3)})
    group.describe("describe, all assigned")
    group.beat("the second goes on", B, 3)
    group.beat("the first in the last epoch, with what it held", A, 2, held={t: (0, 1)})
    group.beat("the first in the last epoch, with more", A, 2, held={t: (0, 1, 2)})
    group.beat("the first in the last epoch, saying nothing", A, 2)
    group.leave("the second leaves", B)
    group.describe("describe after the second left")
    group.beat("the first gets all again", A, 3)
    group.beat("the first holds all again", A, 4, held={t: (0, 1, 2, 3)})
    group.describe("describe at the end")


@scenario("KIP-848 CurrentAssignmentBuilder.computeNextAssignment", level="must")
def consumer_group_three(ask: ScenarioBuilder) -> None:
    """If a third member joins during a reconciliation, the group computes a new target assignment, and each member
    moves to it when it has revoked its partitions."""
    t = ask.topic("t", 6)
    group = Consumers(ask)
    group.joined(A, t)
    group.beat("the first holds all", A, 2, held={t: range(6)})
    group.join("the second joins", B, t)
    group.beat("the first hears", A, 2)
    group.join("the third joins", C, t)
    group.describe("describe three")
    group.beat("the second hears", B, 3)
    group.beat("the first says nothing new", A, 2)
    group.beat("the first holds what it was told to keep", A, 2, held={t: (0, 1, 2)})
    group.describe("describe after the first gave up some")
    group.beat("the first holds less", A, 3, held={t: (0, 1)})
    group.describe("describe after the first gave up more")
    for epoch in (3, 4):
        group.beat(f"the second, epoch {epoch}", B, epoch)
        group.beat(f"the third, epoch {epoch}", C, epoch)
    group.describe("describe at the end")
    group.leave("the first leaves", A)
    group.leave("the second leaves", B)
    group.beat("the third, after that", C, 4)
    group.describe("describe the third alone")


@scenario(
    "KIP-848 GroupMetadataManager.consumerGroupStaticMemberGroupLeave "
    "GroupMetadataManager.throwIfInstanceIdIsUnreleased",
    level="must",
)
def consumer_group_static(ask: ScenarioBuilder) -> None:
    """A static member that leaves with epoch -2 keeps its assignment until it returns; others with its instance id get
    UNRELEASED_INSTANCE_ID or FENCED_INSTANCE_ID."""
    t = ask.topic("t", 4)
    group = Consumers(ask)
    one: dict[str, Any] = {"instance_id": "i1"}
    group.join("join", A, t, **one)
    group.beat("it holds all", A, 2, held={t: range(4)}, **one)
    group.beat("without its instance id", A, 2)
    group.beat("with another instance id", A, 2, instance_id="i2")
    group.join("another with this instance id", B, t, **one)
    group.beat("another in an epoch", B, 2, **one)
    group.leave("another leaves under this instance id", B, **one)
    group.leave("another leaves for a while under this instance id", B, -2, **one)
    group.leave("it leaves for a while without its instance id", A, -2)
    group.leave("it leaves for a while", A, -2, **one)
    group.describe("describe while it is away")
    group.beat("a heartbeat while it is away", A, 2, **one)
    group.leave("it leaves for a while again", A, -2, **one)
    group.join("the second joins meanwhile", C, t, instance_id="i3")
    group.describe("describe with a second")
    group.join("the first comes back with another member id", B, t, **one)
    group.describe("describe after it came back")
    group.beat("its old self", A, 3, **one)
    group.beat("the new one", B, 3, held={t: (0, 1)}, **one)
    group.beat("the second", C, 3, instance_id="i3")
    group.leave("it leaves for a while", B, -2, **one)
    group.join("it comes back with another subscription", D, "no-such-topic-ever", **one)
    group.describe("describe after that")
    group.leave("it leaves for good", D, -1, **one)
    group.leave("it leaves for a while from nowhere", D, -2, **one)
    group.describe("describe without it")
    group.join("it joins again", E, t, **one)
    group.join("it joins again while it is there", E, t, **one)
    group.describe("describe at the end")


@scenario("KIP-848 GroupMetadataManager.consumerGroupHeartbeat", level="must")
def consumer_group_regex(ask: ScenarioBuilder) -> None:
    """A member can subscribe by a pattern, which the broker resolves after the response; an invalid pattern fails with
    INVALID_REGULAR_EXPRESSION.
    """
    t, u = ask.topic("one.t", 2), ask.topic("one.u", 1)
    group = Consumers(ask)
    prefix = ask.let("pattern", f"c<unique>.{ask.name}.one.*")
    none = {"subscribed_topic_names": None}
    group.join("invalid pattern", A, subscribed_topic_regex="[", **none)
    group.join("an empty pattern", A, subscribed_topic_regex="", **none)
    group.join("a blank pattern", B, subscribed_topic_regex=" ", **none)
    group.describe("describe after a refusal")
    group = Consumers(ask, "g2")
    group.join("join by a pattern", A, subscribed_topic_regex=prefix, **none)
    resolved = {"group_ids": [group.id], "include_authorized_operations": False}
    ask.until("ConsumerGroupDescribe", 1, resolved, "groups.0.group_epoch", 2)
    group.describe("describe a pattern that was looked up")
    group.beat("the next heartbeat", A, 1)
    group.beat("and the next", A, 2)
    group.describe("describe a pattern")
    group.beat("the same pattern", A, 2, subscribed_topic_regex=prefix)
    group.beat("an invalid pattern in a heartbeat", A, 2, subscribed_topic_regex="(")
    group.beat("no pattern, but names", A, 2, subscribed_topic_regex="", subscribed_topic_names=[t])
    group.describe("describe names")
    group.join("another by a pattern and a name", B, u, subscribed_topic_regex="nothing-is-called-so.*")
    group.describe("describe both")


@scenario("KIP-848 GroupMetadataManager.onNewMetadataImage", level="must")
def consumer_group_topics(ask: ScenarioBuilder) -> None:
    """A consumer group gets a new epoch and assignment when a subscribed topic is created, gets partitions, or is
    deleted."""
    late = ask.unique("late")
    group = Consumers(ask)
    group.join("join for a topic that is not there", A, late)
    group.describe("describe without the topic")
    made = {"name": late, "num_partitions": 2, "replication_factor": 1}
    ask.setup("CreateTopics", 7, {"topics": [made]}, bind={"late.id": "topics.0.topic_id"})
    target = "groups.0.members.0.target_assignment.topic_partitions.0.partitions"
    body = {"group_ids": [group.id], "include_authorized_operations": False}

    def beats_until_epoch(epoch: int) -> None:
        ask.until("ConsumerGroupHeartbeat", 1, group.beating(A, epoch - 1), "member_epoch", epoch)

    beats_until_epoch(3)
    group.beat("it holds the new topic", A, 3, held={late: (0, 1)})
    group.describe("describe with the topic")
    grown = {"topics": [{"name": late, "count": 3, "assignments": None}], "timeout_ms": 10000, "validate_only": False}
    ask.setup("CreatePartitions", 2, grown)
    beats_until_epoch(4)
    ask.until("ConsumerGroupDescribe", 1, body, target, [0, 1, 2])
    group.describe("describe with another partition")
    ask.setup("DeleteTopics", 6, {"topics": [{"name": late}]})
    ask.until("ConsumerGroupHeartbeat", 1, group.beating(A, 4), "assignment.topic_partitions", [])
    group.beat("it gives the topic up", A, 4, held={}, only=["error_code", "member_epoch"])
    ask.until("ConsumerGroupDescribe", 1, body, "groups.0.group_state", "Stable")
    group.describe("describe without the topic at last")


@Scenarios("consumer_groups_kip848", KAFKA_4_4)(
    "KIP-848 ConsumerGroup.validateOffsetCommit ConsumerGroup.validateOffsetFetch", level="must", OffsetCommit=10
)
def consumer_group_offsets(ask: ScenarioBuilder) -> None:
    """In a consumer group, OffsetCommit and OffsetFetch since version 9 require the epoch of the member and return
    STALE_MEMBER_EPOCH for another one."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    offsets = Offsets(ask, group.id)
    group.joined(A, t)

    def offsets_of(state: str) -> None:
        for name, member in {"nobody": "", "the member": A, "another": UNKNOWN_MEMBER}.items():
            for epoch in (-1, 0, 1, 2, 3):
                who = {"member_id": member, "generation_id_or_member_epoch": epoch}
                for version in (8, 9, 10):
                    case = f"{state}: commit v{version} by {name}, epoch {epoch}"
                    offsets.commit(case, (t, (5,)), version=version, **who)
                for version in (9, 10):
                    case = f"{state}: fetch v{version} by {name}, epoch {epoch}"
                    offsets.fetch(case, (t, (0,)), version=version, member_id=member, member_epoch=epoch)
        offsets.fetch(f"{state}: fetch v9 by null", (t, (0,)), version=9, member_id=None, member_epoch=-1)
        offsets.fetch(f"{state}: fetch v8", (t, (0,)), version=8)
        offsets.fetch(f"{state}: fetch all v10", version=10, member_id=A, member_epoch=2)

    offsets_of("a member in epoch 2")
    group.leave("the member leaves", A)
    offsets_of("empty")
    for version in (9, 10):
        body = fetching(version, (group.id, ((t, (0,)),)), ("no-such-group", ((t, (0,)),)), member_id=A, member_epoch=2)
        ask.request(f"v{version} a known and an unknown group", "OffsetFetch", version, body)


@scenario("KIP-848 ConsumerGroup.validateDeleteGroup GroupMetadataManager.listGroups")
def consumer_group_admin(ask: ScenarioBuilder) -> None:
    """ListGroups shows consumer groups with their type and states, DeleteGroups deletes empty ones, and the classic
    requests of their members are refused."""
    t = ask.topic("t", 2)
    empty, stable, assigning = (Consumers(ask, name) for name in ("empty", "stable", "reconciling"))
    empty.joined(A, t)
    empty.leave("a group becomes empty", A)
    stable.joined(A, t)
    assigning.joined(A, t)
    assigning.joined(B, t)
    classic = Classic(ask, "classic")
    classic.enter("M1")
    keep: dict[str, Any] = {"keep": {"groups": "group_id"}}
    ask.each_version("ListGroups", {"list v#": {}}, **keep)
    for wanted in (["consumer"], ["Consumer"], ["classic"], ["classic", "consumer"]):
        ask.request(f"list types {wanted}", "ListGroups", 5, {"types_filter": wanted}, **keep)
    for state in ("Empty", "Stable", "Assigning", "Reconciling", "stable", "Dead", "CompletingRebalance"):
        ask.request(f"list {state}", "ListGroups", 5, {"states_filter": [state]}, **keep)
    groups = [empty.id, stable.id, assigning.id]
    ask.each_version("DescribeGroups", {"describe as classic, v#": {"groups": groups}})
    for version in ask.versions("ConsumerGroupDescribe"):
        for operations in (False, True):
            body = {
                "group_ids": [*groups, classic.id, "no-such-group", ""],
                "include_authorized_operations": operations,
            }
            ask.request(f"describe v{version}, operations {operations}", "ConsumerGroupDescribe", version, body)
    twice = {"group_ids": [stable.id, stable.id], "include_authorized_operations": False}
    ask.request("describe twice", "ConsumerGroupDescribe", 1, twice)
    Offsets(ask, empty.id).committed((t, (5,)))
    partition = {"name": t, "partitions": [{"partition_index": 0}]}
    for group in (empty, stable):
        asked = {"group_id": group.id, "topics": [partition]}
        ask.request(f"delete offsets of {group.id[1:]}", "OffsetDelete", 0, asked)
    ask.request("delete groups", "DeleteGroups", 2, {"groups_names": [*groups, classic.id]})
    ask.request("delete again", "DeleteGroups", 2, {"groups_names": groups})
    classic_requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("heartbeat", "Heartbeat", {"generation_id": 2, "member_id": A}),
        ("sync", "SyncGroup", {"generation_id": 2, "member_id": A, "assignments": []}),
        ("leave", "LeaveGroup", {"members": [{"member_id": A, "group_instance_id": None}]}),
    )
    for name, api, fields in classic_requests:
        ask.request(f"classic {name}", api, ask.versions(api)[-1], {"group_id": stable.id} | fields)


@scenario(
    "KIP-848 GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout "
    "GroupMetadataManager.scheduleConsumerGroupSessionTimeout",
    level="must",
)
def consumer_group_too_late(ask: ScenarioBuilder) -> None:
    """A consumer group removes a member that does not revoke partitions within its rebalance timeout, and a member
    without heartbeats after the session timeout."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    group.joined(A, t, rebalance_timeout_ms=500)
    group.beat("it holds all", A, 2, held={t: (0, 1)})
    group.joined(B, t)
    group.beat("it hears that it has to give up", A, 2)
    body = {"group_ids": [group.id], "include_authorized_operations": False}
    ask.until("ConsumerGroupDescribe", 1, body, "groups.0.members.1", None)
    group.describe("describe after the time was over")
    group.beat("too late", A, 2, held={t: (0,)})
    group.beat("the other", B, 3)
    group.beat("the other has it all", B, 4)
    group.describe("describe at the end")


@scenario("KIP-848 GroupMetadataManager.consumerGroupHeartbeat")
def consumer_group_interval(ask: ScenarioBuilder) -> None:
    """A consumer group stays in the state Assigning and keeps its target assignment until the assignment interval of
    the broker has passed."""
    t = ask.topic("t", 4)
    group = Consumers(ask)
    config = {"name": "consumer.assignment.interval.ms", "config_operation": 0, "value": "2000"}
    altered = {"resource_type": 32, "resource_name": group.id, "configs": [config]}
    ask.setup("IncrementalAlterConfigs", 1, {"resources": [altered], "validate_only": False})
    asked = [{"resource_type": 32, "resource_name": group.id, "configuration_keys": [config["name"]]}]
    ask.until("DescribeConfigs", 4, {"resources": asked}, "results.0.configs.0.value", "2000")
    group.join("the first joins", A, t)
    group.beat("the first holds all", A, 2, held={t: range(4)})
    group.join("the second joins at once", B, t)
    group.describe("describe within the interval")
    group.beat("the second within the interval", B, 2)
    group.beat("the first within the interval", A, 2)
    group.join("the third joins at once", C, t)
    group.describe("describe three within the interval")
    ask.step("sleep", ms=2300)
    group.describe("describe after the interval, before any heartbeat")
    group.beat("the second after the interval", B, 2, only=["error_code", "member_epoch"])
    group.describe("describe after the interval")


@Scenarios("consumer_groups_kip848", KAFKA_4_4)("KIP-848 ConsumerGroup", level="must")
def consumer_group_commit_epochs(ask: ScenarioBuilder) -> None:
    """A commit under another member epoch is refused: STALE_MEMBER_EPOCH since version 9, UNSUPPORTED_VERSION
    before."""
    t = ask.topic()
    group = Consumers(ask)
    group.joined(A, t)
    offsets = Offsets(ask, group.id)
    for v in ask.versions("OffsetCommit", 2):
        for epoch in (0, 1, 2, 99, -1):
            member: Step = {"member_id": A, "generation_id_or_member_epoch": epoch}
            offsets.commit(f"v{v} epoch {epoch}", (t, (5,)), version=v, **member)
        unknown: Step = {"member_id": "unknown-0000000000000a", "generation_id_or_member_epoch": 1}
        offsets.commit(f"v{v} unknown member", (t, (5,)), version=v, **unknown)
    group.leave("leave", A)


@scenario("KIP-848 GroupMetadataManager.consumerGroupHeartbeat")
def consumer_group_patterns(ask: ScenarioBuilder) -> None:
    """Members of a group can use several patterns and share one, internal topics match patterns too, and patterns with
    back references or look-behind are invalid."""
    t, u = ask.topic("x.t", 2), ask.topic("y.u", 1)
    first = ask.let("first", f"c<unique>.{ask.name}.x.*")
    second = ask.let("second", f"c<unique>.{ask.name}.[xy].*")
    group = Consumers(ask)
    body = {"group_ids": [group.id], "include_authorized_operations": False}
    group.join("by the first pattern", A, subscribed_topic_regex=first, server_assignor="range", **NO_NAMES)
    ask.until("ConsumerGroupDescribe", 1, body, "groups.0.group_epoch", 3)
    group.describe("after the first")
    group.beat("the first, again", A, 2)
    group.beat("it holds what it should", A, 3, held={t: (0, 1)})
    group.join("by the second pattern", B, subscribed_topic_regex=second, server_assignor="range", **NO_NAMES)
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
    odd.join("a pattern for internal topics", A, subscribed_topic_regex="__consumer_off.*", **NO_NAMES)
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
        made.join(f"a pattern: {name}", A, subscribed_topic_regex=pattern, **NO_NAMES)


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
