"""Timeouts of transactions and expiration of transactional ids, with a manual clock."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code

from .producing import Tx, producing

DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def tx(clock: ManualClock) -> Iterator[Tx]:
    with producing(clock=clock) as opened:
        yield opened


def test_transaction_exceeding_timeout_is_aborted_at_next_check(tx: Tx) -> None:
    assert tx.init(timeout_ms=25_000) == tx.add() == Code.NONE
    assert tx.send(b"a")["error_code"] == Code.NONE
    tx.advance(25_000)
    assert tx.describe()["transaction_state"] == "Ongoing"
    tx.advance(5_000)
    found = tx.describe()
    assert (found["transaction_state"], found["producer_epoch"]) == ("CompleteAbort", tx.epoch + 1)
    assert tx.wire.cluster.topic("t").log().last_stable_offset == 2


@pytest.mark.parametrize("version", [3, 5])
def test_producer_of_timed_out_transaction_is_fenced(tx: Tx, version: int) -> None:
    assert tx.init(timeout_ms=1) == tx.add() == Code.NONE
    tx.advance(10_000)
    assert tx.add() == Code.PRODUCER_FENCED
    late = tx.end(version=version)
    # With v5 the abort has incremented the epoch like an EndTxn, so the request looks like a late retry.
    assert late == (Code.PRODUCER_FENCED if version == 3 else Code.INVALID_TXN_STATE)
    assert tx.send(b"a")["error_code"] == Code.INVALID_PRODUCER_EPOCH
    tx.begin()
    tx.commit(b"a")


def test_check_interval_is_configurable(clock: ManualClock) -> None:
    name = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    with producing(clock=clock, config={name: "100"}) as tx:
        assert tx.init(timeout_ms=1) == tx.add() == Code.NONE
        tx.advance(100)
        assert tx.describe()["transaction_state"] == "CompleteAbort"


def test_idle_transactional_id_does_not_time_out(tx: Tx) -> None:
    assert tx.init(timeout_ms=1) == Code.NONE
    tx.advance(60_000)
    assert tx.describe()["transaction_state"] == "Empty"


def test_unused_transactional_id_expires(tx: Tx) -> None:
    tx.commit(b"a")
    tx.advance(7 * DAY_MS - HOUR_MS)
    assert tx.describe()["error_code"] == Code.NONE
    tx.advance(HOUR_MS)
    assert tx.describe()["error_code"] == Code.TRANSACTIONAL_ID_NOT_FOUND
    assert tx.add() == Code.INVALID_PRODUCER_ID_MAPPING
    tx.begin()
    assert tx.epoch == 0


def test_expired_transactional_id_does_not_return_after_reload(clock: ManualClock) -> None:
    config = {"transactional.id.expiration.ms": str(HOUR_MS)}
    with producing(clock=clock, config=config) as tx:
        other = Tx(tx.wire, "other")
        tx.advance(HOUR_MS // 2)
        assert other.init() == Code.NONE
        tx.advance(HOUR_MS // 2)
        reload(tx)
        assert tx.describe()["error_code"] == Code.TRANSACTIONAL_ID_NOT_FOUND
        assert other.describe()["error_code"] == Code.NONE


def reload(tx: Tx) -> None:
    def again() -> None:
        coordinators = tx.wire.cluster._server.brokers[1].coordinators
        for index in list(coordinators.transactions.loaded()):
            coordinators.transactions.unload(index)
            coordinators.refresh("__transaction_state", index)

    tx.wire.cluster._server.call(again)
