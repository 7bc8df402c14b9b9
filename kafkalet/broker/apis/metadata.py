"""Metadata v0-13: brokers, topics, and who leads what.

v0      an empty list of topics asks for all; from v1 on null does, and an empty list for none. Replicas on brokers that
        are gone are left out, with an error; from v1 on all replicas are told
v4      a request may forbid that unknown topics are created
v8      authorized operations, if asked for
v10     topic ids in the answer
v12     topics may be asked for by id
v13     an error of the whole request

Topics that exist are answered before those that do not, unknown ids before known ones, otherwise in the order of the
request. (Kafka keeps that order for up to four topics; of more its hash sets make their own.)

A topic that does not exist and may be created automatically is created. In KRaft releases its answer this once is
UNKNOWN_TOPIC_OR_PARTITION, and so it is where the controller refuses to create it: the broker does not wait for the
controller. With ZooKeeper it is LEADER_NOT_AVAILABLE, or the reason of the refusal. This is the only API that creates
topics by the way.

Source: kafka.server.KafkaApis.handleTopicMetadataRequest, AutoTopicCreationManager, KRaftMetadataCache.
"""

import logging
from collections.abc import Collection, Iterable
from functools import partial

from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS, NO_LEADER, PartitionState, TopicState, check_topic_name
from kafkalet.broker.context import Context
from kafkalet.broker.quoting import quoted
from kafkalet.broker.scheduling.work import in_thread, pause
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.wire import ZERO_UUID

log = logging.getLogger(__name__)

AnswerTopic = MetadataResponse.Topic
AnswerPartition = MetadataResponse.Topic.Partition

READ_AT_ONCE = 5_000
"""A request with more topics than this is read in a thread."""
NOT_ASKED = -(1 << 31)
# What everybody may do where no authorizer says otherwise: a bit for each operation of the resource (AclOperation).
TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


async def handle(request: MetadataRequest, context: Context) -> MetadataResponse:
    metadata = context.metadata
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = await _all_topics(request, context)
    else:
        read = partial(_read, asked, context.version)
        refusal, ids, names = read() if len(asked) <= READ_AT_ONCE else await in_thread(read)
        if refusal:
            return _refuse_all(asked, refusal)
        topics = await (_by_ids(ids, request, context) if ids else _by_names(names, request, context))
    cluster_operations = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
    return MetadataResponse(
        brokers=[
            MetadataResponse.Broker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in metadata.endpoints.values()
        ],
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_operations,
    )


def _read(asked: list[MetadataRequest.Topic], version: int) -> tuple[Code | None, dict[bytes, None], dict[str, None]]:
    """What is wrong with the request as a whole; the topic ids it asks for, and the names, each once."""
    refusal = _refusal(asked, version)
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    return refusal, ids, dict.fromkeys(topic.name for topic in asked if topic.name is not None)


def _refusal(asked: list[MetadataRequest.Topic], version: int) -> Code | None:
    """What is wrong with the request as a whole.

    Versions 10 and 11 have a place for topic ids, but only from 12 on may a request fill it. A topic without name and
    without id is nothing that Kafka's handler is prepared for.
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
        topics.append(_known(topic, request, context))
        await pause()
    return topics


async def _by_ids(topic_ids: Iterable[bytes], request: MetadataRequest, context: Context) -> list[AnswerTopic]:
    unknown, known = [], []
    for topic_id in topic_ids:
        await pause()
        topic = context.metadata.topic_by_id(topic_id)
        if topic is None:
            answer = AnswerTopic(error_code=Code.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[])
            unknown.append(answer)
        else:
            known.append(_known(topic, request, context))
    return unknown + known


async def _by_names(names: Iterable[str], request: MetadataRequest, context: Context) -> list[AnswerTopic]:
    creates = request.allow_auto_topic_creation and context.controller.auto_creates_topics
    existing, illegal, missing = [], [], []
    for name in names:
        await pause()
        topic = context.metadata.topics.get(name)
        if topic is not None:
            existing.append(_known(topic, request, context))
        elif creates and not _is_legal(name):
            illegal.append(name)  # these never reach the controller, so their answers come first
        else:
            missing.append(name)
    unknown = []
    for name in illegal + missing:
        await pause()
        unknown.append(_missing(name, creates, request, context))
    return existing + unknown


def _is_legal(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return True


def _missing(name: str, creates: bool, request: MetadataRequest, context: Context) -> AnswerTopic:
    if not _is_legal(name):
        code = Code.INVALID_TOPIC_EXCEPTION
    elif creates:
        code = _create(name, context)
    else:
        code = Code.UNKNOWN_TOPIC_OR_PARTITION
    return AnswerTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=_operations(request),
    )


def _create(name: str, context: Context) -> Code:
    """Create a topic; what its first answer says."""
    code = Code.LEADER_NOT_AVAILABLE
    try:
        context.controller.auto_create_topic(name)
    except KafkaError as error:
        code = error.code
        log.debug("topic %s was asked for and cannot be created: %s", quoted(name), code.name)
    return code if context.release.waits_for_created_topics else Code.UNKNOWN_TOPIC_OR_PARTITION


def _known(topic: TopicState, request: MetadataRequest, context: Context) -> AnswerTopic:
    alive = context.metadata.endpoints
    return AnswerTopic(
        error_code=Code.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(partition, alive, context) for partition in topic.partitions],
        topic_authorized_operations=_operations(request),
    )


def _operations(request: MetadataRequest) -> int:
    return TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED


def _partition(state: PartitionState, alive: Collection[int], context: Context) -> AnswerPartition:
    version = context.version
    offline = [node for node in state.replicas if node not in alive]
    isr = state.isr
    code = Code.NONE
    if state.leader == NO_LEADER:
        code = Code.LEADER_NOT_AVAILABLE
        if context.node.feature_level("eligible.leader.replicas.version"):
            isr = []  # KIP-966: who was in sync last is now only eligible
    elif offline and version == 0:
        code = Code.REPLICA_NOT_AVAILABLE
    return AnswerPartition(
        error_code=code,
        partition_index=state.index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=[node for node in state.replicas if version > 0 or node in alive],
        isr_nodes=[node for node in isr if version > 0 or node in alive],
        offline_replicas=offline,
    )
