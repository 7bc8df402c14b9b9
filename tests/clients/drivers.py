"""kafka-python, confluent-kafka and aiokafka with one face: produce, ask for offsets, read by assignment.

None of them is in a consumer group. Refusals come out as the number of Kafka's error, in a `Refused`.
"""

import asyncio
import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schema by deprecated functions
    import kafka
    import kafka.errors

import aiokafka
import aiokafka.errors
import confluent_kafka
import confluent_kafka.admin

PATIENCE_S = 20.0
"""How long an answer may take on a machine that is busy."""

PAUSE_MS = 10
"""What clients take a breath of before they ask for metadata again, here; 100 by default."""

Headers = Sequence[tuple[str, bytes]]


class Row(NamedTuple):
    """A record to produce."""

    timestamp: int | None
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


class Message(NamedTuple):
    """A record that was consumed. Timestamp types: 0 CreateTime, 1 LogAppendTime, None where there is no timestamp."""

    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Found(NamedTuple):
    """The answer to a lookup by time."""

    offset: int
    timestamp: int


class Refused(Exception):
    """The broker refused; `code` is Kafka's number for it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Driver(Protocol):
    """A client of a broker (or of a cluster), without a group. Used by one thread, closed at the end."""

    def __init__(self, servers: str) -> None: ...

    def produce(self, topic: str, partition: int, rows: Sequence[Row], **settings: Any) -> list[int]:
        """Send records and give their offsets (-1 where acks=0 tells none). Settings by Kafka's names, with '_'."""

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]: ...

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]: ...

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        """By partition, the first record at or after a time."""

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        """At least `count` records with their partitions, from these offsets on. An offset out of range is Refused."""

    def close(self) -> None: ...


def messages(found: list[tuple[int, Message]]) -> list[Message]:
    return [message for _, message in found]


class KafkaPython:
    """kafka-python."""

    def __init__(self, servers: str, **more: Any) -> None:
        self.servers = servers
        self.more = {"retry_backoff_ms": PAUSE_MS, **more}
        self._asker: Any = None

    @staticmethod
    @contextlib.contextmanager
    def _refusals() -> Iterator[None]:
        try:
            yield
        except kafka.errors.BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error

    def produce(self, topic: str, partition: int, rows: Sequence[Row], **settings: Any) -> list[int]:
        settings = {"acks": "all", "enable_idempotence": False} | settings
        producer = kafka.KafkaProducer(bootstrap_servers=self.servers, **self.more, **settings)
        try:
            with self._refusals():
                sent = [
                    producer.send(
                        topic,
                        row.value,
                        row.key,
                        headers=list(row.headers),
                        partition=partition,
                        timestamp_ms=row.timestamp,
                    )
                    for row in rows
                ]
                producer.flush(PATIENCE_S)
                return [future.get(PATIENCE_S).offset for future in sent]
        finally:
            producer.close(timeout=PATIENCE_S)

    def _consumer(self, isolation: str = "read_uncommitted") -> Any:
        return kafka.KafkaConsumer(
            bootstrap_servers=self.servers,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level=isolation,
            **self.more,
        )

    @property
    def asker(self) -> Any:
        """A consumer that asks for offsets."""
        if self._asker is None:
            self._asker = self._consumer()
        return self._asker

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]:
        with self._refusals():
            found = self.asker.beginning_offsets([kafka.TopicPartition(topic, index) for index in partitions])
        return [found[kafka.TopicPartition(topic, index)] for index in partitions]

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]:
        consumer = self._consumer(isolation)
        with self._refusals(), contextlib.closing(consumer):
            found = consumer.end_offsets([kafka.TopicPartition(topic, index) for index in partitions])
        return [found[kafka.TopicPartition(topic, index)] for index in partitions]

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        asked = {kafka.TopicPartition(topic, index): timestamp for index, timestamp in times.items()}
        with self._refusals():
            answer = self.asker.offsets_for_times(asked)
        return {
            partition.partition: None if hit is None else Found(hit.offset, hit.timestamp)
            for partition, hit in answer.items()
        }

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        consumer = self._consumer(isolation)
        found: list[tuple[int, Message]] = []
        with contextlib.closing(consumer), self._refusals():
            consumer.assign([kafka.TopicPartition(topic, index) for index in start])
            for index, offset in start.items():
                consumer.seek(kafka.TopicPartition(topic, index), offset)
            until = time.monotonic() + PATIENCE_S
            while len(found) < count and time.monotonic() < until:
                for batch in consumer.poll(timeout_ms=1000).values():
                    found += [(record.partition, _python_message(record)) for record in batch]
        return found

    def close(self) -> None:
        if self._asker is not None:
            self._asker.close()


