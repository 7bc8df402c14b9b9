"""Validation of runtime changes to broker properties (DynamicBrokerConfig).

    names           a property must be dynamic; keystores can change only per listener, some properties only per broker
    values          a value must match the type and bounds of its property
    combinations    KafkaConfig restricts combinations of properties (`requirement failed: ...`)
    transitions     components of the broker restrict changes: a thread pool, for example, can at most double or halve

Most of these properties have no effect in kafkalet. Even so, changes that Kafka refuses are refused with the same
messages, so that tools can be tested.

Source: kafka.server.DynamicBrokerConfig, DynamicThreadPool, DynamicLogConfig, DynamicMetricReporterState,
kafka.log.LogCleaner, kafka.network.ConnectionQuotas, kafka.server.KafkaConfig.validateValues.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from kafkalet.properties import Declaration, InvalidProperty, Property, Type, Value, at_least, one_of
from kafkalet.protocol.errors import Code, KafkaError

from .broker_config import BrokerConfig
from .catalog import known_property
from .listeners import ADVERTISED, LISTENERS, PROTOCOL_MAP, SecurityProtocol, parse_endpoint, unknown_protocol

MEBIBYTE = 1 << 20

THREAD_POOLS = (
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
REPLICATION_RATES = {
    name: Property(name, Type.LONG, str((1 << 63) - 1), at_least(0))
    for name in (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
}
"""The properties that exist only at runtime (DynamicConfig.Broker, QuotaConfig)."""
GROUP_KINDS = ("consumer", "share", "streams")
REPORTERS = frozenset({"", "org.apache.kafka.common.metrics.JmxReporter"})

_KEYSTORES = re.compile(r"ssl\.(key|keystore|truststore)\.")
_PROTOCOLS = frozenset(protocol.value for protocol in SecurityProtocol)


def check_change(
    texts: Mapping[str, str], *, cluster_wide: bool, config: BrokerConfig, log_dirs: Collection[str]
) -> BrokerConfig:
    """Return the configuration after a change. Raise KafkaError (INVALID_REQUEST) if the properties are not valid.

    `texts` are the properties set at runtime for one broker or, with `cluster_wide`, for all brokers. `config` is the
    current configuration of the broker and `log_dirs` its log directories.
    """
    known = {name: found for name in texts if (found := known_property(name, config.release.version)) is not None}
    _check_names(known, config)
    try:
        for name, found in known.items():
            found.declared.parse(texts[name])
            _check_words(name, texts[name], found, config)
        for name in texts.keys() & REPLICATION_RATES.keys():
            REPLICATION_RATES[name].parse(texts[name])
        if cluster_wide and (own := [name for name, found in known.items() if found.is_per_broker]):
            names = _set_of(own, config)
            raise _refused(
                f"Cannot update these configs at default cluster level, broker id must be specified: {names}"
            )
        for name in known:
            _check_listeners(name, texts[name])
        after = config.for_broker()
        after.reconfigure(*((texts, config.per_broker) if cluster_wide else (config.cluster_wide, texts)))
        after.log_config({})
    except InvalidProperty as error:
        raise _refused(str(error)) from error
    if requirement := next(_violations(_Values(after), log_dirs), None):
        raise _refused(requirement)
    if refusal := next(_refusals(_Values(config), _Values(after)), None):
        raise refused_by_component(refusal)
    return after


def refused_by_component(reason: str) -> KafkaError:
    """Return the error for a change that a component of the broker refuses (DynamicBrokerConfig.validate)."""
    exception = "org.apache.kafka.common.config.ConfigException"
    return _refused(f"Invalid value {exception}: {reason} for configuration Invalid dynamic configuration")


class _Values:
    """A broker's effective values, keyed by name. They include properties without effect.

    Unknown names have the value None.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._given = config.given()
        self._version = config.release.version

    def __getitem__(self, name: str) -> Value:
        known = known_property(name, self._version)
        if known is None:
            return None
        text = self._given.get(name, known.declared.default)
        return None if text is None else known.declared.type.parse(name, text)

    def number(self, name: str) -> int | None:
        value = self[name]
        return int(value) if isinstance(value, (int, float)) else None

    def text(self, name: str) -> str:
        return str(self._given.get(name, ""))


def _refused(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)


def _set_of(names: Iterable[str], config: BrokerConfig, kind: str = "Set") -> str:
    """Format a set of names as Scala prints it or, in releases where this part of Kafka is in Java, as Java does."""
    joined = ", ".join(names)
    return f"[{joined}]" if config.release.prints_sets_as_java else f"{kind}({joined})"


def _check_names(known: Mapping[str, Declaration], config: BrokerConfig) -> None:
    if fixed := [name for name, found in known.items() if not found.is_dynamic]:
        raise _refused(f"Cannot update these configs dynamically: {_set_of(fixed, config)}")
    if secure := [name for name in known if _KEYSTORES.match(name)]:
        raise _refused(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            + _set_of(secure, config, "HashSet")
        )


