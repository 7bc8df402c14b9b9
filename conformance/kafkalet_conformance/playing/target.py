"""The broker that scenarios are performed against."""

import math
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from kafkalet.client_security import PLAINTEXT, Security
from kafkalet.clock import ManualClock
from kafkalet_conformance.notation.messages import APIS

from .addresses import bootstrap_addresses
from .connection import Closed, Connection, Garbage, NoAnswer, OutOfTime


class Brokers(Protocol):
    """The processes of a cluster. Each method returns when it is done, `start` when the broker serves requests."""

    def stop(self, node_id: int) -> None: ...

    def kill(self, node_id: int) -> None: ...

    def start(self, node_id: int) -> None: ...

    def pause(self, node_id: int) -> None: ...

    def resume(self, node_id: int) -> None: ...

    def cut_off(self, node_id: int, *peers: str) -> None: ...

    def reconnect(self, node_id: int) -> None: ...


PARTS = {
    "faults": ("brokers", "brokers that can be stopped"),
    "controller": ("controller", "a listener of the controller"),
}
"""The needs that the attributes of a target meet, unless they are None, and how to describe them."""


class Target:
    """A broker that is judged, with its advertised versions and the brokers of its cluster.

    `clock` is the clock of the broker if it is a manual clock. `tokens` and `tiered` say whether it has delegation
    tokens and tiered storage.
    """

    def __init__(
        self,
        bootstrap: str,
        acl: bool = False,
        legacy: bool = False,
        clock: ManualClock | None = None,
        deadline: float = math.inf,
        security: Security = PLAINTEXT,
        tokens: bool = False,
        tiered: bool = False,
    ) -> None:
        self.tokens, self.tiered = tokens, tiered
        self.has_quotas = False
        """Whether quotas apply to the connections, so that the broker may throttle them."""
        self.restart: Callable[[], None] | None = None
        """Restarts the broker and waits until it responds, if that is possible. Raises OSError."""
        self.brokers: Brokers | None = None
        """Stops and starts the brokers, if that is possible."""
        self.acl, self.legacy, self.clock, self.security = acl, legacy, clock, security
        connection, rows = self.connect_to_one(bootstrap_addresses(bootstrap), deadline)
        try:
            self.versions = {row["api_key"]: (row["min_version"], row["max_version"]) for row in rows}
            version = min(4, self.versions.get(APIS["Metadata"], (4, 4))[1])
            body = {"topics": [], "allow_auto_topic_creation": False} if version == 4 else {"topics": []}
            metadata = connection.ask("Metadata", version, body)
        finally:
            connection.close()
        self.addresses: dict[int, tuple[str, int]] = {
            broker["node_id"]: (broker["host"], broker["port"]) for broker in metadata["brokers"]
        }
        self.nodes = set(self.addresses)
        controller: int = metadata.get("controller_id", -1)
        self.main: int = min(self.nodes, default=-1) if controller not in self.nodes else controller
        """The broker to which scenarios recorded with one broker are sent."""
        self.cluster_id = metadata.get("cluster_id")

    def connect(self, name: str = "main", node_id: int | None = None, deadline: float = math.inf) -> Connection:
        """Open a connection to the broker `node_id`, or to the bootstrap address; its receives end at the deadline."""
        user = ("user" if name.startswith("user") else "admin") if self.acl else None
        if name.startswith("anonymous"):
            user = None
        host, port = (self.host, self.port) if node_id is None else self.addresses[node_id]
        if name.startswith("controller"):
            assert self.controller is not None, "the scenario needs a controller"
            (host, port), user = self.controller, None
        return Connection(host, port, user, deadline=deadline, security=self.security)

    @cached_property
    def controller(self) -> tuple[str, int] | None:
        """The address of the controller, if it has a listener, and the broker says so (DescribeQuorum v2)."""
        if self.versions.get(APIS["DescribeQuorum"], (0, 0))[1] < 2 or self.acl:
            return None
        connection = self.connect()
        try:
            asked = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
            nodes = connection.ask("DescribeQuorum", 2, {"topics": [asked]})["nodes"]
        finally:
            connection.close()
        return next(((at["host"], at["port"]) for node in nodes for at in node["listeners"]), None)

    def connect_to_one(self, addresses: list[tuple[str, int]], deadline: float) -> tuple[Connection, Any]:
        """Connect to the first of the addresses that responds to ApiVersions. It becomes the bootstrap address. Return
        the connection and the versions. The time until the deadline is divided among the addresses.
        """
        failures: list[Exception] = []
        for number, (self.host, self.port) in enumerate(addresses):
            now = time.monotonic()
            until = now + (deadline - now) / (len(addresses) - number)
            try:
                connection = self.connect(deadline=until)
            except (OSError, Closed, NoAnswer, OutOfTime, Garbage) as error:
                failures.append(error)
                continue
            try:
                rows = connection.ask("ApiVersions", 0, {})["api_keys"]
            except (Closed, NoAnswer, OutOfTime, Garbage) as error:
                connection.close()
                failures.append(error)
                continue
            connection.deadline = deadline
            return connection, rows
        raise failures[0]

    def now_ms(self) -> int:
        """Return the time of the broker, in milliseconds since 1970."""
        return int(time.time() * 1000) if self.clock is None else self.clock.now_ms()

    def wait(self, ms: float) -> None:
        """Sleep, or advance the manual clock."""
        if self.clock is None:
            time.sleep(ms / 1000)
        else:
            self.clock.advance(milliseconds=int(ms))

    def lacks(self, needs: Mapping[str, Any]) -> str:
        """Describe the first need of a scenario that this broker does not meet; "" if there is none."""
        for need, value in needs.items():
            if need in ("acl", "legacy", "tokens", "tiered"):
                if bool(value) != getattr(self, need):
                    return need
            elif need in PARTS:
                if getattr(self, PARTS[need][0]) is None:
                    return PARTS[need][1]
            elif need == "brokers":
                if value != len(self.nodes):
                    return f"a cluster of {value} brokers"
            else:
                low, high = self.versions.get(APIS[need], (1, 0))
                if not low <= value <= high:
                    return f"{need} v{value}"
        features = {"acl": "authorization", "tokens": "delegation tokens", "tiered": "tiered storage"}
        for need, feature in features.items():
            if getattr(self, need) and need not in needs:
                return f"a broker without {feature}"
        if self.brokers is not None and "faults" not in needs:
            return "a cluster with the default time-outs"
        return ""
