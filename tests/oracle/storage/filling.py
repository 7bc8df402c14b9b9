"""Fills a broker of Apache Kafka with everything that a data directory can contain."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.recorded.answers import Asker

T0 = int(time.time() * 1000) - 7_200_000
"""The time of the first records: recent, because Kafka forgets idempotent producers after a day."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 60.0
CONFIG = {
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.retention.ms": "-1",
    "metadata.max.idle.interval.ms": "0",
    "log.flush.start.offset.checkpoint.interval.ms": "500",
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "500",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "num.partitions": "1",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
    "offsets.retention.minutes": "100000000",
    "group.max.session.timeout.ms": "100000000",
    "transaction.max.timeout.ms": "100000000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100000000",
}


def fill(bootstrap_servers: str, release: str, directory: Path) -> None:
    """Create topics, groups, transactions and configurations. `directory` is the log directory."""
    asker = Asker(bootstrap_servers, release)
    small = {"segment.ms": "60000", "index.interval.bytes": "100"}
    create(asker, "plain", 3, small)
    create(asker, "codecs", 1, small)
    create(asker, "transactions", 1, small)
    create(asker, "compacted", 1, {**small, "cleanup.policy": "compact", "min.compaction.lag.ms": "0"})
    create(asker, "deleted", 1, small)
    create(asker, "epochs", 1, {})
    create(asker, "empty", 2, {"retention.ms": "-1"})
    create(asker, "removed", 1, {})
    create(asker, "appended", 1, {"message.timestamp.type": "LogAppendTime"})
    if release == "2.8":
        create(asker, "format-0", 1, {**small, "message.format.version": "0.9.0"})
        create(asker, "format-1", 1, {**small, "message.format.version": "0.10.0"})
    asker("DeleteTopics", {"topics": [{"name": "removed"}], "topic_names": ["removed"]})
    _records(bootstrap_servers, release)
    transact(bootstrap_servers)
    asker("DeleteRecords", {"topics": [{"name": "deleted", "partitions": [{"partition_index": 0, "offset": 7}]}]})
    _groups(asker, release)
    _configure(asker, release)
    _wait_for_cleaner(directory)
    time.sleep(2)  # Kafka answers before markers are written, and writes checkpoints of deleted records later
    asker.close()


def create(asker: Asker, name: str, partitions: int, config: dict[str, str]) -> None:
    body = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    configs = [{"name": key, "value": value} for key, value in config.items()]
    answer = asker("CreateTopics", {"topics": [{**body, "configs": configs}], "timeout_ms": 30000})
    assert answer["topics"][0]["error_code"] == 0, answer


def _records(servers: str, release: str) -> None:
    from confluent_kafka import Producer

    for idempotent in (False, True):
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": idempotent, "linger.ms": 1})
        for number in range(60):
            for partition in (0, 2):
                producer.produce("plain", b"%d" % number * 9, b"k", partition, timestamp=T0 + number * 7000)
            producer.produce("deleted", b"%d" % number, timestamp=T0 + number * 9000)
            producer.produce("appended", b"%d" % number)
            if number % 4 == 0:
                producer.flush()
        producer.flush()
    for step, codec in enumerate(CODECS * 2):
        producer = Producer({"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 50})
        for topic in ["codecs", *(["format-0", "format-1"] if release == "2.8" and codec != "zstd" else [])]:
            for number in range(7):
                time_ms = T0 + step * 30000 + (number * 997) % 1000
                producer.produce(topic, b"%d" % number * 30, b"%d" % number, timestamp=time_ms)
        producer.flush()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 1})
    for number in range(120):
        value = None if number % 11 == 0 else b"%d" % number
        producer.produce("compacted", value, b"key-%d" % (number % 7), timestamp=T0 + number * 5000)
        if number % 3 == 0:
            producer.flush()
    producer.flush()


def transact(servers: str) -> None:
    """Begin transactions of three producers: committed, aborted, and open for `open-...`."""
    from confluent_kafka import Producer

    for name in ("one", "two"):
        for kind in ("ended", "open"):
            settings = {"transactional.id": f"{kind}-{name}", "transaction.timeout.ms": 900000}
            producer = Producer({"bootstrap.servers": servers, **settings})
            producer.init_transactions()
            ends: list[Callable[[], Any] | None] = [producer.commit_transaction, producer.abort_transaction]
            if name == "two":
                ends.reverse()
            for step, end in enumerate([*ends, *([None] if kind == "open" else [])]):
                producer.begin_transaction()
                for number in range(3):
                    time_ms = T0 + step * 40000 + number
                    producer.produce("transactions", b"%s %d" % (name.encode(), step), b"k", timestamp=time_ms)
                    if kind == "ended":
                        producer.produce("compacted", b"%d" % step, b"key-%d" % number, timestamp=T0 + 700000)
                producer.flush()
                if end is not None:
                    end()
    Producer({"bootstrap.servers": servers, "transactional.id": "unused"}).init_transactions()


