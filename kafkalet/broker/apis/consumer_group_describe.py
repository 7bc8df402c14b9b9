"""ConsumerGroupDescribe v0-1: describe consumer protocol groups and their members (KIP-848).

v1  adds the protocol that each member uses (KIP-1099)

Missing groups and groups of other types return GROUP_ID_NOT_FOUND.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.consumerGroupDescribe.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.consumer.config import runs_consumer_groups
from kafkalet.broker.groups.consumer.group import consumer_group
from kafkalet.broker.scheduling.work import pause
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)


async def handle(request: ConsumerGroupDescribeRequest, context: Context) -> ConsumerGroupDescribeResponse:
    groups = []
    for group_id in request.group_ids:
        groups.append(_describe(group_id, context))
        await pause()
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == Code.NONE:
                group.authorized_operations = context.release.group_operations
    return ConsumerGroupDescribeResponse(groups=groups)


def refuse(request: ConsumerGroupDescribeRequest, context: Context, error: KafkaError) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[_refused(group_id, error.code) for group_id in request.group_ids])


def _describe(group_id: str, context: Context) -> ConsumerGroupDescribeResponse.Group:
    try:
        if not runs_consumer_groups(context.node):
            raise KafkaError(Code.UNSUPPORTED_VERSION)
        return consumer_group(context.broker.coordinators.groups.shard_of(group_id), group_id).described()
    except KafkaError as error:
        return _refused(group_id, error.code, error.message if error.code == Code.GROUP_ID_NOT_FOUND else None)


def _refused(group_id: str, code: Code, message: str | None = None) -> ConsumerGroupDescribeResponse.Group:
    return ConsumerGroupDescribeResponse.Group(
        group_id=group_id,
        error_code=code,
        error_message=message,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )
