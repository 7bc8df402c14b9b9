"""The internal topics that store the state of coordinators, and the mapping of keys to their partitions.

    __consumer_offsets     groups and committed offsets, by group id
    __transaction_state    transactions, by transactional id
    __share_group_state    what share groups have consumed, by group id, topic id and partition

The leader of a key's partition is its coordinator. The topics are created when a client first looks up a coordinator.
If their replication factor is not configured, it is Kafka's default or the number of brokers, whichever is smaller, so
that groups and transactions work on a single broker without configuration.

Source: kafka.server.AutoTopicCreationManager, kafka.coordinator.group.GroupMetadataManager.partitionFor.
"""

from collections.abc import Callable
from typing import NamedTuple

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.java_order import string_hash

from .new_topics import NewTopic


class StateTopic(NamedTuple):
    """An internal topic, and a function that defines how to create it for a given number of brokers."""

    name: str
    wanted: Callable[[BrokerConfig, int], NewTopic]


def _at_most(most: int, config: BrokerConfig, name: str, value: int) -> int:
    """Return the value of a property if it is set, else its default or `most`, whichever is smaller."""
    return value if name in config.given() else min(value, most)


def _consumer_offsets(config: BrokerConfig, brokers: int) -> NewTopic:
    replication_factor = _at_most(
        brokers, config, "offsets.topic.replication.factor", config.offsets_topic_replication_factor
    )
    properties = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.offsets_topic_segment_bytes),
    }
    return NewTopic(CONSUMER_OFFSETS.name, config.offsets_topic_num_partitions, properties, replication_factor)


def _transaction_state(config: BrokerConfig, brokers: int) -> NewTopic:
    replication_factor = _at_most(
        brokers,
        config,
        "transaction.state.log.replication.factor",
        config.transaction_state_log_replication_factor,
    )
    min_isr = _at_most(
        replication_factor, config, "transaction.state.log.min.isr", config.transaction_state_log_min_isr
    )
    properties = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": str(min_isr),
        "segment.bytes": str(config.transaction_state_log_segment_bytes),
        "unclean.leader.election.enable": "false",
    }
    return NewTopic(TRANSACTION_STATE.name, config.transaction_state_log_num_partitions, properties, replication_factor)


def _share_group_state(config: BrokerConfig, brokers: int) -> NewTopic:
    replication_factor = _at_most(
        brokers,
        config,
        "share.coordinator.state.topic.replication.factor",
        config.share_coordinator_state_topic_replication_factor,
    )
    min_isr = _at_most(
        replication_factor,
        config,
        "share.coordinator.state.topic.min.isr",
        config.share_coordinator_state_topic_min_isr,
    )
    properties = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": str(min_isr),
        "retention.ms": "-1",
        "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
    }
    partitions = config.share_coordinator_state_topic_num_partitions
    return NewTopic(SHARE_GROUP_STATE.name, partitions, properties, replication_factor)


CONSUMER_OFFSETS = StateTopic("__consumer_offsets", _consumer_offsets)
TRANSACTION_STATE = StateTopic("__transaction_state", _transaction_state)
SHARE_GROUP_STATE = StateTopic("__share_group_state", _share_group_state)

STATE_TOPICS = {topic.name: topic for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE)}


def partition_of(key: str, partitions: int) -> int:
    """Return the partition of a group id or transactional id.

    It is the absolute value of the id's Java hash, modulo `partitions`.
    """
    hashed = string_hash(key)
    if hashed == 0x80000000:  # Utils.abs returns 0 for Integer.MIN_VALUE
        return 0
    return (hashed if hashed < 0x80000000 else 0x100000000 - hashed) % partitions
