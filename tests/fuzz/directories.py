"""Damage data directories and start brokers on them: `python -m tests.fuzz.directories`.

A directory with several topics, groups and transactions is built once, in two variants: after a clean shutdown and
after a kill. Each case copies one, damages it in one to three places, and starts a broker on it twice. The following
must hold:

* the broker becomes ready in time, or exits with status 1 and one line that names a file of the directory;
* no traceback is logged;
* undamaged partitions serve all records under both isolation levels and accept new ones; * so do partitions in which
  only files derived from the .log are damaged (indexes, snapshots, epochs);
* requests for other partitions are answered, and records that are served are those that were written;
* a signal makes the broker exit with status 0.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.records.batch import HEADER_SIZE, Batch
from kafkalet.testing.cluster import Cluster
from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer
from kafkalet_conformance.playing.target import Target
from tests.wire.brokers import Wire, batch

READY = re.compile(r"kafkalet ready bootstrap=(\S+)\n")
TIMEOUT_S = 60.0
"""The time limit for starting, answering and stopping, generous enough for a busy machine."""
PARTITIONS = [("alpha", 0), ("alpha", 1), ("beta", 0), ("gamma", 0)]
INTERNAL = ("__consumer_offsets-0", "__transaction_state-0")
RELEASE = "3.9"
"""Newer releases do not allow segments below one mebibyte."""
SMALL = {"segment.bytes": "4000", "index.interval.bytes": "300", "file.delete.delay.ms": "0"}
CONFIG = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
GROUPS = {"one": 17, "two": 3}
DERIVED = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint")
"""Files that a broker can rebuild from the .log, or does not need."""
CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")
CODES_OF_DAMAGE = frozenset(
    {
        Code.OFFSET_OUT_OF_RANGE,
        Code.CORRUPT_MESSAGE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.LEADER_NOT_AVAILABLE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.KAFKA_STORAGE_ERROR,
    }
)

CORRELATION_ID_BYTES = 4
Partition = FetchResponse.Topic.Partition
Seen = dict[tuple[str, int, int], list[tuple[int, str]]]
"""Offsets and values of records by topic, partition and isolation level."""


class Found(AssertionError):
    """A case violated a requirement, described by the text."""


# The directory


def build(path: Path) -> tuple[Path, Path]:
    """Build the directories: one after a clean shutdown, and one as left by a kill."""
    clean, killed = path / "clean", path / "killed"
    with Cluster(data_dir=clean, config=CONFIG, version=RELEASE) as cluster:
        cluster.topic("alpha").create(2, config=SMALL, replication_factor=1)
        cluster.topic("beta").create(1, config=SMALL, replication_factor=1)
        cluster.topic("gamma").create(1, config={}, replication_factor=1)
        wire = Wire(cluster)
        for number in range(60):
            for topic, index in (("alpha", 0), ("alpha", 1), ("gamma", 0)):
                wire.produce(batch(b"%s %d %d" % (topic.encode(), index, number) * 6), topic=topic, index=index)
        for number in range(12):
            _transaction(wire, number)
        for group, offset in GROUPS.items():
            _commit(wire, group, offset)
        cluster._server.call(
            lambda: [
                directory.checkpoint() for node in cluster._server.nodes.values() for directory in node.directories
            ]
        )
        for number in range(5):
            wire.produce(batch(b"last %d" % number), topic="alpha")
        shutil.copytree(clean, killed)
        wire.close()
    return clean, killed


def _transaction(wire: Wire, number: int) -> None:
    transactional_id = f"id-{number % 2}"
    wire.ask("FindCoordinator", 1, {"key": transactional_id, "key_type": 1})
    begun = wire.ask("InitProducerId", 1, {"transactional_id": transactional_id, "transaction_timeout_ms": 60000})
    producer = {name: begun[name] for name in ("producer_id", "producer_epoch")}
    named = {"transactional_id": transactional_id, **producer}
    wire.ask("AddPartitionsToTxn", 1, {**named, "topics": [{"name": "beta", "partitions": [0]}]})
    records = batch(b"beta %d" % number * 10, b"more", base_sequence=0, is_transactional=True, **producer)
    wire.produce(records, topic="beta", transactional_id=transactional_id)
    wire.ask("EndTxn", 1, {**named, "committed": number % 3 != 0})
    wire.until(
        lambda: wire.cluster.topic("beta").log().last_stable_offset == wire.cluster.topic("beta").log().log_end_offset
    )


def _commit(wire: Wire, group: str, offset: int) -> None:
    wire.ask("FindCoordinator", 1, {"key": group, "key_type": 0})
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    topics = [{"name": "alpha", "partitions": [partition]}]
    wire.ask("OffsetCommit", 2, {"group_id": group, "generation_id_or_member_epoch": -1, "topics": topics})


# Damage


class Damage:
    """Records the damage done to a copy and the partitions that may be affected."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.done: list[str] = []
        self.broken: set[str] = set()
        """Partition directories that may have lost records."""
        self.scrambled: set[str] = set()
        """Partition directories whose batches may have changed content, which may hide new records."""
        self.damaged_files: set[str] = set()
        """Damaged files that belong to the whole directory."""

    def __str__(self) -> str:
        return "; ".join(self.done)

    def note(self, what: str, path: Path) -> None:
        """Record the damage to a file."""
        name = os.fsencode(path.relative_to(self.root)).decode(errors="replace")
        self.done.append(f"{what} {name}")
        inside = path.relative_to(self.root).parts
        if len(inside) == 1 and not path.is_dir():
            self.damaged_files.add(inside[0])
        elif len(inside) == 1 or not inside[1].endswith(DERIVED) or path.is_dir():
            self.broken.add(inside[0])
            if what not in ("truncated", "extended", "deleted"):
                self.scrambled.add(inside[0])

    def files(self) -> list[Path]:
        """Return candidate files: usually those in partitions, sometimes those of the whole directory."""
        inside = [path for path in sorted(self.root.rglob("*")) if path.is_file() and path.parent != self.root]
        outside = [path for path in sorted(self.root.iterdir()) if path.is_file() and path.name != ".lock"]
        return self.chance.choice((inside, outside, inside)) or inside or outside

    def file(self) -> Path:
        return self.chance.choice(self.files())

    def partition(self) -> Path:
        names = [f"{topic}-{index}" for topic, index in PARTITIONS] + list(INTERNAL)
        there = [self.root / name for name in names if (self.root / name).is_dir()]
        return self.chance.choice(there or [self.root])

    def garbage(self) -> bytes:
        size = self.chance.choice((1, 7, 8, 12, 34, 100, 4096, 20_000))
        made = self.chance.choice((self.chance.randbytes, bytes, lambda n: b"\xff" * n, lambda n: b"9" * n))
        return made(size)


