"""WriteTxnMarkers: markers from other coordinators and tools."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing
from tests.wire.brokers import Plain


@pytest.fixture
def tx() -> Iterator[Tx]:
    """A producer with an open transaction."""
    with producing() as opened:
        assert opened.init() == opened.add() == Code.NONE
        assert opened.send(b"a")["error_code"] == Code.NONE
        yield opened


def marker(tx: Tx, *partitions: tuple[str, int], **more: Any) -> Plain:
    return {
        "producer_id": tx.producer_id,
        "producer_epoch": tx.epoch,
        "transaction_result": False,
        "coordinator_epoch": 0,
        "topics": [{"name": topic, "partition_indexes": [index]} for topic, index in partitions or [("t", 0)]],
        **more,
    }


def write(tx: Tx, *markers: Plain, version: int = 1) -> dict[tuple[int, str, int], int]:
    answer = tx.wire.ask("WriteTxnMarkers", version, {"markers": list(markers)})
    return {
        (each["producer_id"], topic["name"], partition["partition_index"]): partition["error_code"]
        for each in answer["markers"]
        for topic in each["topics"]
        for partition in topic["partitions"]
    }


@pytest.mark.parametrize("version", range(3))
def test_marker_ends_a_transaction(tx: Tx, version: int) -> None:
    more = {"producer_epoch": tx.epoch + 1, "transaction_version": 2} if version == 2 else {}
    assert write(tx, marker(tx, **more), version=version) == {(tx.producer_id, "t", 0): Code.NONE}
    log = tx.wire.cluster.topic("t").log()
    assert (log.last_stable_offset, log.log_end_offset) == (2, 2)
    assert log.batches[-1].is_control


def test_request_without_markers_returns_an_empty_response(tx: Tx) -> None:
    for markers in ([], [marker(tx, topics=[])]):
        assert tx.wire.ask("WriteTxnMarkers", 1, {"markers": markers}) == {"markers": []}


def test_markers_of_one_producer_have_one_result(tx: Tx) -> None:
    answer = tx.wire.ask("WriteTxnMarkers", 1, {"markers": [marker(tx, ("nowhere", 0)), marker(tx)]})
    [of_producer] = answer["markers"]
    assert {topic["name"] for topic in of_producer["topics"]} == {"nowhere", "t"}


def test_invalid_marker_is_refused(tx: Tx) -> None:
    refused = {
        ("nowhere", 0): Code.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 5): Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    for partition, code in refused.items():
        assert write(tx, marker(tx, partition)) == {(tx.producer_id, *partition): code}
    old = marker(tx, producer_epoch=tx.epoch - 1)
    assert write(tx, old) == {(tx.producer_id, "t", 0): Code.INVALID_PRODUCER_EPOCH}
    assert write(tx, marker(tx, coordinator_epoch=5)) == {(tx.producer_id, "t", 0): Code.NONE}
    assert write(tx, marker(tx, coordinator_epoch=4)) == {(tx.producer_id, "t", 0): Code.TRANSACTION_COORDINATOR_FENCED}


@pytest.mark.parametrize("missing", [{"producer_id": -1}, {"producer_epoch": -1}])
def test_marker_without_producer_fails_the_whole_request(tx: Tx, missing: dict[str, int]) -> None:
    wrong = marker(tx, ("t", 0), ("nowhere", 0), **missing)
    codes = write(tx, marker(tx, ("nowhere", 1), producer_id=99), wrong)
    assert set(codes.values()) == {Code.UNKNOWN_SERVER_ERROR}
    assert len(codes) == 3
    assert tx.wire.cluster.topic("t").log().log_end_offset == 1
    codes = write(tx, marker(tx, ("nowhere", 0), **missing))
    assert set(codes.values()) == {Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_transaction_version_2_requires_a_new_epoch_for_each_marker(tx: Tx) -> None:
    strict = marker(tx, transaction_version=2)
    assert write(tx, strict, version=2) == {(tx.producer_id, "t", 0): Code.INVALID_PRODUCER_EPOCH}


def test_other_broker_refuses_the_marker() -> None:
    with producing(2) as tx:
        leader = tx.wire.cluster._server.metadata.topics["t"].partitions[0].leader
        answer = tx.wire.ask("WriteTxnMarkers", 1, {"markers": [marker(tx)]}, 3 - leader)
        [partition] = answer["markers"][0]["topics"][0]["partitions"]
        assert partition["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_response_waits_for_the_replicas() -> None:
    with producing(2) as tx:
        cluster = tx.wire.cluster
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        held = cluster.hold_replication(3 - leader, "t")
        with tx.wire.waiting("WriteTxnMarkers", 1, {"markers": [marker(tx)]}, leader) as receive:
            held.release()
            [partition] = receive()["markers"][0]["topics"][0]["partitions"]
            assert partition["error_code"] == Code.NONE
