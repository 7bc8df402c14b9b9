"""The configuration of consumer groups: broker properties, and the properties of a single group (resource type GROUP).

Source: org.apache.kafka.coordinator.group.GroupConfigManager, GroupCoordinatorConfig.
"""

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.properties import whole_number

_PACKAGE = "org.apache.kafka.coordinator.group.assignor."


def assignors(node: Node) -> list[str]:
    """Return the names of the enabled assignors, the default one first.

    `group.consumer.assignors` may also contain the class names of Kafka's own assignors. Other classes are ignored,
    because Java code cannot run here.
    """
    given = node.config.given().get("group.consumer.assignors")
    if given is None:
        return list(ASSIGNORS)
    names = (name.strip().removeprefix(_PACKAGE).removesuffix("Assignor").lower() for name in given.split(","))
    return [name for name in names if name in ASSIGNORS] or list(ASSIGNORS)


def runs_consumer_groups(node: Node) -> bool:
    """Return whether the consumer protocol is enabled.

    This depends on `group.coordinator.rebalance.protocols` and, in releases that have it, on the feature
    `group.version`.
    """
    given = node.config.given().get("group.coordinator.rebalance.protocols")
    if not node.release.runs_consumer_groups:
        return given is not None and "consumer" in _words(given)
    return (given is None or "consumer" in _words(given)) and node.feature_level("group.version") >= 1


def _words(text: str) -> list[str]:
    return [word.strip().lower() for word in text.split(",")]


def may_migrate(node: Node, way: str) -> bool:
    """Return whether groups may be converted to the other protocol. `way` is "upgrade" or "downgrade"."""
    if not node.release.runs_consumer_groups:
        return False
    return (node.config.group_consumer_migration_policy or "").lower() in (way, "bidirectional")


def duration_ms(node: Node, group_id: str, name: str, default: int) -> int:
    """Return a duration from the configuration of the group, or `default` if the group does not set it."""
    own = node.metadata.group_config.get(group_id)
    value = whole_number(own[name].strip()) if own and name in own else None
    return default if value is None else value
