"""The listeners of a broker: their names, security protocols, addresses and properties.

    listeners=INSIDE://:9092,OUTSIDE://0.0.0.0:9093
    advertised.listeners=INSIDE://kafka:9092,OUTSIDE://localhost:9093
    listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL
    listener.name.outside.ssl.keystore.location=/etc/kafka/outside.pem

Listeners in `controller.listener.names` are those of the controller (KIP-919).

Kafka requires that the inter-broker listener, by default PLAINTEXT, is advertised. Here, brokers do not connect to each
other, so this is required only if the inter-broker listener is configured.

Source: kafka.server.KafkaConfig.validateValues, org.apache.kafka.network.SocketServerConfigs,
kafka.utils.CoreUtils.listenerListToEndPoints.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from kafkalet.properties import InvalidProperty

from .broker_config import VOTERS, BrokerConfig

LISTENERS = "listeners"
ADVERTISED = "advertised.listeners"
PROTOCOL_MAP = "listener.security.protocol.map"
INTER_BROKER = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"
CONTROL_PLANE = "control.plane.listener.name"
CONTROLLER_NAMES = "controller.listener.names"

Address = tuple[str, int]


class SecurityProtocol(Enum):
    """How connections to a listener are secured (org.apache.kafka.common.security.auth.SecurityProtocol)."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class ListenerSettings(NamedTuple):
    """A listener. `values` contains the properties that apply to it."""

    name: str
    protocol: SecurityProtocol
    values: Mapping[str, str]
    host: str = ""
    """The host on which it listens; "" for every interface."""
    port: int = 0
    advertised: Address | None = None
    """The configured address that clients get, or None if they get the address on which it listens."""
    is_advertised: bool = True
    """Whether this listener is advertised."""

    def __repr__(self) -> str:  # the values may be passwords
        return f"ListenerSettings({self.name}, {self.protocol.name}, {self.host}:{self.port})"


def listeners_of(config: BrokerConfig) -> list[ListenerSettings]:
    """Return the listeners of a broker, in the order of the property `listeners`. Raises InvalidProperty.

    Without that property, the broker has one listener, PLAINTEXT, whose address the caller has to determine. As in
    Kafka with KRaft, listeners are fixed while a broker is running, but their properties are not.
    """
    static = config.static
    if LISTENERS not in static and ADVERTISED not in static:
        return [ListenerSettings("PLAINTEXT", SecurityProtocol.PLAINTEXT, values_of(config, "PLAINTEXT"))]
    controllers = controller_names(config)
    return [settings for settings in _listed(config) if settings.name not in controllers]


def controller_listeners_of(config: BrokerConfig) -> list[ListenerSettings]:
    """Return the listeners of the controller, in the order of the property `listeners`. Raises InvalidProperty."""
    controllers = controller_names(config) if LISTENERS in config.static else ()
    return [settings for settings in _listed(config) if settings.name in controllers] if controllers else []


def _listed(config: BrokerConfig) -> list[ListenerSettings]:
    static = config.static
    listed = static.get(LISTENERS, "PLAINTEXT://:0")
    controllers = controller_names(config)
    protocols = _protocols(config, listed, controllers)
    endpoints = _endpoints(LISTENERS, listed, protocols)
    _check_ports(endpoints, listed)
    advertised = endpoints
    if (text := static.get(ADVERTISED)) is not None:
        advertised = _endpoints(ADVERTISED, text, protocols)
    named = {name: (host, port) for name, host, port in advertised}
    of_brokers = {name: named[name] for name in named if name not in controllers}
    _check_names(config, [name for name, _, _ in endpoints], of_brokers, protocols)
    return [
        ListenerSettings(
            name,
            protocols[name],
            values_of(config, name),
            host,
            port,
            named.get(name) if ADVERTISED in static else None,
            name in named or name in controllers,
        )
        for name, host, port in endpoints
    ]


def prefix_of(listener: str) -> str:
    """Return the prefix of the properties that apply to one listener only."""
    return f"listener.name.{listener.lower()}."


def values_of(config: BrokerConfig, listener: str) -> dict[str, str]:
    """Return the properties of a listener. Those with its prefix override those without prefix.

    Other listeners' properties are left out (AbstractConfig.valuesWithPrefixOverride).
    """
    given = config.given()
    prefix = prefix_of(listener)
    values = {name: value for name, value in given.items() if not name.startswith("listener.name.")}
    values.update({name[len(prefix) :]: value for name, value in given.items() if name.startswith(prefix)})
    return values


