"""A single broker of a cluster, to stop and start it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalet.broker.cluster.leadership import PEERS, Peer

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster


class BrokerNode:
    """A broker of a cluster, running or stopped. Raises ValueError if the cluster has no broker with this id."""

    def __init__(self, cluster: EmbeddedCluster, node_id: int) -> None:
        self._cluster = cluster
        self.node_id = node_id
        cluster._server.call(lambda: cluster._server.check_node(node_id))

    def __repr__(self) -> str:
        state = "paused" if self.is_paused else "running" if self.is_running else "stopped"
        cut_off = "" if self.is_paused else "".join(f", cut off from {peer}" for peer in self.cut_off_from)
        return f"<broker {self.node_id}, {state}{cut_off}>"

    @property
    def is_running(self) -> bool:
        """Whether the broker is running; a paused one is, too."""
        return self.node_id in self._cluster._server.nodes

    @property
    def is_paused(self) -> bool:
        """Whether `pause` has suspended the broker."""
        return self.cut_off_from == sorted(PEERS)

    @property
    def cut_off_from(self) -> list[Peer]:
        """What the broker does not reach, and what does not reach it; everything if it is paused."""
        return sorted(self._cluster._server.leadership.cut_off.get(self.node_id, ()))

    @property
    def address(self) -> tuple[str, int]:
        """The host and port that the broker advertises. Raises RuntimeError if it is stopped."""
        node = self._cluster._server.nodes.get(self.node_id)
        if node is None:
            raise RuntimeError(f"broker {self.node_id} is stopped; start() starts it")
        return node.endpoint.host, node.endpoint.port

    def stop(self) -> None:
        """Stop the broker. Its listener closes, and other replicas become leaders of its partitions."""
        self._cluster._server.call(lambda: self._cluster._server.stop_broker(self.node_id))

    def kill(self) -> None:
        """Stop the broker as if its process was killed: unlike with `stop`, the cluster does not know that it is gone.

        It leads and coordinates until `broker.session.timeout.ms` has passed on the clock, or until it is started
        again, and leaves the ISR of other leaders that get records after `replica.lag.time.max.ms`. It keeps what it
        has written, but since Kafka 4.1, it is no longer an eligible leader when it is started again (KIP-966).
        """
        server = self._cluster._server
        server.call(lambda: server.stop_broker(self.node_id, is_clean=False))

    def pause(self) -> None:
        """Suspend the broker, as SIGSTOP suspends its process.

        Connections stay open, but get no responses, and the broker does not follow other leaders. After
        `replica.lag.time.max.ms` it leaves the ISR of partitions whose leaders get records, and after
        `broker.session.timeout.ms` on the clock, other replicas become leaders of its partitions.
        """
        self.cut_off(*PEERS)

    def resume(self) -> None:
        """Let a paused broker continue. It serves the requests that have arrived, and catches up with other leaders."""
        self.reconnect()

    def cut_off(self, *peers: Peer) -> None:
        """Cut the broker off from clients, the other brokers, or the controller, as a partition of the network does.

        Connections stay open, but carry nothing. Without the other brokers, the broker does not follow their leaders,
        and its own partitions have no followers. Without the controller, it serves clients by the metadata of now, the
        ISR of its partitions does not change, and after `broker.session.timeout.ms` on the clock, other replicas become
        leaders of its partitions.
        """
        self._cluster._server.call(lambda: self._cluster._server.cut_off_broker(self.node_id, peers))

    def reconnect(self) -> None:
        """Let the broker reach everything again. Records that other leaders do not have are truncated."""
        self._cluster._server.call(lambda: self._cluster._server.reconnect_broker(self.node_id))

    def start(self) -> None:
        """Start the broker again, on the same port."""
        self._cluster._server.call(lambda: self._cluster._server.start_broker(self.node_id))
