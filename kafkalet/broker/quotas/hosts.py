"""The addresses of hosts with quotas. A host is given by its address or its host name.

Host names are resolved in a worker thread, when a quota is set and when a broker with such a quota starts, so that the
event loop never waits for a name server. Kafka resolves names in the threads of the controller and of the metadata
publisher (`InetAddress.getByName`), and uses the first address, IPv4 before IPv6.
"""

import socket
from collections.abc import Collection, Iterable, Mapping

IP = "ip"
_LONGEST_NAME = 253


def literal_address(host: str) -> str | None:
    """Return `host` in the canonical notation of its address, or None if it is not an address."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host))
        except (OSError, ValueError):  # ValueError for a null character
            continue
    return None


def look_up(host: str) -> str | None:
    """Resolve a host name, and return its address or None. Blocks until the name server responds."""
    try:
        found = [info[:1] + info[4][:1] for info in socket.getaddrinfo(host, None)]
    except (OSError, ValueError):  # ValueError for an invalid name
        return None
    found.sort(key=lambda each: each[0] is not socket.AF_INET)
    return str(found[0][1])


def names_of(entities: Iterable[Collection[tuple[str, str | None]]]) -> dict[str, None]:
    """Return the hosts in `entities` that are names rather than addresses, in order."""
    hosts = (name for entity in entities for kind, name in entity if kind == IP and name)
    return {host: None for host in hosts if _may_be_a_name(host)}


def _may_be_a_name(host: str) -> bool:
    return (
        len(host) <= _LONGEST_NAME
        and not set("/\0") & set(host)
        and not host.replace(".", "").isdecimal()
        and literal_address(host) is None
    )


def address_of(host: str, known: Mapping[str, str | None]) -> str | None:
    """Return the address of a host, or None if it is unresolved. `known` maps host names to addresses."""
    return known.get(host) or literal_address(host)
