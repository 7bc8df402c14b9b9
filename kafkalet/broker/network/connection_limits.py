"""The addresses of the hosts in `max.connections.per.ip.overrides`.

A host stands for its first address (InetAddress.getByName). Numbers and "localhost" are addresses at once. Other names
are looked up in a thread, because a name server may take seconds; until it has answered, and where it has none, the
limit of all addresses counts. (Kafka does not start with such a name.)

Source: kafka.network.ConnectionQuotas.
"""

import logging
import socket
from asyncio import AbstractEventLoop, Future
from collections.abc import Mapping

_LOG = logging.getLogger(__name__)


def numeric_address(host: str) -> str | None:
    """The address that a host is without asking a name server, as `accept` gives it."""
    if host in ("localhost", ""):
        return "127.0.0.1"
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host))
        except OSError:
            continue
    return None


def by_address(overrides: Mapping[str, int], loop: AbstractEventLoop) -> dict[str, int]:
    """The same limits by address. Those of names are added in the loop when they have been looked up."""
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
            _LOG.warning("max.connections.per.ip.overrides: the address of %s cannot be found: %s", host, error)
        else:
            limits[future.result()] = limit

    loop.run_in_executor(None, _first_address, host).add_done_callback(found)


def _first_address(host: str) -> str:
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    family_and_address = min(infos, key=lambda info: info[0] != socket.AF_INET)  # as Java prefers
    return str(family_and_address[4][0])
