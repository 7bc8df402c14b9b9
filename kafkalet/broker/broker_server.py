"""A broker with its listeners, which accept clients, and its router, which passes their requests to handlers.

A controller with listeners is a broker without logs, which serves other APIs (KIP-919; served.py).

Source: kafka.server.BrokerServer, kafka.server.ControllerServer, kafka.network.SocketServer.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkalet.properties import InvalidProperty

from .broker import Broker
from .cluster.controller import Controller
from .cluster.node import Node
from .config.broker_config import BrokerConfig
from .config.connection_overrides import parse_overrides
from .config.listeners import (
    ListenerSettings,
    controller_listeners_of,
    inter_broker_listener,
    listeners_of,
    prefix_of,
    values_of,
)
from .coordinators import Coordinators
from .network.connection import Connection
from .network.connection_limits import by_address
from .network.connection_quotas import ConnectionQuotas
from .network.listener import Listener
from .network.listener_context import MAX_INT, Limits
from .network.receiving import ReceiveBuffer
from .network.router import Router
from .quoting import shown
from .served import Role

if TYPE_CHECKING:  # imported only if a listener uses TLS
    from .security.tls.settings import TlsSettings

_LOG = logging.getLogger(__name__)

RATE = "max.connection.creation.rate"


class BrokerServer(Broker):
    """A broker that serves clients."""

    def __init__(
        self,
        node: Node,
        controller: Controller,
        coordinators: Coordinators,
        brokers: Mapping[int, Broker],
        buffer: ReceiveBuffer,
        role: Role = Role.BROKER,
    ) -> None:
        super().__init__(node, controller, coordinators, brokers, role)
        self.router = Router(self)
        self._quotas = ConnectionQuotas(
            inter_broker_listener(node.config),
            node.config.quota_window_num,
            node.config.quota_window_size_seconds * 1000,
        )
        self._overrides = ""
        """The value of max.connections.per.ip.overrides that is in use."""
        self._limits_by_address: dict[str, int] = {}
        self._tls: dict[str, TlsSettings] = {}
        """The settings of the listeners that use TLS, keyed by the name of the listener."""
        self.listeners = [self._listener(settings, buffer) for settings in self._settings()]
        """The listeners, in the order of the property `listeners`."""
        self.config_changed()
        self.apply_quotas()

    def _settings(self) -> list[ListenerSettings]:
        of_role = controller_listeners_of if self.role is Role.CONTROLLER else listeners_of
        return of_role(self.node.config)

    def _listener(self, settings: ListenerSettings, buffer: ReceiveBuffer) -> Listener:
        node = self.node
        listener = Listener(
            self.router,
            node.client_clock,
            Limits(),
            name=settings.name,
            buffer=buffer,
            turns=node.turns,
            watchers=node.watchers,
            quotas=self._quotas,
        )
        if settings.protocol.has_tls:
            listener.tls = self._tls[settings.name] = self._tls_settings(settings)
        if settings.protocol.has_sasl:
            from .security.sasl.listener import SaslListener

            listener.authenticators = SaslListener(
                settings.values,
                node.metadata.scram_credentials,
                node.client_clock,
                node.call_soon,
                node.release,
                self.controller.delegation_tokens,
            )
        return listener

    def _tls_settings(self, settings: ListenerSettings) -> "TlsSettings":
        from .security.tls.settings import TlsSettings

        config, values = self.node.config, dict(settings.values)
        own = f"{prefix_of(settings.name)}ssl.client.auth"
        if settings.protocol.has_sasl and own not in config.given():
            values["ssl.client.auth"] = "none"  # the property without prefix is for SSL only (ChannelBuilders.create)
        try:
            return TlsSettings(values, is_inter_broker=settings.name == inter_broker_listener(config))
        except InvalidProperty as error:
            text = f"listener {settings.name}: {error}"
            raise InvalidProperty(error.name, error.value, error.reason, text) from error

    def passwords_changed(self) -> None:
        """Use the passwords that are now in the configuration for all later logins."""
        for listener, settings in zip(self.listeners, self._settings(), strict=True):
            if listener.authenticators is not None:
                listener.authenticators.passwords_changed(settings.values)

    @property
    def connections(self) -> list[Connection]:
        """The open connections of all listeners, the oldest of each listener first."""
        return [connection for listener in self.listeners for connection in listener.connections]

    def check_reconfiguration(self, after: BrokerConfig) -> None:
        """Raise InvalidProperty if the new certificates of a listener are not valid."""
        for name, tls in self._tls.items():
            tls.check_change(values_of(after, name))

    def config_changed(self) -> None:
        """Apply the configuration to the listeners and their connections."""
        config = self.node.config
        self._quotas.max_connections = config.max_connections
        self._quotas.max_connection_creation_rate = int(config.given().get(RATE, MAX_INT))
        overrides = config.max_connections_per_ip_overrides or ""
        if overrides != self._overrides:  # otherwise, the limits of host names would not apply during another lookup
            self._overrides = overrides
            self._limits_by_address = by_address(parse_overrides(overrides), self.node.workers.submit)
        for listener in self.listeners:
            self._configure(listener)

    def _configure(self, listener: Listener) -> None:
        config, limits = self.node.config, listener.limits
        limits.socket_request_max_bytes = config.socket_request_max_bytes
        limits.connections_max_idle_ms = config.connections_max_idle_ms
        values = values_of(config, listener.name)  # a limit with the prefix of a listener is for this listener
        limits.max_connections = int(values.get("max.connections", config.max_connections))
        limits.max_connection_creation_rate = int(values.get(RATE, MAX_INT))
        limits.max_connections_per_ip = config.max_connections_per_ip
        limits.max_connections_per_ip_overrides = self._limits_by_address
        given = config.given()
        # Kafka's default of 100 KiB is meant for slow networks. Unless a size is set, use the system's default.
        if "socket.send.buffer.bytes" in given:
            limits.socket_send_buffer_bytes = config.socket_send_buffer_bytes
        if "socket.receive.buffer.bytes" in given:
            limits.socket_receive_buffer_bytes = config.socket_receive_buffer_bytes
        listener.limits_changed()
        if listener.name in self._tls:
            self._replace_certificates(listener)

    def _replace_certificates(self, listener: Listener) -> None:
        """Use new certificates for new connections. If they are not valid, the old ones stay in use."""
        try:
            new = self._tls[listener.name].replaced(values_of(self.node.config, listener.name))
        except InvalidProperty as error:
            _LOG.error("%s: the old certificates stay in use: %s", listener.name, shown(error))
        else:
            listener.tls = self._tls[listener.name] = new

    def apply_quotas(self, addresses: Mapping[str, str | None] | None = None) -> None:
        """Apply the client quotas. Requests and connections are counted only while quotas exist."""
        super().apply_quotas(addresses)
        throttling = self.throttling
        if throttling is not None:
            self.router.hooks.throttle = throttling if self.node.metadata.client_quotas else None
            for listener in self.listeners:
                listener.admission = throttling.connect if throttling.limits_connections else None

    def close(self, *, discard: bool = False) -> None:
        """Disconnect the clients, flush the logs and close the data directory; see Node.close."""
        for listener in self.listeners:
            listener.close()
        self.router.close()
        super().close(discard=discard)
