"""What clients and transactions are doing, for the messages of waits that time out and of failed tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafkalet.clock import elapsed_s

if TYPE_CHECKING:
    from kafkalet.broker.network.exchange import Exchange
    from kafkalet.embedded import EmbeddedCluster

MOST_LINES = 20
"""Most lines of a part of a description."""
MOST_CHARS = 300
"""Longer lines are truncated."""


def what_clients_do(cluster: EmbeddedCluster) -> list[str]:
    """Return lines for each connected client: the waiting requests and how long they have waited, or the last request.

    Never raises an exception.
    """
    return list(limited(safely(lambda: cluster._server.call(lambda: _clients(cluster))), MOST_LINES)) or [
        "no client is connected"
    ]


def safely(read: Callable[[], list[str]]) -> list[str]:
    """Return lines of a description. An exception becomes the only line."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - a report must not hide the failure of the test
        return [f"(not available: {error})"]


def limited(lines: list[str], most: int) -> Iterator[str]:
    """Truncate long lines, and drop all lines after the first `most`."""
    for line in lines[:most]:
        yield line if len(line) <= MOST_CHARS else line[:MOST_CHARS] + "..."
    if len(lines) > most:
        yield f"... {len(lines) - most} more"


def _clients(cluster: EmbeddedCluster) -> list[str]:
    journal = cluster._server.journal
    if journal is None:
        contexts = [
            connection.context for broker in cluster._server.brokers.values() for connection in broker.connections
        ]
        return [
            f"{context.client_id}: last request {context.api} v{context.version}" for context in contexts if context
        ]
    last: dict[str, list[Exchange]] = {}  # several clients may have the same client id, so all waiting requests count
    connected = {facts.number for facts in journal.connections.values()}
    for exchange in journal.exchanges():
        if exchange.connection.number in connected:
            waiting = [each for each in last.get(exchange.client_id, ()) if each.is_waiting]
            last[exchange.client_id] = [*waiting, exchange] if exchange.is_waiting or not waiting else waiting
    now_s = elapsed_s()
    return [exchange.text(now_s) for exchanges in last.values() for exchange in exchanges]


def open_transactions(cluster: EmbeddedCluster) -> Iterator[str]:
    """Describe each open transaction. Runs in the event loop."""
    from kafkalet.broker.transactions.metadata import IDLE_STATES

    for broker in list(cluster._server.brokers.values()):
        for transaction in broker.coordinators.loaded_transactions():
            known = transaction.metadata
            if known.state not in IDLE_STATES or transaction.pending is not None:
                places = ", ".join(f"{topic}-{index}" for topic, index in sorted(known.partitions)) or "no partition"
                yield (
                    f"{transaction.transactional_id}: {known.state.title}, with {places} (producer id "
                    f"{known.producer_id}, epoch {known.producer_epoch})"
                )
