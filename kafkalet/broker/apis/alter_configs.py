"""AlterConfigs v0-2: replace the entire configuration of resources (KIP-133).

Properties that the request leaves out revert to their defaults.

Source: kafka.server.ConfigAdminManager.preprocess, ConfigurationControlManager.legacyAlterConfigResource.
"""

from kafkalet.broker.apis.parts.config_changes import ResourceType, change, distinct
from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

Resource = AlterConfigsRequest.Resource
Answer = AlterConfigsResponse.Resource


def handle(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    resources, twice = distinct(request.resources)
    answers = []
    with context.controller.changes.begin():
        for resource in resources if context.is_at_controller else request.resources:
            answer = Answer(
                error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name
            )
            try:
                if (resource.resource_type, resource.resource_name) in twice:
                    raise KafkaError(Code.INVALID_REQUEST, "Each resource must appear at most once.")
                _replace(resource, context, request.validate_only)
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
            answers.append(answer)
    return AlterConfigsResponse(responses=answers)


def _replace(resource: Resource, context: Context, validate_only: bool) -> None:
    texts: dict[str, str] = {}
    nulls = []
    for config in resource.configs:
        if (config.name in texts or config.name in nulls) and not context.is_at_controller:
            raise KafkaError(Code.INVALID_REQUEST, "Error due to duplicate config keys")
        if config.value is None:
            nulls.append(config.name)
        else:
            texts[config.name] = config.value
    if nulls and not context.is_at_controller:
        raise KafkaError(Code.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    if resource.resource_type == ResourceType.BROKER_LOGGER:  # only IncrementalAlterConfigs supports loggers (KIP-412)
        raise KafkaError(Code.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    change(context, resource.resource_type, resource.resource_name, lambda _: texts, texts, validate_only)
