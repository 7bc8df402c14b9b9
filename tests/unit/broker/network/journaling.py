"""A router with a journal that is called without a socket."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.broker.network.exchange import Exchange
from kafkalet.broker.network.journal import Journal
from kafkalet.broker.network.router import Router
from kafkalet.broker.server import Server
from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed
from tests.unit.broker.apis.asking import NoClient, asking


class Journaled:
    """The router of the only broker of a cluster, with a journal."""

    def __init__(self, server: Server, journal: Journal) -> None:
        self.journal = journal
        self.server = server
        self.router = Router(server.brokers[1])
        self.router.hooks.journal = journal
        # The journal is called for each request, because there is no connection that calls it for each turn.
        self.route, self.finish = journal.attach(self.router.route, self.router.encode_delayed)
        self.context = self.connect()

    def connect(self) -> Context:
        return self.router.context(NoClient(), ("127.0.0.1", 5), "PLAINTEXT")

    def send(self, frame: bytes, context: Context | None = None) -> int | Delayed[Any]:
        # Produce requests are received in memory that the broker changes.
        received = bytearray(frame) if frame[:2] == b"\0\0" else frame
        out: list[Chunk] = []
        return self.server.call(lambda: self.route(received, context or self.context, out))

    def ask(self, api: Api, version: int, client_id: str = "me", **fields: Any) -> Exchange:
        """Send a request, and return its entry in the journal."""
        message = request_type(api)(**fields).encode(version)
        self.send(header(api, version, client_id) + message)
        return self.journal.exchanges()[-1]


def header(api: int, version: int, client_id: str = "me") -> bytes:
    if api in list(Api) and version in Api(api).versions:
        return RequestHeader(Api(api), version, 77, client_id).encode()
    parts = (api.to_bytes(2, "big", signed=True), version.to_bytes(2, "big", signed=True), (77).to_bytes(4, "big"))
    return b"".join((*parts, len(client_id).to_bytes(2, "big"), client_id.encode()))


@contextmanager
def journaled(most_requests: int = 10_000, most_bytes: int = 8 << 20, **options: Any) -> Iterator[Journaled]:
    with asking(**options) as ask:
        yield Journaled(ask.cluster._server, Journal(most_requests, most_bytes))
