"""Tests of the hooks: while one of them needs the messages, no fast path is used."""

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalet import Cluster
from kafkalet.broker.apis.fetch_partitions import FetchPartitions
from kafkalet.broker.context import Context
from kafkalet.broker.network.hooks import HOOKS, SEE_BYTES
from kafkalet.broker.network.journal import Journal
from kafkalet.broker.network.request_log import RequestLog
from kafkalet.broker.network.response_cache import ResponseCache
from kafkalet.broker.network.router import Router
from kafkalet.broker.repetitions import Repetitions
from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.fetch import FetchResponse
from tests.unit.broker.apis.asking import NoClient, as_received

STUBS: dict[str, Any] = {
    "authorizer": object(),
    "intercept": lambda request, context, handle: handle(request, context),
    "journal": Journal(),
    "replica_selector": "org.example.Selector",
    "request_log": RequestLog,
    "shaping": SimpleNamespace(wrap=lambda route, encode: (route, encode)),
    "throttle": SimpleNamespace(begin=lambda *_: None, pause=lambda *_: None, end=lambda *_: None),
}
"""A value for each hook."""


class FastPaths(Counter[str]):
    """Counts how often each fast path is used."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        for owner, method in ((Repetitions, "answer"), (ResponseCache, "get"), (FetchPartitions, "_is_quiet")):
            patch.setattr(owner, method, self._counting(getattr(owner, method)))

    def _counting(self, method: Any) -> Any:
        def counted(owner: Any, *arguments: Any) -> Any:
            found = method(owner, *arguments)
            if found:
                self[type(owner).__name__] += 1
            return found

        return counted


class Connection:
    """A connection that repeats its requests. Methods must be called in the thread of the cluster."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.router: Router = cluster._server.brokers[1].router
        self.context: Context = self.router.context(NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        self.topic = topic
        self.session_id = self.session_epoch = 0

    def repeat(self) -> None:
        """Send requests that each fast path recognizes."""
        partition = {"partition": 0, "partition_max_bytes": 1000}
        sessionless = {"max_bytes": 1000, "session_id": 0, "session_epoch": -1}
        for _ in range(3):
            self._ask(Api.API_VERSIONS, 0, {})
            at_start = {**partition, "fetch_offset": 0}
            self._fetch({**sessionless, "topics": [{"topic": self.topic, "partitions": [at_start]}]})
        for _ in range(2):
            session = {"max_bytes": 1000, "session_id": self.session_id, "session_epoch": self.session_epoch}
            at_end = {**partition, "fetch_offset": 1}
            topics = [] if self.session_id else [{"topic": self.topic, "partitions": [at_end]}]
            answer = self._fetch({**session, "topics": topics})
            self.session_id, self.session_epoch = answer.session_id, self.session_epoch + 1

    def _fetch(self, fields: dict[str, Any]) -> FetchResponse:
        return FetchResponse.decode(self._ask(Api.FETCH, 11, {"max_wait_ms": 0, "min_bytes": 0, **fields})[8:], 11)

    def _ask(self, api: Api, version: int, fields: dict[str, Any]) -> bytes:
        request = as_received(api, version, fields)
        out: list[Any] = []
        self.router.route(b"".join(request_frame(request, version, 1, "me"))[4:], self.context, out)  # type: ignore[arg-type]
        return b"".join(piece if isinstance(piece, bytes) else piece.read() for piece in out)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(1) as cluster:
        cluster.topic("t").send("x")
        yield cluster


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_fast_paths_are_used_only_while_no_hook_needs_messages(
    cluster: Cluster, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = FastPaths(monkeypatch)
    connection = Connection(cluster, "t")
    hooks = connection.router.hooks

    def used() -> set[str]:
        paths.clear()
        cluster._server.call(connection.repeat)
        return set(paths)

    assert (before := used()) == {"FetchPartitions", "Repetitions", "ResponseCache"}
    kept = getattr(hooks, hook)
    cluster._server.call(lambda: setattr(hooks, hook, STUBS[hook]))
    try:
        assert used() == (before if hook in SEE_BYTES else set())
    finally:
        cluster._server.call(lambda: setattr(hooks, hook, kept))
    assert used() == before
