"""Histories of requests, and what clients see during a history.

A history is a list of steps, each a value. `play` performs them on a cluster and returns what a client saw in each. The
result contains no producer ids, leader epochs or batches: brokers choose ids, a restart changes epochs, and a layout
changes batches.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st

from kafkalet.protocol.errors import Code
from kafkalet_conformance.building import T0, batch, record
from tests.wire.brokers import Plain, Wire

from .layouts import Deployment

TOPIC, GROUP = "t", "g"
PARTITIONS = (0, 1)
TRANSACTIONAL_IDS = ("one", "two")
CODECS = ("none", "none", "gzip", "snappy", "lz4", "zstd")
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
RETRIED = {
    *(Code.UNKNOWN_TOPIC_OR_PARTITION, Code.LEADER_NOT_AVAILABLE, Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_COORDINATOR),
    *(Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE, Code.CONCURRENT_TRANSACTIONS),
    *(Code.NOT_ENOUGH_REPLICAS, Code.UNSTABLE_OFFSET_COMMIT, Code.OFFSET_NOT_AVAILABLE),
}
TIMEOUT_S = 30


class Record(NamedTuple):
    """A record to send. Its timestamp is in milliseconds after T0."""

    timestamp: int
    size: int


@dataclass(frozen=True)
class Send:
    """Produce a batch, in a transaction if there is a transactional id."""

    partition: int
    records: tuple[Record, ...]
    codec: str = "none"
    transactional_id: str | None = None


@dataclass(frozen=True)
class SendAgain:
    """Produce the last batch of a transaction again, as after a lost response."""

    transactional_id: str


@dataclass(frozen=True)
class Init:
    """Start a new producer, which aborts the transaction of the previous one."""

    transactional_id: str


@dataclass(frozen=True)
class End:
    transactional_id: str
    commits: bool


@dataclass(frozen=True)
class DeleteRecords:
    """Delete a share of the records before the last stable offset, in tenths."""

    partition: int
    tenths: int


@dataclass(frozen=True)
class Commit:
    partition: int
    offset: int


@dataclass(frozen=True)
class Look:
    """Read a partition from an offset between the log start offset and the end, in tenths, and look up offsets."""

    partition: int
    tenths: int = 0


Step = Send | SendAgain | Init | End | DeleteRecords | Commit | Look


def histories() -> st.SearchStrategy[list[Step]]:
    """Histories of up to 25 steps."""
    partitions, ids = st.sampled_from(PARTITIONS), st.sampled_from(TRANSACTIONAL_IDS)
    records = st.lists(st.builds(Record, st.integers(0, 50), st.integers(0, 120)), min_size=1, max_size=6).map(tuple)
    sends = st.builds(Send, partitions, records, st.sampled_from(CODECS), st.none() | ids)
    steps = st.one_of(
        sends,
        sends,
        sends,
        st.builds(End, ids, st.booleans()),
        st.builds(SendAgain, ids),
        st.builds(Init, ids),
        st.builds(DeleteRecords, partitions, st.integers(0, 10)),
        st.builds(Commit, partitions, st.integers(0, 30)),
        st.builds(Look, partitions, st.integers(0, 10)),
    )
    return st.lists(steps, min_size=1, max_size=25)


@dataclass
class Producer:
    producer_id: int
    epoch: int
    sequences: dict[int, int] = field(default_factory=dict)
    partitions: set[int] = field(default_factory=set)
    """The partitions of the open transaction; empty if there is none."""
    last: tuple[int, Plain] | None = None
    """The partition and the batch that was sent last in the open transaction."""


def play(history: Sequence[Step], deployment: Deployment) -> list[Any]:
    """Return what a client sees in each step of a history, and in both partitions and the group at the end."""
    player = _Player(deployment)
    seen = [player.perform(number, step) for number, step in enumerate([*history, *map(Look, PARTITIONS)])]
    seen.append(player.committed())
    player.wire.close()
    return seen


class _Player:
    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.wire = Wire(deployment.cluster)
        self.producers: dict[str, Producer] = {}
        self.sent = 0
        deployment.cluster.topic(
            TOPIC,
            partitions=len(PARTITIONS),
            replication_factor=deployment.layout.brokers,
            config=deployment.layout.topic_configs,
        )

    def perform(self, number: int, step: Step) -> Any:
        before = self.deployment.disturbed
        self.deployment.disturb(number)
        if self.deployment.disturbed > before:
            self.wire.forget_connections()
            self.wire.cluster = self.deployment.cluster
        match step:
            case Send():
                return self.send(step)
            case SendAgain(transactional_id):
                producer = self.producers.get(transactional_id)
                return self.produce(*producer.last, transactional_id) if producer and producer.last else None
            case Init(transactional_id):
                return self.init(transactional_id)
            case End(transactional_id, commits):
                return self.end(transactional_id, commits)
            case DeleteRecords():
                return self.delete_records(step)
            case Commit():
                return self.commit(step)
            case Look():
                return self.look(step)

    # Requests, repeated while a broker returns a retriable error

    def leader(self, partition: int) -> int:
        state = self.deployment.cluster._server.metadata.partition(TOPIC, partition)
        assert state is not None
        return state.leader

    def coordinator(self, key: str, key_type: int) -> int:
        body = {"key": key, "key_type": key_type}
        found = self.until(lambda: self.wire.ask("FindCoordinator", 3, body), lambda answer: answer["error_code"])
        return int(found["node_id"])

    def until(self, ask: Callable[[], Plain], code_in: Callable[[Plain], int]) -> Plain:
        """Repeat a request until its response has no error that clients retry."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = ask()
            if code_in(answer) not in RETRIED:
                return answer
            assert time.monotonic() < deadline, f"still {Code(code_in(answer)).name}"
            time.sleep(0.002)

    def ask_leader(self, api: str, version: int, body: Plain, partition: int) -> Plain:
        """Send a request about a partition to its leader, and return the part of the response for this partition."""

        def part(answer: Plain) -> Plain:
            [topic] = answer.get("responses") or answer["topics"]
            [found] = topic["partitions"]
            return dict(found)

        def asked() -> Plain:
            leader = self.leader(partition)
            if leader < 0:
                return {"error_code": Code.LEADER_NOT_AVAILABLE}
            return part(self.wire.ask(api, version, body, leader))

        return self.until(asked, lambda found: found["error_code"])

    def ask_coordinator(self, transactional_id: str, api: str, version: int, body: Plain) -> Plain:
        def asked() -> Plain:
            return self.wire.ask(api, version, body, self.coordinator(transactional_id, 1))

        return self.until(asked, lambda answer: next(_codes(answer)))

    # Producers

    def send(self, step: Send) -> Any:
        records = [record(each.timestamp, {"fill": f"{self.sent + n} ", "size": each.size})
                   for n, each in enumerate(step.records)]  # fmt: skip
        self.sent += len(records)
        sent = batch(*records, codec=step.codec)
        if step.transactional_id is None:
            return self.produce(step.partition, sent)
        if step.transactional_id not in self.producers:
            self.init(step.transactional_id)
        producer = self.producers[step.transactional_id]
        if step.partition not in producer.partitions:
            self.add(step.transactional_id, step.partition)
        sequence = producer.sequences.get(step.partition, 0)
        producer.sequences[step.partition] = sequence + len(records)
        sent |= {"producer_id": producer.producer_id, "producer_epoch": producer.epoch, "base_sequence": sequence}
        producer.last = step.partition, sent | {"transactional": True}
        return self.produce(*producer.last, step.transactional_id)

    def produce(self, partition: int, sent: Plain, transactional_id: str | None = None) -> Any:
        topics = [{"name": TOPIC, "partitions": [{"index": partition, "records": [sent]}]}]
        body = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 10_000, "topics": topics}
        answer = self.ask_leader("Produce", 9, body, partition)
        return answer["error_code"], answer["base_offset"], answer["log_append_time_ms"], answer["log_start_offset"]

    def init(self, transactional_id: str) -> Any:
        body = {"transactional_id": transactional_id, "transaction_timeout_ms": 600_000}
        answer = self.ask_coordinator(transactional_id, "InitProducerId", 4, body)
        self.producers[transactional_id] = Producer(answer["producer_id"], answer["producer_epoch"])
        return answer["error_code"], answer["producer_epoch"]

    def add(self, transactional_id: str, partition: int) -> None:
        producer = self.producers[transactional_id]
        producer.partitions.add(partition)
        body = self._identity(transactional_id) | {"topics": [{"name": TOPIC, "partitions": [partition]}]}
        answer = self.ask_coordinator(transactional_id, "AddPartitionsToTxn", 3, body)
        assert not any(_codes(answer)), answer

    def end(self, transactional_id: str, commits: bool) -> Any:
        producer = self.producers.get(transactional_id)
        if producer is None or not producer.partitions:
            return None
        body = self._identity(transactional_id) | {"committed": commits}
        answer = self.ask_coordinator(transactional_id, "EndTxn", 3, body)
        producer.partitions.clear()
        producer.last = None
        self.until_ended(transactional_id)
        return answer["error_code"]

    def until_ended(self, transactional_id: str) -> None:
        """Wait until the markers are written: as in Kafka, the EndTxn response comes earlier."""

        def asked() -> Plain:
            body = {"transactional_ids": [transactional_id]}
            node = self.coordinator(transactional_id, 1)
            [found] = self.wire.ask("DescribeTransactions", 0, body, node)["transaction_states"]
            is_ending = found["transaction_state"].startswith("Prepare")
            return {"error_code": Code.CONCURRENT_TRANSACTIONS if is_ending else found["error_code"]}

        self.until(asked, lambda answer: answer["error_code"])

    def _identity(self, transactional_id: str) -> Plain:
        producer = self.producers[transactional_id]
        ids = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        return {"transactional_id": transactional_id} | ids

    # Offsets

    def delete_records(self, step: DeleteRecords) -> Any:
        stable = self.list_offset(step.partition, -1, READ_COMMITTED)[1]
        partitions = [{"partition_index": step.partition, "offset": stable * step.tenths // 10}]
        body = {"topics": [{"name": TOPIC, "partitions": partitions}], "timeout_ms": 10_000}
        answer = self.ask_leader("DeleteRecords", 2, body, step.partition)
        return answer["error_code"], answer["low_watermark"]

    def commit(self, step: Commit) -> Any:
        partitions = [{"partition_index": step.partition, "committed_offset": step.offset, "committed_metadata": ""}]
        body = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": TOPIC, "partitions": partitions}],
        }
        node = self.coordinator(GROUP, 0)
        answer = self.until(lambda: self.wire.ask("OffsetCommit", 7, body, node), lambda found: next(_codes(found)))
        return list(_codes(answer))

    def committed(self) -> Any:
        body = {"group_id": GROUP, "topics": None, "require_stable": True}
        node = self.coordinator(GROUP, 0)
        answer = self.until(lambda: self.wire.ask("OffsetFetch", 7, body, node), lambda found: found["error_code"])
        return sorted(
            (each["partition_index"], each["committed_offset"])
            for topic in answer["topics"]
            for each in topic["partitions"]
        )

    # Readers

    def look(self, step: Look) -> Any:
        """Return what both kinds of consumers read from an offset on, and what lookups find."""
        times = [*range(-3, 0), *(T0 + ms for ms in range(0, 52, 3))]
        kinds = READ_UNCOMMITTED, READ_COMMITTED
        found = {
            (time_ms, kind): self.list_offset(step.partition, time_ms, kind) for time_ms in times for kind in kinds
        }
        start, end = found[-2, READ_UNCOMMITTED][1], found[-1, READ_UNCOMMITTED][1]
        first = start + (end - start) * step.tenths // 10
        read = [self.read(step.partition, first, found[-1, kind][1], kind) for kind in kinds]
        return found, first, read

    def list_offset(self, partition: int, timestamp: int, isolation: int) -> tuple[int, int, int]:
        asked = {"partition_index": partition, "timestamp": timestamp}
        body = {"isolation_level": isolation, "topics": [{"name": TOPIC, "partitions": [asked]}]}
        found = self.ask_leader("ListOffsets", 8, body, partition)
        return found["error_code"], found["offset"], found["timestamp"]

    def read(self, partition: int, offset: int, end: int, isolation: int) -> list[Any]:
        """Return the records from an offset to the end as a consumer sees them, in as many requests as that takes."""
        out: list[Any] = []
        while offset < end:
            asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
            body = {"min_bytes": 1, "max_wait_ms": 0, "session_epoch": -1, "isolation_level": isolation}
            topics = [{"topic": TOPIC, "partitions": [asked]}]
            found = self.ask_leader("Fetch", 11, body | {"topics": topics}, partition)
            batches = found["records"]
            assert batches, f"no records at offset {offset}, although the end is {end}"
            out += [entry for entry in visible(batches, found["aborted_transactions"] or []) if entry[0] >= offset]
            offset = batches[-1]["base_offset"] + batches[-1]["last_offset_delta"] + 1
        return out


def visible(batches: list[Plain], aborted: list[Plain]) -> Iterator[tuple[Any, ...]]:
    """Yield the records and markers in batches, without those of the aborted transactions, as a consumer does."""
    starts = sorted((each["first_offset"], each["producer_id"]) for each in aborted)
    skipped: set[int] = set()
    for each in batches:
        while starts and starts[0][0] <= each["base_offset"] + each["last_offset_delta"]:
            skipped.add(starts.pop(0)[1])
        if "control" in each:
            [marker] = each["records"]
            skipped.discard(each["producer_id"])
            yield marker["offset"], marker["marker"]
        elif "transactional" not in each or each["producer_id"] not in skipped:
            for entry in each["records"]:
                yield entry["offset"], entry["ts"], str(entry["value"])


def _codes(answer: Any) -> Iterator[int]:
    """Yield the error codes of a response, with those of its items."""
    if isinstance(answer, dict):
        if "error_code" in answer:
            yield answer["error_code"]
        answer = list(answer.values())
    if isinstance(answer, list):
        for each in answer:
            yield from _codes(each)
