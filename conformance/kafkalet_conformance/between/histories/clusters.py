"""Histories of partitions with several replicas: elections, reassignments, restarts and faults of brokers."""

from typing import Any

from kafkalet_conformance.building import MEBIBYTE, Step, one

from .history import History
from .logs import list_offsets, read_all

WAIT_MS = 30_000
PREFERRED, UNCLEAN = 0, 1
REPLICATION_MS = 700
"""More than replica.fetch.wait.max.ms."""


def replicated(h: History, *sizes: int, **configs: Any) -> str:
    """Create a topic whose partitions have two or three replicas each; Kafka requires the same number for all."""
    size = h.of(*(sizes or (2, 2, 3)))
    sets = [h.dice.sample(list(h.nodes), size) for _ in range(h.of(1, 2))]
    topic = h.spread_topic("t0", *sets, retention_ms=-1, **configs)  # the records are old
    h.places = [(topic, index) for index in range(len(sets))]
    h.configs[topic] = {}
    return topic


def at_some_broker(h: History) -> dict[str, Any]:
    """Return the connection for a request: to a random broker, whether or not it leads the partition."""
    return {"conn": f"at-{h.dice.choice(h.nodes)}"}


def produce(h: History) -> None:
    """Produce a batch to each broker; only the leader accepts it."""
    topic, partition = h.dice.choice(h.places)
    version = h.version("Produce", 3, 11)
    batch = h.batch(topic, version, ("none",))
    entry = {"index": partition, "records": [batch]}
    h.ends[topic, partition] = h.end_of((topic, partition)) + len(batch["records"])
    for node in h.nodes:
        body = {"acks": -1, "timeout_ms": 10_000, "topics": [{"name": topic, "partitions": [entry]}]}
        h.ask("Produce", version, body, conn=f"at-{node}")


def replicate(h: History) -> None:
    """Produce a batch, and wait until followers have received the high watermark."""
    produce(h)
    h.step("sleep", ms=REPLICATION_MS)


def fetch(h: History) -> None:
    topic, partition = h.dice.choice(h.places)
    version = h.version("Fetch", 9, 12)
    entry: Step = {"partition": partition, "fetch_offset": h.dice.randint(0, h.end_of((topic, partition)) + 1)}
    entry |= {"partition_max_bytes": MEBIBYTE, "current_leader_epoch": h.of(-1, -1, 0, 1, 2, 3)}
    if version >= 12:
        entry["last_fetched_epoch"] = h.of(-1, -1, 0, 1, 2, 3)
    h.ask("Fetch", version, {"topics": [{"topic": topic, "partitions": [entry]}]}, **at_some_broker(h))


def epoch_end(h: History) -> None:
    topic, partition = h.dice.choice(h.places)
    entry = {"partition": partition, "leader_epoch": h.of(0, 1, 2, 3, 5), "current_leader_epoch": h.of(-1, -1, 0, 1, 2)}
    body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [entry]}]}
    h.ask("OffsetForLeaderEpoch", h.version("OffsetForLeaderEpoch", 3), body, **at_some_broker(h))


def lookup(h: History) -> None:
    topic, partition = h.dice.choice(h.places)
    entry = {"partition_index": partition, "timestamp": h.of(-1, -2, *h.times())}
    entry["current_leader_epoch"] = h.of(-1, -1, 0, 1, 2)
    body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [entry]}]}
    h.ask("ListOffsets", h.version("ListOffsets", 4), body, **at_some_broker(h))


def describe(h: History) -> None:
    """Compare leaders, epochs, replicas and in-sync replicas, as some broker knows them."""
    topic = h.places[0][0]
    body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    h.ask("Metadata", h.version("Metadata", 7), body, only=["topics"], **at_some_broker(h))
    if h.versions("DescribeTopicPartitions") and h.chance(0.3):
        body = {"topics": [{"name": topic}], "response_partition_limit": 2000}
        h.ask("DescribeTopicPartitions", 0, body, **at_some_broker(h))


def settle(h: History) -> None:
    """Wait until no partition is being moved and every broker knows the leaders."""
    topic = h.places[0][0]
    asked = {"topics": [{"name": topic, "partition_indexes": [index for _, index in h.places]}], "timeout_ms": WAIT_MS}
    h.until("ListPartitionReassignments", 0, asked, "topics", [])
    h.step("sleep", ms=400)


