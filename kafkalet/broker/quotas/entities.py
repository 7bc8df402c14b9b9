"""Quota entities: the valid entities and values, and the quota that applies to a client.

An entity is a user, a client id, both, or an address. Each part is either a name, or None for the default entity, which
covers all names without a quota. Of the following quotas, the first that is set applies to a client (read row by row):

    user and client         user and any client         user
    any user and client     any user and any client     any user
    client                  any client

Source: org.apache.kafka.controller.ClientQuotaControlManager, org.apache.kafka.server.config.QuotaConfig,
kafka.server.ClientQuotaManager.
"""

from collections.abc import Iterable, Mapping

from kafkalet.protocol.errors import Code, KafkaError

from .hosts import IP, address_of

USER, CLIENT = "user", "client-id"
PRODUCE, CONSUME = "producer_byte_rate", "consumer_byte_rate"
REQUEST, MUTATE = "request_percentage", "controller_mutation_rate"
CONNECT = "connection_creation_rate"

_LONG = (1 << 63) - 1
_INT = (1 << 31) - 1
_WHOLE = {PRODUCE: (_LONG, "LONG"), CONSUME: (_LONG, "LONG"), CONNECT: (_INT, "INT")}
_EPSILON = 1e-6
"""A value that is at most this far from a whole number counts as a whole number."""

_NOT_LOOKED_UP: Mapping[str, str | None] = {}

QuotaEntity = frozenset[tuple[str, str | None]]
"""The entity that a quota applies to.

It consists of pairs of type ("user", "client-id", "ip") and name. The name is None for the default entity.
"""
Quotas = Mapping[QuotaEntity, Mapping[str, float]]


def check_entity(
    parts: Mapping[str, str | None], addresses: Mapping[str, str | None] = _NOT_LOOKED_UP, *, only_ipv4: bool = False
) -> None:
    """Raise KafkaError (INVALID_REQUEST) unless the entity can have a quota.

    `addresses` maps host names to addresses. With `only_ipv4`, an entity cannot be named by an IPv6 address.
    """
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in parts.items():
        if kind not in (USER, CLIENT, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in parts:
        if len(parts) > 1:
            raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
        host = parts[IP]
        if host is not None and (address_of(host, addresses) is None or (only_ipv4 and ":" in host)):
            raise _invalid(f"{host} is not a valid IP or resolvable host.")


def check_value(kinds: Iterable[str], key: str, value: float, *, or_zero: bool = False, in_range: bool = True) -> None:
    """Raise KafkaError (INVALID_REQUEST) unless an entity with these types can have this quota.

    With `or_zero`, only whole numbers are checked; unless `in_range`, with Java's conversion to `long`.
    """
    allowed = {CONNECT} if IP in kinds else {PRODUCE, CONSUME, REQUEST, MUTATE}
    if key not in allowed:
        raise _invalid(f"Invalid configuration key {key}")
    if not or_zero and not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if key in _WHOLE:
        most, type_name = _WHOLE[key] if in_range else (_LONG, "LONG")
        if value > float(most):  # Java compares doubles
            article = "an" if type_name == "INT" else "a"
            raise _invalid(f"Proposed value for {key} is too large for {article} {type_name}.")
        if abs(value - int(value + _EPSILON)) >= _EPSILON:
            raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)


def quota_of(quotas: Quotas, key: str, user: str, client: str) -> tuple[float, str, str] | None:
    """Return a client's quota, and the user and the client id whose usage is counted together.

    A returned user or client id of "" stands for all users or client ids. Returns None for a client without a quota.
    """
    for entity, together in (
        (((USER, user), (CLIENT, client)), (user, client)),
        (((USER, user), (CLIENT, None)), (user, client)),
        (((USER, user),), (user, "")),
        (((USER, None), (CLIENT, client)), (user, client)),
        (((USER, None), (CLIENT, None)), (user, client)),
        (((USER, None),), (user, "")),
        (((CLIENT, client),), ("", client)),
        (((CLIENT, None),), ("", client)),
    ):
        if client == "" and entity[-1][0] == CLIENT:
            continue  # quotas for client ids do not apply to clients without one
        values = quotas.get(frozenset(entity))
        if values is not None and key in values:
            return values[key], *together
    return None


def quotas_of_addresses(
    quotas: Quotas, addresses: Mapping[str, str | None] = _NOT_LOOKED_UP
) -> dict[str | None, float]:
    """Return the allowed new connections per second, keyed by address. The key None stands for all other addresses.

    `addresses` maps host names to addresses. The quota of an unresolved host name is left out.
    """
    found: dict[str | None, float] = {}
    for entity, values in quotas.items():
        for kind, name in entity:
            if kind != IP or CONNECT not in values:
                continue
            address = None if name is None else address_of(name, addresses)
            if name is None or address is not None:
                found[address] = values[CONNECT]
    return found
