"""One partition of __transaction_state: changes are appended before they take effect."""

import logging
import struct
from collections.abc import Iterator
from typing import cast

import pytest

import kafkalet
from kafkalet.broker.cluster.state_log import StateLog, StateRecord
from kafkalet.broker.transactions.metadata import Metadata, State
from kafkalet.broker.transactions.records import encode_key, encode_value
from kafkalet.broker.transactions.shard import Shard, Transaction
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached

NEW = Metadata(7, 1, 1000, State.ONGOING, frozenset({("t", 0)}), start_ms=1, update_ms=2)


class Log:
    """A log whose appends fail, or wait until the test completes them."""

    leader_epoch = 4

    def __init__(self, error: Code | None = None) -> None:
        self.error = error
        self.waiting: list[Delayed[Code]] = []

    def append(self, records: list[StateRecord]) -> int:
        if self.error is not None:
            raise KafkaError(self.error)
        return 0

    def replicated(self, offset: int, timeout_ms: float) -> Delayed[Code]:
        self.waiting.append(Delayed())
        return self.waiting[-1]


store = detached(Shard.store)


def encoded(metadata: Metadata) -> bytes:
    return encode_value(metadata, 0)


def started(log: Log) -> tuple[Transaction, list[Code], Shard]:
    """Start a change."""
    shard = Shard(cast("StateLog", log), encoded)
    transaction = Transaction("x", Metadata(7, 1, 1000), shard)
    codes: list[Code] = []
    store(shard, transaction, NEW).then(codes.append)
    return transaction, codes, shard


def test_change_takes_effect_after_replication() -> None:
    log = Log()
    transaction, codes, _ = started(log)
    assert (transaction.pending, transaction.metadata.state, codes) == (State.ONGOING, State.EMPTY, [])
    log.waiting[0].complete(Code.NONE)
    assert (transaction.pending, transaction.metadata, codes) == (None, NEW, [Code.NONE])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Code.NOT_ENOUGH_REPLICAS, Code.COORDINATOR_NOT_AVAILABLE),
        (Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_COORDINATOR),
        (Code.MESSAGE_TOO_LARGE, Code.UNKNOWN_SERVER_ERROR),
        (Code.CORRUPT_MESSAGE, Code.CORRUPT_MESSAGE),
    ],
)
def test_failed_append_changes_nothing(error: Code, code: Code) -> None:
    transaction, codes, _ = started(Log(error))
    assert (transaction.pending, transaction.metadata.state, codes) == (None, State.EMPTY, [code])


def test_record_that_cannot_be_encoded_does_not_stay_pending() -> None:
    shard = Shard(cast("StateLog", Log()), encoded)
    transaction = Transaction("x" * 40_000, Metadata(7, 1, 1000), shard)
    with pytest.raises(struct.error):
        store(shard, transaction, NEW)
    assert transaction.pending is None


def test_replication_timeout_changes_nothing() -> None:
    log = Log()
    transaction, codes, _ = started(log)
    log.waiting[0].complete(Code.REQUEST_TIMED_OUT)
    assert (transaction.metadata.state, codes) == (State.EMPTY, [Code.COORDINATOR_NOT_AVAILABLE])


def test_failed_append_that_is_retried_stays_pending() -> None:
    shard = Shard(cast("StateLog", Log(Code.NOT_ENOUGH_REPLICAS)), encoded)
    transaction = Transaction("x", Metadata(7, 1, 1000), shard)
    store(shard, transaction, NEW, stays_pending=lambda code: True)
    assert transaction.pending is State.ONGOING


def test_closed_shard_changes_nothing() -> None:
    log = Log()
    transaction, codes, shard = started(log)
    shard.is_open = False
    log.waiting[0].complete(Code.NONE)
    assert (transaction.metadata.state, codes) == (State.EMPTY, [Code.NOT_COORDINATOR])


@pytest.fixture
def log() -> Iterator[StateLog]:
    with kafkalet.Broker(topics=["t"]) as broker:
        yield StateLog(
            broker._server.leadership.leader_of("t", 0), broker._server.clock, broker._server.nodes[1].purgatory
        )


def test_last_record_of_key_is_loaded(log: StateLog) -> None:
    older = NEW._replace(producer_epoch=0)
    log.append(
        [StateRecord(encode_key("x"), encode_value(older, 0)), StateRecord(encode_key("y"), encode_value(NEW, 1))]
    )
    log.append([StateRecord(encode_key("x"), encode_value(NEW, 0)), StateRecord(encode_key("y"), None)])
    shard = Shard(log, encoded)
    shard.load()
    assert {name: each.metadata for name, each in shard.transactions.items()} == {"x": NEW}


def test_undecodable_record_is_skipped_with_log_line(log: StateLog, caplog: pytest.LogCaptureFixture) -> None:
    log.append([StateRecord(encode_key("x"), b"\0\x63"), StateRecord(encode_key("y"), encode_value(NEW, 0))])
    shard = Shard(log, encoded)
    with caplog.at_level(logging.ERROR):
        shard.load()
    assert list(shard.transactions) == ["y"]
    assert "skipping transactional id 'x'" in caplog.text


def test_idle_transactions_have_no_pending_change() -> None:
    shard = Shard(cast("StateLog", Log()), encoded)
    for name, state in (("a", State.ONGOING), ("b", State.EMPTY), ("c", State.ONGOING)):
        shard.transactions[name] = Transaction(name, Metadata(1, 1, 1, state), shard)
    shard.transactions["c"].pending = State.ONGOING
    assert [each.transactional_id for each in shard.idle_in(frozenset({State.ONGOING}))] == ["a"]
