"""Applications under test. Each consumes a topic with one of the clients, in its own thread, until it is stopped."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiokafka
import confluent_kafka
import kafka  # type: ignore[import-untyped]

HEARTBEAT_MS = 50
QUICK = {
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
    "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
}
"""Broker properties: with the consumer protocol (KIP-848), the broker determines the heartbeat interval."""


class Application:
    """A consumer that has handled the records in `seen`. It commits each record after it has handled it."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        self.seen: list[bytes] = []
        self.handle: Callable[[bytes], object] = lambda value: None
        self.stopping = threading.Event()

    def process(self, value: bytes | None) -> None:
        assert value is not None
        self.handle(value)
        self.seen.append(value)


def _confluent(app: Application, servers: str, group: str, topic: str, reset: str, isolation: str, **more: Any) -> None:
    settings = {
        "bootstrap.servers": servers,
        "group.id": group,
        "client.id": app.client_id,
        "auto.offset.reset": reset,
        "enable.auto.commit": False,
        "isolation.level": isolation,
        "fetch.wait.max.ms": 100,
        "topic.metadata.refresh.interval.ms": 100,
        "allow.auto.create.topics": True,
        "metadata.max.age.ms": 10_000,
    }
    if more.get("group.protocol") != "consumer":
        settings["heartbeat.interval.ms"] = HEARTBEAT_MS
    consumer = confluent_kafka.Consumer({**settings, **more})
    consumer.subscribe([topic])
    try:
        while not app.stopping.is_set():
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                app.process(message.value())
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def _kafka_python(
    app: Application, servers: str, group: str, topic: str, reset: str, isolation: str, **more: Any
) -> None:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        client_id=app.client_id,
        auto_offset_reset=reset,
        enable_auto_commit=False,
        isolation_level=isolation,
        heartbeat_interval_ms=HEARTBEAT_MS,
        fetch_max_wait_ms=100,
        **more,
    )
    consumer.partitions_for_topic(topic)  # a member that does not know them joins twice, and sometimes gets stuck
    consumer.subscribe([topic])
    try:
        while not app.stopping.is_set():
            received = consumer.poll(500)  # kafka-python 3.0 forgets a join that outlasts a poll
            for record in itertools.chain.from_iterable(received.values()):
                app.process(record.value)
            if received:
                consumer.commit()
    finally:
        consumer.close()


def _aiokafka(app: Application, servers: str, group: str, topic: str, reset: str, isolation: str, **more: Any) -> None:
    async def consume() -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            client_id=app.client_id,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            isolation_level=isolation,
            heartbeat_interval_ms=HEARTBEAT_MS,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=200,
            **more,
        )
        await consumer.start()
        try:
            while not app.stopping.is_set():
                received = await consumer.getmany(timeout_ms=50)
                for record in itertools.chain.from_iterable(received.values()):
                    app.process(record.value)
                if received:
                    await consumer.commit()
        finally:
            await consumer.stop()

    asyncio.run(consume())


CLIENTS: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
    "kafka-python": (_kafka_python, {}),
    "confluent-kafka": (_confluent, {}),
    "confluent-kafka/consumer": (_confluent, {"group.protocol": "consumer"}),
    "aiokafka": (_aiokafka, {}),
}
"""The clients by name, with the settings that each needs. `/consumer` uses the consumer protocol (KIP-848)."""


@contextmanager
def running(
    client: str,
    servers: str,
    *,
    group: str = "g",
    topic: str = "t",
    client_id: str = "app",
    reset: str = "earliest",
    isolation: str = "read_uncommitted",
    handle: Callable[[bytes], object] = lambda value: None,
    **more: Any,
) -> Iterator[Application]:
    """Run an application until the end of the block."""
    run, settings = CLIENTS[client]
    app = Application(client_id)
    app.handle = handle
    failures: list[BaseException] = []

    def main() -> None:
        try:
            run(app, servers, group, topic, reset, isolation, **settings, **more)
        except BaseException as error:
            failures.append(error)
            raise

    thread = threading.Thread(target=main, name=f"{client} {client_id}", daemon=True)
    thread.start()
    try:
        yield app
    finally:
        app.stopping.set()
        thread.join(20)
    assert not thread.is_alive(), f"{client} did not stop"
    assert not failures
