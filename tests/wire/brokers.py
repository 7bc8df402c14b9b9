"""Requests to the brokers of a cluster over real connections, and the responses for a single partition.

Parameters default to neutral values: offset 0, no epoch, no wait, partition 0 of topic "t".
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.storage.log import Log
from kafkalet.testing.cluster import Cluster
from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer

__all__ = ["Closed", "NoAnswer", "Plain", "Wire", "batch", "on_the_wire", "timed"]

Plain = dict[str, Any]
TIMEOUT_S = 60.0
MEBIBYTE = 1 << 20


def batch(*values: bytes, time: int = 1000, **more: Any) -> bytearray:
    """Build a batch of records with these values and consecutive timestamps from `time` on."""
    return bytearray(build_batch(numbered((time + n, None, value, ()) for n, value in enumerate(values)), **more))


def timed(*times: int, **more: Any) -> bytearray:
    """Build a batch of records with these timestamps."""
    return bytearray(build_batch(numbered((time, None, b"v", ()) for time in times), **more))


class Wire:
    """Connections to the brokers of a cluster, opened on first use; requests go to broker 1 by default."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.connections: dict[tuple[int, str], Connection] = {}

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def forget_connections(self) -> None:
        """Close all connections; the next requests open new ones."""
        self.close()
        self.connections.clear()

    def connection(self, node: int = 1, name: str = "") -> Connection:
        """Return the connection with this name to a broker."""
        if (node, name) not in self.connections:
            endpoint = self.cluster._server.nodes[node].endpoint
            self.connections[node, name] = Connection(endpoint.host, endpoint.port)
        return self.connections[node, name]

    def ask(self, api: str, version: int, body: Plain, node: int = 1) -> Plain:
        connection = self.connection(node)
        return connection.receive(connection.send(api, version, body), TIMEOUT_S)

    @contextmanager
    def waiting(self, api: str, version: int, body: Plain, node: int = 1) -> Iterator[Callable[[], Plain]]:
        """Send a request and wait until the broker delays it; yield a function that receives the response."""
        connection = self.connection(node, "waiting")
        sent = connection.send(api, version, body)
        self.until(lambda: len(self.cluster._server.nodes[node].purgatory) == 1)
        yield lambda: connection.receive(sent, TIMEOUT_S)

    def until(self, condition: Callable[[], bool]) -> None:
        """Evaluate a condition in the brokers' event loop until it holds."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self.cluster._server.call(condition):
            assert time.monotonic() < deadline, "the condition did not become true"

    def log(self, topic: str = "t", index: int = 0) -> Log:
        """Return the leader's log, to be used in the brokers' event loop."""
        return self.cluster._server.leadership.leader_of(topic, index).log

    # Produce

    @staticmethod
    def produce_body(
        records: bytes | None, *, version: int = 9, topic: str = "t", index: int = 0, **more: Any
    ) -> Plain:
        partition = {"index": index, "records": None if records is None else [{"raw": bytes(records).hex()}]}
        named = {"topic_id": more.pop("topic_id")} if version >= 13 else {"name": topic}
        return {"acks": 1, "topics": [{**named, "partitions": [partition]}], **more}

    def produce(self, records: bytes | None, *, version: int = 9, node: int = 1, **more: Any) -> Plain:
        answer = self.ask("Produce", version, self.produce_body(records, version=version, **more), node)
        partition: Plain = answer["responses"][0]["partitions"][0]
        return partition

    # Fetch

    @staticmethod
    def fetch_body(
        *,
        version: int = 12,
        topic: str = "t",
        index: int = 0,
        offset: int = 0,
        partition_max_bytes: int = MEBIBYTE,
        wait_ms: int = 0,
        **more: Any,
    ) -> Plain:
        partition = {"partition": index, "fetch_offset": offset, "partition_max_bytes": partition_max_bytes}
        for name in ("current_leader_epoch", "last_fetched_epoch", "log_start_offset"):
            if name in more:
                partition[name] = more.pop(name)
        named = {"topic_id": more.pop("topic_id")} if version >= 13 else {"topic": topic}
        topics = [{**named, "partitions": [partition]}]
        return {"max_wait_ms": wait_ms, "min_bytes": 1, "session_epoch": -1, "topics": topics, **more}

    def fetch(self, *, version: int = 12, node: int = 1, **more: Any) -> Plain:
        answer = self.ask("Fetch", version, self.fetch_body(version=version, **more), node)
        return fetched(answer)

    # ListOffsets

    def list_offset(self, timestamp: int, *, version: int = 8, node: int = 1, **more: Any) -> Plain:
        topic, partition = more.pop("topic", "t"), {"partition_index": more.pop("index", 0), "timestamp": timestamp}
        for name in ("current_leader_epoch", "max_num_offsets"):
            if name in more:
                partition[name] = more.pop(name)
        answer = self.ask(
            "ListOffsets", version, {"topics": [{"name": topic, "partitions": [partition]}], **more}, node
        )
        found: Plain = answer["topics"][0]["partitions"][0]
        return found


def fetched(answer: Plain) -> Plain:
    """Return the response for the only fetched partition."""
    [topic] = answer["responses"]
    [partition] = topic["partitions"]
    return partition


@contextmanager
def on_the_wire(brokers: int = 1, **options: Any) -> Iterator[Wire]:
    """Run a cluster with a topic "t" of one partition, replicated to all brokers, and yield a Wire to it."""
    config = options.pop("topic_config", None)
    with kafkalet.Cluster(brokers, **options) as cluster:
        cluster.topic("t").create(1, config=config, replication_factor=brokers)
        wire = Wire(cluster)
        try:
            yield wire
        finally:
            wire.close()
