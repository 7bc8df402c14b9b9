"""Sessions must get the same responses at the same time, whether or not quiet partitions are read."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.broker.apis import fetch, fetch_partitions
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.broker.network.router import Router
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import decode_response_header, request_frame
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange
from kafkalet.storage.values import Origin
from kafkalet.tasks.delayed import Delayed
from tests.wire.brokers import batch

from .asking import NoClient, as_received

TOPICS = count()
PARTITIONS = 4
WAIT_MS = 1000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2, config={"segment.bytes": 3000}, clock=ManualClock()) as cluster:
        yield cluster


class Consumer:
    """A fetch session over the partitions of a topic. Methods must be called in the thread of the cluster."""

    def __init__(self, cluster: Cluster, topic: str, version: int, *, leaves_out_quiet: bool, **fields: Any) -> None:
        """Without `leaves_out_quiet`, all partitions are read."""
        self.router: Router = cluster._server.brokers[1].router
        self.context: Context = self.router.context(NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        self.topic = topic
        self.topic_id = cluster._server.metadata.topics[topic].topic_id
        self.version = version
        self.leaves_out_quiet = leaves_out_quiet
        self.fields: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
        self.session_id = self.session_epoch = 0
        self.offsets = dict.fromkeys(range(PARTITIONS), 0)
        self.asked: dict[int, int] = {}
        """The offset of each partition that the session knows."""
        self.waiting: Delayed[Any] | None = None
        self.response = b""

    def fetch(self, forgotten: int | None = None) -> None:
        """Send a request with the partitions whose offsets have changed. `response` is empty while it waits."""
        changed = {index: offset for index, offset in self.offsets.items() if self.asked.get(index) != offset}
        if forgotten is not None:
            changed.pop(forgotten, None)
            self.asked.pop(forgotten, None)
        self.asked |= changed
        name = {"topic": self.topic, "topic_id": self.topic_id}
        partitions = [
            {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1000}
            for index, offset in changed.items()
        ]
        body = {
            **self.fields,
            "session_id": self.session_id,
            "session_epoch": self.session_epoch,
            "topics": [{**name, "partitions": partitions}] if partitions else [],
            "forgotten_topics_data": [] if forgotten is None else [{**name, "partitions": [forgotten]}],
        }
        request = as_received(Api.FETCH, self.version, body)
        frame = b"".join(request_frame(request, self.version, 1, "consumer"))[4:]  # type: ignore[arg-type]
        self.context.repetitions = None
        out: list[Chunk] = []
        self.response = b""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                fetch_partitions, "MOST_PARTITIONS", fetch_partitions.MOST_PARTITIONS if self.leaves_out_quiet else -1
            )
            answer = self.router.route(frame, self.context, out)
        if isinstance(answer, int):
            self._receive(out)
        else:
            self.waiting = answer
            answer.then(lambda response: self._finish(response, out))

    def _finish(self, response: Any, out: list[Chunk]) -> None:
        self.router.encode_delayed(response, self.context, out)
        self._receive(out)

    def _receive(self, out: list[Chunk]) -> None:
        self.waiting = None
        data = b"".join(piece.read() if isinstance(piece, FileRange) else piece for piece in out)  # type: ignore[misc]
        answer = self.decoded(data)
        if answer.error_code:
            self.session_id = self.session_epoch = 0
            self.asked.clear()
        else:
            self.response = data
            if answer.session_id:
                self.response = data.replace(answer.session_id.to_bytes(4, "big"), bytes(4), 1)
            self.session_id, self.session_epoch = answer.session_id, self.session_epoch + 1
        for topic in answer.responses:
            for one in topic.partitions:
                found = [entry.next_offset for entry in batches(bytes(one.records or b""))]  # type: ignore[arg-type]
                self.offsets[one.partition_index] = found[-1] if found else self.offsets[one.partition_index]
                if one.error_code == Code.OFFSET_OUT_OF_RANGE:
                    self.offsets[one.partition_index] = max(one.log_start_offset, 0)

    def decoded(self, data: bytes) -> FetchResponse:
        _, start = decode_response_header(Api.FETCH, self.version, data[4:])
        return FetchResponse.decode(data[4:], self.version, start)


class Topic:
    """A topic whose partitions change."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = f"quiet{next(TOPICS)}"
        cluster.topic(self.name).create(PARTITIONS, assignments=[[1]] * PARTITIONS)
        self.sequences = [0] * PARTITIONS

    def change(self, step: str, index: int) -> None:
        leader: Partition = self.cluster._server.nodes[1].partitions[self.name, index]
        log = leader.log
        if not leader.is_leader and step != "elect":
            return
        match step:
            case "append":
                leader.append(batch(b"x" * 300))
            case "large":
                leader.append(batch(b"x" * 2500))
            case "transaction":
                producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": self.sequences[index]}
                self.sequences[index] += 1
                leader.append(batch(b"t" * 100, is_transactional=True, **producer))
            case "abort" if log.has_open_transaction(7):
                marker = build_end_marker(EndMarker(ControlType.ABORT, 0), timestamp=1, producer_id=7, producer_epoch=0)
                leader.append(bytearray(marker), Origin.COORDINATOR)
            case "delete records":
                leader.delete_records(-1)
            case "truncate" if not log.has_open_transaction(7):
                leader.truncate(log.log_start_offset)
                self.sequences[index] = 0
            case "elect":
                leader.state.change_leader(1)
            case "lose leader":
                leader.state.change_leader(2)
            case "delete topic":
                self.cluster._server.controller.delete_topic(self.name)


