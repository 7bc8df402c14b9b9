"""Members of a share group that fetch and acknowledge over real connections, without the group coordinator.

A share partition is initialized as the group coordinator would. Each member has a connection of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time
from typing import Any
from uuid import UUID

import kafkalet
from kafkalet.broker.cluster.state_topics import SHARE_GROUP_STATE
from kafkalet.broker.share.persister import SharePersister
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import finish
from kafkalet.testing.cluster import Cluster
from tests.wire.brokers import Plain, Wire, batch

GROUP = "jobs"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
Range = tuple[int, int, int | Sequence[int]]
"""First offset, last offset, and the type of the acknowledgement or of each record."""


class Member:
    """A member of the group `jobs`, and the epoch of its next request."""

    def __init__(self, jobs: "Jobs", member_id: str) -> None:
        self.jobs = jobs
        self.id = member_id
        self.epoch = 0
        self.node = 1
        self.last: Plain = {}
        """The last response."""

    def ask(self, api: str, version: int, body: Plain) -> Plain:
        connection = self.jobs.wire.connection(self.node, self.id)
        self.last = connection.ask(api, version, {"group_id": GROUP, "member_id": self.id, **body})
        return self.last

    def request(
        self, *ranges: Range, partitions: Sequence[int] = (0,), version: int = 2, epoch: int | None = None, **more: Any
    ) -> Plain:
        """Send a ShareFetch request and return the response. By default it waits for nothing."""
        if epoch is not None:
            self.epoch = epoch
        if self.epoch == 0:
            self.jobs.load(self.node, partitions)
        body = {
            "share_session_epoch": self.epoch,
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": self.jobs.topics(partitions, ranges),
            "forgotten_topics_data": [],
            **more,
        }
        self.epoch += 1
        return self.ask("ShareFetch", version, body)

    def fetch(self, *ranges: Range, index: int = 0, **more: Any) -> list[tuple[int, ...]]:
        """Send a ShareFetch request and return the acquired records of a partition."""
        answer = self.request(*ranges, **more)
        codes = [answer["error_code"]]
        codes += [partition["error_code"] for topic in answer["responses"] for partition in topic["partitions"]]
        assert not any(codes), [Code(code) for code in codes]
        return acquired(answer, index)

    def acknowledge(self, *ranges: Range, version: int = 2, epoch: int | None = None, **more: Any) -> Code:
        """Send a ShareAcknowledge request for partition 0. Return the error of the partition, or of the request."""
        if epoch is not None:
            self.epoch = epoch
        body = {"share_session_epoch": self.epoch, "topics": self.jobs.topics((0,), ranges), **more}
        self.epoch += 1
        answer = self.ask("ShareAcknowledge", version, body)
        if answer["error_code"]:
            return Code(answer["error_code"])
        return Code(partition_of(answer)["error_code"])

    def disconnect(self) -> None:
        connection = self.jobs.wire.connections.pop((self.node, self.id))
        connection.close()


class Jobs:
    """A share group that reads the topic `t` from its start."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.wire = Wire(cluster)
        server = cluster._server
        self.call = server.call
        server.call(lambda: server.controller.state_topic(SHARE_GROUP_STATE))
        self.topic_id = str(UUID(bytes=server.call(lambda: server.metadata.topics["t"].topic_id)))
        self.configure({"share.auto.offset.reset": "earliest"})

    def initialize(self, index: int = 0, state_epoch: int = 0) -> None:
        self.call(lambda: finish(self.state.initialize(*self.key(index), state_epoch, -1)))

    def load(self, node: int, partitions: Sequence[int]) -> None:
        """Load share partitions on a broker that leads them, so that a first fetch need not wait."""
        shares = self.cluster._server.brokers[node].shares

        def are_loaded() -> bool:
            try:
                opened = [shares.open(self.key(index), "t") for index in partitions]
            except KafkaError:
                return True
            return all(each.state is not None for each in opened)

        while not self.call(are_loaded):
            pass

    @property
    def state(self) -> SharePersister:
        return self.cluster._server.brokers[1].share_state

    def key(self, index: int = 0) -> SharePartitionKey:
        return SharePartitionKey(GROUP, UUID(self.topic_id).bytes, index)

    def configure(self, properties: Mapping[str, str]) -> None:
        """Set properties of the group."""
        metadata = self.cluster._server.metadata
        self.call(lambda: metadata.group_config.setdefault(GROUP, {}).update(properties))

    def stored(self) -> tuple[int, list[tuple[int, ...]]]:
        """Return the stored start offset and batches of partition 0."""
        state = self.call(lambda: finish(self.state.summary(*self.key())))
        return state.start_offset, [tuple(each) for each in state.batches]

    def start_offset(self) -> int:
        """Return the start offset of partition 0 in memory; the stored one follows with the next change."""
        opened = self.call(lambda: self.cluster._server.brokers[1].shares.find(self.key()))
        assert opened is not None
        assert opened.state is not None
        return opened.state.start_offset

    def member(self, member_id: str = "alice") -> Member:
        return Member(self, member_id)

    def write(self, *counts: int, index: int = 0) -> None:
        """Write batches of this many records."""
        for count in counts:
            self.wire.produce(bytes(batch(*[b"v"] * count, time=int(time() * 1000))), index=index)

    def topics(self, partitions: Sequence[int], ranges: Sequence[Range]) -> list[Plain]:
        """Return partitions of the topic, the first with acknowledgements."""
        given = [
            {
                "first_offset": first,
                "last_offset": last,
                "acknowledge_types": [types] if isinstance(types, int) else types,
            }
            for first, last, types in ranges
        ]
        listed = [
            {"partition_index": index, "acknowledgement_batches": given if not position else []}
            for position, index in enumerate(partitions)
        ]
        return [{"topic_id": self.topic_id, "partitions": listed}] if listed else []


def partition_of(answer: Plain, index: int = 0) -> Plain:
    found: Plain = next(
        partition
        for topic in answer["responses"]
        for partition in topic["partitions"]
        if partition["partition_index"] == index
    )
    return found


def acquired(answer: Plain, index: int = 0) -> list[tuple[int, ...]]:
    return [
        tuple(records.values())
        for topic in answer["responses"]
        for partition in topic["partitions"]
        if partition["partition_index"] == index
        for records in partition["acquired_records"]
    ]


@contextmanager
def jobs(brokers: int = 1, partitions: int = 1, **options: Any) -> Iterator[Jobs]:
    """Run a cluster with the topic `t`, unless it is in its data directory already, and yield the group."""
    config = options.pop("topic_config", None)
    with kafkalet.Cluster(brokers, **options) as cluster:
        is_new = "t" not in cluster._server.metadata.topics
        if is_new:
            cluster.topic("t").create(partitions, config=config, replication_factor=brokers)
        group = Jobs(cluster)
        for index in range(partitions if is_new else 0):
            group.initialize(index)
        try:
            yield group
        finally:
            group.wire.close()