def _python_message(record: Any) -> Message:
    no_time = record.timestamp is None or record.timestamp < 0
    return Message(
        record.offset,
        None if no_time else record.timestamp,
        None if no_time else record.timestamp_type,
        record.key,
        record.value,
        tuple(record.headers),
    )


class ConfluentKafka:
    """confluent-kafka, on top of librdkafka."""

    def __init__(self, servers: str, **more: Any) -> None:
        self.common = {"bootstrap.servers": servers, "log_level": 0} | more
        self._admin: Any = None

    @staticmethod
    def _refusal(error: Any) -> Refused:
        return Refused(error.code(), error.str())

    def produce(self, topic: str, partition: int, rows: Sequence[Row], **settings: Any) -> list[int]:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        producer = confluent_kafka.Producer({**self.common, "acks": "all", "linger.ms": 1, **names})
        offsets = dict.fromkeys(range(len(rows)), -1)
        failed: list[Any] = []

        def delivered(index: int) -> Any:
            def note(error: Any, message: Any) -> None:
                if error is not None:
                    failed.append(error)
                elif message.offset() is not None:
                    offsets[index] = message.offset()

            return note

        for index, row in enumerate(rows):
            stamp = {} if row.timestamp is None else {"timestamp": row.timestamp}
            try:
                producer.produce(
                    topic,
                    row.value,
                    row.key,
                    partition,
                    headers=list(row.headers) or None,
                    on_delivery=delivered(index),
                    **stamp,
                )
            except confluent_kafka.KafkaException as problem:
                raise self._refusal(problem.args[0]) from problem
        assert producer.flush(PATIENCE_S) == 0
        if failed:
            raise self._refusal(failed[0])
        return list(offsets.values())

    def consumer(self, **more: Any) -> Any:
        settings = {"group.id": "none", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return confluent_kafka.Consumer({**self.common, **settings, **more})

    @property
    def admin(self) -> Any:
        if self._admin is None:
            self._admin = confluent_kafka.admin.AdminClient(self.common)
        return self._admin

    def list_offsets(self, topic: str, specs: dict[int, Any], isolation: str = "read_uncommitted") -> dict[int, Found]:
        """What the admin client knows as ListOffsets; unlike the consumer it gives timestamps."""
        asked = {confluent_kafka.TopicPartition(topic, index): spec for index, spec in specs.items()}
        level = confluent_kafka.IsolationLevel[isolation.upper()]
        found = {}
        for partition, future in self.admin.list_offsets(asked, isolation_level=level).items():
            try:
                answer = future.result(PATIENCE_S)
            except confluent_kafka.KafkaException as problem:
                raise self._refusal(problem.args[0]) from problem
            found[partition.partition] = Found(answer.offset, answer.timestamp)
        return found

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]:
        found = self.list_offsets(topic, dict.fromkeys(partitions, confluent_kafka.admin.OffsetSpec.earliest()))
        return [found[index].offset for index in partitions]

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]:
        latest = confluent_kafka.admin.OffsetSpec.latest()
        found = self.list_offsets(topic, dict.fromkeys(partitions, latest), isolation)
        return [found[index].offset for index in partitions]

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        for_timestamp = confluent_kafka.admin.OffsetSpec.for_timestamp
        found = self.list_offsets(topic, {index: for_timestamp(stamp) for index, stamp in times.items()})
        return {index: None if hit.offset < 0 else hit for index, hit in found.items()}

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        consumer = self.consumer(**{"isolation.level": isolation})
        found: list[tuple[int, Message]] = []
        try:
            consumer.assign([confluent_kafka.TopicPartition(topic, index, at) for index, at in start.items()])
            until = time.monotonic() + PATIENCE_S
            while len(found) < count and time.monotonic() < until:
                for message in consumer.consume(max(1, count - len(found)), timeout=1):
                    if message.error():
                        raise self._refusal(message.error())
                    found.append((message.partition(), _confluent_message(message)))
        finally:
            consumer.close()
        return found

    def close(self) -> None:
        self._admin = None


