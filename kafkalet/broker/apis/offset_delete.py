"""OffsetDelete v0: delete committed offsets of a group (KIP-496).

Topics to which members of the group are subscribed return GROUP_SUBSCRIBED_TO_TOPIC. If the members' subscriptions are
unknown, the whole request returns NON_EMPTY_GROUP. Missing partitions return UNKNOWN_TOPIC_OR_PARTITION. Partitions
without a committed offset succeed.

Source: kafka.server.KafkaApis.handleOffsetDeleteRequest, OffsetMetadataManager.deleteOffsets.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.offsets_expiration import remove
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkalet.tasks.task import until

Topic = OffsetDeleteResponse.Topic
Key = tuple[str, int]
Answers = list[tuple[str, int, Code]]


async def handle(request: OffsetDeleteRequest, context: Context) -> OffsetDeleteResponse:
    context.require(Operation.DELETE, ResourceType.GROUP, request.group_id)
    unknown, found = _partitions(request, context)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    group = shard.groups.get(request.group_id)
    if group is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND)
    group.check_delete_offsets()
    if context.release.commits_only_last_duplicate:
        found = list(dict.fromkeys(found))
    read = {topic for topic, _ in found if group.is_subscribed_to(topic)}
    unread = [key for key in found if key[0] not in read]
    answers = unknown + [
        (topic, index, Code.GROUP_SUBSCRIBED_TO_TOPIC if topic in read else Code.NONE) for topic, index in found
    ]
    topics = _merged(answers) if unknown or context.release.commits_only_last_duplicate else _each(request, answers)
    if not unread:
        return OffsetDeleteResponse(topics=topics)
    with_group = context.release.drops_groups_with_their_last_offset
    last_offset = remove(shard, group, unread, with_group=with_group)
    code = await until(shard.replicated(last_offset))
    return (
        OffsetDeleteResponse(topics=topics) if code is Code.NONE else OffsetDeleteResponse(error_code=code, topics=[])
    )


def _partitions(request: OffsetDeleteRequest, context: Context) -> tuple[Answers, list[Key]]:
    """Return the results for partitions that are missing or that the client may not read, and the other partitions."""
    unknown: Answers = []
    found: list[Key] = []
    for topic in request.topics:
        allowed = context.allows(Operation.READ, ResourceType.TOPIC, topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            if not allowed:
                unknown.append((topic.name, index, Code.TOPIC_AUTHORIZATION_FAILED))
            elif context.node.metadata.partition(topic.name, index) is None:
                unknown.append((topic.name, index, Code.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                found.append((topic.name, index))
    return unknown, found


def _each(request: OffsetDeleteRequest, answers: Answers) -> list[Topic]:
    """Return a result for each topic of the request, even if it contains a topic twice."""
    codes = {(name, index): code for name, index, code in answers}
    return [
        Topic(
            name=topic.name,
            partitions=[
                Topic.Partition(partition_index=index, error_code=codes[topic.name, index])
                for index in (partition.partition_index for partition in topic.partitions)
            ],
        )
        for topic in request.topics
        if topic.partitions
    ]


def _merged(answers: Answers) -> list[Topic]:
    topics: dict[str, Topic] = {}
    for name, index, code in answers:
        topic = topics.setdefault(name, Topic(name=name, partitions=[]))
        topic.partitions.append(Topic.Partition(partition_index=index, error_code=code))
    return list(topics.values())
