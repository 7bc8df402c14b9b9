"""CreatePartitions v0-3: add partitions to topics (KIP-195).

v3  may return THROTTLING_QUOTA_EXCEEDED (KIP-599)

Source: kafka.server.ControllerApis.createPartitions, ReplicationControlManager.createPartitions.
"""

from collections import Counter

from kafkalet.broker.apis.parts.mutation_quota import count_mutations
from kafkalet.broker.cluster.assignments import check_assignments
from kafkalet.broker.cluster.metadata import place
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

Topic = CreatePartitionsRequest.Topic
Answer = CreatePartitionsResponse.Topic

STRICT_QUOTA_SINCE = 3
"""From this version on, requests over the client's quota are refused. Earlier versions only throttle the client."""
MAX_RECORDS = 10_000
"""The maximum size of a batch from Kafka's controller, with one record per partition."""


def handle(request: CreatePartitionsRequest, context: Context) -> CreatePartitionsResponse:
    times = Counter(topic.name for topic in request.topics)
    refused = {
        name
        for name, count in times.items()
        if count == 1 and not context.allows(Operation.ALTER, ResourceType.TOPIC, name)
    }
    if (
        list(times.values()).count(1) > len(refused)
        and request.timeout_ms <= 0
        and context.release.runs_without_zookeeper
    ):
        raise KafkaError(Code.REQUEST_TIMED_OUT)  # Kafka checks the timeout before the topics
    answers = [
        Answer(name=name, error_code=Code.INVALID_REQUEST, error_message="Duplicate topic name.")
        for name, count in times.items()
        if count > 1
    ]
    message = None if context.release.runs_without_zookeeper else "The topic authorization is failed."
    answers += [
        Answer(name=name, error_code=Code.TOPIC_AUTHORIZATION_FAILED, error_message=message)
        for name in times
        if name in refused
    ]
    with context.controller.changes.begin():
        for topic in request.topics:
            if times[topic.name] == 1 and topic.name not in refused:
                answer = Answer(name=topic.name)
                try:
                    _grow(topic, request.validate_only, context)
                except KafkaError as error:
                    answer.error_code, answer.error_message = error.code, error.message
                answers.append(answer)
    return CreatePartitionsResponse(results=answers)


def _grow(topic: Topic, validate_only: bool, context: Context) -> None:
    metadata = context.metadata
    state = metadata.topics.get(topic.name)
    if state is None:
        message = None if context.release.runs_without_zookeeper else f"The topic '{topic.name}' does not exist."
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, message)
    now = len(state.partitions)
    if topic.count == now:
        raise KafkaError(Code.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
    if topic.count < now:
        message = f"The topic {topic.name} currently has {now} partition(s); {topic.count} would not be an increase."
        raise KafkaError(Code.INVALID_PARTITIONS, message)
    more = topic.count - now
    if more > MAX_RECORDS and context.release.limits_added_partitions:
        raise KafkaError(Code.POLICY_VIOLATION, "Excessively large number of additional partitions per request.")
    if topic.assignments is not None and len(topic.assignments) != more:
        message = (
            f"Attempted to add {more} additional partition(s), but only {len(topic.assignments)} assignment(s) "
            "were specified."
        )
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, message)
    if more > MAX_RECORDS:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    replication_factor = len(state.partitions[0].replicas)
    if topic.assignments is None:
        replicas = place(more, replication_factor, metadata, now)
    else:
        replicas = [list(assignment.broker_ids) for assignment in topic.assignments]
        check_assignments(replicas, metadata.endpoints, replication_factor, metadata.away, now)
    count_mutations(more, STRICT_QUOTA_SINCE, context)
    if not validate_only:
        context.controller.add_partitions(state, replicas)
