"""Runtime changes to the configuration of a resource, for AlterConfigs and IncrementalAlterConfigs.

Both APIs express a change as an `Edit`, a function from the old properties of a resource to the new ones. All checks
run before anything is changed, and changes take effect immediately.

A broker changes only its own properties, the controller those of each node. Kafka's controller accepts every value for
a broker, which the broker may then ignore; here, it makes the same checks as the broker.

Source: kafka.server.ConfigAdminManager for the checks in the broker, and ConfigurationControlManager for the subsequent
checks in the controller.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import TypeVar

from kafkalet.broker.cluster.controller import MIN_ISR
from kafkalet.broker.cluster.features import CORDONED_SINCE, ELIGIBLE_LEADERS
from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.config.broker_config import check_tiers_of
from kafkalet.broker.config.dynamic import check_change, refused_by_component
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.security.acl import ResourceType as SecuredResource
from kafkalet.properties import InvalidProperty, whole_number
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_configs import AlterConfigsRequest
from kafkalet.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkalet.storage.config import UnknownProperty, check

CORDONED = "cordoned.log.dirs"

R = TypeVar("R", AlterConfigsRequest.Resource, IncrementalAlterConfigsRequest.Resource)

Edit = Callable[[Mapping[str, str]], dict[str, str]]
"""A function that takes the old properties of a resource and returns the new ones. May raise KafkaError."""


class ResourceType(IntEnum):
    """The types of resources that have a configuration, as numbered in the protocol."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


def change(
    context: Context, resource_type: int, name: str, edit: Edit, named: Collection[str], validate_only: bool
) -> None:
    """Change the configuration of a resource. With `validate_only`, only check the change.

    `named` contains the names of the properties in the request. Raises KafkaError if the change is refused.
    """
    if (error := _refusal_to_alter(resource_type, name, context)) is not None:
        rules = context.release
        if resource_type == ResourceType.BROKER and not rules.checks_rights_to_alter_brokers_first:
            _change_broker(context, name, edit, named, validate_only=True)
        raise error
    if resource_type == ResourceType.TOPIC:
        _change_topic(context, name, edit, validate_only)
    elif resource_type == ResourceType.BROKER:
        _change_broker(context, name, edit, named, validate_only)
    elif resource_type == ResourceType.BROKER_LOGGER:
        raise _invalid("Clients cannot change log levels; use the option --log-level of kafkalet")
    elif resource_type == ResourceType.CLIENT_METRICS:
        _change_client_metrics(context, name, edit, validate_only)
    elif resource_type == ResourceType.GROUP and context.release.configures_groups:
        _change_group(context, name, edit, validate_only)
    else:
        code = Code.UNSUPPORTED_VERSION if context.is_at_controller else Code.INVALID_REQUEST
        raise KafkaError(code, f"Unknown resource type {resource_type}")


def distinct(resources: Sequence[R]) -> tuple[list[R], set[tuple[int, str]]]:
    """Return the last entry for each resource in a request, and the type and name of those that have several."""
    named = [(resource.resource_type, resource.resource_name) for resource in resources]
    return list(dict(zip(named, resources, strict=True)).values()), {name for name in named if named.count(name) > 1}


def refusal(operation: Operation, resource_type: int, name: str, context: Context) -> KafkaError | None:
    """Return an error if the client may not perform the operation (describe or alter) on a resource's configuration.

    For brokers, their loggers and client metrics, the client needs this operation on the cluster. Unknown types are
    refused elsewhere.
    """
    if context.authorizer is None or (resource_type == ResourceType.GROUP and not context.release.configures_groups):
        return None
    if resource_type == ResourceType.TOPIC:
        is_allowed = context.allows(operation, SecuredResource.TOPIC, name)
        code, message = Code.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."
    elif resource_type == ResourceType.GROUP:
        is_allowed = context.allows(operation, SecuredResource.GROUP, name)
        code, message = Code.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."
    elif resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS):
        is_allowed = context.allows_on_cluster(operation)
        code, message = Code.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
    else:
        return None
    return None if is_allowed else KafkaError(code, message)


def _refusal_to_alter(resource_type: int, name: str, context: Context) -> KafkaError | None:
    error = refusal(Operation.ALTER_CONFIGS, resource_type, name, context)
    if error is not None and (
        not context.release.runs_without_zookeeper
        or resource_type == ResourceType.BROKER_LOGGER
        or (resource_type == ResourceType.BROKER and context.release.checks_rights_to_alter_brokers_first)
    ):
        error.message = None
    return error


def _change_topic(context: Context, name: str, edit: Edit, validate_only: bool) -> None:
    controller = context.controller
    topic = controller.metadata.topics.get(name)
    texts = edit({} if topic is None else topic.config)
    unknown = KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if topic is None and not context.release.runs_without_zookeeper:
        raise unknown if context.release.finds_unknown_topics_to_configure else KafkaError(Code.UNKNOWN_SERVER_ERROR)
    if not name:
        raise _invalid("Default topic resources are not allowed.")
    check_topic_name(name)
    try:
        check(texts, context.release.log_rules)
        check_tiers_of({} if topic is None else topic.config, texts, controller.config)
    except UnknownProperty as error:
        raise KafkaError(Code.INVALID_CONFIG, str(error)) from error
    except InvalidProperty as error:
        raise _bad_value(error, name, context.release) from error
    if topic is None:
        raise unknown
    if not validate_only:
        controller.change_config(topic, texts)


