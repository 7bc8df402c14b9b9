"""IncrementalAlterConfigs v0-1: change individual configuration values of resources (KIP-339).

Properties can be set or deleted; list properties can also be appended to or subtracted from. Each resource is changed
independently and atomically. A resource that is listed twice is refused both times, by the controller once; releases
before 3.2 use its last entry. The controller itself also accepts null, and a property twice.

Source: kafka.server.ConfigAdminManager.preprocess, ConfigurationControlManager.incrementalAlterConfigResource.
"""

from collections.abc import Mapping
from enum import IntEnum

from kafkalet.broker.apis.parts.config_changes import ResourceType, change, distinct
from kafkalet.broker.config.catalog import known_property
from kafkalet.broker.context import Context
from kafkalet.properties import Property, Type
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalet.protocol.text import MAX_STRING_BYTES
from kafkalet.storage.topic_properties import topic_properties

Resource = IncrementalAlterConfigsRequest.Resource
Config = IncrementalAlterConfigsRequest.Resource.Config
Answer = IncrementalAlterConfigsResponse.Resource


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def handle(request: IncrementalAlterConfigsRequest, context: Context) -> IncrementalAlterConfigsResponse:
    resources, twice = distinct(request.resources)
    if context.release.checks_resources_to_alter and not context.is_at_controller:
        resources = request.resources
    answers = []
    with context.controller.changes.begin():
        for resource in resources:
            answer = Answer(
                error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name
            )
            try:
                if (
                    resource.resource_type,
                    resource.resource_name,
                ) in twice and context.release.checks_resources_to_alter:
                    raise KafkaError(Code.INVALID_REQUEST, "Each resource must appear at most once.")
                _change(resource, context, request.validate_only)
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
            answers.append(answer)
    return IncrementalAlterConfigsResponse(responses=answers)


def _change(resource: Resource, context: Context, validate_only: bool) -> None:
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names) and not context.is_at_controller:
        raise KafkaError(Code.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [c.name for c in resource.configs if c.value is None and c.config_operation != Operation.DELETE]
    if nulls and not context.is_at_controller:
        raise KafkaError(Code.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    if resource.resource_type == ResourceType.TOPIC and not (
        resource.resource_name or context.release.runs_without_zookeeper
    ):
        raise KafkaError(Code.INVALID_REQUEST, "Path must not end with / character")
    of_broker = resource.resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
    steps = _Broker(context) if of_broker else _Topic(context)

    def edit(before: Mapping[str, str]) -> dict[str, str]:
        texts = dict(before)
        for config in resource.configs:
            steps.apply(config, texts)
        return texts

    change(context, resource.resource_type, resource.resource_name, edit, names, validate_only)


class _Topic:
    """Edits the properties of a topic, a group or a client metrics subscription.

    As in Kafka, list properties of groups and subscriptions cannot be appended to or subtracted from.
    """

    def __init__(self, context: Context) -> None:
        self.release = context.release

    def apply(self, config: Config, texts: dict[str, str]) -> None:
        name, value = config.name, config.value or ""
        if config.config_operation == Operation.SET and config.value is not None:
            texts[name] = value
        elif config.config_operation in (Operation.SET, Operation.DELETE):
            texts.pop(name, None)
        else:
            words = [word for word in self.list_of(config, texts).split(",") if word]
            given = value.split(",")
            if self.release.repeats_appended_values:
                words = words + given if config.config_operation == Operation.APPEND else without_each(words, given)
            elif config.config_operation == Operation.APPEND:
                words += [word for word in dict.fromkeys(given) if word not in words]
            else:
                words = [word for word in words if word not in given]
            texts[name] = ",".join(words)
            if self.release.runs_without_zookeeper and len(texts[name]) > MAX_STRING_BYTES:
                raise KafkaError(
                    Code.INVALID_CONFIG,
                    "The configuration value cannot be added because it exceeds the maximum value size of "
                    f"{MAX_STRING_BYTES} bytes.",
                )

    def list_of(self, config: Config, texts: Mapping[str, str]) -> str:
        """Return the current value of a list property. Raises KafkaError for a property of another type."""
        known = topic_properties(self.release.version).get(config.name)
        if not self.release.runs_without_zookeeper:
            return texts.get(config.name, _list_with_zookeeper(known, config))
        try:
            operation = Operation(config.config_operation)
        except ValueError:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR) from None
        if known is None or known.type is not Type.LIST:
            reason = f"Can't {operation.name} to key {config.name} because its type is not LIST."
            raise KafkaError(Code.INVALID_CONFIG, reason)
        return texts.get(config.name, known.default or "")


def without_each(words: list[str], taken: list[str]) -> list[str]:
    """Remove each word once for each time that it is taken, as Scala's `diff`."""
    left = list(words)
    for word in taken:
        if word in left:
            left.remove(word)
    return left


class _Broker(_Topic):
    """Edits the properties of a broker or the cluster-wide default."""

    def list_of(self, config: Config, texts: Mapping[str, str]) -> str:
        known = known_property(config.name, self.release.version)
        if self.release.checks_resources_to_alter and config.config_operation not in list(Operation):
            raise KafkaError(Code.INVALID_REQUEST, f"Unknown operations type {config.config_operation}")
        if not self.release.runs_without_zookeeper:
            return texts.get(config.name, _list_with_zookeeper(None if known is None else known.declared, config))
        operation = Operation(config.config_operation).name.lower()
        if known is None:
            if self.release.refuses_appending_to_unknown_properties:
                raise KafkaError(Code.INVALID_CONFIG, f"Unknown config name: {config.name}")
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        if known.declared.type is not Type.LIST:
            reason = f"Config value {operation} is not allowed for config key: {config.name}"
            raise KafkaError(Code.INVALID_CONFIG, reason)
        return texts.get(config.name, known.declared.default or "")


def _list_with_zookeeper(known: Property | None, config: Config) -> str:
    """Return the default of a list property. Raises KafkaError for a property of another type.

    Source: kafka.server.ZkAdminManager.prepareIncrementalConfigs.
    """
    if known is None or config.config_operation not in (Operation.APPEND, Operation.SUBTRACT):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    if known.type is not Type.LIST:
        operation = Operation(config.config_operation).name.lower()
        message = f"Config value {operation} is not allowed for config key: {config.name}"
        raise KafkaError(Code.INVALID_REQUEST, message)
    return known.default or ""
