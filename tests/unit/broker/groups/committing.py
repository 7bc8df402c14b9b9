"""A client that commits and fetches offsets without joining its group, on a stage whose clock the test controls."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.api import Api
from tests.unit.model.stage import Pending, Stage

Offsets = Mapping[int, int]
Answers = dict[tuple[str, int], int]

QUICK = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""A broker configuration that starts quickly and does not wait for more members."""


class Committing:
    """A client that commits offsets for a group."""

    def __init__(self, stage: Stage, group_id: str = "g") -> None:
        self.stage = stage
        self.group_id = group_id

    @property
    def node(self) -> int:
        return self.stage.coordinator(self.group_id, 0)

    @property
    def shard(self) -> Shard:
        groups = self.stage.cluster._server.brokers[self.node].coordinators.groups
        return groups.shard_for_offsets(self.group_id)

    def begin_commit(self, offsets: Offsets, topic: str = "t", version: int = 7, **more: Any) -> Pending:
        metadata = more.pop("metadata", "")
        partitions = [
            {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}
            for index, offset in offsets.items()
        ]
        topics = [{"name": topic, "partitions": partitions}]
        return self.stage.begin(
            Api.OFFSET_COMMIT, version, self.node, group_id=self.group_id, topics=more.pop("topics", topics), **more
        )

    def commit(self, offsets: Offsets, topic: str = "t", version: int = 7, **more: Any) -> Answers:
        """Commit offsets and return the error code of each partition."""
        return errors_of(self.begin_commit(offsets, topic, version, **more).answer())

    def begin_fetch(self, *indexes: int, topic: str = "t", version: int = 7, **more: Any) -> Pending:
        topics = [{"name": topic, "partition_indexes": list(indexes)}]
        asked = {"group_id": self.group_id, "topics": topics} | more
        return self.stage.begin(Api.OFFSET_FETCH, version, self.node, **asked)

    def fetch(self, *indexes: int, topic: str = "t", **more: Any) -> list[int]:
        """Return the offsets of these partitions, or errors as negative numbers below -1."""
        return offsets_of(self.begin_fetch(*indexes, topic=topic, **more).answer())

    def delete(self, *indexes: int, topic: str = "t") -> dict[str, Any]:
        topics = [{"name": topic, "partitions": [{"partition_index": index} for index in indexes]}]
        answer = self.stage.ask(Api.OFFSET_DELETE, 0, self.node, group_id=self.group_id, topics=topics)
        assert isinstance(answer, dict)
        return answer

    def begin_transaction(self, transactional_id: str = "x") -> tuple[int, int]:
        """Start a transaction that includes the group's offsets, and return the producer's id and epoch."""
        node = self.stage.coordinator(transactional_id, 1)
        given = self.stage.ask(
            Api.INIT_PRODUCER_ID, 3, node, transactional_id=transactional_id, transaction_timeout_ms=60_000
        )
        assert given["error_code"] == 0
        producer = given["producer_id"], given["producer_epoch"]
        added = self.stage.ask(
            Api.ADD_OFFSETS_TO_TXN,
            1,
            node,
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id=self.group_id,
        )
        assert added["error_code"] == 0
        return producer

    def end_transaction(self, producer: tuple[int, int], transactional_id: str = "x", *, committed: bool) -> None:
        ended = self.stage.ask(
            Api.END_TXN,
            1,
            self.stage.coordinator(transactional_id, 1),
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=committed,
        )
        assert ended["error_code"] == 0
        self.stage.settle()

    def commit_in(
        self, producer: tuple[int, int], offsets: Offsets, transactional_id: str = "x", version: int = 3, **more: Any
    ) -> Answers:
        """Commit in a transaction and return the error code of each partition."""
        partitions = [{"partition_index": index, "committed_offset": offset} for index, offset in offsets.items()]
        for partition in partitions:
            partition["committed_metadata"] = more.get("metadata", "")
        more.pop("metadata", None)
        fields = {
            "transactional_id": transactional_id,
            "group_id": self.group_id,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "topics": [{"name": more.pop("topic", "t"), "partitions": partitions}],
        }
        return errors_of(self.stage.ask(Api.TXN_OFFSET_COMMIT, version, self.node, **(fields | more)))


def errors_of(answer: dict[str, Any]) -> Answers:
    return {
        (topic["name"], partition["partition_index"]): partition["error_code"]
        for topic in answer["topics"]
        for partition in topic["partitions"]
    }


def offsets_of(answer: dict[str, Any]) -> list[int]:
    assert answer["error_code"] == 0, answer
    return [
        -partition["error_code"] if partition["error_code"] else partition["committed_offset"]
        for topic in answer["topics"]
        for partition in topic["partitions"]
    ]


@contextmanager
def committing(
    brokers: int = 1,
    version: str = "newest",
    partitions: int = 3,
    config: Mapping[str, str] | None = None,
) -> Iterator[Committing]:
    """A cluster with a topic "t", and a client that commits for the group "g"."""
    stage = Stage(brokers, version, **(QUICK | dict(config or {})))
    try:
        stage.cluster.topic("t").create(partitions, replication_factor=brokers)
        client = Committing(stage)
        client.node  # noqa: B018 - creates the internal topic
        stage.settle()
        yield client
    finally:
        stage.close()
