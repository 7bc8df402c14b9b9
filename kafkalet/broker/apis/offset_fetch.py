"""OffsetFetch v0-10: return the committed offsets of consumer groups.

v0  reads offsets from ZooKeeper
v2  uses null to request all partitions; adds an error code for the whole group (KIP-88)
v7  adds require_stable, which refuses offsets of pending transactions with UNSTABLE_OFFSET_COMMIT (KIP-447)
v8  accepts several groups in one request (KIP-709)
v9  adds the member id and the member epoch, for fencing (KIP-848)
v10 replaces topic names with topic ids (KIP-848)

A partition without a committed offset returns -1 and empty metadata, even if its topic or the group does not exist.
Normally, the response contains the newest offsets that all in-sync replicas have. With require_stable, it contains the
newest offsets, replicated or not; since Kafka 4.0, it is sent only when all in-sync replicas have them.

Source: kafka.server.KafkaApis.handleOffsetFetchRequest, OffsetMetadataManager.fetchOffsets, OffsetFetchResponse.
"""

from collections.abc import Callable, Iterable, Mapping

from kafkalet.broker.context import Context
from kafkalet.broker.groups.offsets_records import CommittedOffset
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import until

AskedTopic = OffsetFetchRequest.Group.Topic
OldTopic = OffsetFetchResponse.Topic
Group = OffsetFetchResponse.Group
Topic = Group.Topic
Partition = Topic.Partition

NO_OFFSET = CommittedOffset(-1)
TOPIC_IDS_SINCE = 10


async def handle(request: OffsetFetchRequest, context: Context) -> OffsetFetchResponse:
    if context.version == 0:
        context.require(Operation.DESCRIBE, ResourceType.GROUP, request.group_id)
        if context.release.refuses_old_offsets:
            raise KafkaError(Code.UNSUPPORTED_VERSION, "OffsetFetch v0 needs ZooKeeper")
        if context.release.keeps_old_offsets_in_zookeeper:
            return _from_zookeeper(request, context)
    if context.version >= 8:
        groups = request.groups
        if not groups and context.release.hangs_without_groups:
            return await until(Delayed[OffsetFetchResponse]())
        if context.release.deduplicates_groups_of_offsets:
            groups = list({group.group_id: group for group in groups}.values())
        readers = [_Reader(group, request.require_stable, context) for group in groups]
        return OffsetFetchResponse(groups=await _when_replicated(readers))
    asked = OffsetFetchRequest.Group(group_id=request.group_id, topics=None)
    if request.topics is not None:
        asked.topics = [
            AskedTopic(name=topic.name, partition_indexes=topic.partition_indexes) for topic in request.topics
        ]
    [group] = await _when_replicated([_Reader(asked, request.require_stable, context)])
    return _as_one_group(group, request, context.version)


class _Reader:
    """Reads the committed offsets of one group."""

    def __init__(self, asked: OffsetFetchRequest.Group, require_stable: bool, context: Context) -> None:
        self.context = context
        self.group_id = asked.group_id
        self.must_be_stable = require_stable
        self.replicated: Delayed[Code] | None = None
        """The replication that the response waits for, or None."""
        try:
            self.answer = Group(group_id=asked.group_id, topics=self._read(asked))
        except KafkaError as error:
            self.answer = Group(group_id=asked.group_id, topics=[], error_code=error.code)

    def _read(self, asked: OffsetFetchRequest.Group) -> list[Topic]:
        self.context.require(Operation.DESCRIBE, ResourceType.GROUP, asked.group_id)
        wanted, refused = (None, []) if asked.topics is None else self._sort_out(asked.topics)
        shard = self.context.broker.coordinators.groups.shard_for_offsets(asked.group_id)
        group = shard.groups.get(asked.group_id)
        if group is not None:
            group.check_fetch(asked.member_id, asked.member_epoch)
        newest = self.must_be_stable and not self.context.release.refuses_unreplicated_offsets
        if newest:
            self.replicated = shard.replicated(shard.log.end_offset - 1)
        committed = shard.offsets.committed(asked.group_id, newest=newest)
        if wanted is None:
            return self._all_topics(shard, committed)
        if self.context.release.deduplicates_fetched_offsets:
            wanted = _without_duplicates(wanted)
        return [self._topic(shard, topic, committed) for topic in wanted] + refused

    def _sort_out(self, asked: list[AskedTopic]) -> tuple[list[AskedTopic], list[Topic]]:
        """Return the topics that the client may describe, and the results for all others."""
        context = self.context
        by_id, checks = context.version >= TOPIC_IDS_SINCE, context.authorizer is not None
        wanted: list[AskedTopic] = []
        refused: list[Topic] = []
        if not by_id and not checks:
            return asked, refused
        for topic in _without_duplicates(asked) if context.release.deduplicates_refused_offsets else asked:
            if by_id:
                state = context.node.metadata.topic_by_id(topic.topic_id)
                if state is None:
                    refused.append(_refused(topic, Code.UNKNOWN_TOPIC_ID))
                    continue
                topic.name = state.name
            if checks and not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                refused.append(_refused(topic, Code.TOPIC_AUTHORIZATION_FAILED))
            else:
                wanted.append(topic)
        return wanted, refused

    def _all_topics(self, shard: Shard, committed: Mapping[str, Mapping[int, CommittedOffset]]) -> list[Topic]:
        found = []
        checks = self.context.authorizer is not None
        for name, by_partition in committed.items():
            if checks and not self.context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
                continue
            topic_id = ZERO_UUID
            if self.context.version >= TOPIC_IDS_SINCE:
                state = self.context.node.metadata.topics.get(name)
                if state is None:  # the topic id of a deleted topic is unknown
                    continue
                topic_id = state.topic_id
            partitions = self._partitions(shard, name, by_partition, by_partition)
            found.append(Topic(name=name, topic_id=topic_id, partitions=partitions))
        return found

    def _topic(
        self,
        shard: Shard,
        asked: AskedTopic,
        committed: Mapping[str, Mapping[int, CommittedOffset]],
    ) -> Topic:
        name = asked.name
        partitions = self._partitions(shard, name, asked.partition_indexes, committed.get(name, {}))
        return Topic(name=name, topic_id=asked.topic_id, partitions=partitions)

    def _partitions(
        self, shard: Shard, topic: str, indexes: Iterable[int], by_partition: Mapping[int, CommittedOffset]
    ) -> list[Partition]:
        if not self.must_be_stable:
            return [_answer(index, by_partition.get(index, NO_OFFSET), Code.NONE) for index in indexes]
        return [
            _answer(index, NO_OFFSET, Code.UNSTABLE_OFFSET_COMMIT)
            if self._is_unstable(shard, topic, index)
            else _answer(index, by_partition.get(index, NO_OFFSET), Code.NONE)
            for index in indexes
        ]

    def _is_unstable(self, shard: Shard, topic: str, index: int) -> bool:
        offsets, key = shard.offsets, (self.group_id, topic, index)
        if offsets.is_pending(*key):
            return True
        return self.context.release.refuses_unreplicated_offsets and offsets.is_unreplicated(*key)


