"""How costs grow with the number of connections, partitions, groups, members and batches.

    python -m benchmarks.growth [ROW ...] [--runs 3] [--seconds 0.5] [--json FILE] [--plot]

Each row is measured for several sizes; the costs should not grow faster than the work. kafkalet runs in a Python with
nothing installed. The load comes from peers/rotation.c, which needs a C compiler and Linux. A row of requests shows
requests/s (the median of the runs) and microseconds of the broker's processor time per request (the least of the runs,
which depends less on other work on the machine).

--plot draws docs/images/growth-*.svg from the figures of this run and of --json FILE; with the row `none`, nothing is
measured. It needs the extra `bench`.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch

from .brokers import Running, start_kafkalet
from .load import ask, frame
from .lookup import lookup_us
from .peers.__main__ import BARE
from .peers.programs import program

TOPIC = "growth"
VALUE_BYTES = 900
"""One record per batch: a Fetch of 1 KiB returns one whole batch."""
PARTITIONS_PER_TOPIC = 1_000
PARTITIONS = (1, 100, 10_000)
CONNECTIONS = (1, 100, 5_000)
SESSION_PARTITIONS = (1, 100, 1_000)
BATCHES = (1_000, 1_000_000)
BUSY = 8
"""The number of requests in flight, unless all connections send at once, or only one sends."""
SESSION_REQUESTS = 300

list_offsets: Any = request_type(Api.LIST_OFFSETS)
fetch: Any = request_type(Api.FETCH)
produce: Any = request_type(Api.PRODUCE)
create: Any = request_type(Api.CREATE_TOPICS)
find_coordinator: Any = request_type(Api.FIND_COORDINATOR)
commit: Any = request_type(Api.OFFSET_COMMIT)
join: Any = request_type(Api.JOIN_GROUP)
sync: Any = request_type(Api.SYNC_GROUP)
heartbeat: Any = request_type(Api.CONSUMER_GROUP_HEARTBEAT)


class Row(NamedTuple):
    """The figures of a row by size: one in `unit`, and the microseconds of the broker's processor time."""

    name: str
    of: str
    unit: str
    figures: dict[int, tuple[float, float | None]]


class Options(NamedTuple):
    """How long and how often requests are measured."""

    runs: int
    seconds: float


@contextmanager
def serving(config: dict[str, str] | None = None) -> Iterator[Running]:
    broker = start_kafkalet({"log.retention.ms": "-1", **(config or {})}, python=BARE)
    separate_processors(broker)
    try:
        yield broker
    finally:
        broker.stop()


def separate_processors(broker: Running) -> None:
    """Let the broker and this process with its children run on different processors, if there are several.

    If the scheduler moved them, the cost of a wake-up would randomly be 5 or 50 microseconds.
    """
    first, *others = range(os.cpu_count() or 1)
    if others:
        os.sched_setaffinity(broker.pid, {first})
        os.sched_setaffinity(0, others)


def processor_s(broker: Running) -> float:
    """Return the processor time of the broker in seconds (the clock of clock_getcpuclockid)."""
    return time.clock_gettime((~broker.pid << 3) | 2)


