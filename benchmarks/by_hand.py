"""The requests of clients, sent raw one after the other, without the clients' own waits.

Each function returns the time until the last response in milliseconds. The difference from the same row of a client
library is the client's part of a wait: backoffs, heartbeat intervals, linger times and its own processor time. If a
coordinator is not available yet, the request is repeated after RETRY_S.
"""

import socket
import time
from collections.abc import Callable
from struct import pack
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import request_type, response_type

from .coordination import NOT_YET, Transactor
from .load import ask, fetch_request, frame, produce_request

Address = tuple[str, int]

RETRY_S = 0.002
PATIENCE_S = 60.0
SESSION_TIMEOUT_MS = 30_000
PROTOCOL = "consumer"


def since_ms(begun_s: float) -> float:
    return (time.perf_counter() - begun_s) * 1000


def _types(api: Api) -> Any:
    return request_type(api)


def _until(ready: Callable[[], int]) -> None:
    """Repeat a request until its error code no longer says that the broker is not ready."""
    deadline = time.monotonic() + PATIENCE_S
    while (code := ready()) in NOT_YET:
        if time.monotonic() > deadline:
            raise SystemExit(f"the broker is not ready: {Code(code).name}")
        time.sleep(RETRY_S)
    assert code == 0, Code(code).name


def answered(address: Address) -> None:
    """Wait for one response."""
    with socket.create_connection(address) as sock:
        ask(sock, _types(Api.API_VERSIONS)(), Api.API_VERSIONS, 0)


# Topics and records


def topics_created(address: Address, names: list[str], partitions: int = 1) -> float:
    """Create topics with one request, in the version that librdkafka uses."""
    create = _types(Api.CREATE_TOPICS)
    each = [
        create.Topic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
        for name in names
    ]
    begun_s = time.perf_counter()
    with socket.create_connection(address) as sock:
        for topic in ask(sock, create(topics=each, timeout_ms=60_000), Api.CREATE_TOPICS, 4).topics:
            assert topic.error_code == 0, Code(topic.error_code).name
    return since_ms(begun_s)


def record_read_back(address: Address, topic: str) -> float:
    """Create a topic by requesting its metadata, produce a record and read it."""
    begun_s = time.perf_counter()
    with socket.create_connection(address) as sock:
        _until(lambda: _metadata(sock, topic))
        _until(lambda: _produced(sock, topic))
        _fetched(sock, topic)
    return since_ms(begun_s)


def _metadata(sock: socket.socket, topic: str) -> int:
    metadata = _types(Api.METADATA)
    code: int = ask(sock, metadata(topics=[metadata.Topic(name=topic)]), Api.METADATA, 4).topics[0].error_code
    return Code.UNKNOWN_TOPIC_OR_PARTITION if code == Code.LEADER_NOT_AVAILABLE else code


def _produced(sock: socket.socket, topic: str) -> int:
    sock.sendall(produce_request(1024, topic))
    code: int = _answer(sock, Api.PRODUCE, 7).responses[0].partition_responses[0].error_code
    return Code.NOT_COORDINATOR if code == Code.NOT_LEADER_OR_FOLLOWER else code


def _fetched(sock: socket.socket, topic: str) -> None:
    answer = ask(sock, fetch_request(0, 1 << 20, topic), Api.FETCH, 11)
    assert answer.responses[0].partitions[0].records


# Groups