def _refused(asked: AskedTopic, code: Code) -> Topic:
    partitions = [_answer(index, NO_OFFSET, code) for index in asked.partition_indexes]
    return Topic(name=asked.name, topic_id=asked.topic_id, partitions=partitions)


def _without_duplicates(asked: Iterable[AskedTopic | OffsetFetchRequest.Topic]) -> list[AskedTopic]:
    """Remove duplicate topics and partitions, and topics without partitions."""
    topics: dict[str, dict[int, None]] = {}
    for topic in asked:
        if topic.partition_indexes:
            topics.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return [AskedTopic(name=name, partition_indexes=list(indexes)) for name, indexes in topics.items()]


async def _when_replicated(readers: list[_Reader]) -> list[Group]:
    """Return the results of all groups when the offsets in them have been replicated."""
    for reader in readers:
        code = Code.NONE if reader.replicated is None else await until(reader.replicated)
        if code is not Code.NONE:
            reader.answer = Group(group_id=reader.group_id, topics=[], error_code=Code.NOT_COORDINATOR)
    return [reader.answer for reader in readers]


def _as_one_group(group: Group, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    """Build the response to a request before v8, which is for a single group."""
    code = Code(group.error_code)
    if version >= 8:
        return OffsetFetchResponse(
            groups=[Group(group_id=g.group_id, topics=[], error_code=code) for g in request.groups]
        )
    if code is not Code.NONE and version < 2:  # v0 and v1 have no top-level error code
        return OffsetFetchResponse(topics=_each(request, lambda topic, index: _old(index, -1, code)))
    return OffsetFetchResponse(error_code=code, topics=[_as_old(topic) for topic in group.topics])


def _as_old(topic: Topic) -> OldTopic:
    return OldTopic(
        name=topic.name,
        partitions=[
            OldTopic.Partition(
                partition_index=partition.partition_index,
                committed_offset=partition.committed_offset,
                committed_leader_epoch=partition.committed_leader_epoch,
                metadata=partition.metadata,
                error_code=partition.error_code,
            )
            for partition in topic.partitions
        ],
    )


def _from_zookeeper(request: OffsetFetchRequest, context: Context) -> OffsetFetchResponse:
    metadata = context.node.metadata

    def find(topic: str, index: int) -> OldTopic.Partition:
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic):
            return _old(index, -1, Code.TOPIC_AUTHORIZATION_FAILED)
        if not request.group_id:
            return _old(index, -1, Code.UNKNOWN_SERVER_ERROR)  # Kafka fails here: the ZooKeeper path would be invalid
        offset = metadata.zookeeper_offset(request.group_id, topic, index)
        if offset is None or metadata.partition(topic, index) is None:
            return _old(index, -1, Code.UNKNOWN_TOPIC_OR_PARTITION)
        return _old(index, offset, Code.NONE)

    return OffsetFetchResponse(topics=_each(request, find))


def _each(request: OffsetFetchRequest, answer: Callable[[str, int], OldTopic.Partition]) -> list[OldTopic]:
    """Build a result for each partition of a request before v8."""
    return [
        OldTopic(name=topic.name, partitions=[answer(topic.name, index) for index in topic.partition_indexes])
        for topic in _without_duplicates(request.topics or ())
    ]


def _old(index: int, offset: int, code: Code) -> OldTopic.Partition:
    return OldTopic.Partition(partition_index=index, committed_offset=offset, metadata="", error_code=code)


def _answer(index: int, committed: CommittedOffset, code: Code) -> Partition:
    return Partition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )
