"""A real Kafka cluster in place of kafkalet's: `pytest --kafka-external HOST:PORT` runs a test suite against it.

The fixtures then provide an `ExternalCluster`, which sends and reads records with confluent-kafka. A test that uses a
feature of kafkalet, such as faults or the clock, is skipped at the first use, with the name of the feature. All tests
and other programs share the cluster, so tests should use `kafka_topic`. Topics that a test has created through these
classes are deleted when it ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from kafkalet.broker import arguments
from kafkalet.clock import SystemClock, elapsed_s
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches

from .cluster import Cluster
from .lag import Place
from .record import Headers, Record
from .topic import Appended, Extent, Topic, TopicMark
from .waiting import timeout_s

if TYPE_CHECKING:
    from kafkalet.broker.arguments import PropertyValue
    from kafkalet.storage.values import Isolation as StorageIsolation

T = TypeVar("T")

POLL_S = 0.05
"""How long a wait polls one partition, and the interval between requests to the cluster."""
CONNECT_S = 10.0

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_OF_A_TOPIC = frozenset(
    (
        *("count", "create", "delete", "exists", "mark", "name", "partition_count", "records", "send", "send_batch"),
        *("send_json", "values", "wait_for", "wait_until"),
    )
)
_OF_A_MARKER = frozenset(("brokers", "env", "needs", "timeout", "topics"))


def needs(feature: str) -> NoReturn:
    """Skip the test, because it needs a feature of kafkalet."""
    import pytest

    pytest.skip(f"needs kafkalet's {feature}")


class ExternalCluster:
    """A running Kafka cluster, with the methods of `kafkalet.Cluster` that a client can provide. Others skip the test.

    Raises RuntimeError if no broker responds at `bootstrap_servers`, and skips the test without confluent-kafka.
    """

    is_running = True
    timeout: float = 10.0
    """The timeout of waits that specify none, in seconds."""

    def __init__(self, bootstrap_servers: str) -> None:
        import pytest

        pytest.importorskip("confluent_kafka", reason="--kafka-external needs: pip install kafkalet[external]")
        from confluent_kafka.admin import AdminClient

        self.bootstrap_servers = bootstrap_servers
        """The address that was passed to `--kafka-external`."""
        self._server = _Standin(self)
        self.admin = AdminClient(self.settings())
        self._producers: dict[str, Any] = {}
        self._created: list[Topic] = []
        self._turns: dict[str, int] = {}
        self.broker_count = len(self._metadata(CONNECT_S).brokers)
        """The number of brokers."""

    def __repr__(self) -> str:
        return f"<ExternalCluster at {self.bootstrap_servers}>"

    def __getattr__(self, name: str) -> Any:
        from .cluster import Broker

        if not name.startswith("_") and hasattr(Broker, name):
            needs(name)
        raise AttributeError(f"ExternalCluster has no attribute {name!r}")

    @property
    def port(self) -> int:
        """The port of the first address."""
        return int(self.bootstrap_servers.partition(",")[0].rpartition(":")[2])

    def now_ms(self) -> int:
        """Return the time of this machine, in milliseconds since 1970."""
        return SystemClock().now_ms()

    def settings(self, **settings: Any) -> dict[str, Any]:
        """Return the settings of a client."""
        return {"bootstrap.servers": self.bootstrap_servers, "log.connection.close": False, **settings}

    def topic(
        self,
        name: str,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """Return a topic, to send, read and wait for records; see `Cluster.topic`."""
        topic = ExternalTopic(self, arguments.text("the name of a topic", name))
        if partitions is not None or config is not None or replication_factor is not None:
            topic.create(partitions, config, replication_factor)
        return topic

    def group(self, group_id: str) -> ExternalGroup:
        """Return a consumer group, to see its committed offsets and its lag."""
        return ExternalGroup(self, arguments.text("the id of a group", group_id))

    def topics(self) -> list[Topic]:
        """Return the topics, by name. Internal ones are left out."""
        return [self.topic(name) for name in sorted(self.partition_counts()) if not name.startswith("__")]

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        return {
            name: len(topic.partitions)
            for name, topic in self._metadata(self.timeout).topics.items()
            if topic.partitions
        }

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the id of the leader of each partition of a topic, -1 for none. Empty if it does not exist."""
        found = self._metadata(self.timeout).topics.get(topic)
        return {} if found is None else {index: each.leader for index, each in sorted(found.partitions.items())}

    def _metadata(self, timeout: float) -> Any:
        from confluent_kafka import KafkaException

        try:
            return self.admin.list_topics(timeout=timeout)
        except KafkaException as error:
            raise RuntimeError(f"no broker responds at {self.bootstrap_servers}: {error.args[0].str()}") from error

    def created(self, topic: Topic) -> None:
        """Delete a topic when the test ends."""
        self._created.append(topic)

    def delete_created(self) -> None:
        """Delete the topics that were created through this object."""
        for topic in self._created:
            if topic.exists:
                topic.delete()
        self._created.clear()

    def produce(self, topic: str, partition: int, data: bytes) -> int:
        """Send the records of encoded batches, wait until they are acknowledged, and return the first offset."""
        failures: list[Any] = []
        offsets: list[int] = []

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                failures.append(error)

        for batch in batches(data):
            codec = _CODECS[batch.attributes & 7]
            producer = self._producer(codec)
            for _, timestamp, key, value, headers in batch.records():
                producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    timestamp=timestamp,
                    headers=list(headers),
                    on_delivery=delivered,
                )
            if producer.flush(self.timeout):
                raise AssertionError(f"{self!r} did not acknowledge records within {self.timeout:g} s")
        if failures:
            raise _as_kafka_error(failures[0])
        return min(offsets)

    def _producer(self, codec: str) -> Any:
        if codec not in self._producers:
            from confluent_kafka import Producer

            self._producers[codec] = Producer(self.settings(**{"compression.type": codec, "linger.ms": 0}))
        return self._producers[codec]

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """Call `look` every 50 ms until it returns a value other than None, and return that value."""
        deadline_s = elapsed_s() + self.timeout
        while (found := look()) is None:
            if elapsed_s() > deadline_s:
                raise AssertionError(f"waited {self.timeout:g} s for {what}")
            _pause(POLL_S)
        return found


