"""Properties of single brokers: `--set 2:broker.rack=b` and `config={2: {"broker.rack": "b"}}`.

They take precedence over the properties of all brokers. The brokers of a cluster share a process, so a property that
concerns all of them, such as their listeners, the defaults of new topics and the intervals of periodic tasks, cannot be
set for one of them.
"""

from collections.abc import Mapping

from kafkalet.properties import InvalidProperty, Type

from .broker_config import NODE_IDS, BrokerConfig

_SHARED = {
    *NODE_IDS,
    "authorizer.class.name",
    "auto.create.topics.enable",
    "default.replication.factor",
    "inter.broker.listener.name",
    "listeners",
    "log.cleaner.backoff.ms",
    "log.cleaner.enable",
    "log.dir",
    "log.dirs",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.initial.task.delay.ms",
    "log.retention.check.interval.ms",
    "metadata.log.dir",
    "num.partitions",
    "producer.id.expiration.check.interval.ms",
    "replica.high.watermark.checkpoint.interval.ms",
    "replica.lag.time.max.ms",
    "super.users",
}
_SHARED_PREFIXES = (
    "delegation.token.",
    "listener.",
    "offsets.topic.",
    "sasl.",
    "security.",
    "share.coordinator.",
    "ssl.",
    "transaction.state.log.",
)

OwnProperties = Mapping[int, Mapping[str, str]]
"""The properties of single brokers, keyed by broker id."""


def check_own_properties(own: OwnProperties, shared: BrokerConfig, node_ids: range) -> None:
    """Raise ValueError for an unknown broker id, and InvalidProperty for a property that one broker cannot have."""
    for node_id, properties in own.items():
        if node_id not in node_ids:
            known = f"broker {node_ids[0]}" if len(node_ids) == 1 else f"brokers {node_ids[0]} to {node_ids[-1]}"
            given = ", ".join(_shown(*one, shared) for one in properties.items()) or "nothing"
            raise ValueError(f"{given} is set for broker {node_id}, which does not exist; the cluster has {known}")
        for name, value in properties.items():
            if name in _SHARED or name.startswith(_SHARED_PREFIXES):
                reason = "this property is the same for all brokers of a cluster"
                text = f"broker {node_id}: {_shown(name, value, shared)} is refused: {reason}"
                raise InvalidProperty(name, value, reason, text)
        try:
            BrokerConfig(properties, shared.release)  # logs unknown properties
            shared.for_broker(properties)
        except InvalidProperty as error:
            raise InvalidProperty(error.name, error.value, error.reason, f"broker {node_id}: {error}") from error


def _shown(name: str, value: str, config: BrokerConfig) -> str:
    """Return a property with its value, unless it may be a password."""
    from .catalog import known_property

    known = known_property(name, config.release.version)
    return name if known is None or known.declared.type is Type.PASSWORD else f"{name}={value}"
