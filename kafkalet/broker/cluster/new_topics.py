"""Validation and replica placement of topics that are about to be created.

The checks are performed in the same order as in Kafka's controller (ReplicationControlManager.createTopics): the name,
the configuration, then replicas and partitions. Topics passed in from Python can also have arguments of the wrong type,
which `checked_topic` detects.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.arguments import PropertyValue
from kafkalet.broker.config.broker_config import BrokerConfig, check_tiers_of
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.topic_properties import topic_properties

from .assignments import check_assignments
from .metadata import MetadataImage, check_topic_name, place

MAX_PARTITIONS = 10_000
"""The maximum number of partitions in one request (QuorumController.MAX_RECORDS_PER_USER_OP)."""


class NewTopic(NamedTuple):
    """A topic to create. Counts of -1 stand for the broker defaults."""

    name: str
    partitions: int = -1
    config: Mapping[str, PropertyValue] = {}
    replication_factor: int = -1

    @property
    def properties(self) -> dict[str, str]:
        """The config, with its values converted to strings that Kafka can parse."""
        return arguments.properties(f"the config of topic {self.name}", self.config)


def checked_topic(topic: NewTopic) -> NewTopic:
    """Return the topic if all arguments have the right type. Raises TypeError otherwise."""
    return NewTopic(
        arguments.text("the name of a topic", topic.name),
        arguments.number("the number of partitions", topic.partitions),
        topic.properties,
        arguments.number("the replication factor", topic.replication_factor),
    )


Topics = Iterable[str | NewTopic] | Mapping[str, int | NewTopic | Mapping[str, Any] | None]
"""Names and `NewTopic` values, or a dict from names to numbers of partitions or to options, such as {"orders": 6}."""


def checked_topics(given: Topics) -> list[NewTopic]:
    """Return the topics that a cluster creates when it starts.

    Raises TypeError or ValueError if a topic is invalid or listed twice.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            'topics is a list of names and NewTopic values, as in ["orders", NewTopic("payments", 3)], '
            f'or a dict, as in {{"orders": 3}}, not {arguments.shown(given)}'
        )
    topics: dict[str, NewTopic] = {}
    for each in [_named(*item) for item in given.items()] if isinstance(given, Mapping) else given:
        if not isinstance(each, (str, NewTopic)):
            raise TypeError(f"an element of topics is a name or a NewTopic, not {arguments.shown(each)}")
        topic = checked_topic(NewTopic(each) if isinstance(each, str) else each)
        if topic.name in topics:
            raise ValueError(f"topics names {topic.name} twice; name each topic once")
        topics[topic.name] = topic
    return list(topics.values())


def _named(name: str, value: object) -> NewTopic:
    """Return the topic of an entry in a dict."""
    if value is None:
        return NewTopic(name)
    if isinstance(value, NewTopic):
        return value._replace(name=name)
    if isinstance(value, Mapping):
        arguments.check_names(f"topic {name}", value, NewTopic._fields[1:])
        return NewTopic(name, **value)
    if isinstance(value, int) and not isinstance(value, bool):
        return NewTopic(name, value)
    raise TypeError(
        f"the value of topic {name} must be a number of partitions or a dict such as "
        f'{{"partitions": 6, "config": {{...}}}}, not {arguments.shown(value)}'
    )


def place_topic(
    wanted: NewTopic, assignments: list[list[int]] | None, metadata: MetadataImage, config: BrokerConfig
) -> list[list[int]]:
    """Return the replicas of each partition of a new topic, with the leader first.

    If the replicas are assigned manually by `assignments`, the counts of `wanted` are ignored. Raises KafkaError with
    the codes of CreateTopics.
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
    return place(partitions, replication_factor, metadata)


def check_config(given: Mapping[str, str], config: BrokerConfig) -> None:
    """Raise INVALID_CONFIG if one of the properties is invalid for a topic."""
    try:
        check_tiers_of({}, given, config)
    except InvalidProperty as error:
        raise KafkaError(Code.INVALID_CONFIG, str(error)) from error


def check_property_names(given: Iterable[str], config: BrokerConfig) -> None:
    """Raise INVALID_CONFIG, with the closest name, if a property is unknown. Kafka's message has only the first part.

    Tests and options name topics; for clients, `check_config` has Kafka's message.
    """
    known = topic_properties(config.release.version)
    for name in known.unknown(given):
        from kafkalet.suggestions import did_you_mean

        hint = did_you_mean(name, (each.name for each in known), shown=str)
        raise KafkaError(Code.INVALID_CONFIG, f"Unknown topic config name: {name}{'; ' if hint else ''}{hint}")


def check_name(name: str, metadata: MetadataImage) -> None:
    """Raise INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS if a topic with this name cannot be created."""
    check_topic_name(name)
    if name in metadata.topics:
        raise KafkaError(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if other := metadata.collides_with(name):
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")
