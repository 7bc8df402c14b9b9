"""A cheap load generator: keep a number of requests in flight on each connection and count the responses per second.

The load comes from a separate process: a small C program (pump.c) that is compiled on first use. Without a C compiler
the Python code below does the same, but may be slower than the broker.
"""

import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from typing import NamedTuple

SOURCE = os.path.join(os.path.dirname(__file__), "pump.c")


class Load(NamedTuple):
    """The number and size of a broker's responses, and the time they took."""

    answers: int
    bytes: float
    seconds: float

    @property
    def answers_per_second(self) -> float:
        return self.answers / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        """Throughput in units of 1,000,000 bytes."""
        return self.bytes / self.seconds / 1e6


@cache
def _program() -> list[str]:
    """Return the command that starts the load generator."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or not sys.platform.startswith("linux"):
        return [sys.executable, "-m", "benchmarks.pump"]
    program = os.path.join(tempfile.mkdtemp(prefix="kafkalet-bench-"), "pump")
    subprocess.run([compiler, "-O2", "-o", program, SOURCE], check=True)
    return [program]


def pump(address: tuple[str, int], request: bytes, connections: int, in_flight: int, seconds: float) -> Load:
    """Send `request`, a frame that starts with its size, repeatedly; `address` is an IPv4 address and a port."""
    command = [*_program(), address[0], *map(str, (address[1], connections, in_flight, seconds))]
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, check=True, timeout=seconds + 60)
    answers, received, took = done.stdout.split()
    return Load(int(answers), float(received), float(took))


class _Connection:
    """A connection of the load generator written in Python."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = 0
        self.head = b""

    def count(self, data: memoryview) -> int:
        """Return the number of responses that end in these bytes."""
        answers = at = 0
        while at < len(data):
            if self.left:
                taken = min(self.left, len(data) - at)
                self.left -= taken
                at += taken
                answers += not self.left
            else:
                missing = 4 - len(self.head)
                self.head += data[at : at + missing]
                at += missing
                if len(self.head) == 4:
                    self.left, self.head = int.from_bytes(self.head, "big"), b""
        return answers


def main(host: str, port: int, connections: int, in_flight: int, seconds: float) -> None:
    """Do the same as pump.c, on machines without a C compiler."""
    request = sys.stdin.buffer.read()
    buffer = memoryview(bytearray(1 << 20))
    answers = received = 0
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        connection = _Connection((host, port))
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.socket.sendall(request * in_flight)
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        for key, _ in selector.select(0.1):
            count = key.data.socket.recv_into(buffer)
            if not count:
                sys.exit("the broker closed a connection")
            received += count
            if done := key.data.count(buffer[:count]):
                answers += done
                key.data.socket.sendall(request * done)
    print(answers, received, time.monotonic() - start)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5]))
