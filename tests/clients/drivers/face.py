"""The face that every client shows: what a driver can be asked, and the values that go in and come out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

PATIENCE_S = 20.0
"""How long an answer may take on a machine that is busy."""

PAUSE_MS = 10
"""What clients take a breath of before they ask for metadata again, here; 100 by default."""

HEARTBEAT_MS = 20
"""How often members say that they are alive, and so how soon they learn of a rebalance; 3000 by default."""

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


class Cluster(NamedTuple):
    """What a client is told about a cluster; brokers as (id, host, port)."""

    cluster_id: str
    controller_id: int
    brokers: list[tuple[int, str, int]]


class Replicas(NamedTuple):
    """Where a partition is."""

    leader: int
    replicas: list[int]
    isr: list[int]


class Group(NamedTuple):
    """What a client is told about a group: Kafka's word for its state, its assignor, the partitions of each member."""

    state: str
    assignor: str
    assigned: list[list[int]]


class Refused(Exception):
    """The broker refused; `code` is Kafka's number for it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Member(Protocol):
    """A consumer in a group, subscribed to one topic. It takes part in rebalances while it is polled."""

    def poll(self, wait_s: float = 0.05) -> list[tuple[int, Message]]:
        """What came, with its partition; nothing after that time."""

    def assignment(self) -> set[int]: ...

    def commit(self, offsets: dict[int, int] | None = None) -> None:
        """Commit these offsets by partition, or what has been polled."""

    def committed(self, partitions: Sequence[int]) -> list[int | None]: ...

    def close(self) -> None:
        """Leave the group. Nothing is committed on the way."""


class Transactions(Protocol):
    """A transactional producer that has its producer id. Whatever is refused is Refused."""

    def begin(self) -> None: ...

    def send(self, topic: str, partition: int, rows: Sequence[Row]) -> list[int]:
        """Send records, wait for them, give their offsets."""

    def send_offsets(self, member: Member, topic: str, offsets: dict[int, int]) -> None:
        """Make offsets of the member's group a part of the transaction."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class Driver(Protocol):
    """A client of a broker (or of a cluster). Used by one thread, closed at the end with all that it opened.

    Settings go by Kafka's names, with '_' for '.'.
    """

    def __init__(self, servers: str) -> None: ...

    # Producing

    def produce(self, topic: str, partition: int | None, rows: Sequence[Row], **settings: Any) -> list[int]:
        """Send records, by their keys where no partition is given, and give their offsets (-1 where acks=0)."""

    def transactional(self, transactional_id: str, **settings: Any) -> Transactions: ...

    # Offsets

    def beginning_offsets(self, topic: str, partitions: Sequence[int]) -> list[int]: ...

    def end_offsets(self, topic: str, partitions: Sequence[int], isolation: str = "read_uncommitted") -> list[int]: ...

    def offsets_for_times(self, topic: str, times: dict[int, int]) -> dict[int, Found | None]:
        """By partition, the first record at or after a time."""

    # Consuming

    def read(
        self, topic: str, start: dict[int, int], count: int, isolation: str = "read_uncommitted"
    ) -> list[tuple[int, Message]]:
        """At least `count` records with their partitions, from these offsets on. An offset out of range is Refused."""

    def member(self, group: str, topic: str, **settings: Any) -> Member:
        """A member that commits only when it is told to, and begins at the beginning."""

    # Administration

    def create_topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def delete_records(self, topic: str, offsets: dict[int, int]) -> dict[int, int]:
        """Delete what is below these offsets; where the partitions begin now."""

    def describe_cluster(self) -> Cluster: ...

    def list_topics(self) -> set[str]: ...

    def describe_topic(self, name: str) -> dict[int, Replicas]: ...

    def describe_config(self, topic: str) -> dict[str, str | None]: ...

    def describe_group(self, group: str) -> Group: ...

    def list_groups(self) -> set[str]: ...

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """All offsets that a group has committed of a topic."""

    def delete_group(self, group: str) -> None: ...

    def close(self) -> None: ...


def messages(found: list[tuple[int, Message]]) -> list[Message]:
    return [message for _, message in found]


def record_message(record: Any) -> Message:
    """A ConsumerRecord, which kafka-python and aiokafka have in common."""
    no_time = record.timestamp is None or record.timestamp < 0
    return Message(
        record.offset,
        None if no_time else record.timestamp,
        None if no_time else record.timestamp_type,
        record.key,
        record.value,
        tuple(record.headers),
    )
