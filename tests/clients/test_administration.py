"""Administration with kafka-python's admin client, and clients under quotas."""

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from kafka import (  # type: ignore[import-untyped]
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
    TopicPartitionReplica,
)
from kafka.admin import (  # type: ignore[import-untyped]
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    UpdateFeatureType,
)

import kafkalet

PARTITION = TopicPartition("t", 0)
SHORT = {"quota.window.num": "3"}
"""Limit the quota window to three seconds, so that throttled clients do not wait long."""


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(3, config=SHORT) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        yield cluster


@pytest.fixture
def admin(cluster: kafkalet.Cluster) -> Iterator[Any]:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    yield admin
    admin.close()


def test_replicas_are_reassigned_and_leaders_elected(cluster: kafkalet.Cluster, admin: Any) -> None:
    admin.alter_partition_reassignments({PARTITION: [3, 1]})
    assert not admin.list_partition_reassignments()
    state = cluster._server.metadata.topics["t"].partitions[0]
    assert (state.replicas, state.leader) == ([3, 1], 1)
    admin.elect_leaders(0, {"t": [0]})
    assert state.leader == 3
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    assert producer.send("t", b"v").get(10).offset == 0
    producer.close()


def test_features_are_described_and_changed(cluster: kafkalet.Cluster, admin: Any) -> None:
    admin.update_features({"transaction.version": (UpdateFeatureType.SAFE_DOWNGRADE, 1)})
    assert cluster._server.nodes[1].feature_level("transaction.version") == 1
    assert "transaction.version" in str(admin.describe_features())


def test_group_configs_are_listed(admin: Any) -> None:
    group = ConfigResource("GROUP", "g", configs={"consumer.session.timeout.ms": "50000"})
    admin.alter_configs([group])
    assert "'g'" in str(admin.list_config_resources([ConfigResourceType["GROUP"]]))


def test_quorum_is_described_and_log_directories_are_altered(cluster: kafkalet.Cluster, admin: Any) -> None:
    assert "'leader_id': 1" in str(admin.describe_metadata_quorum())
    replica = TopicPartitionReplica("t", 0, 1)
    assert admin.alter_replica_log_dirs({replica: cluster._server.nodes[1].directories.paths[0]})


def with_quota(cluster: kafkalet.Cluster, key: str, value: float) -> None:
    """Set a quota for all users directly; neither client supports AlterClientQuotas."""

    def change() -> None:
        cluster._server.metadata.client_quotas[frozenset({("user", "ANONYMOUS")})] = {key: value}
        for broker in cluster._server.brokers.values():
            broker.apply_quotas()

    cluster._server.call(change)


def test_librdkafka_producer_over_quota_gets_throttle_time(cluster: kafkalet.Cluster) -> None:
    with_quota(cluster, "producer_byte_rate", 60_000.0)
    events: list[Any] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "throttle_cb": events.append, "linger.ms": 0}
    )
    for _ in range(5):
        producer.produce("t", b"x" * 45_000)
        producer.flush(30)
    assert any(event.throttle_time > 0 for event in events)
    assert cluster.topic("t").log().high_watermark == 5


def test_throttled_consumer_reads_all_records(cluster: kafkalet.Cluster) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
    for _ in range(6):
        producer.send("t", b"x" * 50_000).get(10)
    producer.close()
    with_quota(cluster, "consumer_byte_rate", 100_000.0)
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest")
    consumer.assign([PARTITION])
    read = 0
    for _ in range(60):
        read += sum(map(len, consumer.poll(1000).values()))
        if read == 6:
            break
    assert read == 6
    consumer.close()
