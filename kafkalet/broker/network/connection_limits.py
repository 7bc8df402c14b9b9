"""Resolves the hosts in `max.connections.per.ip.overrides` to addresses.

Only the first address of each host is used (InetAddress.getByName). Numeric addresses and "localhost" need no lookup.
Other names are resolved in a thread, because a name server may take seconds; until then, or if the lookup fails, the
limit of max.connections.per.ip applies. (Kafka refuses to start if a name cannot be resolved.) They are resolved again
when the property has changed.

Source: kafka.network.ConnectionQuotas.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial

from kafkalet.broker.quoting import shown
from kafkalet.tasks.delayed import Delayed

_LOG = logging.getLogger(__name__)


def numeric_address(host: str) -> str | None:
    """Return the address of a host that needs no lookup, in the format of `socket.accept`; None for other names."""
    if host in ("localhost", ""):
        return "127.0.0.1"
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host))
        except OSError:
            continue
    return None


def by_address(overrides: Mapping[str, int], in_thread: Callable[[Callable[[], str]], Delayed[str]]) -> dict[str, int]:
    """Return the limits, keyed by address. Those of host names are added once `in_thread` has resolved the names."""
    limits = {}
    for host, limit in overrides.items():
        if (address := numeric_address(host)) is not None:
            limits[address] = limit
        else:
            in_thread(partial(_first_address, host)).then(
                partial(_add, limits, limit),
                partial(_report, host),
            )
    return limits


def _add(limits: dict[str, int], limit: int, address: str) -> None:
    limits[address] = limit


def _report(host: str, error: Exception) -> None:
    _LOG.warning("max.connections.per.ip.overrides: cannot resolve %s: %s", shown(host), shown(error))


def _first_address(host: str) -> str:
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    family_and_address = min(infos, key=lambda info: info[0] != socket.AF_INET)  # IPv4 first, as in Java
    return str(family_and_address[4][0])
