"""Histories of classic groups and of committed offsets: members that join, sync, commit and leave, and other clients.

Joins and syncs may wait for other members, so they happen in rounds: each participating member sends its request on a
separate connection, then all responses are received. Each member keeps the values of its last response.
"""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step

from .history import History

SESSION_MS = 30_000
REBALANCE_MS = 700
APART_MS = 25


class Member:
    """A group member and the names bound to its member id and generation."""

    def __init__(self, h: History, number: int) -> None:
        self.number = number
        self.id = h.let(f"M{number}", "")
        self.generation: Any = h.let(f"N{number}", -1)
        self.instance_id = f"i{h.of(1, 1, 2)}" if h.chance(0.3) else None
        self.is_in = False


def groups(h: History) -> None:
    h.make_topics(1, 2, dict)
    h.coordinator(h.let("G", "c<unique>.h.G"))
    members = [Member(h, number) for number in range(1, h.of(3, 4))]
    if h.chance(0.8):
        round_of_joins(h, members)
    for _ in range(h.dice.randint(5, 16)):
        h.weighted(
            (4, lambda: round_of_joins(h, members)),
            (3, lambda: syncs(h, members)),
            (4, lambda: heartbeat(h, members)),
            (6, lambda: commit(h, members)),
            (5, lambda: fetch(h)),
            (3, lambda: describe(h)),
            (2, lambda: leave(h, members)),
            (2, lambda: forget(h)),
            (1, lambda: forget_group(h)),
        )
    describe(h)
    fetch(h)


def offsets(h: History) -> None:
    """Commit and fetch offsets in a group without members."""
    h.make_topics(1, 3, dict)
    h.coordinator(h.let("G", "c<unique>.h.G"))
    for _ in range(h.dice.randint(5, 25)):
        h.weighted(
            (8, lambda: commit(h, [])),
            (6, lambda: fetch(h)),
            (1, lambda: describe(h)),
            (2, lambda: forget(h)),
            (1, lambda: forget_group(h)),
        )
    fetch(h)


def metadata(h: History) -> str:
    """Return a subscription of version 0, or invalid metadata."""
    topics = sorted({topic for topic, _ in h.places})
    chosen: str = h.of("nothing", "hex:0000000000000000ffffffff", "hex:000100000000ffffffff00000000", topics[0])
    return chosen


def joining(h: History, member: Member, version: int) -> Step:
    names = h.of(["range"], ["range"], ["range", "sticky"], ["sticky", "range"], ["other"], [])
    if h.chance(0.7):
        names = ["range", "sticky"]
    body: Step = {
        "group_id": "$G",
        "session_timeout_ms": SESSION_MS if h.chance(0.97) else h.of(0, 5999, 1_800_001),
        "rebalance_timeout_ms": REBALANCE_MS,
        "member_id": member.id if h.chance(0.97) else h.of("", "nobody"),
        "protocol_type": "test" if h.chance(0.96) else h.of("", "consumer"),
        "protocols": [{"name": name, "metadata": h.of("a", "a", "b")} for name in names],
    }
    if version >= 5:
        body["group_instance_id"] = member.instance_id
    return body


def round_of_joins(h: History, members: list[Member]) -> None:
    """Let the current members and some new ones join; occasionally, leave one of them out."""
    taking = [member for member in members if member.is_in or h.chance(0.5)] or members[:1]
    if len(taking) > 1 and h.chance(0.1):
        taking.pop()
    sent = []
    for member in taking:
        version = h.version("JoinGroup", 5 if member.instance_id else 0)
        bound = {f"M{member.number}": "member_id"}
        if version >= 4 and member.instance_id is None and not member.is_in:
            body = joining(h, member, version)
            h.ask("JoinGroup", version, body, bind=bound, conn=f"c{member.number}", timeout_ms=5000)
        h.cases += 1
        name = f"j{h.cases}"
        ScenarioBuilder.send(h, name, "JoinGroup", version, joining(h, member, version), conn=f"c{member.number}")
        h.step("sleep", ms=APART_MS)
        sent.append((member, name, bound))
        member.is_in = True
    for member, name, bound in sent:
        h.receive(f"{name} is answered", name, bind={**bound, f"N{member.number}": "generation_id"})
    if h.chance(0.85):
        syncs(h, taking)


def syncs(h: History, members: list[Member]) -> None:
    taking = [member for member in members if member.is_in]
    sent = []
    for member in taking:
        version = h.version("SyncGroup", 3 if member.instance_id else 0)
        body: Step = {"group_id": "$G", "generation_id": generation(h, member), "member_id": member.id}
        body["assignments"] = [{"member_id": other.id, "assignment": f"of {other.number}"} for other in taking]
        if version >= 3:
            body["group_instance_id"] = member.instance_id
        if version >= 5:
            body |= {"protocol_type": h.of("test", "test", "test", None, "x")}
            body |= {"protocol_name": h.of("range", "range", None, "sticky")}
        h.cases += 1
        name = f"s{h.cases}"
        ScenarioBuilder.send(h, name, "SyncGroup", version, body, conn=f"c{member.number}")
        h.step("sleep", ms=APART_MS)
        sent.append(name)
    for name in sent:
        h.receive(f"{name} is answered", name)


