"""Sends requests through the router of a broker without a connection, so that faults apply to them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkalet import Cluster
from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.schema import Request
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange
from tests.unit.broker.apis.asking import as_received, plain

TIMEOUT_S = 10


class StubClient:
    """A connection that records what the broker does to it."""

    def __init__(self) -> None:
        self.is_closed = False
        self.when_closed: Callable[[], object] | None = None
        self.closed = ""
        self.muted_ms = 0.0

    def close(self, reason: str) -> None:
        self.closed = reason

    def mute(self, ms: float) -> None:
        self.muted_ms = ms


class Sent:
    """A request that has been sent on its own connection."""

    def __init__(self, asking: "Asking", api: Api, version: int, request: Request, client_id: str, node: int) -> None:
        self.client = StubClient()
        self._api, self._version = api, version
        self._done = threading.Event()
        self._out: list[Chunk] = []
        broker = asking.cluster._server.brokers[node]
        frame = b"".join(request_frame(request, version, 1, client_id))[4:]  # type: ignore[arg-type]

        def send() -> None:
            router = broker.router
            context: Context = router.context(self.client, ("127.0.0.1", 1), "PLAINTEXT")
            answer = router.route(bytearray(frame), context, self._out)
            if isinstance(answer, int):
                self._done.set()
            else:
                answer.then(lambda found: (router.encode_delayed(found, context, self._out), self._done.set()))  # type: ignore[arg-type, func-returns-value]

        asking.cluster._server.call(send)

    @property
    def is_waiting(self) -> bool:
        return not self._done.is_set()

    @property
    def data(self) -> bytes:
        """The frame of the response; empty if there is none."""
        assert self._done.wait(TIMEOUT_S), f"{self._api} got no response"
        return b"".join(piece.read() if isinstance(piece, FileRange) else piece for piece in self._out)  # type: ignore[misc]

    @property
    def answer(self) -> Any:
        """The response as plain data; None if there is none."""
        data = self.data
        if not data:
            return None
        return plain(decode_response(self._api, self._version, data[4:]).response)


class Asking:
    """Sends requests to the brokers of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def send(self, api: Api, version: int, node: int = 1, client_id: str = "tester", **fields: Any) -> Sent:
        return Sent(self, api, version, as_received(api, version, fields), client_id, node)

    def send_message(self, api: Api, version: int, request: Request) -> Sent:
        return Sent(self, api, version, request, "tester", 1)

    def __call__(self, api: Api, version: int, **more: Any) -> Any:
        return self.send(api, version, **more).answer


@contextmanager
def asking(brokers: int = 1, **options: Any) -> Iterator[Asking]:
    with Cluster(brokers, **options) as cluster:
        yield Asking(cluster)
