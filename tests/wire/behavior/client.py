"""A client for tests: requests in one line, and responses as plain data.

    t = broker.topic()
    broker.produce(t, batch(10, 20, 30))
    assert broker.offset(t, 25 + T0).offset == 2

Timestamps in `batch` are relative to T0. A request for one partition returns that partition of the response.
"""

import itertools
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from kafkalet_conformance.building import MEBIBYTE, NO_RETENTION, T0, batch, filled, merged, record
from kafkalet_conformance.building import at as at
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.playing.connection import Connection
from kafkalet_conformance.playing.player import error_codes
from kafkalet_conformance.playing.target import Target

__all__ = ["MEBIBYTE", "T0", "Client", "Found", "at", "batch", "filled", "record"]

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
COORDINATOR_IS_LOADING = {14, 15, 16, 51}
TIMEOUT_S = 30.0

Step = dict[str, Any]
_numbers = itertools.count()
_run = os.urandom(3).hex()


class Found(NamedTuple):
    """The result of ListOffsets for a partition."""

    error_code: int
    offset: int
    timestamp: int
    leader_epoch: int


NOTHING = Found(0, -1, -1, -1)


class Client:
    def __init__(self, server: Target) -> None:
        self.server = server
        self.connections: dict[str, Connection] = {}
        self.topic_ids: dict[str, str] = {}

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def highest(self, api: str) -> int:
        highest: int = self.server.versions[APIS[api]][1]
        return highest

    def serves(self, api: str, version: int) -> bool:
        low, high = self.server.versions.get(APIS[api], (1, 0))
        return bool(low <= version <= high)

    def connection(self, name: str = "main") -> Connection:
        if name not in self.connections:
            self.connections[name] = self.server.connect(name)
        return self.connections[name]

    def ask(self, api: str, version: int, body: Step, connection: str = "main") -> Step:
        return self.connection(connection).ask(api, version, body)

    def until(self, api: str, version: int, body: Step, good: Any) -> Step:
        """Repeat a request until the response is acceptable."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.ask(api, version, body)
            if good(answer):
                return answer
            assert time.monotonic() < deadline, f"{api} still returns {answer}"
            time.sleep(0.01)

    def topic(self, partitions: int = 1, **configs: Any) -> str:
        """Create a topic and wait for its leaders. The keyword `max_message_bytes` sets max.message.bytes."""
        name = f"b{_run}-{next(_numbers)}"
        given = NO_RETENTION | {key.replace("_", "."): str(value) for key, value in configs.items()}
        made = {"name": name, "num_partitions": partitions, "replication_factor": 1}
        made["configs"] = [{"name": key, "value": value} for key, value in given.items()]
        [answer] = self.ask("CreateTopics", 7, {"topics": [made]})["topics"]
        assert answer["error_code"] == 0, answer
        self.topic_ids[name] = answer["topic_id"]
        for partition in range(partitions):
            body = self.listing(name, LATEST, partition)
            self.until("ListOffsets", 1, body, lambda found: not any(error_codes(found)))
        return name

    def produce(
        self, topic: str, *batches: Step, partition: int = 0, version: int = 9, connection: str = "main", **body: Any
    ) -> Step:
        """Produce, and return the partition of the response."""
        content = {"transactional_id": None, "acks": -1, "timeout_ms": 10000} | body
        content["topics"] = [{"name": topic, "partitions": [{"index": partition, "records": list(batches)}]}]
        answer = self.ask("Produce", version, content, connection)
        found: Step = answer["responses"][0]["partitions"][0]
        return found

    def produced(self, topic: str, *batches: Step, partition: int = 0, **more: Any) -> None:
        """Produce each batch in a separate request, which has to succeed."""
        for each in batches:
            answer = self.produce(topic, each, partition=partition, **more)
            assert answer["error_code"] == 0, answer

    def listing(self, topic: str, timestamp: int, partition: int, **more: Any) -> Step:
        inner = {key: more.pop(key) for key in ("current_leader_epoch", "max_num_offsets") if key in more}
        asked = {"partition_index": partition, "timestamp": timestamp} | inner
        return {"replica_id": -1, "topics": [{"name": topic, "partitions": [asked]}]} | more

    def offset(self, topic: str, timestamp: int, version: int = 7, partition: int = 0, **more: Any) -> Found:
        answer = self.ask("ListOffsets", version, self.listing(topic, timestamp, partition, **more))
        [said] = answer["topics"][0]["partitions"]
        return Found(said["error_code"], said["offset"], said["timestamp"], said.get("leader_epoch", -1))

    def old_offsets(self, topic: str, timestamp: int, limit: int = 10, partition: int = 0) -> list[int]:
        """Return the offsets of ListOffsets v0."""
        body = self.listing(topic, timestamp, partition, max_num_offsets=limit)
        [said] = self.ask("ListOffsets", 0, body)["topics"][0]["partitions"]
        assert said["error_code"] == 0, said
        offsets: list[int] = said["old_style_offsets"]
        return offsets

    def fetch(self, *wanted: Step, version: int = 12, connection: str = "main", **body: Any) -> Step:
        """Fetch partitions made by `at`, and return the whole response."""
        return self.ask("Fetch", version, self.fetching(*wanted, **body), connection)

    def fetching(self, *wanted: Step, **body: Any) -> Step:
        return {"max_wait_ms": 0, "min_bytes": 0, "topics": merged(wanted)} | body

    def fetched(self, *wanted: Step, **more: Any) -> Step:
        """Fetch one partition, and return that partition of the response."""
        [topic] = self.fetch(*wanted, **more)["responses"]
        [said] = topic["partitions"]
        found: Step = said
        return found

    def values(self, *wanted: Step, **more: Any) -> list[Any]:
        """Fetch one partition, and return the values of its records without control records."""
        return values(self.fetched(*wanted, **more))

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> Step:
        asked = {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
        [said] = self.ask("DeleteRecords", 2, {"topics": [asked], "timeout_ms": 10000})["topics"][0]["partitions"]
        found: Step = said
        return found

    def producer_id(self) -> int:
        body = {"transactional_id": None, "transaction_timeout_ms": 60000}
        answer = self.until("InitProducerId", 3, body, lambda said: said["error_code"] not in COORDINATOR_IS_LOADING)
        assert answer["error_code"] == 0, answer
        number: int = answer["producer_id"]
        return number

    def timed(self, *wanted: Step, **more: Any) -> tuple[float, Step]:
        """Return the duration of a fetch in milliseconds, and its response."""
        began = time.monotonic()
        answer = self.fetch(*wanted, **more)
        return (time.monotonic() - began) * 1000, answer


def values(partition: Step) -> list[Any]:
    records = [record for entry in partition["records"] for record in entry.get("records", [])]
    return [record["value"] for record in records if "value" in record]


def partitions(answer: Step) -> list[tuple[str, int]]:
    """Return the partitions of a Fetch response, in order."""
    return [(t["topic"], p["partition_index"]) for t in answer["responses"] for p in t["partitions"]]


def codes(answer: Step) -> Sequence[int]:
    """Return the error codes of the partitions of a response."""
    topics = answer["responses"] if "responses" in answer else answer["topics"]
    return [p["error_code"] for t in topics for p in t["partitions"]]
