"""Throttling: clients over quota are muted, and their responses contain the throttle time (KIP-219).

The quotas:

    producer_byte_rate         bytes of Produce requests
    consumer_byte_rate         bytes of Fetch responses; responses over quota are sent empty and not counted
    request_percentage         processing time in percent of one CPU; the throttle time is at most one window
    controller_mutation_rate   partitions created and deleted, counted by the controller; newer request versions return
                               THROTTLING_QUOTA_EXCEEDED while the client is over quota
    connection_creation_rate   new connections from an address; when over quota, closed after the throttle time

Each broker measures usage independently, and only in memory. Followers have no quotas.

Source: kafka.server.ClientQuotaManager, ClientRequestQuotaManager, ControllerMutationQuotaManager, ConnectionQuotas.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from kafkalet.broker.client import Client
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.quoting import quoted
from kafkalet.broker.security.principal import Principal
from kafkalet.clock import Clock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.delayed import Delayed

from .entities import CONNECT, CONSUME, MUTATE, PRODUCE, REQUEST, Quotas, quota_of, quotas_of_addresses
from .hosts import IP, names_of
from .meters import MS_PER_SECOND, SampledRate, TokenBucket

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

PERCENT = 100
FORGET_MS = 3_600_000
"""The time after which an unused meter is dropped (ClientQuotaManager.InactiveSensorExpirationTimeSeconds)."""
MANY_CLIENTS = 10_000
"""The maximum number of clients whose quotas are cached."""
MANY_METERS = 1000
"""If there are more meters than this, unused ones are dropped."""


class MeasuredRequest(Protocol):
    """A request that is being measured, and its client. Implemented by Context."""

    api: Api
    client_id: str
    principal: Principal
    request_bytes: int
    """The size of the request, or 0 if it arrived before the broker had quotas."""
    spent_s: float
    began_s: float | None
    throttle_ms: int
    client: Client


class _Meters(Generic[T]):
    """The meters of clients. Those that have not been used for FORGET_MS are dropped."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._meters: dict[tuple[str, ...], T] = {}
        self._used_ms: dict[tuple[str, ...], int] = {}
        self._look_at = MANY_METERS

    def __len__(self) -> int:
        return len(self._meters)

    def of(self, key: tuple[str, ...], now_ms: int) -> T:
        self._used_ms[key] = now_ms
        meter = self._meters.get(key)
        if meter is None:
            meter = self._meters[key] = self._make()
            if len(self._meters) > self._look_at:
                self._drop_old(now_ms)
        return meter

    def _drop_old(self, now_ms: int) -> None:
        for key in [key for key, used_ms in self._used_ms.items() if now_ms - used_ms > FORGET_MS]:
            del self._meters[key], self._used_ms[key]
        self._look_at = max(MANY_METERS, 2 * len(self._meters))


