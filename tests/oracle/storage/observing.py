"""All responses of a cluster about its contents, as plain data, for comparisons of two brokers. Values that differ
after every start of a cluster are left out: addresses, leader epochs and the like.
"""

import time
from typing import Any

from kafkalet_conformance.playing.connection import Connection

LATEST, EARLIEST, LARGEST_TIME = -1, -2, -3
TIMEOUT_S = 30.0
NOT_READY = {3, 5, 6, 14, 15, 16, 78}

Answers = dict[str, Any]


class Asker:
    """Sends requests to the brokers of a cluster. The requests are repeated until the brokers have elected leaders and
    loaded everything.
    """

    def __init__(self, bootstrap: str, user: str | None = None) -> None:
        self.user = user
        self.connections: dict[int, Connection] = {}
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.first = Connection(host, int(port), user)

    def close(self) -> None:
        for connection in (self.first, *self.connections.values()):
            connection.close()

    def ask(self, api: str, version: int, body: dict[str, Any], node: int | None = None) -> Any:
        return (self.first if node is None else self._node(node)).ask(api, version, body)

    def _node(self, node: int) -> Connection:
        if node not in self.connections:
            brokers = self.first.ask("Metadata", 12, {"topics": []})["brokers"]
            (place,) = [(each["host"], each["port"]) for each in brokers if each["node_id"] == node]
            self.connections[node] = Connection(*place, self.user)
        return self.connections[node]

    def coordinator(self, key: str, kind: int) -> int:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.first.ask("FindCoordinator", 3, {"key": key, "key_type": kind})
            if not answer["error_code"]:
                return int(answer["node_id"])
            assert answer["error_code"] in NOT_READY, answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)

    def until_ready(self, api: str, version: int, body: dict[str, Any], node: int | None = None) -> Any:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.ask(api, version, body, node)
            if not NOT_READY & set(_codes(answer)) or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)


def observe(bootstrap: str, groups: list[str], transactional_ids: list[str]) -> Answers:
    """Request the contents of a cluster. The responses about missing groups and transactional ids are included."""
    asker = Asker(bootstrap)
    try:
        topics = _topics(asker)
        found: Answers = {"topics": topics}
        for name, topic in topics.items():
            for partition in range(len(topic["partitions"])):
                found[f"{name}-{partition}"] = _partition(asker, name, partition)
        found |= {f"group {group}": _group(asker, group) for group in groups}
        found |= {f"transaction {name}": _transaction(asker, name) for name in transactional_ids}
        found["configs"] = _configs(asker, list(topics))
        found["administration"] = _administration(asker)
        return found
    finally:
        asker.close()


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Return a line for each place in which two responses differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            line
            for name in names
            for line in differences(before.get(name, "-"), after.get(name, "-"), f"{path}/{name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            line for n, pair in enumerate(zip(before, after, strict=True)) for line in differences(*pair, f"{path}/{n}")
        ]
    return [] if before == after else [f"{path}: {before!r} became {after!r}"]


def _topics(asker: Asker) -> dict[str, Any]:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        answer = asker.ask("Metadata", 12, {"topics": None})
        states = [state for topic in answer["topics"] for state in topic["partitions"]]
        if all(
            state["leader_id"] >= 0 and sorted(state["isr_nodes"]) == sorted(state["replica_nodes"]) for state in states
        ):
            break
        assert time.monotonic() < deadline, states
        time.sleep(0.1)
    return {
        topic["name"]: {
            "id": topic["topic_id"],
            "internal": topic["is_internal"],
            "partitions": [
                {
                    name: sorted(state[name]) if "isr" in name else state[name]
                    for name in ("error_code", "replica_nodes", "isr_nodes")
                }
                for state in sorted(topic["partitions"], key=lambda state: state["partition_index"])
            ],
        }
        for topic in sorted(answer["topics"], key=lambda topic: str(topic["name"]))
    }


def _leader(asker: Asker, topic: str, partition: int) -> int:
    (answer,) = asker.ask("Metadata", 12, {"topics": [{"name": topic}]})["topics"]
    (state,) = [state for state in answer["partitions"] if state["partition_index"] == partition]
    return int(state["leader_id"])


