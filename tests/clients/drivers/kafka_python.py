"""kafka-python."""

import contextlib
import gc
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python uses deprecated functions to load its schema
    import kafka
    import kafka.admin
    import kafka.errors


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


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except kafka.errors.BrokerResponseError as error:
        raise BrokerError(error.errno, str(error)) from error


def check(error: type[Exception] | str) -> None:
    """Raise BrokerError for an error class, or the name of one, that the admin client returned."""
    kind = getattr(kafka.errors, error) if isinstance(error, str) and error != "OK" else error
    if kind not in ("OK", kafka.errors.NoError):
        raise BrokerError(kind.errno, kind.__name__)


def send(producer: Any, topic: str, partition: int | None, rows: Sequence[Row]) -> list[int]:
    with translated_errors():
        sent = [
            producer.send(
                topic, row.value, row.key, headers=list(row.headers), partition=partition, timestamp_ms=row.timestamp
            )
            for row in rows
        ]
        producer.flush(TIMEOUT_S)
        return [future.get(TIMEOUT_S).offset for future in sent]


class KafkaPythonMember:
    """A group consumer that polls in a separate thread.

    In kafka-python 3.0, a member that gets its assignment between two calls of poll() joins again. Members that are
    polled in turn, for a short time each, could cause rebalances for a long time.
    """

    POLLING_MS = 500

    def __init__(self, topic: str, **settings: Any) -> None:
        self.topic = topic
        self._thread = ThreadPoolExecutor(1, "kafka-python")
        self._polling: Future[Any] | None = None
        self.consumer = kafka.KafkaConsumer(topic, **settings)
        # kafka-python 3.0: a member that joins before it knows the topic's partitions joins again as soon as it does,
        # and loses its assignment if a poll times out in between.
        self.consumer.partitions_for_topic(topic)

    def poll(self, wait_s: float = 0.05) -> list[tuple[int, Message]]:
        if self._polling is None:
            self._polling = self._thread.submit(self.consumer.poll, timeout_ms=self.POLLING_MS)
        try:
            with translated_errors():
                batches = self._polling.result(wait_s).values()
        except TimeoutError:
            return []
        self._polling = None
        return [(record.partition, record_message(record)) for batch in batches for record in batch]

    def _run(self, method: Any, *args: Any) -> Any:
        """Call a method of the consumer in its thread, after the current poll."""
        with translated_errors():
            return self._thread.submit(method, *args).result()

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self, offsets: dict[int, int] | None = None) -> None:
        self._run(self.consumer.commit, None if offsets is None else positions(self.topic, offsets))

    def committed(self, partitions: Sequence[int]) -> list[int | None]:
        asked = [kafka.TopicPartition(self.topic, index) for index in partitions]
        return [self._run(self.consumer.committed, partition) for partition in asked]

    def close(self) -> None:
        self._thread.shutdown()
        self.consumer.close(autocommit=False)


def positions(topic: str, offsets: dict[int, int]) -> dict[Any, Any]:
    return {
        kafka.TopicPartition(topic, index): kafka.OffsetAndMetadata(offset, "", -1) for index, offset in offsets.items()
    }


class KafkaPythonTransactions:
    """A transactional producer."""

    def __init__(self, **settings: Any) -> None:
        self.producer = kafka.KafkaProducer(**settings)
        try:
            with translated_errors():
                self.producer.init_transactions()
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, topic: str, partition: int, rows: Sequence[Row]) -> list[int]:
        return send(self.producer, topic, partition, rows)

    def send_offsets(self, member: KafkaPythonMember, topic: str, offsets: dict[int, int]) -> None:
        with translated_errors():
            self.producer.send_offsets_to_transaction(positions(topic, offsets), member.consumer.group_metadata())

    def commit(self) -> None:
        with translated_errors():
            self.producer.commit_transaction()

    def abort(self) -> None:
        with translated_errors():
            self.producer.abort_transaction()

    def close(self) -> None:
        self.producer.close(timeout=TIMEOUT_S)


