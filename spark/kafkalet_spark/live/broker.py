"""LiveBroker: a client for the topics and offsets of a cluster.

A request for a partition goes to its leader, at the address that the cluster advertises in Metadata. If a response
shows that something has moved or is not available yet, or if a connection breaks, the metadata is refreshed and the
request is retried. After `default.api.timeout.ms`, the last error is raised.

If the cluster does not know a topic, the topic may just have been created, so the client retries for one second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Event
from types import TracebackType
from typing import Self, cast

from kafkalet.clock import Clock, SystemClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError, code_of
from kafkalet.protocol.messages.metadata import MetadataResponse

from .client_properties import ISOLATION_LEVELS, Settings
from .connection import Address, Connection
from .lookups import Found, Lookup, ask_leader
from .metadata import LOWEST_VERSION, Leader, Metadata, TopicPartition
from .refusals import PartitionRefused, Unreachable


class Patience:
    """The deadline and the backoff of one operation with retries. The timeout is `timeout_ms` or, if that is None,
    `default.api.timeout.ms`."""

    def __init__(self, settings: Settings, clock: Clock, timeout_ms: int | None = None) -> None:
        self._clock = clock
        self._most_ms = settings.retry_backoff_max_ms
        self._first_ms = min(settings.retry_backoff_ms, self._most_ms)
        self._timeout_ms = settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        self.begin_again()

    def begin_again(self) -> None:
        """Reset the deadline and the backoff after some progress has been made."""
        self._deadline_ms = self._clock.now_ms() + self._timeout_ms
        self._next_ms = self._first_ms

    @property
    def is_over(self) -> bool:
        return self._clock.now_ms() >= self._deadline_ms

    def pause(self) -> bool:
        """Wait until it is time for the next attempt. If the deadline has passed, return False without waiting."""
        left_ms = self._deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            return False
        Event().wait(min(self._next_ms, left_ms) / 1000)
        self._next_ms = min(2 * self._next_ms, self._most_ms)
        return True


UNKNOWN = (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID)
UNKNOWN_MS = 1000

PASSING = {
    Code.UNKNOWN_SERVER_ERROR,
    Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.LEADER_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.REQUEST_TIMED_OUT,
    Code.BROKER_NOT_AVAILABLE,
    Code.REPLICA_NOT_AVAILABLE,
    Code.NETWORK_EXCEPTION,
    Code.KAFKA_STORAGE_ERROR,
    Code.FENCED_LEADER_EPOCH,
    Code.UNKNOWN_LEADER_EPOCH,
    Code.OFFSET_NOT_AVAILABLE,
    Code.UNKNOWN_TOPIC_ID,
    Code.INCONSISTENT_TOPIC_ID,
}
"""Errors that may disappear after a metadata refresh, or after some time."""


class LiveBroker:
    """A client of a cluster. It is not thread-safe and cannot be pickled.

    bootstrap_servers   host:port of one or more brokers, separated by commas
    properties          as for a Kafka consumer, see `client_properties.py`

    The constructor raises ValueError for invalid addresses and properties. Requests raise Unreachable, KafkaError or
    one of its subclasses in `refusals.py`.
    """

    def __init__(
        self, bootstrap_servers: str, properties: Mapping[str, str] | None = None, *, clock: Clock | None = None
    ) -> None:
        self.settings = Settings.of(properties or {})
        self.metadata = Metadata()
        self._clock = clock or SystemClock()
        self._bootstrap = [Address.parse(part) for part in bootstrap_servers.split(",") if part.strip()]
        if not self._bootstrap:
            raise ValueError("bootstrap.servers names no broker")
        self._connections: dict[Address, Connection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Topics

    def topics(self, names: Collection[str] | None = None, *, internal: bool = False) -> dict[str, int]:
        """Return the number of partitions of the named topics, or of all topics if `names` is None. In the latter case,
        internal topics are included only if `internal`.

        Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION) with the name of a topic that does not exist.
        """
        self.refresh(names)
        counts = self.metadata.partitions
        if names is not None:
            return {name: counts[name] for name in names}
        return {name: counts[name] for name in sorted(counts) if internal or name not in self.metadata.internal}

    def refresh(self, topics: Collection[str] | None) -> None:
        """Refresh the metadata of these topics, or of all topics if None, and retry until it is complete."""
        patience = self.patience()
        unknown = Patience(self.settings, self._clock, min(UNKNOWN_MS, self.settings.default_api_timeout_ms))
        while failed := self._ask_metadata(topics, patience):
            name, code = min(failed.items())
            reason = KafkaError(code, f"topic {name}")
            if code not in PASSING:
                raise reason
            if not (unknown if code in UNKNOWN else patience).pause():
                raise reason

    def _ask_metadata(self, topics: Collection[str] | None, patience: Patience) -> dict[str, Code]:
        if topics is not None and not topics:
            return {}
        request = Metadata.request(topics)
        while True:
            last: Exception = Unreachable("no broker is known")
            for address in self._anybody():
                try:
                    connection = self.connection(address)
                    version = connection.version(Api.METADATA, LOWEST_VERSION)
                    answer = cast(MetadataResponse, connection.ask(request, version))
                except Unreachable as error:
                    last = error
                    continue
                if answer.error_code == Code.NONE and answer.brokers:
                    if topics is None:
                        self.metadata = Metadata()
                    return self.metadata.take(answer, topics)
                last = KafkaError(code_of(answer.error_code or Code.BROKER_NOT_AVAILABLE), f"Metadata of {address}")
            if not patience.pause():
                raise last

    def _anybody(self) -> list[Address]:
        """Return the addresses for Metadata requests: first connected brokers, then other known brokers, then the
        bootstrap servers.
        """
        connected = [address for address, connection in self._connections.items() if connection.is_open]
        return list(dict.fromkeys([*connected, *self.metadata.brokers.values(), *self._bootstrap]))

    # Leaders and connections

    def patience(self) -> Patience:
        """Return the deadline and backoff for an operation that starts now."""
        return Patience(self.settings, self._clock)

    def connection(self, address: Address) -> Connection:
        """Return the shared connection to an address. Use it only for requests that get an immediate response."""
        connection = self._connections.get(address)
        if connection is None or not connection.is_open:
            connection = self._connections[address] = Connection(address, self.settings)
        return connection

    def connection_to(self, node_id: int) -> Connection:
        """Return the shared connection to the broker with this id."""
        return self.connection(self.address(node_id))

    def address(self, node_id: int) -> Address:
        """Return the address of a broker. Raises Unreachable if the broker is currently not in the cluster."""
        if (address := self.metadata.brokers.get(node_id)) is None:
            raise Unreachable(f"broker {node_id} is not part of the cluster at the moment")
        return address

    def leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Leader]:
        """Return the leaders of these partitions. Partitions that currently have no leader are left out.

        Raises KafkaError for a topic that does not exist, and PartitionRefused for a partition that does not exist.
        """
        known = self.metadata.leaders
        if missing := {topic for topic, partition in partitions if (topic, partition) not in known}:
            self.refresh(missing)
        for topic, partition in partitions:
            if not 0 <= partition < self.metadata.partitions[topic]:
                raise PartitionRefused(Code.UNKNOWN_TOPIC_OR_PARTITION, topic, partition, "Metadata of")
        known = self.metadata.leaders
        return {each: known[each] for each in partitions if each in known}

    # Offsets

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], isolation_level: str | None = None
    ) -> dict[TopicPartition, Found]:
        """For each partition, return the offset of the first record at or after a timestamp. Negative timestamps are
        special values (LATEST, EARLIEST, ...).

        `isolation_level` overrides the property. If no record is late enough, the offset and timestamp are -1. Raises
        PartitionRefused for the first partition that has an error.
        """
        lookups = [Lookup(topic, partition, timestamp) for (topic, partition), timestamp in wanted.items()]
        found = {}
        for lookup, answer in zip(lookups, self.look_up(lookups, isolation_level), strict=True):
            if isinstance(answer, KafkaError):
                raise answer
            found[lookup.topic, lookup.partition] = answer
        return found

    def look_up(self, lookups: Sequence[Lookup], isolation_level: str | None = None) -> list[Found | PartitionRefused]:
        """Look up any number of offsets, even several in one partition. Return a result or an error for each lookup, in
        order."""
        level = ISOLATION_LEVELS.index(isolation_level or self.settings.isolation_level)
        answers: dict[int, Found | PartitionRefused] = {}
        left = list(range(len(lookups)))
        patience = self.patience()
        while left:
            reason: Exception | None = None
            for leader_id, indexes in self._by_leader(lookups, left).items():
                try:
                    connection = self.connection_to(leader_id)
                    asked = [lookups[index] for index in indexes]
                    for at, answer in ask_leader(connection, asked, level, self.metadata.leaders, self.settings):
                        if isinstance(answer, PartitionRefused) and answer.code in PASSING:
                            reason = answer
                        else:
                            answers[indexes[at]] = answer
                except Unreachable as error:
                    reason = error
            if len(left) > (unanswered := len(lookups) - len(answers)):
                patience.begin_again()
            if unanswered:
                left = [index for index in left if index not in answers]
                if not patience.pause():
                    first = lookups[left[0]]
                    raise reason or PartitionRefused(Code.LEADER_NOT_AVAILABLE, *first[:2], "ListOffsets of")
                for index in left:
                    self.metadata.forget_leader(lookups[index].topic, lookups[index].partition)
            else:
                left = []
        return [answers[index] for index in range(len(lookups))]

    def _by_leader(self, lookups: Sequence[Lookup], indexes: Iterable[int]) -> dict[int, list[int]]:
        """Group the lookups by leader. Lookups in partitions without a leader are left out."""
        wanted = {index: (lookups[index].topic, lookups[index].partition) for index in indexes}
        leaders = self.leaders(set(wanted.values()))
        grouped: dict[int, list[int]] = {}
        for index, partition in wanted.items():
            if (leader := leaders.get(partition)) is not None:
                grouped.setdefault(leader.node_id, []).append(index)
        return grouped
