"""The properties that influence answers and differ between a judged broker and the recorded brokers.

The recordings come from brokers with Kafka's defaults, except for the properties in
`recording/recorded_properties.py`. A broker that does not serve DescribeConfigs is assumed to have the same properties.
"""

import struct
from collections.abc import Iterable, Mapping

from kafkalet.conformance.playing.connection import CLIENT_ID, Closed, NoAnswer, OutOfTime
from kafkalet.conformance.playing.serving import serves
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.transcripts import Step
from kafkalet.protocol.errors import ProtocolError

RECORDED = {
    "auto.create.topics.enable": "true",
    "num.partitions": "1",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "message.max.bytes": "1048588",
    "log.message.timestamp.type": "CreateTime",
    "offsets.retention.minutes": "10080",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}
"""The values with which the answers were recorded."""
GROUP_CONFIGS = "the configuration of a group"
NEEDED_BY: Mapping[str, frozenset[str]] = {
    "group.initial.rebalance.delay.ms": frozenset({"JoinGroup"}),
    "group.consumer.assignment.interval.ms": frozenset({"ConsumerGroupHeartbeat", GROUP_CONFIGS}),
}
"""Scenarios that use one of these APIs cannot be compared if the property differs."""
BROKER, GROUP = 4, 32
UNKNOWN = (ProtocolError, ValueError, LookupError, TypeError, struct.error, OSError, Closed, NoAnswer, OutOfTime)
"""The errors of a broker that does not tell its configuration."""


def differing(target: Target, deadline: float) -> dict[str, str]:
    """Return the properties that differ from the recorded brokers, with their values."""
    if not serves(target.versions, "DescribeConfigs", 1):
        return {}
    resource = {"resource_type": BROKER, "resource_name": str(target.main), "configuration_keys": list(RECORDED)}
    try:
        connection = target.connect("main", target.main if len(target.nodes) > 1 else None, deadline)
        try:
            answer = connection.ask("DescribeConfigs", 1, {"resources": [resource]})
        finally:
            connection.close()
        configs = answer["results"][0]["configs"]
        found = {each["name"]: each["value"] for each in configs if each["value"] is not None}
    except UNKNOWN:
        return {}
    return {name: found[name] for name, value in RECORDED.items() if name in found and found[name] != value}


def has_quotas(target: Target, deadline: float) -> bool:
    """Return whether quotas apply to the connections of the judge; without them, a broker throttles nothing."""
    if not serves(target.versions, "DescribeClientQuotas", 0):
        return False
    own = {"user": (None, target.security.user or "ANONYMOUS"), "client-id": (None, CLIENT_ID)}
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


def notes(differences: Mapping[str, str]) -> list[str]:
    """Describe properties that differ."""
    return [f"the broker has {name}={value}, the recorded one {RECORDED[name]}" for name, value in differences.items()]


def obstacle(steps: Iterable[Step], differences: Mapping[str, str]) -> str:
    """Return why a property of the broker prevents the comparison of a scenario; "" if no property does."""
    steps = list(steps)
    used = {step.get("api") for step in steps}
    resources = [each for step in steps for each in step.get("body", {}).get("resources") or ()]
    if any(each.get("resource_type") == GROUP for each in resources):
        used.add(GROUP_CONFIGS)
    for name, apis in NEEDED_BY.items():
        if name in differences and apis & used:
            return f"depends on {name}, which is {differences[name]} here and was {RECORDED[name]} when recorded"
    return ""
