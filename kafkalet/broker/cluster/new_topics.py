"""Topics that are to be made: whether they may be, and on which brokers.

The checks come in the order of Kafka's controller (ReplicationControlManager.createTopics): the name, the
configuration, then replicas and partitions.

What a user of Python asks for may also be of a wrong kind, which a request cannot be; `checked_topic` looks at that.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.arguments import PropertyValue
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code, KafkaError

from .assignments import check_assignments
from .metadata import MetadataImage, check_topic_name, spread

MAX_PARTITIONS = 10_000
"""So many partitions the controller of Kafka makes in one step (QuorumController.MAX_RECORDS_PER_USER_OP)."""


class NewTopic(NamedTuple):
    """A topic to be made. Counts of -1 stand for the brokers' defaults."""

    name: str
    partitions: int = -1
    config: Mapping[str, PropertyValue] = {}
    replication_factor: int = -1

    @property
    def properties(self) -> dict[str, str]:
        """The config as the texts that Kafka reads."""
        return arguments.properties(f"the config of topic {self.name}", self.config)


def checked_topic(topic: NewTopic) -> NewTopic:
    """The same topic if all of it is of the right kind; TypeError if not."""
    return NewTopic(
        arguments.text("the name of a topic", topic.name),
        arguments.number("the number of partitions", topic.partitions),
        topic.properties,
        arguments.number("the replication factor", topic.replication_factor),
    )


def checked_topics(given: Iterable[str | NewTopic]) -> list[NewTopic]:
    """The topics that a cluster is to make at start, each of the right kind and named once."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(
            'topics is a list of names and NewTopic values, as in ["orders", NewTopic("payments", 3)], '
            f"not {arguments.shown(given)}"
        )
    topics: dict[str, NewTopic] = {}
    for each in given:
        if not isinstance(each, (str, NewTopic)):
            raise TypeError(f"an element of topics is a name or a NewTopic, not {arguments.shown(each)}")
        topic = checked_topic(NewTopic(each) if isinstance(each, str) else each)
        if topic.name in topics:
            raise ValueError(f"topics names {topic.name} twice; name each topic once")
        topics[topic.name] = topic
    return list(topics.values())


def place_topic(
    wanted: NewTopic, assignments: list[list[int]] | None, metadata: MetadataImage, config: BrokerConfig
) -> list[list[int]]:
    """The replicas of each partition of a topic that may be made, the leader first.

    `assignments` are such replicas by the wish of somebody; the counts of `wanted` then do not matter. Raises
    KafkaError with the code that CreateTopics answers.
    """
    check_name(wanted.name, metadata)
    check_config(wanted.properties, config)
    if assignments is not None:
        check_assignments(assignments, metadata.endpoints, away=metadata.away)
        return assignments
    partitions, replication_factor = wanted.partitions, wanted.replication_factor
    if replication_factor < -1 or replication_factor == 0:
        raise KafkaError(
            Code.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if partitions < -1 or partitions == 0:
        raise KafkaError(Code.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    if partitions == -1:
        partitions = config.num_partitions
    if partitions > MAX_PARTITIONS:
        raise KafkaError(Code.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    if replication_factor == -1:
        replication_factor = config.default_replication_factor
    return spread(partitions, replication_factor, metadata.endpoints, away=metadata.away)


def check_config(given: Mapping[str, str], config: BrokerConfig) -> None:
    """INVALID_CONFIG, unless a topic may have these properties."""
    try:
        config.log_config(given)
    except InvalidProperty as error:
        raise KafkaError(Code.INVALID_CONFIG, str(error)) from error


def check_name(name: str, metadata: MetadataImage) -> None:
    """INVALID_TOPIC_EXCEPTION and TOPIC_ALREADY_EXISTS."""
    check_topic_name(name)
    if name in metadata.topics:
        raise KafkaError(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if other := metadata.collides_with(name):
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")
