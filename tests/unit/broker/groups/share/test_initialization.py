import pytest

from kafkalet.broker.groups.share.initialization import check
from kafkalet.broker.share.persister import SharePersister
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.groups.sharing import Sharing

A = "a" * 22


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The partitions that the share coordinator refuses."""
    refused: set[int] = set()
    initialize = SharePersister.initialize

    async def or_fail(self: SharePersister, group: str, topic: bytes, partition: int, epoch: int, offset: int) -> None:
        if partition in refused:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        await initialize(self, group, topic, partition, epoch, offset)

    monkeypatch.setattr(SharePersister, "initialize", or_fail)
    return refused


def test_failed_initialization_is_tried_again_with_the_next_heartbeat(sharing: Sharing, failing: set[int]) -> None:
    failing.add(1)
    sharing.join(A)
    assert sharing.group.states is not None
    assert (sharing.group.states.initializing, sharing.group.states.initialized) == ({}, {})
    failing.clear()
    assert sharing.beat(A) == {}
    assert sharing.beat(A) == {"t": [0, 1, 2]}


def test_failed_change_of_offsets_is_reported_for_each_partition(sharing: Sharing, failing: set[int]) -> None:
    failing.add(1)
    [topic] = sharing.alter("t", {0: 5, 1: 6})["responses"]
    assert [partition["error_code"] for partition in topic["partitions"]] == [0, Code.COORDINATOR_NOT_AVAILABLE]


def test_persister_does_not_expect_negative_partitions() -> None:
    with pytest.raises(KafkaError, match="x has invalid partitionId - g dHR0dHR0dHR0dHR0dHR0dA -1") as caught:
        check("g", [(b"t" * 16, 0), (b"t" * 16, -1)], "x")
    assert caught.value.code == Code.UNKNOWN_SERVER_ERROR


def test_persister_does_not_expect_an_empty_group_id() -> None:
    with pytest.raises(KafkaError, match="x groupId cannot be null or empty"):
        check("", [], "x")