def generation(h: History, member: Member) -> Any:
    return member.generation if h.chance(0.93) else h.of(f"{member.generation}+1", f"{member.generation}-1", -1, 0, 99)


def who(h: History, members: list[Member], version: int, knows_instances: int) -> Step:
    """Return the id and generation of a member, or of one that does not exist."""
    if not members or h.chance(0.25):
        body: Step = {"member_id": h.of("", "", "", "nobody"), "generation": h.of(-1, -1, -1, 0, 1)}
    else:
        member = h.dice.choice(members)
        body = {"member_id": member.id, "generation": generation(h, member)}
        if version >= knows_instances and (member.instance_id or h.chance(0.03)):
            body["group_instance_id"] = member.instance_id or "i1"
    return body


def heartbeat(h: History, members: list[Member]) -> None:
    version = h.version("Heartbeat")
    body = who(h, members, version, 3)
    h.ask("Heartbeat", version, {"group_id": "$G", "generation_id": body.pop("generation")} | body)


def leave(h: History, members: list[Member]) -> None:
    version = h.version("LeaveGroup")
    chosen = h.dice.sample(members, h.of(1, 1, min(2, len(members))))
    if version < 3:
        chosen = chosen[:1]
        h.ask("LeaveGroup", version, {"group_id": "$G", "member_id": chosen[0].id})
    else:
        entries = [
            {"member_id": h.of(member.id, member.id, ""), "group_instance_id": member.instance_id} for member in chosen
        ]
        if h.chance(0.2):
            entries.append({"member_id": "nobody", "group_instance_id": h.of(None, "i1", "i9")})
        h.ask("LeaveGroup", version, {"group_id": "$G", "members": entries})
    for member in chosen:
        member.is_in = False
        h.let(f"M{member.number}", "")


def commit(h: History, members: list[Member]) -> None:
    version = h.version("OffsetCommit", 1, 9)
    body = who(h, members, version, 7)
    body = {"group_id": "$G", "generation_id_or_member_epoch": body.pop("generation")} | body
    if 2 <= version <= 4 and h.chance(0.3):
        body["retention_time_ms"] = h.of(-1, 1000, 0)
    partitions = []
    for topic, partition in h.dice.sample(h.places, min(len(h.places), h.of(1, 1, 2))):
        entry = {"partition_index": partition if h.chance(0.95) else h.of(9, -1)}
        entry |= {"committed_offset": h.of(0, 1, 5, 77, -1), "committed_metadata": h.of(None, "", "m", "m" * 4097)}
        if version >= 6:
            entry["committed_leader_epoch"] = h.of(-1, 0, 5)
        partitions.append((topic if h.chance(0.95) else h.unknown_topic(), entry))
    h.ask("OffsetCommit", version, body | {"topics": h.grouped(partitions)})


def fetch(h: History) -> None:
    version = h.version("OffsetFetch", 1, 9)
    asked: Any = [
        {"name": topic, "partition_indexes": [partition]}
        for topic, partition in (h.place() for _ in range(h.of(1, 2, 3)))
    ]
    if version >= 2 and h.chance(0.3):
        asked = None
    group = {"group_id": "$G" if h.chance(0.95) else h.of("", "c.nobody"), "topics": asked}
    body: Step = {"groups": [group]} if version >= 8 else dict(group)
    if version >= 7:
        body["require_stable"] = h.chance(0.3)
    h.ask("OffsetFetch", version, body)


def describe(h: History) -> None:
    names = ["$G"] if h.chance(0.9) else h.of(["c.nobody"], ["$G", "c.nobody"], [""], ["$G", "$G"])
    version = h.version("DescribeGroups")
    body: Step = {"groups": names}
    if version >= 3:
        body["include_authorized_operations"] = h.chance(0.3)
    h.ask("DescribeGroups", version, body)


def forget(h: History) -> None:
    """Send OffsetDelete."""
    topic, partition = h.place()
    asked = [{"name": topic, "partitions": [{"partition_index": partition}]}]
    h.ask("OffsetDelete", 0, {"group_id": "$G" if h.chance(0.9) else h.of("", "c.nobody"), "topics": asked})


def forget_group(h: History) -> None:
    names = ["$G"] if h.chance(0.8) else h.of(["c.nobody"], [""], ["$G", "c.nobody"])
    h.ask("DeleteGroups", h.version("DeleteGroups"), {"groups_names": names})
