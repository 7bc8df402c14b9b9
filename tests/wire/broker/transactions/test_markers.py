"""Markers reach every partition, despite failures."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE, partition_of
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import Batch
from tests.wire.brokers import batch, on_the_wire

from .producing import Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing(3) as opened:
        yield opened


def markers(tx: Tx, topic: str = "t", index: int = 0) -> list[Batch]:
    return [batch for batch in tx.wire.cluster.topic(topic).log(index).batches if batch.is_control]


def state_of(tx: Tx) -> str:
    state: str = tx.describe()["transaction_state"]
    return state


def is_completed(tx: Tx) -> bool:
    """Return whether the transaction has ended. To be called in the event loop; the clock may stand still."""
    return tx.wire.cluster._server.transactions.view(tx.transactional_id).state == "CompleteCommit"


def open_transaction(tx: Tx) -> None:
    assert tx.add() == Code.NONE
    assert tx.send(b"a")["error_code"] == Code.NONE


def others(tx: Tx) -> list[int]:
    leader = tx.wire.cluster._server.metadata.topics["t"].partitions[0].leader
    return [node for node in tx.wire.cluster._server.nodes if node != leader]


def test_every_partition_gets_marker(tx: Tx) -> None:
    tx.wire.cluster.topic("many").create(7)
    partitions = [("many", index) for index in range(7)]
    assert tx.add(*partitions) == Code.NONE
    assert tx.end() == Code.NONE
    assert state_of(tx) == "CompleteCommit"
    assert [len(markers(tx, *partition)) for partition in partitions] == [1] * 7


@pytest.mark.parametrize("committed", [True, False])
def test_marker_contains_producer_and_result(tx: Tx, committed: bool) -> None:
    open_transaction(tx)
    assert tx.end(committed) == Code.NONE
    [marker] = markers(tx)
    [record] = marker.records()
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence) == (tx.producer_id, tx.epoch, -1)
    assert record.key == bytes([0, 0, 0, committed])
    assert record.value == bytes(6)


def test_marker_contains_coordinator_epoch(tx: Tx) -> None:
    cluster = tx.wire.cluster
    index = partition_of("x", 50)
    cluster.topic(TRANSACTION_STATE.name).move_leader(
        next(node for node in cluster._server.nodes if node != tx.node), index
    )
    tx.node = tx.find()
    open_transaction(tx)
    assert tx.end() == Code.NONE
    [record] = markers(tx)[0].records()
    assert record.value == b"\0\0" + (1).to_bytes(4, "big")


def test_last_stable_offset_advances_after_replication_of_marker(tx: Tx) -> None:
    cluster = tx.wire.cluster
    open_transaction(tx)
    holds = [cluster.hold_replication(node, "t") for node in others(tx)]
    assert tx.end() == Code.NONE
    assert cluster.topic("t").log().log_end_offset == 2
    assert cluster.topic("t").log().last_stable_offset == 0
    assert state_of(tx) == "PrepareCommit"
    assert tx.add() == Code.CONCURRENT_TRANSACTIONS
    for held in holds:
        held.release()
    tx.wire.until(lambda: cluster._server.leadership.leader_of("t", 0).log.last_stable_offset == 2)
    assert state_of(tx) == "CompleteCommit"
    assert len(markers(tx)) == 1


def test_partition_of_deleted_topic_needs_no_marker(tx: Tx) -> None:
    tx.wire.cluster.topic("gone").create(2)
    open_transaction(tx)
    assert tx.add(("gone", 0), ("gone", 1)) == Code.NONE
    tx.wire.cluster.topic("gone").delete()
    assert tx.end() == Code.NONE
    assert state_of(tx) == "CompleteCommit"


@pytest.mark.parametrize("way", ["delete", "stop"])
def test_transaction_completes_when_leader_of_waiting_marker_disappears(way: str) -> None:
    with producing(3, clock=ManualClock()) as tx:
        cluster = tx.wire.cluster
        one, two = (node for node in cluster._server.nodes if node != tx.node)
        cluster.topic("far").create(assignments=[[one, two]])
        assert tx.add(("far", 0)) == Code.NONE
        cluster.hold_replication(two, "far")
        assert tx.end() == Code.NONE
        assert state_of(tx) == "PrepareCommit"
        if way == "delete":
            cluster.topic("far").delete()
        else:
            cluster.broker(one).stop()
        tx.wire.until(lambda: is_completed(tx))


def test_partition_without_leader_gets_marker_later_before_4_3() -> None:
    with producing(3, version="4.2", clock=ManualClock()) as tx:
        cluster = tx.wire.cluster
        away = next(node for node in cluster._server.nodes if node != tx.node)
        cluster.topic("alone").create(assignments=[[away]])
        cluster.topic("beside").create(assignments=[[tx.node]])
        assert tx.add(("alone", 0), ("beside", 0)) == Code.NONE
        cluster.broker(away).stop()
        assert tx.end() == Code.NONE
        found = tx.describe()
        assert found["transaction_state"] == "PrepareCommit"
        assert found["topics"] == [{"topic": "alone", "partitions": [0]}]
        cluster.broker(away).start()
        tx.wire.until(lambda: is_completed(tx))
        assert len(markers(tx, "alone")) == len(markers(tx, "beside")) == 1


def test_marker_refused_for_too_few_replicas_is_retried() -> None:
    with on_the_wire(2, clock=ManualClock(), config={"transaction.state.log.min.isr": "1"}) as wire:
        tx, cluster = Tx(wire), wire.cluster
        cluster.topic("safe").create(config={"min.insync.replicas": "2"}, assignments=[[tx.node, 3 - tx.node]])
        assert tx.init() == tx.add(("safe", 0)) == Code.NONE
        cluster.broker(3 - tx.node).stop()
        assert tx.end() == Code.NONE
        assert state_of(tx) == "PrepareCommit"
        cluster.broker(3 - tx.node).start()
        tx.wire.until(lambda: is_completed(tx))
        assert len(markers(tx, "safe")) == 1


def test_completed_transaction_refused_for_too_few_replicas_is_stored_later() -> None:
    config = {"transaction.state.log.min.isr": "2", "transaction.state.log.replication.factor": "2"}
    with on_the_wire(2, clock=ManualClock(), config=config) as wire:
        tx, cluster = Tx(wire), wire.cluster
        follower = 3 - tx.node
        cluster.topic("u").create(assignments=[[tx.node, follower]])
        assert tx.init() == tx.add(("u", 0)) == Code.NONE
        cluster.hold_replication(follower, "u")
        assert tx.end() == Code.NONE
        cluster.broker(follower).stop()
        tx.wire.until(lambda: cluster.topic("u").log().last_stable_offset == 1)
        assert state_of(tx) == "PrepareCommit"
        cluster.broker(follower).start()
        tx.wire.until(lambda: is_completed(tx))


def test_marker_of_outdated_coordinator_is_refused(tx: Tx) -> None:
    open_transaction(tx)
    later = {
        "producer_id": tx.producer_id,
        "producer_epoch": tx.epoch,
        "transaction_result": False,
        "coordinator_epoch": 9,
        "topics": [{"name": "t", "partition_indexes": [0]}],
    }
    leader = tx.wire.cluster._server.metadata.topics["t"].partitions[0].leader
    tx.wire.ask("WriteTxnMarkers", 1, {"markers": [later]}, leader)
    assert tx.end() == Code.NONE
    assert state_of(tx) == "PrepareCommit"  # left to the newer coordinator
    assert len(markers(tx)) == 1


def test_refused_marker_does_not_affect_other_partitions(tx: Tx) -> None:
    tx.wire.cluster.topic("zebra").create()
    assert tx.add(("t", 0), ("zebra", 0)) == Code.NONE
    partition = tx.wire.cluster._server.leadership.leader_of("t", 0)
    records = batch(b"a", producer_id=tx.producer_id, producer_epoch=tx.epoch + 5, base_sequence=0)
    tx.wire.cluster._server.call(lambda: partition.append(records))
    assert tx.end() == Code.NONE
    assert len(markers(tx, "zebra")) == 1
    assert tx.describe()["topics"] == [{"topic": "t", "partitions": [0]}]
