"""What a handler may use, and who asks.

    node, metadata, clock, release      the replicas of the broker that was asked, and their surroundings
    broker                              its coordinators, fetch sessions, telemetry and quotas
    controller                          changes of topics and configurations, for all brokers

There is one context per connection, made with its first request. A connection serves one request at a time, so the
part that belongs to the request (`api`, `version`, `correlation_id`, `client_id`) is written over by the next one:
whoever keeps something beyond his answer (a group keeps its member's client id) copies the value, not the context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalet.clock import Clock
from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request

from .broker import Broker
from .client import Client
from .cluster.controller import Controller
from .cluster.metadata import MetadataImage
from .cluster.node import Node
from .config.release import Release

if TYPE_CHECKING:  # only loaded while requests are logged
    from .network.request_text import Noted


class Context:
    """The surroundings of a request."""

    __slots__ = (
        "api",
        "asked",
        "began_s",
        "broker",
        "client",
        "client_id",
        "clock",
        "controller",
        "correlation_id",
        "listener",
        "metadata",
        "node",
        "peer",
        "principal",
        "release",
        "request",
        "request_bytes",
        "route",
        "session",
        "spent_s",
        "throttle_ms",
        "version",
    )

    api: Api
    version: int
    correlation_id: int

    def __init__(self, broker: Broker, client: Client, peer: tuple[str, int], listener: str) -> None:
        node = broker.node
        self.broker = broker  # the one that was asked
        self.node: Node = node  # its replicas
        self.controller: Controller = broker.controller
        self.metadata: MetadataImage = node.metadata
        self.release: Release = node.release
        self.clock: Clock = node.clock
        self.client = client
        self.peer = peer  # host and port of the client
        self.client_id = ""  # "" also where the client gave null, as in Kafka
        self.route: object = None  # the router's own: how the answer will be written
        self.request: Request | None = None  # likewise, until it is answered: refused if the answer cannot be written
        self.asked: Noted | None = None  # the request log's own: what it has noted of the request
        self.listener = listener  # the name of the listener it came through
        self.principal = "User:ANONYMOUS"
        self.session: object = None  # what the authentication gate remembers of this connection
        # What is counted for quotas, where there are any (quotas/throttling.py); 0 bytes: nothing is.
        self.request_bytes = 0
        self.spent_s = 0.0
        self.began_s: float | None = None
        self.throttle_ms = 0
