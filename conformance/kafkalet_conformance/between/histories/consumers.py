"""Histories of consumer groups (KIP-848): members join, leave, change their subscriptions and miss requests.

A member's epoch is bound to `$Ea`, and its last assignment to `$Ha`. Both are taken from every response, so that a
fenced member joins again.
"""

import random
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, protocols

from .history import History

CLASSIC = "classic-member-000000"


class Walker:
    """A member and the protocol that it uses."""

    def __init__(self, walk: "Walk", letter: str, instance: str | None = None) -> None:
        self.walk, self.letter, self.instance = walk, letter, instance
        self.id = f"member-{letter}-000000000000"
        self.is_away = True
        walk.ask.let(f"E{letter}", 0)
        walk.ask.let(f"H{letter}", [])

    def send(self, epoch: Any, **fields: Any) -> None:
        said = {f"E{self.letter}": "member_epoch", f"H{self.letter}": "assignment.topic_partitions"}
        body = {"group_id": self.walk.group_id, "member_id": self.id, "member_epoch": epoch}
        instance = {} if self.instance is None else {"instance_id": self.instance}
        version = self.walk.dice.choice((0, 1, 1))
        self.walk.request("ConsumerGroupHeartbeat", version, body | instance | fields, bind_said=said)

    def join(self) -> None:
        self.is_away = False
        fields: Step = {"rebalance_timeout_ms": 60000, "topic_partitions": []}
        self.send(0, subscribed_topic_names=self.walk.wanted(), **fields | self.assignor())

    def heartbeat(self) -> None:
        held = self.walk.dice.choice((None, f"$H{self.letter}", f"$H{self.letter}", f"$H{self.letter}"))
        self.send(f"$E{self.letter}", topic_partitions=held)

    def full_heartbeat(self) -> None:
        fields = {"rebalance_timeout_ms": 60000, "topic_partitions": f"$H{self.letter}"}
        self.send(f"$E{self.letter}", subscribed_topic_names=self.walk.wanted(), **fields | self.assignor())

    def change_subscription(self) -> None:
        self.send(f"$E{self.letter}", subscribed_topic_names=self.walk.wanted())

    def heartbeat_with_wrong_epoch(self) -> None:
        self.send(f"$E{self.letter}{self.walk.dice.choice(('-1', '+1', '+7'))}", topic_partitions=f"$H{self.letter}")

    def leave(self) -> None:
        self.send(-1 if self.instance is None else self.walk.dice.choice((-1, -2, -2)))
        self.walk.ask.let(f"E{self.letter}", 0)
        self.is_away = True

    def commit(self) -> None:
        odd = self.walk.dice.choice(("", "", "-1", "+1"))
        who = {"member_id": self.id, "generation_id_or_member_epoch": f"$E{self.letter}{odd}"}
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
        topic = {"name": self.walk.dice.choice(self.walk.topics), "partitions": [partition]}
        body = {"group_id": self.walk.group_id, "topics": [topic]} | who
        self.walk.request("OffsetCommit", self.walk.dice.choice((8, 9)), body)

    def assignor(self) -> Step:
        return {"server_assignor": self.walk.assignor} if self.walk.dice.random() < 0.7 else {}


