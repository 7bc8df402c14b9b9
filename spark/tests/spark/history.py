"""A log directory, written by kafkalet, with all cases that readers must handle, and the records that consumers see.

Topic `plain` has three partitions: keyed records with headers and null values, codecs, several segments. Topic `txn`
has one partition: committed, aborted and open transactions, two of them interleaved, and a record outside of a
transaction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

import kafkalet

T0 = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PLAIN_RECORDS = 3000
PARTITIONS = 3


class ConsumedRecord(NamedTuple):
    """A record as returned by a consumer."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes | None], ...] | None


def write(broker: kafkalet.Broker) -> None:
    """Fill the two topics."""
    kept = {"retention.ms": "-1"}  # the records are old
    small = {"segment.bytes": "60000", "index.interval.bytes": "1000", **kept}
    broker.topic("plain").create(PARTITIONS, config=small)
    broker.topic("txn").create(config={"segment.bytes": "20000", "index.interval.bytes": "500", **kept})
    _plain(broker.bootstrap_servers)
    _transactions(broker.bootstrap_servers)


def _plain(bootstrap: str) -> None:
    for which, codec in enumerate(CODECS):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        for number in range(which, PLAIN_RECORDS, len(CODECS)):
            headers: Any = [("n", b"%d" % number), ("null", None)] if number % 3 == 0 else None
            producer.produce(
                "plain",
                None if number % 50 == 7 else b"value %d " % number * (number % 9 + 1),
                None if number % 11 == 0 else b"key %d" % (number % 100),
                number % PARTITIONS,
                timestamp=T0 + number * 10,
                headers=headers,
            )
            if number % 97 == 0:
                producer.flush()
        producer.flush()


def _transactions(bootstrap: str) -> None:
    producers = {}
    for name in ("one", "two", "open"):
        # Tests may take a while, and a broker that serves the log later aborts transactions after their timeout.
        patience = {"transaction.timeout.ms": 900_000}
        producers[name] = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, **patience})
        producers[name].init_transactions()
    plain = Producer({"bootstrap.servers": bootstrap})

    def send(producer: Producer, text: str, count: int = 20) -> None:
        for number in range(count):
            producer.produce("txn", f"{text} {number}".encode(), timestamp=T0 + number)
        producer.flush()

    for round_ in range(6):
        for name in ("one", "two"):
            producers[name].begin_transaction()
            send(producers[name], f"{name} {round_}")
        send(plain, f"plain {round_}", 5)
        send(producers["one"], f"one {round_} more", 5)
        (producers["one"].abort_transaction if round_ % 2 else producers["one"].commit_transaction)()
        (producers["two"].abort_transaction if round_ % 3 == 0 else producers["two"].commit_transaction)()
    producers["open"].begin_transaction()
    send(producers["open"], "open")
    send(plain, "after the open one", 7)


def seen(bootstrap: str, topic: str, partitions: int, isolation_level: str) -> list[ConsumedRecord]:
    """Return the records that a consumer reads up to the end offset."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "seen", "isolation.level": isolation_level,
         "enable.partition.eof": True, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found, at_end = [], set()
    while len(at_end) < partitions:
        for message in consumer.consume(500, 0.05):
            if message.error():
                at_end.add(message.partition())
                continue
            kind, timestamp = message.timestamp()
            headers = message.headers()
            found.append(
                ConsumedRecord(
                    topic, message.partition(), message.offset(), message.key(), message.value(), timestamp, kind - 1,
                    tuple(headers) if headers else None,
                )
            )  # fmt: skip
    consumer.close()
    return sorted(found, key=lambda record: (record.partition, record.offset))


class History(NamedTuple):
    """The directory of a stopped broker, and the records read from it before."""

    directory: Path
    plain: list[ConsumedRecord]
    uncommitted: list[ConsumedRecord]
    committed: list[ConsumedRecord]


def history(directory: Path) -> History:
    """Write the log, read it, and stop the broker."""
    with kafkalet.Broker(data_dir=directory, version="3.9") as broker:  # 4.x has no segments below 1 MiB
        write(broker)
        bootstrap = broker.bootstrap_servers
        return History(
            directory,
            seen(bootstrap, "plain", PARTITIONS, "read_uncommitted"),
            seen(bootstrap, "txn", 1, "read_uncommitted"),
            seen(bootstrap, "txn", 1, "read_committed"),
        )