CHANGES = ("append", "append", "large", "transaction", "abort", "delete records", "truncate", "elect", "lose leader")
STEPS = st.one_of(
    st.tuples(st.sampled_from(CHANGES), st.integers(0, PARTITIONS - 1)),
    st.tuples(st.sampled_from(["fetch", "fetch", "fetch", "wait"]), st.none()),
    st.tuples(st.just("forget"), st.integers(0, PARTITIONS - 1)),
    st.tuples(st.just("advance"), st.integers(1, WAIT_MS)),
)


@given(
    version=st.integers(10, 18),
    fields=st.fixed_dictionaries(
        {},
        optional={
            "min_bytes": st.sampled_from([0, 1, 900]),
            "max_bytes": st.sampled_from([400, 1 << 20]),
            "isolation_level": st.sampled_from([0, 1]),
        },
    ),
    steps=st.lists(STEPS, max_size=20),
    ends_with_deletion=st.booleans(),
)
def test_responses_do_not_depend_on_setting_quiet_partitions_aside(
    cluster: Cluster, version: int, fields: dict[str, Any], steps: list[tuple[str, Any]], ends_with_deletion: bool
) -> None:
    topic = Topic(cluster)
    call = cluster._server.call
    consumers = [Consumer(cluster, topic.name, version, leaves_out_quiet=yes, **fields) for yes in (True, False)]

    def each(action: Callable[[Consumer], object]) -> None:
        call(lambda: [action(consumer) for consumer in consumers])

    def compare() -> None:
        purgatories = [node.purgatory for node in cluster._server.nodes.values()]
        while call(lambda: any(purgatory.is_checking for purgatory in purgatories)):
            pass  # requests that have been touched are checked in several turns on a busy machine
        one, other = consumers
        assert (one.waiting is None) == (other.waiting is None)
        assert one.response == other.response
        assert one.offsets == other.offsets

    last = [("wait", None), ("delete topic", 0)] if ends_with_deletion else [("wait", None)]
    for step, value in [("fetch", None), ("fetch", None), *steps, ("fetch", None), *last, ("advance", WAIT_MS)]:
        if step == "advance":
            clock = cluster._server.clock
            assert isinstance(clock, ManualClock)
            call(partial(clock.advance, milliseconds=value))
        elif step in ("fetch", "wait", "forget"):
            if consumers[0].waiting is None:
                for consumer in consumers:
                    consumer.fields["max_wait_ms"] = WAIT_MS if step == "wait" else 0
                each(lambda consumer, forgotten=value: consumer.fetch(forgotten))
        else:
            call(partial(topic.change, step, value))
        compare()
    if not ends_with_deletion:
        cluster.topic(topic.name).delete()
    consumers[0].context.broker.fetch_sessions.sessions.clear()  # their number is limited


def test_quiet_partitions_are_not_read(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic(cluster)
    consumer = Consumer(cluster, topic.name, 12, leaves_out_quiet=True)
    read: list[int] = []

    class Counted(fetch._Fetch):
        def _read_partition(self, key: Any, *arguments: Any) -> Any:
            read.append(key[2])
            return super()._read_partition(key, *arguments)

    monkeypatch.setattr(fetch, "_Fetch", Counted)
    cluster._server.call(consumer.fetch)
    cluster._server.call(lambda: topic.change("append", 2))
    read.clear()
    cluster._server.call(consumer.fetch)
    assert read == [2]
