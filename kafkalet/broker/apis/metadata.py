"""Metadata v0-13: brokers, topics, and who leads what.

v0      an empty list of topics asks for all; from v1 on null does, and an empty list for none. Replicas on brokers that
        are gone are left out, with an error; from v1 on all replicas are told
v4      a request may forbid that unknown topics are created
v8      authorized operations, if asked for
v10     topic ids in the answer
v12     topics may be asked for by id
v13     an error of the whole request

A topic that does not exist and may be created automatically is, and is answered UNKNOWN_TOPIC_OR_PARTITION this once:
Kafka's broker answers before its controller has created it. This is the only API that creates topics by the way.

Source: kafka.server.KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache.
"""

import logging

from kafkalet.broker.context import Context
from kafkalet.broker.metadata import INTERNAL_TOPICS, NO_LEADER, PartitionState, TopicState, check_topic_name
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.wire import ZERO_UUID

log = logging.getLogger(__name__)

AnswerTopic = MetadataResponse.Topic
AnswerPartition = MetadataResponse.Topic.Partition

NOT_ASKED = -(1 << 31)
# What everybody may do where no authorizer says otherwise: a bit for each operation of the resource (AclOperation).
TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


def handle(request: MetadataRequest, context: Context) -> MetadataResponse:
    metadata = context.cluster.metadata
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = [_known(topic, request, context) for topic in metadata.topics.values()]
    elif refusal := _refusal(asked, context.version):
        return _refuse_all(asked, refusal)
    elif ids := {topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID}:
        topics = [_by_id(topic_id, request, context) for topic_id in ids]
    else:
        names = {topic.name: None for topic in asked}
        topics = [_by_name(name, request, context) for name in names if name is not None]
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


def _by_id(topic_id: bytes, request: MetadataRequest, context: Context) -> AnswerTopic:
    topic = context.cluster.metadata.topic_by_id(topic_id)
    if topic is None:
        return AnswerTopic(error_code=Code.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[])
    return _known(topic, request, context)


def _by_name(name: str, request: MetadataRequest, context: Context) -> AnswerTopic:
    topic = context.cluster.metadata.topics.get(name)
    if topic is not None:
        return _known(topic, request, context)
    code = Code.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
        if request.allow_auto_topic_creation and context.cluster.auto_creates_topics:
            context.cluster.auto_create_topic(name)
    except KafkaError as error:
        code = error.code
        log.debug("topic %r was asked for and cannot be created: %s", name, error)
    return AnswerTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=_operations(request),
    )


def _known(topic: TopicState, request: MetadataRequest, context: Context) -> AnswerTopic:
    alive = context.cluster.metadata.endpoints
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


def _partition(state: PartitionState, alive: dict[int, object], context: Context) -> AnswerPartition:
    version = context.version
    offline = [node for node in state.replicas if node not in alive]
    isr = state.isr
    code = Code.NONE
    if state.leader == NO_LEADER:
        code = Code.LEADER_NOT_AVAILABLE
        if context.cluster.feature_level("eligible.leader.replicas.version"):
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
