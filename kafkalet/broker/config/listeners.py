"""The listeners of a broker: their names, security protocols and properties.

Source: kafka.cluster.EndPoint, kafka.server.KafkaConfig.listeners, valuesWithPrefixOverride.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from .broker_config import BrokerConfig


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
    """A listener. `values` are the properties that apply to it: those with its prefix take precedence."""

    name: str
    protocol: SecurityProtocol
    values: Mapping[str, str]


def listeners_of(config: BrokerConfig) -> list[ListenerSettings]:
    """Return the listeners of a broker, in the order of the property `listeners`. Raises InvalidProperty."""
    given = config.given()
    first = given.get("listeners", "").split(",")[0].strip().partition("://")[0] or "PLAINTEXT"
    prefix = f"listener.name.{first.lower()}."
    values = {name: value for name, value in given.items() if not name.startswith("listener.name.")}
    values.update({name[len(prefix) :]: value for name, value in given.items() if name.startswith(prefix)})
    return [ListenerSettings(first, SecurityProtocol(first), values)]