def _bad_value(error: InvalidProperty, topic: str, release: Release) -> KafkaError:
    code = Code.INVALID_CONFIG if release.runs_without_zookeeper else Code.INVALID_REQUEST
    return KafkaError(code, f"{_prefix('TOPIC', topic, release)}{error}")


def _prefix(kind: str, name: str, release: Release) -> str:
    """Return the text that brokers with ZooKeeper put before an error message about an invalid value."""
    if release.runs_without_zookeeper:
        return ""
    return f"Invalid config value for resource ConfigResource(type={kind}, name='{name}'): "


def _change_broker(context: Context, name: str, edit: Edit, named: Collection[str], validate_only: bool) -> None:
    controller = context.controller
    node_id = _node_id(name, context) if name else None
    node = context.node if node_id is None else controller.nodes.get(node_id, context.node)
    changed: dict[int | None, dict[str, str]] = controller.metadata.broker_config
    before = changed.get(node_id, {})
    texts = edit(before)
    if context.is_at_controller and not _words(texts) <= _words(before):
        message = (
            "When updating cordoned.log.dirs via controllers,  the new value must be a subset of the current "
            "configuration value."
        )
        raise KafkaError(Code.INVALID_CONFIG, message)
    is_away = context.is_at_controller and node_id is not None and node_id not in controller.nodes
    try:
        after = check_change(
            texts,
            cluster_wide=node_id is None,
            config=node.config,
            log_dirs=_words(before) if is_away else node.directories.paths,
        )
        try:
            node.observer.check_reconfiguration(after)
        except InvalidProperty as error:
            raise refused_by_component(str(error)) from error
    except KafkaError as error:
        raise KafkaError(error.code, f"{_prefix('BROKER', name, context.release)}{error.message}") from error
    if CORDONED in named and context.node.feature_level("metadata.version") < CORDONED_SINCE:
        message = (
            "The cordoned.log.dirs configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
        )
        raise KafkaError(Code.INVALID_CONFIG, message)
    if context.node.feature_level(ELIGIBLE_LEADERS):
        if node_id is not None and MIN_ISR in named:
            message = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
            raise KafkaError(Code.INVALID_CONFIG, message)
        if node_id is None and MIN_ISR in before and MIN_ISR not in texts:
            message = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
            raise KafkaError(Code.INVALID_CONFIG, message)
    if not validate_only:
        with controller.changes.begin() as change:
            change.undo(controller.reconfigure_brokers)
            change.undo(lambda: changed.update({node_id: before}))
            changed[node_id] = texts
            if MIN_ISR in named:
                controller.leadership.clear_eligible(controller.metadata.topics.values())
            controller.apply_broker_config()


def _change_client_metrics(context: Context, name: str, edit: Edit, validate_only: bool) -> None:
    from kafkalet.broker.config.client_metrics import check as check_client_metrics

    kept: dict[str, dict[str, str]] = context.metadata.client_metrics
    texts = edit(kept.get(name, {}))
    if not name:
        raise _invalid("Subscription name can't be empty")
    check_client_metrics(texts, context.release)
    _store(name, texts, kept, context, validate_only)


def _change_group(context: Context, name: str, edit: Edit, validate_only: bool) -> None:
    from kafkalet.broker.config.group_properties import check as check_group

    kept: dict[str, dict[str, str]] = context.metadata.group_config
    texts = edit(kept.get(name, {}))
    if not name:
        raise _invalid("Default group resources are not allowed.")
    check_group(texts, context.node.config)
    _store(name, texts, kept, context, validate_only)


def _store(
    name: str, texts: dict[str, str], kept: dict[str, dict[str, str]], context: Context, validate_only: bool
) -> None:
    """Store the properties of a resource, or remove the resource if it has no properties left."""
    if not validate_only:
        context.controller.change_properties(kept, name, texts)


def _words(texts: Mapping[str, str]) -> set[str]:
    """Return the cordoned log directories."""
    return {word.strip() for word in texts.get(CORDONED, "").split(",")} - {""}


def _node_id(name: str, context: Context) -> int:
    expected = context.node.node_id
    node_id = whole_number(name)
    if context.is_at_controller:
        if node_id is None:
            raise _invalid("Unable to parse broker name as a base 10 number.")
        if node_id < 0:
            raise _invalid("Invalid negative broker ID.")
        metadata = context.metadata
        if node_id != expected and node_id not in metadata.endpoints and node_id not in metadata.away:
            raise KafkaError(Code.BROKER_ID_NOT_REGISTERED, f"No node with id {node_id} found.")
        return node_id
    if node_id is None:
        kind = "Node" if context.release.runs_without_zookeeper else "Broker"
        raise _invalid(f"{kind} id must be an integer, but it is: {name}")
    if node_id != expected:
        raise _invalid(f"Unexpected broker id, expected {expected}, but received {name}")
    return node_id


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)
