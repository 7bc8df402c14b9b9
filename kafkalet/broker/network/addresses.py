"""The addresses on which the brokers of a cluster listen, and the addresses advertised to clients.

The listeners of the first broker have the configured addresses. The other brokers listen on the ports that follow or,
if a port is 0, on free ports. The ports of a stopped broker stay reserved, and the broker listens on them again when it
is restarted.
"""

from collections.abc import Callable, Sequence

from kafkalet.broker.cluster.metadata import Endpoint
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.listeners import ListenerSettings, listeners_of

from .listener import Listener
from .reserved_port import ReservedPort

EVERY_INTERFACE = ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound


class CannotListen(OSError):
    """The address of a broker is in use, or does not belong to this machine. `address` is its host and port."""

    address: tuple[str, int]

    @classmethod
    def at(cls, address: tuple[str, int], error: OSError) -> "CannotListen":
        refused = cls(*error.args)
        refused.address = address
        if error.errno is not None:  # its text is then "[Errno 98] Address already in use: '127.0.0.1:9092'"
            refused.filename = f"{address[0]}:{address[1]}"
        return refused


class Addresses:
    """The addresses of one cluster.

    listeners      the listeners of the first broker
    first_node_id  id of the first broker; the ids are consecutive
    settings_of    returns the listeners in a configuration
    """

    def __init__(
        self,
        listeners: Sequence[ListenerSettings],
        *,
        first_node_id: int = 1,
        settings_of: Callable[[BrokerConfig], Sequence[ListenerSettings]] = listeners_of,
    ) -> None:
        self._first_node_id = first_node_id
        self._settings_of = settings_of
        self.listeners = listeners
        self.ports: dict[int, list[int]] = {}
        """The ports of each broker, whether it is running or stopped, in the order of its listeners."""
        self._reserved: dict[int, list[ReservedPort]] = {}

    def count_from(self, node_id: int) -> None:
        """Change the id of the first broker."""
        self._first_node_id = node_id

    def take(self, node_id: int, listeners: Sequence[Listener], config: BrokerConfig) -> Endpoint:
        """Bind a broker's listeners and return the advertised addresses. Raises CannotListen."""
        self._release(node_id)
        step = node_id - self._first_node_id
        before = self.ports.get(node_id)
        ports: list[int] = []
        advertised: dict[str, tuple[str, int]] = {}
        of_broker = self._settings_of(config)
        for place, (settings, own, listener) in enumerate(zip(self.listeners, of_broker, listeners, strict=True)):
            wanted = settings.port + step if settings.port else 0
            if before is not None:
                wanted = before[place]
            try:
                _, port = listener.bind(settings.host, wanted)
            except OSError as error:
                for bound in listeners[:place]:
                    bound.stop_listening()
                raise CannotListen.at((settings.host, wanted), error) from None
            ports.append(port)
            # Advertise the host as it is written, because a certificate may be for this name. Clients cannot connect to
            # a wildcard.
            host = "localhost" if settings.host in EVERY_INTERFACE else settings.host
            if own.advertised is not None:
                host, port = own.advertised[0] or "localhost", own.advertised[1] or port  # as Kafka's ListenerInfo
            elif settings.advertised is not None:
                host, port = settings.advertised[0] or "localhost", settings.advertised[1] + step
            if own.is_advertised:
                advertised[settings.name] = host, port
        self.ports[node_id] = ports
        host, port = next(iter(advertised.values()))
        return Endpoint(node_id, host, port, config.broker_rack, advertised if len(listeners) > 1 else None)

    def reserve(self, node_id: int) -> None:
        """Reserve the ports of a broker that has stopped or refuses connections.

        Has no effect if they are reserved already.
        """
        if node_id not in self._reserved:
            places = zip(self.listeners, self.ports[node_id], strict=True)
            self._reserved[node_id] = [ReservedPort(settings.host, port) for settings, port in places]

    def is_reserved(self, node_id: int) -> bool:
        """Return whether the broker is stopped."""
        return node_id in self._reserved

    def _release(self, node_id: int) -> None:
        for port in self._reserved.pop(node_id, ()):
            port.release()

    def release(self) -> None:
        """Release all reserved ports."""
        for node_id in list(self._reserved):
            self._release(node_id)
