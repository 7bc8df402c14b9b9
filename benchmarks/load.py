"""The load of the benchmarks: raw requests that are encoded once and sent repeatedly over sockets.

A client library would measure its own speed. Here a request is encoded before the clock starts, and responses are only
counted (pump.py). The programs in peers/ put load on the simple requests, and share no code with kafkalet.
"""

import socket
import time
from collections.abc import Callable
from struct import unpack_from
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch

Measure = Callable[[tuple[str, int], float], float]
"""Puts a load on the broker at an address for a number of seconds, and returns the figure."""

TOPIC = "bench"
SMALL_TOPIC = "bench-small"  # one record per batch: a Fetch returns its first batch whole, even if too large
RECORD_BYTES = 1024
RECEIVE_BYTES = 1 << 20


def frame(request: Any, api: Api, version: int) -> bytes:
    """Encode a request as a frame with its header and size."""
    pieces: list[Any] = request_frame(request, version, 7, "bench")
    return b"".join(pieces)


def ask(sock: socket.socket, request: Any, api: Api, version: int) -> Any:
    """Send one request and return the decoded response."""
    sock.sendall(frame(request, api, version))
    data = bytearray()
    while len(data) < 4 or len(data) < 4 + unpack_from(">i", data)[0]:
        received = sock.recv(RECEIVE_BYTES)
        if not received:
            raise SystemExit(f"the broker closed the connection on {api}")
        data += received
    return decode_response(api, version, data[4:]).response


# Requests, in versions that both Apache Kafka 3.9 and kafkalet support


def list_offsets() -> bytes:
    types = request_type(Api.LIST_OFFSETS)
    partition = types.Topic.Partition(partition_index=0, timestamp=-1)  # type: ignore[attr-defined]
    topic = types.Topic(name=TOPIC, partitions=[partition])  # type: ignore[attr-defined]
    return frame(types(replica_id=-1, topics=[topic]), Api.LIST_OFFSETS, 7)


def fetch_request(offset: int, max_bytes: int, name: str = TOPIC) -> Any:
    types = request_type(Api.FETCH)
    partition = types.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)  # type: ignore[attr-defined]
    topic = types.Topic(topic=name, partitions=[partition])  # type: ignore[attr-defined]
    return types(max_wait_ms=500, min_bytes=1, max_bytes=max_bytes, topics=[topic])


def produce_request(batch_bytes: int, name: str = TOPIC) -> bytes:
    now_ms = time.time_ns() // 1_000_000  # retention would delete older records during a run
    records = [
        Record(index, now_ms, None, bytes([65 + index % 26]) * (RECORD_BYTES - 8), ())
        for index in range(max(batch_bytes // RECORD_BYTES, 1))
    ]
    types = request_type(Api.PRODUCE)
    partition = types.Topic.Partition(index=0, records=build_batch(records))  # type: ignore[attr-defined]
    topic = types.Topic(name=name, partition_data=[partition])  # type: ignore[attr-defined]
    return frame(types(acks=1, timeout_ms=10_000, topic_data=[topic]), Api.PRODUCE, 7)


def fetch(max_bytes: int, name: str = TOPIC) -> Callable[[], bytes]:
    return lambda: frame(fetch_request(0, max_bytes, name), Api.FETCH, 11)
