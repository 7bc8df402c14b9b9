"""The internal topics: the partition of a key, and the configuration of the topics."""

import pytest

from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, TRANSACTION_STATE, partition_of
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.java_order import string_hash


@pytest.mark.parametrize(
    ("key", "partition"),
    # as assigned by Apache Kafka 3.9
    [("", 0), ("g0001", 2), ("new20001", 0), ("polygenelubricants", 0)],
)
def test_key_has_partition_of_kafka(key: str, partition: int) -> None:
    assert partition_of(key, 3) == partition


def test_partition_of_negative_hash_uses_absolute_value() -> None:
    assert string_hash("zzzzzz") == 0x100000000 - 685785664
    assert partition_of("zzzzzz", 1000) == 664


def test_internal_topics_have_configuration_of_kafka() -> None:
    offsets = CONSUMER_OFFSETS.wanted(BrokerConfig(), 5)
    assert (offsets.name, offsets.partitions, offsets.replication_factor) == ("__consumer_offsets", 50, 3)
    assert offsets.config == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    transactions = TRANSACTION_STATE.wanted(BrokerConfig(), 5)
    assert (transactions.name, transactions.partitions, transactions.replication_factor) == (
        "__transaction_state",
        50,
        3,
    )
    assert transactions.config == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


def test_replication_factor_is_limited_by_brokers_unless_configured() -> None:
    assert CONSUMER_OFFSETS.wanted(BrokerConfig(), 1).replication_factor == 1
    assert TRANSACTION_STATE.wanted(BrokerConfig(), 1).config["min.insync.replicas"] == "1"
    config = BrokerConfig(
        {
            "offsets.topic.replication.factor": "2",
            "transaction.state.log.min.isr": "2",
            "offsets.topic.num.partitions": "7",
        }
    )
    assert CONSUMER_OFFSETS.wanted(config, 1).replication_factor == 2
    assert CONSUMER_OFFSETS.wanted(config, 1).partitions == 7
    assert TRANSACTION_STATE.wanted(config, 1).config["min.insync.replicas"] == "2"
