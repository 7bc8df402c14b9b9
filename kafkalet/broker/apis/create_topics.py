"""CreateTopics v0-7: create topics (KIP-4).

v1  adds validate_only and error messages
v4  accepts -1 partitions or replicas for the broker's defaults (KIP-464); like Kafka, the handler accepts them in
    every version
v5  returns partitions, replicas and configuration (KIP-525)
v6  may return THROTTLING_QUOTA_EXCEEDED (KIP-599)
v7  returns topic ids (KIP-516); with validate_only, the ids are random

Creating a topic requires CREATE on the cluster or on the topic. The response contains the partitions and the
configuration of a topic only if the client has DESCRIBE_CONFIGS on it. A topic that cannot be created does not affect
the others. Results are in request order. A topic that is listed twice is refused and has a single result, at the end.

Source: kafka.server.ControllerApis.createTopics, ReplicationControlManager.createTopics.
"""

from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from kafkalet.broker.apis.parts.mutation_quota import count_mutations
from kafkalet.broker.cluster.assignments import in_order
from kafkalet.broker.cluster.changes import Change
from kafkalet.broker.cluster.metadata import new_topic_id
from kafkalet.broker.cluster.new_topics import NewTopic, check_config, check_name, place_topic
from kafkalet.broker.config.entries import new_topic_entries
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.formats import METADATA_TOPIC
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalet.tasks.task import pause

Topic = CreateTopicsRequest.Topic
Answer = CreateTopicsResponse.Topic
Config = CreateTopicsResponse.Topic.Config

UNAUTHORIZED = "Authorization failed."
STRICT_QUOTA_SINCE = 6
"""From this version on, requests over the client's quota are refused. Earlier versions only throttle the client."""
PARTITIONS_PER_TURN = 50
"""After this many new partitions, the handler yields to other requests."""
MAX_RECORDS = 10_000
"""The maximum size of a batch from Kafka's controller, with one record per topic, partition and property."""


def handle(
    request: CreateTopicsRequest, context: Context
) -> CreateTopicsResponse | Coroutine[Any, Any, CreateTopicsResponse]:
    times = Counter(topic.name for topic in request.topics)
    may_create_all = context.allows_on_cluster(Operation.CREATE)
    allowed = [
        topic
        for topic in request.topics
        if times[topic.name] == 1
        and (topic.name != METADATA_TOPIC or not context.release.runs_without_zookeeper)
        and (may_create_all or context.allows(Operation.CREATE, ResourceType.TOPIC, topic.name))
    ]
    names = {topic.name for topic in allowed}
    if context.release.runs_without_zookeeper:
        names.add(METADATA_TOPIC)  # refused for another reason
    unauthorized = [name for name, count in times.items() if count == 1 and name not in names]
    if allowed and request.timeout_ms <= 0 and context.release.runs_without_zookeeper:
        raise KafkaError(Code.REQUEST_TIMED_OUT)  # Kafka checks the timeout before the topics
    answers = _too_many(allowed)
    is_short = _partitions_of(allowed, context) <= PARTITIONS_PER_TURN and not context.controller.saves_in_thread
    if answers or is_short:
        return _answer(answers or _create_all(allowed, request, context), times, unauthorized, context)
    return _create_in_turns(list(_in_parts(allowed, context)), request, context, times, unauthorized)


async def _create_in_turns(
    parts: list[list[Topic]],
    request: CreateTopicsRequest,
    context: Context,
    times: Mapping[str, int],
    unauthorized: list[str],
) -> CreateTopicsResponse:
    """Create the topics in several parts. Between parts, other requests run and see the topics created so far.

    The metadata is saved once, at the end, in a thread. If there are only a few partitions, their logs are created
    before the response, so that a failed directory is noticed; otherwise they are created afterwards.
    """
    answers, changes = [], list[Change]()
    try:
        for part in parts:
            answers += [await _create_later(topic, request.validate_only, context, changes) for topic in part]
            await pause()
        if changes:
            await context.controller.save_in_thread()
    except BaseException:
        for change in reversed(changes):
            change.take_back()
        raise
    for change in changes:
        change.follow()
    if sum(_partitions_of(part, context) for part in parts) <= PARTITIONS_PER_TURN:
        for topic in [topic for part in parts for topic in part]:
            await context.controller.open_logs(topic.name, pause)
    return _answer(answers, times, unauthorized, context)


def _partitions_of(topics: list[Topic], context: Context) -> int:
    default = context.controller.config.num_partitions
    return sum(
        len(topic.assignments) or (default if topic.num_partitions < 0 else topic.num_partitions) for topic in topics
    )


def _in_parts(topics: list[Topic], context: Context) -> Iterator[list[Topic]]:
    """Split the topics into parts of about PARTITIONS_PER_TURN partitions."""
    part: list[Topic] = []
    partitions = 0
    for topic in topics:
        part.append(topic)
        partitions += _partitions_of([topic], context)
        if partitions >= PARTITIONS_PER_TURN:
            yield part
            part, partitions = [], 0
    if part:
        yield part


def _create_all(topics: list[Topic], request: CreateTopicsRequest, context: Context) -> list[Answer]:
    with context.controller.changes.begin():
        return [_create(topic, request.validate_only, context) for topic in topics]


