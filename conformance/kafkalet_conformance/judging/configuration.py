"""The properties of a judged broker that influence responses, and that differ from those of the recorded brokers.

The recordings come from brokers with Kafka's defaults, except for the properties in `recording/recorded_properties.py`.
A scenario whose responses depend on a property that differs is not run. Descriptions of configurations are compared,
except for the entries that such a property sets. A broker that does not serve DescribeConfigs is assumed to be
configured like the recorded ones.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkalet.protocol.errors import ProtocolError
from kafkalet_conformance.catalog import Scenario
from kafkalet_conformance.playing.connection import CLIENT_ID, Closed, NoAnswer, OutOfTime
from kafkalet_conformance.playing.serving import serves
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import Step

_PROPERTIES: Mapping[str, tuple[str | None, ...]] = {
    "auto.create.topics.enable": ("true", "metadata_auto_create"),
    "num.partitions": ("1", "create_topics_counts", "metadata_auto_create"),
    "default.replication.factor": ("1", "brokers_placements", "metadata_auto_create"),
    "min.insync.replicas": ("1",),
    "message.max.bytes": ("1048588", "offsets_too_large", "produce_too_large"),
    "log.segment.bytes": ("1073741824", "produce_too_large"),
    "log.message.timestamp.type": ("CreateTime", "Produce"),
    "offsets.retention.minutes": ("10080",),
    "log.message.timestamp.before.max.ms": ("9223372036854775807", "Produce"),
    "log.cleanup.policy": ("delete", "Produce"),
    "compression.type": ("producer", "Produce"),
    "delete.topic.enable": ("true", "DeleteTopics"),
    "max.incremental.fetch.session.cache.slots": ("1000", "fetch_sessions", "found_session_zero_id"),
    "connections.max.idle.ms": ("600000", "mutation_quotas_versions", "share_groups"),
    "transaction.max.timeout.ms": ("900000", "InitProducerId"),
    "offset.metadata.max.bytes": ("4096", "offsets_fields", "offsets_too_large"),
    "offsets.topic.num.partitions": ("50", "consumer_group_patterns"),
    "group.min.session.timeout.ms": ("6000", "group_refused"),
    "group.max.session.timeout.ms": ("1800000", "group_refused"),
    "group.initial.rebalance.delay.ms": ("0", "JoinGroup"),
    "group.consumer.assignment.interval.ms": ("0", "ConsumerGroupHeartbeat"),
    "group.coordinator.rebalance.protocols": (
        *(None, "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "StreamsGroupHeartbeat", "StreamsGroupDescribe"),
        "StreamsGroupTopologyDescriptionUpdate",
    ),
}
"""The value with which the responses were recorded, and the scenarios, areas, or APIs of scenarios, that cannot be
compared if a property differs. The default of a property without a value depends on the release: it differs if the
broker sets it.
"""
RECORDED = {name: value for name, (value, *_) in _PROPERTIES.items() if value is not None}
NEEDED_BY = {name: frozenset(filter(None, names)) for name, (_, *names) in _PROPERTIES.items() if names}
SAME = (
    ("delete.retention.ms", "log.cleaner.delete.retention.ms"),
    ("file.delete.delay.ms", "log.segment.delete.delay.ms"),
    ("flush.messages", "log.flush.interval.messages"),
    ("flush.ms", "log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ("max.message.bytes", "message.max.bytes"),
    ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"),
    ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"),
    ("retention.ms", "log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("segment.index.bytes", "log.index.size.max.bytes"),
    ("segment.jitter.ms", "log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("segment.ms", "log.roll.ms", "log.roll.hours"),
)
"""Properties of topics, and the broker properties that set their defaults, unless these have the prefix `log.`."""
MAX_BATCH = "message.max.bytes"
BROKER = 4
DEFAULT = 5
SET_WHEN_RECORDED = {
    *("auto.create.topics.enable", "num.partitions", "min.insync.replicas"),
    *("group.initial.rebalance.delay.ms", "group.consumer.assignment.interval.ms"),
}
"""Properties that the recorded brokers had set as well; min.insync.replicas is set by Kafka 4.1 and later (KIP-966)."""
OWN_SOURCES = (1, 7, 8)
"""The sources of values that are set for a single topic, group or client metrics subscription."""
UNKNOWN = (ProtocolError, ValueError, LookupError, TypeError, struct.error, OSError, Closed, NoAnswer, OutOfTime)
"""The errors of a broker that does not disclose its configuration."""


@dataclass(slots=True)
class Configuration:
    """The properties of a broker, compared with the recorded ones. `differing` contains those of RECORDED that
    differ.
    """

    differing: Mapping[str, str] = field(default_factory=dict)
    set_here: frozenset[str] = frozenset()
    """The properties that this broker sets, but that the recorded brokers did not set, or set to another value."""
    left_out: set[str] = field(default_factory=set)
    """The properties of `set_here` whose values were left out of a comparison."""

    def notes(self) -> list[str]:
        """Describe the properties that differ."""
        found = self.differing.items()
        notes = [f"the broker has {name}={value}, the recorded one {RECORDED[name]}" for name, value in found]
        if self.left_out:
            notes.append(
                f"the broker sets {', '.join(sorted(self.left_out))}; described values of these are not compared"
            )
        return notes

    def obstacle(self, scenario: Scenario, steps: Iterable[Step]) -> str:
        """Return why a property prevents the comparison of a scenario; "" if none does."""
        steps = list(steps)
        used = {scenario.name, scenario.area, *(step.get("api") for step in steps)}
        for name, value in self.differing.items():
            if NEEDED_BY.get(name, frozenset()) & used:
                return f"depends on {name}, which is {value} here and was {RECORDED[name]} when recorded"
        if (most := self.differing.get(MAX_BATCH)) and _largest_value([step.get("body") for step in steps]) > int(most):
            return f"sends larger batches than {MAX_BATCH}, which is {most} here, allows"
        relied_on = {*_changed(steps), *(name for polled in _polled_defaults(steps) for name in setting(polled))}
        for name in sorted(self.set_here):
            if name in relied_on or (name not in RECORDED and NEEDED_BY.get(name, frozenset()) & used):
                return f"depends on {name}, which this broker sets and the recorded ones did not"
        return ""

    def without_set_here(self, answer: Any) -> Any:
        """Return a response without the entries of configurations that come from properties that this broker sets."""
        if not self.set_here:
            return answer
        match answer:
            case {"configs": list(configs)}:
                own = [each.get("config_source", DEFAULT) in OWN_SOURCES for each in configs]
                kept = [each for each, is_own in zip(configs, own, strict=True) if is_own or self.is_as_recorded(each)]
                return answer | {"configs": [self.without_set_here(each) for each in kept]}
            case {"synonyms": list(synonyms)}:
                return answer | {"synonyms": [each for each in synonyms if self.is_as_recorded(each)]}
            case dict():
                return {key: self.without_set_here(item) for key, item in answer.items()}
            case list():
                return [self.without_set_here(item) for item in answer]
        return answer

    def is_as_recorded(self, entry: Mapping[str, Any]) -> bool:
        """Return whether no property of this broker sets the value of an entry."""
        found = self.set_here.intersection(setting(entry.get("name", "")))
        self.left_out |= found
        return not found


def setting(name: str) -> tuple[str, ...]:
    """Return the broker properties that can set the default of a property, and the property itself."""
    return next((each for each in SAME if name in each), (name, f"log.{name}", f"group.{name}"))


def _largest_value(body: Any) -> int:
    """Return the size in bytes of the largest record value in requests."""
    match body:
        case {"fill": _, "size": int(size)}:
            return size
        case dict():
            return max(map(_largest_value, body.values()), default=0)
        case list():
            return max(map(_largest_value, body), default=0)
    return 0


def _changed(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the broker properties that steps change."""
    for step in steps:
        if step.get("api") in ("AlterConfigs", "IncrementalAlterConfigs"):
            for resource in step["body"].get("resources") or ():
                if resource["resource_type"] == BROKER:
                    yield from (each["name"] for each in resource["configs"])


