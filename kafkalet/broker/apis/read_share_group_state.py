"""ReadShareGroupState v0: read the state of share partitions for a new leader of their partitions (KIP-932).

The leader epoch in the request is stored, so that a leader with a lower one is fenced.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.messages.read_share_group_state import ReadShareGroupStateRequest as Request
from kafkalet.protocol.messages.read_share_group_state import ReadShareGroupStateResponse as Response

from .parts.share_state import for_each_partition

Result = Response.TopicResult.Partition


async def handle(request: Request, context: Context) -> Response:
    results = await for_each_partition(request, context, "Unable to read share group state", _read, Result)
    return Response(results=[Response.TopicResult(topic_id=topic, partitions=each) for topic, each in results])


def _read(shard: StateShard, key: SharePartitionKey, asked: Request.Topic.Partition) -> tuple[Result, int]:
    state, offset = shard.read(key, asked.leader_epoch)
    result = Result(
        partition=key.partition,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[Result.StateBatch(**batch._asdict()) for batch in state.batches],
    )
    return result, offset
