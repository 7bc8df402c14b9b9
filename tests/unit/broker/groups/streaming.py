"""Members of a streams group, on a stage whose clock the test controls."""

from collections.abc import Sequence
from typing import Any

from kafkalet.broker.groups.streams.group import StreamsGroup
from kafkalet.protocol.api import Api
from tests.unit.model.stage import Stage

CONFIG = {
    "offsets.topic.num.partitions": "1",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""A broker configuration that starts quickly and computes a new target assignment after every change."""


def subtopology(name: str, *sources: str, **fields: Any) -> dict[str, Any]:
    none: dict[str, Any] = {"source_topic_regex": [], "state_changelog_topics": [], "copartition_groups": []}
    none |= {"repartition_sink_topics": [], "repartition_source_topics": []}
    return {"subtopology_id": name, "source_topics": list(sources)} | none | fields


def internal(name: str, partitions: int = 0, **config: str) -> dict[str, Any]:
    """Return an internal topic, whose number of partitions is open by default."""
    configs = [{"key": key.replace("_", "."), "value": value} for key, value in config.items()]
    return {"name": name, "partitions": partitions, "replication_factor": 0, "topic_configs": configs}


COUNTING = (
    subtopology("0", "t", repartition_sink_topics=["words"]),
    subtopology("1", repartition_source_topics=[internal("words")], state_changelog_topics=[internal("counts")]),
)
"""An application that counts the words in topic "t"."""


class Streaming:
    """The members of a streams group, each with its member epoch and its tasks, as in "0_1"."""

    def __init__(self, stage: Stage, group_id: str = "g") -> None:
        self.stage = stage
        self.group_id = group_id
        self.epochs: dict[str, int] = {}
        self.active: dict[str, list[str]] = {}
        self.standby: dict[str, list[str]] = {}
        self.statuses: dict[str, list[tuple[int, str]]] = {}
        self.node = stage.coordinator(group_id, 0)

    @property
    def group(self) -> StreamsGroup:
        shard = self.stage.cluster._server.brokers[self.node].coordinators.groups.shard_of(self.group_id)
        group = shard.groups[self.group_id]
        assert isinstance(group, StreamsGroup)
        return group

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        return self.stage.ask(api, version, self.node, client_id="ann", **fields)

    def configure(self, **config: str) -> None:
        """Set properties of the group, such as streams_session_timeout_ms."""
        configs = [
            {"name": name.replace("_", "."), "config_operation": 0, "value": value} for name, value in config.items()
        ]
        resource = {"resource_type": 32, "resource_name": self.group_id, "configs": configs}
        [answer] = self.ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)["responses"]
        assert answer["error_code"] == 0, answer

    def send(self, member_id: str, epoch: int, version: int = 1, **fields: Any) -> Any:
        """Send a heartbeat and return the response."""
        known = {"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch}
        known |= {"endpoint_information_epoch": 0, "shutdown_application": False}
        return self.ask(Api.STREAMS_GROUP_HEARTBEAT, version, **known | fields)

    def join(self, member_id: str, *subtopologies: dict[str, Any], epoch: int = 0, **fields: Any) -> list[str]:
        """Join and return the active tasks. Each member has a process of its own by default."""
        joining: dict[str, Any] = {
            "topology": {"epoch": epoch, "subtopologies": list(subtopologies or [subtopology("0", "t")])},
            "rebalance_timeout_ms": 60_000,
            "process_id": f"process of {member_id}",
            "client_tags": [],
        }
        none: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        return self._took_in(member_id, self.send(member_id, 0, **joining | none | fields))

    def beat(self, member_id: str, **fields: Any) -> list[str]:
        """Send a heartbeat with the current epoch and tasks, and return the active tasks."""
        tasks = {
            "active_tasks": ids(self.active.get(member_id, ())),
            "standby_tasks": ids(self.standby.get(member_id, ())),
            "warmup_tasks": [],
        }
        return self._took_in(member_id, self.send(member_id, self.epochs[member_id], **tasks | fields))

    def settle(self, *member_ids: str) -> None:
        """Let members send heartbeats until each has its target assignment."""
        for _ in range(4):
            for member_id in member_ids:
                self.beat(member_id)

    def describe(self, version: int = 1) -> Any:
        asked = {"group_ids": [self.group_id], "include_authorized_operations": False}
        [group] = self.ask(Api.STREAMS_GROUP_DESCRIBE, version, **asked)["groups"]
        return group

    def records(self) -> list[tuple[int, bool]]:
        """Return the type of each record of the group's log, and whether it has a value."""
        return [
            (int.from_bytes(bytes(record.key or b"")[:2], "big"), record.value is not None)
            for _, records in self.group.shard.log.read()
            for record in records
        ]

    def _took_in(self, member_id: str, answer: Any) -> list[str]:
        assert answer["error_code"] == 0, answer
        self.epochs[member_id] = answer["member_epoch"]
        self.statuses[member_id] = [(each["status_code"], each["status_detail"]) for each in answer["status"]]
        if answer["active_tasks"] is not None:
            self.active[member_id] = named(answer["active_tasks"])
            self.standby[member_id] = named(answer["standby_tasks"])
        return self.active.get(member_id, [])


def named(tasks: list[Any]) -> list[str]:
    return sorted(f"{of['subtopology_id']}_{partition}" for of in tasks for partition in of["partitions"])


def ids(tasks: Sequence[str]) -> list[dict[str, Any]]:
    by_name: dict[str, list[int]] = {}
    for task in tasks:
        name, _, partition = task.partition("_")
        by_name.setdefault(name, []).append(int(partition))
    return [{"subtopology_id": name, "partitions": partitions} for name, partitions in by_name.items()]
