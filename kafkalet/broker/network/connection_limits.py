"""How many connections single addresses may have open: `max.connections.per.ip.overrides`.

    10.0.0.1:100, other.host:3

A host stands for its first address (InetAddress.getByName). Numbers and "localhost" are addresses at once. Other names
are looked up in a thread, because a name server may take seconds; until it has answered, and where it has none, the
limit of all addresses counts. (Kafka does not start with such a name.)

Source: kafka.network.ConnectionQuotas, kafka.utils.CoreUtils.parseCsvMap.
"""

import logging
import re
import socket
from asyncio import AbstractEventLoop, Future
from collections.abc import Mapping

from kafkalet.properties import InvalidProperty, Value, whole_number

_LOG = logging.getLogger(__name__)

_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*", re.ASCII)


def parse_overrides(text: str) -> dict[str, int]:
    """The limits by host. ValueError says what is wrong with the text."""
    overrides = {}
    for part in text.rstrip(", ").split(",") if text.strip(", ") else ():
        host, colon, count = (word.strip() for word in part.rpartition(":"))
        limit = whole_number(count)
        if not colon or limit is None:
            raise ValueError(f"'{part.strip()}' is not host:number; give such pairs, separated by commas")
        if not _HOST.fullmatch(host):
            raise ValueError(f"max.connections.per.ip.overrides contains invalid addresses : {host}")
        overrides[host] = limit
    return overrides


def check_overrides(name: str, value: Value) -> None:
    """Raise InvalidProperty unless the value can be parsed."""
    try:
        parse_overrides(str(value))
    except ValueError as error:
        is_kafkas = str(error).startswith(name)
        raise InvalidProperty(name, str(value), str(error), str(error) if is_kafkas else None) from error


def check_together(values: Mapping[str, Value]) -> None:
    """Raise InvalidProperty for a limit of 0 that lets nobody in."""
    if values.get("max.connections.per.ip") == 0 and not values.get("max.connections.per.ip.overrides"):
        reason = "can be set to zero only if max.connections.per.ip.overrides property is set."
        text = f"requirement failed: max.connections.per.ip {reason}"
        raise InvalidProperty("max.connections.per.ip", "0", reason, text)


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
