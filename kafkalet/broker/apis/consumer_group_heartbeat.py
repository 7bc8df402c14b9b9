"""ConsumerGroupHeartbeat v0-1: join, stay in or leave a group that uses the consumer protocol (KIP-848).

v1  adds subscriptions by regular expression; members choose their own ids (KIP-1082)

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.consumerGroupHeartbeat.
"""

from kafkalet.broker.apis.parts.requirements import need, need_text
from kafkalet.broker.context import Context
from kafkalet.broker.groups.checked_regexes import LONG_EXPRESSION
from kafkalet.broker.groups.consumer.group import ConsumerGroup, assignors, runs_consumer_groups
from kafkalet.broker.groups.consumer.heartbeat import Sender, heartbeat
from kafkalet.broker.groups.consumer.leaving import leave, schedule_classic_session_timeouts
from kafkalet.broker.groups.consumer.migration import group_to_join
from kafkalet.broker.groups.modern.group import existing_group, group_of
from kafkalet.broker.groups.modern.members import JOINING, LEAVING, LEAVING_FOR_A_RESTART
from kafkalet.broker.java_order import order_of_strings
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest as Request
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse as Response
from kafkalet.tasks.task import until


async def handle(request: Request, context: Context) -> Response:
    if not runs_consumer_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    if context.authorizer is not None:
        _authorize(request, context)
    regex = request.subscribed_topic_regex
    if regex is not None and len(regex) > LONG_EXPRESSION:
        await context.broker.coordinators.groups.regexes.read(regex)
    _check(request, context)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    if request.member_epoch in (LEAVING, LEAVING_FOR_A_RESTART):
        group = group_of(ConsumerGroup, shard.groups.get(request.group_id), request.group_id)
        offset = leave(group, request.member_id, request.instance_id, request.member_epoch)
        answer = Response(member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=0)
    else:
        if request.member_epoch == JOINING:
            group, replacing = group_to_join(shard, request.group_id)
        else:
            group, replacing = existing_group(ConsumerGroup, shard, request.group_id), []
        sender = Sender(context.client_id, f"/{context.peer[0]}", context.topic_check())
        answer, offset = heartbeat(group, request, sender, replacing)
        if replacing:
            schedule_classic_session_timeouts(group)
    code = await until(shard.replicated(offset))
    return answer if code is Code.NONE else refuse(request, context, KafkaError(code))


def refuse(request: Request, context: Context, error: KafkaError) -> Response:
    return Response(error_code=error.code, error_message=error.message, member_epoch=0, heartbeat_interval_ms=0)


def _authorize(request: Request, context: Context) -> None:
    """Raise KafkaError unless the client may read the group and describe the topics of its subscription."""
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    if context.release.checks_topics_of_members:
        for topic in dict.fromkeys(request.subscribed_topic_names or ()):
            context.require(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _check(request: Request, context: Context) -> None:
    """Raise INVALID_REQUEST if a required field is missing, or UNSUPPORTED_ASSIGNOR for an unknown assignor."""
    epoch = request.member_epoch
    if context.version >= 1 or epoch > 0 or epoch == LEAVING:
        need_text(request.member_id, "MemberId can't be empty.")
    need_text(request.group_id, "GroupId can't be empty.")
    need_text(request.instance_id, "InstanceId can't be empty.")
    need_text(request.rack_id, "RackId can't be empty.")
    if epoch == JOINING:
        need(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        need(request.topic_partitions == [], "TopicPartitions must be empty when (re-)joining.")
        need(*_subscribes(request, context))
    elif epoch == LEAVING_FOR_A_RESTART:
        need(request.instance_id is not None, "InstanceId can't be null.")
    else:
        need(epoch >= LEAVING_FOR_A_RESTART, "MemberEpoch is invalid.")
    supported = assignors(context.node)
    if request.server_assignor is not None and request.server_assignor not in supported:
        raise KafkaError(
            Code.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(order_of_strings(supported))}.",
        )


def _subscribes(request: Request, context: Context) -> tuple[bool, str]:
    by_name, by_regex = request.subscribed_topic_names is not None, request.subscribed_topic_regex is not None
    if context.release.supports_regular_expressions:
        return (
            by_name or by_regex,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    return bool(request.subscribed_topic_names), "SubscribedTopicNames must be set in first request."