class Throttling:
    """The client quotas on one broker, and how much of them the clients have used.

    `spent_s` is the clock, in seconds, that measures processing time for `request_percentage`. `look_up` resolves a
    host name without blocking.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        spent_s: Callable[[], float],
        look_up: Callable[[str], Delayed[str | None]],
    ) -> None:
        self.clock = clock
        self._look_up = look_up
        self._spent_s = spent_s
        self._window_ms = config.quota_window_size_seconds * MS_PER_SECOND
        self._meters = _Meters(lambda: SampledRate(config.quota_window_num, self._window_ms))
        burst_seconds = config.controller_quota_window_num * config.controller_quota_window_size_seconds
        self._buckets = _Meters(lambda: TokenBucket(burst_seconds))
        self._fetch_windows = config.quota_window_num - 1
        self._quotas: Quotas = {}
        self._by_address: dict[str | None, float] = {}
        self._addresses: dict[str, str | None] = {}  # by host name; None while the name is being resolved
        self._found: dict[tuple[str, str, str], tuple[float, str, str] | None] = {}

    def obey(self, quotas: Quotas, addresses: Mapping[str, str | None]) -> None:
        """Replace the quotas and keep the usage measured so far.

        `addresses` maps host names that have just been resolved to their addresses. Other new host names are resolved
        in the background; their quotas take effect when the addresses are known.
        """
        self._quotas = quotas
        self._found.clear()
        known = {**self._addresses, **addresses}
        names = names_of(quotas)
        self._addresses = {name: known.get(name) for name in names}
        self._by_address = quotas_of_addresses(quotas, self._addresses)
        for name in names:
            if name not in known:
                self._look_up(name).then(partial(self._learn, name))

    def _learn(self, name: str, address: str | None) -> None:
        if address is None:
            _LOG.warning("ignoring the quota of host %s: the host name cannot be resolved", quoted(name))
            self._addresses.pop(name, None)
        elif name in self._addresses:
            self._addresses[name] = address
            self._by_address = quotas_of_addresses(self._quotas, self._addresses)

    @property
    def limits_connections(self) -> bool:
        """Whether there is any connection quota, even if its host name is not resolved yet."""
        return any(kind == IP and CONNECT in values for entity, values in self._quotas.items() for kind, _ in entity)

    # Called by the router

    def begin(self, context: MeasuredRequest, request_bytes: int) -> None:
        """Start to measure a request of `request_bytes` bytes."""
        context.request_bytes = request_bytes
        context.throttle_ms = 0
        context.spent_s = 0.0
        context.began_s = self._spent_s()

    def pause(self, context: MeasuredRequest) -> None:
        """Stop the clock while the request waits, because waiting is not processing time."""
        context.spent_s = self._time_of(context)
        context.began_s = None

    def end(self, answer: Any, context: MeasuredRequest) -> None:
        """Stop measuring, and mute the client if it is over quota. `answer` is None if no response is sent."""
        if not context.request_bytes:
            return  # the request arrived before the broker had quotas
        throttle_ms = context.throttle_ms
        if context.api is Api.PRODUCE:
            throttle_ms = max(throttle_ms, self._record(PRODUCE, context.request_bytes, context))
        if answer is not None:
            throttle_ms = max(throttle_ms, self._record_time(context))
        context.request_bytes = 0
        if throttle_ms > 0:
            if hasattr(answer, "throttle_time_ms"):
                answer.throttle_time_ms = throttle_ms
            context.client.mute(throttle_ms)

    def _time_of(self, context: MeasuredRequest) -> float:
        now_s = self._spent_s()
        return context.spent_s + (now_s - context.began_s if context.began_s is not None else 0.0)

    def _record_time(self, context: MeasuredRequest) -> int:
        """Record the processing time of the request so far, and return the throttle time."""
        throttle_ms = self._record(REQUEST, self._time_of(context) * PERCENT, context)
        context.spent_s, context.began_s = 0.0, None
        return min(throttle_ms, self._window_ms)

    def _record(self, key: str, value: float, context: MeasuredRequest) -> int:
        found = self._quota_of(key, context)
        if found is None:
            return 0
        quota, *together = found
        now_ms = self.clock.now_ms()
        meter = self._meters.of((key, *together), now_ms)
        meter.record(value, now_ms)
        return meter.throttle_ms(quota, now_ms)

    def _quota_of(self, key: str, context: MeasuredRequest) -> tuple[float, str, str] | None:
        """Return the result of `quota_of`, which is cached."""
        who = key, str(context.principal), context.client_id
        if who not in self._found:
            if len(self._found) > MANY_CLIENTS:
                self._found.clear()
            user = context.principal.name
            self._found[who] = quota_of(self._quotas, key, user, context.client_id)
        return self._found[who]

    # Called by request handlers

    def most_fetch_bytes(self, context: MeasuredRequest) -> float:
        """Return the size in bytes above which a Fetch response would always exceed the quota."""
        found = self._quota_of(CONSUME, context)
        window_seconds = self._window_ms // MS_PER_SECOND
        return float("inf") if found is None else found[0] * self._fetch_windows * window_seconds

    def refuses_fetch(self, answer_bytes: int, context: MeasuredRequest) -> bool:
        """Return whether a Fetch response of this size exceeds the quota. Otherwise record its size."""
        throttle_ms = self._record(CONSUME, answer_bytes, context)
        throttle_ms = max(throttle_ms, self._record_time(context))
        if throttle_ms > 0:
            self._record(CONSUME, -answer_bytes, context)
            context.throttle_ms = throttle_ms
        return throttle_ms > 0

    def mutate(self, partitions: int, strict: bool, context: MeasuredRequest) -> None:
        """Count partitions that are about to be created or deleted.

        If the client is over quota and `strict` is true, raises KafkaError (THROTTLING_QUOTA_EXCEEDED) and counts
        nothing.
        """
        found = self._quota_of(MUTATE, context)
        if found is None:
            return
        quota, user, client = found
        now_ms = self.clock.now_ms()
        bucket = self._buckets.of((user, client), now_ms)
        if not strict:
            bucket.take(partitions, quota, now_ms)
        throttle_ms = bucket.throttle_ms(quota, now_ms)
        if throttle_ms > 0:
            context.throttle_ms = max(context.throttle_ms, throttle_ms)
        if strict:
            if throttle_ms > 0:
                raise KafkaError(Code.THROTTLING_QUOTA_EXCEEDED)
            bucket.take(partitions, quota, now_ms)

    # Called by the listener

    def connect(self, host: str) -> int:
        """Return the throttle time after which a new connection from `host` is closed, or 0 to accept it."""
        quota = self._by_address.get(host, self._by_address.get(None))
        if quota is None:
            return 0
        now_ms = self.clock.now_ms()
        meter = self._meters.of((CONNECT, host), now_ms)
        meter.record(1, now_ms)
        throttle_ms = min(meter.throttle_ms(quota, now_ms), self._window_ms)
        if throttle_ms > 0:
            meter.record(-1, now_ms)
        return throttle_ms
