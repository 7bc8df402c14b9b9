"""Build the steps of a scenario or of a history: its preparation and its requests.

Timestamps are relative to `T0`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkalet_conformance.notation.messages import APIS

T0 = 1_600_000_000_000
NO_RETENTION = {"retention.ms": "-1", "segment.ms": "9000000000000"}
MEBIBYTE = 1 << 20
UNKNOWN_TOPIC_ID = "0f0f0f0f-1111-4222-8333-444455556666"
BROKERS = (1, 2, 3)
"""The ids of the brokers, where several are needed."""
COORDINATOR_ERRORS = [14, 15, 16]
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR: requests are sent again."""
TRANSACTION_ERRORS = [*COORDINATOR_ERRORS, 51]
"""The same, and CONCURRENT_TRANSACTIONS: the previous transaction has not ended yet."""
NOT_LEADER = 6

Step = dict[str, Any]


def record(ts: int | str = 0, value: Any = "x", key: Any = None, headers: Sequence[Any] = (), **more: Any) -> Step:
    """Return a record; an integer `ts` is in milliseconds after T0, a string is the name of a bound value."""
    out = {"ts": T0 + ts if isinstance(ts, int) else ts, "key": key, "value": value} | more
    return out | ({"headers": [list(header) for header in headers]} if headers else {})


def batch(*records: int | Step, value: Any = None, **fields: Any) -> Step:
    """Return a batch. An integer stands for a record with that timestamp, whose value is `value` or, by default, its
    index.
    """
    made = [record(r, f"v{n}" if value is None else value) if isinstance(r, int) else r for n, r in enumerate(records)]
    return {"magic": 2, "records": made} | fields


def filled(ts: int, size: int, fill: str = "x", **fields: Any) -> Step:
    """Return a batch of one record with a value of `size` bytes; for sizes below 54, the batch has 68 bytes more."""
    return batch(record(ts, {"fill": fill, "size": size}), **fields)


SMALL, LARGE = 300, 1 << 20
"""The segment size that releases before 4.0 accept, and the minimum since 4.0 (KIP-1030), in bytes."""


