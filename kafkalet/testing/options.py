"""The options of a cluster or a fault as a dict, for code that passes them on: fixtures, decorators, kafkalet.aio."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from kafkalet.broker.arguments import BrokerProperties, DataDir
from kafkalet.broker.cluster.new_topics import Topics
from kafkalet.broker.security.acl import Acl
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code


class ClusterOptions(TypedDict, total=False):
    """The arguments of `kafkalet.Cluster`, which describes them."""

    brokers: int
    host: str
    port: int
    advertise: tuple[str, int] | None
    racks: Sequence[str] | None
    data_dir: DataDir | None
    read_only: bool
    config: BrokerProperties | None
    topics: Topics
    version: str
    clock: Clock | None
    tls: bool
    users: Mapping[str, str] | None
    super_users: Mapping[str, str] | Iterable[str]
    acls: Iterable[str | Acl]
    timeout: float


class FaultOptions(TypedDict, total=False):
    """The options of `Cluster.fault`, which describes them."""

    error: str | Code | None
    delay: float | None
    hang: bool
    barrier: int | None
    drop_response: bool
    disconnect: str | None
    corrupt: bool | int
    truncate: int | None
    throttle_ms: int | None
    bandwidth: float | None
    topic: str | re.Pattern[str] | None
    partition: int | None
    group: str | re.Pattern[str] | None
    client_id: str | re.Pattern[str] | None
    version: int | range | None
    broker: int | None
    when: Callable[[Any], object] | None
    times: int | None
    nth: int | None
    every: int | None
    probability: float | None
    seed: int
    strict: bool
