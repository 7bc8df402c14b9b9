"""ConsumerGroupDescribe v0-1: describe consumer protocol groups and their members (KIP-848).

v1  adds the protocol that each member uses (KIP-1099)

Missing groups and groups of other types return GROUP_ID_NOT_FOUND.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.consumerGroupDescribe.
"""

from kafkalet.broker.apis.parts.described_groups import describe_groups
from kafkalet.broker.apis.parts.error_texts import HIDDEN_TOPICS
from kafkalet.broker.context import Context
from kafkalet.broker.groups.consumer.group import ConsumerGroup, runs_consumer_groups
from kafkalet.broker.groups.modern.group import group_of
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)


async def handle(request: ConsumerGroupDescribeRequest, context: Context) -> ConsumerGroupDescribeResponse:
    if not runs_consumer_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    groups = await describe_groups(
        request.group_ids, _describe, _refused, context, with_operations=request.include_authorized_operations
    )
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe(group_id: str, context: Context) -> ConsumerGroupDescribeResponse.Group:
    try:
        shard = context.broker.coordinators.groups.shard_of(group_id)
        group = group_of(ConsumerGroup, shard.visible_group(group_id), group_id).described()
    except KafkaError as error:
        return _refused(group_id, error.code, error.message if error.code == Code.GROUP_ID_NOT_FOUND else None)
    if context.authorizer is not None and context.release.checks_topics_of_members:
        topics = {
            partitions.topic_name
            for member in group.members
            for assignment in (member.assignment, member.target_assignment)
            for partitions in assignment.topic_partitions
        }
        if not all(context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic) for topic in topics):
            return _refused(group_id, Code.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS)
    return group


def _refused(group_id: str, code: Code, message: str | None = None) -> ConsumerGroupDescribeResponse.Group:
    return ConsumerGroupDescribeResponse.Group(group_id=group_id, error_code=code, error_message=message)
