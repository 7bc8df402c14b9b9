"""confluent-kafka, on top of librdkafka."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from .interface import HEARTBEAT_MS, PAUSE_MS, TIMEOUT_S, BrokerError, Cluster, Found, Group, Message, Replicas, Row


def broker_error(error: Any) -> BrokerError:
    return BrokerError(error.code(), error.str())


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except confluent_kafka.KafkaException as problem:
        raise broker_error(problem.args[0]) from problem


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def send(producer: Any, topic: str, partition: int | None, rows: Sequence[Row]) -> list[int]:
    offsets = dict.fromkeys(range(len(rows)), -1)
    failed: list[Any] = []

    def delivered(index: int) -> Any:
        def note(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            elif message.offset() is not None:
                offsets[index] = message.offset()

        return note

    with translated_errors():
        for index, row in enumerate(rows):
            stamp = {} if row.timestamp is None else {"timestamp": row.timestamp}
            producer.produce(
                topic,
                row.value,
                row.key,
                -1 if partition is None else partition,
                headers=list(row.headers) or None,
                on_delivery=delivered(index),
                **stamp,
            )
    assert producer.flush(TIMEOUT_S) == 0
    if failed:
        raise broker_error(failed[0])
    return list(offsets.values())


def message_of(message: Any) -> Message:
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


class ConfluentMember:
    """A group consumer. A topic that starts with '^' is a pattern."""

    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.topic = topic
        self.consumer = confluent_kafka.Consumer(settings)
        self.consumer.subscribe([topic])

    def poll(self, wait_s: float = 0.05) -> list[tuple[int, Message]]:
        found = []
        for message in self.consumer.consume(1000, wait_s):
            if message.error():
                raise broker_error(message.error())
            found.append((message.partition(), message_of(message)))
        return found

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self, offsets: dict[int, int] | None = None) -> None:
        asked = {} if offsets is None else {"offsets": positions(self.topic, offsets)}
        with translated_errors():
            for partition in self.consumer.commit(asynchronous=False, **asked):
                if partition.error is not None:
                    raise broker_error(partition.error)

    def committed(self, partitions: Sequence[int]) -> list[int | None]:
        asked = [confluent_kafka.TopicPartition(self.topic, index) for index in partitions]
        with translated_errors():
            found = self.consumer.committed(asked, TIMEOUT_S)
        return [None if partition.offset < 0 else partition.offset for partition in found]

    def close(self) -> None:
        self.consumer.close()


def positions(topic: str, offsets: dict[int, int]) -> list[Any]:
    return [confluent_kafka.TopicPartition(topic, index, offset) for index, offset in offsets.items()]


class ConfluentTransactions:
    """A transactional producer."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.producer = confluent_kafka.Producer(settings)
        with translated_errors():
            self.producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        with translated_errors():
            self.producer.begin_transaction()

    def send(self, topic: str, partition: int, rows: Sequence[Row]) -> list[int]:
        return send(self.producer, topic, partition, rows)

    def send_offsets(self, member: ConfluentMember, topic: str, offsets: dict[int, int]) -> None:
        group = member.consumer.consumer_group_metadata()
        with translated_errors():
            self.producer.send_offsets_to_transaction(positions(topic, offsets), group, TIMEOUT_S)

    def commit(self) -> None:
        with translated_errors():
            self.producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        with translated_errors():
            self.producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        self.producer.purge()


