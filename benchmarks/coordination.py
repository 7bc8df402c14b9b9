"""Benchmarks of the coordinators: groups, offset commits and transactions.

Commits and transactions are raw requests, as in load.py. Groups consist of real clients (confluent-kafka), because the
figure of interest is how long a test waits for its first assignment: from the first poll of the last member that joins
until every member has its assignment.
"""

import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch

from .load import Measure, ask, frame
from .pump import pump

Address = tuple[str, int]

WIDE_TOPIC = "bench-wide"
WIDE = 50
PATIENCE_S = 30.0
NOT_YET = {Code.CONCURRENT_TRANSACTIONS, Code.COORDINATOR_NOT_AVAILABLE, Code.COORDINATOR_LOAD_IN_PROGRESS}
NOT_YET |= {Code.NOT_COORDINATOR, Code.UNKNOWN_TOPIC_OR_PARTITION}

_runs = count()
_unique = int(time.time())


def prepare(address: Address) -> None:
    """Create the topics, including the internal ones, and wait until they exist."""
    create = request_type(Api.CREATE_TOPICS)
    topic = create.Topic(  # type: ignore[attr-defined]
        name=WIDE_TOPIC, num_partitions=WIDE, replication_factor=1, assignments=[], configs=[]
    )
    with socket.create_connection(address) as sock:
        ask(sock, create(topics=[topic], timeout_ms=10_000), Api.CREATE_TOPICS, 5)
        commit = _commit(1)
        _until(lambda: ask(sock, commit, Api.OFFSET_COMMIT, 8).topics[0].partitions[0].error_code, sock, group="bench")


def _until(error_code: Callable[[], int], sock: socket.socket, group: str = "", transactional_id: str = "") -> None:
    """Repeat a request until its coordinator is available."""
    find = request_type(Api.FIND_COORDINATOR)(key=group or transactional_id, key_type=0 if group else 1)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if ask(sock, find, Api.FIND_COORDINATOR, 3).error_code == 0:
            code = error_code()
            if code not in NOT_YET:
                assert code == 0, Code(code).name
                return
        time.sleep(0.002)
    raise SystemExit("the coordinator did not become available")


# Commits


def _commit(partitions: int) -> Any:
    types = request_type(Api.OFFSET_COMMIT)
    each = [
        types.Topic.Partition(partition_index=index, committed_offset=4711, committed_metadata="")  # type: ignore[attr-defined]
        for index in range(partitions)
    ]
    return types(group_id="bench", topics=[types.Topic(name=WIDE_TOPIC, partitions=each)])  # type: ignore[attr-defined]


def commits(partitions: int, connections: int, in_flight: int) -> Measure:
    def measure(address: Address, seconds: float) -> float:
        prepare(address)
        request = frame(_commit(partitions), Api.OFFSET_COMMIT, 8)
        return pump(address, request, connections, in_flight, seconds).answers_per_second

    return measure


# Transactions