def flip_bytes(damage: Damage) -> None:
    path = damage.file()
    data = bytearray(path.read_bytes())
    for _ in range(damage.chance.choice((1, 1, 3, 20))):
        if data:
            data[damage.chance.randrange(len(data))] ^= 1 << damage.chance.randrange(8)
    path.write_bytes(data)
    damage.note("flipped bytes of", path)


def truncate(damage: Damage) -> None:
    path = damage.file()
    os.truncate(path, damage.chance.randrange(path.stat().st_size + 1))
    damage.note("truncated", path)


def extend(damage: Damage) -> None:
    path = damage.file()
    path.write_bytes(path.read_bytes() + damage.garbage())
    damage.note("extended", path)


def replace(damage: Damage) -> None:
    path = damage.file()
    path.write_bytes(damage.garbage())
    damage.note("replaced by garbage", path)


def overwrite(damage: Damage) -> None:
    path = damage.file()
    data = bytearray(path.read_bytes())
    at, garbage = damage.chance.randrange(len(data) + 1), damage.garbage()
    data[at : at + len(garbage)] = garbage
    path.write_bytes(data)
    damage.note("partly overwrote", path)


def delete(damage: Damage) -> None:
    path = damage.file()
    damage.note("deleted", path)
    path.unlink()


def delete_partition(damage: Damage) -> None:
    path = damage.partition()
    damage.note("deleted", path)
    if path != damage.root:
        shutil.rmtree(path)


