"""The steps of a group member and of a producer in five client libraries, each timed in milliseconds.

Every function takes the address of a broker, a topic with a record and the name of a new group, and returns its
figures: the first record after the first poll, a synchronous commit, closing the member, and closing a producer that
has sent a record. The clients have their default settings, apart from the offset where they begin.

The programs in Java and Go are tests/clients/java/Waits.java and tests/clients/go/waits. They run the steps twice in
the same process and print the figures of the second run, because the other clients are warm, too.
"""

import asyncio
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.toolchains import Workshop

from .by_hand import since_ms

Steps = Callable[[str, str, str], dict[str, float]]
"""Takes bootstrap servers, topic and group."""

PATIENCE_S = 60.0
JAVA_RELEASE = "3.9.2"
PARTITIONS = 2


def confluent(bootstrap: str, topic: str, group: str) -> dict[str, float]:
    import confluent_kafka

    begun_s = time.perf_counter()
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([topic])
    record = consumer.poll(PATIENCE_S)
    assert record is not None
    assert record.error() is None
    figures = {"first record": since_ms(begun_s)}
    begun_s = time.perf_counter()
    consumer.commit(record, asynchronous=False)
    figures["commit"] = since_ms(begun_s)
    begun_s = time.perf_counter()
    consumer.close()
    figures["close"] = since_ms(begun_s)
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, b"value")
    producer.flush(PATIENCE_S)
    begun_s = time.perf_counter()
    producer.flush(PATIENCE_S)
    del producer
    figures["close of a producer"] = since_ms(begun_s)
    return figures


def kafka_python(bootstrap: str, topic: str, group: str) -> dict[str, float]:
    import kafka

    begun_s = time.perf_counter()
    consumer = kafka.KafkaConsumer(topic, bootstrap_servers=[bootstrap], group_id=group, auto_offset_reset="earliest")
    assert _polled(lambda: consumer.poll(1000))
    figures = {"first record": since_ms(begun_s)}
    begun_s = time.perf_counter()
    consumer.commit()
    figures["commit"] = since_ms(begun_s)
    begun_s = time.perf_counter()
    consumer.close()
    figures["close"] = since_ms(begun_s)
    producer = kafka.KafkaProducer(bootstrap_servers=[bootstrap])
    producer.send(topic, b"value").get(PATIENCE_S)
    begun_s = time.perf_counter()
    producer.close()
    figures["close of a producer"] = since_ms(begun_s)
    return figures


def _polled(poll: Callable[[], Any]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if poll():
            return True
    return False


def aiokafka(bootstrap: str, topic: str, group: str) -> dict[str, float]:
    return asyncio.run(_aiokafka(bootstrap, topic, group))


async def _aiokafka(bootstrap: str, topic: str, group: str) -> dict[str, float]:
    import aiokafka

    begun_s = time.perf_counter()
    consumer = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
    )
    await consumer.start()
    await asyncio.wait_for(consumer.getone(), PATIENCE_S)
    figures = {"first record": since_ms(begun_s)}
    begun_s = time.perf_counter()
    await consumer.commit()
    figures["commit"] = since_ms(begun_s)
    begun_s = time.perf_counter()
    await consumer.stop()
    figures["close"] = since_ms(begun_s)
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    await producer.send_and_wait(topic, b"value")
    begun_s = time.perf_counter()
    await producer.stop()
    figures["close of a producer"] = since_ms(begun_s)
    return figures


# Programs


@functools.cache
def _workshop() -> Workshop:
    return Workshop(Path(tempfile.mkdtemp(prefix="kafkalet-waits-")))


def _program(build: Callable[[Workshop], list[str | Path]]) -> Steps | None:
    """Build a program; print the reason and return None if its tools or packages are missing."""
    try:
        command = build(_workshop())
    except (pytest.skip.Exception, AssertionError) as reason:
        print(f"not measured: {reason}", file=sys.stderr)
        return None

    def run(bootstrap: str, topic: str, group: str) -> dict[str, float]:
        done = subprocess.run([*command, bootstrap, topic, group], check=True, capture_output=True, text=True)
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return figures

    return run


IN_PROCESS: dict[str, Steps] = {"confluent-kafka": confluent, "kafka-python": kafka_python, "aiokafka": aiokafka}


@functools.cache
def libraries() -> dict[str, Steps]:
    """Return the steps of the client libraries that can be measured here, by name."""
    found: dict[str, Steps | None] = {
        **IN_PROCESS,
        f"Java {JAVA_RELEASE}": _program(lambda workshop: workshop.java("Waits", JAVA_RELEASE)),
        "franz-go": _program(lambda workshop: workshop.go("waits")),
    }
    return {name: steps for name, steps in found.items() if steps is not None}


# confluent-kafka only


def record_read_back(bootstrap: str, topic: str) -> float:
    """Produce the first record of a topic that does not exist yet, and read it by assignment."""
    import confluent_kafka

    begun_s = time.perf_counter()
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, b"value")
    producer.flush(PATIENCE_S)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "log_level": 0})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    record = consumer.poll(PATIENCE_S)
    assert record is not None
    assert record.error() is None
    elapsed_ms = since_ms(begun_s)
    consumer.close()
    return elapsed_ms


def topics_created(bootstrap: str, names: list[str]) -> float:
    from confluent_kafka.admin import AdminClient, NewTopic

    begun_s = time.perf_counter()
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for future in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        future.result(PATIENCE_S)
    return since_ms(begun_s)


def rebalances(bootstrap: str, topic: str, group: str) -> dict[str, float]:
    """Let a second member join the group of a first one, and close it. The topic has two partitions."""
    import confluent_kafka

    def member() -> Any:
        properties = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer({**properties, "log_level": 0})
        consumer.subscribe([topic])
        return consumer

    def until(shares: list[int], *members: Any) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while [len(each.assignment()) for each in members] != shares:
            assert time.monotonic() < deadline, "the members have no partitions"
            for each in members:
                each.poll(0.001)

    one = member()
    until([PARTITIONS], one)
    begun_s = time.perf_counter()
    two = member()
    until([1, 1], one, two)
    figures = {"second joins": since_ms(begun_s)}
    begun_s = time.perf_counter()
    two.close()
    until([PARTITIONS], one)
    figures["second leaves"] = since_ms(begun_s)
    one.close()
    return figures


def transactions(bootstrap: str, topic: str, name: str) -> dict[str, float]:
    """Initialise a transactional producer and commit a transaction, then a second one."""
    import confluent_kafka

    begun_s = time.perf_counter()
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(PATIENCE_S)
    figures = {}
    for step in ("first transaction", "second transaction"):
        producer.begin_transaction()
        producer.produce(topic, b"value")
        producer.commit_transaction(PATIENCE_S)
        figures[step] = since_ms(begun_s)
        begun_s = time.perf_counter()
    return figures
