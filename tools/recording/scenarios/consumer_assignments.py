"""Assignments of the consumer protocol for topics of various sizes and members that join and leave.

The uniform assignor processes topics in the order of their random ids, so no scenario has several topics that all
members subscribe to.
"""

from kafkalet_conformance.building import ScenarioBuilder
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .consumer_groups import MEMBERS, Consumers

scenario = Scenarios("consumer_groups_kip848", KAFKA_4_4, ConsumerGroupHeartbeat=1)

A, B, C, D, E = MEMBERS


class Shape:
    """A group whose members never report their partitions, so that only the target assignment matters."""

    def __init__(self, ask: ScenarioBuilder, name: str, assignor: str) -> None:
        self.group = Consumers(ask, f"g.{name.replace(' ', '.')}")
        self.name, self.assignor = name, assignor

    def joins(self, member: str, *topics: str, **fields: object) -> None:
        self.group.joined(member, *topics, server_assignor=self.assignor, **fields)
        self.group.describe(f"{self.name}, {member[7]} joins")

    def leaves(self, member: str) -> None:
        self.group.leave(f"{self.name}: {member[7]} leaves", member)
        self.group.describe(f"{self.name}, {member[7]} left")


def one_topic(ask: ScenarioBuilder, assignor: str) -> None:
    for partitions in (1, 2, 3, 5, 7):
        t = ask.topic(f"t{partitions}", partitions)
        shape = Shape(ask, f"{partitions} of one", assignor)
        for member in (C, A, E, B, D):
            shape.joins(member, t)
        for member in (A, E, D):
            shape.leaves(member)


def several_topics(ask: ScenarioBuilder, assignor: str) -> None:
    for sizes in ((1, 1), (2, 3), (3, 3, 3), (1, 5, 7)):
        name = " ".join(map(str, sizes))
        topics = [ask.topic(f"t{n}.{name.replace(' ', '.')}", size) for n, size in enumerate(sizes)]
        shape = Shape(ask, name, assignor)
        for member in (B, A, D, C):
            shape.joins(member, *topics)
        for member in (B, D):
            shape.leaves(member)


def mixed_subscriptions(ask: ScenarioBuilder, assignor: str) -> None:
    t, u, v = ask.topic("t", 3), ask.topic("u", 4), ask.topic("v", 2)
    shape = Shape(ask, "mixed", assignor)
    shape.joins(B, t, u)
    shape.joins(A, u)
    shape.joins(C, u, v)
    shape.joins(D, t)
    shape.joins(E, t, u, v)
    shape.leaves(A)
    shape.leaves(E)


def static_order(ask: ScenarioBuilder, assignor: str) -> None:
    t = ask.topic("t", 5)
    shape = Shape(ask, "static", assignor)
    for member, instance in ((A, "z"), (B, None), (C, "m"), (D, "a"), (E, None)):
        shape.joins(member, t, **({"instance_id": instance} if instance else {}))


@scenario("KIP-848 RangeAssignor.assignHomogeneousGroup", level="must")
def consumer_group_range_one(ask: ScenarioBuilder) -> None:
    """The range assignor gives each member consecutive partitions of a topic, and the first members in order of member
    ids one more if the division leaves a remainder."""
    one_topic(ask, "range")


@scenario("KIP-848 UniformHomogeneousAssignmentBuilder.build", level="must")
def consumer_group_uniform_one(ask: ScenarioBuilder) -> None:
    """The uniform assignor balances the number of partitions per member and moves as few partitions as possible when
    members join or leave."""
    one_topic(ask, "uniform")


@scenario("KIP-848 RangeAssignor.assignHomogeneousGroup", level="must")
def consumer_group_range_several(ask: ScenarioBuilder) -> None:
    """The range assignor divides topics separately and gives each member partitions with the same numbers in each of
    them."""
    several_topics(ask, "range")


@scenario("KIP-848 RangeAssignor.assignHeterogeneousGroup")
def consumer_group_range_mixed(ask: ScenarioBuilder) -> None:
    """The range assignor divides each topic only among the members that subscribe to it."""
    mixed_subscriptions(ask, "range")


@scenario("KIP-848 UniformHeterogeneousAssignmentBuilder.build")
def consumer_group_uniform_mixed(ask: ScenarioBuilder) -> None:
    """The uniform assignor balances the partitions of members with different subscriptions and keeps partitions with
    their owners."""
    mixed_subscriptions(ask, "uniform")


@scenario("KIP-848 RangeAssignor.sortMemberIds")
def consumer_group_range_static(ask: ScenarioBuilder) -> None:
    """The range assignor orders static members by instance id before dynamic members."""
    static_order(ask, "range")


@scenario("KIP-848 UniformAssignor.assign")
def consumer_group_uniform_static(ask: ScenarioBuilder) -> None:
    """The uniform assignor treats static and dynamic members alike."""
    static_order(ask, "uniform")


@scenario("KIP-848 ConsumerGroup.computePreferredServerAssignor ConsumerGroup.preferredServerAssignor")
def consumer_group_assignor_choice(ask: ScenarioBuilder) -> None:
    """A consumer group uses the assignor that most of its members ask for, and the default one if none of them asks for
    one."""
    t = ask.topic("t", 3)
    group = Consumers(ask)
    for member, assignor in ((A, "range"), (B, "uniform"), (C, "uniform"), (D, None), (E, "range")):
        group.joined(member, t, server_assignor=assignor)
        group.describe(f"after one for {assignor}")
    group.leave("one for uniform leaves", B)
    group.describe("after one for uniform left")
    group.beat("one for uniform wants range", C, 4, server_assignor="range")
    group.describe("after one changed")
    group.leave("one for range leaves", A)
    group.leave("another for range leaves", E)
    group.leave("the last for range leaves", C)
    group.describe("after only one without a wish is left")


@scenario("KIP-848 RangeAssignor.assign UniformAssignor.assign")
def consumer_group_wanting_nothing(ask: ScenarioBuilder) -> None:
    """Members with an empty subscription get no partitions and do not count in the division; if they join a group that
    has other members, its epoch stays the same."""
    t = ask.topic("t", 4)
    for assignor in ("range", "uniform"):
        shape = Shape(ask, f"nothing {assignor}", assignor)
        shape.joins(A, t)
        shape.joins(B)
        shape.joins(C, t)
        shape.leaves(C)
        shape.joins(D)
        shape.leaves(B)
        shape = Shape(ask, f"nothing at first {assignor}", assignor)
        shape.joins(B)
        shape.joins(A, t)
        shape.joins(C)
        shape.leaves(B)
        shape = Shape(ask, f"back with nothing {assignor}", assignor)
        shape.joins(A, t)
        shape.joins(B, t)
        shape.leaves(B)
        shape.joins(B)
        shape.group.beat(f"{assignor}: b wants it again", B, 4, subscribed_topic_names=[t])
        shape.group.describe(f"{assignor}: b wants it again, described")
        shape.group.beat(f"{assignor}: b wants nothing again", B, 5, subscribed_topic_names=[])
        shape.group.describe(f"{assignor}: b wants nothing again, described")