def _confluent_message(message: Any) -> Message:
    kind, timestamp = message.timestamp()
    no_time = kind == confluent_kafka.TIMESTAMP_NOT_AVAILABLE
    return Message(
        message.offset(),
        None if no_time else timestamp,
        None if no_time else kind - confluent_kafka.TIMESTAMP_CREATE_TIME,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


class AioKafka:
    """aiokafka, in an event loop that runs while it is asked."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._runner = asyncio.Runner()

    @staticmethod
    @contextlib.contextmanager
    def _refusals() -> Iterator[None]:
        try:
            yield
        except aiokafka.errors.OffsetOutOfRangeError as error:
            raise Refused(1, str(error)) from error
        except aiokafka.errors.BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error

    def produce(self, topic: str, partition: int, rows: Sequence[Row], **settings: Any) -> list[int]:
        async def run() -> list[int]:
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.servers, retry_backoff_ms=PAUSE_MS, **{"acks": "all", "linger_ms": 1} | settings
            ) as producer:
                sent = [
                    await producer.send(
                        topic,
                        row.value,
                        row.key,
                        partition=partition,
                        timestamp_ms=row.timestamp,
                        headers=list(row.headers),
                    )
                    for row in rows
                ]
                await producer.flush()
                told = await asyncio.gather(*sent)
                return [-1 if metadata is None or metadata.offset is None else metadata.offset for metadata in told]

        with self._refusals():
            return self._runner.run(run())

    def _consumer(self, isolation: str = "read_uncommitted") -> Any:
        return aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.servers,
            group_id=None,
            retry_backoff_ms=PAUSE_MS,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level=isolation,
        )

    def _ask(self, method: str, topic: str, asked: Any, isolation: str = "read_uncommitted") -> dict[int, Any]:
        async def run() -> dict[int, Any]:
            async with self._consumer(isolation) as consumer:
                answer = await getattr(consumer, method)(asked)
                return {partition.partition: found for partition, found in answer.items()}

        with self._refusals():
            return self._runner.run(run())

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

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        async def run() -> list[tuple[int, Message]]:
            found: list[tuple[int, Message]] = []
            async with self._consumer(isolation) as consumer:
                consumer.assign([aiokafka.TopicPartition(topic, index) for index in start])
                for index, offset in start.items():
                    consumer.seek(aiokafka.TopicPartition(topic, index), offset)
                until = time.monotonic() + PATIENCE_S
                while len(found) < count and time.monotonic() < until:
                    for batch in (await consumer.getmany(timeout_ms=1000)).values():
                        found += [(record.partition, _python_message(record)) for record in batch]
            return found

        with self._refusals():
            return self._runner.run(run())

    def close(self) -> None:
        self._runner.close()


DRIVERS: dict[str, type[Driver]] = {
    "kafka-python": KafkaPython,
    "confluent-kafka": ConfluentKafka,
    "aiokafka": AioKafka,
}
