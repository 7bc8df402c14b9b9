"""aiokafka, with an event loop in a separate thread so that its consumers can send heartbeats."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

import aiokafka
import aiokafka.admin
import aiokafka.errors
from aiokafka.coordinator.protocol import ConsumerProtocol

from .interface import (
    HEARTBEAT_MS,
    PAUSE_MS,
    TIMEOUT_S,
    BrokerError,
    Cluster,
    Found,
    Group,
    Message,
    Replicas,
    Row,
    record_message,
)

T = TypeVar("T")

PRODUCER_FENCED = 90
POLLING_MS = 50


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except aiokafka.errors.OffsetOutOfRangeError as error:
        raise BrokerError(1, str(error)) from error
    except aiokafka.errors.ProducerFenced as error:
        raise BrokerError(PRODUCER_FENCED, str(error)) from error
    except aiokafka.errors.BrokerResponseError as error:
        raise BrokerError(error.errno, str(error)) from error


def check(code: int) -> None:
    if code:
        raise BrokerError(code, aiokafka.errors.for_code(code).__name__)


class Loop:
    """An event loop that runs in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="aiokafka", daemon=True)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with translated_errors():
            return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * TIMEOUT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def send(producer: Any, topic: str, partition: int | None, rows: Sequence[Row]) -> list[int]:
    sent = [
        await producer.send(
            topic, row.value, row.key, partition=partition, timestamp_ms=row.timestamp, headers=list(row.headers)
        )
        for row in rows
    ]
    await producer.flush()
    returned = await asyncio.gather(*sent)
    return [-1 if metadata is None or metadata.offset is None else metadata.offset for metadata in returned]


class AioKafkaMember:
    """A group consumer. It starts and polls in the background, because both may block until a rebalance completes."""

    def __init__(self, loop: Loop, topic: str, **settings: Any) -> None:
        self.run, self.topic = loop.run, topic
        self.group = settings["group_id"]
        self.consumer = self.run(self._make(topic, settings))
        self._loop = loop.loop
        self._waiting: Future[Any] | None = self._begin(self.consumer.start())

    def _begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    @staticmethod
    async def _make(topic: str, settings: dict[str, Any]) -> Any:
        return aiokafka.AIOKafkaConsumer(topic, **settings)

    def poll(self, wait_s: float = 0.05) -> list[tuple[int, Message]]:
        if self._waiting is None:
            self._waiting = self._begin(self.consumer.getmany(timeout_ms=POLLING_MS))
        try:
            with translated_errors():
                batches = self._waiting.result(wait_s) or {}
        except TimeoutError:
            return []
        self._waiting = None
        return [(record.partition, record_message(record)) for batch in batches.values() for record in batch]

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self, offsets: dict[int, int] | None = None) -> None:
        self.run(self.consumer.commit(None if offsets is None else positions(self.topic, offsets)))

    def committed(self, partitions: Sequence[int]) -> list[int | None]:
        return [self.run(self.consumer.committed(aiokafka.TopicPartition(self.topic, index))) for index in partitions]

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        with contextlib.suppress(CancelledError):  # it cancels itself if the broker is gone
            self.run(self.consumer.stop())


def positions(topic: str, offsets: dict[int, int]) -> dict[Any, int]:
    return {aiokafka.TopicPartition(topic, index): offset for index, offset in offsets.items()}


class AioKafkaTransactions:
    """A transactional producer."""

    def __init__(self, run: Any, **settings: Any) -> None:
        self.run = run
        self.producer = run(self._start(settings))

    @staticmethod
    async def _start(settings: dict[str, Any]) -> Any:
        producer = aiokafka.AIOKafkaProducer(**settings)
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        return producer

    def begin(self) -> None:
        self.run(self.producer.begin_transaction())

    def send(self, topic: str, partition: int, rows: Sequence[Row]) -> list[int]:
        return self.run(send(self.producer, topic, partition, rows))

    def send_offsets(self, member: AioKafkaMember, topic: str, offsets: dict[int, int]) -> None:
        self.run(self.producer.send_offsets_to_transaction(positions(topic, offsets), member.group))

    def commit(self) -> None:
        self.run(self.producer.commit_transaction())

    def abort(self) -> None:
        self.run(self.producer.abort_transaction())

    def close(self) -> None:
        self.run(self.producer.stop())