class ConfluentKafka:
    """confluent-kafka, on top of librdkafka."""

    def __init__(self, servers: str, **more: Any) -> None:
        self.common = {"bootstrap.servers": servers, "log_level": 0, "reconnect.backoff.ms": PAUSE_MS} | more
        self._opened = contextlib.ExitStack()
        self._admin: Any = None

    # Producing

    def produce(self, topic: str, partition: int | None, rows: Sequence[Row], **settings: Any) -> list[int]:
        usual = {"acks": "all", "linger.ms": 1, "partitioner": "murmur2_random"}
        return send(confluent_kafka.Producer(self.common | usual | dotted(settings)), topic, partition, rows)

    def transactional(self, transactional_id: str, **settings: Any) -> ConfluentTransactions:
        usual = {"linger.ms": 1, "transactional.id": transactional_id}
        opened = ConfluentTransactions(self.common | usual | dotted(settings))
        self._opened.callback(opened.close)
        return opened

    # Offsets

    def list_offsets(self, topic: str, specs: dict[int, Any], isolation: str = "read_uncommitted") -> dict[int, Found]:
        """Call the admin client's ListOffsets, which returns timestamps; the consumer's lookup does not."""
        asked = {confluent_kafka.TopicPartition(topic, index): spec for index, spec in specs.items()}
        level = confluent_kafka.IsolationLevel[isolation.upper()]
        found = {}
        for partition, future in self.admin.list_offsets(asked, isolation_level=level).items():
            with translated_errors():
                answer = future.result(TIMEOUT_S)
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

    # Consuming

    def consumer(self, **more: Any) -> Any:
        """Return a consumer without a group."""
        settings = {"group.id": "none", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return confluent_kafka.Consumer({**self.common, **settings, **more})

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        consumer = self.consumer(**{"isolation.level": isolation})
        found: list[tuple[int, Message]] = []
        try:
            consumer.assign([confluent_kafka.TopicPartition(topic, index, at) for index, at in start.items()])
            until = time.monotonic() + TIMEOUT_S
            while len(found) < count and time.monotonic() < until:
                for message in consumer.consume(max(1, count - len(found)), timeout=1):
                    if message.error():
                        raise broker_error(message.error())
                    found.append((message.partition(), message_of(message)))
        finally:
            consumer.close()
        return found

    def member(self, group: str, topic: str, **settings: Any) -> ConfluentMember:
        usual = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": group}
        if settings.get("group_protocol") != "consumer":  # otherwise the broker sets the interval
            usual["heartbeat.interval.ms"] = HEARTBEAT_MS
        opened = ConfluentMember(topic, self.common | usual | dotted(settings))
        self._opened.callback(opened.close)
        return opened

    # Administration

    @property
    def admin(self) -> Any:
        if self._admin is None:
            self._admin = confluent_kafka.admin.AdminClient(self.common)
        return self._admin

    def _result(self, futures: dict[Any, Any]) -> Any:
        """Wait for the only future and return its result."""
        [future] = futures.values()
        with translated_errors():
            return future.result(TIMEOUT_S)

    def create_topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> None:
        topic = confluent_kafka.admin.NewTopic(name, partitions, config=config or {})
        self._result(self.admin.create_topics([topic]))

    def delete_topic(self, name: str) -> None:
        self._result(self.admin.delete_topics([name]))

    def delete_records(self, topic: str, offsets: dict[int, int]) -> dict[int, int]:
        futures = self.admin.delete_records(positions(topic, offsets))
        with translated_errors():
            return {asked.partition: future.result(TIMEOUT_S).low_watermark for asked, future in futures.items()}

    def describe_cluster(self) -> Cluster:
        with translated_errors():
            found = self.admin.describe_cluster().result(TIMEOUT_S)
        brokers = [(node.id, node.host, node.port) for node in found.nodes]
        return Cluster(found.cluster_id, found.controller.id, brokers)

    def list_topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=TIMEOUT_S).topics)

    def describe_topic(self, name: str) -> dict[int, Replicas]:
        found = self._result(self.admin.describe_topics(confluent_kafka.TopicCollection([name])))
        return {
            partition.id: Replicas(
                partition.leader.id, [node.id for node in partition.replicas], [node.id for node in partition.isr]
            )
            for partition in found.partitions
        }

    def describe_config(self, topic: str) -> dict[str, str | None]:
        resource = confluent_kafka.admin.ConfigResource(confluent_kafka.admin.ResourceType.TOPIC, topic)
        found = self._result(self.admin.describe_configs([resource]))
        return {name: entry.value for name, entry in found.items()}

    def describe_group(self, group: str) -> Group:
        found = self._result(self.admin.describe_consumer_groups([group]))
        assigned = [
            sorted(partition.partition for partition in member.assignment.topic_partitions) for member in found.members
        ]
        state = found.state.name.title().replace("_", "")
        return Group(state, found.partition_assignor, sorted(assigned))

    def list_groups(self) -> set[str]:
        found = self.admin.list_consumer_groups().result(TIMEOUT_S)
        if found.errors:
            raise broker_error(found.errors[0].args[0])
        return {group.group_id for group in found.valid}

    def committed(self, group: str, topic: str) -> dict[int, int]:
        asked = confluent_kafka.ConsumerGroupTopicPartitions(group)
        found = self._result(self.admin.list_consumer_group_offsets([asked]))
        return {kept.partition: kept.offset for kept in found.topic_partitions if kept.topic == topic}

    def delete_group(self, group: str) -> None:
        self._result(self.admin.delete_consumer_groups([group]))

    def close(self) -> None:
        self._opened.close()
        self._admin = None