def make_directory(damage: Damage) -> None:
    path = damage.file()
    damage.note("replaced by a directory", path)
    path.unlink()
    path.mkdir()
    damage.broken.add(path.relative_to(damage.root).parts[0])


def dangle(damage: Damage) -> None:
    path = damage.file()
    damage.note("replaced by a dangling link", path)
    path.unlink()
    path.symlink_to("/nowhere/at/all")
    damage.broken.add(path.relative_to(damage.root).parts[0])


def link_to_itself(damage: Damage) -> None:
    path = damage.file()
    damage.note("replaced by a link to itself", path)
    path.unlink()
    path.symlink_to(path)
    damage.broken.add(path.relative_to(damage.root).parts[0])


def forbid(damage: Damage) -> None:
    path = damage.file()
    path.chmod(0)
    damage.note("made unreadable", path)
    damage.broken.add(path.relative_to(damage.root).parts[0])


def swap(damage: Damage) -> None:
    first, second = damage.file(), damage.file()
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    damage.note("swapped", first)
    damage.note("with", second)
    for path in (first, second):  # a snapshot of another partition has a valid checksum
        damage.broken.add(path.relative_to(damage.root).parts[0])


def swap_partitions(damage: Damage) -> None:
    first, second = damage.partition(), damage.partition()
    damage.note("swapped", first)
    damage.note("with", second)
    if first != second:
        aside = damage.root / "aside"
        first.rename(aside)
        second.rename(first)
        aside.rename(second)


NAMES = (
    "t-99999999999", "backup-20240101", "t-2147483647", "backup-1500", "alpha-7", "alpha-007", "beta-20000", "x-delete",
    "gamma-1.0123456789abcdef0123456789abcdef-delete", "gamma-1.0123456789abcdef0123456789abcdef-stray",
    "gamma-0.0123456789abcdef0123456789abcdef-future", "lost+found", "-1", "t--1", "a b-0", "..-0", "new-0", "new-5",
    "alpha", "\udcff\udcfe-0", "n\udcff", "t-\u0663", "__cluster_metadata-0", "x" * 250 + "-0",
)  # fmt: skip


def new_directory(damage: Damage) -> None:
    """Create a directory with a random name, empty or with the files of a partition."""
    path = damage.root / damage.chance.choice(NAMES)
    with contextlib.suppress(FileExistsError):
        if damage.chance.random() < 0.5:
            path.mkdir()
        else:
            shutil.copytree(damage.partition(), path)
    damage.done.append(f"made {path.name!r}")


FILE_NAMES = (
    "0.log", "xyz.log", "99999999999999999999.log", "-0000000000000000001.log", "00000000099999999999.log",
    "00000000000000000000.log.deleted", "00000000000000000000.log.cleaned", "00000000000000000000.log.swap",
    "00000000000000000005.log.swap", "00000000000000000005.index.swap", "xyz.cleaned", "xyz.swap", "xyz.snapshot",
    "00000000000000000003.snapshot", "00000000000099999999.snapshot", "partition.metadata.tmp", "\udcff.log",
    "00000000000000000003.log", "00000000000000000003.index", "00000000000000000000.txnindex",
)  # fmt: skip


def new_file(damage: Damage) -> None:
    """Create a file with a random name in a partition: empty, random, or a copy of another file."""
    path = damage.partition() / damage.chance.choice(FILE_NAMES)
    data = damage.chance.choice((b"", damage.garbage(), damage.file().read_bytes()))
    with contextlib.suppress(OSError):
        path.write_bytes(data)
    damage.done.append(f"made {path.name!r} in {path.parent.name}")
    damage.broken.add(path.parent.name)
    damage.scrambled.add(path.parent.name)


