"""DeleteGroups v0-3: delete empty groups and their offsets (KIP-229).

v3  adds error messages

Duplicate group ids are ignored. The states of the share partitions of a share group are deleted before the group. The
response waits until all in-sync replicas have the tombstones.

Source: kafka.server.KafkaApis.handleDeleteGroupsRequest, GroupCoordinatorShard.deleteGroups.
"""

from itertools import chain

from kafkalet.broker.context import Context
from kafkalet.broker.groups.administration import delete
from kafkalet.broker.groups.group import Group
from kafkalet.broker.groups.share.group import ShareGroup
from kafkalet.broker.groups.share.initialization import delete_states, states_to_delete
from kafkalet.broker.java_order import order_of_scala_map, order_of_set
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import until

Deleted = DeleteGroupsResponse.Group


async def handle(request: DeleteGroupsRequest, context: Context) -> DeleteGroupsResponse:
    answers: list[Deleted] = []
    refused: list[Deleted] = []
    written: list[tuple[Deleted, Delayed[Code]]] = []
    by_partition = context.broker.coordinators.groups.by_partition(dict.fromkeys(request.groups_names))
    order = order_of_set if context.release.coordinates_groups_by_partition else order_of_scala_map
    for group_id in chain(*map(order, by_partition)):
        if not context.allows(Operation.DELETE, ResourceType.GROUP, group_id):
            refused.append(Deleted(group_id=group_id, error_code=Code.GROUP_AUTHORIZATION_FAILED))
            continue
        answer = Deleted(group_id=group_id)
        answers.append(answer)
        try:
            shard = context.broker.coordinators.groups.shard_for_offsets(group_id)
            await _delete_states(shard.groups.get(group_id), context)
            written.append((answer, shard.replicated(delete(shard, group_id))))
        except KafkaError as error:
            answer.error_code = error.code  # Kafka sets the message only for Streams groups
    for answer, replicated in written:
        code = await until(replicated)
        answer.error_code = code
    return DeleteGroupsResponse(results=answers + refused)


async def _delete_states(group: Group | None, context: Context) -> None:
    """Delete the states of the share partitions of a share group. Raises KafkaError."""
    if isinstance(group, ShareGroup):
        group.check_delete()
        failures = await until(delete_states(context.broker.share_state, group.group_id, states_to_delete(group)))
        if failures:
            raise next(iter(failures.values()))
