"""How tests with the fixtures look: each test here is one that a user could have written."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import MessageSizeTooLargeError

import kafkalet
from kafkalet.testing.topic import Topic

PROGRAM = """
import os
from kafka import KafkaProducer

producer = KafkaProducer(bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
producer.send("out", b"done")
producer.close()
"""


def publish(bootstrap_servers: str, value: bytes) -> None:
    """The code under test."""
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, max_request_size=10_000_000)
    try:
        producer.send("orders", value).get(timeout=20)
    finally:
        producer.close()


@pytest.mark.kafka(version="2.8", topics={"orders": 6}, config={"message.max.bytes": "1000"})
def test_too_large(kafka: kafkalet.Broker) -> None:
    with pytest.raises(MessageSizeTooLargeError):
        publish(kafka.bootstrap_servers, b"x" * 2000)
    assert kafka.topic("orders").records() == []


@pytest.mark.parametrize("kafka", ["2.8", "3.9", "4.4"], indirect=True)
def test_every_release(kafka: kafkalet.Broker) -> None:
    publish(kafka.bootstrap_servers, b"x")
    assert kafka.topic("orders").values() == [b"x"]


def test_broker_goes(kafka_cluster: kafkalet.Cluster) -> None:
    kafka_cluster.topic("orders", replication_factor=3)
    kafka_cluster.broker(1).stop()
    publish(kafka_cluster.bootstrap_servers, b"x")
    assert kafka_cluster.topic("orders").wait_for(1)


def test_main_program(kafka_env: kafkalet.Broker, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "app"], check=True, cwd=tmp_path)
    assert kafka_env.topic("out").wait_for(1)[0].value == b"done"


def test_topic_of_its_own_on_a_shared_broker(kafka_session: kafkalet.Broker, kafkalet_topic: Topic) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka_session.bootstrap_servers)
    assert kafkalet_topic.name in admin.list_topics()
    admin.close()


def test_mirror_copies_records(kafka: kafkalet.Broker, kafka_factory: Callable[..., kafkalet.Broker]) -> None:
    copy = kafka_factory(version="3.9", topics={"orders": 3})
    kafka.topic("orders").send("x", key="k")
    for record in kafka.topic("orders").records():
        copy.topic("orders").send(record.value, key=record.key)
    assert copy.topic("orders").values() == [b"x"]