def duplicate_segment(damage: Damage) -> None:
    partition = damage.partition()
    logs = sorted(partition.glob("*.log"))
    if logs:
        base = damage.chance.randrange(100)
        shutil.copy(damage.chance.choice(logs), partition / f"{base:020d}.log")
    damage.done.append(f"copied a segment in {partition.name}")
    damage.broken.add(partition.name)
    damage.scrambled.add(partition.name)


NUMBERS = (b"99999999999999999999", b"9223372036854775807", b"2147483648", b"-5", b"0", b"1e9", b"", b"x")


def change_number(damage: Damage) -> None:
    """Replace a number in a text file."""
    texts = [path for path in sorted(damage.root.rglob("*")) if path.is_file() and _is_text(path.name)]
    path = damage.chance.choice(texts) if texts else damage.file()
    data = path.read_bytes()
    places = list(re.finditer(rb"-?\d+", data))
    if places:
        at = damage.chance.choice(places)
        data = data[: at.start()] + damage.chance.choice(NUMBERS) + data[at.end() :]
    path.write_bytes(data)
    damage.note("changed a number in", path)
    if path.name == "partition.metadata":
        damage.broken.add(path.parent.name)


def _is_text(name: str) -> bool:
    return name.endswith(("-checkpoint", ".metadata", ".properties", ".json"))


def scramble_record(damage: Damage) -> None:
    """Overwrite a field in the header of a random batch."""
    logs = [path for path in sorted(damage.root.rglob("*.log")) if path.is_file() and path.stat().st_size > 61]
    if not logs:
        return
    path = damage.chance.choice(logs)
    data = bytearray(path.read_bytes())
    starts = [0]
    while starts[-1] + 12 < len(data):
        size = 12 + struct.unpack_from(">i", data, starts[-1] + 8)[0]
        if size < 14 or starts[-1] + size >= len(data):
            break
        starts.append(starts[-1] + size)
    at = damage.chance.choice(starts) + damage.chance.choice((0, 4, 8, 12, 16, 17, 21, 23, 27, 35, 43, 51, 57))
    data[at : at + 4] = damage.chance.choice((b"\xff" * 4, b"\0" * 4, b"\x7f" + b"\xff" * 3, b"\0\0\0\x05"))
    path.write_bytes(data)
    damage.note("scrambled a head in", path)


def overwrite_state(damage: Damage) -> None:
    """Overwrite bytes in the log of an internal topic, which a coordinator will load."""
    logs = [path for name in INTERNAL for path in sorted((damage.root / name).glob("*.log")) if path.stat().st_size]
    if not logs:
        return
    path = damage.chance.choice(logs)
    data = bytearray(path.read_bytes())
    for _ in range(damage.chance.choice((1, 1, 2, 8))):
        at = damage.chance.randrange(len(data))
        data[at : at + 4] = damage.chance.choice((b"\xff" * 4, b"\0\0\0\x05", b"\x7f", damage.chance.randbytes(2)))
    path.write_bytes(data)
    damage.note("overwrote bytes of", path)


DAMAGES: tuple[Callable[[Damage], None], ...] = (
    flip_bytes,
    flip_bytes,
    truncate,
    extend,
    replace,
    overwrite,
    delete,
    delete_partition,
    make_directory,
    dangle,
    link_to_itself,
    forbid,
    swap,
    swap_partitions,
    new_directory,
    new_directory,
    new_file,
    duplicate_segment,
    change_number,
    change_number,
    scramble_record,
    overwrite_state,
)


def damaged(root: Path, chance: random.Random) -> Damage:
    """Apply one to three kinds of damage to a directory; skip those that are no longer possible."""
    damage = Damage(root, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, FileExistsError, OSError):
            chance.choice(DAMAGES)(damage)
    return damage


