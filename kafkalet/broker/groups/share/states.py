"""The partitions whose state is stored in `__share_group_state`, as a share group knows them.

    initializing    the share coordinator has been asked to initialize the state, at a certain time
    initialized     the state exists; only these partitions are assigned to members
    deleting        the state is being deleted

A partition stays `initializing` if the share coordinator does not respond. After a retry interval, the next heartbeat
asks again.

Source: org.apache.kafka.coordinator.group.modern.share.ShareGroup.ShareGroupStatePartitionMetadataInfo;
GroupMetadataManager: subscribedTopicsChangeMap, combineInitMaps, initializeShareGroupState,
uninitializeShareGroupState, maybeCleanupShareGroupState.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import MetadataImage

UNKNOWN_NAME = "<UNKNOWN>"

Partitions = Mapping[bytes, AbstractSet[int]]
"""Partitions by topic id."""


class StateTopic(NamedTuple):
    """Partitions of a topic, and the time at which they were added."""

    name: str
    partitions: frozenset[int]
    since_ms: int

    def without(self, partitions: AbstractSet[int]) -> "StateTopic":
        return self._replace(partitions=self.partitions - partitions)


StateTopics = Mapping[bytes, StateTopic]
_NONE: StateTopics = {}


class States(NamedTuple):
    """The partitions of a group by topic id. Of topics that are being deleted, only the name is known."""

    initializing: StateTopics = _NONE
    initialized: StateTopics = _NONE
    deleting: Mapping[bytes, str] = {}

    @property
    def assignable(self) -> dict[bytes, frozenset[int]]:
        return {topic_id: topic.partitions for topic_id, topic in self.initialized.items()}

    def missing(self, names: Iterable[str], metadata: MetadataImage, now_ms: int, retry_ms: int) -> StateTopics:
        """Return the partitions of subscribed topics that have to be initialized.

        Those that have been `initializing` for too long are returned again.
        """
        recent = {id_: topic for id_, topic in self.initializing.items() if now_ms - topic.since_ms < retry_ms}
        known = combined(self.initialized, recent)
        missing = {}
        for name in names:
            topic = metadata.topics.get(name)
            if topic is None:
                continue
            has = known[topic.topic_id].partitions if topic.topic_id in known else frozenset()
            if len(has) < len(topic.partitions) or not has:
                missing[topic.topic_id] = StateTopic(name, frozenset(range(len(topic.partitions))) - has, now_ms)
        return missing

    def begin(self, topics: StateTopics) -> "States":
        """Return the states after the share coordinator was asked to initialize partitions."""
        initializing = combined(self.initializing, topics)
        deleting = {id_: name for id_, name in self.deleting.items() if id_ not in initializing}
        return self._replace(initializing=initializing, deleting=deleting)

    def succeed(self, topics: StateTopics) -> "States":
        """Return the states after partitions have been initialized."""
        initialized = combined(self.initialized, topics)
        return self.fail({id_: topic.partitions for id_, topic in topics.items()})._replace(initialized=initialized)

    def fail(self, partitions: Partitions) -> "States":
        """Return the states after partitions could not be initialized."""
        left = {id_: topic.without(partitions.get(id_, frozenset())) for id_, topic in self.initializing.items()}
        return self._replace(
            initializing={id_: topic for id_, topic in left.items() if topic.partitions or id_ not in partitions}
        )

    def without_topics(self, topic_ids: Collection[bytes]) -> "States":
        """Return the states after topics were deleted."""
        return States(
            {id_: topic for id_, topic in self.initializing.items() if id_ not in topic_ids},
            {id_: topic for id_, topic in self.initialized.items() if id_ not in topic_ids},
            {id_: name for id_, name in self.deleting.items() if id_ not in topic_ids},
        )

    def with_current_names(self, metadata: MetadataImage) -> "States":
        """Return the states with the names of the topics to delete, which are looked up whenever they are written."""
        return self._replace(deleting={id_: name_of(id_, metadata) for id_ in self.deleting})


def combined(first: StateTopics, second: StateTopics) -> dict[bytes, StateTopic]:
    """Return all partitions. The name and time of `second` take precedence."""
    result = dict(first)
    for topic_id, topic in second.items():
        had = first[topic_id].partitions if topic_id in first else frozenset()
        result[topic_id] = topic._replace(partitions=had | topic.partitions)
    return result


def name_of(topic_id: bytes, metadata: MetadataImage) -> str:
    """Return the name of a topic, as Kafka writes it even if the topic does not exist any more."""
    topic = metadata.topic_by_id(topic_id)
    return UNKNOWN_NAME if topic is None else topic.name
