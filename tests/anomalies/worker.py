"""One client of a run, in Python. Arguments: CLIENT ROLE SERVERS TOPIC PARTITIONS ACKS NAME SEED.

It reports its events on stdout (history.py), and ends when its stdin does. ROLE is one of

    write   alternates between a transactional producer and one without transactions
    read    reads all partitions from their beginning again and again, and is a member of the group READERS
"""

import asyncio
import json
import logging
import random
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

READERS = "readers"
RECORDS_PER_STEP = (1, 2, 5)
ABORTED = 0.3
SESSION_S = (3.0, 15.0)
PAUSE_S = 0.05
DELIVERY_MS = 20_000
SESSION_MS = 6_000
TRANSACTION_MS = 10_000
LIMIT_S = 30.0

_Result = TypeVar("_Result")
Acked = Callable[[int], None]
Row = tuple[int, int, bytes]
"""Partition, offset and value of a record."""


class Options(NamedTuple):
    servers: str
    topic: str
    partitions: int
    acks: str
    name: str

    @property
    def is_idempotent(self) -> bool:
        return self.acks == "all"


class Producer(Protocol):
    def send(self, partition: int, value: bytes, acked: Acked) -> None: ...
    def flush(self) -> None: ...
    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Consumer(Protocol):
    def poll(self) -> Iterable[Row]: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


# confluent-kafka


