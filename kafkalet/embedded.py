"""The public classes `Broker` and `Cluster`, which run brokers inside a program.

    with kafkalet.Broker() as broker:                      in its own thread
        client = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
        broker.log("topic", 0).high_watermark

    async with kafkalet.Cluster(brokers=3) as cluster:     in the running event loop

All methods are thread-safe.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafkalet.broker import arguments
from kafkalet.broker.arguments import PropertyValue
from kafkalet.broker.cluster.metadata import Endpoint
from kafkalet.broker.cluster.new_topics import NewTopic, checked_topic, checked_topics
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.broker.network.addresses import Addresses
from kafkalet.broker.server import Server
from kafkalet.clock import Clock, SystemClock
from kafkalet.protocol.releases import NEWEST

if TYPE_CHECKING:
    from kafkalet.broker.cluster.partition import Partition
    from kafkalet.broker.views import GroupView, LogView, TransactionView


class Cluster:
    """A cluster of brokers in this process.

    * `brokers`: the number of brokers. Their ids are consecutive and start at `node.id` or `broker.id` (1 by default).
    * `host`, `port`: the address of the first broker. Port 0 picks a free port for each broker; otherwise, the other
      brokers use the ports after this one.
    * `advertise`: the host and port that the first broker advertises to clients; the other brokers advertise the ports
      after this one. By default, brokers advertise the addresses on which they listen.
    * `racks`: the rack of each broker. By default, all brokers have `broker.rack`.
    * `data_dir`: the directory of the logs. The default is a temporary directory that is removed when the cluster
      stops.
    * `config`: broker properties, keyed by Kafka's names for them. A value is a str, an int, a float or a bool.
    * `topics`: topics to create on start unless they already exist: names or `NewTopic` values.
    * `kafka_version`: the release to emulate, such as "3.9" or "4.4". "newest" accepts every version of every API.
    * `clock`: the source of time: the system's clock by default, or a `ManualClock`.

    Raises TypeError or ValueError for an invalid argument. InvalidProperty and UnknownRelease are ValueErrors.
    """

    _most_brokers: int | None = None

    def __init__(
        self,
        brokers: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: tuple[str, int] | None = None,
        racks: Sequence[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        topics: Iterable[str | NewTopic] = (),
        kafka_version: str = NEWEST,
        clock: Clock | None = None,
    ) -> None:
        if arguments.number("brokers", brokers) < 1:
            raise ValueError(f"brokers is {brokers}; a cluster has at least one")
        if self._most_brokers is not None and brokers > self._most_brokers:
            raise ValueError(f"a Broker is one broker; for {brokers} use kafkalet.Cluster(brokers={brokers})")
        last_port = arguments.port("port", port) + brokers - 1
        if port:
            arguments.port(f"the port of the last of {brokers} brokers", last_port)
        if clock is not None and not isinstance(clock, Clock):
            raise TypeError(f"clock must be a kafkalet.ManualClock or another Clock, not {arguments.shown(clock)}")
        arguments.text('kafka_version, as in "3.9",', kafka_version)
        release = Release.of(kafka_version)
        properties = BrokerConfig(arguments.properties("config", config), release)
        checked_racks = arguments.racks(racks, brokers)
        addresses = Addresses(
            arguments.text("host", host),
            port,
            arguments.advertised(advertise, brokers),
            first_node_id=properties.first_node_id(brokers),
        )
        self.server = Server(
            brokers,
            addresses,
            properties,
            release,
            name=type(self).__name__,
            racks=checked_racks,
            data_dir=arguments.directory(data_dir),
            topics=checked_topics(topics),
            clock=clock or SystemClock(),
        )
        """The implementation, for kafkalet's own tests. It may change in any release."""

    def __repr__(self) -> str:
        server = self.server
        state = "running" if self.is_running else "not running"
        stopped = [str(node_id) for node_id in sorted(server.metadata.away)] if self.is_running else []
        without = f" without broker {', '.join(stopped)}" if stopped else ""
        at = [_address(endpoint) for endpoint in list(server.metadata.endpoints.values())]
        where = f" at {','.join(at)}" if at else ""
        return f"<{type(self).__name__} {state}{where}{without}, Kafka {server.release.name}>"

    # Start and stop

    @property
    def is_running(self) -> bool:
        """True while the brokers accept requests."""
        return self.server.host.is_running

    async def start(self) -> None:
        """Start the brokers in the running event loop. Return when every listener accepts connections."""
        await self.server.host.start()

    async def stop(self) -> None:
        """Close listeners and connections, and flush the logs. Has no effect if the brokers are not running."""
        await self.server.host.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self.server.host.start_thread()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.host.stop_thread()

    @property
    def bootstrap_servers(self) -> str:
        """The address of every running broker as `host:port`, separated by commas.

        Raises RuntimeError if no broker is running.
        """
        return ",".join(map(_address, self._endpoints()))

    def _endpoints(self) -> list[Endpoint]:
        """Return the addresses of the running brokers."""
        endpoints = list(self.server.metadata.endpoints.values())
        if not self.is_running:
            raise self.server.host.not_running()
        if not endpoints:
            raise RuntimeError(f"every broker of this {type(self).__name__} is stopped; start one with start_broker()")
        return endpoints

    # Topics and records

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Mapping[str, PropertyValue] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic.

        By default, `partitions` and `replication_factor` are those of the broker properties `num.partitions` and
        `default.replication.factor`. Alternatively, `assignments` lists the broker ids of each partition's replicas,
        the leader first.

        Raises KafkaError with the code that CreateTopics returns: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS,
        INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT or INVALID_CONFIG.
        """
        wanted = checked_topic(NewTopic(name, partitions, config or {}, replication_factor))
        replicas = arguments.assignments(assignments)
        if replicas is not None and partitions not in (-1, len(replicas)):
            raise ValueError(f"partitions is {partitions}, but assignments lists {len(replicas)}")
        if replicas is not None and replication_factor not in (-1, len(replicas[0])):
            raise ValueError(f"replication_factor is {replication_factor}, but assignments lists {len(replicas[0])}")
        self.server.call(lambda: self.server.controller.create_topic(wanted, replicas))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its logs.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
        self.server.call(lambda: self.server.controller.delete_topic(_topic(name)))

    def produce(self, topic: str, partition: int, records: bytes | bytearray | memoryview) -> int:
        """Append an encoded record batch, such as one from `kafkalet.protocol.records.build`. Return its first offset.

        The batch is validated like a batch from any producer. Raises KafkaError with the code that Produce returns, or
        ValueError if the bytes are not a complete batch. To write plain keys and values, use a Kafka client.
        """
        data = arguments.record_batches(records)
        return self.server.call(lambda: self._leader(topic, partition).append(data).first_offset)

    def log(self, topic: str, partition: int = 0) -> LogView:
        """Return a view of the log of a partition's leader.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist.
        """
        from kafkalet.broker.views import LogView

        self.server.call(lambda: self._leader(topic, partition))
        return LogView(topic, partition, lambda: self._leader(topic, partition).log, self.server.call)

    def group(self, group_id: str) -> GroupView:
        """Return a view of a group: its state, members and committed offsets.

        A group that does not exist has the state "Dead".
        """
        from kafkalet.broker.views import GroupView

        return GroupView(
            arguments.text("the id of a group", group_id),
            lambda: [broker.coordinators for broker in self.server.brokers.values()],
            self.server.call,
        )

    def transaction(self, transactional_id: str) -> TransactionView:
        """Return the current state of a transactional id.

        Raises KafkaError with TRANSACTIONAL_ID_NOT_FOUND if no producer has used it.
        """
        arguments.text("a transactional id", transactional_id)
        return self.server.call(lambda: self.server.transactions.view(transactional_id))

    def _leader(self, topic: str, partition: int) -> Partition:
        return self.server.leadership.leader_of(_topic(topic), _partition(partition))

    @property
    def unimplemented_calls(self) -> dict[str, int]:
        """The number of requests for APIs that kafkalet does not implement, by API name, as in `{"CreateAcls": 2}`."""
        return self.server.unimplemented_calls

    # Brokers

    def stop_broker(self, node_id: int) -> None:
        """Stop a broker. Its listener closes, and other replicas become leaders of its partitions."""
        self.server.call(lambda: self.server.stop_broker(_broker(node_id)))

    def start_broker(self, node_id: int) -> None:
        """Start a stopped broker again, on the same port."""
        self.server.call(lambda: self.server.start_broker(_broker(node_id)))

    def elect_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Make a broker the leader of a partition, in a new leader epoch.

        Raises KafkaError with PREFERRED_LEADER_NOT_AVAILABLE if its replica is not in sync.
        """
        self.server.call(lambda: self.server.elect_leader(_topic(topic), _partition(partition), _broker(node_id)))

    def hold_replication(self, node_id: int, topic: str | None = None, partition: int | None = None) -> None:
        """Stop a broker's replicas from following their leaders: all replicas, those of one topic, or a single one.

        The topic must exist, and the broker must have a replica of it. A replica that is currently the leader is
        affected once another replica becomes the leader.
        """
        self.server.call(lambda: self.server.hold_replication(*_held(node_id, topic, partition)))

    def release_replication(self, node_id: int, topic: str | None = None, partition: int | None = None) -> None:
        """Undo a `hold_replication` call with the same arguments. The replicas catch up before this method returns.

        Raises ValueError if `hold_replication` was not called with these arguments.
        """
        self.server.call(lambda: self.server.release_replication(*_held(node_id, topic, partition)))


class Broker(Cluster):
    """A cluster of one broker, which is enough for most tests."""

    _most_brokers = 1

    @property
    def port(self) -> int:
        """The advertised port. Raises RuntimeError if the broker is not running."""
        return self._endpoints()[0].port


def _topic(name: str) -> str:
    return arguments.text("the name of a topic", name)


def _partition(index: int) -> int:
    return arguments.number("the number of a partition", index)


def _broker(node_id: int) -> int:
    return arguments.number("the id of a broker", node_id)


def _held(node_id: int, topic: str | None, partition: int | None) -> tuple[int, str | None, int | None]:
    return (
        _broker(node_id),
        None if topic is None else _topic(topic),
        None if partition is None else _partition(partition),
    )


def _address(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host  # an IPv6 address
    return f"{host}:{endpoint.port}"
