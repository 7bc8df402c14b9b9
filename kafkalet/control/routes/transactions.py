"""Routes of transactions: list, abort and wait for them, and transactions without a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Annotated, NamedTuple
from weakref import WeakKeyDictionary

from kafkalet.control.data import ENCODING, HEADER, read_data, read_headers
from kafkalet.control.failures import Refusal
from kafkalet.control.fields import COORDINATOR, Int32, Int64, NewCoordinator, Timeout
from kafkalet.control.route import MAX_RECORDS_BYTES, Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Number, Object, Text
from kafkalet.testing.transaction import STATES

from .groups import PLACE

if TYPE_CHECKING:
    from kafkalet.broker.views import TransactionView
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.transaction import OpenTransaction

routes = Routes("transactions", "Transactional ids and their transactions.")

TransactionalId = Annotated[str, "The transactional id."]
TRANSACTION = Object(
    "Transaction",
    "A transactional id and its current or last transaction.",
    Field("transactional_id", Text(), "The transactional id."),
    Field(
        "state",
        Text(),
        "`Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit` or `CompleteAbort`, as in Kafka.",
    ),
    Field("producer_id", Integer(), "The producer id."),
    Field("producer_epoch", Integer(), "The producer epoch."),
    Field("timeout_ms", Integer(), "The transaction timeout, in milliseconds."),
    Field("started_ms", Integer(), "The start of the last transaction in milliseconds since 1970, or -1."),
    Field("partitions", ListOf(PLACE), "The partitions in the transaction that have no marker yet."),
    Field("coordinator", Integer(0, INT32_MAX), "The id of the broker that coordinates the transactional id."),
)
GROUP_OFFSET = Object(
    "CommittedOffset",
    "An offset to commit.",
    *PLACE.fields.values(),
    Field("offset", Integer(0), "The offset."),
)
TRANSACTIONS = Object(
    "Transactions",
    "The transactional ids.",
    Field("transactions", ListOf(TRANSACTION), "The transactional ids in alphabetical order."),
)


def read_transactions(cluster: Cluster) -> list[Json]:
    """Return all transactional ids. May be called from any thread."""
    server = cluster._server

    def look() -> list[TransactionView]:
        ids = {
            transaction.transactional_id
            for broker in server.brokers.values()
            for transaction in broker.coordinators.loaded_transactions()
        }
        return [server.transactions.view(transactional_id) for transactional_id in sorted(ids)]

    return [_json(view) for view in server.call(look)]


def _json(view: TransactionView) -> Json:
    return TRANSACTION.of(view)


@routes.get("/v1/transactions", response=TRANSACTIONS)
def list_transactions(call: Call) -> Json:
    """Return all transactional ids with their states."""
    return {"transactions": read_transactions(call.cluster)}


@routes.get("/v1/transactions/{transactional_id}", response=TRANSACTION)
def get_transaction(call: Call, transactional_id: TransactionalId) -> Json:
    """Return the state of a transactional id."""
    return _json(call.cluster.transaction(transactional_id).describe())


@routes.post(
    "/v1/transactions/{transactional_id}/move-coordinator",
    "A new coordinator.",
    name="MoveCoordinator",
    response=COORDINATOR,
)
def move_transaction_coordinator(call: Call, transactional_id: TransactionalId, to: NewCoordinator = None) -> Json:
    """Make another broker the coordinator of a transactional id.

    Other ids in the same partition of __transaction_state move too.
    """
    return {"node_id": call.cluster.move_coordinator(transactional_id=transactional_id, to=to)}


@routes.post("/v1/transactions/{transactional_id}/wait", "A state to wait for.", waits=True)
def wait_for_transaction(
    call: Call,
    transactional_id: TransactionalId,
    state: Annotated[str, Text(*STATES), "The state; `Dead` if no producer has used the transactional id."],
    timeout: Timeout = None,
) -> None:
    """Wait until a transactional id is in a state."""
    call.cluster.transaction(transactional_id).wait_until(state, timeout)


# Transactions without a client


class _Opened(NamedTuple):
    """A transaction that was begun through the API. The request that uses the transaction holds the lock."""

    transaction: OpenTransaction
    lock: Lock


_opened: WeakKeyDictionary[Cluster, dict[str, _Opened]] = WeakKeyDictionary()


@contextmanager
def _using(call: Call, transactional_id: str, *, ends: bool = False) -> Iterator[OpenTransaction]:
    """Provide an open transaction to one request at a time."""
    found = _opened.get(call.cluster, {}).get(transactional_id)
    if found is None:
        raise Refusal(409, f"transaction {transactional_id} was not begun with POST .../begin, or it has ended")
    with found.lock:
        if ends:
            _opened[call.cluster].pop(transactional_id, None)
        yield found.transaction


@routes.post(
    "/v1/transactions/{transactional_id}/begin", "A transaction without a client.", response=TRANSACTION, waits=True
)
def begin_transaction(
    call: Call,
    transactional_id: TransactionalId,
    timeout: Annotated[
        float, Number(0.001, INT32_MAX // 1000), "The seconds after which the coordinator aborts the transaction."
    ] = 60.0,
) -> Json:
    """Begin a transaction without a client. An older producer with the transactional id is fenced."""
    transaction = call.cluster.open_transaction(transactional_id, timeout)
    transaction.__enter__()
    _opened.setdefault(call.cluster, {})[transactional_id] = _Opened(transaction, Lock())
    return get_transaction(call, transactional_id)


@routes.post(
    "/v1/transactions/{transactional_id}/records",
    "A record to append to a transaction.",
    response=TRANSACTION,
    waits=True,
    max_body_bytes=MAX_RECORDS_BYTES,
)
def send_in_transaction(
    call: Call,
    transactional_id: TransactionalId,
    topic: Annotated[str, "The topic."],
    key: Annotated[str | None, "The key."] = None,
    key_encoding: Annotated[str, ENCODING, "The encoding of `key`."] = "text",
    value: Annotated[str | None, "The value."] = None,
    value_encoding: Annotated[str, ENCODING, "The encoding of `value`."] = "text",
    headers: Annotated[list[Json] | None, ListOf(HEADER, most=10000), "The headers."] = None,
    timestamp: Annotated[Int64 | None, "Milliseconds since 1970. The default is the current time."] = None,
    partition: Annotated[Int32 | None, "The partition. By default, the key determines it."] = None,
) -> Json:
    """Append a record to a transaction that was begun with `begin`."""
    with _using(call, transactional_id) as transaction:
        transaction.send(
            topic,
            read_data(value, value_encoding, "value"),
            read_data(key, key_encoding, "key"),
            read_headers(headers),
            timestamp,
            partition,
        )
    return get_transaction(call, transactional_id)


@routes.post(
    "/v1/transactions/{transactional_id}/offsets",
    "Offsets of a consumer group that are committed with a transaction.",
    response=TRANSACTION,
    waits=True,
)
def send_offsets_in_transaction(
    call: Call,
    transactional_id: TransactionalId,
    group_id: Annotated[str, "The group."],
    offsets: Annotated[list[Json], ListOf(GROUP_OFFSET, least=1), "The offsets."],
) -> Json:
    """Add offsets of a consumer group to a transaction that was begun with `begin`."""
    by_partition = {(each["topic"], each["partition"]): each["offset"] for each in offsets}
    with _using(call, transactional_id) as transaction:
        transaction.send_offsets(group_id, by_partition)
    return get_transaction(call, transactional_id)


@routes.post("/v1/transactions/{transactional_id}/commit", response=TRANSACTION, waits=True)
def commit_transaction(call: Call, transactional_id: TransactionalId) -> Json:
    """Commit a transaction that was begun with `begin`, and wait for its markers."""
    with _using(call, transactional_id, ends=True) as transaction:
        transaction.commit()
    return get_transaction(call, transactional_id)


@routes.post("/v1/transactions/{transactional_id}/abort", "Options of an abort.", response=TRANSACTION, waits=True)
def abort_transaction(call: Call, transactional_id: TransactionalId, timeout: Timeout = None) -> Json:
    """Abort the open transaction of a transactional id, and wait for its markers.

    If a client has begun it, its producer is fenced, as after the transaction timeout.
    """
    if transactional_id in _opened.get(call.cluster, {}):
        with _using(call, transactional_id, ends=True) as transaction:
            transaction.abort()
    else:
        call.cluster.transaction(transactional_id).abort(timeout)
    return get_transaction(call, transactional_id)


def forget_transactions(cluster: Cluster) -> None:
    """Forget the transactions that the API has begun, because the contents of the cluster have been replaced."""
    _opened.pop(cluster, None)
