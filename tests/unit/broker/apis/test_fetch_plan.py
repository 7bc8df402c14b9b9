"""The fast path of Fetch must give the responses of the general handler, byte for byte."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.broker.apis import fetch
from kafkalet.broker.context import Context
from kafkalet.broker.network.router import Router
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import decode_response_header, request_frame
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange

from .asking import NoClient, as_received
from .changing_log import CHANGES, Log

NEWEST = 18


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2, config={"segment.bytes": 3000}, clock=ManualClock()) as cluster:
        yield cluster


class Reader:
    """A connection that reads one partition."""

    def __init__(self, cluster: Cluster, topic: str, *, repeats: bool = True, **fields: Any) -> None:
        """Without `repeats`, all requests are answered by the general handler."""
        self.router: Router = cluster._server.brokers[1].router
        self.context: Context = self.router.context(NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        self.topic = topic
        self.topic_id = cluster._server.metadata.topics[topic].topic_id
        self.repeats = repeats
        self.names_partition = True
        self.requests = 0
        self.session_id = 0
        self.session_epoch = -1
        self.client_id: str | None = "reader"
        self.fields: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
        self.partition: dict[str, Any] = {"partition_max_bytes": 1000}

    def open_session(self) -> None:
        self.session_id = self.session_epoch = 0

    def fetch(self, offset: int, version: int = 12) -> bytes:
        """Return the response to a Fetch request, with session id 0."""
        if not self.repeats:
            self.context.repetitions = None
        self.requests += 1
        partition = {"partition": 0, "fetch_offset": offset, **self.partition}
        topic = {"topic": self.topic, "topic_id": self.topic_id, "partitions": [partition]}
        session = {"session_id": self.session_id, "session_epoch": self.session_epoch}
        request = as_received(Api.FETCH, version, {**self.fields, **session, "topics": [topic] * self.names_partition})
        frame = b"".join(request_frame(request, version, self.requests, self.client_id))[4:]  # type: ignore[arg-type]
        out: list[Chunk] = []
        size = self.router.route(frame, self.context, out)
        data = b"".join(piece.read() if isinstance(piece, FileRange) else piece for piece in out)  # type: ignore[misc]
        assert size == len(data)
        answer = decoded(data, version)
        if self.session_epoch >= 0 and not answer.error_code:
            self.session_id, self.session_epoch = answer.session_id, self.session_epoch + 1
        return data.replace(self.session_id.to_bytes(4, "big"), bytes(4), 1) if self.session_id else data


def decoded(data: bytes, version: int) -> FetchResponse:
    _, start = decode_response_header(Api.FETCH, version, data[4:])
    return FetchResponse.decode(data[4:], version, start)


def after(data: bytes, version: int, offset: int) -> int:
    """Return the offset after the last batch in a response; `offset` if there is no complete batch."""
    answer = decoded(data, version)
    records = answer.responses[0].partitions[0].records if answer.responses else None
    found = [entry.next_offset for entry in batches(bytes(records or b""))]  # type: ignore[arg-type]
    return found[-1] if found else offset


@pytest.fixture
def log(cluster: Cluster) -> Log:
    return Log(cluster)


def handled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the versions of the requests that reach the general handler."""
    requests: list[int] = []

    class Counted(fetch._Fetch):
        def __init__(self, request: Any, context: Context, *more: Any) -> None:
            requests.append(context.version)
            super().__init__(request, context, *more)

    monkeypatch.setattr(fetch, "_Fetch", Counted)
    return requests


def read_all(reader: Reader, version: int, requests: int) -> int:
    """Read batch after batch, and return the last offset."""
    offset = 0
    for _ in range(requests):
        offset = after(reader.fetch(offset, version), version, offset)
    return offset


