"""The topology of a Kafka Streams application: its subtopologies and the topics that they read and write.

    source topics           topics of the application, which must exist
    repartition topics      internal topics between subtopologies: a sink of one of them, a source of another
    changelog topics        internal topics that hold the state of the tasks

`configure` decides the number of partitions of each internal topic, and returns those that have to be created. A
subtopology has as many tasks as the largest of its source topics has partitions. Topics of a copartition group must
have the same number of partitions.

Source: org.apache.kafka.coordinator.group.streams.StreamsTopology; org.apache.kafka.coordinator.group.streams.topics:
InternalTopicManager, RepartitionTopics, CopartitionedTopicsEnforcer, ChangelogTopics, ConfiguredTopology.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.broker.java_order import HashTable, order_of_strings, string_hash
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalet.protocol.messages.streams_group_metadata import StreamsGroupTopologyValue
from kafkalet.protocol.messages.streams_group_structs import Subtopology, TopicInfo

from .members import unique

MOST_SHOWN = 3
"""The number of topics that a message lists."""


class Status(IntEnum):
    """Why a member of a group should not, or cannot, process records (StreamsGroupHeartbeatResponse.Status)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


class Problem(NamedTuple):
    """A status and its text."""

    status: Status
    text: str


class _WrongTopics(Exception):
    """The topics of a topology do not allow to run it."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(status, text)


class Topology:
    """A topology. Two are equal if their epochs and their subtopologies are."""

    def __init__(self, value: StreamsGroupTopologyValue) -> None:
        """Raise UNKNOWN_SERVER_ERROR for a negative epoch or a repeated id of a subtopology, where Kafka fails."""
        self.value = value
        by_id = {each.subtopology_id: each for each in value.subtopologies}
        if len(by_id) < len(value.subtopologies) or value.epoch < 0:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        self.subtopologies = {name: by_id[name] for name in order_of_strings(by_id)}
        """The subtopologies by id, in the order of Kafka's hash table."""
        self.sources = {topic: each for each in self.subtopologies.values() for topic in sources_of(each)}
        """The subtopology that reads a topic."""
        self.required = {
            *self.sources,
            *(topic.name for each in self.subtopologies.values() for topic in each.state_changelog_topics),
        }
        """All topics whose metadata matters."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        return self.epoch == other.epoch and self.subtopologies == other.subtopologies

    __hash__ = None  # type: ignore[assignment]

    @property
    def epoch(self) -> int:
        return self.value.epoch


def topology_of(request: StreamsGroupHeartbeatRequest.Topology) -> Topology:
    """Return the topology of a heartbeat. Raises UNKNOWN_SERVER_ERROR, as the constructor."""
    return Topology(StreamsGroupTopologyValue(epoch=request.epoch, subtopologies=request.subtopologies))


def sources_of(subtopology: Subtopology) -> Iterator[str]:
    """Yield the topics that a subtopology reads."""
    return chain(subtopology.source_topics, (topic.name for topic in subtopology.repartition_source_topics))


class InternalTopic(NamedTuple):
    """An internal topic. A replication factor of 0 stands for the broker default."""

    name: str
    partitions: int
    replication_factor: int
    config: dict[str, str]

    @property
    def wanted(self) -> NewTopic:
        return NewTopic(self.name, self.partitions, self.config, self.replication_factor or -1)


class ConfiguredSubtopology(NamedTuple):
    """A subtopology whose topics are known."""

    tasks: int
    sources: list[str]
    repartition_sources: list[InternalTopic]
    repartition_sinks: list[str]
    changelogs: list[InternalTopic]


class Configured(NamedTuple):
    """What `configure` found out about a topology.

    `subtopologies` are sorted by id. They are None if the number of tasks cannot be known.
    """

    subtopologies: dict[str, ConfiguredSubtopology] | None
    missing: list[InternalTopic]  # the internal topics to create
    problem: Problem | None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def configure(topology: Topology, metadata: MetadataImage) -> Configured:
    """Decide the partitions of internal topics, and check all topics.

    Raises STREAMS_INVALID_TOPOLOGY for a topology that cannot run, and UNKNOWN_SERVER_ERROR where Kafka fails.
    """
    groups = [list(_copartition_groups(each)) for each in topology.subtopologies.values()]
    try:
        _check_sources(topology, metadata)
        decided: dict[str, int] = {}

        def count_of(topic: str) -> int | None:
            known = metadata.topics.get(topic)
            return decided.get(topic) if known is None else len(known.partitions)

        decided |= _repartition_counts(topology, count_of)
        for group in chain.from_iterable(groups):
            decided |= _copartitioned(group, topology, count_of)
        decided |= _changelog_counts(topology, count_of)
        subtopologies = {
            name: _configured(topology.subtopologies[name], count_of, decided)
            for name in sorted(topology.subtopologies)
        }
        missing = _missing_topics(subtopologies.values(), topology, metadata)
    except _WrongTopics as error:
        return Configured(None, [], error.problem)
    problem = None
    if missing:
        text = f"Internal topics are missing: {_summary([topic.name for topic in missing])}"
        problem = Problem(Status.MISSING_INTERNAL_TOPICS, text)
    return Configured(subtopologies, missing, problem)


_CountOf = Callable[[str], int | None]
"""The number of partitions of a topic, which exists or will be created."""


def _known(count: int | None) -> int:
    """Return a number of partitions. Raises UNKNOWN_SERVER_ERROR if it is not known, where Kafka fails."""
    if count is None:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    return count


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.STREAMS_INVALID_TOPOLOGY, message)


def _summary(topics: Sequence[str]) -> str:
    more = len(topics) - MOST_SHOWN
    return ", ".join(topics[:MOST_SHOWN]) + (f" and {more} additional topics" if more > 0 else "")


def _copartition_groups(subtopology: Subtopology) -> Iterator[set[str]]:
    """Yield the topics of each copartition group, which lists their positions in the subtopology."""
    sources, internal = subtopology.source_topics, subtopology.repartition_source_topics
    for group in subtopology.copartition_groups:
        if not all(0 <= index < len(sources) for index in group.source_topics) or not all(
            0 <= index < len(internal) for index in group.repartition_source_topics
        ):
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        yield {
            *(sources[index] for index in group.source_topics),
            *(internal[index].name for index in group.repartition_source_topics),
        }


def _check_sources(topology: Topology, metadata: MetadataImage) -> None:
    names = {topic for each in topology.subtopologies.values() for topic in each.source_topics}
    if missing := sorted(names - metadata.topics.keys()):
        raise _WrongTopics(Status.MISSING_SOURCE_TOPICS, f"Source topics {_summary(missing)} are missing.")


def _repartition_counts(topology: Topology, count_of: _CountOf) -> dict[str, int]:
    """Return the partitions of repartition topics: as declared, or as many as the largest source of their writer has.

    The writer may read another repartition topic, whose number has to be known first.
    """
    subtopologies = topology.subtopologies.values()
    internal = [topic for each in subtopologies for topic in each.repartition_source_topics]
    counts = {topic.name: topic.partitions for topic in internal if topic.partitions}
    is_complete = False
    while not is_complete:
        is_complete, has_progress = True, False
        for each in subtopologies:
            for sink in each.repartition_sink_topics:
                if sink in counts:
                    continue
                found = [
                    *(counts.get(topic.name) for topic in each.repartition_source_topics),
                    *map(count_of, each.source_topics),
                ]
                known = [count for count in found if count is not None]
                if known:
                    counts[sink], has_progress = max(known), True
                else:
                    is_complete = False
        if not is_complete and not has_progress:
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics. There may be loops in the topology "
                "that cannot be resolved."
            )
    if any(topic.name not in counts for topic in internal):
        raise _invalid(
            "Failed to compute number of partitions for all repartition topics, because a repartition source topic is "
            "never used as a sink topic."
        )
    return counts


def _copartitioned(group: set[str], topology: Topology, count_of: _CountOf) -> dict[str, int]:
    """Return the partitions of the repartition topics in a copartition group: as many as its other topics have."""
    internal = [topic for each in topology.subtopologies.values() for topic in each.repartition_source_topics]
    fixed = {topic.name for topic in internal if topic.partitions}
    repartition = {name: _known(count_of(name)) for name in group & {topic.name for topic in internal}}
    others = {name: _known(count_of(name)) for name in group - repartition.keys()}
    if not group:
        return {}
    if others:
        count = _same(others.values(), others)
    elif fixed:
        count = _same([_known(count_of(name)) for name in fixed], repartition)
    else:
        count = max(repartition.values())
    for name, has in repartition.items():
        if name in fixed and has != count:
            raise _WrongTopics(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{has}] of repartition topic [{name}] doesn't match number of partitions "
                f"[{count}] of the source topic.",
            )
    return dict.fromkeys(repartition, count)


def _same(counts: Iterable[int], shown: Mapping[str, int]) -> int:
    """Return the number that all counts have in common."""
    first, *others = set(counts)
    if others:
        text = ", ".join(f"{name}={shown[name]}" for name in sorted(shown))
        raise _WrongTopics(
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{text}}}]",
        )
    return first


def _changelog_counts(topology: Topology, count_of: _CountOf) -> dict[str, int]:
    """Return the partitions of changelog topics: one for each task."""
    counts: dict[str, int] = {}
    for each in topology.subtopologies.values():
        of_sources = [_known(count_of(name)) for name in sources_of(each)]
        if not of_sources:
            raise _invalid(f"No source topics found for subtopology {each.subtopology_id}")
        counts |= dict.fromkeys((topic.name for topic in each.state_changelog_topics), max(of_sources))
    return counts


def _configured(of: Subtopology, count_of: _CountOf, decided: Mapping[str, int]) -> ConfiguredSubtopology:
    def internal(topics: Iterable[TopicInfo]) -> list[InternalTopic]:
        found = []
        for topic in topics:
            config = unique((config.key, config.value) for config in topic.topic_configs)
            partitions = topic.partitions or _known(decided.get(topic.name))
            if partitions < 1:
                raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
            found.append(
                InternalTopic(
                    topic.name,
                    partitions,
                    topic.replication_factor,
                    {key: config[key] for key in order_of_strings(config)},
                )
            )
        return found

    return ConfiguredSubtopology(
        max(_known(count_of(topic)) for topic in sources_of(of)),
        of.source_topics,
        internal(of.repartition_source_topics),
        of.repartition_sink_topics,
        internal(of.state_changelog_topics),
    )


def _missing_topics(
    subtopologies: Iterable[ConfiguredSubtopology], topology: Topology, metadata: MetadataImage
) -> list[InternalTopic]:
    """Return the internal topics that do not exist, in the order of Kafka's hash table."""
    expected = {topic.name: topic for of in subtopologies for topic in (*of.repartition_sources, *of.changelogs)}
    missing = HashTable(string_hash, elements=expected)
    for name in order_of_strings(sorted(topology.required)):
        known = metadata.topics.get(name)
        if known is None:
            continue
        missing.discard(name)
        if name in expected and len(known.partitions) != expected[name].partitions:
            raise _WrongTopics(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected {expected[name].partitions}, "
                f"found {len(known.partitions)}",
            )
    return [expected[name] for name in missing]
