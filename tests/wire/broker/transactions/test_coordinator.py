"""The transaction coordinator of a broker: fencing, changes of coordinator, and restarts."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE, partition_of
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Wire

from .producing import Tx, producing

INDEX = partition_of("x", 50)


def take_over(tx: Tx) -> None:
    """Let another broker become the coordinator."""
    cluster = tx.wire.cluster
    cluster.topic(TRANSACTION_STATE.name).move_leader(
        next(node for node in cluster._server.nodes if node != tx.node), INDEX
    )


def stable(tx: Tx) -> int:
    return tx.wire.cluster.topic("t").log().last_stable_offset


# Fencing


def test_next_producer_gets_next_epoch() -> None:
    with producing() as tx:
        other = Tx(tx.wire)
        assert other.init() == Code.NONE
        assert (other.producer_id, other.epoch) == (tx.producer_id, 1)
        assert tx.add() == Code.PRODUCER_FENCED
        assert other.add() == Code.NONE


@pytest.mark.parametrize("release", ["3.9", "4.4", "2.8"])
def test_open_transaction_of_previous_producer_is_aborted(release: str) -> None:
    with producing(version=release) as tx:
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        other = Tx(tx.wire)
        assert other.init() == Code.CONCURRENT_TRANSACTIONS
        assert stable(tx) == 2
        assert other.init() == Code.NONE
        assert other.epoch == 2
        assert tx.send(b"b")["error_code"] == Code.INVALID_PRODUCER_EPOCH
        assert tx.end() == Code.PRODUCER_FENCED
        other.commit(b"c")
        assert [batch.producer_epoch for batch in tx.wire.cluster.topic("t").log().batches] == [0, 1, 2, 2]


def test_producer_can_continue_after_error() -> None:
    """By sending its producer id and epoch (KIP-360)."""
    with producing() as tx:
        mine = {"producer_id": tx.producer_id, "producer_epoch": 0}
        assert tx.init(**mine) == Code.NONE
        assert tx.epoch == 1
        assert tx.init(**mine) == Code.NONE  # as if it had missed the response
        assert tx.epoch == 1
        other = Tx(tx.wire)
        assert other.init() == Code.NONE
        for version, code in ((3, Code.INVALID_PRODUCER_EPOCH), (4, Code.PRODUCER_FENCED)):
            assert tx.init(version=version, producer_id=tx.producer_id, producer_epoch=1) == code
            assert tx.init(version=version, producer_id=999, producer_epoch=1) == code


def test_unknown_transactional_id_with_producer_id_gets_new_producer_id() -> None:
    with producing() as tx:
        other = Tx(tx.wire, "unknown")
        assert other.init(producer_id=12345, producer_epoch=7) == Code.NONE
        assert (other.producer_id != 12345, other.epoch) == (True, 0)


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (-1, Code.INVALID_TRANSACTION_TIMEOUT),
        (0, Code.INVALID_TRANSACTION_TIMEOUT),
        (900_000, Code.NONE),
        (900_001, Code.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_transaction_timeout_is_limited(timeout_ms: int, code: Code) -> None:
    with producing() as tx:
        assert tx.init(timeout_ms=timeout_ms) == code


def test_exhausted_producer_id_is_replaced() -> None:
    with producing() as tx:
        first = tx.producer_id

        def wear_out() -> None:
            transaction = tx.wire.cluster._server.brokers[1].coordinators.transactions.find("x")
            assert transaction is not None
            transaction.metadata = transaction.metadata._replace(producer_epoch=32765)

        tx.wire.cluster._server.call(wear_out)
        assert tx.init() == Code.NONE
        assert (tx.producer_id, tx.epoch) == (first, 32766)
        assert tx.send(b"a", version=12)["error_code"] == Code.NONE
        assert tx.end(version=5) == Code.NONE
        assert (tx.producer_id != first, tx.epoch) == (True, 0)
        assert tx.send(b"b", version=12)["error_code"] == Code.NONE
        assert tx.end(version=5) == Code.NONE
        assert stable(tx) == 4


# Changes of coordinator and restarts


def test_transaction_continues_on_next_coordinator() -> None:
    with producing(3) as tx:
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        take_over(tx)
        assert tx.end() == Code.NOT_COORDINATOR
        tx.node = tx.find()
        assert tx.add() == Code.NONE
        assert tx.end() == Code.NONE
        assert stable(tx) == 2


def test_open_transaction_survives_stop_of_coordinator() -> None:
    with producing(3) as tx:
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        tx.wire.cluster.broker(tx.node).stop()
        tx.node = tx.find()
        assert tx.send(b"b")["error_code"] == Code.NONE
        assert tx.end() == Code.NONE
        assert stable(tx) == 3


def test_decided_transaction_is_completed_by_next_coordinator() -> None:
    with producing(3) as tx:
        cluster = tx.wire.cluster
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        holds = [cluster.hold_replication(node, "t") for node in cluster._server.nodes if node != leader]
        assert tx.end() == Code.NONE
        take_over(tx)
        tx.node = tx.find()
        assert tx.describe()["transaction_state"] == "PrepareCommit"
        assert tx.add() == Code.CONCURRENT_TRANSACTIONS
        for held in holds:
            held.release()
        tx.wire.until(lambda: cluster._server.leadership.leader_of("t", 0).log.last_stable_offset == 3)
        assert tx.describe()["transaction_state"] == "CompleteCommit"


def test_open_transaction_survives_restart(tmp_path: Path) -> None:
    with producing(data_dir=tmp_path) as tx:
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        wire = Wire(broker)
        again = Tx(wire)
        again.producer_id, again.epoch, again.sequences = tx.producer_id, tx.epoch, tx.sequences
        assert broker.topic("t").log().last_stable_offset == 0
        assert again.send(b"b")["error_code"] == Code.NONE
        assert again.end() == Code.NONE
        assert broker.topic("t").log().last_stable_offset == 3
        assert again.describe()["transaction_state"] == "CompleteCommit"
        wire.close()


def test_decided_transaction_is_completed_after_restart(tmp_path: Path) -> None:
    with producing(2, data_dir=tmp_path) as tx:
        cluster = tx.wire.cluster
        assert tx.add() == Code.NONE
        assert tx.send(b"a")["error_code"] == Code.NONE
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        cluster.hold_replication(3 - leader, "t")
        assert tx.end() == Code.NONE
        assert cluster.transaction("x").state == "PrepareCommit"
    with kafkalet.Cluster(2, data_dir=tmp_path) as cluster:
        wire = Wire(cluster)
        wire.until(lambda: cluster._server.transactions.view("x").state == "CompleteCommit")
        again = Tx(wire)
        again.producer_id, again.epoch, again.sequences = tx.producer_id, tx.epoch, tx.sequences
        again.commit(b"b")
        assert cluster.topic("t").log().last_stable_offset == cluster.topic("t").log().log_end_offset
        wire.close()


def test_transaction_timeout_continues_on_next_coordinator() -> None:
    with producing(3, clock=ManualClock()) as tx:
        assert tx.init(timeout_ms=20_000) == tx.add() == Code.NONE
        tx.advance(15_000)
        take_over(tx)
        tx.node = tx.find()
        tx.advance(15_000)
        assert tx.describe()["transaction_state"] == "CompleteAbort"


# Replicas of the coordinator's log


def test_change_is_invisible_before_replication() -> None:
    with producing(2) as tx:
        cluster = tx.wire.cluster
        held = cluster.hold_replication(3 - tx.node, TRANSACTION_STATE.name)
        body = {**tx.who, "topics": [{"name": "t", "partitions": [0]}]}
        with tx.wire.waiting("AddPartitionsToTxn", 3, body, tx.node) as receive:
            assert tx.describe()["transaction_state"] == "Empty"
            assert tx.add() == Code.CONCURRENT_TRANSACTIONS
            assert tx.init() == Code.CONCURRENT_TRANSACTIONS
            held.release()
            assert receive()["topics"][0]["partitions"][0]["error_code"] == Code.NONE
        assert tx.describe()["transaction_state"] == "Ongoing"


def test_disconnect_of_waiting_client_does_not_cancel_change() -> None:
    with producing(2) as tx:
        cluster = tx.wire.cluster
        held = cluster.hold_replication(3 - tx.node, TRANSACTION_STATE.name)
        body = {**tx.who, "topics": [{"name": "t", "partitions": [0]}]}
        with tx.wire.waiting("AddPartitionsToTxn", 3, body, tx.node):
            tx.wire.connection(tx.node, "waiting").close()
        tx.wire.connections.pop((tx.node, "waiting"))
        held.release()
        tx.wire.until(lambda: not len(cluster._server.nodes[tx.node].purgatory))
        assert tx.describe()["transaction_state"] == "Ongoing"


def test_waiting_request_fails_when_another_broker_takes_over() -> None:
    with producing(3) as tx:
        cluster = tx.wire.cluster
        others = [node for node in cluster._server.nodes if node != tx.node]
        cluster.hold_replication(others[0], TRANSACTION_STATE.name)
        body = {**tx.who, "topics": [{"name": "t", "partitions": [0]}]}
        with tx.wire.waiting("AddPartitionsToTxn", 3, body, tx.node) as receive:
            cluster.topic(TRANSACTION_STATE.name).move_leader(others[1], INDEX)
            assert receive()["topics"][0]["partitions"][0]["error_code"] == Code.NOT_COORDINATOR


def test_too_few_replicas_change_nothing() -> None:
    with producing(2) as tx:
        tx.wire.cluster.broker(3 - tx.node).stop()
        assert tx.add() == Code.COORDINATOR_NOT_AVAILABLE
        assert tx.describe()["transaction_state"] == "Empty"
        tx.wire.cluster.broker(3 - tx.node).start()
        assert tx.add() == Code.NONE


def test_failed_fence_increments_epoch_once() -> None:
    with producing(2, version="3.9") as tx:
        assert tx.add() == Code.NONE
        tx.wire.cluster.broker(3 - tx.node).stop()
        other = Tx(tx.wire)
        assert other.init() == other.init() == Code.COORDINATOR_NOT_AVAILABLE
        assert tx.end() == Code.PRODUCER_FENCED  # the epoch counts as used although the append failed
        tx.wire.cluster.broker(3 - tx.node).start()
        assert other.init() == Code.CONCURRENT_TRANSACTIONS
        assert other.init() == Code.NONE
        assert other.epoch == 2


# Releases


@pytest.mark.parametrize(
    ("release", "code"), [("3.9", Code.INVALID_PRODUCER_ID_MAPPING), ("4.4", Code.CONCURRENT_TRANSACTIONS)]
)
def test_since_4_0_pending_change_is_checked_before_producer(release: str, code: Code) -> None:
    with producing(2, version=release) as tx:
        cluster = tx.wire.cluster
        held = cluster.hold_replication(3 - tx.node, TRANSACTION_STATE.name)
        body = {**tx.who, "topics": [{"name": "t", "partitions": [0]}]}
        with tx.wire.waiting("AddPartitionsToTxn", 3, body, tx.node) as receive:
            tx.producer_id += 1
            assert tx.add() == code
            held.release()
            receive()


def level(tx: Tx, to: int) -> None:
    update = {"feature": "transaction.version", "max_version_level": to, "upgrade_type": 3 if to < 2 else 1}
    body = {"timeout_ms": 1000, "feature_updates": [update], "validate_only": False}
    assert tx.wire.ask("UpdateFeatures", 1, body)["error_code"] == Code.NONE


def test_cluster_at_transaction_version_0_refuses_later_versions() -> None:
    with producing() as tx:
        level(tx, 0)
        assert tx.send(b"a", version=12)["error_code"] == Code.UNSUPPORTED_VERSION
        assert tx.end(False, version=5) == Code.UNSUPPORTED_VERSION
        tx.commit(b"a")
        assert tx.add() == Code.NONE
        tx.begin()
        assert tx.epoch == 2
        record = tx.wire.cluster.topic(TRANSACTION_STATE.name).log(INDEX).batches[-1].records()[0]
        assert record.value is not None
        assert record.value[:2] == b"\0\0"
        level(tx, 2)
        assert tx.send(b"a", version=12)["error_code"] == Code.NONE
        assert tx.end(version=5) == Code.NONE
        assert tx.epoch == 3


@pytest.mark.parametrize(("release", "remembers"), [("3.9", True), ("4.4", False)])
def test_before_4_0_last_start_time_is_kept_until_takeover(release: str, remembers: bool) -> None:
    with producing(3, version=release) as tx:
        tx.commit(b"a")
        assert tx.init() == Code.NONE
        assert (tx.describe()["transaction_start_time_ms"] > 0) is remembers
        take_over(tx)
        tx.node = tx.find()
        assert tx.describe()["transaction_start_time_ms"] == -1


@pytest.mark.parametrize(("release", "version"), [("3.9", 0), ("4.4", 1)])
def test_version_of_log_values_depends_on_release(release: str, version: int) -> None:
    with producing(version=release) as tx:
        [batch] = tx.wire.cluster.topic(TRANSACTION_STATE.name).log(INDEX).batches
        [record] = batch.records()
        assert record.value is not None
        assert record.value[:2] == version.to_bytes(2, "big")