@pytest.mark.parametrize("version", range(10, NEWEST + 1))
@pytest.mark.parametrize("in_session", [False, True])
def test_third_request_for_a_partition_does_not_reach_the_handler(
    log: Log, version: int, in_session: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        log.append(900)
    requests = handled(monkeypatch)
    reader = Reader(log.cluster, log.topic)
    if in_session:
        reader.open_session()
    assert log.cluster._server.call(lambda: read_all(reader, version, 6)) == 6
    assert len(requests) == 2


def test_repetition_without_records_reaches_the_handler(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        log.append(900)
    requests = handled(monkeypatch)
    reader = Reader(log.cluster, log.topic)
    log.cluster._server.call(lambda: read_all(reader, 12, 5))
    assert len(requests) == 3


def test_session_keeps_the_parameters_of_a_repeated_request(log: Log) -> None:
    for _ in range(4):
        log.append(900)
    readers = [Reader(log.cluster, log.topic, repeats=repeats) for repeats in (True, False)]

    def read(reader: Reader) -> bytes:
        reader.open_session()
        read_all(reader, 12, 4)
        reader.names_partition = False
        return reader.fetch(0)

    fast, general = log.cluster._server.call(lambda: [read(reader) for reader in readers])
    assert fast == general
    assert after(fast, 12, 0) == 4


def test_repetition_in_a_session_that_got_another_partition_reaches_the_handler(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        log.append(900)
    requests = handled(monkeypatch)
    reader = Reader(log.cluster, log.topic)

    def read() -> None:
        reader.open_session()
        read_all(reader, 12, 3)
        reader.partition["partition"] = 1
        reader.fetch(0)
        reader.partition["partition"] = 0
        reader.fetch(3)

    log.cluster._server.call(read)
    assert len(requests) == 4


def change_partition(reader: Reader) -> None:
    reader.partition["partition_max_bytes"] = 2000


def change_isolation(reader: Reader) -> None:
    reader.fields["isolation_level"] = 1


def change_client_id(reader: Reader) -> None:
    reader.client_id = "another"


def drop_client_id(reader: Reader) -> None:
    reader.client_id = None


@pytest.mark.parametrize("change", [change_partition, change_isolation, change_client_id, drop_client_id])
def test_different_request_reaches_the_handler(
    log: Log, change: Callable[[Reader], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        log.append(900)
    requests = handled(monkeypatch)
    reader = Reader(log.cluster, log.topic)

    def read() -> None:
        read_all(reader, 12, 3)
        change(reader)
        reader.fetch(3)

    log.cluster._server.call(read)
    assert len(requests) == 3


def test_interceptor_sees_repetitions(log: Log) -> None:
    log.append(900)
    reader = Reader(log.cluster, log.topic)
    seen: list[int] = []

    def intercept(request: Any, context: Context, handle: Any) -> Any:
        seen.append(request.topics[0].partitions[0].fetch_offset)
        return handle(request, context)

    def read() -> None:
        for _ in range(3):
            reader.fetch(0)
        reader.router.hooks.intercept = intercept
        try:
            reader.fetch(0)
        finally:
            reader.router.hooks.intercept = None

    log.cluster._server.call(read)
    assert seen == [0]


def test_repetition_for_a_deleted_topic_gets_an_error(log: Log) -> None:
    log.append(900)
    reader = Reader(log.cluster, log.topic)
    log.cluster._server.call(lambda: [reader.fetch(0) for _ in range(3)])
    log.cluster.topic(log.topic).delete()
    data = log.cluster._server.call(lambda: reader.fetch(0))
    [partition] = decoded(data, 12).responses[0].partitions
    assert partition.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION


STEPS = st.one_of(
    CHANGES,
    st.tuples(st.just("append"), st.just([200])),
    st.tuples(st.just("read"), st.integers(1, 6)),
    st.tuples(st.just("read"), st.integers(1, 6)),
    st.tuples(st.just("seek"), st.integers(-1, 12)),
    st.tuples(st.just("skip request"), st.none()),
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "min_bytes": st.sampled_from([0, 1, 1500]),
        "max_bytes": st.sampled_from([0, 50, 1500, 1 << 20]),
        "isolation_level": st.sampled_from([0, 1]),
        "rack_id": st.just("here"),
    },
)
PARTITION = st.fixed_dictionaries(
    {"partition_max_bytes": st.sampled_from([0, 10, 1100, 4000, 20_000])},
    optional={"current_leader_epoch": st.sampled_from([0, 1]), "log_start_offset": st.just(3)},
)


@given(
    version=st.integers(10, NEWEST),
    in_session=st.booleans(),
    fields=FIELDS,
    partition=PARTITION,
    steps=st.lists(STEPS, max_size=25),
)
def test_both_paths_give_the_same_bytes(
    cluster: Cluster,
    version: int,
    in_session: bool,
    fields: dict[str, Any],
    partition: dict[str, Any],
    steps: list[tuple[str, Any]],
) -> None:
    log = Log(cluster)
    readers = [Reader(cluster, log.topic, repeats=repeats, **fields) for repeats in (True, False)]
    for reader in readers:
        reader.partition = partition
        if in_session:
            reader.open_session()

    def run() -> None:
        offset = 0
        for step, value in [("append", [900]), ("append", [100, 100]), ("read", 3), *steps, ("read", 4)]:
            if step == "seek":
                offset = value
            elif step == "skip request" and in_session:
                for reader in readers:
                    reader.session_epoch += 1
            elif step == "read":
                for _ in range(value):
                    fast, general = (reader.fetch(offset, version) for reader in readers)
                    assert fast == general
                    offset = after(fast, version, offset)
            else:
                log.change(step, value)

    cluster._server.call(run)
    cluster.topic(log.topic).delete()
    readers[0].context.broker.fetch_sessions.sessions.clear()  # their number is limited
