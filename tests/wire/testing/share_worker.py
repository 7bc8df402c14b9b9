"""A member of a share group that does what the test says, with requests over a real connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

import kafkalet
from kafkalet.broker.share.share_partition import ACCEPT, REJECT, RELEASE
from kafkalet.testing.share_group import ShareGroup
from tests.wire.brokers import Plain, Wire

__all__ = ["ACCEPT", "ALICE", "BOB", "QUICK", "REJECT", "RELEASE", "Acquired", "Worker", "states", "worker"]

ALICE, BOB = "alice", "bob"
QUICK = {"group.share.heartbeat.interval.ms": 50, "group.share.assignment.interval.ms": 0}
"""Broker properties with which members get their partitions at once."""


class Acquired(NamedTuple):
    """Records that a member has acquired."""

    first: int
    last: int
    deliveries: int


class Worker:
    """A member of the group "jobs" that consumes partition 0 of topic "t"."""

    def __init__(self, kafka: kafkalet.Cluster, member_id: str) -> None:
        self.kafka = kafka
        self.wire = Wire(kafka)
        self.member_id = member_id
        self.member_epoch = 0
        self.session_epoch = 0

    @property
    def topic_id(self) -> str:
        server = self.kafka._server
        return str(UUID(bytes=server.call(lambda: server.metadata.topics["t"].topic_id)))

    def beat(self, epoch: int | None = None) -> Plain:
        asked = self.member_epoch if epoch is None else epoch
        body = {"group_id": "jobs", "member_id": self.member_id, "member_epoch": asked}
        if asked == 0:
            body["subscribed_topic_names"] = ["t"]
        response = self.wire.ask("ShareGroupHeartbeat", 1, body)
        if response["error_code"] == 0:
            self.member_epoch = response["member_epoch"]
        return response

    def join(self) -> None:
        """Send heartbeats until the member has the partition."""
        self.wire.ask("FindCoordinator", 3, {"key": "jobs", "key_type": 0})
        for _ in range(10):
            assert self.beat()["error_code"] == 0
            member = next(each for each in self.kafka.share_group("jobs").members if each.member_id == self.member_id)
            if member.assignment:
                return
        raise AssertionError("the member has no partition after 10 heartbeats")

    def leave(self) -> None:
        assert self.beat(-1)["error_code"] == 0

    def fetch_body(self, max_records: int = 500) -> Plain:
        topics = [{"topic_id": self.topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}]
        return {
            "group_id": "jobs",
            "member_id": self.member_id,
            "share_session_epoch": self.session_epoch,
            "max_wait_ms": 5000,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": max_records,
            "batch_size": max_records,
            "share_acquire_mode": 1,
            "topics": topics,
            "forgotten_topics_data": [],
        }

    def fetch(self, max_records: int = 500) -> list[Acquired]:
        """Acquire records."""
        response = self.wire.ask("ShareFetch", 2, self.fetch_body(max_records))
        assert response["error_code"] == 0
        self.session_epoch += 1
        return [
            Acquired(each["first_offset"], each["last_offset"], each["delivery_count"])
            for topic in response["responses"]
            for partition in topic["partitions"]
            for each in partition["acquired_records"]
        ]

    def acknowledge(self, kind: int, first: int, last: int | None = None) -> int:
        """Acknowledge records, and return the error code."""
        response = self.acknowledge_answer(kind, first, last)
        assert response["error_code"] == 0
        self.session_epoch += 1
        return int(response["responses"][0]["partitions"][0]["error_code"])

    def acknowledge_answer(self, kind: int, first: int, last: int | None = None) -> Plain:
        batch = {"first_offset": first, "last_offset": last or first, "acknowledge_types": [kind]}
        topics = [
            {"topic_id": self.topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}]}
        ]
        body = {
            "group_id": "jobs",
            "member_id": self.member_id,
            "share_session_epoch": self.session_epoch,
            "topics": topics,
        }
        return self.wire.ask("ShareAcknowledge", 2, body)


@contextmanager
def worker(kafka: kafkalet.Cluster, member_id: str) -> Iterator[Worker]:
    """Let a member join, and close its connections at the end."""
    member = Worker(kafka, member_id)
    try:
        member.join()
        yield member
    finally:
        member.wire.close()


def states(jobs: ShareGroup) -> list[tuple[str, int, str | None]]:
    """Return the state, the number of deliveries and the member of each record."""
    return [(each.state, each.deliveries, each.member_id) for each in jobs.records()]
