"""The topics in which coordinators keep their state: where a key lies, and how they are made."""

import pytest

from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, TRANSACTION_STATE, java_hash, partition_of
from kafkalet.broker.config.broker_config import BrokerConfig


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 1 << 31), ("\U0001f600", 1772899)],
)
def test_a_string_is_hashed_as_in_java(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


@pytest.mark.parametrize(
    ("key", "partition"),
    # as Apache Kafka 3.9 has put them
    [("", 0), ("g0001", 2), ("new20001", 0), ("polygenelubricants", 0)],
)
def test_a_key_has_its_partition(key: str, partition: int) -> None:
    assert partition_of(key, 3) == partition


def test_a_negative_hash_counts_as_its_opposite() -> None:
    assert java_hash("zzzzzz") == 0x100000000 - 685785664
    assert partition_of("zzzzzz", 1000) == 664


def test_topics_are_made_as_apache_kafka_makes_them() -> None:
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


def test_few_brokers_have_few_replicas_unless_told_otherwise() -> None:
    assert CONSUMER_OFFSETS.wanted(BrokerConfig(), 1).replication_factor == 1
    assert TRANSACTION_STATE.wanted(BrokerConfig(), 1).config["min.insync.replicas"] == "1"
    told = BrokerConfig(
        {
            "offsets.topic.replication.factor": "2",
            "transaction.state.log.min.isr": "2",
            "offsets.topic.num.partitions": "7",
        }
    )
    assert CONSUMER_OFFSETS.wanted(told, 1).replication_factor == 2
    assert CONSUMER_OFFSETS.wanted(told, 1).partitions == 7
    assert TRANSACTION_STATE.wanted(told, 1).config["min.insync.replicas"] == "2"
