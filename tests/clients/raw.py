"""A classic group member that sends each request explicitly, including sequences that no client sends.

It subscribes to one topic. The leader may assign any partitions; it supports the protocols range and roundrobin.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from kafkalet_conformance.playing.connection import Connection

Plain = dict[str, Any]
GROUP, TRANSACTION = 0, 1
REBALANCE_IN_PROGRESS = 27
MEMBER_ID_REQUIRED = 79
NOT_THERE_YET = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: retriable errors."""


def connect(server: str) -> Connection:
    host, _, port = server.rpartition(":")
    return Connection(host, int(port), timeout_s=20)


def coordinator(bootstrap: str, key: str, key_type: int = GROUP) -> Connection:
    """Connect to the coordinator of a group or transactional id."""
    with contextlib.closing(connect(bootstrap.split(",", maxsplit=1)[0])) as asked:
        body = {"key_type": key_type, "coordinator_keys": [key]}
        while (found := asked.ask("FindCoordinator", 4, body)["coordinators"][0])["error_code"] in NOT_THERE_YET:
            pass
    assert found["error_code"] == 0, found
    return connect(f"{found['host']}:{found['port']}")


class RawMember:
    """A group member with its own connection. Responses are returned unchanged, errors included."""

    def __init__(self, bootstrap: str, group: str, topic: str, session_timeout_ms: int = 10_000) -> None:
        self.connection = coordinator(bootstrap, group)
        self.group, self.topic, self.session_timeout_ms = group, topic, session_timeout_ms
        self.member_id = ""
        self.generation = -1
        self._waiting = 0

    def close(self) -> None:
        """Close the connection without leaving the group; the session will expire."""
        self.connection.close()

    # Joining

    def send_join(self) -> None:
        """Send JoinGroup; a new member first obtains a member id from the broker."""
        metadata = {"subscription": {"version": 0, "topics": [self.topic]}}
        body = {
            "group_id": self.group,
            "session_timeout_ms": self.session_timeout_ms,
            "rebalance_timeout_ms": 20_000,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name in ("range", "roundrobin")],
        }
        if not self.member_id:
            while (required := self.connection.ask("JoinGroup", 4, body))["error_code"] in NOT_THERE_YET:
                pass
            assert required["error_code"] == MEMBER_ID_REQUIRED, required
            self.member_id = body["member_id"] = required["member_id"]
        self._waiting = self.connection.send("JoinGroup", 7, body)

    def joined(self) -> Plain:
        """Return the response to `send_join`, which is sent when all members have joined."""
        answer = self.connection.receive(self._waiting)
        if answer["error_code"] == 0:
            self.generation = answer["generation_id"]
        return answer

    def is_answered(self) -> bool:
        """Wait for a moment, and return whether the outstanding response has arrived."""
        return self.connection.has_answer(self._waiting, 0.002)

    def send_sync(self, assignments: dict[str, Sequence[int]] | None = None, **more: Any) -> None:
        """Send SyncGroup; the leader passes the assignments of all members."""
        given = [
            {"member_id": member_id, "assignment": self.assignment(partitions)}
            for member_id, partitions in (assignments or {}).items()
        ]
        self._waiting = self.connection.send("SyncGroup", 3, self._identity() | {"assignments": given} | more)

    def assignment(self, partitions: Sequence[int]) -> Plain:
        return {
            "assignment": {"version": 0, "assigned_partitions": [{"topic": self.topic, "partitions": list(partitions)}]}
        }

    def synced(self) -> Plain:
        return self.connection.receive(self._waiting)

    # Membership

    def _identity(self) -> Plain:
        return {"group_id": self.group, "generation_id": self.generation, "member_id": self.member_id}

    def heartbeat(self, **more: Any) -> int:
        code: int = self.connection.ask("Heartbeat", 3, self._identity() | more)["error_code"]
        return code

    def send_commit(self, offsets: dict[int, int], **more: Any) -> None:
        """Send OffsetCommit without waiting for the response."""
        partitions = [{"partition_index": index, "committed_offset": offset} for index, offset in offsets.items()]
        identity = {
            "group_id": self.group,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
        }
        body = identity | {"topics": [{"name": self.topic, "partitions": partitions}]} | more
        self._waiting = self.connection.send("OffsetCommit", 8, body)

    def was_committed(self) -> set[int]:
        """Return the error codes of all partitions in the response to `send_commit`."""
        topics = self.connection.receive(self._waiting)["topics"]
        return {partition["error_code"] for topic in topics for partition in topic["partitions"]}

    def commit(self, offsets: dict[int, int], **more: Any) -> set[int]:
        self.send_commit(offsets, **more)
        return self.was_committed()

    def leave(self) -> int:
        members = [{"member_id": self.member_id, "group_instance_id": None}]
        answer = self.connection.ask("LeaveGroup", 4, {"group_id": self.group, "members": members})
        code: int = answer["error_code"] or answer["members"][0]["error_code"]
        return code


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Return all offsets that a group has committed for a topic."""
    with contextlib.closing(coordinator(bootstrap, group)) as asked:
        answer = asked.ask("OffsetFetch", 7, {"group_id": group, "topics": None, "require_stable": False})
    assert answer["error_code"] == 0, answer
    return {
        partition["partition_index"]: partition["committed_offset"]
        for each in answer["topics"]
        if each["name"] == topic
        for partition in each["partitions"]
    }


@contextlib.contextmanager
def form_group(bootstrap: str, group: str, topic: str, count: int) -> Iterator[list[RawMember]]:
    """Form a group of `count` members in one generation; the first in the list is the leader."""
    members = [RawMember(bootstrap, group, topic) for _ in range(count)]
    try:
        rebalance(members)
        yield members
    finally:
        for member in members:
            member.close()


def rebalance(members: list[RawMember]) -> list[list[int]]:
    """Let all members join and share three partitions; return the assignments. The leader is moved to the front."""
    for member in members:
        member.send_join()
    answers: dict[str, Plain] = {}
    waiting = members
    while waiting:
        still = [member for member in waiting if not member.is_answered()]
        answers |= {member.member_id: member.joined() for member in waiting if member not in still}
        for member in members:
            if still and member not in still and member.heartbeat() == REBALANCE_IN_PROGRESS:
                member.send_join()  # a member of the previous generation has to rejoin
                still.append(member)
        waiting = still
    return share(members, answers)


def share(members: list[RawMember], answers: dict[str, Plain]) -> list[list[int]]:
    leader = next(answer["leader"] for answer in answers.values())
    members.sort(key=lambda member: member.member_id != leader)
    plan = {
        member.member_id: [index for index in range(3) if index % len(members) == number]
        for number, member in enumerate(members)
    }
    for member in members:
        member.send_sync(plan if member.member_id == leader else None)
    for member in members:
        assert member.synced()["error_code"] == 0
    return list(plan.values())
