"""Measure what TLS, SASL and ACLs cost: new connections per second, throughput and requests per second.

    python -m benchmarks.security [ROW ...] [--runs 3] [--seconds 1] [--alone]

kafkalet and Apache Kafka 3.9 have the same listeners, certificates (P-256), users and ACLs. The client of all rows is
this Python process, on one connection at a time. It computes the hashes of SCRAM once, so that the broker's part is
measured. Each figure is followed by the processor time of the broker, which the client does not affect.
"""

import argparse
import hashlib
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from statistics import median
from typing import NamedTuple

from kafkalet.broker.security.scram_credentials import ScramMechanism
from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type
from kafkalet.sasl_client import Credentials
from tests.oracle.apache_kafka import ApacheKafka, missing

from . import brokers
from .brokers import processor_seconds
from .load import SMALL_TOPIC, TOPIC, ask, fetch, list_offsets, produce_request

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
USER, PASSWORD = "bench", "bench-password"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
ACLS = 100
"""The number of ACLs in the rows with an authorizer."""
RECEIVE_BYTES = 2 << 20


class Target(NamedTuple):
    """A broker that listens with all security protocols."""

    pid: int
    addresses: dict[str, tuple[str, int]]
    tls: ssl.SSLContext

    def connect(self, protocol: str = "PLAINTEXT", mechanism: str = "PLAIN") -> socket.socket:
        """Connect, shake hands and log in, as the protocol requires."""
        connected = socket.create_connection(self.addresses[protocol])
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if protocol.endswith("SSL"):
            connected = self.tls.wrap_socket(connected, server_hostname="localhost")
        if protocol.startswith("SASL"):
            credentials = Credentials(mechanism, USER, PASSWORD)
            credentials.log_in(lambda request, version: ask(connected, request, request.API, version))
        return connected


# The brokers


def properties(authority: CertificateAuthority, authorizer: bool) -> dict[str, str]:
    config = authority.broker_properties()
    config |= {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "log.retention.ms": "-1",
        "auto.create.topics.enable": "true",
    }
    for name in ("sasl_plaintext", "sasl_ssl"):
        config[f"listener.name.{name}.plain.sasl.jaas.config"] = f'{PLAIN} required user_{USER}="{PASSWORD}";'
        config[f"listener.name.{name}.scram-sha-256.sasl.jaas.config"] = f"{SCRAM} required;"
    if authorizer:
        config |= {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # the clients of the plain listener, and Kafka's own connections
        }
    return config


@contextmanager
def kafkalet(config: dict[str, str], tls: ssl.SSLContext) -> Iterator[Target]:
    addresses = free_addresses()
    listeners = ",".join(f"{name}://{host}:{port}" for name, (host, port) in addresses.items())
    running = brokers.start_kafkalet({**config, "listeners": listeners})
    try:
        yield Target(running.pid, addresses, tls)
    finally:
        running.stop()


@contextmanager
def apache_kafka(config: dict[str, str], tls: ssl.SSLContext) -> Iterator[Target]:
    addresses = free_addresses()
    with ApacheKafka("3.9", config=config, listeners=addresses) as kafka:
        yield Target([*kafka.processes.values()][-1].pid, addresses, tls)


def free_addresses() -> dict[str, tuple[str, int]]:
    """Return a free address for each security protocol."""
    with ExitStack() as stack:
        sockets = {name: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for name in PROTOCOLS}
        return {name: ("127.0.0.1", sock.getsockname()[1]) for name, sock in sockets.items()}


def prepare(target: Target, authorizer: bool) -> None:
    """Create the topics, the SCRAM credential and the ACLs, and fill the first topic."""
    plain = target.connect()
    with plain:
        upsertion = request_type(Api.ALTER_USER_SCRAM_CREDENTIALS)
        salt = b"salt of the benchmark"
        mechanism = ScramMechanism.SCRAM_SHA_256
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, PASSWORD.encode(), salt, 4096)
        credential = upsertion.Upsertion(  # type: ignore[attr-defined]
            name=USER, mechanism=mechanism, iterations=4096, salt=salt, salted_password=salted
        )
        request = upsertion(deletions=[], upsertions=[credential])
        answer = ask(plain, request, Api.ALTER_USER_SCRAM_CREDENTIALS, 0)
        assert not answer.results[0].error_code, answer.results[0].error_message
        if authorizer:
            create_acls(plain)
    host, port = target.addresses["PLAINTEXT"]
    running = brokers.Running(f"{host}:{port}", target.pid, 0.0, lambda: None)
    brokers.make_topics(running)
    brokers.fill(running, 64 << 20)


def create_acls(plain: socket.socket) -> None:
    """Create ACLs; the first ones allow what the client does."""
    types = request_type(Api.CREATE_ACLS)
    names = [(TOPIC, 3), (SMALL_TOPIC, 4), *((f"other-{number}", 3) for number in range(ACLS - 2))]
    creations = [
        types.Creation(  # type: ignore[attr-defined]
            resource_type=2,
            resource_name=name,
            resource_pattern_type=pattern,
            principal=f"User:{USER}",
            host="*",
            operation=2,
            permission_type=3,
        )
        for name, pattern in names
    ]
    answer = ask(plain, types(creations=creations), Api.CREATE_ACLS, 2)
    assert not any(result.error_code for result in answer.results)


# The rows


