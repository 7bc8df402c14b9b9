"""Telemetry of clients (KIP-714), as a broker without a receiver serves it: what is pushed is checked and thrown away.

A client asks which metrics somebody subscribed to (client_metrics.py), and pushes them at the interval it is told. What
it asks or pushes sooner is refused (THROTTLING_QUOTA_EXCEEDED), except for the first push after it asked and the last
one before it ends. The subscription has an id made of what was subscribed to and of the client, so that a client hears
of a change by UNKNOWN_SUBSCRIPTION_ID.

Brokers without a receiver do not advertise these APIs; clients that ask all the same are answered.

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
MAX_BYTES = 1 << 20
MAX_CLIENTS = 16_384
"""So many clients are remembered; those who asked first are forgotten first."""

MAX_WORK = 100_000
"""How many states a match may visit. A pattern of 100 characters can be matched with a client id of 1,000."""

RECOVERABLE = (Code.UNKNOWN_SUBSCRIPTION_ID, Code.UNSUPPORTED_COMPRESSION_TYPE)
"""After these a client asks again at once."""


class Subscription(NamedTuple):
    """What one client is to push, and how often."""

    id: int
    metrics: list[str]
    interval_ms: int


class Asker(Protocol):
    """What is known of the client that asks or pushes (a Context)."""

    clock: Clock
    client_id: str
    peer: tuple[str, int]


class _Instance:
    """A client that asked or pushed."""

    __slots__ = ("asked_ms", "is_ending", "last_error", "pushed_ms", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.asked_ms = self.pushed_ms = 0
        self.last_error = Code.NONE
        self.is_ending = False


class Telemetry:
    """The clients of one broker."""

    def __init__(self, metadata: MetadataImage, release: Release) -> None:
        self._metadata = metadata
        self._release = release
        self._instances: dict[bytes, _Instance] = {}
        self._patterns: dict[str, tuple[str, dict[str, Regex]]] = {}  # by subscription: its `match` and what it means

    def ask(self, client_id: bytes, asker: Asker) -> Subscription:
        """What this client is to push. THROTTLING_QUOTA_EXCEEDED where it asked or pushed just now."""
        instance = self._instance(client_id, asker)
        now_ms = asker.clock.now_ms()
        idle_ms = now_ms - max(instance.asked_ms, instance.pushed_ms)
        if idle_ms < instance.subscription.interval_ms and instance.last_error not in RECOVERABLE:
            raise KafkaError(Code.THROTTLING_QUOTA_EXCEEDED)
        instance.asked_ms = now_ms
        instance.last_error = Code.NONE
        return instance.subscription

    def push(self, client_id: bytes, subscription_id: int, is_ending: bool, asker: Asker) -> None:
        """Let a client push. Raises KafkaError with the code that PushTelemetry answers."""
        instance = self._instance(client_id, asker)
        if instance.is_ending:
            raise KafkaError(Code.INVALID_REQUEST)
        now_ms = asker.clock.now_ms()
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
        """What a client pushed was refused."""
        if client_id in self._instances:
            self._instances[client_id].last_error = code

    def _instance(self, client_id: bytes, asker: Asker) -> _Instance:
        subscription = self._subscription(client_id, asker)
        instance = self._instances.get(client_id)
        if instance is None:
            if len(self._instances) >= MAX_CLIENTS:
                del self._instances[next(iter(self._instances))]
            instance = self._instances[client_id] = _Instance(subscription)
        elif instance.subscription != subscription:  # a client that hears of a change need not wait
            instance.subscription = subscription
            instance.asked_ms = instance.pushed_ms = 0
        return instance

    def _subscription(self, client_id: bytes, asker: Asker) -> Subscription:
        metrics: set[str] = set()
        interval_ms = DEFAULT_INTERVAL_MS
        for name, texts in self._metadata.client_metrics.items():
            if self._fits(name, texts.get("match"), client_id, asker):
                metrics.update(name.strip() for name in texts.get("metrics", "").split(",") if name.strip())
                interval_ms = min(interval_ms, int(texts.get("interval.ms", DEFAULT_INTERVAL_MS)))
        names = [ALL_METRICS] if ALL_METRICS in metrics else sorted(metrics)
        crc = zlib.crc32("".join([*names, str(interval_ms)]).encode() + client_id)
        return Subscription(crc - (1 << 32) if crc >> 31 else crc, names, interval_ms)

    def _fits(self, name: str, match: str | None, client_id: bytes, asker: Asker) -> bool:
        """Whether a subscription means this client. What a client says of its software is not kept: it fits nothing."""
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
        _LOG.warning("a client whose attribute has %d characters is too long to be matched", len(text))
        return False
    return pattern.matches(text)
