"""Calls of the group coordinator to the share coordinator, which stores the states of share partitions.

The group records what it is going to do, then calls the share coordinator, and then records the result. These steps
continue if the client that caused them disconnects. In between, another broker may have become the coordinator of the
group; the result is then lost, and a later heartbeat tries again.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService: persisterInitialize,
handlePersisterInitializeResponse, performShareGroupStateMetadataInitialize, uninitializeShareGroupState.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.quoting import quoted, shown
from kafkalet.broker.share.persister import SharePersister
from kafkalet.broker.share.state import UNINITIALIZED
from kafkalet.formats import uuid_text
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import detached

from .group import ShareGroup
from .states import States, StateTopic, StateTopics, combined, name_of

_LOG = logging.getLogger(__name__)

Failures = dict[tuple[bytes, int], KafkaError]
"""The errors of partitions, by topic id and partition."""


class Initialization(NamedTuple):
    """Partitions whose state has to be initialized, each with its start offset."""

    group_id: str
    state_epoch: int
    offsets: Mapping[bytes, Mapping[int, int]]

    @classmethod
    def of(cls, group_id: str, epoch: int, topics: StateTopics, *, known: Collection[bytes]) -> "Initialization":
        """Return the initialization of subscribed topics.

        `share.auto.offset.reset` determines the start offset; partitions that are added to a known topic begin with
        their first record.
        """
        offsets = {
            topic_id: dict.fromkeys(sorted(topic.partitions), 0 if topic_id in known else UNINITIALIZED)
            for topic_id, topic in topics.items()
        }
        return cls(group_id, epoch, offsets)


def check(group_id: str, partitions: Iterable[tuple[bytes, int]], call: str) -> None:
    """Raise UNKNOWN_SERVER_ERROR for what Kafka's persister does not expect: no group id, or a negative partition.

    Source: org.apache.kafka.server.share.persister.DefaultStatePersister.validateGroupTopicPartitionData.
    """
    if not group_id:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"{call} groupId cannot be null or empty.")
    for topic_id, partition in partitions:
        if partition < 0:
            message = f"{call} has invalid partitionId - {group_id} {uuid_text(topic_id)} {partition}"
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR, message)


@detached
async def initialize(persister: SharePersister, shard_of: Callable[[str], Shard], wanted: Initialization) -> Failures:
    """Initialize the states, and record the result: if one fails, none of the partitions counts as initialized."""
    failures: Failures = {}
    for topic_id, offsets in wanted.offsets.items():
        for partition, offset in offsets.items():
            try:
                await persister.initialize(wanted.group_id, topic_id, partition, wanted.state_epoch, offset)
            except KafkaError as error:
                failures[topic_id, partition] = error
    try:
        _record(shard_of(wanted.group_id), wanted, has_failed=bool(failures))
    except KafkaError as error:
        _LOG.warning("group %s: cannot record its share partitions: %s", quoted(wanted.group_id), shown(error))
    return failures


def _record(shard: Shard, wanted: Initialization, *, has_failed: bool) -> None:
    group = shard.groups.get(wanted.group_id)
    if not isinstance(group, ShareGroup) or not wanted.offsets:
        return
    partitions = {topic_id: frozenset(offsets) for topic_id, offsets in wanted.offsets.items()}
    metadata, now_ms = shard.node.metadata, shard.clock.now_ms()
    if has_failed:
        if group.states is not None and group.states.initializing:
            group.commit([group.with_states(group.states.fail(partitions))])
        return
    topics = {id_: StateTopic(name_of(id_, metadata), of, now_ms) for id_, of in partitions.items()}
    group.commit([group.with_states((group.states or States()).succeed(topics))])


@detached
async def delete_states(
    persister: SharePersister, group_id: str, partitions: Mapping[bytes, Collection[int]]
) -> Failures:
    """Delete the states of partitions, and return the errors. Raises KafkaError."""
    check(
        group_id,
        ((topic_id, each) for topic_id, of in partitions.items() for each in of),
        "Delete share group parameters",
    )
    failures: Failures = {}
    for topic_id, of in partitions.items():
        for partition in sorted(of):
            try:
                await persister.delete(group_id, topic_id, partition)
            except KafkaError as error:
                failures[topic_id, partition] = error
    return failures


def states_to_delete(group: ShareGroup) -> dict[bytes, frozenset[int]]:
    """Record that all states of an empty group are being deleted, and return their partitions.

    Topics whose deletion has been interrupted are deleted again, unless they do not exist any more. Raises KafkaError.
    """
    if group.states is None:
        return {}
    metadata = group.shard.node.metadata
    known = combined(group.states.initialized, group.states.initializing)
    partitions = {topic_id: topic.partitions for topic_id, topic in known.items()}
    names = {topic_id: topic.name for topic_id, topic in known.items()}
    for topic_id in group.states.deleting:
        topic = metadata.topic_by_id(topic_id)
        if topic is not None:
            partitions[topic_id] = frozenset(range(len(topic.partitions)))
            names[topic_id] = topic.name
    group.commit([group.with_states(States(deleting=names))])
    return partitions