class ScenarioBuilder:
    """Collects the steps of a scenario for one release."""

    def __init__(self, name: str, release: str, versions: dict[int, tuple[int, int]]) -> None:
        self.name, self.release, self.served = name, release, versions
        self.steps: list[Step] = []

    def versions(self, api: str, low: int = 0, high: int = 99) -> range:
        """Return the versions of an API that the release supports, within bounds."""
        first, last = self.served.get(APIS[api], (0, -1))
        return range(max(first, low), min(last, high) + 1)

    def step(self, op: str, **fields: Any) -> None:
        """Add a step."""
        self.steps.append({"op": op} | fields)

    def let(self, name: str, value: Any) -> str:
        """Bind a value to a name. Return the notation of the name, such as `$t`."""
        self.step("let", name=name, value=value)
        return f"${name}"

    def unique(self, name: str) -> str:
        """Bind a name to a unique one for a topic, a group or an id of this scenario. Return its notation."""
        return self.let(name, f"c<unique>.{self.name}.{name}")

    def unknown_topic(self, name: str = "nope") -> str:
        """Bind the name of a topic that does not exist. Return the notation of the name."""
        return self.let(name, "does-not-exist-<unique>")

    def broker(self, node: int, do: str, **more: Any) -> None:
        """Stop, kill, pause, resume or start a broker, or cut it off from peers, or reconnect it."""
        self.step("broker", node=node, do=do, **more)

    def request(self, case: str, api: str, version: int, body: Step, **more: Any) -> None:
        """Add a request whose response is compared."""
        self.step("request", case=case, api=api, version=version, body=body, **more)

    def each_version(self, api: str, cases: Mapping[str, Step], low: int = 0, high: int = 99, **more: Any) -> None:
        """Add the same requests in each version within bounds; "#" in the name of a case stands for the version."""
        for version in self.versions(api, low, high):
            for case, body in cases.items():
                self.request(case.replace("#", str(version)), api, version, body, **more)

    def setup(self, api: str, version: int, body: Step, **more: Any) -> None:
        """Add a request that prepares the scenario, and that must succeed."""
        self.step("request", setup=True, api=api, version=version, body=body, **{"must_succeed": True} | more)

    def send(self, name: str, api: str, version: int, body: Step, conn: str) -> None:
        """Send a request on a separate connection; `receive` reads the response."""
        self.step("send", id=name, api=api, version=version, body=body, conn=conn)

    def raw(self, case: str, data: bytes, framed: bool = True, timeout_ms: int = 1500, **more: Any) -> None:
        """Send bytes and compare what the broker sends back; with `framed`, their size is sent first."""
        self.step("raw", case=case, hex=data.hex(), framed=framed, timeout_ms=timeout_ms, **more)

    def receive(self, case: str, name: str, **more: Any) -> None:
        """Compare the response to the request that `send` added with this name."""
        sent = next(step for step in reversed(self.steps) if step["op"] == "send" and step["id"] == name)
        self.step("receive", case=case, id=name, api=sent["api"], **more)

    def pending(self, case: str, name: str, wait_ms: int = 100) -> None:
        """Compare whether a response arrives within `wait_ms`."""
        self.step("is_pending", case=case, id=name, wait_ms=wait_ms)

    def coordinator(self, key: str, kind: int = 0) -> None:
        """Wait until the coordinator of a group (0) or transactional id (1) is available and has loaded its state."""
        self.until("FindCoordinator", 2, {"key": key, "key_type": kind}, "error_code", 0)
        self.steps[-1]["timeout_ms"] = 40000
        if kind == 0:
            self.setup("DescribeGroups", 0, {"groups": [key]}, retry_errors=COORDINATOR_ERRORS)
        else:
            asked = {"transactional_ids": [key]}
            self.setup("DescribeTransactions", 0, asked, retry_errors=COORDINATOR_ERRORS, must_succeed=False)

    def group(self, name: str = "g") -> str:
        """Bind the id of a new group, and wait until its coordinator is available. Return the notation of the id."""
        group = self.unique(name)
        self.coordinator(group)
        return group

    def transactional_id(self, name: str = "X1") -> str:
        """Bind a new transactional id, and wait until its coordinator is available. Return the notation of the id."""
        transactional_id = self.unique(name)
        self.coordinator(transactional_id, 1)
        return transactional_id

    def until(self, api: str, version: int, body: Step, path: str, equals: Any) -> None:
        """Repeat a request until the value at `path` of the response equals `equals`."""
        more = {"path": path, "equals": equals, "timeout_ms": 15000}
        self.step("poll_until", setup=True, api=api, version=version, body=body, **more)

    def wait_for_leader(self, topic: str, partitions: int = 1) -> None:
        """Wait until each partition of a topic has a leader."""
        for partition in range(partitions):
            body = {"replica_id": -1, "topics": [one(topic, partition_index=partition, timestamp=-1)]}
            self.until("ListOffsets", 1, body, "topics.0.partitions.0.error_code", 0)

    def topic(self, name: str = "t", partitions: int = 1, **configs: Any) -> str:
        """Create a topic; a keyword such as `max_message_bytes=1000` sets the configuration max.message.bytes."""
        topic = self.unique(name)
        given = NO_RETENTION | {key.replace("_", "."): str(value) for key, value in configs.items()}
        made = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
        made["configs"] = [{"name": key, "value": value} for key, value in given.items()]
        self.setup("CreateTopics", 5, {"topics": [made]})
        if 7 in self.versions("CreateTopics"):
            self.steps[-1] |= {"version": 7, "bind": {f"{name}.id": "topics.0.topic_id"}}
        self.wait_for_leader(topic, partitions)
        return topic

    def spread_topic(self, name: str, *replicas: list[int], **configs: Any) -> str:
        """Create a topic whose partitions have these replicas, and wait until every broker knows it."""
        topic = self.unique(name)
        made: Step = {"name": topic, "num_partitions": -1, "replication_factor": -1}
        made["assignments"] = [{"partition_index": index, "broker_ids": nodes} for index, nodes in enumerate(replicas)]
        made["configs"] = [{"name": key.replace("_", "."), "value": str(value)} for key, value in configs.items()]
        bind = {f"{name}.id": "topics.0.topic_id"}
        self.setup("CreateTopics", 7, {"topics": [made], "timeout_ms": 30000, "validate_only": False}, bind=bind)
        for index, nodes in enumerate(replicas):
            self.wait_for_leader_everywhere(topic, nodes[0], index)
        return topic

    def wait_for_leader_everywhere(self, topic: str, leader: int, index: int = 0) -> None:
        """Wait until each of three brokers knows that this one leads the partition."""
        for node in BROKERS:
            asked = {"replica_id": -1, "topics": [one(topic, partition_index=index, timestamp=-1)]}
            error = 0 if node == leader else NOT_LEADER
            self.until("ListOffsets", 1, asked, "topics.0.partitions.0.error_code", error)
            self.steps[-1]["conn"] = f"at-{node}"

    def small_segments(self) -> dict[str, Any]:
        """Return the configuration for the smallest segments that the release allows."""
        return {"segment_bytes": SMALL if self.release < "4" else LARGE}

    def fill(self, size: int) -> Step:
        """Return a value that fills a smallest segment to the same fraction to which `size` bytes fill 300 bytes."""
        return {"fill": "s", "size": size if self.release < "4" else size * LARGE // SMALL}

    def produce(
        self, topic: str, *batches: Step, partition: int = 0, case: str = "", version: int = 0, **body: Any
    ) -> None:
        """Produce batches in one request. Without `case`, its response is not compared."""
        magic = max((batch.get("magic", 2) for batch in batches), default=2)
        version = version or {0: 1, 1: 2, 2: 9}[magic]
        content = {"transactional_id": None, "acks": -1, "timeout_ms": 10000} | body
        content["topics"] = [{"name": topic, "partitions": [{"index": partition, "records": list(batches)}]}]
        if case:
            self.request(case, "Produce", version, content)
        else:
            self.setup("Produce", version, content)

    def produce_each(self, topic: str, batches: Iterable[Step], **more: Any) -> None:
        """Produce each batch in its own request."""
        for one_batch in batches:
            self.produce(topic, one_batch, **more)

    def time(self, case: str, topic: str, ts: int, version: int = 5, **more: Any) -> None:
        """Send ListOffsets for `ts` milliseconds after T0, or for a special timestamp if `ts` is negative."""
        self.offsets(case, topic, T0 + ts if ts >= 0 else ts, version, **more)

    def offsets(self, case: str, topic: str, timestamp: Any, version: int = 5, partition: int = 0, **more: Any) -> None:
        """Send ListOffsets for one partition; other keywords are fields of the request."""
        inner = {key: more.pop(key) for key in ("current_leader_epoch", "max_num_offsets") if key in more}
        asked = one(topic, partition_index=partition, timestamp=timestamp, **inner)
        self.request(case, "ListOffsets", version, {"replica_id": -1, "topics": [asked]} | more)

    def fetch(self, case: str, *wanted: Step, version: int = 11, timing: bool = False, **body: Any) -> None:
        """Send a Fetch request for the topics in `wanted` (see `at`)."""
        content = self.fetching(*wanted, **body)
        more = {"timing_max_wait_ms": content["max_wait_ms"]} if timing else {}
        self.request(case, "Fetch", version, content, **more)

    def fetching(self, *wanted: Step, **body: Any) -> Step:
        """Return the body of a Fetch request for the topics in `wanted` (see `at`)."""
        return {"max_wait_ms": 0, "min_bytes": 0, "topics": merged(wanted)} | body

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the records before an offset."""
        asked = {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
        self.setup("DeleteRecords", self.versions("DeleteRecords")[-1], {"topics": [asked], "timeout_ms": 10000})

    def producer(self, name: str = "P1") -> str:
        """Allocate a producer id without a transactional id."""
        body = {"transactional_id": None, "transaction_timeout_ms": 60000}
        bind = {name: "producer_id", name.replace("P", "E"): "producer_epoch"}
        self.setup("InitProducerId", 3, body, bind=bind, retry_errors=TRANSACTION_ERRORS)
        return f"${name}"

    def transaction(self, topic: str, name: str = "X1", partitions: Sequence[int] = (0,)) -> Step:
        """Initialize a transactional producer, add partitions, and return the fields that its batches need."""
        xid = self.unique(name)
        self.until("FindCoordinator", 2, {"key": xid, "key_type": 1}, "error_code", 0)
        self.steps[-1]["timeout_ms"] = 40000
        self.init_producer(name)
        self.add_partitions(topic, name, partitions)
        return {"producer_id": f"$P{name[1:]}", "producer_epoch": f"$E{name[1:]}", "transactional": True}

    def init_producer(self, name: str = "X1", timeout_ms: int = 600_000) -> None:
        """Initialize a producer with the transactional id that is bound to a name; of_producer has its id and epoch."""
        body = {"transactional_id": f"${name}", "transaction_timeout_ms": timeout_ms}
        bind = {f"P{name[1:]}": "producer_id", f"E{name[1:]}": "producer_epoch"}
        self.setup("InitProducerId", 3, body, bind=bind, retry_errors=TRANSACTION_ERRORS)

    def add_partitions(self, topic: str, name: str = "X1", partitions: Sequence[int] = (0,)) -> None:
        """Add partitions to the transaction of a producer."""
        body = self.of_producer(name) | {"topics": [{"name": topic, "partitions": list(partitions)}]}
        self.setup("AddPartitionsToTxn", 3, body, retry_errors=TRANSACTION_ERRORS)

    def add_offsets(self, group: str, name: str = "X1") -> None:
        """Add the offsets of a group to the transaction of a producer."""
        body = self.of_producer(name) | {"group_id": group}
        self.setup("AddOffsetsToTxn", 3, body, retry_errors=TRANSACTION_ERRORS)

    def end(self, name: str = "X1", committed: bool = True) -> None:
        """Commit or abort the transaction of a producer."""
        self.setup("EndTxn", 3, self.of_producer(name) | {"committed": committed}, retry_errors=TRANSACTION_ERRORS)

    def of_producer(self, name: str) -> Step:
        """Return the fields that identify a transactional producer in requests."""
        return {"transactional_id": f"${name}", "producer_id": f"$P{name[1:]}", "producer_epoch": f"$E{name[1:]}"}

    def stable_at(self, topic: str, offset: int, partition: int = 0) -> None:
        """Wait until the last stable offset is `offset`."""
        asked = [one(topic, partition_index=partition, timestamp=-1)]
        body = {"replica_id": -1, "isolation_level": 1, "topics": asked}
        self.until("ListOffsets", 2, body, "topics.0.partitions.0.offset", offset)


def one(topic: str, **partition: Any) -> Step:
    """Return a topic with one partition, in the form that requests have."""
    return {"name": topic, "partitions": [partition]}


def at(topic: str, offset: Any = 0, partition: int = 0, max_bytes: int = MEBIBYTE, **more: Any) -> Step:
    """Return one partition of a Fetch request; a name such as `$t.id` is sent as a topic id."""
    field = "topic_id" if topic.endswith(".id") or topic == "ZERO" else "topic"
    asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes} | more
    return {field: topic, "partitions": [asked]}


def merged(wanted: Iterable[Step]) -> list[Step]:
    """Merge adjacent entries of the same topic."""
    out: list[Step] = []
    for topic in wanted:
        if out and {**out[-1], "partitions": 0} == {**topic, "partitions": 0}:
            out[-1] = {**topic, "partitions": out[-1]["partitions"] + topic["partitions"]}
        else:
            out.append(topic)
    return out


def subscription(*topics: str, owned: dict[str, Any] | None = None, **fields: Any) -> Step:
    """Return the metadata of a classic member of a consumer group."""
    held = [{"topic": topic, "partitions": list(partitions)} for topic, partitions in (owned or {}).items()]
    body = {"version": 3, "topics": list(topics), "owned_partitions": held, "generation_id": -1, "rack_id": None}
    return {"subscription": body | fields}


def protocols(*topics: str, name: str = "range", **more: Any) -> list[Step]:
    """Return the protocols of a classic member that subscribes to these topics."""
    return [{"name": name, "metadata": subscription(*topics, **more)}]
