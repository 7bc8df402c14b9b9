"""The interface that all drivers implement, and the values that they take and return."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

TIMEOUT_S = 60.0
"""The maximum time to wait for a response, sufficient on a busy machine."""

PAUSE_MS = 10
"""The retry and reconnect backoff of the clients, in milliseconds; the default is 100."""

HEARTBEAT_MS = 20
"""The heartbeat interval, which bounds the time until a member learns of a rebalance; the default is 3000."""

Headers = Sequence[tuple[str, bytes]]


class Row(NamedTuple):
    """A record to produce."""

    timestamp: int | None
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


class Message(NamedTuple):
    """A consumed record. Timestamp types: 0 CreateTime, 1 LogAppendTime, None if it has no timestamp."""

    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Found(NamedTuple):
    """The result of a lookup by timestamp."""

    offset: int
    timestamp: int


class Cluster(NamedTuple):
    """The description of a cluster; brokers are (id, host, port)."""

    cluster_id: str
    controller_id: int
    brokers: list[tuple[int, str, int]]


class Replicas(NamedTuple):
    """The leader, replicas and in-sync replicas of a partition."""

    leader: int
    replicas: list[int]
    isr: list[int]


class Group(NamedTuple):
    """The description of a group: its state in Kafka's words, its assignor, and the partitions of each member."""

    state: str
    assignor: str
    assigned: list[list[int]]


class BrokerError(Exception):
    """The broker returned an error; `code` is Kafka's error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Member(Protocol):
    """A group consumer subscribed to one topic. It takes part in rebalances only while it is polled."""

    def poll(self, wait_s: float = 0.05) -> list[tuple[int, Message]]:
        """Return the records that arrive within `wait_s`, with their partitions."""

    def assignment(self) -> set[int]: ...

    def commit(self, offsets: dict[int, int] | None = None) -> None:
        """Commit these offsets by partition, or the position after the polled records."""

    def committed(self, partitions: Sequence[int]) -> list[int | None]: ...

    def close(self) -> None:
        """Leave the group without committing."""


class Transactions(Protocol):
    """An initialized transactional producer. Errors are raised as BrokerError."""

    def begin(self) -> None: ...

    def send(self, topic: str, partition: int, rows: Sequence[Row]) -> list[int]:
        """Send records, wait until they are acknowledged, and return their offsets."""

    def send_offsets(self, member: Member, topic: str, offsets: dict[int, int]) -> None:
        """Add offsets of the member's group to the transaction."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class Driver(Protocol):
    """A client of a broker or cluster. It is used by one thread; closing it closes everything that it opened.

    Keyword settings are Kafka's property names with '_' instead of '.'.
    """

    def __init__(self, servers: str) -> None: ...

    # Producing

    def produce(self, topic: str, partition: int | None, rows: Sequence[Row], **settings: Any) -> list[int]:
        """Send records and return their offsets (-1 with acks=0); without a partition, the key determines it."""

    def transactional(self, transactional_id: str, **settings: Any) -> Transactions: ...

    # Offsets

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]: ...

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]: ...

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        """Return the first record at or after a timestamp, by partition."""

    # Consuming

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        """Read at least `count` records from these offsets on; raise BrokerError if an offset is out of range."""

    def member(self, group: str, topic: str, **settings: Any) -> Member:
        """Return a group consumer without auto-commit that starts at the earliest offset."""

    # Administration

    def create_topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def delete_records(self, topic: str, offsets: dict[int, int]) -> dict[int, int]:
        """Delete the records before these offsets and return the new log start offsets."""

    def describe_cluster(self) -> Cluster: ...

    def list_topics(self) -> set[str]: ...

    def describe_topic(self, name: str) -> dict[int, Replicas]: ...

    def describe_config(self, topic: str) -> dict[str, str | None]: ...

    def describe_group(self, group: str) -> Group: ...

    def list_groups(self) -> set[str]: ...

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return all offsets that a group has committed for a topic."""

    def delete_group(self, group: str) -> None: ...

    def close(self) -> None: ...


def messages(found: list[tuple[int, Message]]) -> list[Message]:
    return [message for _, message in found]


def record_message(record: Any) -> Message:
    """Convert a ConsumerRecord of kafka-python or aiokafka."""
    no_time = record.timestamp is None or record.timestamp < 0
    return Message(
        record.offset,
        None if no_time else record.timestamp,
        None if no_time else record.timestamp_type,
        record.key,
        record.value,
        tuple(record.headers),
    )
