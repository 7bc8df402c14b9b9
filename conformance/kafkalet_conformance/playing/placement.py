"""Let scenarios that were recorded with one broker run on a cluster of several.

All requests are sent to one broker, the main one, as in the recording. For this, that broker must lead the partitions
of the scenario's topics and coordinate its groups and transactions: topics are created with manual assignments, and the
unique part of each group and transactional id is chosen so that its coordinator is the main broker. A literal id,
which does not exist on the broker, gets such a part as suffix.

After a restart of a cluster, one broker may lead all partitions of an internal topic. If no broker coordinates both
groups and transactions, requests about groups are sent to a broker that coordinates groups.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from kafkalet_conformance.transcripts import Step

GROUP, TRANSACTION = 0, 1
GROUP_FIELDS = frozenset({"group_id", "group_ids", "groups_names", "groups"})
TRANSACTION_FIELDS = frozenset({"transactional_id", "transactional_ids"})
NOT_ABOUT_GROUPS = frozenset({"FindCoordinator", "ListGroups"})
ANYWHERE = NOT_ABOUT_GROUPS | {"AddOffsetsToTxn"}
"""APIs that name groups and are not sent to their coordinator."""
SHARE_STATE = {
    *("InitializeShareGroupState", "ReadShareGroupState", "ReadShareGroupStateSummary"),
    *("WriteShareGroupState", "DeleteShareGroupState"),
}
INVALID_REPLICATION_FACTOR = 38
BROKERS = (4, 8)
"""The types of resources whose name is the id of a broker: its properties, and its loggers."""


def coordinated(steps: Iterable[Step]) -> dict[str, set[int]]:
    """Return the groups and transactional ids that occur in the steps, with the kinds of their coordinators."""
    found: dict[str, set[int]] = {}
    for step in steps:
        if step.get("api") not in NOT_ABOUT_GROUPS:
            for name, kind in _ids(step.get("body"), None):
                found.setdefault(name, set()).add(kind)
    return found


def is_about_groups(step: Step) -> bool:
    """Return whether a request must go to the coordinator of its groups."""
    api = step.get("api")
    return api == "ListGroups" or (api not in ANYWHERE and any(kind == GROUP for _, kind in _ids(step["body"], None)))


def _ids(value: Any, kind: int | None) -> Iterator[tuple[str, int]]:
    match value:
        case dict():
            for key, item in value.items():
                if key in GROUP_FIELDS or key in TRANSACTION_FIELDS:
                    yield from _ids(item, TRANSACTION if key in TRANSACTION_FIELDS else GROUP)
                else:
                    yield from _ids(item, None)
        case list():
            for item in value:
                yield from _ids(item, kind)
        case str() if kind is not None and value:
            yield value, kind


def renamed(value: Any, names: Mapping[str, str], is_id: bool = False) -> Any:
    """Replace literal groups and transactional ids."""
    match value:
        case dict():
            ids = GROUP_FIELDS | TRANSACTION_FIELDS
            return {key: renamed(item, names, key in ids) for key, item in value.items()}
        case list():
            return [renamed(item, names, is_id) for item in value]
        case str() if is_id:
            return names.get(value, value)
    return value


def with_assignments(
    api: str, body: dict[str, Any], node: int, partitions: Callable[[str], int | None]
) -> dict[str, Any]:
    """Return a request that creates partitions with the broker `node` as their only replica.

    `partitions` returns the number of partitions of a topic, or None if it does not exist.
    """
    if api == "CreateTopics" and body.get("topics"):
        return body | {"topics": [_created(topic, node) for topic in body["topics"]]}
    if api == "CreatePartitions" and body.get("topics"):
        return body | {"topics": [_enlarged(topic, node, partitions) for topic in body["topics"]]}
    return body


def _created(topic: dict[str, Any], node: int) -> dict[str, Any]:
    count = topic.get("num_partitions", 1)
    if topic.get("assignments") or topic.get("replication_factor", 1) not in (1, -1) or not (count >= 1 or count == -1):
        return topic
    assignments = [{"partition_index": index, "broker_ids": [node]} for index in range(abs(count))]
    return topic | {"num_partitions": -1, "replication_factor": -1, "assignments": assignments}


def _enlarged(topic: dict[str, Any], node: int, partitions: Callable[[str], int | None]) -> dict[str, Any]:
    now = partitions(topic["name"])
    if topic.get("assignments") is not None or now is None or topic["count"] <= now:
        return topic
    return topic | {"assignments": [{"broker_ids": [node]}] * (topic["count"] - now)}


def auto_created(steps: Iterable[Step]) -> set[str]:
    """Return the topics, in the notation of the steps, that Metadata requests create."""
    found: dict[str, set[str]] = {"CreateTopics": set(), "Metadata": set()}
    for step in steps:
        if (api := step.get("api", "")) in found and "body" in step:
            body = step["body"]
            if api == "CreateTopics" or body.get("allow_auto_topic_creation", step["version"] < 4):
                found[api] |= {topic["name"] for topic in body.get("topics") or () if topic.get("name")}
    return found["Metadata"] - found["CreateTopics"]


def is_about_one_broker(step: Step) -> str:
    """Return why a case recorded with one broker cannot be compared on a cluster of several; "" if it can be."""
    if step.get("api") == "DescribeQuorum":
        return "recorded with one voter"
    if step.get("api") in SHARE_STATE:
        return "the state of share groups may be coordinated by another broker"
    if step.get("api") not in ANYWHERE and _is_nameless(step.get("body")):
        return "the group without a name may be coordinated by another broker"
    if INVALID_REPLICATION_FACTOR in _codes(step.get("expect")):
        return "recorded with one broker, which refuses more replicas"
    return ""


def _is_nameless(value: Any) -> bool:
    match value:
        case dict():
            return any((key in GROUP_FIELDS and _is_blank(item)) or _is_nameless(item) for key, item in value.items())
        case list():
            return any(map(_is_nameless, value))
    return False


def _is_blank(item: Any) -> bool:
    """Return whether the name of a group, or of the only group in a list, is empty or blank."""
    match item:
        case str(name) | [str(name)]:
            return not name.strip()
    return False


def _codes(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for key, item in value.items():
                if key == "error_code":
                    yield item
                else:
                    yield from _codes(item)
        case list():
            for item in value:
                yield from _codes(item)


def of_all_brokers(expected: Any, nodes: Collection[int]) -> Any:
    """Repeat the item of the single recorded broker for each of `nodes`, in lists of brokers or of configurations."""
    match expected:
        case {"config_resources": list(resources)}:
            return expected | {"config_resources": [one for each in resources for one in _of_each_broker(each, nodes)]}
        case dict():
            return {
                key: item * len(nodes) if key == "brokers" and _is_single(item) else of_all_brokers(item, nodes)
                for key, item in expected.items()
            }
        case list():
            return [of_all_brokers(item, nodes) for item in expected]
    return expected


def _of_each_broker(resource: dict[str, Any], nodes: Collection[int]) -> list[dict[str, Any]]:
    if resource.get("resource_type") not in BROKERS:
        return [resource]
    return [resource | {"resource_name": str(node)} for node in sorted(nodes)]


def _is_single(item: Any) -> bool:
    match item:
        case [{"node_id": "$NODE"} | {"broker_id": "$NODE"}]:
            return True
    return False


def renumbered(value: Any, node: int) -> Any:
    """Replace the id 1 of the recorded broker with that of the main broker."""
    match value:
        case dict():
            inner = value.get("resource_type") in BROKERS
            return {key: _renumbered(key, item, node, inner) for key, item in value.items()}
        case list():
            return [renumbered(item, node) for item in value]
    return value


def _renumbered(key: str, item: Any, node: int, about_broker: bool) -> Any:
    if key == "resource_name" and about_broker and item == "1":
        return str(node)
    if key == "node_id" and item == 1:
        return node
    if key in ("broker_ids", "replicas") and isinstance(item, list):
        return [node if each == 1 else each for each in item]
    return renumbered(item, node)
