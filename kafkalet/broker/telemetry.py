"""Client telemetry (KIP-714) of a broker without a telemetry receiver: metrics are checked and discarded.

A client requests its subscription, which lists the metrics to push (client_metrics.py), and pushes them at the given
interval. Requests and pushes that arrive before the end of the interval are refused with THROTTLING_QUOTA_EXCEEDED,
except for the first push after a request and the last push of a terminating client. The subscription id is a checksum
of the metrics and the client; after a change, a push with the old id returns UNKNOWN_SUBSCRIPTION_ID.

Brokers without a receiver do not advertise these APIs, but they respond to clients that use these APIs anyway.

Source: org.apache.kafka.server.ClientMetricsManager, ClientMetricsInstance.
"""

import logging
import zlib
from typing import NamedTuple, Protocol

from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError

from .cluster.metadata import MetadataImage
from .config.client_metrics import DEFAULT_INTERVAL_MS, patterns
from .config.release import Release
from .regex.automaton import Regex

_LOG = logging.getLogger(__name__)

ALL_METRICS = "*"
MAX_CLIENTS = 16_384
"""The maximum number of clients to remember. The oldest are forgotten first."""

MAX_WORK = 100_000
"""The maximum number of states that a match may visit: enough for a 100-character pattern and a 1,000-character id."""

RECOVERABLE = (Code.UNKNOWN_SUBSCRIPTION_ID, Code.UNSUPPORTED_COMPRESSION_TYPE)
"""After these errors, a client requests its subscription again immediately."""


class Subscription(NamedTuple):
    """The metrics that a client should push, and how often."""

    id: int
    metrics: list[str]
    interval_ms: int


class TelemetryClient(Protocol):
    """The client that sent a request. Implemented by Context."""

    @property
    def client_clock(self) -> Clock: ...

    client_id: str
    peer: tuple[str, int]


class _Instance:
    """What the broker remembers about one client."""

    __slots__ = ("asked_ms", "is_ending", "last_error", "pushed_ms", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.asked_ms = self.pushed_ms = 0
        self.last_error = Code.NONE
        self.is_ending = False


class Telemetry:
    """The client telemetry of one broker."""

    def __init__(self, metadata: MetadataImage, release: Release) -> None:
        self._metadata = metadata
        self._release = release
        self._instances: dict[bytes, _Instance] = {}
        self._patterns: dict[str, tuple[str, dict[str, Regex]]] = {}  # the compiled `match` of each subscription

    def ask(self, client_id: bytes, asker: TelemetryClient) -> Subscription:
        """Return the subscription of a client. Raises THROTTLING_QUOTA_EXCEEDED before the end of the interval."""
        instance = self._instance(client_id, asker)
        now_ms = asker.client_clock.now_ms()
        idle_ms = now_ms - max(instance.asked_ms, instance.pushed_ms)
        if idle_ms < instance.subscription.interval_ms and instance.last_error not in RECOVERABLE:
            raise KafkaError(Code.THROTTLING_QUOTA_EXCEEDED)
        instance.asked_ms = now_ms
        instance.last_error = Code.NONE
        return instance.subscription

    def push(self, client_id: bytes, subscription_id: int, is_ending: bool, asker: TelemetryClient) -> None:
        """Accept a client's push. Raises KafkaError with the error code that PushTelemetry returns."""
        instance = self._instance(client_id, asker)
        if instance.is_ending:
            raise KafkaError(Code.INVALID_REQUEST)
        now_ms = asker.client_clock.now_ms()
        is_due = instance.asked_ms > instance.pushed_ms
        if is_due or now_ms - instance.pushed_ms >= instance.subscription.interval_ms:
            instance.pushed_ms = now_ms
        elif not is_ending:
            raise KafkaError(Code.THROTTLING_QUOTA_EXCEEDED)
        instance.is_ending = is_ending
        if subscription_id != instance.subscription.id:
            self.failed(client_id, Code.UNKNOWN_SUBSCRIPTION_ID)
            raise KafkaError(Code.UNKNOWN_SUBSCRIPTION_ID)

    def failed(self, client_id: bytes, code: Code) -> None:
        """Record the error with which a push was refused."""
        if client_id in self._instances:
            self._instances[client_id].last_error = code

    def _instance(self, client_id: bytes, asker: TelemetryClient) -> _Instance:
        subscription = self._subscription(client_id, asker)
        instance = self._instances.get(client_id)
        if instance is None:
            if len(self._instances) >= MAX_CLIENTS:
                del self._instances[next(iter(self._instances))]
            instance = self._instances[client_id] = _Instance(subscription)
        elif instance.subscription != subscription:  # the client may request the new subscription immediately
            instance.subscription = subscription
            instance.asked_ms = instance.pushed_ms = 0
        return instance

    def _subscription(self, client_id: bytes, asker: TelemetryClient) -> Subscription:
        metrics: set[str] = set()
        interval_ms = DEFAULT_INTERVAL_MS
        for name, texts in self._metadata.client_metrics.items():
            if self._matches_client(name, texts.get("match"), client_id, asker):
                metrics.update(name.strip() for name in texts.get("metrics", "").split(",") if name.strip())
                interval_ms = min(interval_ms, int(texts.get("interval.ms", DEFAULT_INTERVAL_MS)))
        names = [ALL_METRICS] if ALL_METRICS in metrics else sorted(metrics)
        crc = zlib.crc32("".join([*names, str(interval_ms)]).encode() + client_id)
        return Subscription(crc - (1 << 32) if crc >> 31 else crc, names, interval_ms)

    def _matches_client(self, name: str, match: str | None, client_id: bytes, asker: TelemetryClient) -> bool:
        """Return whether a subscription matches a client.

        The client's software name and version are not stored, so patterns for them must match the empty string.
        """
        import uuid

        if match is None:
            return True
        known = {
            "client_id": asker.client_id,
            "client_instance_id": str(uuid.UUID(bytes=client_id)),
            "client_source_address": asker.peer[0],
            "client_source_port": str(asker.peer[1]),
        }
        wanted = self._patterns_of(name, match)
        return all(_matches(pattern, known.get(attribute, "")) for attribute, pattern in wanted.items())

    def _patterns_of(self, name: str, match: str) -> dict[str, Regex]:
        text, wanted = self._patterns.get(name, (None, {}))
        if text != match:
            wanted = patterns(match, self._release)
            subscriptions = self._metadata.client_metrics
            self._patterns = {each: kept for each, kept in self._patterns.items() if each in subscriptions}
            self._patterns[name] = match, wanted
        return wanted


def _matches(pattern: Regex, text: str) -> bool:
    if pattern.most_work(text) > MAX_WORK:
        _LOG.warning("a client attribute of %d characters is too long for the match of a subscription", len(text))
        return False
    return pattern.matches(text)
