"""The context of a request: what a handler may use.

    node, metadata, clock, release      the broker's replicas, and what all brokers share
    broker                              the broker's coordinators, fetch sessions, telemetry and quotas
    controller                          changes topics and configurations, for all brokers

There is one context per connection, created with the first request. A connection serves one request at a time, and each
request overwrites the request attributes (`api`, `version`, `correlation_id`, `client_id`) of the previous one. Code
that needs an attribute after the response (a group keeps its members' client ids) must store its value, not the
context.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from kafkalet.clock import Clock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.schema import Request

from .broker import Broker
from .client import Client
from .cluster.controller import Controller
from .cluster.metadata import Endpoint, MetadataImage
from .cluster.node import Node
from .config.release import Release
from .repetitions import Repetitions
from .security.acl import CLUSTER_NAME, Operation, ResourceType
from .security.principal import ANONYMOUS
from .served import Role

if TYPE_CHECKING:  # imported only with SASL
    from .security.sasl.authenticator import Authenticator

_NUMBERS = count(1)
NEVER_LOOKED_UP = 1 << 63
MANY_LOOKED_UP = 1000
"""When offsets of this many partitions have been looked up, those of deleted topics are forgotten."""
_REFUSALS = {
    ResourceType.TOPIC: Code.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: Code.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: Code.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""The error code for a resource on which a client may not perform an operation."""


class Context:
    """The context of a request."""

    __slots__ = (
        *("api", "authenticator", "authorizer", "began_s", "broker", "client", "client_id", "clock", "controller"),
        *("correlation_id", "fault", "is_token_authenticated", "journaled", "listener", "logged_request"),
        *("looked_up_offsets", "node", "number", "peer", "principal", "reads_committed", "release"),
        *("repetitions", "request", "request_bytes", "route", "spent_s", "throttle_ms", "version"),
    )

    api: Api
    version: int
    correlation_id: int

    def __init__(self, broker: Broker, client: Client, peer: tuple[str, int], listener: str) -> None:
        node = broker.node
        self.broker = broker  # the broker that received the request
        self.node: Node = node  # the replicas of that broker
        self.controller: Controller = broker.controller
        self.release: Release = node.release
        self.clock: Clock = node.clock
        self.client = client
        self.number = next(_NUMBERS)  # the number of the connection, unique in the process
        self.peer = peer  # host and port of the client
        self.client_id = ""  # "" if the client sent null, as in Kafka
        self.route: object = None  # used by the router to encode the response
        self.request: Request | None = None  # used by the router if the response cannot be encoded
        self.logged_request: object = None  # used by the request log
        self.journaled: object = None  # used by the journal
        self.fault = 0  # the number of the fault that has fired on the request; the journal resets it
        self.listener = listener  # the name of the listener
        self.looked_up_offsets: dict[tuple[str, int], int] | None = None
        """The smallest offset that the client has looked up in each partition (ListOffsets).

        A consumer without a committed offset starts there.
        """
        self.repetitions: Repetitions[Context] | None = None
        """The requests that are answered without decoding them; created with the first that may be repeated."""
        self.reads_committed = False
        """Whether the last Fetch request had the isolation level read_committed."""
        self.principal = ANONYMOUS
        self.is_token_authenticated = False  # whether the client has logged in with a delegation token
        self.authenticator: Authenticator | None = None  # set on listeners with SASL
        self.authorizer = broker.authorizer  # None if everything is allowed
        # Measured for quotas (quotas/throttling.py); `request_bytes` is 0 if there are no quotas.
        self.request_bytes = 0
        self.spent_s = 0.0
        self.began_s: float | None = None
        self.throttle_ms = 0

    @property
    def is_plain(self) -> bool:
        """Whether fast paths may be used, because no hook needs the messages (network/hooks.py)."""
        return self.broker.is_plain

    @property
    def is_at_controller(self) -> bool:
        """Whether the client is connected to a listener of the controller (KIP-919)."""
        return self.broker.role is Role.CONTROLLER

    @property
    def metadata(self) -> MetadataImage:
        """The metadata as the broker knows it."""
        return self.node.metadata

    def repetitions_of(self, request: Hashable) -> Repetitions[Context] | None:
        """Record a request. Return the connection's repetitions if a plan should be added now (repetitions.py)."""
        if self.repetitions is None:
            self.repetitions = Repetitions(self.metadata.revision)
        return self.repetitions if self.repetitions.should_learn(request) else None

    def remember_offset(self, place: tuple[str, int], offset: int) -> None:
        """Record an offset that the client has looked up in a partition (`looked_up_offsets`)."""
        known = self.looked_up_offsets
        if known is None:
            known = self.looked_up_offsets = {}
        if offset < known.get(place, NEVER_LOOKED_UP):
            known[place] = offset
            if not len(known) % MANY_LOOKED_UP:
                self.looked_up_offsets = {each: known[each] for each in known if self.metadata.partition(*each)}

    def allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Return whether the client may perform an operation on a resource."""
        authorizer = self.authorizer
        return authorizer is None or authorizer.authorizes(self.principal, self.peer[0], operation, resource_type, name)

    def allows_any(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Return whether the client may perform an operation on at least one resource of this type (KIP-679)."""
        authorizer = self.authorizer
        return authorizer is None or authorizer.authorizes_any(self.principal, self.peer[0], operation, resource_type)

    def allows_on_cluster(self, operation: Operation) -> bool:
        """Return whether the client may perform an operation on the cluster."""
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def topic_check(self) -> Callable[[str], bool] | None:
        """Return a function that checks which topics the client may describe, for use after the response.

        The result is None if there is no authorizer.
        """
        authorizer = self.authorizer
        if authorizer is None:
            return None
        return partial(authorizer.authorizes, self.principal, self.peer[0], Operation.DESCRIBE, ResourceType.TOPIC)

    def require(self, operation: Operation, resource_type: ResourceType, name: str) -> None:
        """Raise KafkaError unless the client may perform an operation on a resource."""
        if self.authorizer is not None and not self.allows(operation, resource_type, name):
            raise KafkaError(_REFUSALS[resource_type])

    def require_on_cluster(self, operation: Operation) -> None:
        """Raise CLUSTER_AUTHORIZATION_FAILED unless the client may perform an operation on the cluster."""
        if not self.allows_on_cluster(operation):
            raise KafkaError(
                Code.CLUSTER_AUTHORIZATION_FAILED, f"{self.principal} may not {operation.name} on the cluster"
            )

    def endpoints(self, nodes: Iterable[int] | None = None) -> dict[int, Endpoint]:
        """Return the running brokers, or those in `nodes`, keyed by id, with the addresses of the client's listener."""
        return self.metadata.endpoints_at(self.listener, nodes)

    @property
    def may_request_tokens(self) -> bool:
        """Whether the client may send requests for delegation tokens: it has authenticated, and not with a token.

        Source: kafka.server.KafkaApis.allowTokenRequests.
        """
        has_authenticated = self.authenticator is not None or self.principal != ANONYMOUS
        return has_authenticated and not self.is_token_authenticated

    @property
    def client_clock(self) -> Clock:
        """The clock of client time (see kafkalet/clock.py)."""
        return self.node.client_clock