def _check_words(name: str, text: str, known: Declaration, config: BrokerConfig) -> None:
    """Raise InvalidProperty for duplicates in a list, an unknown class or an invalid keyword."""
    if known.declared.type is Type.LIST and config.release.refuses_duplicates_in_lists:
        words = [word.strip() for word in text.split(",")]
        if len(set(words)) < len(words) and name != "config.providers":
            raise InvalidProperty(name, text, "", f"Configuration '{name}' values must not be duplicated.")
    if known.declared.name == "ssl.client.auth":  # also with the prefix of a listener
        one_of("required", "requested", "none")(known.declared.name, text)
    elif known.declared.type is Type.CLASS and text != known.declared.default:  # kafkalet cannot load Java classes
        raise InvalidProperty(name, text, f"Class {text} could not be found.")


def _check_listeners(name: str, text: str) -> None:
    """Raise InvalidProperty unless the addresses and protocols of listeners can be parsed."""
    if name in (LISTENERS, ADVERTISED):
        for entry in text.split(","):
            parse_endpoint(name, text, entry.strip())
    elif name == PROTOCOL_MAP:
        for pair in text.split(","):
            protocol = pair.rpartition(":")[2].strip()
            if protocol not in _PROTOCOLS:
                raise unknown_protocol(name, protocol, text)


def _violations(after: _Values, log_dirs: Collection[str]) -> Iterator[str]:
    """Yield a message for each combination of properties that KafkaConfig does not allow."""
    threads, buffer_bytes = after.number("log.cleaner.threads"), after.number("log.cleaner.dedupe.buffer.size")
    if threads == 0:
        yield "/ by zero"
    elif threads is not None and buffer_bytes is not None and buffer_bytes // threads <= MEBIBYTE:
        yield "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    for kind in GROUP_KINDS:
        name, most = (f"group.{kind}.{middle}assignment.interval.ms" for middle in ("", "max."))
        interval_ms, most_ms = after.number(name), after.number(most)
        if interval_ms is not None and most_ms is not None and interval_ms > most_ms:
            yield f"{name} must be less than or equal to {most}"
    cordoned = [word.strip() for word in after.text("cordoned.log.dirs").split(",") if word.strip()]
    if missing := [directory for directory in cordoned if directory != "*" and directory not in log_dirs]:
        yield (
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}"
        )


def _refusals(before: _Values, after: _Values) -> Iterator[str]:
    """Yield a message for each change that a component of the broker refuses."""
    yield from _thread_pools(before, after)
    yield from _cleaner_threads(before, after)
    for name in ("max.connections", "max.connection.creation.rate"):
        value = after.number(name)
        if value is not None and value != before.number(name) and value <= 0:
            yield f"Invalid {name} {value}"
    yield from _local_retention(after)
    reporters = after["metric.reporters"]
    if isinstance(reporters, tuple) and reporters != before["metric.reporters"] and not REPORTERS.issuperset(reporters):
        yield (
            "Validation of dynamic config update of Set(metric.reporters) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )


def _thread_pools(before: _Values, after: _Values) -> Iterator[str]:
    for name in THREAD_POOLS:
        old, new = before.number(name), after.number(name)
        if old is None or new is None or old == new:
            continue
        failed = f"Dynamic thread count update validation failed for {name}={new}, value should"
        if new <= 0:
            yield f"{failed} be at least 1"
        elif new < old // 2:
            yield f"{failed} be at least half the current value {old}"
        elif new > old * 2:
            yield f"{failed} not be greater than double the current value {old}"


def _cleaner_threads(before: _Values, after: _Values) -> Iterator[str]:
    old, new = before.number("log.cleaner.threads"), after.number("log.cleaner.threads")
    if old is None or new is None or old == new:
        return
    if new < old // 2:
        yield f"Log cleaner threads cannot be reduced to less than half the current value {old}"
    elif new > old * 2:
        yield f"Log cleaner threads cannot be increased to more than double the current value {old}"


def _local_retention(after: _Values) -> Iterator[str]:
    """Yield a message if local retention exceeds the total retention, or the copy lag exceeds local retention."""
    for unit in ("ms", "bytes"):
        name, whole = f"log.local.retention.{unit}", f"log.retention.{unit}"
        local, total = after.number(name), _total_retention(after, unit)
        if local is None or local == -2 or total == -1:
            continue
        if local == -1:
            yield f"Invalid value -1 for configuration {name}: Value must not be -1 as {whole} value is set as {total}."
        elif local > total:
            more = f"Value must not be more than {whole} property value: {total}"
            yield f"Invalid value {local} for configuration {name}: {more}"
    for unit in ("ms", "bytes"):
        name, lag = f"log.remote.copy.lag.{unit}", after.number(f"log.remote.copy.lag.{unit}")
        local = after.number(f"log.local.retention.{unit}")
        effective = _total_retention(after, unit) if local in (None, -2) else local
        if lag is not None and effective is not None and effective >= 0 and lag > effective:
            bound = f"Value must not exceed log.local.retention.{unit} (effective value: {effective})"
            yield f"Invalid value {lag} for configuration {name}: {bound}"


def _total_retention(after: _Values, unit: str) -> int:
    if unit == "bytes":
        return after.number("log.retention.bytes") or -1
    for name, factor in (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ):
        if (value := after.number(name)) is not None:
            return max(value * factor, -1)
    return -1
