"""Where the brokers of a cluster listen, and what clients are told of it.

The first broker listens where the user says, the others on the next ports, or each on a free one. A broker that was
stopped comes back on the port it had; meanwhile nobody else gets that port.
"""

from kafkalet.broker.cluster.metadata import Endpoint

from .kept_port import KeptPort
from .listener import Listener

EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 - asked about, not bound


class CannotListen(OSError):
    """The address of a broker is taken, or is none of this machine's."""


class Addresses:
    """The addresses of one cluster.

    host, port     where the first broker listens; port 0 picks a free one for each
    advertise      host and port that clients are told instead, for the first broker; the others count on from there
    first_node_id  the id of the first broker; the others count on from there
    """

    def __init__(
        self, host: str, port: int, advertise: tuple[str, int] | None = None, *, first_node_id: int = 1
    ) -> None:
        self._first_node_id = first_node_id
        self._host = host
        self._port = port
        self._advertise = advertise
        self.ports: dict[int, int] = {}
        """Where each broker listens, or did before it was stopped."""
        self._kept: dict[int, KeptPort] = {}

    def take(self, node_id: int, listener: Listener, rack: str | None) -> Endpoint:
        """Let a broker's listener have its address; what clients are told of it. Raises CannotListen."""
        if node_id in self._kept:
            self._kept.pop(node_id).release()
        step = node_id - self._first_node_id
        wanted = self.ports.get(node_id, self._port + step if self._port else 0)
        try:
            host, port = listener.bind(self._host, wanted)
        except OSError as error:
            raise CannotListen(*error.args) from error
        self.ports[node_id] = port
        if host in EVERY_INTERFACE:
            host = "localhost"  # nobody can connect to all addresses
        if self._advertise is not None:
            host, port = self._advertise[0], self._advertise[1] + step
        return Endpoint(node_id, host, port, rack)

    def keep(self, node_id: int) -> None:
        """Keep the port of a broker that was stopped."""
        self._kept[node_id] = KeptPort(self._host, self.ports[node_id])

    def is_kept(self, node_id: int) -> bool:
        """Whether that broker was stopped."""
        return node_id in self._kept

    def release(self) -> None:
        """Let all kept ports go."""
        for port in self._kept.values():
            port.release()
        self._kept.clear()
