"""DeleteTopics v0-6: delete topics (KIP-4).

v3  may return TOPIC_DELETION_DISABLED (KIP-322)
v5  adds error messages; may return THROTTLING_QUOTA_EXCEEDED (KIP-599)
v6  accepts topic ids (KIP-516)

Deleting a topic needs DELETE on the topic, or on the cluster in KRaft releases. The response names a topic that was
requested by id only if the client may describe it. A topic that is listed twice, whether by name, by id or by both, is
refused and not deleted.

Source: kafka.server.ControllerApis.deleteTopics.
"""

from collections import Counter
from collections.abc import Iterator

from kafkalet.broker.apis.parts.mutation_quota import count_mutations
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkalet.protocol.wire import ZERO_UUID

Answer = DeleteTopicsResponse.Topic

STRICT_QUOTA_SINCE = 5
"""From this version on, requests over the client's quota are refused. Earlier versions only throttle the client."""
DISABLED_SINCE = 3
"""The first version that returns TOPIC_DELETION_DISABLED. Earlier versions return INVALID_REQUEST."""
UNAUTHORIZED = "Topic authorization failed."
UNKNOWN_NAME = "This server does not host this topic-partition."
UNKNOWN_ID = "This server does not host this topic ID."


def handle(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    if not context.node.config.delete_topic_enable:
        return DeleteTopicsResponse(responses=list(_disabled(request, context.version)))
    if not context.release.runs_without_zookeeper:
        return _delete_with_zookeeper(request, context)
    answers: list[Answer] = []
    names, ids = _unique_names_and_ids(request, answers)
    if (names or ids) and request.timeout_ms <= 0:
        raise KafkaError(Code.REQUEST_TIMED_OUT)  # Kafka checks the timeout before the topics
    to_delete = _to_delete(names, ids, answers, context)
    with context.controller.changes.begin():
        for topic_id, name in to_delete.items():
            answers.append(_delete(name, topic_id, context))
    return DeleteTopicsResponse(responses=answers)


def _to_delete(names: list[str], ids: dict[bytes, int], answers: list[Answer], context: Context) -> dict[bytes, str]:
    """Return the ids and names of the topics to delete. Add the refusals to `answers`."""
    may_delete_all = context.allows_on_cluster(Operation.DELETE)

    def may(operation: Operation, name: str) -> bool:
        return may_delete_all or context.allows(operation, ResourceType.TOPIC, name)

    by_id = _ids(ids, context, answers)
    to_delete = {}
    for topic_id, name in by_id.items():
        if may(Operation.DELETE, name):
            to_delete[topic_id] = name
        else:
            shown = name if may(Operation.DESCRIBE, name) else None
            answers.append(_refused(Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED, shown, topic_id))
    for name in names:
        topic = context.metadata.topics.get(name)
        if not may(Operation.DESCRIBE, name):
            answers.append(_refused(Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED, name))
        elif topic is None:
            answers.append(_refused(Code.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_NAME, name))
        elif not may(Operation.DELETE, name):
            answers.append(_refused(Code.TOPIC_AUTHORIZATION_FAILED, UNAUTHORIZED, name))
        elif topic.topic_id in ids:
            to_delete.pop(topic.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            answers.append(_refused(Code.INVALID_REQUEST, message, name, topic.topic_id))
        else:
            to_delete[topic.topic_id] = name
    return to_delete


def _delete_with_zookeeper(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    """Delete topics as releases with ZooKeeper do: errors have no message, and duplicates share the result.

    Source: KafkaApis.handleDeleteTopicsRequest of 2.8.
    """
    answers = [Answer(name=name, error_message=None) for name in request.topic_names]
    for asked in request.topics:
        if asked.name is not None and asked.topic_id != ZERO_UUID:
            raise KafkaError(Code.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")
        known = context.metadata.topic_by_id(asked.topic_id)
        name = known.name if asked.name is None and known is not None else asked.name
        answers.append(Answer(name=name, topic_id=asked.topic_id, error_message=None))
    to_delete: dict[str, list[Answer]] = {}
    for answer in answers:
        name = answer.name
        if name is None:
            answer.error_code = Code.UNKNOWN_TOPIC_ID
        elif answer.topic_id != ZERO_UUID and not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
            answer.name, answer.error_code = None, Code.TOPIC_AUTHORIZATION_FAILED
        elif not context.allows(Operation.DELETE, ResourceType.TOPIC, name):
            answer.error_code = Code.TOPIC_AUTHORIZATION_FAILED
        elif name not in context.metadata.topics:
            answer.error_code = Code.UNKNOWN_TOPIC_OR_PARTITION
        else:
            to_delete.setdefault(name, []).append(answer)
    with context.controller.changes.begin():
        for name, results in to_delete.items():
            deleted = _delete(name, context.metadata.topics[name].topic_id, context)
            for answer in results:
                answer.error_code, answer.error_message = deleted.error_code, deleted.error_message or None
    return DeleteTopicsResponse(responses=answers)


def _delete(name: str, topic_id: bytes, context: Context) -> Answer:
    try:
        count_mutations(len(context.metadata.topics[name].partitions), STRICT_QUOTA_SINCE, context)
    except KafkaError as error:
        return _refused(error.code, error.message, name, topic_id)
    context.controller.delete_topic(name)
    return Answer(name=name, topic_id=topic_id)


def refuse(request: DeleteTopicsRequest, context: Context, error: KafkaError) -> DeleteTopicsResponse:
    asked: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    asked += [(topic.name, topic.topic_id) for topic in request.topics]
    return DeleteTopicsResponse(responses=[_refused(error.code, error.message, *one) for one in asked])


def _unique_names_and_ids(request: DeleteTopicsRequest, answers: list[Answer]) -> tuple[list[str], dict[bytes, int]]:
    """Return the names listed once, and how often each id is listed. Add the refusals to `answers`."""
    names = Counter(request.topic_names)
    ids: Counter[bytes] = Counter()
    for topic in request.topics:
        if topic.topic_id == ZERO_UUID:
            if topic.name is None:
                answers.append(_refused(Code.INVALID_REQUEST, "Neither topic name nor id were specified.", None))
            else:
                names[topic.name] += 1
        elif topic.name is None:
            ids[topic.topic_id] += 1
        else:
            message = "You may not specify both topic name and topic id."
            answers.append(_refused(Code.INVALID_REQUEST, message, topic.name, topic.topic_id))
    for name, times in names.items():
        if times > 1:
            answers.append(_refused(Code.INVALID_REQUEST, "Duplicate topic name.", name))
    return [name for name, times in names.items() if times == 1], ids


def _ids(ids: dict[bytes, int], context: Context, answers: list[Answer]) -> dict[bytes, str]:
    """Map each id that exists and is listed once to its topic name. Add a refusal for any other id to `answers`."""
    found = {}
    for topic_id, times in ids.items():
        topic = context.metadata.topic_by_id(topic_id)
        if times > 1:
            answers.append(_refused(Code.INVALID_REQUEST, "Duplicate topic id.", None, topic_id))
        elif topic is None:
            answers.append(_refused(Code.UNKNOWN_TOPIC_ID, UNKNOWN_ID, None, topic_id))
        else:
            found[topic_id] = topic.name
    return found


def _refused(code: Code, message: str | None, name: str | None, topic_id: bytes = ZERO_UUID) -> Answer:
    return Answer(name=name, topic_id=topic_id, error_code=code, error_message=message)


def _disabled(request: DeleteTopicsRequest, version: int) -> Iterator[Answer]:
    """Refuse to delete any topic, because of `delete.topic.enable=false`."""
    code = Code.TOPIC_DELETION_DISABLED if version >= DISABLED_SINCE else Code.INVALID_REQUEST
    error = KafkaError(code, "Topic deletion is disabled.")
    for name in request.topic_names:
        yield Answer(name=name, error_code=error.code, error_message=error.message)
    for topic in request.topics:
        yield Answer(name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=error.message)
