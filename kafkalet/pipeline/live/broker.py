"""LiveBroker: the brokers of a cluster behind one door, asked for topics and offsets.

What is asked of a partition goes to its leader, which is found by Metadata and reached at the address that the cluster
advertises. An answer that says that something moved, or is not there yet, and a connection that breaks, lead to new
metadata and another attempt, until `default.api.timeout.ms` is over; then the last reason is raised.

A topic that nobody knows may have been made a moment ago; it gets a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Event
from types import TracebackType
from typing import Self, cast

from kafkalet.clock import Clock, SystemClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.metadata import MetadataResponse

from .client_properties import ISOLATION_LEVELS, Settings
from .connection import Address, Connection
from .lookups import Found, Lookup, ask_leader
from .metadata import LOWEST_VERSION, Leader, Metadata, TopicPartition
from .refusals import PartitionRefused, Unreachable, code_of
from .security import credentials


class Patience:
    """One undertaking that may need several attempts: `default.api.timeout.ms` from now on, or `timeout_ms`."""

    def __init__(self, settings: Settings, clock: Clock, timeout_ms: int | None = None) -> None:
        self._clock = clock
        self._most_ms = settings.retry_backoff_max_ms
        self._first_ms = min(settings.retry_backoff_ms, self._most_ms)
        self._timeout_ms = settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        self.begin_again()

    def begin_again(self) -> None:
        """There was progress: all the time is there again."""
        self._deadline_ms = self._clock.now_ms() + self._timeout_ms
        self._next_ms = self._first_ms

    @property
    def is_over(self) -> bool:
        return self._clock.now_ms() >= self._deadline_ms

    def pause(self) -> bool:
        """Wait until the next attempt; False, at once, when there is no time for one."""
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
"""What may be otherwise after new metadata, or after a while."""


class LiveBroker:
    """The client of a cluster. Not for several threads, and not to be pickled.

    bootstrap_servers   host:port of one or more brokers, separated by commas
    properties          as of a Kafka consumer, see `client_properties.py`

    Raises ValueError for bad addresses and properties at once; everything else when something is asked: Unreachable,
    or KafkaError and what `refusals.py` makes of it.
    """

    def __init__(
        self, bootstrap_servers: str, properties: Mapping[str, str] | None = None, *, clock: Clock | None = None
    ) -> None:
        self.settings = Settings.of(properties or {})
        credentials(self.settings)
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
        """How many partitions topics have: those named, or all; of these the `internal` ones only if asked for.

        KafkaError(UNKNOWN_TOPIC_OR_PARTITION) names a topic that does not exist.
        """
        self.refresh(names)
        counts = self.metadata.partitions
        if names is not None:
            return {name: counts[name] for name in names}
        return {name: counts[name] for name in sorted(counts) if internal or name not in self.metadata.internal}

    def refresh(self, topics: Collection[str] | None) -> None:
        """Ask anew about topics, or about all, until the cluster knows them."""
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
        """Brokers to ask, in the order of preference: connected ones, others of the cluster, where we began."""
        connected = [address for address, connection in self._connections.items() if connection.is_open]
        return list(dict.fromkeys([*connected, *self.metadata.brokers.values(), *self._bootstrap]))

    # Leaders and connections

    def patience(self) -> Patience:
        """For one undertaking that begins now."""
        return Patience(self.settings, self._clock)

    def connection(self, address: Address) -> Connection:
        """A connection for questions that are answered at once, kept for the next ones."""
        connection = self._connections.get(address)
        if connection is None or not connection.is_open:
            connection = self._connections[address] = Connection(address, self.settings)
        return connection

    def connection_to(self, node_id: int) -> Connection:
        """A connection to a broker by its id, kept for the next questions."""
        return self.connection(self.address(node_id))

    def address(self, node_id: int) -> Address:
        """Where a broker is reached; Unreachable for one that is not there at the moment."""
        if (address := self.metadata.brokers.get(node_id)) is None:
            raise Unreachable(f"broker {node_id} is not part of the cluster at the moment")
        return address

    def leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Leader]:
        """Who leads partitions, as far as somebody does at the moment.

        Raises KafkaError for a topic, PartitionRefused for a partition that does not exist.
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
        """The first offset at or after a time, for each partition; times below zero are places (LATEST, EARLIEST ...).

        `isolation_level` is that of the properties unless given. Where there is no such record, offset and timestamp
        are -1. The first partition that cannot be answered raises PartitionRefused.
        """
        lookups = [Lookup(topic, partition, timestamp) for (topic, partition), timestamp in wanted.items()]
        found = {}
        for lookup, answer in zip(lookups, self.look_up(lookups, isolation_level), strict=True):
            if isinstance(answer, KafkaError):
                raise answer
            found[lookup.topic, lookup.partition] = answer
        return found

    def look_up(self, lookups: Sequence[Lookup], isolation_level: str | None = None) -> list[Found | PartitionRefused]:
        """The same for any number of lookups, also many of one partition; each has its answer, or its refusal."""
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
        """Who is to be asked what; without what nobody leads."""
        wanted = {index: (lookups[index].topic, lookups[index].partition) for index in indexes}
        leaders = self.leaders(set(wanted.values()))
        grouped: dict[int, list[int]] = {}
        for index, partition in wanted.items():
            if (leader := leaders.get(partition)) is not None:
                grouped.setdefault(leader.node_id, []).append(index)
        return grouped
