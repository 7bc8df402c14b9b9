"""Examples of tests with the fixtures, as users write them."""

from collections.abc import Callable

from kafka.admin import KafkaAdminClient

import kafkalet
from kafkalet.testing.topic import Topic


def test_topics_on_a_shared_broker_are_unique(kafka_session: kafkalet.Broker, kafka_topic: Topic) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka_session.bootstrap_servers)
    assert kafka_topic.name in admin.list_topics()
    admin.close()


def test_mirror_copies_records(kafka: kafkalet.Broker, kafka_factory: Callable[..., kafkalet.Broker]) -> None:
    copy = kafka_factory(version="3.9", topics={"orders": 3})
    kafka.topic("orders").send("x", key="k")
    for record in kafka.topic("orders").records():
        copy.topic("orders").send(record.value, key=record.key)
    assert copy.topic("orders").values() == [b"x"]