def allow_open_files(count: int) -> None:
    """Raise the limit of open files for this process and its children, if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise SystemExit(f"the limit of open files is {hard}: {count} are needed (ulimit -H -n {count})")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


# Topics and records


def place(number: int, name: str = TOPIC) -> tuple[str, int]:
    """Return the topic and the index of a partition; topics have up to PARTITIONS_PER_TOPIC partitions."""
    return f"{name}-{number // PARTITIONS_PER_TOPIC}", number % PARTITIONS_PER_TOPIC


def make_partitions(sock: socket.socket, count: int, name: str = TOPIC) -> None:
    """Create topics with `count` partitions in all."""
    for at in range(0, count, PARTITIONS_PER_TOPIC):
        topic = create.Topic(
            name=place(at, name)[0],
            num_partitions=min(PARTITIONS_PER_TOPIC, count - at),
            replication_factor=1,
            assignments=[],
            configs=[],
        )
        answer = ask(sock, create(topics=[topic], timeout_ms=60_000), Api.CREATE_TOPICS, 5)
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message


def batch(value_bytes: int = VALUE_BYTES, **producer: int) -> bytes:
    return build_batch([Record(0, time.time_ns() // 1_000_000, None, b"v" * value_bytes, ())], **producer)


def send(sock: socket.socket, records: bytes, partitions: Iterable[int], name: str = TOPIC) -> None:
    """Produce the records to each of the partitions, one after the other."""
    for number in partitions:
        topic, index = place(number, name)
        data = [produce.Topic.Partition(index=index, records=records)]
        request = produce(acks=1, timeout_ms=10_000, topic_data=[produce.Topic(name=topic, partition_data=data)])
        answer = ask(sock, request, Api.PRODUCE, 7)
        assert answer.responses[0].partition_responses[0].error_code == 0


def list_offsets_of(number: int) -> bytes:
    name, index = place(number)
    partition = list_offsets.Topic.Partition(partition_index=index, timestamp=-1)
    topic = list_offsets.Topic(name=name, partitions=[partition])
    return frame(list_offsets(replica_id=-1, topics=[topic]), Api.LIST_OFFSETS, 7)


def fetch_of(number: int) -> bytes:
    name, index = place(number)
    partition = fetch.Topic.Partition(partition=index, fetch_offset=0, partition_max_bytes=1024)
    topic = fetch.Topic(topic=name, partitions=[partition])
    return frame(fetch(max_wait_ms=500, min_bytes=1, max_bytes=1024, topics=[topic]), Api.FETCH, 11)


REQUESTS: dict[str, tuple[Callable[[int], bytes], range]] = {
    "ListOffsets": (list_offsets_of, range(40, 80)),
    "Fetch of 1 KiB": (fetch_of, range(900, 1100)),
}
"""The requests for a partition, and the sizes that their responses may have."""


# Requests


def rotate(
    broker: Running, name: str, partitions: int, connections: int, busy: int, options: Options
) -> tuple[float, float]:
    """Return requests/s and microseconds per request, for requests that go to all partitions and connections in
    turn.
    """
    path = program("rotation")
    assert path is not None
    request, sizes = REQUESTS[name]
    requests = b"".join(map(request, range(partitions)))
    host, _, port = broker.address.rpartition(":")
    command = [str(path), host, port, *map(str, (connections, busy, options.seconds, broker.pid))]
    runs = []
    for _ in range(options.runs):
        done = subprocess.run(command, input=requests, stdout=subprocess.PIPE, check=True, timeout=60)
        answers, received, took, spent = map(float, done.stdout.split())
        assert int(received / answers) in sizes, f"answers to {name} of {received / answers} bytes"
        runs.append((answers / took, spent / answers * 1e6))
    return median(run[0] for run in runs), min(run[1] for run in runs)


def partitions(options: Options) -> Iterator[Row]:
    """Requests over all partitions of the cluster."""
    figures: dict[str, dict[int, Any]] = {name: {} for name in REQUESTS}
    for count in PARTITIONS:
        with serving() as broker:
            with broker.connect() as sock:
                make_partitions(sock, count)
                send(sock, batch(), range(count))
            for name in REQUESTS:
                figures[name][count] = rotate(broker, name, count, BUSY, BUSY, options)
    for name, each in figures.items():
        yield Row(f"{name}, {BUSY} connections", "partitions", "requests/s", each)


def connections(options: Options) -> Iterator[Row]:
    """Requests over all connections, one after the other or all at once, and over a single one."""
    with serving() as broker:
        with broker.connect() as sock:
            make_partitions(sock, 1)
            send(sock, batch(), range(1))
        for name in REQUESTS:
            one = rotate(broker, name, 1, 1, 1, options)
            in_turn, at_once, idle = {1: one}, {1: one}, {1: one}
            for count in CONNECTIONS[1:]:
                in_turn[count] = rotate(broker, name, 1, count, BUSY, options)
                at_once[count] = rotate(broker, name, 1, count, count, options)
                with ExitStack() as stack:
                    for sock in connected(broker, count - 1):
                        stack.enter_context(closing(sock))
                    idle[count] = rotate(broker, name, 1, 1, 1, options)
            yield Row(f"{name}, {BUSY} connections at a time", "connections", "requests/s", in_turn)
            yield Row(f"{name}, all connections at once", "connections", "requests/s", at_once)
            yield Row(f"{name}, one connection, others idle", "connections", "requests/s", idle)


def connected(broker: Running, count: int) -> Iterator[socket.socket]:
    """Yield connections, each of which has received one response."""
    request = list_offsets_of(0)
    for _ in range(count):
        sock = broker.connect()
        sock.sendall(request)
        sock.recv(1024)
        yield sock


# Sessions


def sessions(options: Options) -> Iterator[Row]:
    """An incremental fetch session in which one partition has new records."""
    requests, waits = {}, {}
    for count in SESSION_PARTITIONS:
        with serving() as broker:
            requests[count] = session(broker, count, waiting=False, name="requests")
            waits[count] = session(broker, count, waiting=True, name="waits")
    yield Row("request of a session, one partition with a new record", "partitions in the session", "us", requests)
    yield Row("produce that completes a waiting Fetch, and its answer", "partitions in the session", "us", waits)


def session(broker: Running, count: int, *, waiting: bool, name: str) -> tuple[float, float]:
    """Return the median time and the mean processor time in microseconds.

    `waiting`: the Fetch waits for the record, and its time starts with the Produce request.
    """
    figures = []
    records = batch(10)
    with broker.connect() as producer, broker.connect() as consumer:
        make_partitions(producer, count, name)

        def asked(offsets: dict[int, int], session_id: int, epoch: int) -> bytes:
            each = [
                fetch.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
                for index, offset in offsets.items()
            ]
            topic = place(0, name)[0]
            request = fetch(
                max_wait_ms=30_000 if epoch else 0,
                min_bytes=1,
                max_bytes=1 << 20,
                session_id=session_id,
                session_epoch=epoch,
                topics=[fetch.Topic(topic=topic, partitions=each)] if each else [],
            )
            return frame(request, Api.FETCH, 11)

        consumer.sendall(asked(dict.fromkeys(range(count), 0), 0, 0))
        first = answer_of(consumer)
        session_id, ends, moved = int.from_bytes(first[10:14], "big"), [0] * count, {}
        for epoch in range(1, SESSION_REQUESTS + 1):
            index = epoch * 7919 % count
            request = asked(moved, session_id, epoch)
            if waiting:
                consumer.sendall(request)
                time.sleep(0.003)
            else:
                send(producer, records, [index], name)
            began_s, spent_s = time.perf_counter(), processor_s(broker)
            if waiting:
                send(producer, records, [index], name)
            else:
                consumer.sendall(request)
            answer = answer_of(consumer)
            figures.append(((time.perf_counter() - began_s) * 1e6, (processor_s(broker) - spent_s) * 1e6))
            assert len(answer) > len(records), "the answer has no records"
            ends[index] += 1
            moved = {index: ends[index]}
    return median(each[0] for each in figures), sum(each[1] for each in figures) / len(figures)


def answer_of(sock: socket.socket) -> bytes:
    """Return the next response without its size."""
    data = sock.recv(4, socket.MSG_WAITALL)
    return sock.recv(int.from_bytes(data, "big"), socket.MSG_WAITALL)


# Memory


class Growing(NamedTuple):
    """A broker whose memory is measured."""

    broker: Running
    sock: socket.socket
    kept: ExitStack
    """Connections that stay open until everything has been measured."""


def add_connections(to: Growing, first: int, count: int) -> None:
    for sock in connected(to.broker, count):
        to.kept.enter_context(closing(sock))


def add_partitions(to: Growing, first: int, count: int) -> None:
    make_partitions(to.sock, count, f"unused-{first}")


def add_used_partitions(to: Growing, first: int, count: int) -> None:
    make_partitions(to.sock, count, f"used-{first}")
    send(to.sock, batch(10), range(count), f"used-{first}")


def wait_for_coordinators(sock: socket.socket) -> None:
    """Wait until the topic of the committed offsets exists."""
    while ask(sock, find_coordinator(key="group", key_type=0), Api.FIND_COORDINATOR, 2).error_code:
        time.sleep(0.01)


def add_groups(to: Growing, first: int, count: int) -> None:
    offset = commit.Topic.Partition(partition_index=0, committed_offset=1, committed_metadata="")
    topic = commit.Topic(name=place(0)[0], partitions=[offset])
    for number in range(first, first + count):
        answer = ask(to.sock, commit(group_id=f"group-{number}", topics=[topic]), Api.OFFSET_COMMIT, 7)
        assert answer.topics[0].partitions[0].error_code == 0


def add_classic_members(to: Growing, first: int, count: int) -> None:
    """Add members to groups of one member each, so that no member waits for others."""
    protocol = join.Protocol(name="range", metadata=b"\0" * 20)
    for number in range(first, first + count):
        group = f"classic-{number}"
        request = join(
            group_id=group,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = ask(to.sock, request, Api.JOIN_GROUP, 3)
        assignment = sync.Assignment(member_id=joined.member_id, assignment=b"\0" * 20)
        request = sync(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            assignments=[assignment],
        )
        assert ask(to.sock, request, Api.SYNC_GROUP, 2).error_code == 0


def add_consumer_members(to: Growing, first: int, count: int) -> None:
    """Add members of one group."""
    for number in range(first, first + count):
        request = heartbeat(
            group_id="consumer",
            member_id=f"00000000-0000-0000-{number:016}",
            member_epoch=0,
            rebalance_timeout_ms=300_000,
            subscribed_topic_names=[place(0)[0]],
            topic_partitions=[],
        )
        answer = ask(to.sock, request, Api.CONSUMER_GROUP_HEARTBEAT, 0)
        assert answer.error_code == 0, answer.error_message


def add_producers(to: Growing, first: int, count: int) -> None:
    for number in range(first, first + count):
        send(to.sock, batch(0, producer_id=number, producer_epoch=0, base_sequence=0), [0])


MEMORY: dict[str, tuple[int, Callable[[Growing, int, int], None]]] = {
    "connection": (5_000, add_connections),
    "unused partition": (10_000, add_partitions),
    "partition with a record": (10_000, add_used_partitions),
    "group with a committed offset": (5_000, add_groups),
    "classic group with one member": (2_000, add_classic_members),
    "member of a group with the consumer protocol": (500, add_consumer_members),
    "idempotent producer, its batch included": (10_000, add_producers),
}
WARM_UP = 50


def memory(options: Options) -> Iterator[Row]:
    """Memory per object: the growth of the resident memory of a broker."""
    config = {
        "group.initial.rebalance.delay.ms": "0",
        "group.max.session.timeout.ms": "300000",
        "group.consumer.session.timeout.ms": "60000",
        "group.consumer.max.size": "1000",
    }
    for name, (count, add) in MEMORY.items():
        with serving(config) as broker, ExitStack() as kept, broker.connect() as sock:
            make_partitions(sock, 1)
            send(sock, batch(10), range(1))
            wait_for_coordinators(sock)
            growing = Growing(broker, sock, kept)
            add(growing, 0, WARM_UP)
            before, spent_s = broker.memory_mib(), processor_s(broker)
            add(growing, WARM_UP, count)
            spent_us = (processor_s(broker) - spent_s) * 1e6 / count
            kib = (broker.memory_mib() - before) * 1024 / count
        yield Row(f"memory per {name}", "objects", "KiB", {count: (kib, spent_us)})


# Lookup


def lookups(options: Options) -> Iterator[Row]:
    """Timestamp lookup."""
    yield Row("timestamp lookup", "batches", "us", {count: (lookup_us(count), None) for count in BATCHES})


SECTIONS = (partitions, connections, sessions, memory, lookups)


def number(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def show(row: Row) -> None:
    cells = "".join(
        f"{f'{count:,}':>10}: {number(figure)}" + ("" if spent is None else f" ({number(spent)})")
        for count, (figure, spent) in row.figures.items()
    )
    print(f"{row.name + ', ' + row.unit:<66}{cells}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=(__doc__ or "").splitlines()[0])
    names = ", ".join(section.__name__ for section in SECTIONS)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"out of: {names} (default: all)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each run (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the figures to those in this file")
    parser.add_argument("--plot", action="store_true", help="draw docs/images/growth-*.svg")
    options = parser.parse_args(arguments)
    allow_open_files(max(CONNECTIONS) + 500)
    sections = [each for each in SECTIONS if not options.rows or each.__name__ in options.rows]
    if program("rotation") is None:
        sections = [each for each in sections if each not in (partitions, connections)]
    print("figure, in brackets the microseconds of processor time of the broker", flush=True)
    rows: dict[str, Any] = {}
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())
    for section in sections:
        for row in section(Options(options.runs, options.seconds)):
            show(row)
            rows[row.name] = {"of": row.of, "unit": row.unit, "figures": {str(n): f for n, f in row.figures.items()}}
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    if options.plot:
        from .growth_plots import draw

        draw(rows)


if __name__ == "__main__":
    main()
