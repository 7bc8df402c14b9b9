"""The parts of scenarios in which brokers of a cluster and its controller stop, crash, pause and are cut off.

Broker 1 is not disturbed: it is asked for the state of the cluster.
"""

from collections.abc import Iterable
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, one
from kafkalet_conformance.playing.player import UNDONE_BY

FAULT_MS = 20_000
"""The limit for a change that a fault causes. It covers the time-outs in FAULT_PROPERTIES."""
MEBIBYTE = 1 << 20
CONTROLLER = 0
"""Stands for the id of the controller."""


class Cluster:
    """The requests about a partition whose replicas are on brokers with faults."""

    def __init__(
        self, ask: ScenarioBuilder, replicas: Iterable[int] = (2, 3, 1), name: str = "t", **config: Any
    ) -> None:
        self.ask = ask
        self.topic = ask.spread_topic(name, list(replicas), **{"retention_ms": -1} | config)
        self.wait(isr_nodes=list(replicas))

    def do(self, action: str, node: int = 2) -> None:
        """Stop, kill, pause, resume, start or isolate a broker, or kill or start the controller."""
        if action == "isolate":
            self.cut_off("brokers", "controller", node=node)
        else:
            self.ask.broker(node, action)

    def cut_off(self, *peers: str, node: int = 2) -> None:
        """Cut a broker off from "clients", the other "brokers" or the "controller"."""
        self.ask.broker(node, "cut_off", peers=list(peers))

    def undo(self, action: str, node: int = 2) -> None:
        """Undo an action."""
        self.ask.broker(node, UNDONE_BY.get(action, "reconnect"))

    def wait(self, *, topic: str = "", at: int = 1, **wanted: Any) -> None:
        """Wait until these fields of the partition in Metadata have these values."""
        body = {"topics": [{"name": topic or self.topic}], "allow_auto_topic_creation": False}
        for field, value in wanted.items():
            path = f"topics.0.partitions.0.{field}"
            self._until("Metadata", 9, body, path, sorted(value) if isinstance(value, list) else value, at)
            if isinstance(value, list):
                self.ask.steps[-1]["any_order"] = True

    def _until(self, api: str, version: int, body: Step, path: str, value: Any, at: int) -> None:
        self.ask.until(api, version, body, path, value)
        self.ask.steps[-1] |= {"conn": f"at-{at}", "timeout_ms": FAULT_MS}

    def state(self, case: str, topic: str = "") -> None:
        """Compare leader, epoch, in-sync replicas and eligible leader replicas of the partition."""
        topic = topic or self.topic
        body: Step = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        self.ask.request(case, "Metadata", 9, body, only=["topics"], conn="at-1")
        if self.ask.versions("DescribeTopicPartitions"):
            body = {"topics": [{"name": topic}], "response_partition_limit": 10, "cursor": None}
            self.ask.request(f"{case}, described", "DescribeTopicPartitions", 0, body, conn="at-1")

    def leads(self, node: int) -> None:
        """Wait until a broker leads the partition, and serves requests."""
        self.wait(leader_id=node)
        self.wait(leader_id=node, at=node)
        self._until("ListOffsets", 5, self._offset(-2), "topics.0.partitions.0.error_code", 0, node)

    def _offset(self, timestamp: int, isolation: int = 0) -> Step:
        asked = one(self.topic, partition_index=0, timestamp=timestamp)
        return {"replica_id": -1, "isolation_level": isolation, "topics": [asked]}

    def write(self, *batches: Step, at: int, acks: int = -1, timeout_ms: int = 10_000, **body: Any) -> Step:
        """Return a Produce request, to be sent to the broker `at`."""
        content = {"transactional_id": None, "acks": acks, "timeout_ms": timeout_ms} | body
        topics = [{"name": self.topic, "partitions": [{"index": 0, "records": list(batches)}]}]
        return {"api": "Produce", "version": 9, "body": content | {"topics": topics}, "conn": f"at-{at}"}

    def produce(self, case: str, *batches: Step, at: int, acks: int = -1, **body: Any) -> None:
        """Compare the response to Produce at a broker."""
        self.ask.step("request", case=case, **self.write(*batches, at=at, acks=acks, **body))

    def written(self, *batches: Step, at: int, acks: int = -1, **body: Any) -> None:
        """Produce batches, which must succeed."""
        self.ask.step("request", setup=True, must_succeed=True, **self.write(*batches, at=at, acks=acks, **body))

    def reading(self, offset: int = 0, **more: Any) -> Step:
        asked = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": MEBIBYTE}
        return {"max_wait_ms": 0, "min_bytes": 0, "topics": [{"topic": self.topic, "partitions": [asked]}]} | more

    def log(
        self, case: str, *nodes: int, high_watermark: int | None = None, start: int = 0, isolation: int = 0
    ) -> None:
        """Compare what consumers read at these brokers, after the high watermark has been reached at each."""
        path = "responses.0.partitions.0.high_watermark"
        body = self.reading(start, isolation_level=isolation)
        for node in nodes:
            if high_watermark is not None:
                self._until("Fetch", 12, body, path, high_watermark, node)
            self.ask.request(f"{case}, read at {node}", "Fetch", 12, body, conn=f"at-{node}")

    def offsets(self, case: str, at: int) -> None:
        """Compare the offsets of the leader that consumers see, and where its epochs end."""
        for timestamp in (-1, -2):
            for isolation in (0, 1):
                self.ask.request(
                    f"{case}, offset for {timestamp}, isolation {isolation}",
                    "ListOffsets",
                    5,
                    self._offset(timestamp, isolation),
                    conn=f"at-{at}",
                )

    def epochs(self, case: str, *nodes: int, up_to: int = 3) -> None:
        """Compare where epochs end in the logs of these brokers, as far as these may say so."""
        for node in nodes:
            for epoch in range(up_to + 1):
                asked = {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": -1}
                body = {"replica_id": -1, "topics": [{"topic": self.topic, "partitions": [asked]}]}
                self.ask.request(f"{case}, epoch {epoch} at {node}", "OffsetForLeaderEpoch", 4, body, conn=f"at-{node}")

    def sizes(self, case: str, *nodes: int) -> None:
        """Compare the size and the lag of the replicas on these brokers."""
        for node in nodes:
            body = {"topics": [{"topic": self.topic, "partitions": [0]}]}
            path = "results.0.topics"
            self.ask.request(f"{case}, sizes at {node}", "DescribeLogDirs", 1, body, conn=f"at-{node}", part=path)

    def copied(self, size: int, at: int) -> None:
        """Wait until the replica on a broker has this size."""
        body = {"topics": [{"topic": self.topic, "partitions": [0]}]}
        self._until("DescribeLogDirs", 1, body, "results.0.topics.0.partitions.0.partition_size", size, at)

    def gone(self, at: int) -> None:
        """Wait until a broker has no replica any more."""
        body = {"topics": [{"topic": self.topic, "partitions": [0]}]}
        self._until("DescribeLogDirs", 1, body, "results.0.topics", [], at)

    def elect(self, case: str, kind: int = 0) -> None:
        """Compare the result of an election: preferred (0) or unclean (1)."""
        body = {"election_type": kind, "topic_partitions": [{"topic": self.topic, "partitions": [0]}]}
        self.ask.request(case, "ElectLeaders", 2, body | {"timeout_ms": 30_000}, conn="at-1")

    def whole(self) -> None:
        """Wait until all three replicas are in sync again."""
        self.wait(isr_nodes=[1, 2, 3])
