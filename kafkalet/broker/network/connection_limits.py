"""Resolves the hosts in `max.connections.per.ip.overrides` to addresses.

Only the first address of each host is used (InetAddress.getByName). Numeric addresses and "localhost" need no lookup.
Other names are resolved in a thread, because a name server may take seconds; until then, or if the lookup fails, the
limit of max.connections.per.ip applies. (Kafka refuses to start if a name cannot be resolved.)

Source: kafka.network.ConnectionQuotas.
"""

import logging
import socket
from asyncio import AbstractEventLoop, Future
from collections.abc import Mapping

from kafkalet.broker.quoting import shown

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


def by_address(overrides: Mapping[str, int], loop: AbstractEventLoop) -> dict[str, int]:
    """Return the limits by address. The limits of host names are added later, once the names are resolved."""
    limits = {}
    for host, limit in overrides.items():
        if (address := numeric_address(host)) is not None:
            limits[address] = limit
        else:
            _look_up(host, limit, limits, loop)
    return limits


def _look_up(host: str, limit: int, limits: dict[str, int], loop: AbstractEventLoop) -> None:
    def found(future: Future[str]) -> None:
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            _LOG.warning("max.connections.per.ip.overrides: cannot resolve %s: %s", shown(host), shown(error))
        else:
            limits[future.result()] = limit

    loop.run_in_executor(None, _first_address, host).add_done_callback(found)


def _first_address(host: str) -> str:
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    family_and_address = min(infos, key=lambda info: info[0] != socket.AF_INET)  # IPv4 first, as in Java
    return str(family_and_address[4][0])
