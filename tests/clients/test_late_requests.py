"""Duplicate, late and stale requests of members and producers whose generation or epoch has passed.

All tests also run against Apache Kafka (`make oracle`): the error codes are Kafka's.
"""

import contextlib
import itertools
from collections.abc import Iterator

import pytest

from kafkalet.protocol.records.build import build_batch, numbered

from .drivers import ConfluentKafka
from .raw import TRANSACTION, Plain, RawMember, committed, connect, coordinator, form_group, rebalance
from .waiting import until

NONE = 0
NOT_LEADER_OR_FOLLOWER = 6
ILLEGAL_GENERATION = 22
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
PRODUCER_FENCED = 90
BUSY = (14, 15, 16, 51)
"""The coordinator is loading, or still writing the previous transaction's markers (CONCURRENT_TRANSACTIONS)."""

_numbers = itertools.count()


@pytest.fixture
def name() -> str:
    return f"late-{next(_numbers)}"


@pytest.fixture
def topic(bootstrap: str, name: str) -> str:
    client = ConfluentKafka(bootstrap)
    with contextlib.closing(client):
        client.create_topic(name, 3)
        until(lambda: name in client.list_topics())
    return name


# Members


@pytest.fixture
def leader_and_follower(bootstrap: str, topic: str, name: str) -> Iterator[list[RawMember]]:
    """The leader and a follower of a stable group."""
    with form_group(bootstrap, name, topic, 2) as members:
        yield members


def test_requests_of_older_generation_are_rejected(leader_and_follower: list[RawMember], bootstrap: str) -> None:
    leader, follower = leader_and_follower
    older = leader.generation
    rebalance(leader_and_follower)
    assert leader.generation == follower.generation > older
    assert follower.heartbeat(generation_id=older) == ILLEGAL_GENERATION
    assert follower.commit({0: 1}, generation_id_or_member_epoch=older) == {ILLEGAL_GENERATION}
    follower.send_sync(generation_id=older)
    assert follower.synced()["error_code"] == ILLEGAL_GENERATION
    assert committed(bootstrap, follower.group, follower.topic) == {}
    assert follower.heartbeat() == NONE, "the member is still in the group"


def test_commit_during_rebalance_is_rejected_once_the_member_has_rejoined(leader_and_follower: list[RawMember]) -> None:
    leader, follower = leader_and_follower
    leader.send_join()
    until(lambda: follower.heartbeat() == REBALANCE_IN_PROGRESS)
    assert follower.commit({0: 1}) == {NONE}, "members may commit before they rejoin"
    follower.send_join()
    assert follower.joined()["error_code"] == leader.joined()["error_code"] == NONE
    assert follower.commit({0: 2}) == {REBALANCE_IN_PROGRESS}, "it has joined but has no assignment yet"


def test_member_that_leaves_twice_is_unknown(leader_and_follower: list[RawMember]) -> None:
    _, follower = leader_and_follower
    assert follower.leave() == NONE
    assert follower.leave() == UNKNOWN_MEMBER_ID
    assert follower.heartbeat() == UNKNOWN_MEMBER_ID


def test_second_sync_of_a_member_gets_the_same_assignment(leader_and_follower: list[RawMember]) -> None:
    _, follower = leader_and_follower
    follower.send_sync()
    first = follower.synced()
    follower.send_sync()
    assert follower.synced() == first
    assert first["error_code"] == NONE


def test_rejoining_follower_causes_no_rebalance(leader_and_follower: list[RawMember]) -> None:
    """The follower may have missed the response to its first request."""
    leader, follower = leader_and_follower
    before = follower.generation
    follower.send_join()
    assert follower.joined()["generation_id"] == before
    assert leader.heartbeat() == NONE


def test_rejoining_leader_causes_rebalance(leader_and_follower: list[RawMember]) -> None:
    leader, follower = leader_and_follower
    leader.send_join()
    until(lambda: follower.heartbeat() == REBALANCE_IN_PROGRESS)
    follower.send_join()
    assert leader.joined()["generation_id"] == follower.joined()["generation_id"]


def test_repeated_offset_commit_succeeds(leader_and_follower: list[RawMember], bootstrap: str) -> None:
    _, follower = leader_and_follower
    assert follower.commit({0: 5}) == follower.commit({0: 5}) == {NONE}
    assert committed(bootstrap, follower.group, follower.topic) == {0: 5}


# Producers


