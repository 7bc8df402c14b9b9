"""Starts and stops a cluster of brokers inside a program, in a thread or in the running event loop.

This is all that the command line needs. `kafkalet.testing.cluster` adds the methods for tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Never, Self

from kafkalet.broker import arguments
from kafkalet.broker.arguments import BrokerProperties
from kafkalet.broker.cluster.metadata import Endpoint
from kafkalet.broker.cluster.new_topics import Topics, checked_topics
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.listeners import (
    ADVERTISED,
    LISTENERS,
    Address,
    ListenerSettings,
    SecurityProtocol,
    check_ports,
    controller_listeners_of,
    listeners_of,
    with_controller,
)
from kafkalet.broker.config.log_directories import LOG_DIR, LOG_DIRS, configured_directories
from kafkalet.broker.config.release import Release
from kafkalet.broker.network.addresses import Addresses
from kafkalet.broker.server import Server
from kafkalet.clock import Clock, SystemClock
from kafkalet.protocol.releases import NEWEST

if TYPE_CHECKING:  # imported if security is used
    from kafkalet.broker.security.acl import Acl
    from kafkalet.broker.security.short_forms import ShortForms


class EmbeddedCluster:
    """A cluster of brokers in this process.

    `kafkalet.Cluster` (testing/cluster.py) describes the arguments. The default of `clock` is the clock of the system.
    """

    _most_brokers: int | None = None
    _has_journal = False

    def __init__(
        self,
        brokers: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        controller: str | None = None,
        advertise: Address | Mapping[str, Address] | None = None,
        racks: Sequence[str] | None = None,
        data_dir: arguments.DataDir | None = None,
        read_only: bool = False,
        config: BrokerProperties | None = None,
        topics: Topics = (),
        version: str = NEWEST,
        features: Mapping[str, int] | None = None,
        clock: Clock | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        super_users: Mapping[str, str] | Iterable[str] = (),
        acls: Iterable[str | Acl] = (),
        timeout: float = 10.0,
        **unknown: Never,
    ) -> None:
        if unknown:
            options = EmbeddedCluster.__init__.__annotations__.keys() - {"unknown", "return"}
            arguments.check_names(type(self).__name__, unknown, options)
        self._check(brokers, host, port, clock)
        arguments.text('version, as in "3.9",', version)
        release = Release.of(version)
        self.timeout = timeout
        self._first_timeout = self.timeout
        self._turns: dict[str, int] = {}
        """How often a test has sent records without a key to each topic.

        It determines their next partition.
        """
        given, own = arguments.broker_properties(config)
        short_forms: ShortForms | None = None
        protocol = "PLAINTEXT"
        if tls is not False or users is not None or super_users != () or acls != ():
            from kafkalet.broker.security.short_forms import ShortForms

            short_forms = ShortForms.of(users, super_users, acls, tls=tls)
            protocol = short_forms.default_protocol
        has_listeners = LISTENERS in given
        if controller is not None:
            text = arguments.text('controller, as in "127.0.0.1:9093",', controller)
            given = with_controller(given, text, SecurityProtocol(protocol), (host, port))
        properties = short_forms.config(given, host, port, release) if short_forms else BrokerConfig(given, release)
        port = port if has_listeners or LISTENERS not in properties.static else 0  # the property contains it
        first = properties.first_node_id(brokers)
        for node_id, rack in enumerate(arguments.racks(racks, brokers) or (), first):
            own[node_id] = {"broker.rack": rack, **own.get(node_id, {})}
        if own:
            from kafkalet.broker.config.own_properties import check_own_properties

            check_own_properties(own, properties, range(first, first + brokers))
        listeners = _listeners(properties, brokers, (host, port), arguments.advertised(advertise, brokers))
        addresses = Addresses(listeners, first_node_id=first)
        self._server = Server(
            brokers,
            addresses,
            properties,
            release,
            name=type(self).__name__,
            own_properties=[own.get(node_id, {}) for node_id in range(first, first + brokers)],
            data_dirs=_data_dirs(data_dir, properties.static),
            topics=checked_topics(topics),
            clock=clock or self._default_clock(),
        )
        if features:
            from kafkalet.broker.cluster.features import levels_of_new_cluster

            self._server.feature_levels = levels_of_new_cluster(release, features)
        if read_only:
            self._make_read_only()
        if short_forms is not None:
            self._server.short_forms = short_forms
            self._server.users = dict(short_forms.users)
        if self._has_journal:
            from kafkalet.broker.network.journal import Journal

            self._server.journal = Journal()

    def _check(self, brokers: int, host: str, port: int, clock: Clock | None) -> None:
        if arguments.number("brokers", brokers) < 1:
            raise ValueError(f"brokers is {brokers}; it must be at least 1")
        if self._most_brokers is not None and brokers > self._most_brokers:
            raise ValueError(f"a Broker is one broker; for {brokers} use kafkalet.Cluster(brokers={brokers})")
        last_port = arguments.port("port", port) + brokers - 1
        if port:
            arguments.port(f"the port of the last of {brokers} brokers", last_port)
        arguments.text("host", host)
        if clock is not None and not isinstance(clock, Clock):
            raise TypeError(f"clock must be a kafkalet.Clock or another clock, not {arguments.shown(clock)}")

    @property
    def timeout(self) -> float:
        """The timeout of waits that specify none, in seconds."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._timeout = arguments.seconds("timeout", seconds)

    def now_ms(self) -> int:
        """Return the time of the brokers, in milliseconds since 1970."""
        return self._server.clock.now_ms()

    def _make_read_only(self) -> None:
        if not self._server.has_data_directory:
            raise ValueError("read_only needs a data directory; pass data_dir")
        if self._server.has_new_topics:
            raise ValueError("topics are given, but read_only brokers create none; pass only one of them")
        self._server.is_read_only = True

    def __repr__(self) -> str:
        server = self._server
        state = "running" if self.is_running else "not running"
        stopped = [str(node_id) for node_id in server.stopped] if self.is_running else []
        without = f" without broker {', '.join(stopped)}" if stopped else ""
        found = server.addresses_of_listeners()
        at = [(f"{name}=" if len(found) > 1 else "") + ",".join(map(_address, found[name])) for name in found]
        where = f" at {' '.join(at)}" if at else ""
        return f"<{type(self).__name__} {state}{where}{without}, Kafka {server.release.name}>"

    @staticmethod
    def _default_clock() -> Clock:
        """Return the clock of a cluster that is created without one."""
        return SystemClock()

    # Start and stop

    @property
    def is_running(self) -> bool:
        """True while the brokers accept requests."""
        return self._server.host.is_running

    async def start(self) -> None:
        """Start the brokers in the running event loop. Return when every listener accepts connections."""
        await self._server.host.start()

    async def stop(self) -> None:
        """Close listeners and connections, and flush the logs. If the brokers are not running, nothing happens."""
        await self._server.host.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self._server.host.start_thread()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.host.stop_thread()

    @property
    def bootstrap_servers(self) -> str:
        """The address of every running broker as `host:port`, separated by commas.

        If the brokers have several listeners, these are the addresses of the first one. Raises RuntimeError if no
        broker is running.
        """
        return ",".join(map(_address, self._endpoints()))

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return the address of every running broker at a listener, such as "EXTERNAL".

        Raises ValueError if the brokers do not advertise the listener, and RuntimeError if no broker is running.
        """
        name = arguments.text("the name of a listener", listener).upper()
        self._endpoints()
        found = self._server.addresses_of_listeners()
        if name not in found:
            raise ValueError(f"{listener!r} is not a listener of the brokers; their listeners are {', '.join(found)}")
        return ",".join(map(_address, found[name]))

    @property
    def bootstrap_controllers(self) -> str:
        """The address of the controller, for admin clients that connect to it (`bootstrap.controllers`, KIP-919).

        Raises RuntimeError if the controller has no listener or is stopped, or if no broker is running.
        """
        self._endpoints()
        if not (found := self._server.controller.endpoints):
            raise RuntimeError(
                "the controller has no listener, or is stopped; controller='127.0.0.1:0' adds a listener"
            )
        return _address(next(iter(found.values())))

    def _endpoints(self) -> list[Endpoint]:
        """Return the addresses of the running brokers."""
        endpoints = self._server.endpoints
        if not self.is_running:
            raise self._server.host.not_running()
        if not endpoints:
            raise RuntimeError(f"every broker of this {type(self).__name__} is stopped; broker(id).start() starts one")
        return endpoints


def _data_dirs(given: arguments.DataDir | None, properties: Mapping[str, str]) -> list[str]:
    """Return the data directories. If there are none, a temporary one is used."""
    paths, configured = arguments.directories(given), configured_directories(properties)
    if paths and configured:
        name = LOG_DIRS if LOG_DIRS in properties else LOG_DIR
        raise ValueError(
            f"data_dir is {', '.join(paths)}, but the property {name} is set, too: {properties[name]}; "
            "set only one of them"
        )
    return paths or configured


def _listeners(
    properties: BrokerConfig, brokers: int, address: Address, advertised: Mapping[str | None, Address]
) -> list[ListenerSettings]:
    """Return the listeners of the first broker: those of the property `listeners`, or one at this address."""
    listeners = listeners_of(properties)
    first = listeners[0]
    if LISTENERS not in properties.static:
        first = first._replace(host=address[0], port=address[1])
    elif address[1]:
        raise ValueError(
            f"port is {address[1]}, but the property {LISTENERS} names the ports: {properties.static[LISTENERS]}; "
            "set only one of them"
        )
    listeners[0] = first
    if advertised:
        if ADVERTISED in properties.static:
            raise ValueError(
                f"advertise is {advertised}, but the property {ADVERTISED} is set, too: "
                f"{properties.static[ADVERTISED]}; set only one of them"
            )
        names = [listener.name for listener in listeners]
        for name in advertised:
            if name is not None and name not in names:
                raise ValueError(f"advertise names {name}, but the listeners are {', '.join(names)}")
        default = {names[0]: advertised[None]} if None in advertised else {}
        for place, listener in enumerate(listeners):
            wanted = advertised.get(listener.name) or default.get(listener.name)
            listeners[place] = listener._replace(advertised=wanted)
    check_ports(listeners, brokers, controller_listeners_of(properties))
    return listeners


def _address(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host  # an IPv6 address
    return f"{host}:{endpoint.port}"
