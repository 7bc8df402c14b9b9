"""DeleteGroups v0-3: delete empty groups and their offsets (KIP-229).

v3  adds error messages

Duplicate group ids are ignored. The response waits until all in-sync replicas have the tombstones.

Source: kafka.server.KafkaApis.handleDeleteGroupsRequest, GroupCoordinatorShard.deleteGroups.
"""

from kafkalet.broker.cluster.state_log import client_code
from kafkalet.broker.context import Context
from kafkalet.broker.groups.administration import delete
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkalet.tasks.delayed import Delayed

Answer = DeleteGroupsResponse | Delayed[DeleteGroupsResponse]
Deleted = DeleteGroupsResponse.Group


def handle(request: DeleteGroupsRequest, context: Context) -> Answer:
    answers: list[Deleted] = []
    refused: list[Deleted] = []
    written: list[tuple[Deleted, Shard, int]] = []
    for group_id in dict.fromkeys(request.groups_names):
        if not context.allows(Operation.DELETE, ResourceType.GROUP, group_id):
            refused.append(Deleted(group_id=group_id, error_code=Code.GROUP_AUTHORIZATION_FAILED))
            continue
        answer = Deleted(group_id=group_id)
        answers.append(answer)
        try:
            shard = context.broker.coordinators.groups.shard_for_offsets(group_id)
            written.append((answer, shard, delete(shard, group_id)))
        except KafkaError as error:
            answer.error_code = error.code  # Kafka sets the message only for Streams groups

    answers += refused

    def lacking() -> list[tuple[Deleted, Shard, int]]:
        return [entry for entry in written if not entry[1].log.is_replicated(entry[2])]

    def look() -> DeleteGroupsResponse | None:
        return None if lacking() else DeleteGroupsResponse(results=answers)

    def expired() -> DeleteGroupsResponse:
        for answer, _, _ in lacking():
            answer.error_code = client_code(Code.REQUEST_TIMED_OUT)
        return DeleteGroupsResponse(results=answers)

    node = context.node
    keys = {(shard.log.partition.topic, shard.log.index) for _, shard, _ in written}
    return look() or node.purgatory.park(keys, node.config.offsets_commit_timeout_ms, look, expired)
