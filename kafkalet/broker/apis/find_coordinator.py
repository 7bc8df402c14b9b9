"""FindCoordinator v0-6: find the coordinator of a group, a transactional id or a share partition.

v1  adds transactional ids and the error message (KIP-98)
v4  accepts several keys in one request (KIP-699)
v6  adds share partitions, with the key group:topicId:partition (KIP-932); only brokers may look them up

Each key maps to a partition of an internal topic, and the leader of that partition is the coordinator. The first
request creates the internal topic. Kafka returns COORDINATOR_NOT_AVAILABLE until its controller has created the topic;
kafkalet creates it before it responds.

Source: kafka.server.KafkaApis.handleFindCoordinatorRequest.
"""

from functools import partial

from kafkalet.broker.cluster.metadata import Endpoint, TopicState
from kafkalet.broker.cluster.state_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    StateTopic,
    partition_of,
)
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import CLUSTER_NAME, Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkalet.tasks.task import pause

TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}
RESOURCES = {0: ResourceType.GROUP, 1: ResourceType.TRANSACTIONAL_ID}
SEVERAL_KEYS_SINCE = 4
SHARE = 2
SHARE_SINCE = 6
REFUSALS = {
    Code.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    Code.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}
NO_ENDPOINT = Endpoint(-1, "", -1)


async def handle(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    if context.version >= SEVERAL_KEYS_SINCE:
        coordinators = []
        for key in request.coordinator_keys:
            coordinators.append(_answer(key, *await _find(key, request.key_type, context)))
            await pause()
        return FindCoordinatorResponse(coordinators=coordinators)
    endpoint, error = await _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=Code.NONE if error is None else error.code,
        error_message=_message(error),
        node_id=endpoint.node_id,
        host=endpoint.host,
        port=endpoint.port,
    )


async def _find(key: str, key_type: int, context: Context) -> tuple[Endpoint, KafkaError | None]:
    try:
        _authorize(key, key_type, context)
    except KafkaError as refusal:
        return NO_ENDPOINT, refusal
    try:
        wanted = TOPICS.get(key_type)
        if key_type == SHARE and context.version >= SHARE_SINCE:
            wanted, key = SHARE_GROUP_STATE, _share_partition(key, context)
        if wanted is None:
            is_known = key_type == SHARE and context.version >= SEVERAL_KEYS_SINCE
            raise KafkaError(Code.INVALID_REQUEST, "" if is_known else f"Unknown coordinator type received: {key_type}")
        topic = context.metadata.topics.get(wanted.name) or await _created(wanted, key, context)
        leader = topic.partitions[partition_of(key, len(topic.partitions))].leader
        endpoint = context.endpoints((leader,)).get(leader)
        if endpoint is None:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        if wanted is CONSUMER_OFFSETS and (coordinator := context.broker.brokers.get(leader)) is not None:
            coordinator.coordinators.groups.lookups.note(key, context.client)
        return endpoint, None
    except KafkaError as error:
        if error.code != Code.INVALID_REQUEST:
            error = KafkaError(Code.COORDINATOR_NOT_AVAILABLE, error.message)
        return NO_ENDPOINT, error


def _share_partition(key: str, context: Context) -> str:
    """Return the key of a share partition in Kafka's form. Raises INVALID_REQUEST if there is none."""
    if context.release.has_unavailable_share_coordinators:
        raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE, "")
    from kafkalet.broker.share.coordinator import coordinator_key, parse_coordinator_key

    try:
        if context.release.coordinates_share_groups:
            return coordinator_key(parse_coordinator_key(key))
    except ValueError:
        pass
    raise KafkaError(Code.INVALID_REQUEST, "")


async def _created(wanted: StateTopic, key: str, context: Context) -> TopicState:
    """Create an internal topic and the log of the key's partition.

    The logs of its other partitions are created later.
    """
    controller = context.controller
    if not controller.leadership.reaches_controller(context.node.node_id):
        raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
    topic = await controller.change_and_save(partial(controller.state_topic, wanted))
    state = topic.partitions[partition_of(key, len(topic.partitions))]
    if controller.saves_in_thread and state.leader in controller.nodes:  # its log may have failed in the meantime
        _ = controller.nodes[state.leader].partition(topic.name, state.index).log
    return topic


def _authorize(key: str, key_type: int, context: Context) -> None:
    """Raise KafkaError unless the client may look up a coordinator."""
    if context.authorizer is None:
        return
    try:
        resource_type = RESOURCES.get(key_type)
        if resource_type is not None:
            context.require(Operation.DESCRIBE, resource_type, key)
        elif key_type == SHARE and context.version >= SHARE_SINCE:
            context.require(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    except KafkaError as refusal:
        has_message = context.version < SEVERAL_KEYS_SINCE or (
            key_type == SHARE and not context.release.has_unavailable_share_coordinators
        )
        raise KafkaError(refusal.code, REFUSALS[refusal.code] if has_message else "") from refusal


def _answer(key: str, endpoint: Endpoint, error: KafkaError | None) -> FindCoordinatorResponse.Coordinator:
    return FindCoordinatorResponse.Coordinator(
        key=key,
        node_id=endpoint.node_id,
        host=endpoint.host,
        port=endpoint.port,
        error_code=Code.NONE if error is None else error.code,
        error_message="" if error is None else error.message,
    )


def _message(error: KafkaError | None) -> str | None:
    return Code.NONE.name if error is None else error.message
