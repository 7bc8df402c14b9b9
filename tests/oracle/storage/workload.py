"""Random requests that fill a cluster with everything that a data directory can contain.

The requests are the same for kafkalet and Apache Kafka (3.9 and later). All randomness comes from the seed.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from kafkalet_conformance.playing.connection import Connection

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
T0 = int(time.time() * 1000) - 6 * 3_600_000
"""The time of the first records: recent, because brokers forget idempotent producers after a day."""
DONE = 0
RETRIED = {3, 5, 6, 14, 15, 16, 51, 84}
"""Errors that pass: the topic is being created, elected or loaded; a transaction is still being completed."""
TIMEOUT_S = 30.0
ABSENT = bytes(16)

Body = dict[str, Any]


class Refused(AssertionError):
    """The cluster refused a request that should succeed."""


class Workload:
    """Sends random requests to the brokers at `bootstrap`; `tv2` uses transactions of version 2 (Kafka 4.0)."""

    def __init__(self, bootstrap: str, seed: int, *, tv2: bool = False, new_groups: bool = True) -> None:
        self.random = random.Random(seed)
        self.bootstrap = bootstrap
        self.tv2 = tv2
        self.new_groups = new_groups
        self.connections: dict[tuple[str, int], Connection] = {}
        self.topics: dict[str, int] = {}
        self.time_ms = T0
        self.producers: list[list[int]] = []
        """Idempotent producers: producer id, epoch, and the next sequence number of each partition."""
        self.sequences: dict[tuple[int, int, str, int], int] = {}
        self.transactional: dict[str, tuple[int, int]] = {}
        self.open: set[str] = set()
        self.groups: set[str] = set()

    # Requests

    def connection(self, host: str, port: int) -> Connection:
        if (host, port) not in self.connections:
            self.connections[host, port] = Connection(host, port)
        return self.connections[host, port]

    def any(self) -> Connection:
        host, _, port = self.bootstrap.split(",")[0].rpartition(":")
        return self.connection(host, int(port))

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()

    def ask(self, api: str, version: int, body: Body, at: Callable[[], Connection | None] | None = None) -> Body:
        """Repeat a request until its response has no temporary error. Raise Refused for any other error."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            connection = at() if at else self.any()
            answer = connection.ask(api, version, body) if connection else {"error_code": 5}
            errors = set(_errors(answer)) - {DONE}
            if not errors:
                return answer
            if not errors <= RETRIED or time.monotonic() > deadline:
                raise Refused(f"{api} v{version} {body}: {answer}")
            time.sleep(0.02)

    def leader(self, topic: str, partition: int) -> Callable[[], Connection | None]:
        def find() -> Connection | None:
            answer = self.any().ask("Metadata", 9, {"topics": [{"name": topic}]})
            places = {node["node_id"]: (node["host"], node["port"]) for node in answer["brokers"]}
            states = {state["partition_index"]: state["leader_id"] for state in answer["topics"][0]["partitions"]}
            leader = states.get(partition, -1)
            return self.connection(*places[leader]) if leader in places else None

        return find

    def coordinator(self, key: str, kind: int) -> Callable[[], Connection | None]:
        """Return a function that connects to the coordinator of a group (0) or a transactional id (1)."""

        def find() -> Connection | None:
            answer = self.any().ask("FindCoordinator", 3, {"key": key, "key_type": kind})
            return None if answer["error_code"] else self.connection(answer["host"], answer["port"])

        return find

    # Topics and settings

    def create_topic(self, name: str, partitions: int, replicas: int = 1, **config: str) -> None:
        configs = [{"name": key.replace("_", "."), "value": value} for key, value in config.items()]
        topic = {"name": name, "num_partitions": partitions, "replication_factor": replicas, "configs": configs}
        self.ask("CreateTopics", 5, {"topics": [topic], "timeout_ms": 10_000})
        self.topics[name] = partitions

    def create_topics(self, *, small_segments: bool, replicas: int = 1) -> None:
        """Create topics of all kinds. Segments are rolled by time and, if the release allows small segments, by
        size.
        """
        by_size = {"segment_bytes": "4000"} if small_segments else {}
        self.create_topic("plain", 3, replicas, segment_ms="60000", index_interval_bytes="300", **by_size)
        self.create_topic("stamped", 1, replicas, message_timestamp_type="LogAppendTime", segment_index_bytes="60")
        self.create_topic("packed", 2, replicas, compression_type="zstd", segment_ms="50000", retention_ms="-1")
        self.create_topic("compacted", 1, replicas, cleanup_policy="compact", segment_ms="40000", **by_size)
        self.create_topic("both", 1, replicas, cleanup_policy="compact,delete", retention_ms="-1")
        self.create_topic("empty", 2, replicas)
        self.create_topic("gone", 1, replicas)
        self.produce("gone", 0)
        self.ask("DeleteTopics", 4, {"topic_names": ["gone"], "timeout_ms": 10_000})
        del self.topics["gone"]
        self.ask("CreatePartitions", 1, {"topics": [{"name": "empty", "count": 4, "assignments": None}]})
        self.topics["empty"] = 4

    def set_everything(self) -> None:
        """Change configurations, quotas and SCRAM credentials."""
        resources = [
            (2, "empty", {"retention.ms": "1234567", "max.message.bytes": "500000"}),
            (4, "1", {"log.cleaner.threads": "2"}),
            (4, "", {"log.retention.ms": "-1"}),
            (16, "metrics", {"interval.ms": "90000", "metrics": "org.apache"}),
        ]
        for kind, name, values in resources:
            configs = [{"name": key, "config_operation": 0, "value": value} for key, value in values.items()]
            resource = {"resource_type": kind, "resource_name": name, "configs": configs}
            self.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})
        entries = [
            ([("user", "alice")], "producer_byte_rate", 1e9),
            ([("user", None), ("client-id", "app")], "consumer_byte_rate", 123456789.0),
            ([("ip", "10.0.0.1")], "connection_creation_rate", 100.0),
        ]
        for entity, key, value in entries:
            parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity]
            operation = {"key": key, "value": value, "remove": False}
            self.ask("AlterClientQuotas", 1, {"entries": [{"entity": parts, "ops": [operation]}]})
        user = {"name": "alice", "iterations": 4096, "salt": {"hex": "01" * 16}, "salted_password": {"hex": "02" * 32}}
        bob = user | {"name": "bob", "salted_password": {"hex": "03" * 64}}
        self.ask("AlterUserScramCredentials", 0, {"upsertions": [user | {"mechanism": 1}, bob | {"mechanism": 2}]})

    def create_acls(self) -> None:
        for kind, name, pattern, operation, permission in (
            (2, "orders", 4, 3, 3),
            (2, "plain", 3, 4, 2),
            (3, "*", 3, 3, 3),
            (4, "kafka-cluster", 3, 9, 3),
        ):
            acl = {"resource_type": kind, "resource_name": name, "resource_pattern_type": pattern}
            acl |= {"principal": "User:alice", "host": "*", "operation": operation, "permission_type": permission}
            self.ask("CreateAcls", 2, {"creations": [acl]})

    # Records

    def records(self, topic: str) -> list[Body]:
        """Return the records of a batch. Their times rarely go back, and sometimes jump far ahead."""
        keyed = topic in ("compacted", "both")
        records = []
        for _ in range(self.random.choice((1, 1, 2, 3, 7, 20))):
            self.time_ms += self.random.choice((0, 1, 10, 500, 500, -300, 20_000))
            value = self.random.choice((None, "", "v", "text " * self.random.randrange(1, 60)))
            key: str | None = f"key {self.random.randrange(8)}"
            if not keyed:
                key = self.random.choice((None, key))
                value = value or "-"
            headers = [["h", "1"]] if self.random.random() < 0.1 else []
            records.append({"ts": self.time_ms, "key": key, "value": value, "headers": headers})
        return records

    def produce(
        self, topic: str, partition: int, version: int = 9, transactional_id: str | None = None, **batch: Any
    ) -> None:
        codec = self.random.choice(CODECS)
        batch = {"magic": 2, "records": self.records(topic), "codec": codec} | batch
        body = {
            "transactional_id": transactional_id,
            "topics": [{"name": topic, "partitions": [{"index": partition, "records": [batch]}]}],
        }
        self.ask("Produce", version, body, self.leader(topic, partition))

    def a_partition(self) -> tuple[str, int]:
        topic = self.random.choice([name for name in self.topics if name != "empty"])
        return topic, self.random.randrange(self.topics[topic])

    def produce_plain(self) -> None:
        self.produce(*self.a_partition())

    def produce_idempotent(self) -> None:
        if len(self.producers) < 3:
            answer = self.ask(
                "InitProducerId",
                3,
                {"transactional_id": None, "transaction_timeout_ms": 0, "producer_id": -1, "producer_epoch": -1},
            )
            self.producers.append([answer["producer_id"], answer["producer_epoch"]])
        producer_id, epoch = self.random.choice(self.producers)
        self._produce_as(producer_id, epoch, *self.a_partition())

    def _produce_as(
        self, producer_id: int, epoch: int, topic: str, partition: int, transactional_id: str | None = None
    ) -> None:
        records = self.records(topic)
        place = producer_id, epoch, topic, partition
        sequence = self.sequences.get(place, 0)
        self.sequences[place] = sequence + len(records)
        self.produce(
            topic,
            partition,
            12 if self.tv2 and transactional_id else 9,
            transactional_id,
            records=records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional_id is not None,
        )

    def transact(self) -> None:
        """Continue an open transaction, or begin one. Then end it, or leave it open."""
        name = f"tx {self.random.randrange(4)}"
        at = self.coordinator(name, 1)
        if name not in self.transactional or (name not in self.open and self.random.random() < 0.2):
            answer = self.ask(
                "InitProducerId",
                3,
                {"transactional_id": name, "transaction_timeout_ms": 900_000, "producer_id": -1, "producer_epoch": -1},
                at,
            )
            self.transactional[name] = answer["producer_id"], answer["producer_epoch"]
        producer_id, epoch = self.transactional[name]
        who = {"transactional_id": name, "producer_id": producer_id, "producer_epoch": epoch}
        for _ in range(self.random.randrange(1, 4)):
            topic, partition = self.a_partition()
            if not self.tv2:
                self.ask("AddPartitionsToTxn", 3, who | {"topics": [{"name": topic, "partitions": [partition]}]}, at)
            self._produce_as(producer_id, epoch, topic, partition, name)
        self.open.add(name)
        if self.random.random() < 0.4:
            group = f"txg {self.random.randrange(2)}"
            if not self.tv2:
                self.ask("AddOffsetsToTxn", 3, who | {"group_id": group}, at)
            self.groups.add(group)
            topic, partition = self.a_partition()
            offset = {
                "partition_index": partition,
                "committed_offset": self.random.randrange(100),
                "committed_leader_epoch": -1,
                "committed_metadata": "",
            }
            body = who | {
                "group_id": group,
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "group_instance_id": None,
                "topics": [{"name": topic, "partitions": [offset]}],
            }
            self.ask("TxnOffsetCommit", 5 if self.tv2 else 3, body, self.coordinator(group, 0))
        if self.random.random() < 0.75:
            self.end(name, commit=self.random.random() < 0.6)

    def end(self, name: str, *, commit: bool) -> None:
        producer_id, epoch = self.transactional[name]
        body = {"transactional_id": name, "producer_id": producer_id, "producer_epoch": epoch, "committed": commit}
        answer = self.ask("EndTxn", 5 if self.tv2 else 3, body, self.coordinator(name, 1))
        if self.tv2:
            self.transactional[name] = answer["producer_id"], answer["producer_epoch"]
        self.open.discard(name)

    def delete_records(self) -> None:
        topic, partition = self.a_partition()
        if topic == "compacted":
            return
        at = self.leader(topic, partition)
        asked = {"topics": [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -1}]}]}
        answer = self.ask("ListOffsets", 4, asked, at)
        end = answer["topics"][0]["partitions"][0]["offset"]
        partitions = [{"partition_index": partition, "offset": self.random.randrange(end // 2 + 1)}]
        try:
            self.ask("DeleteRecords", 1, {"topics": [{"name": topic, "partitions": partitions}]}, at)
        except Refused as refused:
            if "'error_code': 1," not in str(refused):  # below the log start offset
                raise

    # Groups

    def commit_offsets(self) -> None:
        """Commit offsets without being a member, or delete some."""
        group = f"simple {self.random.randrange(3)}"
        at = self.coordinator(group, 0)
        topic, partition = self.a_partition()
        if group in self.groups and self.random.random() < 0.2:
            body = {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": partition}]}]}
            self.ask("OffsetDelete", 0, body, at)
            return
        self.groups.add(group)
        metadata = self.random.choice(("", "", "some metadata"))
        offset = {
            "partition_index": partition,
            "committed_offset": self.random.randrange(1000),
            "committed_leader_epoch": self.random.choice((-1, 0)),
            "committed_metadata": metadata,
        }
        body = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": [offset]}],
        }
        self.ask("OffsetCommit", 8, body, at)

    def join_classic(self) -> None:
        """Join a classic group as its only member, commit an offset, and leave or stay."""
        group = f"classic {self.random.randrange(2)}"
        at = self.coordinator(group, 0)
        static = self.random.choice((None, "instance"))
        metadata = {"subscription": {"version": 1, "topics": ["plain"]}}
        body = {
            "group_id": group,
            "session_timeout_ms": 6000,
            "rebalance_timeout_ms": 6000,
            "member_id": "",
            "group_instance_id": static,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": metadata}],
        }
        connection = at()
        while connection is None:
            connection = at()
        answer = connection.ask("JoinGroup", 7, body)
        while answer["error_code"] in (79, 14, 15, 16):
            answer = connection.ask("JoinGroup", 7, body | {"member_id": answer["member_id"]})
        if answer["error_code"]:
            return  # another static or remaining member
        member, generation = answer["member_id"], answer["generation_id"]
        assignment = {
            "assignment": {"version": 1, "assigned_partitions": [{"topic": "plain", "partitions": [0, 1, 2]}]}
        }
        sync = {
            "group_id": group,
            "generation_id": generation,
            "member_id": member,
            "group_instance_id": static,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": member, "assignment": assignment}],
        }
        self.ask("SyncGroup", 5, sync, at)
        offset = {
            "partition_index": 1,
            "committed_offset": self.random.randrange(1000),
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        commit = {
            "group_id": group,
            "generation_id_or_member_epoch": generation,
            "member_id": member,
            "group_instance_id": static,
            "topics": [{"name": "plain", "partitions": [offset]}],
        }
        self.ask("OffsetCommit", 8, commit, at)
        self.ask(
            "LeaveGroup", 4, {"group_id": group, "members": [{"member_id": member, "group_instance_id": static}]}, at
        )
        self.groups.add(group)

    def join_consumer(self) -> None:
        """Join a group of the consumer protocol, commit an offset, and leave or stay."""
        group = f"consumer {self.random.randrange(2)}"
        at = self.coordinator(group, 0)
        first = {
            "group_id": group,
            "member_id": "",
            "member_epoch": 0,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["plain", "packed"],
            "server_assignor": self.random.choice((None, "range")),
            "topic_partitions": [],
        }
        answer = self.ask("ConsumerGroupHeartbeat", 0, first, at)
        member, epoch = answer["member_id"], answer["member_epoch"]
        offset = {
            "partition_index": 0,
            "committed_offset": self.random.randrange(1000),
            "committed_leader_epoch": -1,
            "committed_metadata": "m",
        }
        body = {
            "group_id": group,
            "generation_id_or_member_epoch": epoch,
            "member_id": member,
            "group_instance_id": None,
            "topics": [{"name": "plain", "partitions": [offset]}],
        }
        self.ask("OffsetCommit", 9, body, at)
        self.groups.add(group)
        rest = {
            "group_id": group,
            "member_id": member,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout_ms": -1,
            "subscribed_topic_names": None,
            "server_assignor": None,
            "topic_partitions": None,
        }
        self.ask("ConsumerGroupHeartbeat", 0, rest | {"member_epoch": -1}, at)

    # Everything

    def run(self, steps: int, disturb: Callable[[random.Random], None] | None = None) -> None:
        """Take random steps. Now and then, `disturb` is called to stop brokers, elect leaders or run retention."""
        kinds = [self.produce_plain] * 8 + [self.produce_idempotent] * 3 + [self.transact] * 5
        kinds += [self.commit_offsets] * 2 + [self.join_classic, self.delete_records]
        if self.new_groups:
            kinds.append(self.join_consumer)
        for _ in range(steps):
            self.random.choice(kinds)()
            if disturb and self.random.random() < 0.05:
                disturb(self.random)


def _errors(answer: Any) -> list[int]:
    """Return all error codes in a response."""
    if isinstance(answer, dict):
        own = [value for name, value in answer.items() if name == "error_code"]
        return own + [code for value in answer.values() for code in _errors(value)]
    if isinstance(answer, list):
        return [code for value in answer for code in _errors(value)]
    return []