def _polled_defaults(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the properties for which a step waits for a value that no step sets, which is the default."""
    written = set(_written([step.get("body") for step in steps]))
    for step in steps:
        if step["op"] == "poll_until" and step["api"] == "DescribeConfigs" and step["equals"] not in written:
            for resource in step["body"]["resources"]:
                yield from resource["configuration_keys"] or ()


def _written(body: Any) -> Iterator[Any]:
    """Yield the values of properties that requests set."""
    match body:
        case {"name": str(), "value": value}:
            yield value
        case dict():
            for item in body.values():
                yield from _written(item)
        case list():
            for item in body:
                yield from _written(item)


def configuration(target: Target, deadline: float) -> Configuration:
    """Request the configuration of the main broker."""
    if not serves(target.versions, "DescribeConfigs", 1):
        return Configuration()
    resource = {"resource_type": BROKER, "resource_name": str(target.main), "configuration_keys": None}
    try:
        connection = target.connect("main", target.main if len(target.nodes) > 1 else None, deadline)
        try:
            answer = connection.ask("DescribeConfigs", 1, {"resources": [resource]})
        finally:
            connection.close()
        found = {each["name"]: each for each in answer["results"][0]["configs"]}
        differing = {
            name: found[name]["value"]
            for name, value in RECORDED.items()
            if name in found and found[name]["value"] not in (None, value)
        }
        configured = {name for name, each in found.items() if each["config_source"] != DEFAULT}
        return Configuration(differing, frozenset(configured - SET_WHEN_RECORDED | differing.keys()))
    except UNKNOWN:
        return Configuration()


def has_quotas(target: Target, deadline: float) -> bool:
    """Return whether quotas apply to the connections of the judge; without them, a broker throttles nothing."""
    if not serves(target.versions, "DescribeClientQuotas", 0):
        return False
    credentials = target.security.credentials
    own = {"user": (None, credentials.username if credentials else "ANONYMOUS"), "client-id": (None, CLIENT_ID)}
    try:
        connection = target.connect(deadline=deadline)
        try:
            entries = connection.ask("DescribeClientQuotas", 0, {"components": [], "strict": False})["entries"]
        finally:
            connection.close()
        entities = [entry["entity"] for entry in entries or ()]
        return any(all(part["entity_name"] in own.get(part["entity_type"], ()) for part in each) for each in entities)
    except UNKNOWN:
        return False
