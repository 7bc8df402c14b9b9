"""The addresses of hosts that quotas are for. A quota is for an address, or for a host name that has one.

A name is looked up in a worker thread when a quota for it is set, and when a broker with such a quota starts; the
event loop never waits for a name server. Kafka looks names up in the thread of the controller, and again in that of the
metadata (`InetAddress.getByName`), and takes the first address, IPv4 before IPv6.
"""

import socket
from collections.abc import Iterable, Mapping

from kafkalet.broker.cluster.metadata import QuotaEntity

IP = "ip"
_LONGEST_NAME = 253


def literal_address(host: str) -> str | None:
    """The address that `host` is, in its usual notation; None if it is not an address."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host))
        except (OSError, ValueError):  # the latter for a null character
            continue
    return None


def look_up(host: str) -> str | None:
    """The address of a host name; None if it has none. Blocks while a name server is asked."""
    try:
        found = [info[:1] + info[4][:1] for info in socket.getaddrinfo(host, None)]
    except (OSError, ValueError):  # the latter for what cannot be a name
        return None
    found.sort(key=lambda each: each[0] is not socket.AF_INET)
    return str(found[0][1])


def names_of(entities: Iterable[QuotaEntity]) -> dict[str, None]:
    """The host names among `entities`, in their order: what has to be looked up."""
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
    """The address of a host, by what is `known` of host names; None if it has none, or it is not known yet."""
    return known.get(host) or literal_address(host)
