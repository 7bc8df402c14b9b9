"""Requests that come twice, too late, or from the dead: of members and producers whose generation or epoch has passed.

Every test is put to Apache Kafka as well (`make oracle`): the codes are Kafka's own.
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
"""Coordinators that load, or write the markers of the transaction before (CONCURRENT_TRANSACTIONS)."""

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
def two(bootstrap: str, topic: str, name: str) -> Iterator[list[RawMember]]:
    """A leader and a follower, in a stable group."""
    with form_group(bootstrap, name, topic, 2) as members:
        yield members


def test_what_comes_from_an_older_generation_is_refused(two: list[RawMember], bootstrap: str) -> None:
    leader, follower = two
    older = leader.generation
    rebalance(two)
    assert leader.generation == follower.generation > older
    assert follower.heartbeat(generation_id=older) == ILLEGAL_GENERATION
    assert follower.commit({0: 1}, generation_id_or_member_epoch=older) == {ILLEGAL_GENERATION}
    follower.send_sync(generation_id=older)
    assert follower.synced()["error_code"] == ILLEGAL_GENERATION
    assert committed(bootstrap, follower.group, follower.topic) == {}
    assert follower.heartbeat() == NONE, "none of it did any harm"


def test_a_commit_while_the_group_rebalances_is_refused_when_its_generation_has_passed(two: list[RawMember]) -> None:
    leader, follower = two
    leader.send_join()
    until(lambda: follower.heartbeat() == REBALANCE_IN_PROGRESS)
    assert follower.commit({0: 1}) == {NONE}, "members may commit what they have read, before they join again"
    follower.send_join()
    assert follower.joined()["error_code"] == leader.joined()["error_code"] == NONE
    assert follower.commit({0: 2}) == {REBALANCE_IN_PROGRESS}, "it has joined, and is not told yet what is its own"


def test_who_leaves_twice_is_unknown(two: list[RawMember]) -> None:
    _, follower = two
    assert follower.leave() == NONE
    assert follower.leave() == UNKNOWN_MEMBER_ID
    assert follower.heartbeat() == UNKNOWN_MEMBER_ID


def test_a_member_that_syncs_twice_is_told_the_same(two: list[RawMember]) -> None:
    _, follower = two
    follower.send_sync()
    first = follower.synced()
    follower.send_sync()
    assert follower.synced() == first
    assert first["error_code"] == NONE


def test_a_follower_that_joins_again_moves_nobody(two: list[RawMember]) -> None:
    """It may not have got the answer to its first request."""
    leader, follower = two
    before = follower.generation
    follower.send_join()
    assert follower.joined()["generation_id"] == before
    assert leader.heartbeat() == NONE


def test_a_leader_that_joins_again_moves_everybody(two: list[RawMember]) -> None:
    leader, follower = two
    leader.send_join()
    until(lambda: follower.heartbeat() == REBALANCE_IN_PROGRESS)
    follower.send_join()
    assert leader.joined()["generation_id"] == follower.joined()["generation_id"]


def test_a_commit_twice_is_a_commit(two: list[RawMember], bootstrap: str) -> None:
    _, follower = two
    assert follower.commit({0: 5}) == follower.commit({0: 5}) == {NONE}
    assert committed(bootstrap, follower.group, follower.topic) == {0: 5}


# Producers


class Producer:
    """A transactional producer, spelled out, with the first version of transactions."""

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
        """Ask the coordinator, again while it is busy."""
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
        """The error code and the base offset."""
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
        while found["error_code"] == NOT_LEADER_OR_FOLLOWER:  # the topic is new
            found = self.leader.ask("Produce", 9, body | {"topics": topics})["responses"][0]["partitions"][0]
        if sequence is None:
            self.sequence += len(values)
        return found["error_code"], found["base_offset"]

    def end(self, committed: bool) -> int:
        code: int = self.ask("EndTxn", 3, self.identity() | {"committed": committed})["error_code"]
        return code


@pytest.fixture
def producer(bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    """It has its id."""
    made = Producer(bootstrap, name, topic)
    assert made.init() == NONE
    yield made
    made.close()


@pytest.fixture
def zombie(producer: Producer, bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    """It has an open transaction, and its successor got the next epoch meanwhile."""
    dead = Producer(bootstrap, name, topic)
    dead.producer_id, dead.epoch = producer.producer_id, producer.epoch
    assert dead.add() == NONE
    assert dead.produce(b"of the dead") == (NONE, 0)
    assert producer.init(producer_id=-1, producer_epoch=-1) == NONE
    assert producer.epoch > dead.epoch
    yield dead
    dead.close()


def test_a_zombie_cannot_write(zombie: Producer) -> None:
    code, _ = zombie.produce(b"too late")
    assert code == INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("committed", [True, False])
def test_a_zombie_cannot_end_what_is_over(zombie: Producer, committed: bool) -> None:
    assert zombie.end(committed) == PRODUCER_FENCED


def test_a_zombie_cannot_go_on(zombie: Producer) -> None:
    assert zombie.add(1) == PRODUCER_FENCED


def test_a_zombie_is_not_let_in_again(zombie: Producer) -> None:
    """Whoever has an epoch and asks for the next one has to have the current one (KIP-360)."""
    assert zombie.init() == PRODUCER_FENCED


def test_the_successor_of_a_zombie_works(zombie: Producer, producer: Producer) -> None:
    assert producer.add() == NONE
    code, offset = producer.produce(b"of the living")
    assert (code, offset) == (NONE, 2), "behind the record of the dead and the marker that aborts it"
    assert producer.end(True) == NONE


def test_a_batch_that_comes_twice_is_written_once(producer: Producer) -> None:
    assert producer.add() == NONE
    first = producer.produce(b"a", b"b")
    assert producer.produce(b"a", b"b", sequence=0) == first == (NONE, 0)
    assert producer.produce(b"c") == (NONE, 2)


def test_a_batch_from_the_future_is_out_of_order(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    code, _ = producer.produce(b"b", sequence=7)
    assert code == OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_commit_that_comes_twice_is_a_commit(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    assert producer.end(True) == NONE
    assert producer.end(True) == NONE


def test_a_commit_cannot_be_taken_back(producer: Producer) -> None:
    assert producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)
    assert producer.end(True) == NONE
    assert producer.end(False) == INVALID_TXN_STATE


def test_nothing_can_be_ended_before_it_begins(producer: Producer) -> None:
    assert producer.end(True) == INVALID_TXN_STATE


def test_a_partition_that_is_added_twice_is_added(producer: Producer) -> None:
    assert producer.add() == producer.add() == NONE
    assert producer.produce(b"a") == (NONE, 0)


def test_a_write_outside_of_the_transaction_is_refused(producer: Producer) -> None:
    assert producer.add(0) == NONE
    code, _ = producer.produce(b"a", index=1)
    assert code == INVALID_TXN_STATE
