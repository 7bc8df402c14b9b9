"""InitializeShareGroupState v0: store a share partition that has no delivered records yet (KIP-932).

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.initializeState.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest as Request
from kafkalet.protocol.messages.initialize_share_group_state import InitializeShareGroupStateResponse as Response

from .parts.share_state import for_each_partition

Result = Response.TopicResult.Partition


async def handle(request: Request, context: Context) -> Response:
    failure = "Unable to initialize share group state"
    results = await for_each_partition(request, context, failure, _initialize, Result)
    return Response(results=[Response.TopicResult(topic_id=topic, partitions=each) for topic, each in results])


def _initialize(shard: StateShard, key: SharePartitionKey, asked: Request.Topic.Partition) -> tuple[Result, int]:
    return Result(partition=key.partition), shard.initialize(key, asked.state_epoch, asked.start_offset)