class Producer:
    """A transactional producer that sends each request explicitly, with transaction version 1."""

    def __init__(self, bootstrap: str, transactional_id: str, topic: str) -> None:
        self.coordinator = coordinator(bootstrap, transactional_id, TRANSACTION)
        self.leader = connect(bootstrap)
        self.transactional_id, self.topic = transactional_id, topic
        self.sequence = 0
        self.producer_id, self.epoch = -1, -1

    def close(self) -> None:
        self.coordinator.close()
        self.leader.close()

    def identity(self) -> Plain:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def ask(self, api: str, version: int, body: Plain) -> Plain:
        """Send a request to the coordinator; repeat it while the coordinator is busy."""
        while (answer := self.coordinator.ask(api, version, body)).get("error_code") in BUSY:
            pass
        return answer

    def init(self, **more: object) -> int:
        answer = self.ask("InitProducerId", 4, self.identity() | {"transaction_timeout_ms": 30_000} | more)
        if answer["error_code"] == NONE:
            self.producer_id, self.epoch, self.sequence = answer["producer_id"], answer["producer_epoch"], 0
        code: int = answer["error_code"]
        return code

    def add(self, index: int = 0) -> int:
        body = self.identity() | {"topics": [{"name": self.topic, "partitions": [index]}]}
        while True:
            answer = self.coordinator.ask("AddPartitionsToTxn", 3, body)
            code: int = answer["topics"][0]["partitions"][0]["error_code"]
            if code not in BUSY:
                return code

    def produce(self, *values: bytes, index: int = 0, sequence: int | None = None) -> tuple[int, int]:
        """Produce a batch; return the error code and the base offset."""
        batch = build_batch(
            numbered((1000, None, value, ()) for value in values),
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence if sequence is None else sequence,
            is_transactional=True,
        )
        partition = {"index": index, "records": [{"raw": bytes(batch).hex()}]}
        body = {"acks": -1, "timeout_ms": 10_000, "transactional_id": self.transactional_id}
        topics = [{"name": self.topic, "partitions": [partition]}]
        found: Plain = {"error_code": NOT_LEADER_OR_FOLLOWER}
        while found["error_code"] == NOT_LEADER_OR_FOLLOWER:  # the topic was just created
            found = self.leader.ask("Produce", 9, body | {"topics": topics})["responses"][0]["partitions"][0]
        if sequence is None:
            self.sequence += len(values)
        return found["error_code"], found["base_offset"]

    def end(self, committed: bool) -> int:
        code: int = self.ask("EndTxn", 3, self.identity() | {"committed": committed})["error_code"]
        return code


@pytest.fixture
def producer(bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    """An initialized transactional producer."""
    made = Producer(bootstrap, name, topic)
    assert made.init() == NONE
    yield made
    made.close()


@pytest.fixture
def zombie(producer: Producer, bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    """A producer with an open transaction that was fenced: its successor has the next epoch."""
    dead = Producer(bootstrap, name, topic)
    dead.producer_id, dead.epoch = producer.producer_id, producer.epoch
    assert dead.add() == NONE
    assert dead.produce(b"of the dead") == (NONE, 0)
    assert producer.init(producer_id=-1, producer_epoch=-1) == NONE
    assert producer.epoch > dead.epoch
    yield dead
    dead.close()


def test_zombie_cannot_produce(zombie: Producer) -> None:
    code, _ = zombie.produce(b"too late")
    assert code == INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("committed", [True, False])
def test_zombie_cannot_end_its_aborted_transaction(zombie: Producer, committed: bool) -> None:
    assert zombie.end(committed) == PRODUCER_FENCED


def test_zombie_cannot_add_partitions(zombie: Producer) -> None:
    assert zombie.add(1) == PRODUCER_FENCED


def test_zombie_cannot_reinitialize(zombie: Producer) -> None:
    """A producer that presents an epoch in InitProducerId must present the current one (KIP-360)."""
    assert zombie.init() == PRODUCER_FENCED


def test_successor_of_zombie_can_produce_and_commit(zombie: Producer, producer: Producer) -> None:
    assert producer.add() == NONE
    code, offset = producer.produce(b"of the living")
    assert (code, offset) == (NONE, 2), "after the fenced producer's record and its abort marker"
    assert producer.end(True) == NONE


def test_duplicate_batch_is_appended_once(producer: Producer) -> None:
    assert producer.add() == NONE
    first = producer.produce(b"a", b"b")
    assert producer.produce(b"a", b"b", sequence=0) == first == (NONE, 0)
    assert producer.produce(b"c") == (NONE, 2)


def test_batch_with_sequence_gap_is_out_of_order(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    code, _ = producer.produce(b"b", sequence=7)
    assert code == OUT_OF_ORDER_SEQUENCE_NUMBER


def test_repeated_transaction_commit_succeeds(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    assert producer.end(True) == NONE
    assert producer.end(True) == NONE


def test_abort_after_commit_is_rejected(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    assert producer.end(True) == NONE
    assert producer.end(False) == INVALID_TXN_STATE


def test_end_of_transaction_that_never_began_is_rejected(producer: Producer) -> None:
    assert producer.end(True) == INVALID_TXN_STATE


def test_partition_can_be_added_to_transaction_twice(producer: Producer) -> None:
    assert producer.add() == producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)


def test_produce_to_partition_not_in_transaction_is_rejected(producer: Producer) -> None:
    assert producer.add(0) == NONE
    code, _ = producer.produce(b"a", index=1)
    assert code == INVALID_TXN_STATE
