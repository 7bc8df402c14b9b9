"""tmp"""

from kafkalet.broker.state_log import StateRecord
from kafkalet.protocol.errors import Code, KafkaError

from .consumer_group import ConsumerGroup
from .shard import Shard


def consumer_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """A consumer group that exists. GROUP_ID_NOT_FOUND where it does not, or is of another kind."""
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def group_to_join(shard: Shard, group_id: str) -> tuple[ConsumerGroup, list[StateRecord]]:
    group = shard.groups.get(group_id)
    if group is None:
        return ConsumerGroup(shard, group_id), []
    if isinstance(group, ConsumerGroup):
        return group, []
    if group.is_empty:
        return ConsumerGroup(shard, group_id), group.tombstones()
    raise KafkaError(Code.GROUP_ID_NOT_FOUND, "")


def existing_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """The same for a heartbeat, which says it in other words."""
    group = shard.groups.get(group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    return consumer_group(shard, group_id)
