"""Clients of a classic group, on a stage whose clock the test controls."""

from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages.subscription import ConsumerProtocolSubscription
from tests.unit.model.stage import Pending, Stage

Protocols = dict[str, bytes] | list[tuple[str, bytes]]
RANGE: dict[str, bytes] = {"range": b"r"}
ONE_PARTITION = {"offsets.topic.num.partitions": "1"}
"""A broker configuration that starts quickly."""
SESSION_MS = 10_000
REBALANCE_MS = 30_000


def subscription(*topics: str) -> bytes:
    """Return a subscription as a consumer sends it in JoinGroup."""
    return b"\0\0" + ConsumerProtocolSubscription(topics=list(topics)).encode(0)


class Acting:
    """The clients of a group."""

    def __init__(self, stage: Stage, group_id: str = "g") -> None:
        self.stage = stage
        self.group_id = group_id
        self.node = stage.coordinator(group_id, 0)

    def begin(self, api: Api, version: int, **fields: Any) -> Pending:
        return self.stage.begin(api, version, self.node, client_id="ann", group_id=self.group_id, **fields)

    def join(self, member_id: str = "", version: int = 9, protocols: Protocols = RANGE, **fields: Any) -> Pending:
        known = {"session_timeout_ms": SESSION_MS, "member_id": member_id, "protocol_type": "consumer"}
        if version >= 1:
            known["rebalance_timeout_ms"] = REBALANCE_MS
        named = protocols.items() if isinstance(protocols, dict) else protocols
        listed = [{"name": name, "metadata": metadata} for name, metadata in named]
        return self.begin(Api.JOIN_GROUP, version, **known | {"protocols": listed} | fields)

    def given_id(self, **fields: Any) -> str:
        """Return the member id that a new client has to join with."""
        answer = self.join(**fields).answer()
        assert answer["error_code"] == 79
        return str(answer["member_id"])

    def enter(self, **fields: Any) -> tuple[str, Pending]:
        """Join as a new dynamic member."""
        member_id = self.given_id(**fields)
        return member_id, self.join(member_id, **fields)

    def sync(
        self,
        generation: int,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        version: int = 4,
        **more: Any,
    ) -> Pending:
        listed = [{"member_id": name, "assignment": given} for name, given in (assignments or {}).items()]
        fields = {"generation_id": generation, "member_id": member_id, "assignments": listed} | more
        return self.begin(Api.SYNC_GROUP, version, **fields)

    def heartbeat(self, generation: int, member_id: str, **more: Any) -> int:
        fields = {"generation_id": generation, "member_id": member_id} | more
        return int(self.begin(Api.HEARTBEAT, 4, **fields).answer()["error_code"])

    def leave(self, *members: str | dict[str, Any]) -> list[int]:
        """Remove members and return the error code of each."""
        named = [{"member_id": member} if isinstance(member, str) else member for member in members]
        answer = self.begin(Api.LEAVE_GROUP, 5, members=named).answer()
        assert answer["error_code"] == 0
        return [member["error_code"] for member in answer["members"]]

    def commit(self, generation: int, member_id: str, **more: Any) -> int:
        if "t" not in self.stage.cluster._server.metadata.topics:
            self.stage.cluster.topic("t").create(1)
        partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        fields = {"generation_id_or_member_epoch": generation, "member_id": member_id} | more
        pending = self.begin(Api.OFFSET_COMMIT, 8, topics=[{"name": "t", "partitions": [partition]}], **fields)
        self.stage.settle()
        return int(pending.answer()["topics"][0]["partitions"][0]["error_code"])

    def described(self) -> dict[str, Any]:
        answer = self.stage.begin(Api.DESCRIBE_GROUPS, 5, self.node, groups=[self.group_id]).answer()
        described: dict[str, Any] = answer["groups"][0]
        return described

    @property
    def state(self) -> str:
        return str(self.described()["group_state"])

    @property
    def member_ids(self) -> list[str]:
        return [member["member_id"] for member in self.described()["members"]]

    def assign(self, generation: int, leader: str, *followers: str) -> None:
        """Let all members sync. The assignment of each is its number."""
        waiting = [self.sync(generation, member) for member in followers]
        given = {member: b"%d" % number for number, member in enumerate((leader, *followers))}
        answer = self.sync(generation, leader, given).answer()
        assert (answer["error_code"], answer["assignment"]) == (0, b"0")
        self.stage.settle()
        for number, pending in enumerate(waiting):
            assert pending.answer()["assignment"] == b"%d" % (number + 1)

    def stable(self, members: int = 1, **fields: Any) -> tuple[int, list[str]]:
        """Create a stable group of dynamic members. Returns its generation and the member ids, the leader first."""
        joined: list[str] = []
        for _ in range(members):
            member_id, last = self.enter(**fields)
            waiting = [self.join(known, **fields) for known in joined]
            joined.append(member_id)
            answers = [pending.answer() for pending in (*waiting, last)]
            generation = int(answers[0]["generation_id"])
            assert {answer["leader"] for answer in answers} == {joined[0]}
        self.assign(generation, *joined)
        assert self.state == "Stable"
        return generation, joined
