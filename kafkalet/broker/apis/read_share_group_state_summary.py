"""ReadShareGroupStateSummary v0-1: read the start offsets of share partitions, for the group coordinator (KIP-932).

v1  adds the number of completed deliveries (KIP-1226)

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.readStateSummary.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest as Request
from kafkalet.protocol.messages.read_share_group_state_summary import ReadShareGroupStateSummaryResponse as Response

from .parts.share_state import for_each_partition

Result = Response.TopicResult.Partition


async def handle(request: Request, context: Context) -> Response:
    failure = "Unable to read share group state summary"
    results = await for_each_partition(request, context, failure, _read, Result)
    return Response(results=[Response.TopicResult(topic_id=topic, partitions=each) for topic, each in results])


def _read(shard: StateShard, key: SharePartitionKey, asked: Request.Topic.Partition) -> tuple[Result, int]:
    state = shard.summary(key)
    result = Result(
        partition=key.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
    return result, shard.log.end_offset - 1
