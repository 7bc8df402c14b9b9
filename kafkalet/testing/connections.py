"""The connections of clients: reset them, half-close them, or turn them into black holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalet.broker import arguments

from .hold import Hold

if TYPE_CHECKING:
    from kafkalet.broker.network.connection import Connection
    from kafkalet.embedded import EmbeddedCluster


class ClientConnection:
    """A connection of a client to a broker. The methods have no effect after it has been closed."""

    def __init__(self, cluster: EmbeddedCluster, broker: int, connection: Connection) -> None:
        self._cluster = cluster
        self._connection = connection
        self.broker = broker
        """The id of the broker."""
        self.peer: tuple[str, int] = connection.peer
        """The host and port of the client."""
        self.client_id: str = connection.client_id
        """The client id in the latest request; "" before the first."""
        self.last_request: str = connection.last_request
        """The API and version of the latest request when this object was created, as in `Fetch v12`; "" if none."""

    def __repr__(self) -> str:
        host, port = self.peer
        state = "closed" if self.is_closed else self.last_request or "no request"
        return f"<connection of {self.client_id!r} at {host}:{port} to broker {self.broker}, {state}>"

    @property
    def is_closed(self) -> bool:
        """Whether the connection has been closed, by the client or the broker."""
        return self._connection.is_closed

    def reset(self) -> None:
        """Close the connection with a TCP reset. Responses that have not been sent are lost."""
        self._cluster._server.call(self._connection.reset)

    def half_close(self) -> None:
        """Close the direction to the client: the client reads end of file, while the broker still receives requests."""
        self._cluster._server.call(self._connection.half_close)

    def black_hole(self) -> None:
        """Discard received data, and send nothing. The connection stays open until the client closes it."""
        self._cluster._server.call(self._connection.black_hole)


def connections(cluster: EmbeddedCluster) -> list[ClientConnection]:
    """Return the open connections of all brokers, the oldest of each broker first."""
    brokers = cluster._server.brokers
    return cluster._server.call(
        lambda: [
            ClientConnection(cluster, node_id, connection)
            for node_id, broker in brokers.items()
            for connection in broker.connections
        ]
    )


def refuse_connections(cluster: EmbeddedCluster, broker: int | None) -> Hold:
    """Refuse new connections to a broker, or to all; see `Cluster.refuse_connections`."""
    server = cluster._server
    if broker is not None:
        server.call(lambda: server.check_node(arguments.number("broker", broker)))

    def refuse() -> list[int]:
        node_ids = server.node_ids if broker is None else [broker]
        changed = [node_id for node_id in node_ids if node_id not in server.refusing]  # without those of other holds
        for node_id in changed:
            server.refuse_connections(node_id)
        return changed

    def accept() -> None:
        for node_id in changed:
            server.accept_connections(node_id)

    changed = server.call(refuse)
    brokers = "all brokers refuse" if broker is None else f"broker {broker} refuses"
    return Hold(cluster, f"{brokers} connections", accept)
