"""DeleteShareGroupState v0: delete the state of share partitions (KIP-932).

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.deleteState.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.messages.delete_share_group_state import DeleteShareGroupStateRequest as Request
from kafkalet.protocol.messages.delete_share_group_state import DeleteShareGroupStateResponse as Response

from .parts.share_state import for_each_partition

Result = Response.TopicResult.Partition


async def handle(request: Request, context: Context) -> Response:
    results = await for_each_partition(request, context, "Unable to delete share group state", _delete, Result)
    return Response(results=[Response.TopicResult(topic_id=topic, partitions=each) for topic, each in results])


def _delete(shard: StateShard, key: SharePartitionKey, asked: Request.Topic.Partition) -> tuple[Result, int]:
    return Result(partition=key.partition), shard.delete(key)
