"""The parser of `max.connections.per.ip.overrides`, the connection limits of individual hosts.

    10.0.0.1:100, other.host:3

Source: kafka.network.ConnectionQuotas, kafka.utils.CoreUtils.parseCsvMap, kafka.server.KafkaConfig.validateValues.
"""

import re
from collections.abc import Mapping

from kafkalet.properties import InvalidProperty, Value, whole_number

_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*", re.ASCII)


def parse_overrides(text: str) -> dict[str, int]:
    """Return the limits, keyed by host. Raises ValueError with a message for the user if the text is invalid."""
    overrides = {}
    for part in text.rstrip(", ").split(",") if text.strip(", ") else ():
        host, colon, count = (word.strip() for word in part.rpartition(":"))
        limit = whole_number(count)
        if not colon or limit is None:
            raise ValueError(f"'{part.strip()}' is not host:number; use a list such as 10.0.0.1:100,other.host:3")
        if not _HOST.fullmatch(host):
            raise ValueError(f"max.connections.per.ip.overrides contains invalid addresses : {host}")
        overrides[host] = limit
    return overrides


def check_overrides(name: str, value: Value) -> None:
    """A comma-separated list of host:number pairs."""
    try:
        parse_overrides(str(value))
    except ValueError as error:
        is_message_of_kafka = str(error).startswith(name)
        raise InvalidProperty(name, str(value), str(error), str(error) if is_message_of_kafka else None) from error


def check_together(values: Mapping[str, Value]) -> None:
    """Raise InvalidProperty if the limit is 0 and has no overrides, because every connection would be refused."""
    if values.get("max.connections.per.ip") == 0 and not values.get("max.connections.per.ip.overrides"):
        reason = "can be set to zero only if max.connections.per.ip.overrides property is set."
        text = f"requirement failed: max.connections.per.ip {reason}"
        raise InvalidProperty("max.connections.per.ip", "0", reason, text)
