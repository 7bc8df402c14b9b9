"""Clean up after a run on a shared cluster: remove everything whose name contains the unique part of a scenario.

Members are removed from groups, then groups, topics, quotas of users, and configurations of groups and of client
metrics. Transactional ids and producer ids cannot be removed; Kafka forgets them after a time
(`transactional.id.expiration.ms`). Requests that the broker refuses or does not serve are skipped.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any

from kafkalet.protocol.errors import ProtocolError
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer, OutOfTime
from kafkalet_conformance.playing.target import Target

CLIENT_METRICS, GROUP = 16, 32
DELETE = 1
TOGETHER = 100
FAILED = (ProtocolError, ValueError, LookupError, TypeError, struct.error, OSError, Closed, NoAnswer, OutOfTime)


def clean(target: Target, uniques: Iterable[str], deadline: float) -> list[str]:
    """Remove what scenarios with these unique parts created. Return notes on what could not be removed."""
    try:
        cleaner = Cleaner(target, frozenset(uniques), deadline)
    except FAILED as error:
        return [f"nothing was cleaned up: {type(error).__name__}: {error}"]
    return cleaner.clean()


class Cleaner:
    """Removes everything whose name contains one of `uniques`, until `deadline`, a time of `time.monotonic`."""

    def __init__(self, target: Target, uniques: frozenset[str], deadline: float) -> None:
        self.target, self.uniques, self.deadline = target, uniques, deadline
        self.connections: dict[int, Connection] = {}

    def clean(self) -> list[str]:
        """Remove everything, and return notes on what could not be removed."""
        notes = []
        try:
            for what, remove in (
                ("groups", self.remove_groups),
                ("quotas", self.remove_quotas),
                ("configurations of groups and client metrics", self.remove_configurations),
                ("topics", self.remove_topics),
            ):
                if note := self.attempt(what, remove):
                    notes.append(note)
        finally:
            for connection in self.connections.values():
                connection.close()
        return notes

    def attempt(self, what: str, remove: Callable[[], list[str]]) -> str:
        try:
            left = remove()
        except FAILED as error:
            return f"{what} were not cleaned up: {type(error).__name__}: {error}"
        return f"{len(left)} {what} could not be removed, such as {left[0]}" if left else ""

    def is_own(self, name: str | None) -> bool:
        return name is not None and any(unique in name for unique in self.uniques)

    def serves(self, api: str) -> bool:
        return APIS[api] in self.target.versions

    def ask(self, api: str, highest: int, body: dict[str, Any], node: int | None = None) -> dict[str, Any]:
        at = self.target.main if node is None else node
        if at not in self.connections:
            place = at if len(self.target.nodes) > 1 else None
            self.connections[at] = self.target.connect("main", place, self.deadline)
        low, high = self.target.versions[APIS[api]]
        return self.connections[at].ask(api, max(low, min(high, highest)), body)

    def remove_topics(self) -> list[str]:
        """Delete topics. Return the names of those that could not be deleted."""
        answer = self.ask("Metadata", 4, {"topics": None, "allow_auto_topic_creation": False})
        own = [topic["name"] for topic in answer["topics"] if self.is_own(topic["name"])]
        left = []
        for at in range(0, len(own), TOGETHER):
            answer = self.ask("DeleteTopics", 5, {"topic_names": own[at : at + TOGETHER], "timeout_ms": 10000})
            left += [topic["name"] for topic in answer["responses"] if topic["error_code"] not in (0, 3)]
        return left

    def remove_groups(self) -> list[str]:
        """Delete groups. Return the names of those that could not be deleted."""
        left: list[str] = []
        if not (self.serves("ListGroups") and self.serves("DeleteGroups")):
            return left
        for node in sorted(self.target.nodes):
            groups = self.ask("ListGroups", 2, {}, node)["groups"]
            own = [group["group_id"] for group in groups if self.is_own(group["group_id"])]
            for at in range(0, len(own), TOGETHER):
                some = own[at : at + TOGETHER]
                self.remove_members(some, node)
                answer = self.ask("DeleteGroups", 2, {"groups_names": some}, node)
                left += [result["group_id"] for result in answer["results"] if result["error_code"] not in (0, 69)]
        return left

    def remove_members(self, groups: list[str], node: int) -> None:
        """Remove all members from groups that `node` coordinates."""
        if self.serves("DescribeGroups") and self.serves("LeaveGroup"):
            for group in self.ask("DescribeGroups", 4, {"groups": groups}, node)["groups"]:
                for member in group["members"]:
                    body = {"group_id": group["group_id"], "member_id": member["member_id"]}
                    self.ask("LeaveGroup", 2, body, node)
        if self.serves("ConsumerGroupDescribe") and self.serves("ConsumerGroupHeartbeat"):
            for group in self.ask("ConsumerGroupDescribe", 0, {"group_ids": groups}, node)["groups"]:
                for member in group["members"]:
                    body = {"group_id": group["group_id"], "member_id": member["member_id"], "member_epoch": -1}
                    self.ask("ConsumerGroupHeartbeat", 0, body, node)

    def remove_quotas(self) -> list[str]:
        """Remove client quotas. Return those that could not be removed."""
        if not (self.serves("DescribeClientQuotas") and self.serves("AlterClientQuotas")):
            return []
        answer = self.ask("DescribeClientQuotas", 1, {"components": [], "strict": False})
        entries = [
            {
                "entity": entry["entity"],
                "ops": [{"key": value["key"], "value": 0.0, "remove": True} for value in entry["values"]],
            }
            for entry in answer["entries"] or ()
            if any(self.is_own(part["entity_name"]) for part in entry["entity"])
        ]
        if not entries:
            return []
        answer = self.ask("AlterClientQuotas", 1, {"entries": entries, "validate_only": False})
        return [str(entry["entity"]) for entry in answer["entries"] if entry["error_code"]]

    def remove_configurations(self) -> list[str]:
        """Reset the configurations of groups and client metrics. Return the names of those that could not be reset."""
        if not (self.serves("ListConfigResources") and self.serves("IncrementalAlterConfigs")):
            return []
        _, high = self.target.versions[APIS["ListConfigResources"]]
        body = {"resource_types": [CLIENT_METRICS, GROUP]} if high else {}
        found = self.ask("ListConfigResources", 1, body)["config_resources"]
        own = [
            {"resource_type": each.get("resource_type", CLIENT_METRICS), "resource_name": each["resource_name"]}
            for each in found
            if self.is_own(each["resource_name"])
        ]
        left = []
        for resource in own:
            described = self.ask("DescribeConfigs", 4, {"resources": [resource | {"configuration_keys": None}]})
            names = [each["name"] for each in described["results"][0]["configs"] if not each.get("read_only")]
            configs = [{"name": name, "config_operation": DELETE, "value": None} for name in names]
            answer = self.ask("IncrementalAlterConfigs", 1, {"resources": [resource | {"configs": configs}]})
            left += [each["resource_name"] for each in answer["responses"] if each["error_code"]]
        return left