class Transactor:
    """A transactional producer that sends one record per transaction, with request versions that Kafka 3.9 supports."""

    def __init__(self, address: Address, name: str) -> None:
        self.sock = socket.create_connection(address)
        self.name = name
        self.sequence = 0
        init = request_type(Api.INIT_PRODUCER_ID)(transactional_id=name, transaction_timeout_ms=60_000)
        told: list[Any] = []

        def initialise() -> int:
            told[:] = [ask(self.sock, init, Api.INIT_PRODUCER_ID, 4)]
            return int(told[0].error_code)

        _until(initialise, self.sock, transactional_id=name)
        self.producer = (told[0].producer_id, told[0].producer_epoch)
        self.add, self.end = self._add(), self._end()

    def _add(self) -> Any:
        types: Any = request_type(Api.ADD_PARTITIONS_TO_TXN)
        module = __import__(types.__module__, fromlist=["Topic"])
        return types(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=[module.Topic(name=WIDE_TOPIC, partitions=[0])],
        )

    def _end(self) -> Any:
        return request_type(Api.END_TXN)(
            transactional_id=self.name, producer_id=self.producer[0], producer_epoch=self.producer[1], committed=True
        )

    def run(self) -> None:
        """Run one transaction."""
        code: int = Code.CONCURRENT_TRANSACTIONS
        while code == Code.CONCURRENT_TRANSACTIONS:  # the previous transaction's markers are being written
            added = ask(self.sock, self.add, Api.ADD_PARTITIONS_TO_TXN, 3)
            code = added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        assert code == 0, Code(code).name
        types: Any = request_type(Api.PRODUCE)
        batch = build_batch(
            [Record(0, time.time_ns() // 1_000_000, None, b"x" * 100, ())],
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=self.sequence,
            is_transactional=True,
        )
        self.sequence += 1
        topic = types.Topic(name=WIDE_TOPIC, partition_data=[types.Topic.Partition(index=0, records=batch)])
        produce = types(acks=-1, timeout_ms=10_000, transactional_id=self.name, topic_data=[topic])
        code = ask(self.sock, produce, Api.PRODUCE, 9).responses[0].partition_responses[0].error_code
        assert code == 0, Code(code).name
        code = ask(self.sock, self.end, Api.END_TXN, 3).error_code
        assert code == 0, Code(code).name


def transactions(producers: int) -> Measure:
    """Measure transactions per second; each producer runs one transaction after another."""

    def measure(address: Address, seconds: float) -> float:
        prepare(address)
        run = next(_runs)
        transactors = [Transactor(address, f"bench-{_unique}-{run}-{number}") for number in range(producers)]
        done = [0] * producers
        begun = time.perf_counter()

        def work(number: int) -> None:
            while time.perf_counter() - begun < seconds:
                transactors[number].run()
                done[number] += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(producers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter() - begun
        for transactor in transactors:
            transactor.sock.close()
        return sum(done) / elapsed

    return measure


# Groups


def first_assignment(members: int, protocol: str = "classic") -> Measure:
    """Measure the milliseconds until each of `members` consumers that start polling together has an assignment."""

    def measure(address: Address, seconds: float) -> float:
        import confluent_kafka

        prepare(address)
        group = f"bench-{protocol}-{_unique}-{next(_runs)}"
        shares: dict[int, int] = {}
        consumers = [
            confluent_kafka.Consumer(
                {
                    "bootstrap.servers": "{}:{}".format(*address),
                    "group.id": group,
                    "group.protocol": protocol,
                    "auto.offset.reset": "earliest",
                    "reconnect.backoff.ms": 2,  # the default delays even the first connection by 50 ms
                    "log_level": 0,
                }
            )
            for _ in range(members)
        ]

        def assigned(number: int, consumer: Any, partitions: list[Any]) -> None:
            shares[number] = len(partitions)

        def revoked(number: int, consumer: Any, partitions: list[Any]) -> None:
            shares.pop(number, None)

        begun = time.perf_counter()
        for number, consumer in enumerate(consumers):
            consumer.subscribe([WIDE_TOPIC], on_assign=partial(assigned, number), on_revoke=partial(revoked, number))
        while sum(shares.values()) != WIDE or len(shares) < members:
            if time.perf_counter() - begun > PATIENCE_S:
                raise SystemExit(f"not all of {members} members got partitions within {PATIENCE_S} s: {shares}")
            for consumer in consumers:
                consumer.poll(0)
            time.sleep(0.0005)
        elapsed = time.perf_counter() - begun
        for consumer in consumers:
            consumer.close()
        return elapsed * 1000

    return measure


ROWS: dict[str, tuple[str, Measure]] = {
    "OffsetCommit, 1 connection": ("requests/s", commits(1, 1, 1)),
    "OffsetCommit, 8 connections x 4": ("requests/s", commits(1, 8, 4)),
    f"OffsetCommit of {WIDE} partitions": ("requests/s", commits(WIDE, 1, 1)),
    "transactions of one record, 1 producer": ("per s", transactions(1)),
    "transactions of one record, 8 producers": ("per s", transactions(8)),
    "group of 1, first poll to assignment": ("ms", first_assignment(1)),
    "group of 20, first poll to assignment": ("ms", first_assignment(20)),
}