class ExternalTopic(Topic):
    """A topic of an external cluster. Methods that need a kafkalet broker skip the test."""

    _cluster: Any

    def __init__(self, cluster: ExternalCluster, name: str) -> None:
        super().__init__(cast(Cluster, cluster), name)

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name not in _OF_A_TOPIC and hasattr(Topic, name):
            needs(f"topic.{name}")
        return super().__getattribute__(name)

    def __repr__(self) -> str:
        return f"<topic {self.name} of {self._cluster!r}>"

    def create(
        self,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> Topic:
        """Create the topic unless it exists. It is deleted when the test ends.

        Raises ValueError if it exists with another number of partitions, and KafkaError if it cannot be created.
        """
        if assignments is not None:
            needs("topic.create(assignments=)")
        wanted = arguments.properties(f"the config of topic {self.name}", config)
        exists_with = self.partition_count
        if exists_with:
            if partitions not in (None, exists_with):
                raise ValueError(f"topic {self.name} exists with partitions={exists_with}, not {partitions}")
            return self
        from confluent_kafka.admin import NewTopic

        new = NewTopic(
            self.name,
            num_partitions=-1 if partitions is None else partitions,
            replication_factor=-1 if replication_factor is None else replication_factor,
            config=wanted,
        )
        _result(self._cluster.admin.create_topics([new]))
        self._cluster.created(self)
        self._cluster.until(self._has_leaders, f"the leaders of topic {self.name}")
        return self

    def _has_leaders(self) -> bool | None:
        leaders = self._cluster.leaders(self.name).values()
        return (bool(leaders) and min(leaders) >= 0) or None

    def delete(self) -> None:
        """Delete the topic and its records."""
        _result(self._cluster.admin.delete_topics([self.name]))
        self._cluster.until(lambda: None if self.exists else True, f"the deletion of topic {self.name}")

    @property
    def exists(self) -> bool:
        """Whether the topic has been created."""
        return self.partition_count > 0

    @property
    def partition_count(self) -> int:
        """The number of partitions, or 0 if the topic does not exist."""
        return int(self._cluster.partition_counts().get(self.name, 0))

    def mark(self) -> TopicMark:
        """Return the current end of the topic, to read or wait for later records only."""
        places = [(self.name, index) for index in range(self.partition_count)]
        return TopicMark(self.name, {place[1]: offset for place, offset in _ends(self._cluster, places).items()})

    def _extent(self, isolation: StorageIsolation) -> Extent:
        leaders = self._cluster.leaders(self.name)
        ends = {partition: sys.maxsize if leader >= 0 else None for partition, leader in leaders.items()}
        return Extent(self._topic_id() if leaders else None, ends)

    def _topic_id(self) -> str | None:
        """Return the id of the topic, or None if it was deleted."""
        from confluent_kafka import TopicCollection

        try:
            description = _result(self._cluster.admin.describe_topics(TopicCollection([self.name])))
        except KafkaError as error:
            if error.code is Code.UNKNOWN_TOPIC_OR_PARTITION:
                return None
            raise
        return str(description.topic_id)

    def _after(self, mark: TopicMark, partition: int) -> int:
        return mark.offsets.get(partition, 0)

    def _most_batch_bytes(self, partition: int) -> int:
        return sys.maxsize  # the producer splits them

    def _append(self, batches: Sequence[tuple[int, bytes]]) -> dict[int, Appended]:
        found: dict[int, Appended] = {}
        for index, data in batches:
            found.setdefault(index, Appended(self._cluster.produce(self.name, index, data), -1))
        return found

    def _reader(self, partition: int, isolation: StorageIsolation, offset: int) -> Any:
        return _ExternalReader(self._cluster, self.name, partition, isolation.name == "LAST_STABLE", offset)


class _ExternalReader:
    """Reads a partition with a consumer. Each call of `read` returns the records that have become visible."""

    def __init__(self, cluster: ExternalCluster, topic: str, partition: int, committed: bool, offset: int) -> None:
        from confluent_kafka import Consumer, TopicPartition

        isolation = "read_committed" if committed else "read_uncommitted"
        self._timeout_s = cluster.timeout
        self._consumer = Consumer(
            cluster.settings(
                **{
                    "group.id": "kafkalet-external",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "isolation.level": isolation,
                }
            )
        )
        place = TopicPartition(topic, partition)
        low, _ = self._consumer.get_watermark_offsets(place, timeout=cluster.timeout)
        place.offset = max(low, offset)
        self._consumer.assign([place])
        self._has_reached_end = False

    def read(self, end: int) -> Iterator[Record]:
        from confluent_kafka import KafkaError as ClientError

        while message := self._consumer.poll(POLL_S if self._has_reached_end else self._timeout_s):
            error = message.error()
            if error is None:
                yield _record(message)
            elif error.code() == ClientError._PARTITION_EOF:
                self._has_reached_end = True
                return
            else:
                raise _as_kafka_error(error)


class ExternalGroup:
    """A consumer group of an external cluster. Methods that need a kafkalet broker skip the test."""

    def __init__(self, cluster: ExternalCluster, group_id: str) -> None:
        self._cluster = cluster
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"<group {self.group_id} of {self._cluster!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"ExternalGroup has no attribute {name!r}")
        needs(f"group.{name}")

    def committed(self, topic: str | None = None, partition: int | None = None) -> Any:
        """Return the committed offsets by (topic, partition), or the one of a partition (None if there is none)."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        request = [ConsumerGroupTopicPartitions(self.group_id)]
        try:
            found = _result(self._cluster.admin.list_consumer_group_offsets(request)).topic_partitions
        except KafkaError as error:
            if error.code is not Code.GROUP_ID_NOT_FOUND:
                raise
            found = []
        offsets = {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}
        if topic is None and partition is None:
            return offsets
        if topic is None or partition is None:
            raise TypeError("committed() takes a topic and a partition, or neither")
        return offsets.get((topic, partition))

    @property
    def lags(self) -> dict[Place, int]:
        """The lag by (topic, partition), for partitions with offsets and for assigned ones.

        It is the high watermark minus the committed offset, or minus the log start offset if there is none.
        """
        committed: dict[Place, int] = self.committed()
        places = {*committed, *self._assigned()}
        ends = _ends(self._cluster, places)
        starts = _ends(self._cluster, places - committed.keys(), earliest=True)
        return {place: max(0, ends[place] - committed.get(place, starts.get(place, 0))) for place in sorted(places)}

    def _assigned(self) -> set[Place]:
        described = _result(self._cluster.admin.describe_consumer_groups([self.group_id]))
        return {
            (each.topic, each.partition)
            for member in described.members
            if member.assignment is not None
            for each in member.assignment.topic_partitions
        }

    @property
    def lag(self) -> int:
        """The sum of the lags of all partitions."""
        return sum(self.lags.values())

    def wait_for_lag(self, lag: int = 0, timeout: float | None = None) -> Self:
        """Wait until the lag is at most `lag`, and at least one partition is known.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
        seconds = timeout_s(cast(Cluster, self._cluster), timeout)
        deadline_s = elapsed_s() + seconds
        while not (lags := self.lags) or sum(lags.values()) > lag:
            if elapsed_s() > deadline_s:
                raise AssertionError(
                    f"group {self.group_id}: waited {seconds:g} s for a lag of {lag}: the lag is {lags}"
                )
            _pause(POLL_S)
        return self


class _Standin:
    """The part of a server that `waiting.wait` and the messages of `Topic` use."""

    is_in_loop_thread = False

    def __init__(self, cluster: ExternalCluster) -> None:
        self._cluster = cluster
        self.host = self.watchers = self.metadata = self

    @property
    def topics(self) -> dict[str, int]:
        return self._cluster.partition_counts()

    def call(self, function: Callable[[], T]) -> T:
        return function()

    @contextmanager
    def watch(self, **_: object) -> Iterator[_Change]:
        yield _Change()


class _Change:
    """An event that is always set, so that a wait checks its condition again and again; each check waits for records
    for POLL_S.
    """

    def wait(self, timeout: float) -> bool:
        _pause(min(timeout, POLL_S / 10))
        return timeout > 0

    def clear(self) -> None:
        """Do nothing."""


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _record(message: Any) -> Record:
    kind, timestamp = message.timestamp()
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if kind else -1,
        message.key(),
        message.value(),
        Headers(message.headers() or ()),
    )


