"""AlterShareGroupOffsets v0: set the start offsets of share partitions of an empty group (KIP-932).

The group is created if it does not exist. Unknown partitions get errors, and all others their new start offset; their
records in flight are forgotten.

Source: kafka.server.KafkaApis.handleAlterShareGroupOffsetsRequest, GroupCoordinatorService.alterShareGroupOffsets,
GroupMetadataManager.alterShareGroupOffsets.
"""

from kafkalet.broker.apis.parts.error_texts import TEXTS, text_of
from kafkalet.broker.context import Context
from kafkalet.broker.groups.share.group import group_to_join, runs_share_groups
from kafkalet.broker.groups.share.initialization import Initialization, check, initialize
from kafkalet.broker.groups.share.states import States, StateTopic
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.task import until

Topic = AlterShareGroupOffsetsResponse.Topic
Asked = AlterShareGroupOffsetsRequest.Topic


async def handle(request: AlterShareGroupOffsetsRequest, context: Context) -> AlterShareGroupOffsetsResponse:
    if not runs_share_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    answer = _Answer(context)
    found = []
    for asked in request.topics:
        if not context.allows(Operation.READ, ResourceType.TOPIC, asked.topic_name):
            answer.refuse(asked, Code.TOPIC_AUTHORIZATION_FAILED)
        elif asked.topic_name not in context.metadata.topics:
            answer.refuse(asked, Code.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            found.append(asked)
    await _alter(request.group_id, found, answer, context)
    return AlterShareGroupOffsetsResponse(responses=list(answer.topics.values()))


def refuse(
    request: AlterShareGroupOffsetsRequest, context: Context, error: KafkaError
) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=text_of(error), responses=[])


class _Answer:
    """The topics of the response, each once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.topics: dict[str, Topic] = {}

    def topic(self, name: str) -> Topic:
        """Return the topic with this name, which is added if it is missing."""
        if name not in self.topics:
            known = self._context.metadata.topics.get(name)
            self.topics[name] = Topic(
                topic_name=name, topic_id=ZERO_UUID if known is None else known.topic_id, partitions=[]
            )
        return self.topics[name]

    def add(self, topic: str, index: int, code: Code, message: str | None) -> None:
        self.topic(topic).partitions.append(
            Topic.Partition(partition_index=index, error_code=code, error_message=message)
        )

    def refuse(self, asked: Asked, code: Code) -> None:
        for partition in asked.partitions:
            self.add(asked.topic_name, partition.partition_index, code, TEXTS[code])


async def _alter(group_id: str, asked: list[Asked], answer: _Answer, context: Context) -> None:
    """Set the start offsets, and add the result for each partition to `answer`. Raises KafkaError."""
    groups = context.broker.coordinators.groups
    shard = groups.shard_of(group_id)
    group = group_to_join(shard, group_id)
    group.check_delete()
    topics: dict[bytes, StateTopic] = {}
    offsets: dict[bytes, dict[int, int]] = {}
    for each in asked:
        topic = context.metadata.topics[each.topic_name]
        wanted = {
            partition.partition_index: partition.start_offset
            for partition in each.partitions
            if partition.partition_index < len(topic.partitions)
        }
        topics[topic.topic_id] = StateTopic(topic.name, frozenset(wanted), shard.clock.now_ms())
        offsets.setdefault(topic.topic_id, {}).update(wanted)
    if topics:
        offset = group.commit([group.with_states((group.states or States()).begin(topics))])
        code = await until(shard.replicated(offset))
        if code is not Code.NONE:
            raise KafkaError(code)
    wanted_states = Initialization(
        group_id, group.group_epoch, {topic_id: of for topic_id, of in offsets.items() if of}
    )
    if wanted_states.offsets:
        asked_partitions = ((topic_id, index) for topic_id, of in offsets.items() for index in of)
        check(group_id, asked_partitions, "Initialize share group parameters")
        await context.broker.share_state.create_topic()
    failures = await until(initialize(context.broker.share_state, groups.shard_of, wanted_states))
    for each in asked:
        answer.topic(each.topic_name)
        topic_id = context.metadata.topics[each.topic_name].topic_id
        for partition in each.partitions:
            index = partition.partition_index
            if index not in offsets[topic_id]:
                code = Code.UNKNOWN_TOPIC_OR_PARTITION
                answer.add(each.topic_name, index, code, TEXTS[code])
            elif (error := failures.get((topic_id, index))) is not None:
                answer.add(each.topic_name, index, error.code, error.message)
            else:
                answer.add(each.topic_name, index, Code.NONE, None)
