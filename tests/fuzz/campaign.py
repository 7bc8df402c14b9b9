"""Send malformed frames to a broker in a separate process, and check the broker after every batch.

The following must hold for any frames:

* the broker answers a well-behaved client, on a connection opened at the start and on a new one;
* stored records are unchanged;
* the log contains no traceback (a client can only break its own connection), and at most one line per connection;
* memory use stays within bounds.
"""

import contextlib
import random
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkalet.protocol.messages.create_topics import CreateTopicsRequest
from kafkalet_conformance.playing.connection import Connection
from kafkalet_conformance.playing.target import Target

from .corpus import TOPICS, corpus
from .mutations import mutate

BATCH = 100
TIMEOUT_S = 0.05
"""How long to wait for the responses to a batch; some requests get none (acks=0, a long poll)."""
ANSWER_S = 20.0
CANARY = "the-canary-that-nobody-names"
CANARY_RECORDS = [
    {"magic": 2, "records": [{"ts": 1_600_000_000_000 + n, "key": None, "value": f"sings {n}"}]} for n in range(20)
]
MEMORY_BYTES = 400 << 20
LINGER_0 = b"\x01\0\0\0\0\0\0\0"

BROKER = """
import sys
import kafkalet
config = {
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "socket.request.max.bytes": "10000000",
    "connections.max.idle.ms": "-1",
}
topics = sys.argv[1:]
with kafkalet.Broker(config=config, topics=topics) as broker:
    print(broker.bootstrap_servers, flush=True)
    sys.stdin.read()
"""


class Found(AssertionError):
    """The fuzzer found a problem, described by the text together with the frames."""


class Bug(Found):
    """The broker logged a traceback."""


class Tried(NamedTuple):
    """The result of a campaign."""

    inputs: int
    answered: int
    closed: int
    """The number of connections that the broker closed instead of responding."""
    memory_bytes: int
    seconds: float

    def __str__(self) -> str:
        neither = self.inputs - self.answered - self.closed
        return (
            f"{self.inputs:,} inputs tried in {self.seconds:.0f} s: "
            f"{self.answered:,} answered, {self.closed:,} connections closed, {neither:,} neither; "
            f"the broker used {self.memory_bytes >> 20} MiB at most"
        )


class Broker:
    """The broker process under test and its connections."""

    def __init__(self, process: "subprocess.Popen[str]", bootstrap: str, log: Path) -> None:
        self.process, self.log = process, log
        self.server = Target(bootstrap)
        self.address = (self.server.host, self.server.port)
        self.well_behaved = self.server.connect()
        self._read = 0
        self.attacks = self.notes = 0  # the fuzzer's connections, and log lines about closed connections
        self.canary = self._store()

    def new_log_lines(self) -> list[str]:
        with self.log.open(errors="replace") as log:
            log.seek(self._read)
            text = log.read()
            self._read = log.tell()
        lines = text.splitlines()
        self.notes += sum(": closed; " in line for line in lines)
        return lines

    def memory_bytes(self) -> int:
        try:
            resident = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        except OSError:
            return 0  # not Linux
        return int(resident) * resource.getpagesize()

    def _store(self) -> dict[str, Any]:
        topic = {"name": CANARY, "partitions": [{"index": 0, "records": CANARY_RECORDS[0]}]}
        for batch in CANARY_RECORDS:
            topic["partitions"] = [{"index": 0, "records": [batch]}]
            answer = self.well_behaved.ask("Produce", 9, {"acks": -1, "topics": [topic]})
            assert answer["responses"][0]["partitions"][0]["error_code"] == 0, answer
        return self.stored(self.well_behaved)

    def stored(self, connection: Connection) -> dict[str, Any]:
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        body = {"topics": [{"topic": CANARY, "partitions": [partition]}]}
        answer: dict[str, Any] = connection.ask("Fetch", 11, body)["responses"][0]["partitions"][0]
        return answer

    def check(self) -> None:
        if self.process.poll() is not None:
            raise Found(f"the broker exited with status {self.process.returncode}")
        stranger = self.server.connect()
        try:
            for connection in (self.well_behaved, stranger):
                connection.timeout_s = ANSWER_S
                if (stored := self.stored(connection)) != self.canary:
                    raise Found(f"the stored records have changed from {self.canary} to {stored}")
        except (OSError, TimeoutError) as error:
            raise Found(f"the broker does not answer a well-behaved client: {error!r}") from error
        finally:
            stranger.close()


