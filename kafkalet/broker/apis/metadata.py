"""Metadata v0-13: describe the brokers and the leaders of topic partitions.

v1  uses null to request all topics, and an empty list to request none; in v0, an empty list requests all topics, and
    partitions leave out replicas on offline brokers and return REPLICA_NOT_AVAILABLE
v4  adds allow_auto_topic_creation
v8  optionally returns authorized operations (KIP-430)
v10 returns topic ids (KIP-516)
v12 accepts topic ids (KIP-516)
v13 adds a top-level error code (KIP-1102)

Existing topics precede missing topics; then come those that the client may not create, and those that it may not
describe. Unknown topic ids precede known ids. Otherwise, topics are in request order. (Kafka keeps this order for up to
four topics, and returns more than four in the order of a hash set.) A response with all topics leaves out those that
the client may not describe.

A missing topic is created if automatic creation is allowed by the request and by the broker. KRaft releases return
UNKNOWN_TOPIC_OR_PARTITION for this request, even if the controller refuses to create the topic, because the broker does
not wait for the controller. Releases with ZooKeeper return LEADER_NOT_AVAILABLE or the error of the controller.
Metadata is the only API that creates topics implicitly.

Source: kafka.server.KafkaApis.handleTopicMetadataRequest, AutoTopicCreationManager, KRaftMetadataCache.
"""

import logging
from collections.abc import Collection, Iterable
from functools import partial

from kafkalet.broker.apis.parts.authorized_operations import authorized_operations
from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS, NO_LEADER, PartitionState, TopicState, check_topic_name
from kafkalet.broker.context import Context
from kafkalet.broker.quoting import quoted
from kafkalet.broker.security.acl import CLUSTER_NAME, Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.task import in_thread, pause

log = logging.getLogger(__name__)

AnswerTopic = MetadataResponse.Topic
AnswerPartition = MetadataResponse.Topic.Partition

TOPICS_IN_LOOP = 5_000
"""The largest number of topics to process in the event loop. Requests for more topics are processed in a thread."""
NOT_REQUESTED = -(1 << 31)


async def handle(request: MetadataRequest, context: Context) -> MetadataResponse:
    metadata = context.metadata
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = await _all_topics(request, context)
    else:
        read = partial(_read, asked, context.version)
        refusal, ids, names = read() if len(asked) <= TOPICS_IN_LOOP else await in_thread(read, droppable=True)
        if refusal:
            return _refuse_all(asked, refusal)
        topics = await (_by_ids(ids, request, context) if ids else _by_names(names, request, context))
    return MetadataResponse(
        brokers=[
            MetadataResponse.Broker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in context.endpoints().values()
        ],
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations, context),
    )


def is_cacheable(response: MetadataResponse) -> bool:
    """Return whether every requested topic exists. A request for a missing topic may create it."""
    return all(topic.error_code == Code.NONE for topic in response.topics)


def cluster_operations(requested: bool, context: Context) -> int:
    """Return the operations that the client may perform on the cluster; none if it may not describe the cluster."""
    if not requested:
        return NOT_REQUESTED
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return 0
    return authorized_operations(context, ResourceType.CLUSTER, CLUSTER_NAME)


def _may(operation: Operation, name: str, context: Context) -> bool:
    return context.authorizer is None or context.allows(operation, ResourceType.TOPIC, name)


def _unauthorized(name: str | None, topic_id: bytes = ZERO_UUID, *, is_internal: bool = False) -> AnswerTopic:
    code = Code.TOPIC_AUTHORIZATION_FAILED
    return AnswerTopic(error_code=code, name=name, topic_id=topic_id, is_internal=is_internal, partitions=[])


def _read(asked: list[MetadataRequest.Topic], version: int) -> tuple[Code | None, dict[bytes, None], dict[str, None]]:
    """Return the request-level error, if any, and the requested topic ids and names without duplicates."""
    refusal = _refusal(asked, version)
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    return refusal, ids, dict.fromkeys(topic.name for topic in asked if topic.name is not None)


def _refusal(asked: list[MetadataRequest.Topic], version: int) -> Code | None:
    """Return the request-level error, if any.

    Versions 10 and 11 have a field for topic ids, but requests may use it only from version 12. A topic with neither a
    name nor an id makes Kafka's handler fail.
    """
    for topic in asked:
        if version < 12 and (topic.name is None or topic.topic_id != ZERO_UUID):
            return Code.INVALID_REQUEST
    if any(topic.topic_id != ZERO_UUID for topic in asked) or all(topic.name is not None for topic in asked):
        return None
    return Code.UNKNOWN_SERVER_ERROR