def inter_broker_listener(config: BrokerConfig) -> str | None:
    """Return the name of the configured inter-broker listener. Raises InvalidProperty."""
    static = config.static
    name = static.get(INTER_BROKER)
    protocol = static.get(INTER_BROKER_PROTOCOL)
    if name is not None and protocol is not None:
        text = f"Only one of {INTER_BROKER} and {INTER_BROKER_PROTOCOL} should be set."
        raise InvalidProperty(INTER_BROKER, name, text, text)
    if name is not None:
        return name.strip().upper()
    return None if protocol is None else _protocol(INTER_BROKER_PROTOCOL, protocol.strip()).value


def controller_names(config: BrokerConfig) -> tuple[str, ...]:
    """Return the names of the controller's listeners."""
    return tuple(word.strip().upper() for word in config.static.get(CONTROLLER_NAMES, "").split(",") if word.strip())


def with_controller(
    given: Mapping[str, str], controller: str, protocol: SecurityProtocol, address: Address
) -> dict[str, str]:
    """Return the properties with a listener CONTROLLER at `[ID@]HOST:PORT`, as in `controller.quorum.voters`.

    `protocol` is its security protocol. `address` is that of the brokers, unless the property `listeners` has it.
    """
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    _, at, place = controller.rpartition("@")
    listeners = given.get(LISTENERS, f"{protocol.value}://{host}:{address[1]}")
    protocols = given.get(PROTOCOL_MAP, ",".join(f"{each.value}:{each.value}" for each in SecurityProtocol))
    return {
        **given,
        LISTENERS: f"{listeners},CONTROLLER://{place}",
        PROTOCOL_MAP: f"{protocols},CONTROLLER:{protocol.value}",
        CONTROLLER_NAMES: "CONTROLLER",
        **({VOTERS: controller} if at else {}),
    }


def with_shifted_ports(text: str, step: int) -> str:
    """Return the value of `listeners` or `advertised.listeners` for the broker that is `step` ids after the first.

    Each port is `step` higher, unless it is 0.
    """
    moved = []
    for entry in text.split(","):
        before, _, port = entry.strip().rpartition(":")
        moved.append(f"{before}:{int(port) + step if int(port) else 0}")
    return ",".join(moved)


def check_ports(
    listeners: Iterable[ListenerSettings], brokers: int, controllers: Collection[ListenerSettings] = ()
) -> None:
    """Raise InvalidProperty if two listeners would share a port, because each further broker uses the next port."""
    used: dict[tuple[str, int], str] = {}
    for listener in (*listeners, *controllers):
        of_controller = listener in controllers
        for step in range((1 if of_controller else brokers) if listener.port else 0):
            port = listener.port + step
            place = listener.name if of_controller else f"{listener.name} of broker {step + 1}"
            if port > 65535:
                text = f"{place} would listen on port {port}; a port is at most 65535"
                raise InvalidProperty(LISTENERS, str(listener.port), text)
            other = used.setdefault((listener.host, port), place)
            if other != place:
                text = (
                    f"{place} and {other} would both listen on port {port}, because each broker uses the next port; "
                    f"leave {brokers} ports between listeners, or use port 0"
                )
                raise InvalidProperty(LISTENERS, str(listener.port), text)


def _protocols(config: BrokerConfig, listed: str, controllers: tuple[str, ...]) -> dict[str, SecurityProtocol]:
    """Return the security protocol of each listener name (KafkaConfig.effectiveListenerSecurityProtocolMap)."""
    text = config.static.get(PROTOCOL_MAP)
    if text is None:
        protocols = {protocol.value: protocol for protocol in SecurityProtocol}
        names = [entry.strip().partition(":")[0].upper() for entry in listed.split(",")]
        if not any(name != "PLAINTEXT" and name in protocols for name in (*controllers, *names)):
            protocols |= dict.fromkeys(controllers, SecurityProtocol.PLAINTEXT)
        return protocols
    protocols = {}
    for entry in text.split(","):
        name, _, protocol = entry.strip().rpartition(":")
        if entry.strip():
            protocols[name.strip().upper()] = _protocol(PROTOCOL_MAP, protocol.strip())
    return protocols