class Member:
    """A member of a group that uses the classic protocol, with one connection."""

    def __init__(self, address: Address, group: str, topic: str) -> None:
        self.address, self.group, self.topic = address, group, topic
        self.sock = socket.create_connection(address)
        self.member_id, self.generation, self.leads = "", -1, False

    def find(self) -> None:
        find = _types(Api.FIND_COORDINATOR)(key=self.group)
        _until(lambda: ask(self.sock, find, Api.FIND_COORDINATOR, 3).error_code)

    def join_request(self) -> Any:
        types = _types(Api.JOIN_GROUP)
        topics = pack(">hih", 0, 1, len(self.topic)) + self.topic.encode() + pack(">i", -1)
        return types(
            group_id=self.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type=PROTOCOL,
            protocols=[types.Protocol(name="range", metadata=topics)],
        )

    def enter(self) -> None:
        """Get a member id."""

        def asked() -> int:
            answer = ask(self.sock, self.join_request(), Api.JOIN_GROUP, 5)
            self.member_id = answer.member_id
            code: int = answer.error_code
            return 0 if code == Code.MEMBER_ID_REQUIRED else code

        _until(asked)

    def joined(self, answer: Any) -> None:
        assert answer.error_code == 0, Code(answer.error_code).name
        self.generation, self.leads = answer.generation_id, answer.leader == self.member_id

    def join(self) -> None:
        self.joined(ask(self.sock, self.join_request(), Api.JOIN_GROUP, 5))

    def sync_request(self, assignments: dict[str, list[int]]) -> Any:
        types = _types(Api.SYNC_GROUP)
        name = self.topic.encode()
        return types(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            assignments=[
                types.Assignment(
                    member_id=member,
                    assignment=pack(">hih", 0, 1, len(name))
                    + name
                    + pack(f">i{len(partitions)}ii", len(partitions), *partitions, -1),
                )
                for member, partitions in assignments.items()
            ],
        )

    def sync(self, assignments: dict[str, list[int]]) -> None:
        answer = ask(self.sock, self.sync_request(assignments), Api.SYNC_GROUP, 3)
        assert answer.error_code == 0, Code(answer.error_code).name
        assert answer.assignment

    def heartbeat(self) -> int:
        request = _types(Api.HEARTBEAT)(group_id=self.group, generation_id=self.generation, member_id=self.member_id)
        code: int = ask(self.sock, request, Api.HEARTBEAT, 3).error_code
        return code

    def committed(self) -> None:
        types = _types(Api.OFFSET_FETCH)
        wanted = types(group_id=self.group, topics=[types.Topic(name=self.topic, partition_indexes=[0])])
        _until(lambda: ask(self.sock, wanted, Api.OFFSET_FETCH, 7).error_code)

    def commit(self) -> None:
        types = _types(Api.OFFSET_COMMIT)
        partition = types.Topic.Partition(partition_index=0, committed_offset=1, committed_metadata="")
        request = types(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=[types.Topic(name=self.topic, partitions=[partition])],
        )
        code = ask(self.sock, request, Api.OFFSET_COMMIT, 8).topics[0].partitions[0].error_code
        assert code == 0, Code(code).name

    def beginning(self) -> None:
        types = _types(Api.LIST_OFFSETS)
        topic = types.Topic(name=self.topic, partitions=[types.Topic.Partition(partition_index=0, timestamp=-2)])
        ask(self.sock, types(replica_id=-1, topics=[topic]), Api.LIST_OFFSETS, 7)

    def leave(self) -> None:
        types = _types(Api.LEAVE_GROUP)
        request = types(group_id=self.group, members=[types.Member(member_id=self.member_id)])
        assert ask(self.sock, request, Api.LEAVE_GROUP, 4).error_code == 0


def group_steps(address: Address, group: str, topic: str) -> dict[str, float]:
    """Join a group as its only member, read the first record, commit and leave."""
    begun_s = time.perf_counter()
    member = Member(address, group, topic)
    with member.sock as sock:
        ask(sock, _types(Api.API_VERSIONS)(), Api.API_VERSIONS, 0)
        _until(lambda: _metadata(sock, topic))
        member.find()
        member.enter()
        member.join()
        member.sync({member.member_id: [0]})
        member.committed()
        member.beginning()
        _fetched(sock, topic)
        figures = {"first record": since_ms(begun_s)}
        begun_s = time.perf_counter()
        member.commit()
        figures["commit"] = since_ms(begun_s)
        begun_s = time.perf_counter()
        member.leave()
        figures["close"] = since_ms(begun_s)
    return figures


def rebalances(address: Address, group: str, topic: str) -> dict[str, float]:
    """Let a second member join the group of a first one, and leave it again.

    The first member immediately sends a heartbeat to learn that it has to join again; clients do so at their heartbeat
    interval.
    """
    one, two = Member(address, group, topic), Member(address, group, topic)
    with one.sock, two.sock:
        one.find()
        one.enter()
        one.join()
        one.sync({one.member_id: [0, 1]})
        begun_s = time.perf_counter()
        two.find()
        two.enter()
        two.sock.sendall(frame(two.join_request(), Api.JOIN_GROUP, 5))
        _join_again(one)
        two.joined(_answer(two.sock, Api.JOIN_GROUP, 5))
        leader, follower = (one, two) if one.leads else (two, one)
        follower.sock.sendall(frame(follower.sync_request({}), Api.SYNC_GROUP, 3))
        leader.sync({one.member_id: [0], two.member_id: [1]})
        assert _answer(follower.sock, Api.SYNC_GROUP, 3).assignment
        figures = {"second joins": since_ms(begun_s)}
        begun_s = time.perf_counter()
        two.leave()
        _join_again(one)
        one.sync({one.member_id: [0, 1]})
        figures["second leaves"] = since_ms(begun_s)
        one.leave()
    return figures


def _join_again(member: Member) -> None:
    while member.heartbeat() != Code.REBALANCE_IN_PROGRESS:
        time.sleep(RETRY_S / 4)
    member.join()


def _answer(sock: socket.socket, api: Api, version: int) -> Any:
    size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    data = sock.recv(size, socket.MSG_WAITALL)
    return response_type(api).decode(data, version, 5 if version in api.flexible else 4)


# Transactions


def transactions(address: Address, name: str) -> dict[str, float]:
    """Initialise a transactional producer and commit a transaction, then a second one."""
    begun_s = time.perf_counter()
    transactor = Transactor(address, name)
    with transactor.sock:
        transactor.run()
        figures = {"first transaction": since_ms(begun_s)}
        begun_s = time.perf_counter()
        transactor.run()
        figures["second transaction"] = since_ms(begun_s)
    return figures