def _ends(cluster: ExternalCluster, places: Any, *, earliest: bool = False) -> dict[Place, int]:
    """Return the high watermark of partitions, or their log start offset."""
    if not places:
        return {}
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    spec = OffsetSpec.earliest() if earliest else OffsetSpec.latest()
    futures = cluster.admin.list_offsets({TopicPartition(*place): spec for place in places})
    return {(place.topic, place.partition): _result({place: future}).offset for place, future in futures.items()}


def _result(futures: Mapping[Any, Any]) -> Any:
    """Return the result of the only future. Raises KafkaError with the code of the broker."""
    from confluent_kafka import KafkaException

    [future] = futures.values()
    try:
        return future.result()
    except KafkaException as error:
        raise _as_kafka_error(error.args[0]) from error


def _as_kafka_error(error: Any) -> Exception:
    if error.code() in Code._value2member_map_:
        return KafkaError(Code(error.code()), error.str())
    return RuntimeError(f"{error.name()}: {error.str()}")


# For the fixtures


@contextmanager
def prepared(cluster: ExternalCluster, options: Mapping[str, Any], brokers: int) -> Iterator[ExternalCluster]:
    """Create the topics in the options of a test, and delete the test's topics when it ends.

    Options that need kafkalet skip the test.
    """
    if impossible := sorted(options.keys() - _OF_A_MARKER):
        needs(", ".join(impossible))
    if options.get("brokers", brokers) > cluster.broker_count:
        needs(f"brokers ({options.get('brokers', brokers)}, the external cluster has {cluster.broker_count})")
    for name, topic in options.get("topics", {}).items():
        if cluster.topic(name).exists:
            raise ValueError(f"topic {name} exists in the external cluster; its records may come from another test")
        counts = [None if count == -1 else count for count in (topic.partitions, topic.replication_factor)]
        cluster.topic(name).create(counts[0], topic.properties, counts[1])
    before, cluster.timeout = cluster.timeout, options.get("timeout", cluster.timeout)
    try:
        yield cluster
    finally:
        cluster.timeout = before
        cluster.delete_created()
