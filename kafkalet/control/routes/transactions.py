"""Routes of transactions: list, abort and wait for them, and transactions without a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from kafkalet.control.data import HEADER, key_fields, read_data
from kafkalet.control.failures import Refusal
from kafkalet.control.fields import COORDINATOR, NEW_COORDINATOR, TIMEOUT
from kafkalet.control.route import MAX_RECORDS_BYTES, Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Nullable, Object, Text
from kafkalet.testing.transaction import STATES

from .groups import PLACE

if TYPE_CHECKING:
    from kafkalet.broker.views import TransactionView
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.transaction import OpenTransaction

routes = Routes("transactions", "Transactional ids and their transactions.")

TRANSACTIONAL_ID = Field("transactional_id", Text(), "The transactional id.")
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
BEGIN = Object(
    "BeginTransaction",
    "A transaction without a client.",
    Field(
        "timeout_ms",
        Integer(1, INT32_MAX),
        "The time after which the coordinator aborts the transaction, in milliseconds.",
        60_000,
    ),
)
ABORT = Object("AbortTransaction", "Options of an abort.", TIMEOUT)
WAIT = Object(
    "WaitForTransaction",
    "A state to wait for.",
    Field("state", Text(*STATES), "The state; `Dead` if no producer has used the transactional id."),
    TIMEOUT,
)
SEND = Object(
    "SendInTransaction",
    "A record to append to a transaction.",
    Field("topic", Text(), "The topic."),
    *key_fields(""),
    Field("headers", Nullable(ListOf(HEADER, most=10_000)), "The headers.", None),
    Field("timestamp", Nullable(Integer(0)), "Milliseconds since 1970. The default is the current time.", None),
    Field("partition", Nullable(Integer(0, INT32_MAX)), "The partition. By default, the key determines it.", None),
)
GROUP_OFFSET = Object(
    "CommittedOffset",
    "An offset to commit.",
    Field("topic", Text(), "The topic."),
    Field("partition", Integer(0, INT32_MAX), "The partition."),
    Field("offset", Integer(0), "The offset."),
)
SEND_OFFSETS = Object(
    "SendOffsetsInTransaction",
    "Offsets of a consumer group that are committed with a transaction.",
    Field("group_id", Text(), "The group."),
    Field("offsets", ListOf(GROUP_OFFSET, least=1), "The offsets."),
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
    places = [{"topic": topic, "partition": partition} for topic, partition in view.partitions]
    return view._asdict() | {"partitions": places}


@routes.get("/v1/transactions", response=TRANSACTIONS)
def list_transactions(call: Call) -> Json:
    """Return all transactional ids with their states."""
    return {"transactions": read_transactions(call.cluster)}


@routes.get("/v1/transactions/{transactional_id}", TRANSACTIONAL_ID, response=TRANSACTION)
def get_transaction(call: Call) -> Json:
    """Return the state of a transactional id."""
    return _json(call.cluster.transaction(call.path["transactional_id"]).describe())


@routes.post(
    "/v1/transactions/{transactional_id}/coordinator", TRANSACTIONAL_ID, body=NEW_COORDINATOR, response=COORDINATOR
)
def move_transaction_coordinator(call: Call) -> Json:
    """Make another broker the coordinator of a transactional id.

    Other ids in the same partition of __transaction_state move too.
    """
    transactional_id = call.path["transactional_id"]
    return {"node_id": call.cluster.move_coordinator(transactional_id=transactional_id, to=call.body["node_id"])}


@routes.post("/v1/transactions/{transactional_id}/wait", TRANSACTIONAL_ID, body=WAIT, waits=True)
def wait_for_transaction(call: Call) -> None:
    """Wait until a transactional id is in a state."""
    call.cluster.transaction(call.path["transactional_id"]).wait_until(call.body["state"], call.body["timeout_s"])


# Transactions without a client


class _Opened(NamedTuple):
    """A transaction that was begun through the API. The request that uses the transaction holds the lock."""

    transaction: OpenTransaction
    lock: Lock


_opened: WeakKeyDictionary[Cluster, dict[str, _Opened]] = WeakKeyDictionary()


@contextmanager
def _using(call: Call, *, ends: bool = False) -> Iterator[OpenTransaction]:
    """Provide an open transaction to one request at a time."""
    transactional_id = call.path["transactional_id"]
    found = _opened.get(call.cluster, {}).get(transactional_id)
    if found is None:
        raise Refusal(409, f"transaction {transactional_id} was not begun with POST .../begin, or it has ended")
    with found.lock:
        if ends:
            _opened[call.cluster].pop(transactional_id, None)
        yield found.transaction


@routes.post(
    "/v1/transactions/{transactional_id}/begin", TRANSACTIONAL_ID, body=BEGIN, response=TRANSACTION, waits=True
)
def begin_transaction(call: Call) -> Json:
    """Begin a transaction without a client. An older producer with the transactional id is fenced."""
    transactional_id = call.path["transactional_id"]
    transaction = call.cluster.open_transaction(transactional_id, call.body["timeout_ms"])
    transaction.__enter__()
    _opened.setdefault(call.cluster, {})[transactional_id] = _Opened(transaction, Lock())
    return get_transaction(call)


@routes.post(
    "/v1/transactions/{transactional_id}/records",
    TRANSACTIONAL_ID,
    body=SEND,
    response=TRANSACTION,
    waits=True,
    max_body_bytes=MAX_RECORDS_BYTES,
)
def send_in_transaction(call: Call) -> Json:
    """Append a record to a transaction that was begun with `begin`."""
    body = call.body
    headers = [(each["name"], read_data(each, "value")) for each in body["headers"] or ()]
    value, key = read_data(body, "value"), read_data(body, "key")
    with _using(call) as transaction:
        transaction.send(body["topic"], value, key, headers, body["timestamp"], body["partition"])
    return get_transaction(call)


@routes.post(
    "/v1/transactions/{transactional_id}/offsets", TRANSACTIONAL_ID, body=SEND_OFFSETS, response=TRANSACTION, waits=True
)
def send_offsets_in_transaction(call: Call) -> Json:
    """Add offsets of a consumer group to a transaction that was begun with `begin`."""
    offsets = {(each["topic"], each["partition"]): each["offset"] for each in call.body["offsets"]}
    with _using(call) as transaction:
        transaction.send_offsets(call.body["group_id"], offsets)
    return get_transaction(call)


@routes.post("/v1/transactions/{transactional_id}/commit", TRANSACTIONAL_ID, response=TRANSACTION, waits=True)
def commit_transaction(call: Call) -> Json:
    """Commit a transaction that was begun with `begin`, and wait for its markers."""
    with _using(call, ends=True) as transaction:
        transaction.commit()
    return get_transaction(call)


@routes.post(
    "/v1/transactions/{transactional_id}/abort", TRANSACTIONAL_ID, body=ABORT, response=TRANSACTION, waits=True
)
def abort_transaction(call: Call) -> Json:
    """Abort the open transaction of a transactional id, and wait for its markers.

    If a client has begun it, its producer is fenced, as after the transaction timeout.
    """
    transactional_id = call.path["transactional_id"]
    if transactional_id in _opened.get(call.cluster, {}):
        with _using(call, ends=True) as transaction:
            transaction.abort()
    else:
        call.cluster.transaction(transactional_id).abort(call.body["timeout_s"])
    return get_transaction(call)


def forget_transactions(cluster: Cluster) -> None:
    """Forget the transactions that the API has begun, because the contents of the cluster have been replaced."""
    _opened.pop(cluster, None)