class Walk:
    def __init__(
        self,
        ask: ScenarioBuilder,
        dice: random.Random,
        assignor: str,
        with_classic: bool = False,
        with_topics: bool = False,
    ) -> None:
        self.ask, self.dice, self.assignor = ask, dice, assignor
        sizes = [dice.randint(1, 6)] if assignor == "uniform" else [dice.randint(1, 5) for _ in range(3)]
        self.topics = [ask.topic(f"t{n}", size) for n, size in enumerate(sizes)]
        self.group_id = ask.let("g", f"c<unique>.{ask.name}.g")
        ask.coordinator(self.group_id)
        ask.step("sleep", ms=40)  # the coordinator learns of new topics with a delay
        self.cases = 0
        letters = "abcd"[: dice.randint(2, 4)]
        self.walkers = [Walker(self, letter, f"i{letter}" if dice.random() < 0.3 else None) for letter in letters]
        twins = [one for one in self.walkers if one.instance is not None][:1]
        self.walkers += [Walker(self, "z", one.instance) for one in twins]
        ask.let("G", 0)
        self.with_classic, self.with_topics = with_classic, with_topics
        self.sizes = dict(zip(self.topics, sizes, strict=True))

    def request(self, api: str, version: int, body: Step, **more: Any) -> None:
        self.cases += 1
        version = min(version, self.ask.versions(api)[-1])
        self.ask.request(f"{self.cases} {api} v{version} {body.get('member_id', '')}", api, version, body, **more)

    def wanted(self) -> list[str]:
        """Return the topics to subscribe to; with the uniform assignor, all members get the same ones."""
        if self.assignor == "uniform":
            return self.topics
        return sorted(self.dice.sample(self.topics, self.dice.randint(0, len(self.topics))))

    def go(self, steps: int) -> None:
        for _ in range(steps):
            who = self.dice.choice(self.walkers)
            if who.is_away and self.dice.random() < 0.8:
                who.join()
                continue
            acts = [
                who.join,
                who.heartbeat,
                who.full_heartbeat,
                who.change_subscription,
                who.heartbeat_with_wrong_epoch,
                who.leave,
                who.commit,
            ]
            weights = [1, 12, 2, 2 if self.assignor == "range" else 0, 1, 2, 1]
            if self.with_classic:
                acts.append(self.classic)
                weights.append(6)
            if self.with_topics:
                acts += [self.grow, self.delete_group, self.fetch_offsets, self.list_groups]
                weights += [1, 1, 2, 1]
            self.dice.choices(acts, weights)[0]()
            if self.dice.random() < 0.2:
                self.describe()
        self.describe()

    def describe(self) -> None:
        body = {"group_ids": [self.group_id], "include_authorized_operations": False}
        self.request("ConsumerGroupDescribe", 1, body)

    def grow(self) -> None:
        """Add a partition to a topic, or create a missing one."""
        topic = self.dice.choice(self.topics)
        self.sizes[topic] += 1
        body = {"topics": [{"name": topic, "count": self.sizes[topic], "assignments": None}], "timeout_ms": 10000}
        self.ask.setup("CreatePartitions", 2, body | {"validate_only": False})
        self.ask.wait_for_leader(topic, self.sizes[topic])
        self.ask.step("sleep", ms=100)

    def delete_group(self) -> None:
        self.request("DeleteGroups", 2, {"groups_names": [self.group_id]})

    def fetch_offsets(self) -> None:
        who = self.dice.choice(self.walkers)
        odd = self.dice.choice(("", "", "-1", "+1"))
        asked = [{"name": topic, "partition_indexes": [0, 1]} for topic in self.topics]
        of = {"group_id": self.group_id, "member_id": who.id, "member_epoch": f"$E{who.letter}{odd}", "topics": asked}
        self.request("OffsetFetch", 9, {"groups": [of], "require_stable": self.dice.random() < 0.5})

    def list_groups(self) -> None:
        self.request("ListGroups", 5, {}, keep={"groups": "group_id"})
        self.request("DescribeGroups", 6, {"groups": [self.group_id]})

    def classic(self) -> None:
        """Send a request as the classic member; there is only one, so that it never waits for others."""
        body: Step = {"group_id": self.group_id, "member_id": CLASSIC}
        wanted = protocols(*self.wanted()) if self.assignor == "range" else protocols(*self.topics)
        joining = {"session_timeout_ms": 45000, "rebalance_timeout_ms": 60000, "protocol_type": "consumer"}
        match self.dice.choice(("join", "join", "sync", "sync", "beat", "beat", "leave", "list")):
            case "join":
                more = {"bind_said": {"G": "generation_id"}, "as": {"metadata": "subscription"}}
                self.request("JoinGroup", 9, body | joining | {"protocols": wanted}, **more)
            case "sync":
                named = {
                    "generation_id": "$G",
                    "protocol_type": "consumer",
                    "protocol_name": "range",
                    "assignments": [],
                }
                self.request("SyncGroup", 5, body | named, **{"as": {"assignment": "assignment"}})
            case "beat":
                self.request("Heartbeat", 4, body | {"generation_id": "$G"})
            case "leave":
                leaving = {"group_id": self.group_id, "members": [{"member_id": CLASSIC, "group_instance_id": None}]}
                self.request("LeaveGroup", 5, leaving)
            case "list":
                self.request("ListGroups", 5, {}, keep={"groups": "group_id"})


def consumers(h: History) -> None:
    assignor = h.of("range", "uniform")
    Walk(h, h.dice, assignor, with_classic=h.chance(0.4), with_topics=h.chance(0.5)).go(h.dice.randint(20, 60))