# Looking


class Broker:
    """A broker in a separate process, and a connection to it once it is ready."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stderr = root.with_name(root.name + "-stderr").open("w+")
        command = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0", "--data-dir", str(root)]
        command += ["--kafka-version", RELEASE, "--log-level", "warning", "--set", "auto.create.topics.enable=false"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.stderr, text=True, start_new_session=True
        )
        self.connection: Connection | None = None

    def wait_until_ready(self) -> bool:
        """Return True when the broker is ready and False if it refused to start correctly; raise Found otherwise."""
        assert self.process.stdout is not None
        watch = _Watch(self.process)
        with watch:
            line = self.process.stdout.readline()
        if watch.expired:
            raise Found("the broker did not become ready")
        if line:
            found = READY.fullmatch(line)
            if found is None:
                raise Found(f"unexpected ready line {line!r}")
            self.connection = Target(found[1]).connect()
            self.connection.timeout_s = TIMEOUT_S
            return True
        self._check_refusal(self.process.wait(TIMEOUT_S))
        return False

    def _check_refusal(self, status: int) -> None:
        text = self.log_text()
        lines = text.splitlines()
        own = [line for line in lines if line.startswith("kafkalet: ")]
        if status != 1 or len(own) != 1 or own != lines[-1:]:
            raise Found(f"the broker exited with status {status} and {own}")
        if str(self.root) not in own[0]:
            raise Found(f"the message names no file of the directory: {own[0]}")

    def stop(self) -> None:
        """Stop the broker with a signal; raise Found unless it exits with status 0 in time."""
        if self.connection is not None:
            self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Found("the broker did not stop after a signal") from None
        if status != 0:
            raise Found(f"the broker exited with status {status} after a signal")

    def log_text(self) -> str:
        self.stderr.flush()
        text = Path(self.stderr.name).read_text(errors="replace")
        if "Traceback" in text:
            raise Found(text)
        return text

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.stderr.close()


class _Watch:
    """Kills a process that exceeds the time limit."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.expired = False

    def __enter__(self) -> "_Watch":
        self._previous = signal.signal(signal.SIGALRM, self._expire)
        signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._previous)

    def _expire(self, *_: object) -> None:
        self.expired = True
        self._process.kill()


def fetch(connection: Connection, topic: str, index: int, offset: int, isolation: int = 0) -> Partition:
    """Fetch from a partition and return its response with undecoded records, which may be damaged."""
    body = Wire.fetch_body(version=11, topic=topic, index=index, offset=offset, isolation_level=isolation)
    connection.send("Fetch", 11, body)
    frame = connection.receive_frame(time.monotonic() + TIMEOUT_S)
    return FetchResponse.decode(frame, 11, CORRELATION_ID_BYTES).responses[0].partitions[0]


def whole_batches(data: bytes) -> Iterator[Batch]:
    """Yield the batches before the first truncated or damaged one."""
    position = 0
    while len(data) - position >= HEADER_SIZE:
        size = 12 + struct.unpack_from(">i", data, position + 8)[0]
        if size < HEADER_SIZE or position + size > len(data):
            return
        try:
            found = Batch(data[position : position + size])
            found.check_crc()
        except KafkaError:
            return
        yield found
        position += size


def read(connection: Connection, topic: str, index: int, isolation: int) -> tuple[int, list[tuple[int, str]]]:
    """Read a partition from the start; return the error code that ended it, and the offsets and values read."""
    found: list[tuple[int, str]] = []
    code, offset = _offset(connection, topic, index, -2)
    while code == 0:
        partition = fetch(connection, topic, index, offset, isolation)
        code = partition.error_code
        whole = list(whole_batches(bytes(partition.records or b"")))
        for each in whole:
            if not each.is_control:
                found += [(record.offset, bytes(record.value or b"").decode()) for record in each.records()]
        if not whole or whole[-1].next_offset <= offset:
            break
        offset = whole[-1].next_offset
    return code, found


