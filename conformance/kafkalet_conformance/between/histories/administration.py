"""Histories of topics and configurations, with unusual names, counts, assignments and values."""

from typing import Any

from kafkalet_conformance.building import Step

from .history import History

VALUES = (
    None, "", " ", "0", "1", "-1", "-2", "100", " 100 ", "+5", "1e3", "1.5", "0x10", "true", "TRUE", "yes",
    "false", "none", "null", "compact", "delete", "delete,compact", "compact,", " delete , compact",
    "delete,delete", "gzip", "GZIP", "producer", "uncompressed", "CreateTime", "LogAppendTime",
    "logappendtime", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
    "0.5", "1.1", "-0.1", "NaN", "1f", "1d", ".5", "0:1", "*", "0:1,1:1", "3.0-IV1", "2.8", "0.10.0", "9",
    "10", "13", "1048576", "\u0661",
)  # fmt: skip
KEYS = (
    "cleanup.policy", "compression.type", "compression.gzip.level", "compression.lz4.level",
    "compression.zstd.level", "delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
    "follower.replication.throttled.replicas", "index.interval.bytes",
    "leader.replication.throttled.replicas", "local.retention.bytes", "local.retention.ms",
    "max.compaction.lag.ms", "max.message.bytes", "message.downconversion.enable", "message.format.version",
    "message.timestamp.after.max.ms", "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms", "message.timestamp.type", "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms", "min.insync.replicas", "preallocate", "remote.storage.enable",
    "remote.log.copy.disable", "remote.log.delete.on.disable", "retention.bytes", "retention.ms",
    "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms",
    "unclean.leader.election.enable", "no.such.key", "", "internal.segment.bytes", "Retention.ms",
    "errors.deadletterqueue.group.enable", "diskless.enable", "confluent.tier.enable",
)  # fmt: skip


ODD_NAMES = (
    "", ".", "..", "a b", "a/b", "ä", "x" * 249, "x" * 250, "a,b", "__cluster_metadata", "__transaction_state",
    "__consumer_offsets", "$none",
)  # fmt: skip


def topics(h: History) -> None:
    for _ in range(h.dice.randint(3, 12)):
        h.weighted(
            (5, lambda: create(h)),
            (2, lambda: metadata(h)),
            (2, lambda: add_partitions(h)),
            (2, lambda: delete(h)),
            (1, lambda: describe(h)),
            (1, lambda: delete_records(h)),
        )


def new_name(h: History) -> str:
    h.cases += 1
    return h.let(f"n{h.cases}", f"c<unique>{h.of('.', '_', '-')}h.{h.cases}")


def odd_name(h: History) -> str:
    name: str = h.of(*ODD_NAMES)
    return name


def settle(h: History) -> None:
    """Wait until a change has reached every part of the broker."""
    h.step("sleep", ms=40)


def create(h: History) -> None:
    version = h.version("CreateTopics")
    wanted = []
    for _ in range(h.of(1, 1, 1, 2, 3)):
        name = new_name(h) if h.chance(0.75) else odd_name(h)
        name = h.let("none", "") if name == "$none" else name
        entry: Step = {"name": name, "num_partitions": h.of(1, 2, 3), "replication_factor": 1}
        if h.chance(0.3):
            entry["num_partitions"] = h.of(-1, 0, -2, 5)
        if h.chance(0.2):
            entry["replication_factor"] = h.of(-1, 0, 2, -2, 3)
        if h.chance(0.2):
            entry["assignments"] = assignments(h)
            if h.chance(0.6):
                entry |= {"num_partitions": -1, "replication_factor": -1}
        if h.chance(0.5):
            entry["configs"] = [{"name": h.of(*KEYS), "value": h.of(*VALUES)} for _ in range(h.of(1, 1, 2))]
        wanted.append(entry)
    if h.chance(0.1):
        wanted.append(dict(wanted[0]))
    body: Step = {"topics": wanted, "timeout_ms": h.of(30000, 30000, 5000)}
    if version >= 1 and h.chance(0.3):
        body["validate_only"] = True
    bind = {
        f"{entry['name'][1:]}.id": f"topics.{n}.topic_id"
        for n, entry in enumerate(wanted)
        if entry["name"].startswith("$")
    }
    h.ask("CreateTopics", version, body, **({"bind": bind} if version >= 7 and bind else {}))
    settle(h)


def assignments(h: History) -> list[Step]:
    node = h.of(1, 1, 1, 7, -1)
    kind = h.of([0], [0, 1], [1], [0, 0], [1, 0], [-1], [0, 2])
    return [{"partition_index": n, "broker_ids": h.of([1], [1], [node], [], [1, 1], [1, 7])} for n in kind]


def known(h: History) -> str:
    names = [step["name"] for step in h.steps if step["op"] == "let" and step["name"].startswith("n")]
    return (
        f"${h.dice.choice(names)}" if names and h.chance(0.85) else h.of(h.unknown_topic(), "", "a b", "x" * 250, ".")
    )