def _groups(asker: Asker, release: str) -> None:
    """Commit offsets of groups without members, and join a group."""
    partitions = [
        {"partition_index": 0, "committed_offset": 11, "committed_leader_epoch": 0, "committed_metadata": "größe"},
        {"partition_index": 2, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""},
    ]
    version = 7
    for group in ("empty", "other", "deleted-offsets"):
        body: dict[str, Any] = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
        body["topics"] = [{"name": name, "partitions": partitions} for name in ("plain",)]
        deadline = time.monotonic() + TIMEOUT_S
        while asker("OffsetCommit", body, version)["topics"][0]["partitions"][0]["error_code"]:
            assert time.monotonic() < deadline, f"no offset of group {group} can be committed"
            asker("FindCoordinator", {"key": group}, 1)  # creates the topic of the offsets
            time.sleep(0.1)
    asker(
        "OffsetDelete",
        {"group_id": "deleted-offsets", "topics": [{"name": "plain", "partitions": [{"partition_index": 0}]}]},
    )
    asker("OffsetCommit", {**body, "group_id": "gone"}, version)
    asker("DeleteGroups", {"groups_names": ["gone"]})
    for group, instance in (("joined", None), ("static", "instance-1")):
        join(asker, group, instance)
    if release == "4.4":
        for group in ("consumers",):
            answer = asker(
                "ConsumerGroupHeartbeat",
                {
                    "group_id": group,
                    "member_id": "AAAAAAAAAAAAAAAAAAAAAQ",
                    "member_epoch": 0,
                    "rebalance_timeout_ms": 100000,
                    "subscribed_topic_names": ["plain", "codecs"],
                    "topic_partitions": [],
                },
            )
            assert answer["error_code"] == 0, answer
            body = {"group_id": group, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "topics": body["topics"]}
            answer = asker("OffsetCommit", {**body, "generation_id_or_member_epoch": answer["member_epoch"]}, 9)
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0, answer


def join(asker: Asker, group: str, instance: str | None) -> None:
    protocols = [{"name": "range", "metadata": {"subscription": {"version": 1, "topics": ["plain"]}}}]
    body = {
        "group_id": group,
        "session_timeout_ms": 900000,
        "rebalance_timeout_ms": 900000,
        "protocol_type": "consumer",
    }
    body |= {"protocols": protocols, "member_id": "", "group_instance_id": instance}
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        answer = asker("JoinGroup", body, 5)
        if answer["error_code"] == 0:
            break
        assert time.monotonic() < deadline, answer
        body["member_id"] = answer["member_id"]
        time.sleep(0.1)
    member = {"member_id": answer["member_id"], "generation_id": answer["generation_id"], "group_instance_id": instance}
    assignment = {"assignment": {"version": 0, "assigned_partitions": [{"topic": "plain", "partitions": [0, 1, 2]}]}}
    assignments = [{"member_id": answer["member_id"], "assignment": assignment}]
    answer = asker("SyncGroup", {"group_id": group, **member, "assignments": assignments}, 3)
    assert answer["error_code"] == 0, answer
    topics = [
        {"name": "plain", "partitions": [{"partition_index": 1, "committed_offset": 0, "committed_metadata": "m"}]}
    ]
    commit = {"group_id": group, "member_id": member["member_id"], "group_instance_id": instance, "topics": topics}
    answer = asker("OffsetCommit", {**commit, "generation_id_or_member_epoch": member["generation_id"]}, 7)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0, answer


def _configure(asker: Asker, release: str) -> None:
    def alter(kind: int, name: str, **values: str) -> None:
        configs = [
            {"name": key.replace("_", "."), "config_operation": 0, "value": value} for key, value in values.items()
        ]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        answer = asker("IncrementalAlterConfigs", {"resources": [resource], "validate_only": False})
        assert answer["responses"][0]["error_code"] == 0, answer

    alter(2, "plain", max_message_bytes="123456", retention_bytes="987654321")
    alter(4, "", log_cleaner_threads="2")
    alter(4, "1", num_io_threads="9")
    if release == "4.4":
        alter(32, "consumers", consumer_session_timeout_ms="50000")
        alter(16, "subscription", interval_ms="30000", metrics="org.apache")
    ops = [{"key": "producer_byte_rate", "value": 1e6, "remove": False}]
    users = [{"entity_type": "user", "entity_name": "alice"}, {"entity_type": "client-id", "entity_name": None}]
    asker("AlterClientQuotas", {"entries": [{"entity": users, "ops": ops}], "validate_only": False})
    asker("AlterClientQuotas", {"entries": [{"entity": users[:1], "ops": ops}], "validate_only": False})
    if release != "2.8":
        upsertion = {"name": "alice", "mechanism": 1, "iterations": 5000}
        upsertion |= {"salt": {"hex": "00112233"}, "salted_password": {"hex": "ab" * 32}}
        answer = asker("AlterUserScramCredentials", {"upsertions": [upsertion], "deletions": []})
        assert answer["results"][0]["error_code"] == 0, answer
    creations = [
        {
            "resource_type": 2,
            "resource_name": name,
            "resource_pattern_type": pattern,
            "principal": "User:alice",
            "host": "*",
            "operation": operation,
            "permission_type": 3,
        }
        for name, pattern, operation in (("plain", 3, 3), ("tr", 4, 4), ("codecs", 3, 8))
    ]
    answer = asker("CreateAcls", {"creations": creations})
    assert all(result["error_code"] == 0 for result in answer["results"]), answer
    last = creations[-1]
    names = {"resource_type": "resource_type_filter", "resource_name": "resource_name_filter"}
    names |= {"resource_pattern_type": "pattern_type_filter", "principal": "principal_filter", "host": "host_filter"}
    asker("DeleteAcls", {"filters": [{names.get(name, name): value for name, value in last.items()}]})


def _wait_for_cleaner(directory: Path) -> None:
    """Wait until the compacted topic has been cleaned."""
    deadline = time.monotonic() + TIMEOUT_S
    checkpoint = directory / "cleaner-offset-checkpoint"
    while "compacted 0" not in checkpoint.read_text():
        assert time.monotonic() < deadline, "the cleaner did not run"
        time.sleep(0.2)