def _offset(connection: Connection, topic: str, index: int, timestamp: int) -> tuple[int, int]:
    body = {"topics": [{"name": topic, "partitions": [{"partition_index": index, "timestamp": timestamp}]}]}
    found = connection.ask("ListOffsets", 5, body)["topics"][0]["partitions"][0]
    return found["error_code"], found["offset"]


def produce(connection: Connection, topic: str, index: int) -> tuple[int, int]:
    """Produce a record; return the error code and its offset."""
    body = Wire.produce_body(batch(b"new"), topic=topic, index=index)
    found = connection.ask("Produce", 9, body)["responses"][0]["partitions"][0]
    return found["error_code"], found["base_offset"]


def committed(connection: Connection, group: str) -> int:
    body = {"group_id": group, "topics": [{"name": "alpha", "partition_indexes": [0]}]}
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        connection.ask("FindCoordinator", 1, {"key": group, "key_type": 0})
        answer = connection.ask("OffsetFetch", 2, body)
        if answer["error_code"] == 0 or time.monotonic() > deadline:
            offset: int = answer["topics"][0]["partitions"][0]["committed_offset"]
            return offset
        time.sleep(0.05)


def seen(connection: Connection) -> Seen:
    """Read all partitions under both isolation levels."""
    return {
        (topic, index, isolation): read(connection, topic, index, isolation)[1]
        for topic, index in PARTITIONS
        for isolation in (0, 1)
    }


class Case(NamedTuple):
    """A damaged copy of the directory."""

    seed: int
    root: Path
    damage: Damage
    expected: Seen

    def run(self) -> bool:
        """Start a broker on the copy twice; return whether it served, or raise Found for a violated requirement."""
        started = False
        for life in (1, 2):
            broker = Broker(self.root)
            try:
                if not broker.wait_until_ready():
                    return started
                started = True
                self._look(broker, first=life == 1)
                broker.stop()
                broker.log_text()
            except (Closed, NoAnswer, ConnectionError) as error:
                raise Found(f"start {life}: {error!r}\n{broker.log_text()}") from error
            finally:
                broker.close()
        return True

    def _look(self, broker: Broker, *, first: bool) -> None:
        connection = broker.connection
        assert connection is not None
        damage = self.damage
        for topic, index in PARTITIONS:
            name = f"{topic}-{index}"
            is_whole = name not in damage.broken and not self._may_lose(topic)
            for isolation in (0, 1):
                code, found = read(connection, topic, index, isolation)
                expected = self.expected[topic, index, isolation]
                if is_whole and (code or [one for one in found if one[1] != "new"] != expected):
                    missing = [one for one in expected if one not in found]
                    raise Found(f"{name} at isolation {isolation}: code {code}, missing {missing[:3]}")
                if code and code not in CODES_OF_DAMAGE:
                    raise Found(f"{name} at isolation {isolation}: code {code}")
            code, offset = produce(connection, topic, index)
            if code and (is_whole or code not in CODES_OF_DAMAGE):
                raise Found(f"{name} rejects a record: {code}")
            if code == 0 and name not in damage.scrambled and (is_whole or first):
                self._check_new(connection, topic, index, offset)
        if "__consumer_offsets-0" not in damage.broken and not self._may_lose("__consumer_offsets"):
            for group, wanted in GROUPS.items():
                if (got := committed(connection, group)) != wanted:
                    raise Found(f"group {group}: committed offset {got}, expected {wanted}")
        self._ask_coordinators(connection)

    def _ask_coordinators(self, connection: Connection) -> None:
        """Send requests to the coordinators, which must respond whatever state they have lost."""
        for key_type in (0, 1):
            connection.ask("FindCoordinator", 1, {"key": "id-0", "key_type": key_type})
        partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        topics = [{"name": "alpha", "partitions": [partition]}]
        body = {"group_id": "other", "generation_id_or_member_epoch": -1, "topics": topics}
        connection.ask("OffsetCommit", 2, body)
        body = {"group_id": "one", "topics": [{"name": "alpha", "partition_indexes": [0]}]}
        connection.ask("OffsetFetch", 2, body)
        connection.ask("InitProducerId", 1, {"transactional_id": "id-0", "transaction_timeout_ms": 60000})
        connection.ask("InitProducerId", 1, {"transactional_id": None})
        connection.ask("ListGroups", 1, {})

    def _check_new(self, connection: Connection, topic: str, index: int, offset: int) -> None:
        partition = fetch(connection, topic, index, offset)
        whole = whole_batches(bytes(partition.records or b""))
        values = [record.value for each in whole if not each.is_control for record in each.records()]
        if partition.error_code or b"new" not in values:
            code = partition.error_code
            raise Found(f"the new record at {offset} of {topic}-{index} cannot be read: code {code}, {values}")

    def _may_lose(self, topic: str) -> bool:
        """Return whether damage to a file of the whole directory may cost a topic its records.

        The metadata contain topics and their ids, and a checkpoint may contain any log start offset. If the broker had
        detected damage in the metadata, it would not have started.
        """
        del topic
        return bool(self.damage.damaged_files & {"kafkalet.json", "log-start-offset-checkpoint", "meta.properties"})


