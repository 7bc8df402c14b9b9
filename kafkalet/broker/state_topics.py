"""The internal topics in which coordinators keep their state, and which of their partitions a key belongs to.

    __consumer_offsets     groups and committed offsets, by group id
    __transaction_state    transactions, by transactional id

Whoever leads a key's partition is its coordinator. The topics are made when a client first asks for a coordinator.
Unless their replication factor is given, it is the default of Kafka or the number of brokers, whichever is smaller, so
that a cluster of one broker serves groups and transactions without being told to.

Source: kafka.server.AutoTopicCreationManager, kafka.coordinator.group.GroupMetadataManager.partitionFor.
"""

from typing import NamedTuple

from .config import BrokerConfig
from .new_topics import NewTopic


class StateTopic(NamedTuple):
    """An internal topic. `settings` are the first words of the properties that say how it is made."""

    name: str
    settings: str
    compression_type: str

    def partitions(self, config: BrokerConfig) -> int:
        """How many it is made with."""
        count = getattr(config, f"{self.settings}_num_partitions")
        assert isinstance(count, int)
        return count

    def wanted(self, config: BrokerConfig, brokers: int) -> NewTopic:
        """The topic as it is to be made in a cluster of so many live brokers."""
        replication_factor: int = getattr(config, f"{self.settings}_replication_factor")
        if f"{self.settings.replace('_', '.')}.replication.factor" not in config.given():
            replication_factor = min(replication_factor, brokers)
        properties = {
            "cleanup.policy": "compact",
            "compression.type": self.compression_type,
            "segment.bytes": str(getattr(config, f"{self.settings}_segment_bytes")),
        }
        if self is TRANSACTION_STATE:
            min_isr = config.transaction_state_log_min_isr
            if "transaction.state.log.min.isr" not in config.given():
                min_isr = min(min_isr, replication_factor)
            properties |= {"min.insync.replicas": str(min_isr), "unclean.leader.election.enable": "false"}
        return NewTopic(self.name, self.partitions(config), properties, replication_factor)


CONSUMER_OFFSETS = StateTopic("__consumer_offsets", "offsets_topic", "producer")
TRANSACTION_STATE = StateTopic("__transaction_state", "transaction_state_log", "uncompressed")

STATE_TOPICS = {topic.name: topic for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE)}


def partition_of(key: str, partitions: int) -> int:
    """Which of `partitions` keeps a group id or a transactional id: Java's hash of the string, made positive."""
    hashed = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        hashed = (31 * hashed + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    if hashed == 0x80000000:  # Utils.abs of the one number that has no opposite
        return 0
    return (hashed if hashed < 0x80000000 else 0x100000000 - hashed) % partitions
