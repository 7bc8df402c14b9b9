"""What a consumer group is configured to: its own properties (resource GROUP), or those of the broker.

Source: org.apache.kafka.coordinator.group.GroupConfigManager, GroupCoordinatorConfig.
"""

from typing import Any

from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.properties import whole_number

from .state import ConsumerState

_PACKAGE = "org.apache.kafka.coordinator.group.assignor."


def session_timeout_ms(group: ConsumerState) -> int:
    return _of_group(group, "consumer.session.timeout.ms", group.shard.node.config.group_consumer_session_timeout_ms)


def heartbeat_interval_ms(group: ConsumerState) -> int:
    return _of_group(
        group, "consumer.heartbeat.interval.ms", group.shard.node.config.group_consumer_heartbeat_interval_ms
    )


def assignment_interval_ms(group: ConsumerState) -> int:
    """So long a target stays as it is, however much changes; the first one comes at once."""
    if not group.shard.node.release.keeps_assignment_epochs:
        return 0
    return _of_group(
        group, "consumer.assignment.interval.ms", group.shard.node.config.group_consumer_assignment_interval_ms
    )


def assignors(node: Any) -> list[str]:
    """The names of the assignors that a broker has, the one for groups that name none first.

    `group.consumer.assignors` may name Kafka's classes instead. Others are left out: there is no Java here to run them.
    """
    given = node.config.given().get("group.consumer.assignors")
    if given is None:
        return list(ASSIGNORS)
    names = (name.strip().removeprefix(_PACKAGE).removesuffix("Assignor").lower() for name in given.split(","))
    return [name for name in names if name in ASSIGNORS] or list(ASSIGNORS)


def runs_consumer_groups(node: Any) -> bool:
    """Whether the consumer protocol is on: by `group.coordinator.rebalance.protocols`, and by the feature of that
    name in releases that have it."""
    given = node.config.given().get("group.coordinator.rebalance.protocols")
    if not node.release.runs_consumer_groups:
        return given is not None and "consumer" in _words(given)
    return (given is None or "consumer" in _words(given)) and node.cluster.feature_level("group.version") >= 1


def _words(text: str) -> list[str]:
    return [word.strip().lower() for word in text.split(",")]


def may_migrate(node: Any, way: str) -> bool:
    """Whether groups may become those of the other protocol: "upgrade" or "downgrade"."""
    if not node.release.runs_consumer_groups:
        return False
    return node.config.group_consumer_migration_policy.lower() in (way, "bidirectional")


def _of_group(group: ConsumerState, name: str, default: int) -> int:
    own = group.shard.node.metadata.group_config.get(group.group_id)
    value = whole_number(own[name].strip()) if own and name in own else None
    return default if value is None else value