def elect(h: History) -> None:
    """Change the order of the replicas, so that another one becomes the preferred leader, and elect it."""
    topic, partition = h.dice.choice(h.places)
    replicas = h.dice.sample(list(h.nodes), h.of(2, 3))
    moved = {"name": topic, "partitions": [{"partition_index": partition, "replicas": replicas}]}
    body = {"topics": [moved], "timeout_ms": WAIT_MS}
    h.ask("AlterPartitionReassignments", h.version("AlterPartitionReassignments"), body)
    settle(h)
    vote(h)


def vote(h: History) -> None:
    """Request an election."""
    topic, partition = h.dice.choice(h.places)
    chosen = h.of([partition], [index for _, index in h.places], [partition, 9])
    body: Step = {"topic_partitions": [{"topic": topic, "partitions": chosen}], "timeout_ms": WAIT_MS}
    version = h.version("ElectLeaders")
    if version >= 1:
        body["election_type"] = h.of(PREFERRED, PREFERRED, PREFERRED, UNCLEAN)
    h.ask("ElectLeaders", version, body)
    settle(h)
    h.reached("an election")


def elections(h: History) -> None:
    replicated(h)
    for _ in range(h.dice.randint(8, 20)):
        h.weighted(
            (3, lambda: elect(h)),
            (6, lambda: produce(h)),
            (4, lambda: fetch(h)),
            (3, lambda: lookup(h)),
            (2, lambda: epoch_end(h)),
            (3, lambda: describe(h)),
        )
    describe(h)


def reassign(h: History) -> None:
    """Move a partition, cancel a move, or request an impossible one."""
    topic = h.places[0][0]
    entries: list[Step] = []
    for _ in range(h.of(1, 1, 2)):
        replicas = h.of(h.dice.sample(list(h.nodes), h.of(1, 2, 3)), h.dice.sample(list(h.nodes), 2), None)
        if h.chance(0.15):
            replicas = h.of([], [99], [h.nodes[0], h.nodes[0]], [-1])
        entries.append({"partition_index": h.of(*(index for _, index in h.places), 9 if h.chance(0.1) else 0)})
        entries[-1]["replicas"] = replicas
    version = h.version("AlterPartitionReassignments")
    body: Step = {"topics": [{"name": topic if h.chance(0.95) else h.unknown_topic(), "partitions": entries}]}
    body["timeout_ms"] = WAIT_MS
    if version >= 1:
        body["allow_replication_factor_change"] = h.chance(0.7)
    h.ask("AlterPartitionReassignments", version, body)
    settle(h)
    h.reached("a reassignment")


def reassignments(h: History) -> None:
    replicated(h)
    for _ in range(h.dice.randint(6, 15)):
        h.weighted(
            (4, lambda: reassign(h)),
            (4, lambda: produce(h)),
            (2, lambda: fetch(h)),
            (1, lambda: lookup(h)),
            (3, lambda: describe(h)),
        )
    describe(h)


def restarts(h: History) -> None:
    """Restart the broker at the bootstrap address, and compare what is left."""
    h.make_topics(1, 2)
    group = h.let("G", "c<unique>.h.G")
    h.coordinator(group)
    for _ in range(h.of(1, 1, 2)):
        for _ in range(h.dice.randint(2, 8)):
            h.weighted((6, h.write), (1, h.delete), (1, lambda: commit(h, group)))
        h.step("restart")
        h.reached("a restart")
        for topic in dict.fromkeys(topic for topic, _ in h.places):
            for partition in (index for name, index in h.places if name == topic):
                body = {"replica_id": -1, "topics": [one(topic, partition_index=partition, timestamp=-1)]}
                h.until("ListOffsets", 1, body, "topics.0.partitions.0.error_code", 0)
        h.coordinator(group)
        read_all(h)
        for _ in range(3):
            list_offsets(h)
            h.epoch_end()
        asked = [{"name": topic, "partition_indexes": [partition]} for topic, partition in h.places]
        h.ask("OffsetFetch", h.version("OffsetFetch", 1, 7), {"group_id": group, "topics": asked})
    h.write()
    read_all(h)


def commit(h: History, group: str) -> None:
    topic, partition = h.dice.choice(h.places)
    entry = {"partition_index": partition, "committed_offset": h.of(0, 1, 5), "committed_metadata": "m"}
    body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
    h.ask("OffsetCommit", h.version("OffsetCommit", 2, 8), body | {"topics": [{"name": topic, "partitions": [entry]}]})
