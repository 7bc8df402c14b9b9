"""The addresses on which the brokers of a cluster listen, and the addresses advertised to clients.

The first broker listens on the configured address. The others listen on the ports after it, or, if that port is 0, each
on a free port. The port of a stopped broker stays reserved, and the broker listens on it again when it is restarted.
"""

from kafkalet.broker.cluster.metadata import Endpoint

from .listener import Listener
from .reserved_port import ReservedPort

EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


class CannotListen(OSError):
    """The address of a broker is in use, or does not belong to this machine."""


class Addresses:
    """The addresses of one cluster.

    host, port     address of the first broker; port 0 picks a free port for each broker
    advertise      host and port advertised to clients for the first broker; the others use the ports after it
    first_node_id  id of the first broker; the ids are consecutive
    """

    def __init__(
        self, host: str, port: int, advertise: tuple[str, int] | None = None, *, first_node_id: int = 1
    ) -> None:
        self._first_node_id = first_node_id
        self._host = host
        self._port = port
        self._advertise = advertise
        self.ports: dict[int, int] = {}
        """The port of each broker, whether it is running or stopped."""
        self._reserved: dict[int, ReservedPort] = {}

    def take(self, node_id: int, listener: Listener, rack: str | None) -> Endpoint:
        """Bind a broker's listener and return the advertised endpoint. Raises CannotListen."""
        if node_id in self._reserved:
            self._reserved.pop(node_id).release()
        step = node_id - self._first_node_id
        wanted = self.ports.get(node_id, self._port + step if self._port else 0)
        try:
            host, port = listener.bind(self._host, wanted)
        except OSError as error:
            raise CannotListen(*error.args) from error
        self.ports[node_id] = port
        if host in EVERY_INTERFACE:
            host = "localhost"  # clients cannot connect to a wildcard address
        if self._advertise is not None:
            host, port = self._advertise[0], self._advertise[1] + step
        return Endpoint(node_id, host, port, rack)

    def reserve(self, node_id: int) -> None:
        """Reserve the port of a broker that has stopped or refuses connections. No effect if it is reserved already."""
        if node_id not in self._reserved:
            self._reserved[node_id] = ReservedPort(self._host, self.ports[node_id])

    def is_reserved(self, node_id: int) -> bool:
        """Return whether the broker is stopped."""
        return node_id in self._reserved

    def release(self) -> None:
        """Release all reserved ports."""
        for port in self._reserved.values():
            port.release()
        self._reserved.clear()