class AioKafka:
    """aiokafka."""

    def __init__(self, servers: str) -> None:
        self.more = {"bootstrap_servers": servers, "retry_backoff_ms": PAUSE_MS}
        self._opened = contextlib.ExitStack()
        self._loop = Loop()
        self._opened.callback(self._loop.close)
        self._run = self._loop.run
        self._admin: Any = None

    # Producing

    def produce(self, topic: str, partition: int | None, rows: Sequence[Row], **settings: Any) -> list[int]:
        async def run() -> list[int]:
            usual = {"acks": "all", "linger_ms": 1}
            async with aiokafka.AIOKafkaProducer(**self.more, **usual | settings) as producer:
                return await send(producer, topic, partition, rows)

        return self._run(run())

    def transactional(self, transactional_id: str, **settings: Any) -> AioKafkaTransactions:
        opened = AioKafkaTransactions(self._run, transactional_id=transactional_id, **self.more, **settings)
        self._opened.callback(opened.close)
        return opened

    # Offsets

    def _consumer(self, isolation: str = "read_uncommitted") -> Any:
        return aiokafka.AIOKafkaConsumer(
            group_id=None, enable_auto_commit=False, auto_offset_reset="none", isolation_level=isolation, **self.more
        )

    def _ask(self, method: str, topic: str, asked: Any, isolation: str = "read_uncommitted") -> dict[int, Any]:
        async def run() -> dict[int, Any]:
            async with self._consumer(isolation) as consumer:
                answer = await getattr(consumer, method)(asked)
                return {partition.partition: found for partition, found in answer.items()}

        return self._run(run())

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]:
        asked = [aiokafka.TopicPartition(topic, index) for index in partitions]
        found = self._ask("beginning_offsets", topic, asked)
        return [found[index] for index in partitions]

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]:
        asked = [aiokafka.TopicPartition(topic, index) for index in partitions]
        found = self._ask("end_offsets", topic, asked, isolation)
        return [found[index] for index in partitions]

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        asked = {aiokafka.TopicPartition(topic, index): timestamp for index, timestamp in times.items()}
        found = self._ask("offsets_for_times", topic, asked)
        return {index: None if hit is None else Found(hit.offset, hit.timestamp) for index, hit in found.items()}

    # Consuming

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        async def run() -> list[tuple[int, Message]]:
            found: list[tuple[int, Message]] = []
            async with self._consumer(isolation) as consumer:
                consumer.assign([aiokafka.TopicPartition(topic, index) for index in start])
                for index, offset in start.items():
                    consumer.seek(aiokafka.TopicPartition(topic, index), offset)
                until = time.monotonic() + TIMEOUT_S
                while len(found) < count and time.monotonic() < until:
                    for batch in (await consumer.getmany(timeout_ms=1000)).values():
                        found += [(record.partition, record_message(record)) for record in batch]
            return found

        return self._run(run())

    def member(self, group: str, topic: str, **settings: Any) -> AioKafkaMember:
        usual = {
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "group_id": group,
        }
        opened = AioKafkaMember(self._loop, topic, **self.more | usual | settings)
        self._opened.callback(opened.close)
        return opened

    # Administration

    @property
    def admin(self) -> Any:
        """The admin client; its methods must run in the loop."""
        if self._admin is None:

            async def start() -> Any:
                client = aiokafka.admin.AIOKafkaAdminClient(**self.more)
                await client.start()
                return client

            self._admin = self._run(start())
            self._opened.callback(lambda: self._run(self._admin.close()))
        return self._admin

    def create_topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> None:
        topic = aiokafka.admin.NewTopic(name, partitions, 1, topic_configs=config or {})
        [(_, code, *_)] = self._run(self.admin.create_topics([topic])).topic_errors
        check(code)

    def delete_topic(self, name: str) -> None:
        [(_, code)] = self._run(self.admin.delete_topics([name])).topic_error_codes
        check(code)

    def delete_records(self, topic: str, offsets: dict[int, int]) -> dict[int, int]:
        asked = {
            aiokafka.TopicPartition(topic, index): aiokafka.admin.RecordsToDelete(offset)
            for index, offset in offsets.items()
        }
        found = self._run(self.admin.delete_records(asked))
        return {partition.partition: low_watermark for partition, low_watermark in found.items()}

    def describe_cluster(self) -> Cluster:
        found = self._run(self.admin.describe_cluster())
        brokers = [(broker["node_id"], broker["host"], broker["port"]) for broker in found["brokers"]]
        return Cluster(found["cluster_id"], found["controller_id"], brokers)

    def list_topics(self) -> set[str]:
        return set(self._run(self.admin.list_topics()))

    def describe_topic(self, name: str) -> dict[int, Replicas]:
        [found] = self._run(self.admin.describe_topics([name]))
        check(found["error_code"])
        return {
            partition["partition"]: Replicas(partition["leader"], partition["replicas"], partition["isr"])
            for partition in found["partitions"]
        }

    def describe_config(self, topic: str) -> dict[str, str | None]:
        resource = aiokafka.admin.config_resource.ConfigResource(
            aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic
        )
        [answer] = self._run(self.admin.describe_configs([resource]))
        [(code, _, _, _, entries)] = answer.resources
        check(code)
        return {name: value for name, value, *_ in entries}

    def describe_group(self, group: str) -> Group:
        [answer] = self._run(self.admin.describe_consumer_groups([group]))
        [(code, _, state, _, assignor, members, *_)] = answer.groups
        check(code)
        assigned = []
        for *_, assignment in members:
            partitions = ConsumerProtocol.ASSIGNMENT.decode(assignment).partitions()
            assigned.append(sorted(partition.partition for partition in partitions))
        return Group(state, assignor, sorted(assigned))

    def list_groups(self) -> set[str]:
        return {group for group, *_ in self._run(self.admin.list_consumer_groups())}

    def committed(self, group: str, topic: str) -> dict[int, int]:
        found = self._run(self.admin.list_consumer_group_offsets(group))
        return {partition.partition: kept.offset for partition, kept in found.items() if partition.topic == topic}

    def delete_group(self, group: str) -> None:
        raise NotImplementedError("its admin client deletes no groups")

    def close(self) -> None:
        self._opened.close()