def metadata(h: History) -> None:
    version = h.version("Metadata")
    chosen = [{"name": known(h)} for _ in range(h.of(1, 2, 3))]
    body: Step = {"topics": chosen}
    if version >= 4:
        body["allow_auto_topic_creation"] = False
    else:  # earlier versions create topics
        chosen[:] = [{"name": h.of("", "a b", "x" * 250)}]
    if version >= 8:
        body["include_topic_authorized_operations"] = h.chance(0.3)
    if 8 <= version <= 10:
        body["include_cluster_authorized_operations"] = h.chance(0.3)
    h.ask("Metadata", version, body, only=["topics", "error_code", "connection", "cluster_authorized_operations"])


def add_partitions(h: History) -> None:
    wanted = []
    for _ in range(h.of(1, 1, 2)):
        entry: Step = {"name": known(h), "count": h.of(1, 2, 3, 4, 5, 0, -1), "assignments": None}
        if h.chance(0.3):
            entry["assignments"] = [{"broker_ids": h.of([1], [1], [7], [], [1, 1])} for _ in range(h.of(0, 1, 1, 2, 3))]
        wanted.append(entry)
    body = {"topics": wanted, "timeout_ms": 30000, "validate_only": h.chance(0.3)}
    h.ask("CreatePartitions", h.version("CreatePartitions"), body)
    settle(h)


def delete(h: History) -> None:
    version = h.version("DeleteTopics")
    names = [known(h) for _ in range(h.of(1, 1, 2))]
    if version < 6:
        body: Step = {"topic_names": names}
    else:
        body = {"topics": [{"name": name} for name in names]}
        if h.chance(0.3):
            body["topics"].append({"name": None, "topic_id": h.of("ZERO", "0f0f0f0f-1111-4222-8333-444455556666")})
        if h.chance(0.1):
            body["topics"].append({"name": None, "topic_id": "ZERO"})
            body["topics"][0]["topic_id"] = "0f0f0f0f-1111-4222-8333-444455556666"
    h.ask("DeleteTopics", version, body | {"timeout_ms": 30000})
    settle(h)


def describe(h: History) -> None:
    if h.versions("DescribeTopicPartitions"):
        body: Step = {"topics": [{"name": known(h)} for _ in range(h.of(1, 2))]}
        body["response_partition_limit"] = h.of(2000, 1, 2, 3, 0, -1)
        if h.chance(0.4):
            body["cursor"] = {"topic_name": known(h), "partition_index": h.of(0, 1, 2, -1, 9)}
        h.ask("DescribeTopicPartitions", 0, body)


def delete_records(h: History) -> None:
    asked = {"name": known(h), "partitions": [{"partition_index": h.of(0, 1), "offset": h.of(0, -1, 1, -2)}]}
    h.ask("DeleteRecords", h.version("DeleteRecords"), {"topics": [asked], "timeout_ms": 1000})


def configurations(h: History) -> None:
    h.make_topics(1, 2)
    for _ in range(h.dice.randint(3, 15)):
        h.weighted((4, lambda: alter(h)), (2, lambda: alter_whole(h)), (4, lambda: read(h)))


def resource(h: History) -> Step:
    topic = h.dice.choice(h.places)[0]
    odd = ((2, h.unknown_topic()), (2, "a b"), (2, ""), (4, "9"), (4, "x"), (3, "x"), (77, "x"), (0, topic), (8, ""))
    kind, name = h.of(*odd) if h.chance(0.6) else (2, topic)
    return {"resource_type": kind, "resource_name": name}


def alter(h: History) -> None:
    wanted = []
    for _ in range(h.of(1, 1, 2)):
        changes: list[Any] = []
        for _ in range(h.of(1, 1, 2, 3, 0)):
            operation = h.of(0, 0, 0, 1, 2, 3)  # other values make Kafka's controller resign
            changes.append({"name": h.of(*KEYS), "config_operation": operation, "value": h.of(*VALUES)})
        wanted.append(resource(h) | {"configs": changes})
    body = {"resources": wanted, "validate_only": h.chance(0.3)}
    h.ask("IncrementalAlterConfigs", h.version("IncrementalAlterConfigs"), body)
    settle(h)
    read(h, wanted[0])


def alter_whole(h: History) -> None:
    changes = [{"name": h.of(*KEYS), "value": h.of(*VALUES)} for _ in range(h.of(0, 1, 2))]
    wanted = [resource(h) | {"configs": changes}]
    h.ask("AlterConfigs", h.version("AlterConfigs"), {"resources": wanted, "validate_only": h.chance(0.3)})
    settle(h)
    read(h, wanted[0])


def read(h: History, what: Step | None = None) -> None:
    asked = {key: what[key] for key in ("resource_type", "resource_name")} if what else resource(h)
    asked["configuration_keys"] = None if h.chance(0.4) else [h.of(*KEYS) for _ in range(h.of(1, 2, 3))]
    version = h.version("DescribeConfigs")
    body: Step = {"resources": [asked]}
    if version >= 1:
        body["include_synonyms"] = h.chance(0.5)
    h.ask("DescribeConfigs", version, body)