def connections(protocol: str, mechanism: str = "PLAIN") -> Callable[[Target, float], float]:
    def measure(target: Target, seconds: float) -> float:
        count, begun = 0, time.perf_counter()
        while (now := time.perf_counter()) - begun < seconds:
            connected = target.connect(protocol, mechanism)
            ask(connected, request_type(Api.API_VERSIONS)(), Api.API_VERSIONS, 0)
            connected.close()
            count += 1
        return count / (now - begun)

    return measure


def repeated(protocol: str, request: Callable[[], bytes], *, counts: str = "") -> Callable[[Target, float], float]:
    """Send a request again and again; `counts` is "sent" or "received" for MB/s, or "" for requests per second."""

    def measure(target: Target, seconds: float) -> float:
        frame, count, received = request(), 0, 0
        room = memoryview(bytearray(RECEIVE_BYTES))
        with target.connect(protocol) as connected:
            begun = time.perf_counter()
            while (now := time.perf_counter()) - begun < seconds:
                connected.sendall(frame)
                received += receive(connected, room)
                count += 1
        sizes = {"": count, "sent": count * len(frame) / 1e6, "received": received / 1e6}
        return sizes[counts] / (now - begun)

    return measure


def receive(connected: socket.socket, room: memoryview) -> int:
    """Receive a response and return its size."""
    have = connected.recv_into(room)
    while have < 4 or have < 4 + int.from_bytes(room[:4], "big"):
        if not (more := connected.recv_into(room[have:])):
            raise SystemExit("the broker closed the connection")
        have += more
    return have


ROWS: dict[str, tuple[str, Callable[[Target, float], float]]] = {
    "new connections, PLAINTEXT": ("1/s", connections("PLAINTEXT")),
    "new connections, SSL": ("1/s", connections("SSL")),
    "new connections, SASL_PLAINTEXT PLAIN": ("1/s", connections("SASL_PLAINTEXT")),
    "new connections, SASL_PLAINTEXT SCRAM": ("1/s", connections("SASL_PLAINTEXT", "SCRAM-SHA-256")),
    "new connections, SASL_SSL SCRAM": ("1/s", connections("SASL_SSL", "SCRAM-SHA-256")),
    "Fetch of 1 MiB, PLAINTEXT": ("MB/s", repeated("PLAINTEXT", fetch(1 << 20), counts="received")),
    "Fetch of 1 MiB, SSL": ("MB/s", repeated("SSL", fetch(1 << 20), counts="received")),
    "Fetch of 1 MiB, SASL_SSL": ("MB/s", repeated("SASL_SSL", fetch(1 << 20), counts="received")),
    "produce 1 MB batches, PLAINTEXT": (
        "MB/s",
        repeated("PLAINTEXT", lambda: produce_request(1_000_000), counts="sent"),
    ),
    "produce 1 MB batches, SSL": ("MB/s", repeated("SSL", lambda: produce_request(1_000_000), counts="sent")),
    "ListOffsets, PLAINTEXT": ("1/s", repeated("PLAINTEXT", list_offsets)),
    "ListOffsets, SSL": ("1/s", repeated("SSL", list_offsets)),
    "ListOffsets, SASL_PLAINTEXT": ("1/s", repeated("SASL_PLAINTEXT", list_offsets)),
    "Fetch of 1 KiB, SASL_PLAINTEXT": ("1/s", repeated("SASL_PLAINTEXT", fetch(1024, SMALL_TOPIC))),
}
WITH_ACLS = {
    f"{name}, {ACLS} ACLs": ROWS[name] for name in ("ListOffsets, SASL_PLAINTEXT", "Fetch of 1 KiB, SASL_PLAINTEXT")
}


def compare(
    rows: dict[str, tuple[str, Callable[[Target, float], float]]], targets: dict[str, Target], runs: int, seconds: float
) -> None:
    for row, (unit, measure) in rows.items():
        line = f"{row:<48}{unit:<6}"
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in targets}
        for _ in range(runs):
            for name, target in targets.items():
                before, begun = processor_seconds(target.pid), time.perf_counter()
                figure = measure(target, seconds)
                busy = (processor_seconds(target.pid) - before) / (time.perf_counter() - begun)
                figures[name].append((figure, busy))
        for values in figures.values():
            figure, busy = median(value for value, _ in values), median(value for _, value in values)
            line += f"{figure:>10,.0f} ({busy:>4.0%})"
        print(line, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.security", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--alone", action="store_true", help="do not measure Apache Kafka")
    options = parser.parse_args(arguments)
    hashlib.pbkdf2_hmac = cache(hashlib.pbkdf2_hmac)  # type: ignore[assignment] # the client's part of SCRAM
    kinds = {"kafkalet": kafkalet}
    if not options.alone and (lacking := missing("3.9")):
        print(f"Apache Kafka is not measured: {lacking}", file=sys.stderr)
    elif not options.alone:
        kinds["Kafka 3.9"] = apache_kafka
    with tempfile.TemporaryDirectory() as directory:
        authority = CertificateAuthority(directory)
        tls = ssl.create_default_context(cafile=authority.ca_file)
        print(f"{'':<54}" + "".join(f"{name:>17}" for name in kinds) + "   (processor time of the broker)", flush=True)
        for authorizer, rows in ((False, ROWS), (True, WITH_ACLS)):
            with ExitStack() as stack:
                config = properties(authority, authorizer)
                targets = {name: stack.enter_context(kind(config, tls)) for name, kind in kinds.items()}
                for target in targets.values():
                    prepare(target, authorizer)
                wanted = {
                    name: row
                    for name, row in rows.items()
                    if not options.rows or any(part in name for part in options.rows)
                }
                compare(wanted, targets, options.runs, options.seconds)


if __name__ == "__main__":
    main()
