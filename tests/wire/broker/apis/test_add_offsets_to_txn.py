"""AddOffsetsToTxn: the group's partition of __consumer_offsets becomes part of a transaction."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.cluster.state_topics import partition_of
from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


@pytest.mark.parametrize("version", range(5))
def test_partition_of_the_group_is_added_to_the_transaction(tx: Tx, version: int) -> None:
    assert tx.add_offsets("group", version=version) == Code.NONE
    partitions = [partition_of("group", 50)]
    assert tx.describe()["topics"] == [{"topic": "__consumer_offsets", "partitions": partitions}]


def test_partition_of_the_group_receives_a_marker(tx: Tx) -> None:
    tx.wire.ask("FindCoordinator", 3, {"key": "group", "key_type": 0})
    assert tx.add_offsets("group") == Code.NONE
    assert tx.end() == Code.NONE
    [marker] = tx.wire.cluster.topic("__consumer_offsets").log(partition_of("group", 50)).batches
    assert marker.is_control


def test_missing_offsets_topic_receives_no_marker(tx: Tx) -> None:
    assert tx.add_offsets("group") == Code.NONE
    assert tx.end() == Code.NONE
    assert tx.describe()["transaction_state"] == "CompleteCommit"


@pytest.mark.parametrize(("version", "code"), [(1, Code.INVALID_PRODUCER_EPOCH), (2, Code.PRODUCER_FENCED)])
def test_other_epoch_is_fenced(tx: Tx, version: int, code: Code) -> None:
    tx.epoch += 1
    assert tx.add_offsets("group", version=version) == code


def test_unknown_producer_is_refused(tx: Tx) -> None:
    tx.transactional_id = "y"
    assert tx.add_offsets("group") == Code.INVALID_PRODUCER_ID_MAPPING
    tx.transactional_id = ""
    assert tx.add_offsets("group") == Code.INVALID_REQUEST