def _partition(asker: Asker, topic: str, partition: int) -> dict[str, Any]:
    node = _leader(asker, topic, partition)
    found: dict[str, Any] = {}
    records: list[Any] = []
    for isolation in (0, 1):
        found[f"fetch {isolation}"] = fetched = _fetch(asker, node, topic, partition, isolation)
        records = records or fetched["batches"]
    times = sorted({record["ts"] for batch in records for record in batch.get("records", ())})
    asked = [LATEST, EARLIEST, LARGEST_TIME, 0, *times[:: max(1, len(times) // 20)], times[-1] + 1 if times else 1]
    for isolation in (0, 1):
        found[f"offsets {isolation}"] = {
            str(timestamp): _list_offsets(asker, node, topic, partition, isolation, timestamp) for timestamp in asked
        }
    for offsets in (found["offsets 0"], found["offsets 1"]):  # the epoch of the leader
        del offsets[str(LATEST)]["leader_epoch"]
        if not records:
            del offsets[str(EARLIEST)]["leader_epoch"]
    found["epochs"] = [_end_of(asker, node, topic, partition, each) for each in range(found_epochs(records) + 1)]
    body = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
    (answer,) = asker.ask("DescribeProducers", 0, body, node)["topics"]
    (producers,) = answer["partitions"]
    found["producers"] = sorted(producers["active_producers"], key=lambda each: int(each["producer_id"]))
    return found


def found_epochs(records: list[Any]) -> int:
    """Return the highest leader epoch of the batches."""
    return max((batch["leader_epoch"] for batch in records), default=-1)


def _fetch(asker: Asker, node: int, topic: str, partition: int, isolation: int) -> dict[str, Any]:
    batches: list[Any] = []
    offset = _list_offsets(asker, node, topic, partition, 0, EARLIEST)["offset"]
    start = offset
    while True:
        wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        body = {"isolation_level": isolation, "session_epoch": -1, "topics": [{"topic": topic, "partitions": [wanted]}]}
        (answer,) = asker.until_ready("Fetch", 12, body, node)["responses"]
        (found,) = answer["partitions"]
        if not found["records"]:
            break
        batches += found["records"]
        offset = found["records"][-1]["base_offset"] + found["records"][-1]["last_offset_delta"] + 1
    body["topics"][0]["partitions"][0] = wanted | {"fetch_offset": start}  # type: ignore[index]
    (answer,) = asker.ask("Fetch", 12, body, node)["responses"]
    names = ("error_code", "high_watermark", "last_stable_offset", "log_start_offset", "aborted_transactions")
    return {name: answer["partitions"][0][name] for name in names} | {"batches": batches}


def _list_offsets(asker: Asker, node: int, topic: str, partition: int, isolation: int, timestamp: int) -> Any:
    wanted = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}
    body = {"replica_id": -1, "isolation_level": isolation, "topics": [{"name": topic, "partitions": [wanted]}]}
    (answer,) = asker.until_ready("ListOffsets", 7, body, node)["topics"]
    return dict(answer["partitions"][0])


def _end_of(asker: Asker, node: int, topic: str, partition: int, epoch: int) -> Any:
    wanted = {"partition": partition, "current_leader_epoch": -1, "leader_epoch": epoch}
    body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [wanted]}]}
    return asker.ask("OffsetForLeaderEpoch", 4, body, node)["topics"][0]["partitions"][0]


def _group(asker: Asker, group: str) -> dict[str, Any]:
    node = asker.coordinator(group, 0)
    answer = asker.until_ready("OffsetFetch", 8, {"groups": [{"group_id": group, "topics": None}]}, node)
    (offsets,) = answer["groups"]
    for topic in offsets["topics"]:
        topic["partitions"].sort(key=lambda each: int(each["partition_index"]))
    (described,) = asker.until_ready("DescribeGroups", 5, {"groups": [group]}, node)["groups"]
    (consumer,) = asker.until_ready("ConsumerGroupDescribe", 0, {"group_ids": [group]}, node)["groups"]
    listed = {each["group_id"]: each for each in asker.ask("ListGroups", 4, {"states_filter": []}, node)["groups"]}
    return {
        "error": offsets["error_code"],
        "offsets": {topic["name"]: topic["partitions"] for topic in offsets["topics"]},
        "classic": {name: described[name] for name in described if name != "error_message"},
        "consumer": {name: consumer[name] for name in consumer if name != "error_message"},
        "listed": listed.get(group),
    }


def _transaction(asker: Asker, name: str) -> Any:
    node = asker.coordinator(name, 1)
    (found,) = asker.until_ready("DescribeTransactions", 0, {"transactional_ids": [name]}, node)["transaction_states"]
    for topic in found["topics"]:
        topic["partitions"].sort()
    found["topics"].sort(key=lambda topic: str(topic["topic"]))
    return found


def _configs(asker: Asker, topics: list[str]) -> dict[str, Any]:
    """Return the configurations that have been set: of topics, all brokers, single brokers and metrics
    subscriptions.
    """
    found = {}
    for kind, name in (*((2, topic) for topic in topics), (4, ""), (4, "1"), (16, "metrics")):
        body = {"resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]}
        (answer,) = asker.ask("DescribeConfigs", 4, body, int(name) if kind == 4 and name else None)["results"]
        set_here = {1: "topic", 2: "broker", 3: "all brokers", 7: "metrics", 8: "group"}
        found[f"{kind} {name}"] = {
            each["name"]: (each["value"], set_here[each["config_source"]])
            for each in answer["configs"]
            if each["config_source"] in set_here
        }
    return found


def _administration(asker: Asker) -> dict[str, Any]:
    quotas = asker.ask("DescribeClientQuotas", 1, {"components": [], "strict": False})["entries"]
    users = asker.ask("DescribeUserScramCredentials", 0, {"users": None})["results"]
    every = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    every |= {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    resources = asker.ask("DescribeAcls", 2, every)["resources"]
    return {
        "acls": sorted(([each | {"acls": sorted(each["acls"], key=str)} for each in resources]), key=str),
        "quotas": sorted(
            ([sorted(map(str, each["entity"])), sorted(map(str, each["values"]))] for each in quotas), key=str
        ),
        "users": sorted(users, key=str),
    }


def _codes(answer: Any) -> list[int]:
    if isinstance(answer, dict):
        own = [value for name, value in answer.items() if name == "error_code"]
        return own + [code for value in answer.values() for code in _codes(value)]
    if isinstance(answer, list):
        return [code for value in answer for code in _codes(value)]
    return []
