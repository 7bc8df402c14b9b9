"""The fast path of ListOffsets must give the responses of the general handler, byte for byte."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.broker import context as context_module
from kafkalet.broker.apis import list_offsets
from kafkalet.broker.context import Context
from kafkalet.broker.network.router import Router
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import decode_response_header, request_frame
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed

from .asking import NoClient, as_received
from .changing_log import CHANGES, Log

NEWEST = 11


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2, config={"segment.bytes": 3000}, clock=ManualClock()) as cluster:
        yield cluster


@pytest.fixture
def log(cluster: Cluster) -> Log:
    return Log(cluster)


class Watcher:
    """A connection that looks up an offset of one partition."""

    def __init__(self, log: Log, version: int = 7, timestamp: int = -1, *, repeats: bool = True, **more: Any) -> None:
        """Without `repeats`, all requests are answered by the general handler. `more` are fields of the request."""
        self.router: Router = log.cluster._server.brokers[1].router
        self.context: Context = self.router.context(NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        self.topic, self.version, self.repeats = log.topic, version, repeats
        self.partition = {"partition_index": 0, "timestamp": timestamp}
        self.fields = {"replica_id": -1, **more}
        self.requests = 0

    def ask(self) -> bytes:
        """Return the response to a request."""
        if not self.repeats:
            self.context.repetitions = None
        self.requests += 1
        topics = [{"name": self.topic, "partitions": [self.partition]}]
        request = as_received(Api.LIST_OFFSETS, self.version, {**self.fields, "topics": topics})
        frame = b"".join(request_frame(request, self.version, self.requests, "watcher"))[4:]  # type: ignore[arg-type]
        out: list[Chunk] = []
        size = self.router.route(frame, self.context, out)
        assert not isinstance(size, Delayed)
        data = b"".join(out)  # type: ignore[arg-type]
        assert size == len(data)
        return data


def decoded(data: bytes, version: int) -> Any:
    """Return the partition in a response."""
    _, start = decode_response_header(Api.LIST_OFFSETS, version, data[4:])
    return ListOffsetsResponse.decode(data[4:], version, start).topics[0].partitions[0]


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The timestamps in the requests that reach the general handler."""
    timestamps: list[int] = []
    lookup = list_offsets._Lookup

    def counted(request: ListOffsetsRequest, *arguments: Any) -> Any:
        timestamps.append(request.topics[0].partitions[0].timestamp)
        return lookup(request, *arguments)

    monkeypatch.setattr(list_offsets, "_Lookup", counted)
    return timestamps


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_third_request_for_an_offset_does_not_reach_the_handler(log: Log, version: int, handled: list[int]) -> None:
    watcher = Watcher(log, version)
    found = []

    def watch() -> None:
        for _ in range(4):
            found.append(decoded(watcher.ask(), version).offset)
            log.append(10)

    log.cluster._server.call(watch)
    assert found == [0, 1, 2, 3]
    assert handled == [-1, -1]


def change_timestamp(watcher: Watcher) -> None:
    watcher.partition["timestamp"] = -2


def change_isolation(watcher: Watcher) -> None:
    watcher.fields["isolation_level"] = 1


def change_version(watcher: Watcher) -> None:
    watcher.version = 8


@pytest.mark.parametrize("change", [change_timestamp, change_isolation, change_version])
def test_different_request_reaches_the_handler(log: Log, change: Callable[[Watcher], None], handled: list[int]) -> None:
    watcher = Watcher(log)

    def watch() -> None:
        for _ in range(3):
            watcher.ask()
        change(watcher)
        watcher.ask()

    log.cluster._server.call(watch)
    assert len(handled) == 3


def test_offsets_looked_up_in_deleted_topics_are_forgotten(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_module, "MANY_LOOKED_UP", 2)
    watcher = Watcher(log)
    watcher.context.remember_offset(("deleted", 0), 7)
    log.cluster._server.call(watcher.ask)
    assert watcher.context.looked_up_offsets == {(log.topic, 0): 0}


def test_repetitions_are_remembered_as_looked_up(log: Log) -> None:
    watcher = Watcher(log, timestamp=-2)

    def watch() -> dict[tuple[str, int], int] | None:
        for _ in range(2):
            watcher.ask()
        watcher.context.looked_up_offsets = None
        watcher.ask()
        return watcher.context.looked_up_offsets

    assert log.cluster._server.call(watch) == {(log.topic, 0): 0}


def test_repetition_for_a_deleted_topic_gets_an_error(log: Log) -> None:
    watcher = Watcher(log)
    log.cluster._server.call(lambda: [watcher.ask() for _ in range(3)])
    log.cluster.topic(log.topic).delete()
    data = log.cluster._server.call(watcher.ask)
    assert decoded(data, 7).error_code == Code.UNKNOWN_TOPIC_OR_PARTITION


STEPS = st.one_of(
    CHANGES,
    st.tuples(st.just("ask"), st.integers(1, 3)),
)


@given(
    version=st.integers(1, NEWEST),
    timestamp=st.sampled_from([-5, -4, -3, -2, -1, 0, 1000, 1001, 5000]),
    fields=st.fixed_dictionaries(
        {}, optional={"isolation_level": st.sampled_from([0, 1, 2]), "replica_id": st.sampled_from([-2, 2])}
    ),
    epoch=st.sampled_from([-1, 0, 1]),
    steps=st.lists(STEPS, max_size=15),
)
def test_both_paths_give_the_same_bytes(
    cluster: Cluster,
    version: int,
    timestamp: int,
    fields: dict[str, Any],
    epoch: int,
    steps: list[tuple[str, Any]],
) -> None:
    log = Log(cluster)
    watchers = [Watcher(log, version, timestamp, repeats=repeats, **fields) for repeats in (True, False)]
    for watcher in watchers:
        watcher.partition["current_leader_epoch"] = epoch

    def run() -> None:
        for step, value in [("append", [100, 100]), ("ask", 3), *steps, ("ask", 3)]:
            if step == "ask":
                for _ in range(value):
                    fast, general = (watcher.ask() for watcher in watchers)
                    assert fast == general
            else:
                log.change(step, value)

    cluster._server.call(run)
    cluster.topic(log.topic).delete()