@contextlib.contextmanager
def copies(path: Path) -> Iterator[Callable[[int], Case]]:
    """Yield a function that makes a damaged copy by seed; each copy replaces the previous one."""
    clean, killed = build(path)
    expected: Seen = {}
    pristine = path / "pristine"
    shutil.copytree(clean, pristine)
    broker = Broker(pristine)
    try:
        assert broker.wait_until_ready()
        assert broker.connection is not None
        expected = seen(broker.connection)
        broker.stop()
    finally:
        broker.close()
    assert all(len(found) > 20 for found in expected.values()), expected
    root = path / "case"

    def case(seed: int) -> Case:
        chance = random.Random(seed)
        _remove(root)
        shutil.copytree(chance.choice((clean, killed)), root)
        return Case(seed, root, damaged(root, chance), expected)

    yield case
    _remove(root)


def _remove(root: Path) -> None:
    if root.exists():
        shutil.rmtree(root)


class Tried(NamedTuple):
    """The result of a campaign."""

    cases: int
    served: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.cases} damaged directories in {self.seconds:.0f} s: {self.served} served, the others rejected"


def run(
    first: int, count: int, *, keep_going: bool = False, found: dict[int, str] | None = None, progress: bool = False
) -> Tried:
    """Run `count` cases from seed `first`. Raise Found for a problem, or with `keep_going` collect it in `found`."""
    begun, served = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="kafkalet-directories-") as path, copies(Path(path)) as make:
        for seed in range(first, first + count):
            case = make(seed)
            try:
                served += case.run()
            except Found as error:
                text = f"seed {seed}: {case.damage}\n{error}"
                if not keep_going or found is None:
                    raise Found(text) from error
                found[seed] = text
                if progress:
                    print(text, file=sys.stderr, flush=True)
            if progress and (seed - first) % 100 == 99:
                print(f"{seed - first + 1} cases, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return Tried(count, served, time.monotonic() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.directories", description="Damage data directories.")
    parser.add_argument("--cases", type=int, default=1000, help="number of cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first case (default: %(default)s)")
    parser.add_argument("--keep-going", action="store_true", help="collect problems instead of stopping at the first")
    options = parser.parse_args()
    found: dict[int, str] = {}
    try:
        print(run(options.seed, options.cases, keep_going=options.keep_going, found=found, progress=True))
    except Found as error:
        found[0] = str(error)
        print(error, file=sys.stderr)
    print(f"{len(found)} found: {sorted(found)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
