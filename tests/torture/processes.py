"""Real brokers that are killed while producers write.

`kafkalet serve --data-dir` runs as a process, with one broker or three. An idempotent producer and a transactional one
write to it with acks=all, and consumer offsets are committed within the transactions. After a chosen number of
acknowledgements, the process gets SIGKILL, is started again on the same directory, and consumers check:

* every acknowledged record is there once, and records of the same producer are in order; * all records of a committed
  transaction are there, none of an aborted one, and all or none of one whose end was not acknowledged;
* the committed offset of the group is that of the last committed transaction, or of the one that was being committed.

Then the producers continue, and the process is killed again.
"""

import contextlib
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

READY = re.compile(r"kafkalet ready bootstrap=(\S+)")
TIMEOUT_S = 60.0
RECORDS = "i"
TRANSACTIONS = "x"
GROUP = "g"
PARTITIONS = 2
QUIET = {"log_level": 0, "socket.timeout.ms": 10_000}


class Lost(AssertionError):
    """What was acknowledged is not there."""


class Killed(NamedTuple):
    """The result of a run."""

    brokers: int
    kills: int
    records: int
    transactions: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.brokers} broker{'s' * (self.brokers > 1)} killed {self.kills} times in {self.seconds:.0f} s: "
            f"{self.records:,} acknowledged records and {self.transactions:,} committed transactions are there"
        )


OPTIONS = (
    *(f"--topic={topic}:{PARTITIONS}:segment.bytes=4000" for topic in (RECORDS, TRANSACTIONS)),
    *("--set", "offsets.topic.num.partitions=2", "--set", "transaction.state.log.num.partitions=2"),
    *("--kafka-version", "3.9"),
)


class Serving:
    """A `kafkalet serve` process."""

    def __init__(self, directory: Path, brokers: int, options: Iterable[str]) -> None:
        command = [sys.executable, "-m", "kafkalet", "serve", "--data-dir", str(directory), "--listen", "127.0.0.1:0"]
        command += ["--brokers", str(brokers), "--log-level", "error", "--exit-with-parent"]
        command += ["--set", f"default.replication.factor={brokers}", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := READY.search(line):
                self.servers = found[1]
                return
        raise Lost(f"the broker does not start again: status {self.process.wait()}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class _Load:
    """The records that producers have written, and those that were acknowledged."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.acknowledged: list[int] = []
        self.sent = 0
        self.committed: dict[int, int] = {}
        """The number of records of each committed transaction."""
        self.aborted: set[int] = set()
        self.in_doubt: dict[int, int] = {}
        self.transactions = 0
        self.last_committed = 0
        """The number of the last transaction that was committed; the group's offset."""

    def run_until_killed(self, serving: Serving, acknowledgements: int) -> None:
        """Write, and kill the broker after this many acknowledgements."""
        left = acknowledgements

        def acknowledge(value: int) -> None:
            nonlocal left
            self.acknowledged.append(value)
            event()

        def event() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                serving.kill()

        common = {"bootstrap.servers": serving.servers, "acks": "all", "linger.ms": 0, **QUIET}
        records = Producer({**common, "enable.idempotence": True, "message.timeout.ms": 5000})
        transactional = Producer({**common, "transactional.id": "T", "transaction.timeout.ms": 60_000})
        group = Consumer({"bootstrap.servers": serving.servers, "group.id": GROUP, **QUIET})
        try:
            transactional.init_transactions(TIMEOUT_S)
            while left > 0:
                for _ in range(self.chance.choice((1, 3, 20))):
                    value = self.sent
                    self.sent += 1

                    def delivered(error: object, message: object, value: int = value) -> None:
                        if error is None:
                            acknowledge(value)

                    records.produce(RECORDS, b"%d" % value, partition=value % PARTITIONS, on_delivery=delivered)
                records.poll(0)
                if left > 0:
                    self._transaction(transactional, group)
                    event()
        except KafkaException:
            if left > 0:
                raise
        finally:
            serving.close()
            for producer in (records, transactional):
                with contextlib.suppress(KafkaException):
                    producer.purge()
            records.poll(0)
            group.close()

    def _transaction(self, producer: Producer, group: Consumer) -> None:
        number = self.transactions
        self.transactions += 1
        count = self.chance.choice((1, 2, 10))
        producer.begin_transaction()
        self.in_doubt[number] = count
        for at in range(count):
            producer.produce(TRANSACTIONS, b"%d %d" % (number, at), partition=at % PARTITIONS)
        if self.chance.random() < 0.3:
            producer.flush(TIMEOUT_S)
            producer.abort_transaction(TIMEOUT_S)
            self.aborted.add(number)
        else:
            offsets = [TopicPartition(RECORDS, 0, number + 1)]
            producer.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), TIMEOUT_S)
            producer.commit_transaction(TIMEOUT_S)
            self.committed[number] = count
            self.last_committed = number + 1
        del self.in_doubt[number]

    def check(self, servers: str) -> None:
        """Check the remaining data."""
        transactional = Producer({"bootstrap.servers": servers, "transactional.id": "T", **QUIET})
        transactional.init_transactions(TIMEOUT_S)  # ends the transaction that was open
        self._check_records(_read(servers, RECORDS))
        found = self._check_transactions(_read(servers, TRANSACTIONS))
        self._check_offset(servers, found)
        for number, count in self.in_doubt.items():
            if number in found:
                self.committed[number] = count
            else:
                self.aborted.add(number)
        self.in_doubt.clear()

    def _check_records(self, partitions: list[list[bytes]]) -> None:
        seen = [int(value) for partition in partitions for value in partition]
        if missing := set(self.acknowledged) - set(seen):
            raise Lost(f"acknowledged records are lost: {sorted(missing)[:20]}")
        if len(seen) != len(set(seen)):
            raise Lost(f"records are duplicated: {sorted({each for each in seen if seen.count(each) > 1})[:20]}")
        for partition in partitions:
            values = [int(value) for value in partition]
            if values != sorted(values):
                raise Lost(f"records are out of order: {values}")

    def _check_transactions(self, partitions: list[list[bytes]]) -> dict[int, set[int]]:
        """Check the transactions. Return their records by their numbers."""
        found: dict[int, set[int]] = {}
        for value in (value for partition in partitions for value in partition):
            number, at = map(int, value.split())
            if at in found.setdefault(number, set()):
                raise Lost(f"record {at} of transaction {number} is duplicated")
            found[number].add(at)
        for number, count in self.committed.items():
            if len(found.get(number, ())) != count:
                raise Lost(f"transaction {number} with {count} records was committed, but has {found.get(number)}")
        if back := found.keys() & self.aborted:
            raise Lost(f"transactions {sorted(back)} were aborted")
        for number, count in self.in_doubt.items():
            if len(found.get(number, ())) not in (0, count):
                raise Lost(f"transaction {number} with {count} records has only {found[number]}")
        return found

    def _check_offset(self, servers: str, found: dict[int, set[int]]) -> None:
        consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP, **QUIET})
        try:
            [committed] = consumer.committed([TopicPartition(RECORDS, 0)], TIMEOUT_S)
        finally:
            consumer.close()
        last = max([number + 1 for number in self.in_doubt if number in found], default=self.last_committed)
        if max(committed.offset, 0) != last:
            raise Lost(f"the group has committed {committed.offset} instead of {last}")
        self.last_committed = last


