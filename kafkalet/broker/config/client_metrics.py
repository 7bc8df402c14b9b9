"""Client metrics subscriptions (KIP-714), the resource type CLIENT_METRICS of the configuration APIs.

    interval.ms   the push interval, from 100 ms to one hour
    metrics       prefixes of the metrics to push, or `*` for all
    match         the clients: `client_id=regex,client_software_name=regex,...`; all expressions have to match

The broker announces the subscriptions to clients. Like a Kafka broker without a metrics receiver, it accepts the
metrics that clients push, and drops them.

Kafka evaluates the patterns of `match` with java.util.regex, which can take exponential time. kafkalet uses the syntax
of RE2 (`broker/regex`) and refuses patterns that require backtracking: look-around, back-references and possessive
quantifiers.

Source: org.apache.kafka.server.metrics.ClientMetricsConfigs.
"""

from collections.abc import Iterator, Mapping

from kafkalet.broker.regex.automaton import BadRegex, Regex, compile_in_turns
from kafkalet.properties import Declaration, InvalidProperty, Property, Type, as_text
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import finish

from .entries import UNKNOWN_TYPE, Entry, Source, SynonymEntry
from .release import Release

DEFAULT_INTERVAL_MS = 300_000
LEAST_INTERVAL_MS, MOST_INTERVAL_MS = 100, 3_600_000
MATCHABLE = frozenset(
    {
        *("client_instance_id", "client_id", "client_software_name", "client_software_version"),
        *("client_source_address", "client_source_port"),
    }
)

# Here, `affects` names the part of a subscription that the property sets (`kafkalet.broker.telemetry`).
# fmt: off
PROPERTIES = {
    row.name: row
    for row in (
        Declaration(Property("interval.ms", Type.INT, str(DEFAULT_INTERVAL_MS)),
            "Interval at which clients push their metrics.", "interval.ms"),
        Declaration(Property("match", Type.LIST, ""),
            "Clients that the subscription applies to, as a list of attribute=expression. All clients if empty.",
            "match"),
        Declaration(Property("metrics", Type.LIST, ""),
            "Metrics that clients push, as a list of name prefixes. * selects all metrics.", "metrics"),
    )
}
# fmt: on


def check(texts: Mapping[str, str], release: Release) -> None:
    """Raise KafkaError (INVALID_REQUEST or INVALID_CONFIG) unless the properties of a subscription are valid."""
    for name in texts:
        if name not in PROPERTIES:
            raise KafkaError(Code.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    if "interval.ms" in texts:
        _check_interval(texts["interval.ms"], release)
    if "match" in texts:
        patterns(texts["match"], release)


def _check_interval(text: str, release: Release) -> None:
    try:
        value = PROPERTIES["interval.ms"].declared.parse(text)
    except InvalidProperty as error:
        if not release.parses_client_metrics:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR) from error
        raise KafkaError(Code.INVALID_CONFIG, str(error)) from error
    assert isinstance(value, int)
    if not LEAST_INTERVAL_MS <= value <= MOST_INTERVAL_MS:
        raise KafkaError(
            Code.INVALID_REQUEST,
            f"Invalid value {value} for interval.ms, interval must be between {LEAST_INTERVAL_MS} and "
            f"{MOST_INTERVAL_MS} (1 hour)",
        )


def patterns(text: str, release: Release) -> dict[str, Regex]:
    """Parse the value of `match` and return the expressions, keyed by client attribute.

    Raises KafkaError (INVALID_CONFIG) if the value is invalid.
    """
    found: dict[str, Regex] = {}
    parts = [part.strip() for part in text.split(",")]
    if release.parses_client_metrics:
        if not text.strip():
            return found
        if "" in parts:
            raise KafkaError(Code.INVALID_CONFIG, "Configuration 'match' values must not be empty.")
    for part in parts:
        name, *rest = (word.strip() for word in part.split("="))
        try:
            if len(rest) != 1 or name not in MATCHABLE:
                raise KafkaError(Code.INVALID_CONFIG, f"Illegal client matching pattern: {part}")
            found[name] = finish(compile_in_turns(rest[0]))
        except BadRegex as error:
            raise KafkaError(
                Code.INVALID_CONFIG,
                f"Illegal client matching pattern: {part} (not a valid RE2 expression: {error})",
            ) from error
    return found


def client_metrics_entries(texts: Mapping[str, str], release: Release) -> Iterator[Entry]:
    """Yield the entries that DescribeConfigs returns for a subscription with these properties."""
    if not release.describes_client_metrics:
        for name, text in texts.items():
            yield Entry(name, text, Source.CLIENT_METRICS, UNKNOWN_TYPE, False, False, [], documentation="")
        return
    for name, row in PROPERTIES.items():
        known = row.declared
        synonyms = []
        value = known.default
        if name in texts:
            value = as_text(known.parse(texts[name]))
            synonyms.append(SynonymEntry(name, value, Source.CLIENT_METRICS))
        source = Source.CLIENT_METRICS if synonyms else Source.DEFAULT
        yield Entry(name, value, source, known.type.value, False, False, synonyms)