class KafkaPython:
    """kafka-python."""

    def __init__(self, servers: str, **more: Any) -> None:
        self.servers = servers
        self.more = {"bootstrap_servers": servers, "retry_backoff_ms": PAUSE_MS, **more}
        self._opened = contextlib.ExitStack()
        self._asker: Any = None
        self._admin: Any = None

    # Producing

    def produce(self, topic: str, partition: int | None, rows: Sequence[Row], **settings: Any) -> list[int]:
        settings = {"acks": "all", "enable_idempotence": False} | settings
        producer = kafka.KafkaProducer(**self.more, **settings)
        try:
            return send(producer, topic, partition, rows)
        finally:
            producer.close(timeout=TIMEOUT_S)

    def transactional(self, transactional_id: str, **settings: Any) -> KafkaPythonTransactions:
        usual = {"transactional_id": transactional_id, "max_block_ms": round(1000 * TIMEOUT_S)}
        opened = KafkaPythonTransactions(**self.more | usual | settings)
        self._opened.callback(opened.close)
        return opened

    # Offsets

    def _consumer(self, isolation: str = "read_uncommitted") -> Any:
        return kafka.KafkaConsumer(
            enable_auto_commit=False, auto_offset_reset="none", isolation_level=isolation, **self.more
        )

    @property
    def asker(self) -> Any:
        """A consumer that looks up offsets."""
        if self._asker is None:
            self._asker = self._consumer()
            self._opened.callback(self._asker.close)
        return self._asker

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]:
        with translated_errors():
            found = self.asker.beginning_offsets([kafka.TopicPartition(topic, index) for index in partitions])
        return [found[kafka.TopicPartition(topic, index)] for index in partitions]

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]:
        consumer = self._consumer(isolation)
        with translated_errors(), contextlib.closing(consumer):
            found = consumer.end_offsets([kafka.TopicPartition(topic, index) for index in partitions])
        return [found[kafka.TopicPartition(topic, index)] for index in partitions]

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        asked = {kafka.TopicPartition(topic, index): timestamp for index, timestamp in times.items()}
        with translated_errors():
            answer = self.asker.offsets_for_times(asked)
        return {
            partition.partition: None if hit is None else Found(hit.offset, hit.timestamp)
            for partition, hit in answer.items()
        }

    # Consuming

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        consumer = self._consumer(isolation)
        found: list[tuple[int, Message]] = []
        with contextlib.closing(consumer), translated_errors():
            consumer.assign([kafka.TopicPartition(topic, index) for index in start])
            for index, offset in start.items():
                consumer.seek(kafka.TopicPartition(topic, index), offset)
            until = time.monotonic() + TIMEOUT_S
            while len(found) < count and time.monotonic() < until:
                for batch in consumer.poll(timeout_ms=1000).values():
                    found += [(record.partition, record_message(record)) for record in batch]
        return found

    def member(self, group: str, topic: str, **settings: Any) -> KafkaPythonMember:
        usual = {
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "group_id": group,
        }
        opened = KafkaPythonMember(topic, **self.more | usual | settings)
        self._opened.callback(opened.close)
        return opened

    # Administration

    @property
    def admin(self) -> Any:
        if self._admin is None:
            self._admin = kafka.KafkaAdminClient(**self.more)
            self._opened.callback(self._admin.close)
        return self._admin

    def create_topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> None:
        with translated_errors():
            self.admin.create_topics({name: {"num_partitions": partitions, "configs": config or {}}})

    def delete_topic(self, name: str) -> None:
        with translated_errors():
            self.admin.delete_topics([name])

    def delete_records(self, topic: str, offsets: dict[int, int]) -> dict[int, int]:
        asked = {kafka.TopicPartition(topic, index): offset for index, offset in offsets.items()}
        with translated_errors():
            answer = self.admin.delete_records(asked)
        return {partition.partition: found["low_watermark"] for partition, found in answer.items()}

    def describe_cluster(self) -> Cluster:
        found = self.admin.describe_cluster()
        brokers = [(broker["broker_id"], broker["host"], broker["port"]) for broker in found["brokers"]]
        return Cluster(found["cluster_id"], found["controller_id"], brokers)

    def list_topics(self) -> set[str]:
        return set(self.admin.list_topics())

    def describe_topic(self, name: str) -> dict[int, Replicas]:
        [found] = self.admin.describe_topics([name])
        check(kafka.errors.for_code(found["error_code"]))
        return {
            partition["partition_index"]: Replicas(
                partition["leader_id"], partition["replica_nodes"], partition["isr_nodes"]
            )
            for partition in found["partitions"]
        }

    def describe_config(self, topic: str) -> dict[str, str | None]:
        resource = kafka.admin.ConfigResource(kafka.admin.ConfigResourceType.TOPIC, topic)
        found = self.admin.describe_configs([resource], config_filter="all")
        return {name: entry["value"] for name, entry in found["topic"][topic].items()}

    def describe_group(self, group: str) -> Group:
        found = self.admin.describe_groups([group])[group]
        assigned = [
            sorted(
                index for topic in member["member_assignment"]["assigned_partitions"] for index in topic["partitions"]
            )
            for member in found["members"]
        ]
        return Group(found["group_state"], found["protocol_data"], sorted(assigned))

    def list_groups(self) -> set[str]:
        with translated_errors():
            return {group["group_id"] for group in self.admin.list_groups()}

    def committed(self, group: str, topic: str) -> dict[int, int]:
        with translated_errors():
            found = self.admin.list_group_offsets(group)[group]
        return {partition.partition: kept.offset for partition, kept in found.items() if partition.topic == topic}

    def delete_group(self, group: str) -> None:
        check(self.admin.delete_groups([group])[group])

    def close(self) -> None:
        self._opened.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # from sockets that were still connecting
            gc.collect()
