"""DescribeProducers: the producer state of partitions."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, batch, on_the_wire


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire(2) as opened:
        yield opened


def ask(wire: Wire, topic: str = "t", index: int = 0, node: int = 1) -> Plain:
    answer = wire.ask("DescribeProducers", 0, {"topics": [{"name": topic, "partition_indexes": [index]}]}, node)
    found: Plain = answer["topics"][0]["partitions"][0]
    return found


def test_producer_without_id_is_not_listed(wire: Wire) -> None:
    wire.produce(batch(b"a"))
    assert ask(wire)["active_producers"] == []


def test_last_sequence_and_timestamp_of_each_producer_are_returned(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", time=1000, producer_id=7, producer_epoch=1, base_sequence=0))
    wire.produce(batch(b"c", time=5000, producer_id=7, producer_epoch=1, base_sequence=2))
    wire.produce(batch(b"d", time=9000, producer_id=8, producer_epoch=0, base_sequence=0))
    found = {producer["producer_id"]: producer for producer in ask(wire)["active_producers"]}
    assert found.keys() == {7, 8}
    assert found[7] == {
        "producer_id": 7,
        "producer_epoch": 1,
        "last_sequence": 2,
        "last_timestamp": 5000,
        "coordinator_epoch": -1,
        "current_txn_start_offset": -1,
    }


def test_open_transaction_has_a_start_offset() -> None:
    with on_the_wire(version="3.5") as wire:  # the last release without transaction verification
        wire.produce(batch(b"a"))
        records = batch(b"b", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
        assert wire.produce(records, transactional_id="x")["error_code"] == Code.NONE
        [producer] = ask(wire)["active_producers"]
        assert producer["current_txn_start_offset"] == 1


@pytest.mark.parametrize(
    ("topic", "index", "code"),
    [
        ("unknown", 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 5, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("not a name", 0, Code.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_missing_partition_is_refused(wire: Wire, topic: str, index: int, code: Code) -> None:
    found = ask(wire, topic, index)
    assert (found["error_code"], found["active_producers"]) == (code, [])


def test_follower_serves_the_request(wire: Wire) -> None:
    wire.produce(batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0))
    assert ask(wire, node=2) == ask(wire, node=1)
    assert [producer["producer_id"] for producer in ask(wire, node=2)["active_producers"]] == [7]


def test_broker_without_replica_returns_an_error(wire: Wire) -> None:
    wire.cluster.topic("single").create(assignments=[[1]])
    assert ask(wire, "single", node=2)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