def _read(servers: str, topic: str) -> list[list[bytes]]:
    """Return the values in each partition of a topic, as a read_committed consumer sees them."""
    settings = {"group.id": "reader", "isolation.level": "read_committed", "enable.partition.eof": True}
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    consumer = Consumer({"bootstrap.servers": servers, "enable.auto.commit": False, **settings, **QUIET})
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        left = set(range(PARTITIONS))
        deadline = time.monotonic() + TIMEOUT_S
        while left:
            if time.monotonic() > deadline:
                raise Lost(f"partitions {left} of {topic} cannot be read to their ends")
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found[message.partition()].append(message.value())
            elif error.name() == "_PARTITION_EOF":
                left.discard(message.partition())
    finally:
        consumer.close()
    return found


def kill_and_check(directory: Path, brokers: int, kills: int, seed: int) -> Killed:
    """Kill brokers this many times, and check the remaining data each time. Raises Lost."""
    began = time.monotonic()
    chance = random.Random(seed)
    load = _Load(chance)
    directory.mkdir(parents=True, exist_ok=True)
    serving = Serving(directory, brokers, OPTIONS)
    try:
        for kill in range(kills):
            acknowledgements = chance.randrange(1, 150)
            try:
                load.run_until_killed(serving, acknowledgements)
                serving = Serving(directory, brokers, OPTIONS)
                load.check(serving.servers)
            except Lost as error:
                where = f"kill {kill} of {kills}, after {acknowledgements} acknowledgements; see {directory}"
                raise Lost(f"python -m tests.torture --seed {seed} --brokers {brokers}\n{where}\n{error}") from error
    finally:
        serving.close()
    seconds = time.monotonic() - began
    return Killed(brokers, kills, len(load.acknowledged), len(load.committed), seconds)