def _protocol(name: str, text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol(text.upper())
    except ValueError:
        raise unknown_protocol(name, text, text) from None


def unknown_protocol(name: str, protocol: str, text: str) -> InvalidProperty:
    """Return the error for an unknown security protocol in a property whose value is `text`."""
    return InvalidProperty(name, text, "", f"Invalid security protocol `{protocol}` defined in {name}")


def _endpoints(name: str, text: str, protocols: Mapping[str, SecurityProtocol]) -> list[tuple[str, str, int]]:
    """Parse the value of `listeners` or `advertised.listeners`: names in upper case, hosts and ports."""
    endpoints = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        parsed = parse_endpoint(name, text, entry)
        if parsed[0] not in protocols:
            raise _error(name, text, f"No security protocol defined for listener {parsed[0]}")
        if not 0 <= parsed[2] <= 65535:
            raise InvalidProperty(name, text, f"{parsed[2]} is not a port; a port is a number from 0 to 65535")
        endpoints.append(parsed)
    if len({parsed[0] for parsed in endpoints}) < len(endpoints):
        raise _required(name, text, f"Each listener must have a different name, listeners: {text}")
    return endpoints


def parse_endpoint(name: str, text: str, entry: str) -> tuple[str, str, int]:
    """Return the listener name (in upper case), host and port in an entry of a property whose value is `text`.

    Raises InvalidProperty.
    """
    from re import ASCII, fullmatch

    match = fullmatch(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", entry, ASCII)
    if match is None:
        raise _error(name, text, f"Unable to parse {entry} to a broker endpoint")
    return match[1].upper(), match[2], int(match[3])


def _check_ports(endpoints: list[tuple[str, str, int]], text: str) -> None:
    """Raise InvalidProperty if two listeners have the same port, unless one has an IPv4 and one an IPv6 address."""
    by_port: dict[int, list[int]] = {}
    for _, host, port in endpoints:
        if port:
            by_port.setdefault(port, []).append(_ip_version(host))
    for port, versions in by_port.items():
        numeric = sorted(version for version in versions if version)
        if len(versions) == 1 or (len(versions) == 2 and numeric == [4, 6]):
            continue
        if versions.count(0) > 1:
            raise _required(LISTENERS, text, f"Each listener must have a different port, listeners: {text}")
        if len(numeric) == 2:
            reason = "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6"
            refused = _invalid if numeric == [4, 6] else _required
        else:
            reason = (
                "Each listener must have a different port unless exactly one listener has an IPv4 address and the "
                "other IPv6 address"
            )
            refused = _invalid
        raise refused(LISTENERS, text, f"{reason}, listeners: {text}, port: {port}")


def _ip_version(host: str) -> int:
    """Return 4 or 6 for a numeric address, else 0."""
    import socket

    for version, family in ((4, socket.AF_INET), (6, socket.AF_INET6)):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return version
    return 0


def _check_names(
    config: BrokerConfig,
    names: list[str],
    advertised: Mapping[str, Address],
    protocols: Mapping[str, SecurityProtocol],
) -> None:
    """Raise InvalidProperty if the properties refer to listeners that do not exist."""
    static = config.static
    for name, text in _references(config):
        if text not in protocols:
            reason = f"Listener with name {text} defined in {name} not found in {PROTOCOL_MAP}."
            raise InvalidProperty(name, text, reason, reason)
    if not advertised:
        hint = f" Perhaps all listeners appear in {CONTROLLER_NAMES}?" if CONTROLLER_NAMES in static else ""
        text = f"There must be at least one broker advertised listener.{hint}"
        raise _required(ADVERTISED, static.get(ADVERTISED), text)
    listed = ",".join(advertised)
    for name, text in _references(config):
        if text not in advertised:
            reason = (
                f"{name} must be a listener name defined in {ADVERTISED}. "
                f"The valid options based on currently configured listeners are {listed}"
            )
            raise _required(name, text, reason)
    if not set(advertised) <= set(names):
        reason = (
            f"{ADVERTISED} listener names must be equal to or a subset of the ones defined in {LISTENERS}. "
            f"Found {listed}. The valid options based on the current configuration are {','.join(names)}"
        )
        raise _required(ADVERTISED, static.get(ADVERTISED), reason)
    # Kafka refuses 0.0.0.0 in `listeners` without `advertised.listeners`, too. Here, such a listener advertises
    # localhost, which is what `--listen 0.0.0.0:9092` does as well.
    if ADVERTISED in static and any(host == "0.0.0.0" for host, _ in advertised.values()):  # noqa: S104 - compared
        reason = f"{ADVERTISED} cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        raise _required(ADVERTISED, static[ADVERTISED], reason)


def _references(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    """Yield the properties that name a listener of the broker, with the name."""
    if (inter_broker := inter_broker_listener(config)) is not None:
        yield INTER_BROKER, inter_broker
    if (control_plane := config.static.get(CONTROL_PLANE)) is not None:
        yield CONTROL_PLANE, control_plane.strip().upper()
        if control_plane.strip().upper() == inter_broker:
            text = (
                f"{CONTROL_PLANE}, when defined, should have a different value from the inter broker listener name. "
                f"Currently they both have the value ListenerName({inter_broker})"
            )
            raise _required(CONTROL_PLANE, control_plane, text)


def _error(name: str, text: str, reason: str) -> InvalidProperty:
    return InvalidProperty(name, text, reason, f"Error creating broker listeners from '{text}': {reason}")


def _required(name: str, text: str | None, reason: str) -> InvalidProperty:
    return InvalidProperty(name, text, reason, f"requirement failed: {reason}")


def _invalid(name: str, text: str | None, reason: str) -> InvalidProperty:
    return InvalidProperty(name, text, reason, reason)
