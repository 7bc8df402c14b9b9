"""WriteShareGroupState v0-1: store which records of share partitions have been delivered (KIP-932).

v1  adds the number of completed deliveries (KIP-1226)

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.writeState.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey, SharePartitionState, StateBatch
from kafkalet.protocol.messages.write_share_group_state import WriteShareGroupStateRequest as Request
from kafkalet.protocol.messages.write_share_group_state import WriteShareGroupStateResponse as Response

from .parts.share_state import for_each_partition

Result = Response.TopicResult.Partition


async def handle(request: Request, context: Context) -> Response:
    results = await for_each_partition(request, context, "Unable to write share group state", _write, Result)
    return Response(results=[Response.TopicResult(topic_id=topic, partitions=each) for topic, each in results])


def _write(shard: StateShard, key: SharePartitionKey, asked: Request.Topic.Partition) -> tuple[Result, int]:
    change = SharePartitionState(
        state_epoch=asked.state_epoch,
        start_offset=asked.start_offset,
        leader_epoch=asked.leader_epoch,
        delivery_complete_count=asked.delivery_complete_count,
        batches=tuple(
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in asked.state_batches
        ),
    )
    return Result(partition=key.partition), shard.write(key, change)
