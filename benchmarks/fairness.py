"""Measure how long one client waits because of others.

In each scenario a separate process sends expensive requests over one or many connections. Meanwhile a probe sends a
small request every few milliseconds, alternately on an open connection and on a new one. The table shows how long the
load took, in seconds, and how long the probe waited, in milliseconds. Every scenario uses only requests that a single
Kafka client may send. With --address a running broker is measured, for example Apache Kafka.

`python -m benchmarks.fairness [SCENARIO ...] [--address HOST:PORT]`
"""

import argparse
import gzip
import multiprocessing
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from struct import unpack_from
from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch, frame_batch
from kafkalet.protocol.records.codecs import Codec

from .brokers import start_kafkalet
from .load import ask, frame

Address = tuple[str, int]
PROBE_PAUSE_S = 0.002
PATIENCE_S = 120.0
MIB = 1 << 20


class Load(NamedTuple):
    """The requests to send over each connection, and the number of responses expected on it."""

    connections: list[tuple[bytes, int]]


def _types(api: Api) -> Any:
    return request_type(api)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _create(address: Address, *names: str, partitions: int = 1, **config: str) -> None:
    create = _types(Api.CREATE_TOPICS)
    configs = [create.Topic.Config(name=name.replace("_", "."), value=value) for name, value in config.items()]
    topics = [
        create.Topic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=configs)
        for name in names
    ]
    with socket.create_connection(address) as sock:
        for topic in ask(sock, create(topics=topics, timeout_ms=60_000), Api.CREATE_TOPICS, 5).topics:
            assert topic.error_code in (Code.NONE, Code.TOPIC_ALREADY_EXISTS), Code(topic.error_code).name
        metadata = _types(Api.METADATA)
        wanted = metadata(topics=[metadata.Topic(name=name) for name in names[:100]])
        while any(topic.error_code for topic in ask(sock, wanted, Api.METADATA, 4).topics):
            time.sleep(0.05)


def _produce(topic: str, batches: list[bytes], version: int = 7, acks: int = 1) -> bytes:
    produce = _types(Api.PRODUCE)
    partitions = [produce.Topic.Partition(index=index, records=batch) for index, batch in enumerate(batches)]
    data = [produce.Topic(name=topic, partition_data=partitions)]
    return frame(produce(acks=acks, timeout_ms=60_000, topic_data=data), Api.PRODUCE, version)


def _records(count: int, value_bytes: int) -> bytes:
    """Return the payload of `count` records that differ only in their offset deltas."""
    return build_batch([Record(index, 0, None, bytes(value_bytes), ()) for index in range(count)])[61:]


def _gzip_batch(payload: bytes, count: int) -> bytes:
    now_ms = _now_ms()
    return frame_batch(
        gzip.compress(payload, 6),
        count,
        attributes=Codec.GZIP,
        base_offset=0,
        last_offset_delta=count - 1,
        leader_epoch=-1,
        base_timestamp=now_ms,
        max_timestamp=now_ms,
    )


# The scenarios


def describe_configs(address: Address) -> Load:
    """30 connections, each with 50 pipelined DescribeConfigs requests for 200 resources."""
    _create(address, "fair-config")
    types = _types(Api.DESCRIBE_CONFIGS)
    resources = [types.Resource(resource_type=2, resource_name="fair-config", configuration_keys=None)] * 200
    request = frame(types(resources=resources), Api.DESCRIBE_CONFIGS, 1)
    return Load([(request * 50, 50)] * 30)


def large_gzip(address: Address) -> Load:
    """One Produce request with 30 gzip batches of 200 MiB (uncompressed) each."""
    _create(address, "fair-gzip", partitions=30)
    payload = _records(200, MIB)
    return Load([(_produce("fair-gzip", [_gzip_batch(payload, 200)] * 30), 1)])


def many_equal_records(address: Address) -> Load:
    """30 Produce requests, each with a 10 kB gzip batch of a million empty records."""
    _create(address, "fair-many")
    payload = _records(1, 0) * 1_000_000
    return Load([(_produce("fair-many", [_gzip_batch(payload, 1_000_000)]) * 3, 3)] * 10)


def small_records(address: Address) -> Load:
    """Three connections, each with 20 Produce requests of a 1 MB batch of minimal records."""
    _create(address, "fair-small")
    count = 100_000
    now_ms = _now_ms()
    batch = build_batch([Record(index, now_ms, None, None, ()) for index in range(count)])
    return Load([(_produce("fair-small", [batch]) * 20, 20)] * 3)


