"""DescribeConfigs v0-4: return the configuration of topics, brokers, loggers, groups and client metrics (KIP-133).

v1  adds the source of each value and optionally its synonyms (KIP-226)
v3  adds the type and optionally the documentation of each property (KIP-569)

A broker returns only its own configuration and, for an empty broker name, the properties that are set cluster-wide.
Unknown property names in the request are ignored. A resource of an unknown type makes the whole request fail.
Resources that the client may not describe come last.

Source: kafka.server.ConfigHelper.
"""

import logging
from collections.abc import Iterable, Iterator

from kafkalet.broker.apis.parts.config_changes import ResourceType, refusal
from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.config.dynamic import REPLICATION_RATES
from kafkalet.broker.config.entries import Entry, Source, broker_entries, cluster_entries, topic_entries
from kafkalet.broker.config.listeners import ADVERTISED, LISTENERS
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.properties import whole_number
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkalet.tasks.task import pause

Resource = DescribeConfigsRequest.Resource
Answer = DescribeConfigsResponse.Resource
Config = DescribeConfigsResponse.Resource.Config

LOGGER_SOURCE = 6
MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
# Maps the names of Python's log levels to Kafka's.
LEVELS = {"CRITICAL": "FATAL", "WARNING": "WARN"}


async def handle(request: DescribeConfigsRequest, context: Context) -> DescribeConfigsResponse:
    if not {resource.resource_type for resource in request.resources} <= _known_types(context):
        raise _invalid(MALFORMED)
    results: list[Answer] = []
    refused: list[Answer] = []
    for resource in request.resources:
        await pause()
        error = refusal(Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name, context)
        if error is None:
            results.append(_describe(resource, request, context))
        else:
            answer = _answer(resource, context)
            answer.error_code, answer.error_message = error.code, error.message
            refused.append(answer)
    return DescribeConfigsResponse(results=results + refused)


def _answer(resource: Resource, context: Context) -> Answer:
    answer = Answer(resource_type=resource.resource_type, resource_name=resource.resource_name, configs=[])
    if not context.release.sends_empty_messages_for_configs:
        answer.error_message = None
    return answer


def _describe(resource: Resource, request: DescribeConfigsRequest, context: Context) -> Answer:
    answer = _answer(resource, context)
    try:
        keys = resource.configuration_keys
        answer.configs = [config for config in _configs(resource, request, context) if not keys or config.name in keys]
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message or answer.error_message
    return answer


def _configs(resource: Resource, request: DescribeConfigsRequest, context: Context) -> Iterable[Config]:
    kind, name = resource.resource_type, resource.resource_name
    if kind == ResourceType.TOPIC:
        check_topic_name(name)
        topic = context.metadata.topics.get(name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "")
        entries = topic_entries(topic.config, context.node.config)
    elif kind == ResourceType.BROKER:
        config = context.node.config
        if name and _node_id(name) != context.node.node_id:
            expected = f"{context.node.node_id} or empty string"
            raise _invalid(f"Unexpected broker id, expected {expected}, but received {name}")
        entries = broker_entries(config, _facts(context)) if name else cluster_entries(config)
    elif kind == ResourceType.BROKER_LOGGER:
        return _loggers(name, context)
    elif kind == ResourceType.CLIENT_METRICS:
        entries = _client_metrics(name, context)
    else:
        entries = _group(name, context)
    return (_config(entry, request, context) for entry in entries)


def _known_types(context: Context) -> set[int]:
    types = {int(kind) for kind in ResourceType}
    return types if context.release.configures_groups else types - {int(ResourceType.GROUP)}


def _client_metrics(name: str, context: Context) -> Iterator[Entry]:
    from kafkalet.broker.config.client_metrics import client_metrics_entries

    if not name:
        raise _invalid("Client metrics subscription name must not be empty")
    return client_metrics_entries(context.metadata.client_metrics.get(name, {}), context.release)


def _group(name: str, context: Context) -> Iterator[Entry]:
    from kafkalet.broker.config.group_properties import group_entries

    if not name:
        raise _invalid("Group name must not be empty")
    return group_entries(context.metadata.group_config.get(name, {}), context.node.config)


def _config(entry: Entry, request: DescribeConfigsRequest, context: Context) -> Config:
    synonyms = [
        Config.Synonym(name=synonym.name, value=synonym.value, source=synonym.source) for synonym in entry.synonyms
    ]
    return Config(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_default=entry.source is Source.DEFAULT and not context.release.sends_empty_messages_for_configs,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=synonyms if request.include_synonyms else [],
        config_type=entry.config_type,
        documentation=_documentation(entry) if request.include_documentation else entry.documentation,
    )


def _documentation(entry: Entry) -> str | None:
    if entry.name in REPLICATION_RATES:
        return None
    from kafkalet.broker.config.documentation import documentation_of

    return documentation_of(entry.name) if entry.documentation is None else entry.documentation


def _facts(context: Context) -> dict[str, str]:
    """Return the properties that Kafka would read from the broker's server.properties file."""
    node = context.node
    endpoint = node.endpoint
    facts = {"broker.id": str(node.node_id)}
    if LISTENERS not in node.config.static:
        listener = f"{context.listener}://{endpoint.host}:{endpoint.port}"
        facts |= {LISTENERS: listener, ADVERTISED: listener}
    if context.release.runs_without_zookeeper:
        facts["node.id"] = str(node.node_id)
    return facts | {"log.dirs": ",".join(node.directories.paths)}


def _loggers(name: str, context: Context) -> Iterator[Config]:
    """Yield the root logger and the loggers of this package, with their levels."""
    if not name:
        raise _invalid("Broker id must not be empty")
    if _node_id(name) != context.node.node_id:
        raise _invalid(f"Unexpected broker id, expected {context.node.node_id} but received {name}")
    names = [logger for logger in logging.root.manager.loggerDict if logger.partition(".")[0] == "kafkalet"]
    for logger in ["root", *sorted(names)]:
        level = logging.getLevelName(logging.getLogger(None if logger == "root" else logger).getEffectiveLevel())
        value = LEVELS.get(level, level)
        yield Config(name=logger, value=value, read_only=False, config_source=LOGGER_SOURCE, is_sensitive=False)


def _node_id(name: str) -> int:
    node_id = whole_number(name)
    if node_id is None:
        raise _invalid(f"Broker id must be an integer, but it is: {name}")
    return node_id


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)