def _answer(
    answers: list[Answer], times: Mapping[str, int], unauthorized: list[str], context: Context
) -> CreateTopicsResponse:
    """Add the results of the refused topics: the duplicates, the metadata topic and those that need rights."""
    if not context.release.runs_without_zookeeper:
        return _answer_with_zookeeper(answers, times, unauthorized, context)
    for name, count in times.items():
        if count > 1:
            answers.append(_refused(name, Code.INVALID_REQUEST, "Duplicate topic name."))
        elif name == METADATA_TOPIC:
            message = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            is_prohibited = context.release.prohibits_metadata_topic
            answers.append(
                _refused(name, Code.INVALID_REQUEST, message)
                if is_prohibited
                else _refused(name, Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED)
            )
    answers += [_refused(name, Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED) for name in unauthorized]
    return CreateTopicsResponse(topics=answers)


def _answer_with_zookeeper(
    answers: list[Answer], times: Mapping[str, int], unauthorized: list[str], context: Context
) -> CreateTopicsResponse:
    """Return the results in request order, duplicates included (KafkaApis.handleCreateTopicsRequest of 2.8)."""
    results = {answer.name: answer for answer in answers}
    for name in times:
        if name in results:
            continue
        if name in unauthorized:
            results[name] = _refused(name, Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED)
        else:
            results[name] = _refused(name, Code.INVALID_REQUEST, "Found multiple entries for this topic.")
        if not _shows_config(name, context):
            results[name].topic_config_error_code = Code.TOPIC_AUTHORIZATION_FAILED
    return CreateTopicsResponse(topics=[results[name] for name, count in times.items() for _ in range(count)])


def _shows_config(name: str, context: Context) -> bool:
    return context.allows(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name)


def _too_many(topics: list[Topic]) -> list[Answer]:
    partitions = sum(max(topic.num_partitions, len(topic.assignments)) for topic in topics)
    if partitions > MAX_RECORDS:
        message = "Excessively large number of partitions per request."
    elif partitions + len(topics) + sum(len(topic.configs) for topic in topics) > MAX_RECORDS:
        message = "Unable to perform excessively large batch operation."
    else:
        return []
    return [_refused(topic.name, Code.POLICY_VIOLATION, message) for topic in topics]


def _refused(name: str, code: Code, message: str | None) -> Answer:
    return Answer(name=name, error_code=code, error_message=message)


def _create(topic: Topic, validate_only: bool, context: Context) -> Answer:
    try:
        wanted, replicas = _checked(topic, context)
        if not validate_only:
            context.controller.create_placed(wanted, replicas)
    except KafkaError as error:
        return _refused(topic.name, error.code, error.message)
    return _created(topic, wanted.properties, replicas, validate_only, context)


async def _create_later(topic: Topic, validate_only: bool, context: Context, changes: list[Change]) -> Answer:
    try:
        wanted, replicas = _checked(topic, context)
        if not validate_only:
            await context.controller.create_later(wanted, replicas, changes, pause)
            await pause()
    except KafkaError as error:
        return _refused(topic.name, error.code, error.message)
    return _created(topic, wanted.properties, replicas, validate_only, context)


def _checked(topic: Topic, context: Context) -> tuple[NewTopic, list[list[int]]]:
    """Return the topic to create and its replicas. Raises KafkaError."""
    controller = context.controller
    check_name(topic.name, controller.metadata)
    config = _config(topic)
    if context.release.runs_without_zookeeper:
        check_config(config, controller.config)  # KRaft checks the configuration before the counts
    wanted = NewTopic(topic.name, topic.num_partitions, config, topic.replication_factor)
    replicas = place_topic(wanted, _assignments(topic), controller.metadata, controller.config)
    count_mutations(len(replicas), STRICT_QUOTA_SINCE, context)
    return wanted, replicas


def _created(
    topic: Topic, config: Mapping[str, str], replicas: list[list[int]], validate_only: bool, context: Context
) -> Answer:
    controller = context.controller
    answer = Answer(name=topic.name, error_message=None, configs=[])
    if _shows_config(topic.name, context):
        answer.num_partitions, answer.replication_factor = len(replicas), len(replicas[0])
        answer.configs = _effective(config, context) if context.version >= 5 else []
    else:
        answer.topic_config_error_code = Code.TOPIC_AUTHORIZATION_FAILED
    if context.release.runs_without_zookeeper or (_shows_config(topic.name, context) and not validate_only):
        answer.topic_id = new_topic_id() if validate_only else controller.metadata.topics[topic.name].topic_id
    return answer


def _config(topic: Topic) -> dict[str, str]:
    """Return the properties, keyed by name. If a name is listed more than once, its last value wins."""
    given = {config.name: config.value for config in topic.configs}
    nulls = [name for name, value in given.items() if value is None]
    if nulls:
        message = f"Null value not supported for topic configs: {','.join(nulls)}"
        raise KafkaError(Code.INVALID_CONFIG, message)
    return {name: value for name, value in given.items() if value is not None}


def _assignments(topic: Topic) -> list[list[int]] | None:
    if not topic.assignments:
        return None
    for count, what in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
        if count != -1:
            message = f"A manual partition assignment was specified, but {what} was not set to -1."
            raise KafkaError(Code.INVALID_REQUEST, message)
    return in_order([(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments])


def _effective(config: Mapping[str, str], context: Context) -> list[Config]:
    return [
        Config(
            name=entry.name,
            value=entry.value,
            read_only=False,
            config_source=entry.source,
            is_sensitive=False,
        )
        for entry in new_topic_entries(config, context.node.config)
    ]