def down_conversion(address: Address) -> Load:
    """Three Fetch v3 requests for a 100 MiB batch, which the broker has to down-convert."""
    _create(address, "fair-down", max_message_bytes=str(200 * MIB))
    now_ms = _now_ms()
    batch = build_batch([Record(index, now_ms, None, bytes(1000), ()) for index in range(98_000)])
    with socket.create_connection(address) as sock:
        sock.sendall(_produce("fair-down", [batch]))
        sock.recv(1 << 16)
    fetch = _types(Api.FETCH)
    partition = fetch.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=200 * MIB)
    topic = fetch.Topic(topic="fair-down", partitions=[partition])
    request = frame(fetch(max_wait_ms=0, min_bytes=0, max_bytes=200 * MIB, topics=[topic]), Api.FETCH, 3)
    return Load([(request, 1)] * 3)


def lookups(address: Address) -> Load:
    """50 ListOffsets requests whose timestamp is that of the last record in a compressed batch of a million records."""
    _create(address, "fair-lookup", max_message_bytes=str(16 * MIB))
    now_ms = _now_ms()
    rows = [Record(index, now_ms + index // 1000, None, None, ()) for index in range(1_000_000)]
    batch = build_batch(rows, codec=Codec.GZIP)
    with socket.create_connection(address) as sock:
        sock.sendall(_produce("fair-lookup", [batch]))
        sock.recv(1 << 16)
    types = _types(Api.LIST_OFFSETS)
    partition = types.Topic.Partition(partition_index=0, timestamp=now_ms + 999)
    topic = types.Topic(name="fair-lookup", partitions=[partition])
    return Load([(frame(types(replica_id=-1, topics=[topic]), Api.LIST_OFFSETS, 7) * 10, 10)] * 5)


def metadata(address: Address) -> Load:
    """10 connections, each with 20 pipelined Metadata requests for 2,000 topics with 5 partitions each."""
    names = [f"fair-meta-{number}" for number in range(2000)]
    for at in range(0, 2000, 500):
        _create(address, *names[at : at + 500], partitions=5)
    types = _types(Api.METADATA)
    return Load([(frame(types(topics=None), Api.METADATA, 5) * 20, 20)] * 10)


def unknown_topics(address: Address) -> Load:
    """A 20 MB Metadata request for 2 million unknown topics."""
    types = _types(Api.METADATA)
    topics = [types.Topic(name=f"no{number:06}") for number in range(2_000_000)]
    return Load([(frame(types(topics=topics, allow_auto_topic_creation=False), Api.METADATA, 5), 1)])


def create_topics(address: Address) -> Load:
    """5 connections, each with 10 CreateTopics requests for 50 topics of 10 partitions."""
    create = _types(Api.CREATE_TOPICS)
    loads = []
    unique = _now_ms()
    for connection in range(5):
        requests = b""
        for batch in range(10):
            topics = [
                create.Topic(
                    name=f"fair-made-{unique}-{connection}-{batch}-{number}",
                    num_partitions=10,
                    replication_factor=1,
                    assignments=[],
                    configs=[],
                )
                for number in range(50)
            ]
            requests += frame(create(topics=topics, timeout_ms=60_000), Api.CREATE_TOPICS, 5)
        loads.append((requests, 10))
    return Load(loads)


def wide_fetch(address: Address) -> Load:
    """10 connections, each with 20 pipelined Fetch requests for 5,000 partitions."""
    _create(address, "fair-wide", partitions=5000)
    fetch = _types(Api.FETCH)
    partitions = [
        fetch.Topic.Partition(partition=index, fetch_offset=0, partition_max_bytes=1000) for index in range(5000)
    ]
    topic = fetch.Topic(topic="fair-wide", partitions=partitions)
    request = frame(fetch(max_wait_ms=0, min_bytes=0, max_bytes=MIB, topics=[topic]), Api.FETCH, 11)
    return Load([(request * 20, 20)] * 10)


def wide_commits(address: Address) -> Load:
    """10 connections, each with 20 pipelined OffsetCommit requests for 5,000 partitions."""
    _create(address, "fair-wide", partitions=5000)
    types = _types(Api.OFFSET_COMMIT)
    each = [
        types.Topic.Partition(partition_index=index, committed_offset=1, committed_metadata="") for index in range(5000)
    ]
    with socket.create_connection(address) as sock:
        while ask(sock, _types(Api.FIND_COORDINATOR)(key="fair", key_type=0), Api.FIND_COORDINATOR, 3).error_code:
            time.sleep(0.05)
    request = frame(
        types(group_id="fair", topics=[types.Topic(name="fair-wide", partitions=each)]), Api.OFFSET_COMMIT, 8
    )
    return Load([(request * 20, 20)] * 10)


def small_requests(address: Address) -> Load:
    """300 connections, each with 1,000 pipelined ApiVersions requests."""
    return Load([(frame(_types(Api.API_VERSIONS)(), Api.API_VERSIONS, 0) * 1000, 1000)] * 300)


SCENARIOS: dict[str, Callable[[Address], Load]] = {
    scenario.__name__: scenario
    for scenario in (
        describe_configs,
        large_gzip,
        many_equal_records,
        small_records,
        down_conversion,
        lookups,
        metadata,
        unknown_topics,
        create_topics,
        wide_fetch,
        wide_commits,
        small_requests,
    )
}


def apply_load(load: Load, address: Address, started: Any) -> None:
    """Send all requests without waiting for responses, then read the responses. Runs in a separate process."""
    waiting = selectors.DefaultSelector()
    for content, answers in load.connections:
        sock = socket.create_connection(address)
        threading.Thread(target=_send, args=(sock, content), daemon=True).start()
        waiting.register(sock, selectors.EVENT_READ, [answers, bytearray()])
    started.set()
    deadline = time.monotonic() + PATIENCE_S
    while waiting.get_map() and time.monotonic() < deadline:
        for key, _ in waiting.select(1):
            sock, state = key.fileobj, key.data
            assert isinstance(sock, socket.socket)
            data = sock.recv(1 << 20)
            state[0] -= _whole_frames(state[1], data)
            if not data or state[0] <= 0:
                waiting.unregister(sock)
                if state[0] > 0:
                    print(f"the broker closed a connection with {state[0]} responses outstanding")


def _send(sock: socket.socket, content: bytes) -> None:
    try:
        sock.sendall(content)
    except OSError as error:
        print(f"the load was not sent: {error}")


def _whole_frames(kept: bytearray, data: bytes) -> int:
    kept += data
    frames = at = 0
    while len(kept) - at >= 4 and len(kept) - at >= 4 + unpack_from(">i", kept, at)[0]:
        at += 4 + unpack_from(">i", kept, at)[0]
        frames += 1
    del kept[:at]
    return frames


def probe(address: Address, until: Callable[[], bool]) -> Iterator[float]:
    """Send ApiVersions requests until `until()` is true; yield the latency of each in milliseconds."""
    request = frame(_types(Api.API_VERSIONS)(), Api.API_VERSIONS, 0)
    with socket.create_connection(address) as steady:
        fresh = False
        while not until():
            began_s = time.perf_counter()
            if fresh:
                with socket.create_connection(address) as sock:
                    _round_trip(sock, request)
            else:
                _round_trip(steady, request)
            yield (time.perf_counter() - began_s) * 1000
            fresh = not fresh
            time.sleep(PROBE_PAUSE_S)


def _round_trip(sock: socket.socket, request: bytes) -> None:
    sock.sendall(request)
    size = unpack_from(">i", sock.recv(4, socket.MSG_WAITALL))[0]
    sock.recv(size, socket.MSG_WAITALL)


def measure(scenario: Callable[[Address], Load], address: Address) -> tuple[float, list[float]]:
    _create(address, "fair-warm")  # imports the API's module, which would slow down its first request
    load = scenario(address)
    processes = multiprocessing.get_context("spawn")
    started = processes.Event()
    process = processes.Process(target=apply_load, args=(load, address, started))
    process.start()
    started.wait()
    began_s = time.perf_counter()
    waits = list(probe(address, lambda: not process.is_alive()))
    process.join()
    return time.perf_counter() - began_s, waits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", help=f"names of scenarios to run, out of: {', '.join(SCENARIOS)}")
    parser.add_argument("--address", help="measure this broker instead of starting kafkalet")
    options = parser.parse_args()
    print(f"{'':<20}{'load, s':>10}{'probes':>10}{'median':>10}{'99 %':>10}{'longest':>10}")
    for name, scenario in SCENARIOS.items():
        if options.scenarios and name not in options.scenarios:
            continue
        broker = None if options.address else start_kafkalet()
        try:
            host, _, port = (options.address or broker.address).rpartition(":")  # type: ignore[union-attr]
            load_s, waits = measure(scenario, (host, int(port)))
        finally:
            if broker is not None:
                broker.stop()
        waits.sort()
        late = waits[int(len(waits) * 0.99)]
        print(
            f"{name:<20}{load_s:>10.1f}{len(waits):>10}{median(waits):>10.1f}{late:>10.1f}{waits[-1]:>10.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
