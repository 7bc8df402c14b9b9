"""Classic groups in random histories: no request waits forever, and members agree with the coordinator."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkalet.protocol.errors import Code
from tests.profile import examples
from tests.unit.broker.groups.acting import ONE_PARTITION, REBALANCE_MS, SESSION_MS, Acting
from tests.unit.model.stage import Pending, Stage

CLIENTS = ("d1", "d2", "d3", "s1", "s2")
PROTOCOLS = ({"range": b"1"}, {"range": b"2"}, {"range": b"1", "sticky": b"1"}, {"sticky": b"1", "range": b"1"})
NEVER_FORGOTTEN = {"offsets.retention.check.interval.ms": str(1 << 40)}
"""Prevents that an empty group without offsets is removed after ten minutes and starts with generation 1 again."""
clients = st.sampled_from(CLIENTS)


class Client:
    """A client's view of its membership, and the request it waits for. Names with "s" are static members."""

    def __init__(self, name: str) -> None:
        self.instance_id = name if name.startswith("s") else None
        self.joining: Pending | None = None
        self.syncing: Pending | None = None
        self.forget()

    def forget(self) -> None:
        self.member_id, self.generation, self.members = "", -1, list[str]()

    @property
    def is_waiting(self) -> bool:
        return self.joining is not None or self.syncing is not None


class Histories(RuleBasedStateMachine):
    """Clients that join, sync, leave, disappear and return, and a broker that restarts."""

    @initialize()
    def begin(self) -> None:
        self.stage = Stage(1, **ONE_PARTITION, **NEVER_FORGOTTEN)
        self.group = Acting(self.stage)
        self.clients = {name: Client(name) for name in CLIENTS}
        self.generation = 0
        self.leaders: dict[int, str] = {}

    def teardown(self) -> None:
        if hasattr(self, "stage"):
            self.stage.close()

    def take_answers(self) -> None:
        for client in self.clients.values():
            if client.joining is not None and not client.joining.is_waiting:
                self.joined(client, client.joining.answer())
                client.joining = None
            if client.syncing is not None and not client.syncing.is_waiting:
                self.synced(client, client.syncing.answer())
                client.syncing = None

    def joined(self, client: Client, answer: dict[str, Any]) -> None:
        code, member_id = answer["error_code"], answer["member_id"]
        if code == Code.MEMBER_ID_REQUIRED:
            client.member_id = member_id
        elif code == Code.NONE:
            generation = answer["generation_id"]
            assert generation >= self.generation or self.generation == 0, "generations go on"
            self.generation = generation
            leads = answer["leader"] == member_id
            if leads:
                assert self.leaders.setdefault(generation, member_id) == member_id or client.instance_id
                assert member_id in [member["member_id"] for member in answer["members"]]
            client.member_id, client.generation = member_id, generation
            client.members = [member["member_id"] for member in answer["members"]]
        else:
            client.forget()

    def synced(self, client: Client, answer: dict[str, Any]) -> None:
        assert answer["error_code"] in (Code.NONE, Code.REBALANCE_IN_PROGRESS, *LOST), answer
        if answer["error_code"] in LOST:
            client.forget()

    @rule(name=clients, protocols=st.sampled_from(PROTOCOLS), version=st.sampled_from((3, 5, 9)))
    def join(self, name: str, protocols: dict[str, bytes], version: int) -> None:
        client = self.clients[name]
        if client.is_waiting or (client.instance_id and version < 5):
            return
        more = {"group_instance_id": client.instance_id} if client.instance_id else {}
        client.joining = self.group.join(client.member_id, version, protocols, **more)
        self.take_answers()

    @rule(name=clients)
    def sync(self, name: str) -> None:
        client = self.clients[name]
        if client.is_waiting or client.generation < 0:
            return
        given = {member: member.encode() for member in client.members}
        more: dict[str, Any] = {"group_instance_id": client.instance_id} if client.instance_id else {}
        client.syncing = self.group.sync(client.generation, client.member_id, given, **more)
        self.take_answers()

    @rule(name=clients)
    def heartbeat(self, name: str) -> None:
        client = self.clients[name]
        if client.generation >= 0 and not client.is_waiting:
            if self.group.heartbeat(client.generation, client.member_id) in LOST:
                client.forget()
            self.take_answers()

    @rule(name=clients)
    def leave(self, name: str) -> None:
        client = self.clients[name]
        if client.member_id and not client.is_waiting:
            self.group.leave(client.member_id)
            client.forget()
            self.take_answers()

    @rule(name=clients)
    def forget(self, name: str) -> None:
        """A client restarts and no longer knows its member id."""
        client = self.clients[name]
        if not client.is_waiting:
            client.forget()

    @rule(ms=st.sampled_from((100, SESSION_MS // 2, SESSION_MS, REBALANCE_MS)))
    def pass_time(self, ms: int) -> None:
        self.stage.advance(ms)
        self.take_answers()

    @precondition(lambda self: not any(client.is_waiting for client in self.clients.values()))
    @rule()
    def restart(self) -> None:
        before = self.group.described()
        self.stage.restart()
        after = self.group.described()
        if before["group_state"] in ("Stable", "Empty") and before["members"]:
            assert after == before
        assert after["group_state"] in ("Stable", "Empty", "Dead")
        self.generation, self.leaders = 0, {}  # generations that were not written yet are lost

    @rule()
    def wait_for_all_clients(self) -> None:
        """No request waits for longer than the timeouts allow, whatever the other clients do."""
        self.stage.advance(2 * (REBALANCE_MS + SESSION_MS))
        self.take_answers()
        assert not any(client.is_waiting for client in self.clients.values())

    @invariant()
    def members_are_those_of_the_coordinator(self) -> None:
        if not hasattr(self, "stage"):
            return
        described = self.group.described()
        ids = [member["member_id"] for member in described["members"]]
        names = [member["group_instance_id"] for member in described["members"] if member["group_instance_id"]]
        assert len(set(ids)) == len(ids)
        assert len(set(names)) == len(names)
        if described["group_state"] in ("Empty", "Dead"):
            assert ids == []


LOST = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.FENCED_INSTANCE_ID)

TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=examples(0.2), stateful_step_count=30)
