"""Who has used more than his quota waits: his connection is muted, and the answer says how long (KIP-219).

What is counted:

    producer_byte_rate         the size of Produce requests
    consumer_byte_rate         the size of answers to Fetch; what is too much becomes an empty answer and is not counted
    request_percentage         time spent on requests, in hundredths of one processor; no rest is longer than a window
    controller_mutation_rate   partitions created and deleted, counted by the controller; newer versions of the requests
                               are refused (THROTTLING_QUOTA_EXCEEDED) while something is owed
    connection_creation_rate   connections from an address; one too many is not served, and closed after a rest

Each broker counts for itself, and forgets what it counted when it is restarted. Followers have no quota.

Source: kafka.server.ClientQuotaManager, ClientRequestQuotaManager, ControllerMutationQuotaManager, ConnectionQuotas.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from kafkalet.broker.client import Client
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.quoting import quoted
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Clock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .entities import CONNECT, CONSUME, MUTATE, PRODUCE, REQUEST, Quotas, quota_of, quotas_of_addresses
from .hosts import IP, names_of
from .meters import MS_PER_SECOND, SampledRate, TokenBucket

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

PERCENT = 100
FORGET_MS = 3_600_000
"""A meter that nobody has used for so long is dropped (ClientQuotaManager.InactiveSensorExpirationTimeSeconds)."""
MANY_CLIENTS = 10_000
"""Of so many clients it is remembered which quota they have."""
MANY_METERS = 1000
"""From so many meters on the old ones are looked for."""


class Asked(Protocol):
    """The request that is counted, and its client (a Context)."""

    api: Api
    client_id: str
    principal: str
    request_bytes: int
    """0: it came before there was a quota."""
    spent_s: float
    began_s: float | None
    throttle_ms: int
    client: Client


class _Kept(Generic[T]):
    """What is counted of clients, by whom it counts for. What nobody has used for long is dropped."""

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
    """What the clients of one broker have used.

    `spent_s` gives the time spent so far, in seconds, for percentages. `look_up` finds the address of a host name
    without blocking.
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
        self._meters = _Kept(lambda: SampledRate(config.quota_window_num, self._window_ms))
        burst_seconds = config.controller_quota_window_num * config.controller_quota_window_size_seconds
        self._buckets = _Kept(lambda: TokenBucket(burst_seconds))
        self._fetch_windows = config.quota_window_num - 1
        self._quotas: Quotas = {}
        self._by_address: dict[str | None, float] = {}
        self._addresses: dict[str, str | None] = {}  # of host names; None while a name is being looked up
        self._found: dict[tuple[str, str, str], tuple[float, str, str] | None] = {}

    def obey(self, quotas: Quotas, addresses: Mapping[str, str | None]) -> None:
        """Take over quotas. What was counted so far still counts.

        `addresses` are those of host names that were just looked up. Another name that is not known yet is looked up
        now; until its address is there it has no quota.
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
            _LOG.warning("the quota of host %s does not count: the name has no address", quoted(name))
            self._addresses.pop(name, None)
        elif name in self._addresses:
            self._addresses[name] = address
            self._by_address = quotas_of_addresses(self._quotas, self._addresses)

    @property
    def limits_connections(self) -> bool:
        """Whether there is a quota of connections, or will be when a host name has been looked up."""
        return any(kind == IP and CONNECT in values for entity, values in self._quotas.items() for kind, _ in entity)

    # What the router asks.

    def begin(self, context: Asked, request_bytes: int) -> None:
        """A request of so many bytes has come."""
        context.request_bytes = request_bytes
        context.throttle_ms = 0
        context.spent_s = 0.0
        context.began_s = self._spent_s()

    def pause(self, context: Asked) -> None:
        """The request has to wait, which is not time spent on it."""
        context.spent_s = self._time_of(context)
        context.began_s = None

    def end(self, answer: Any, context: Asked) -> None:
        """The request is answered (None: its client expects no answer): let the client rest if it has to."""
        if not context.request_bytes:
            return  # there was no quota yet when it came
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

    def _time_of(self, context: Asked) -> float:
        now_s = self._spent_s()
        return context.spent_s + (now_s - context.began_s if context.began_s is not None else 0.0)

    def _record_time(self, context: Asked) -> int:
        """Count the time that was spent on a request so far."""
        throttle_ms = self._record(REQUEST, self._time_of(context) * PERCENT, context)
        context.spent_s, context.began_s = 0.0, None
        return min(throttle_ms, self._window_ms)

    def _record(self, key: str, value: float, context: Asked) -> int:
        found = self._quota_of(key, context)
        if found is None:
            return 0
        quota, *together = found
        now_ms = self.clock.now_ms()
        meter = self._meters.of((key, *together), now_ms)
        meter.record(value, now_ms)
        return meter.throttle_ms(quota, now_ms)

    def _quota_of(self, key: str, context: Asked) -> tuple[float, str, str] | None:
        """What `quota_of` says, remembered."""
        who = key, context.principal, context.client_id
        if who not in self._found:
            if len(self._found) > MANY_CLIENTS:
                self._found.clear()
            user = context.principal.partition(":")[2]
            self._found[who] = quota_of(self._quotas, key, user, context.client_id)
        return self._found[who]

    # What handlers ask.

    def most_fetch_bytes(self, context: Asked) -> float:
        """More than that in one answer would always be too much."""
        found = self._quota_of(CONSUME, context)
        window_seconds = self._window_ms // MS_PER_SECOND
        return float("inf") if found is None else found[0] * self._fetch_windows * window_seconds

    def refuses_fetch(self, answer_bytes: int, context: Asked) -> bool:
        """Whether an answer to Fetch of that size is too much; it is counted only if not."""
        throttle_ms = self._record(CONSUME, answer_bytes, context)
        throttle_ms = max(throttle_ms, self._record_time(context))
        if throttle_ms > 0:
            self._record(CONSUME, -answer_bytes, context)
            context.throttle_ms = throttle_ms
        return throttle_ms > 0

    def mutate(self, partitions: int, strict: bool, context: Asked) -> None:
        """Count partitions that are to be created or deleted.

        THROTTLING_QUOTA_EXCEEDED where `strict`, and nothing is counted, while the client owes something.
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

    # What the listener asks.

    def connect(self, host: str) -> int:
        """How long a new connection from an address has to rest before it is closed; 0: it is let in."""
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
