"""The scope of a scenario: what it changes or observes beyond the topics, groups and ids that it creates.

The scope follows from the steps: `$name` is bound to a value that is unique for the run; a literal name, null, or a
broker is shared by all users of the cluster. A request changes nothing if Kafka refused every part of it; the APIs in
ALWAYS are exceptions.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from kafkalet_conformance.playing.placement import GROUP_FIELDS
from kafkalet_conformance.playing.player import error_codes
from kafkalet_conformance.transcripts import Step

BROKER, BROKER_LOGGER, CLIENT_METRICS = 4, 8, 16
ALWAYS = {
    *("UpdateFeatures", "CreateAcls", "DeleteAcls", "AlterUserScramCredentials", "UnregisterBroker"),
    *("AddRaftVoter", "RemoveRaftVoter"),
}
"""APIs whose effect cannot be limited to what a scenario creates.

A recorded refusal does not count: its reason may be the recorded cluster, such as its static voters."""
LISTS = {
    "ListPartitionReassignments": "topics",
    "ElectLeaders": "topic_partitions",
    "DescribeLogDirs": "topics",
    "Metadata": "topics",
}
"""APIs with a field that lists names, in which null means all of them."""
WITHOUT_FILTER = {"ListGroups", "ListTransactions", "ListConfigResources", "DescribeClientQuotas"}


class Scope(IntEnum):
    """How far the requests of a scenario reach."""

    OWN = 0
    """They concern only what the scenario creates."""
    OBSERVES = 1
    """Their responses depend on what other users of the cluster do at the same time."""
    CHANGES = 2
    """They change the configuration of the whole cluster."""


def scope(steps: Iterable[Step]) -> Scope:
    """Return the scope of the steps of a scenario."""
    return max((_reach(step) for step in steps if "api" in step and "body" in step), default=Scope.OWN)


def _reach(step: Step) -> Scope:
    api, body = step["api"], step["body"]
    if body.get("validate_only"):
        return Scope.OWN
    if api in ALWAYS or (api == "ElectLeaders" and body.get(LISTS[api], ()) is None):
        return Scope.CHANGES
    if _is_refused(step):
        return Scope.OWN
    if api in ("AlterConfigs", "IncrementalAlterConfigs"):
        types = {each["resource_type"] for each in body.get("resources") or ()}
        if types & {BROKER, BROKER_LOGGER} or not _are_own(_names(body, "resource_name")):
            return Scope.CHANGES
        return Scope.OBSERVES if CLIENT_METRICS in types else Scope.OWN  # they apply to all clients
    if api == "AlterClientQuotas":
        return Scope.OWN if _are_own(_names(body, "entity_name")) else Scope.CHANGES
    if api == "AlterPartitionReassignments":
        return Scope.OWN if _are_own(_names(body, "name")) else Scope.CHANGES
    if api in LISTS and body.get(LISTS[api], ()) is None:
        return _unless_filtered(step)
    if api == "DescribeConfigs" and any(each["resource_type"] == BROKER for each in body.get("resources") or ()):
        return Scope.OBSERVES
    if "" in _names(body, *GROUP_FIELDS):  # a group like any other, which all users of the cluster share
        return Scope.OBSERVES
    return _unless_filtered(step) if api in WITHOUT_FILTER else Scope.OWN


def _is_refused(step: Step) -> bool:
    """Return whether every part of the recorded response has an error code."""
    codes = error_codes(step.get("expect"))
    return bool(codes) and all(codes)


def _unless_filtered(step: Step) -> Scope:
    return Scope.OWN if "keep" in step or "only" in step or "case" not in step else Scope.OBSERVES


def _are_own(names: Iterable[Any]) -> bool:
    return all(isinstance(name, str) and name.startswith("$") for name in names)


def _names(value: Any, *fields: str) -> Iterator[Any]:
    match value:
        case dict():
            for key, item in value.items():
                if key in fields:
                    yield from item if isinstance(item, list) else [item]
                else:
                    yield from _names(item, *fields)
        case list():
            for item in value:
                yield from _names(item, *fields)
