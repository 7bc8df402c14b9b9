"""The records and the behavior of consumer groups in earlier releases."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.groups.consumer.records import KEYS
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.consumer_group_state import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tests.unit.broker.groups.consuming import Consuming
from tests.unit.model.stage import Stage

ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


def on(release: str) -> Iterator[Consuming]:
    stage = Stage(1, version=release, **ONE_PARTITION)
    stage.cluster.topic("t").create(6)
    yield Consuming(stage)
    stage.close()


@pytest.fixture
def earlier() -> Iterator[Consuming]:
    yield from on("4.0")


@pytest.fixture
def hashing() -> Iterator[Consuming]:
    yield from on("4.1")


def values(consuming: Consuming, kind: Any) -> list[Any]:
    """Return the values of all records of a kind, without tombstones."""
    log = consuming.stage.cluster._server.brokers[1].coordinators.groups.shard_of("g").log
    written = []
    for record in (record for _, records in log.read() for record in records):
        known = KEYS.get(int.from_bytes(bytes(record.key or b"")[:2], "big"))
        if known is not None and known[1] is kind and record.value is not None:
            written.append(kind.decode(bytes(record.value), 0, 2))
    return written


def test_before_4_3_first_epoch_is_one(earlier: Consuming) -> None:
    earlier.join("a", "t")
    assert earlier.epochs["a"] == 1


def test_before_4_1_topics_are_in_partition_metadata_record(earlier: Consuming) -> None:
    earlier.join("a", "t")
    [written] = values(earlier, ConsumerGroupPartitionMetadataValue)
    assert [(topic.topic_name, topic.num_partitions) for topic in written.topics] == [("t", 6)]
    assert [value.metadata_hash for value in values(earlier, ConsumerGroupMetadataValue)] == [0]


def test_before_4_1_partition_metadata_record_is_written_when_changed(earlier: Consuming) -> None:
    earlier.join("a", "t")
    earlier.leave("a")
    earlier.join("b", "t")
    assert [len(value.topics) for value in values(earlier, ConsumerGroupPartitionMetadataValue)] == [1, 0, 1]
    earlier.stage.restart()
    earlier.beat("b")
    assert earlier.group.group_epoch == 3


def test_since_4_1_epoch_record_contains_metadata_hash(hashing: Consuming) -> None:
    hashing.join("a", "t")
    assert not values(hashing, ConsumerGroupPartitionMetadataValue)
    assert values(hashing, ConsumerGroupMetadataValue)[0].metadata_hash != 0


def test_before_4_3_partitions_have_no_epochs_and_targets_no_timestamp(hashing: Consuming) -> None:
    hashing.join("a", "t")
    [current] = values(hashing, ConsumerGroupCurrentMemberAssignmentValue)
    assert [owned.assignment_epochs for owned in current.assigned_partitions] == [None]
    [target] = values(hashing, ConsumerGroupTargetAssignmentMetadataValue)
    assert target.assignment_timestamp == 0


def test_before_4_3_commit_needs_current_member_epoch(earlier: Consuming) -> None:
    earlier.join("a", "t")
    earlier.join("b", "t")
    earlier.settle()
    assert earlier.commit("a", 1, partition=earlier.owned["a"]["t"][0]) == Code.STALE_MEMBER_EPOCH


def test_before_4_2_existing_member_cannot_join_again(earlier: Consuming) -> None:
    earlier.join("a", "t")
    earlier.join("b", "t")
    earlier.settle()
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
    assert earlier.send("a", 0, **fields)["error_code"] == Code.FENCED_MEMBER_EPOCH


def test_before_4_4_empty_group_keeps_older_assignment_epoch(earlier: Consuming) -> None:
    earlier.join("a", "t")
    earlier.leave("a")
    assert (earlier.group.group_epoch, earlier.group.assignment_epoch) == (2, 1)
    assert earlier.group.state == "Empty"