class ConfluentProducer:
    def __init__(self, options: Options, transactional_id: str | None) -> None:
        import confluent_kafka

        settings: dict[str, Any] = {
            "acks": options.acks,
            "enable.idempotence": options.is_idempotent,
            "message.timeout.ms": DELIVERY_MS,
        }
        if transactional_id is not None:
            settings = {"transactional.id": transactional_id, "transaction.timeout.ms": TRANSACTION_MS}
        self._topic = options.topic
        self._producer = confluent_kafka.Producer({"bootstrap.servers": options.servers, "log_level": 0, **settings})
        if transactional_id is not None:
            self._producer.init_transactions(LIMIT_S)
        self.begin = self._producer.begin_transaction

    def send(self, partition: int, value: bytes, acked: Acked) -> None:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                acked(message.offset())

        self._producer.produce(self._topic, value, partition=partition, on_delivery=delivered)

    def flush(self) -> None:
        self._producer.flush(LIMIT_S)

    def commit(self) -> None:
        self._producer.commit_transaction(LIMIT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(LIMIT_S)

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(1)


class ConfluentConsumer:
    def __init__(self, options: Options, group: str | None) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        self._consumer = Consumer(
            {
                "bootstrap.servers": options.servers,
                "log_level": 0,
                "group.id": group or f"none-{options.name}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "partition.assignment.strategy": "range",
            }
        )
        if group is None:
            self._consumer.assign(
                [TopicPartition(options.topic, each, OFFSET_BEGINNING) for each in range(options.partitions)]
            )
        else:
            self._consumer.subscribe([options.topic])

    def poll(self) -> Iterable[Row]:
        messages = self._consumer.consume(500, PAUSE_S)
        return [(each.partition(), each.offset(), each.value()) for each in messages if each.error() is None]

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


# kafka-python


class KafkaPythonProducer:
    def __init__(self, options: Options, transactional_id: str | None) -> None:
        from kafka import KafkaProducer

        self._topic = options.topic
        self._producer = KafkaProducer(
            bootstrap_servers=options.servers,
            acks="all" if options.is_idempotent else 1,
            enable_idempotence=options.is_idempotent,
            delivery_timeout_ms=DELIVERY_MS,
            request_timeout_ms=10_000,
            linger_ms=0,
        )
        self.begin = self._producer.begin_transaction
        self.commit = self._producer.commit_transaction
        self.abort = self._producer.abort_transaction

    def send(self, partition: int, value: bytes, acked: Acked) -> None:
        sent = self._producer.send(self._topic, value, partition=partition)
        sent.add_callback(lambda metadata: acked(metadata.offset))

    def flush(self) -> None:
        self._producer.flush(LIMIT_S)

    def close(self) -> None:
        self._producer.close(1)


class KafkaPythonConsumer:
    def __init__(self, options: Options, group: str | None) -> None:
        from kafka import KafkaConsumer, TopicPartition
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self._consumer = KafkaConsumer(
            bootstrap_servers=options.servers,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=1000,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        if group is None:
            partitions = [TopicPartition(options.topic, each) for each in range(options.partitions)]
            self._consumer.assign(partitions)
            self._consumer.seek_to_beginning(*partitions)
        else:
            self._consumer.subscribe([options.topic])

    def poll(self) -> Iterable[Row]:
        found = self._consumer.poll(timeout_ms=PAUSE_S * 1000)
        return [(each.partition, each.offset, each.value) for records in found.values() for each in records]

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close(timeout_ms=1000)


# aiokafka


class _Loop:
    """An event loop in a thread of its own, so that heartbeats go on between calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def __call__(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)


class AiokafkaProducer:
    def __init__(self, options: Options, transactional_id: str | None) -> None:
        self._run = _Loop()
        self._topic = options.topic
        self._sent: list[Any] = []
        self._run(self._open(options, transactional_id))

    async def _open(self, options: Options, transactional_id: str | None) -> None:
        from aiokafka import AIOKafkaProducer

        settings: dict[str, Any] = {"enable_idempotence": options.is_idempotent, "acks": "all"}
        if transactional_id is not None:
            settings = {"transactional_id": transactional_id, "transaction_timeout_ms": TRANSACTION_MS}
        elif not options.is_idempotent:
            settings["acks"] = 1
        self._producer = AIOKafkaProducer(bootstrap_servers=options.servers, request_timeout_ms=DELIVERY_MS, **settings)
        await self._producer.start()

    def send(self, partition: int, value: bytes, acked: Acked) -> None:
        sent = self._run(self._producer.send(self._topic, value, partition=partition))

        def done(future: Any) -> None:
            if not future.cancelled() and future.exception() is None:
                acked(future.result().offset)

        sent.add_done_callback(done)
        self._sent.append(sent)

    def flush(self) -> None:
        sent, self._sent = self._sent, []

        async def wait() -> None:
            await asyncio.wait(sent, timeout=LIMIT_S)

        self._run(wait())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        self._run(asyncio.wait_for(self._producer.stop(), 5))


class AiokafkaConsumer:
    def __init__(self, options: Options, group: str | None) -> None:
        self._run = _Loop()
        self._run(self._open(options, group))

    async def _open(self, options: Options, group: str | None) -> None:
        from aiokafka import AIOKafkaConsumer, TopicPartition
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=options.servers,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=1000,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        if group is None:
            partitions = [TopicPartition(options.topic, each) for each in range(options.partitions)]
            self._consumer.assign(partitions)
            await self._consumer.start()
            await self._consumer.seek_to_beginning(*partitions)
        else:
            self._consumer.subscribe([options.topic])
            await self._consumer.start()

    def poll(self) -> Iterable[Row]:
        found = self._run(self._consumer.getmany(timeout_ms=int(PAUSE_S * 1000)))
        return [(each.partition, each.offset, each.value) for records in found.values() for each in records]

    def commit(self) -> None:
        self._run(self._consumer.commit())

    def close(self) -> None:
        self._run(asyncio.wait_for(self._consumer.stop(), 5))


CLIENTS: dict[str, tuple[Callable[[Options, str | None], Producer], Callable[[Options, str | None], Consumer]]] = {
    "confluent": (ConfluentProducer, ConfluentConsumer),
    "kafka-python": (KafkaPythonProducer, KafkaPythonConsumer),
    "aiokafka": (AiokafkaProducer, AiokafkaConsumer),
}

WITHOUT_TRANSACTIONS = ("kafka-python",)
"""After the loss of a connection, kafka-python 3.0.12 may not repeat EndTxn, and `commit_transaction` waits forever.
It may also return without an error although records were not delivered."""

_lock = threading.Lock()
_stopped = threading.Event()


def report(event: str, *details: Any) -> None:
    with _lock:
        print(json.dumps([event, time.time() * 1000, *details]), flush=True)


def write(client: str, options: Options, chance: random.Random) -> None:
    values, transactions, session = 0, 0, 0
    while not _stopped.is_set():
        session += 1
        is_transactional = session % 2 == 0 and client not in WITHOUT_TRANSACTIONS
        name = f"{options.name}-p{session}"
        ends = time.monotonic() + chance.uniform(*SESSION_S)
        producer = None
        try:
            producer = CLIENTS[client][0](options, options.name if is_transactional else None)
            while not _stopped.wait(PAUSE_S) and time.monotonic() < ends:
                transaction = None
                if is_transactional:
                    transactions += 1
                    transaction = f"{options.name}-x{transactions}"
                    producer.begin()
                for _ in range(chance.choice(RECORDS_PER_STEP)):
                    values += 1
                    value = f"{options.name}-{values}"
                    partition = chance.randrange(options.partitions)
                    report("send", value, partition, name, transaction)
                    producer.send(partition, value.encode(), lambda offset, value=value: report("acked", value, offset))
                if transaction is None:
                    producer.flush()
                elif chance.random() < ABORTED:
                    producer.abort()
                else:
                    report("commit", transaction)
                    producer.commit()
                    report("committed", transaction)
        except Exception as error:  # noqa: BLE001 - a new producer follows
            report("log", f"{name}: {error!r}")
        finally:
            _close(producer)


def read(client: str, options: Options, chance: random.Random) -> None:
    session = 0
    fixed = member = None
    ends = 0.0
    while not _stopped.is_set():
        try:
            if time.monotonic() > ends:
                _close(fixed)
                session += 1
                fixed = CLIENTS[client][1](options, None)
                ends = time.monotonic() + 2 * chance.uniform(*SESSION_S)
            if member is None:
                member = CLIENTS[client][1](options, READERS)
            for partition, offset, value in fixed.poll():
                report("poll", f"{options.name}-c{session}", partition, offset, value.decode())
            rows = list(member.poll())
            for partition, offset, value in rows:
                report("member", partition, offset, value.decode())
            if rows:
                member.commit()
        except Exception as error:  # noqa: BLE001 - new consumers follow
            report("log", f"{options.name}-c{session}: {error!r}")
            ends = 0.0
            _close(member)
            member = None
            _stopped.wait(PAUSE_S)
    _close(fixed)
    _close(member)


def _close(client: Producer | Consumer | None) -> None:
    try:
        if client is not None:
            client.close()
    except Exception as error:  # noqa: BLE001 - it is not needed any more
        report("log", f"close: {error!r}")


def _wait_for_end() -> None:
    sys.stdin.read()
    _stopped.set()


def main() -> None:
    client, role, servers, topic, partitions, acks, name, seed = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    threading.Thread(target=_wait_for_end, daemon=True).start()
    options = Options(servers, topic, int(partitions), acks, name)
    {"write": write, "read": read}[role](client, options, random.Random(seed))


if __name__ == "__main__":
    main()