@contextlib.contextmanager
def running_broker() -> Iterator[Broker]:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log")
        with (
            log.open("w") as stderr,
            subprocess.Popen(
                [sys.executable, "-c", BROKER, CANARY, *TOPICS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                broker = Broker(process, process.stdout.readline().strip(), log)
                try:
                    yield broker
                finally:
                    broker.well_behaved.close()
            finally:
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise


def run(inputs: int, seed: int = 1, progress: bool = False, found: dict[str, Found] | None = None) -> Tried:
    """Send `inputs` malformed frames; raise Found for the first problem.

    With `found`, tracebacks are collected there, by their last line, and the campaign continues.
    """
    chance = random.Random(seed)
    began = time.monotonic()
    done = answered = closed = most_memory = 0
    with running_broker() as broker:
        while done < inputs:
            frames = [_input(chance) for _ in range(min(BATCH, inputs - done))]
            some_answered, some_closed = _attack(chance, broker, frames)
            try:
                _check_broker(broker, frames)
            except Bug as bug:
                if found is None:
                    raise
                found.setdefault(str(bug).rpartition("\n")[2], bug)
            done += len(frames)
            answered += some_answered
            closed += some_closed
            most_memory = max(most_memory, broker.memory_bytes())
            if most_memory > MEMORY_BYTES:
                raise Found(f"the broker uses {most_memory >> 20} MiB after {done} inputs (seed {seed})")
            if progress and done % 10_000 < BATCH:
                print(f"{done:>10,} inputs, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return Tried(done, answered, closed, most_memory, time.monotonic() - began)


def _input(chance: random.Random) -> bytes:
    """Return a malformed frame that does not request excessive work."""
    frames = corpus()
    while True:
        frame = mutate(chance, chance.choice(frames), chance.choice(frames))
        if not _makes_many_partitions(frame):
            return frame


def _makes_many_partitions(frame: bytes) -> bool:
    """Return whether a frame creates more than 50 partitions. Such a frame is valid, but too slow for the campaign."""
    if frame[:2] not in (b"\0\x13", b"\0\x25"):
        return False
    try:
        header, start = RequestHeader.decode(frame)
        if header.api is Api.CREATE_TOPICS:
            created = CreateTopicsRequest.decode(frame, header.version, start)
            return sum(max(topic.num_partitions, len(topic.assignments)) for topic in created.topics) > 50
        grown = CreatePartitionsRequest.decode(frame, header.version, start)
        return any(topic.count > 50 for topic in grown.topics)
    except ProtocolError:
        return False


def _attack(chance: random.Random, broker: Broker, frames: list[bytes]) -> tuple[int, int]:
    """Send each frame on a separate connection. Return how many connections got a response, and how many were
    closed.
    """
    connections = []
    for frame in frames:
        connection = socket.create_connection(broker.address)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_0)
        lie = chance.random() < 0.03
        size = chance.choice((0, -1, len(frame) + 5, len(frame) - 1, 2**31 - 1, -(2**31))) if lie else len(frame)
        with contextlib.suppress(ConnectionError):
            connection.sendall(size.to_bytes(4, "big", signed=True) + frame)
        connections.append(connection)
        broker.attacks += 1
    answered = closed = 0
    deadline = time.monotonic() + TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                assert isinstance(key.fileobj, socket.socket)
                try:
                    came = key.fileobj.recv(65536)
                except ConnectionError:
                    came = b""
                answered, closed = (answered + 1, closed) if came else (answered, closed + 1)
                selector.unregister(key.fileobj)
    for connection in connections:
        connection.close()
    return answered, closed


def _check_broker(broker: Broker, frames: list[bytes]) -> None:
    """Check the broker; if it logged a traceback, find the frame that caused it."""
    broker.check()
    lines = broker.new_log_lines()
    if any(line.startswith("Traceback") for line in lines):
        for frame in frames:
            _attack(random.Random(0), broker, [frame])
            again = broker.new_log_lines()
            if any(line.startswith("Traceback") for line in again):
                raise Bug("\n".join([f"this frame causes a traceback: {frame.hex()}", *again]))
        raise Bug("\n".join([f"one of {len(frames)} frames caused a traceback, but none does so alone", *lines]))
    if broker.notes > broker.attacks:
        raise Found(f"{broker.attacks} connections left {broker.notes} lines in the log; last {lines[-1]}")
