"""The client properties of a live broker, with the names that Kafka's consumer uses.

If a property affects which records are read, or how the broker is reached, it is either implemented or rejected with an
error that names it. Properties of features that this client does not have (consumer groups, poll, metrics) are accepted
and ignored, as in Spark's Kafka source. Some defaults differ from Kafka's:

    max.partition.fetch.bytes   8 MiB, because a task reads one partition, and decodes a large response all at once
    fetch.max.bytes             defaults to max.partition.fetch.bytes
    client.id                   kafkalet-spark
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkalet.client_security import SECURITY_PROPERTIES, Security
from kafkalet.properties import InvalidProperty, Property, PropertySet, Type, at_least, between, one_of

ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
"""The index of a level is its number in requests."""

_PROPERTIES = PropertySet(
    (
        Property("client.id", Type.STRING, "kafkalet-spark"),
        Property("client.rack", Type.STRING, ""),
        Property("isolation.level", Type.STRING, ISOLATION_LEVELS[0], one_of(*ISOLATION_LEVELS)),
        Property("fetch.min.bytes", Type.INT, "1", at_least(0)),
        Property("fetch.max.bytes", Type.INT, "-1", at_least(0)),
        Property("fetch.max.wait.ms", Type.INT, "500", at_least(0)),
        Property("max.partition.fetch.bytes", Type.INT, str(8 << 20), at_least(0)),
        Property("check.crcs", Type.BOOLEAN, "true"),
        Property("request.timeout.ms", Type.INT, "30000", at_least(1)),
        Property("default.api.timeout.ms", Type.INT, "60000", at_least(0)),
        Property("socket.connection.setup.timeout.ms", Type.LONG, "10000", at_least(1)),
        Property("retry.backoff.ms", Type.LONG, "100", at_least(0)),
        Property("retry.backoff.max.ms", Type.LONG, "1000", at_least(0)),
        Property("receive.buffer.bytes", Type.INT, "-1", between(-1, 0x7FFFFFFF)),
    )
)

WITHOUT_EFFECT = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "connections.max.idle.ms",
        "exclude.internal.topics",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
    }
)
"""Properties of Kafka's consumer that are ignored, because they do not affect which records this client reads."""


class Settings(NamedTuple):
    """The parsed properties of a client, with one attribute per property. Sizes are in bytes, and times in
    milliseconds."""

    client_id: str
    client_rack: str
    isolation_level: str
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    check_crcs: bool
    request_timeout_ms: int
    default_api_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    receive_buffer_bytes: int
    security: Security

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Settings:
        """Parse properties. `bootstrap.servers` is accepted but ignored.

        Raises InvalidProperty for a value that Kafka would reject, and for an unsupported property.
        """
        texts = {name: text for name, text in texts.items() if name not in WITHOUT_EFFECT}
        for name in _PROPERTIES.unknown(texts):
            if name != "bootstrap.servers" and name not in SECURITY_PROPERTIES:
                raise InvalidProperty(name, texts[name], "this property is not supported by the pipeline's client")
        values = _PROPERTIES.parse(texts)
        if values.get("fetch.max.bytes") is None:
            values["fetch.max.bytes"] = values.get("max.partition.fetch.bytes", 8 << 20)
        all_values = {each.name: values.get(each.name, each.default_value()) for each in _PROPERTIES}
        arguments: dict[str, Any] = {name.replace(".", "_"): value for name, value in all_values.items()}
        return cls(**arguments, security=Security.of(texts))