def _refuse_all(asked: list[MetadataRequest.Topic], code: Code) -> MetadataResponse:
    return MetadataResponse(
        error_code=code,
        brokers=[],
        topics=[
            AnswerTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id, partitions=[])
            for topic in asked
        ],
    )


async def _all_topics(request: MetadataRequest, context: Context) -> list[AnswerTopic]:
    topics = []
    for topic in list(context.metadata.topics.values()):
        if _may(Operation.DESCRIBE, topic.name, context):
            topics.append(_known(topic, request, context))
        await pause()
    return topics


async def _by_ids(topic_ids: Iterable[bytes], request: MetadataRequest, context: Context) -> list[AnswerTopic]:
    unknown, known, unauthorized = [], [], []
    for topic_id in topic_ids:
        await pause()
        topic = context.metadata.topic_by_id(topic_id)
        if topic is None:
            answer = AnswerTopic(error_code=Code.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[])
            unknown.append(answer)
        elif _may(Operation.DESCRIBE, topic.name, context):
            known.append(_known(topic, request, context))
        else:
            unauthorized.append(_unauthorized(None, topic_id))
    return unknown + known + unauthorized


async def _by_names(names: Iterable[str], request: MetadataRequest, context: Context) -> list[AnswerTopic]:
    creates = request.allow_auto_topic_creation and context.controller.auto_creates_topics
    may_create_all = not creates or context.allows_on_cluster(Operation.CREATE)
    existing, illegal, missing, uncreated, undescribed = [], [], [], [], []
    for name in names:
        await pause()
        topic = context.metadata.topics.get(name)
        if not _may(Operation.DESCRIBE, name, context):
            undescribed.append(_unauthorized(name))
        elif topic is not None:
            existing.append(_known(topic, request, context))
        elif not may_create_all and not _may(Operation.CREATE, name, context):
            uncreated.append(_unauthorized(name, is_internal=name in INTERNAL_TOPICS))
        elif creates and not _is_legal(name):
            illegal.append(name)  # the broker refuses illegal names itself, so they come first
        else:
            missing.append(name)
    unknown = []
    for name in illegal + missing:
        await pause()
        unknown.append(await _missing(name, creates, request, context))
    return existing + unknown + uncreated + undescribed


def _is_legal(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return True


async def _missing(name: str, creates: bool, request: MetadataRequest, context: Context) -> AnswerTopic:
    if not _is_legal(name):
        code = Code.INVALID_TOPIC_EXCEPTION
    elif creates:
        code = await _create(name, context)
    else:
        code = Code.UNKNOWN_TOPIC_OR_PARTITION
    return AnswerTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=_operations(name, request, context),
    )


async def _create(name: str, context: Context) -> Code:
    """Create a topic and return the error code for the request that caused it."""
    code = Code.LEADER_NOT_AVAILABLE
    try:
        if context.controller.leadership.reaches_controller(context.node.node_id):
            await context.controller.change_and_save(partial(context.controller.auto_create_topic, name))
    except KafkaError as error:
        code = error.code
        log.debug("cannot create topic %s automatically: %s", quoted(name), code.name)
    return code if context.release.waits_for_created_topics else Code.UNKNOWN_TOPIC_OR_PARTITION


def _known(topic: TopicState, request: MetadataRequest, context: Context) -> AnswerTopic:
    alive = context.endpoints()
    return AnswerTopic(
        error_code=Code.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(topic.name, partition, alive, context) for partition in topic.partitions],
        topic_authorized_operations=_operations(topic.name, request, context),
    )


def _operations(name: str, request: MetadataRequest, context: Context) -> int:
    if not request.include_topic_authorized_operations:
        return NOT_REQUESTED
    return authorized_operations(context, ResourceType.TOPIC, name)


def _partition(topic: str, state: PartitionState, alive: Collection[int], context: Context) -> AnswerPartition:
    version = context.version
    leader = state.leader
    offline = context.controller.leadership.offline_replicas(topic, state, context.metadata)
    code = Code.NONE
    if state.leader == NO_LEADER:
        code = Code.LEADER_NOT_AVAILABLE
    elif leader not in alive and leader in context.metadata.endpoints:  # it does not advertise the client's listener
        leader = NO_LEADER
        offline = [node for node in state.replicas if node in offline or node not in alive]
        code = Code.LISTENER_NOT_FOUND if version >= 6 else Code.LEADER_NOT_AVAILABLE
    elif version == 0 and any(node not in alive for node in state.replicas):
        code = Code.REPLICA_NOT_AVAILABLE
    return AnswerPartition(
        error_code=code,
        partition_index=state.index,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=[node for node in state.replicas if version > 0 or node in alive],
        isr_nodes=[node for node in state.isr if version > 0 or node in alive],
        offline_replicas=offline,
    )
