"""AddPartitionsToTxn: partitions of one or several transactions are added or verified."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing
from tests.wire.brokers import NoAnswer, Plain


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def add(tx: Tx, version: int, *partitions: tuple[str, int]) -> dict[tuple[str, int], int]:
    topics = [{"name": topic, "partitions": [index]} for topic, index in partitions]
    answer = tx.wire.ask("AddPartitionsToTxn", version, {**tx.who, "topics": topics})
    return flat(answer["topics"])


def add_many(tx: Tx, *transactions: Plain, version: int = 4) -> dict[str, dict[tuple[str, int], int]]:
    answer = tx.wire.ask("AddPartitionsToTxn", version, {"transactions": list(transactions)})
    assert answer["error_code"] == Code.NONE
    return {each["transactional_id"]: flat(each["topic_results"]) for each in answer["results_by_transaction"]}


def flat(topics: list[Plain]) -> dict[tuple[str, int], int]:
    return {
        (topic["name"], partition["partition_index"]): partition["error_code"]
        for topic in topics
        for partition in (topic["partitions"] if "partitions" in topic else topic["results_by_partition"])
    }


def wanted(tx: Tx, *partitions: tuple[str, int], verify_only: bool = False) -> Plain:
    topics = [{"name": topic, "partitions": [index]} for topic, index in partitions or [("t", 0)]]
    return {**tx.who, "verify_only": verify_only, "topics": topics}


@pytest.mark.parametrize("version", range(4))
def test_added_partition_begins_a_transaction(tx: Tx, version: int) -> None:
    assert add(tx, version, ("t", 0)) == {("t", 0): Code.NONE}
    assert tx.describe()["transaction_state"] == "Ongoing"
    assert add(tx, version, ("t", 0)) == {("t", 0): Code.NONE}


def test_either_all_partitions_are_added_or_none(tx: Tx) -> None:
    assert add(tx, 3, ("nowhere", 0), ("t", 0), ("t", 8)) == {
        ("nowhere", 0): Code.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 0): Code.OPERATION_NOT_ATTEMPTED,
        ("t", 8): Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert tx.describe()["transaction_state"] == "Empty"


@pytest.mark.parametrize(("version", "code"), [(1, Code.INVALID_PRODUCER_EPOCH), (2, Code.PRODUCER_FENCED)])
def test_other_epoch_is_fenced(tx: Tx, version: int, code: Code) -> None:
    tx.epoch += 1
    assert add(tx, version, ("t", 0)) == {("t", 0): code}


def test_other_producer_id_is_refused(tx: Tx) -> None:
    tx.producer_id += 1
    assert tx.add() == Code.INVALID_PRODUCER_ID_MAPPING


def test_next_transaction_can_begin_immediately(tx: Tx) -> None:
    for _ in range(20):
        tx.commit(b"a")
    assert tx.wire.cluster.topic("t").log().last_stable_offset == 2 * 20  # each record is followed by a marker


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_several_transactions_in_one_request(tx: Tx, version: int) -> None:
    other = Tx(tx.wire, "y")
    assert other.init() == Code.NONE
    stranger = {**wanted(tx), "transactional_id": "z"}
    nowhere = {**wanted(tx, ("t", 0), ("nowhere", 1)), "transactional_id": "w"}
    assert add_many(tx, wanted(tx), wanted(other), stranger, nowhere, version=version) == {
        "x": {("t", 0): Code.NONE},
        "y": {("t", 0): Code.NONE},
        "z": {("t", 0): Code.INVALID_PRODUCER_ID_MAPPING},
        "w": {("t", 0): Code.OPERATION_NOT_ATTEMPTED, ("nowhere", 1): Code.UNKNOWN_TOPIC_OR_PARTITION},
    }


def test_duplicate_partition_is_returned_twice(tx: Tx) -> None:
    topics = [{"name": "t", "partitions": [0, 0]}, {"name": "t", "partitions": [0]}]
    answer = tx.wire.ask("AddPartitionsToTxn", 3, {**tx.who, "topics": topics})
    assert [[part["partition_index"] for part in topic["partitions"]] for topic in answer["topics"]] == [[0, 0], [0]]
    stale = {**wanted(tx), "producer_epoch": 5}
    answer = tx.wire.ask("AddPartitionsToTxn", 5, {"transactions": [stale, wanted(tx)]})
    assert [flat(each["topic_results"])["t", 0] for each in answer["results_by_transaction"]] == [
        Code.PRODUCER_FENCED,
        Code.NONE,
    ]


def test_duplicate_partition_is_returned_once_before_3_6() -> None:
    with producing(version="3.5") as tx:
        assert tx.wire.ask("AddPartitionsToTxn", 3, {**tx.who, "topics": [{"name": "t", "partitions": [0, 0]}] * 2})[
            "topics"
        ] == [{"name": "t", "partitions": [{"partition_index": 0, "error_code": Code.NONE}]}]


def test_broker_of_3_9_can_add_partitions() -> None:
    with producing(version="3.9") as tx:
        assert add_many(tx, wanted(tx)) == {"x": {("t", 0): Code.NONE}}


def test_verify_only_does_not_add_partitions(tx: Tx) -> None:
    assert add_many(tx, wanted(tx, verify_only=True)) == {"x": {("t", 0): Code.TRANSACTION_ABORTABLE}}
    assert tx.describe()["transaction_state"] == "Empty"
    assert tx.add() == Code.NONE
    assert add_many(tx, wanted(tx, verify_only=True)) == {"x": {("t", 0): Code.NONE}}


def test_request_without_transactions_has_no_response(tx: Tx) -> None:
    connection = tx.wire.connection()
    with pytest.raises(NoAnswer):
        connection.receive(connection.send("AddPartitionsToTxn", 4, {"transactions": []}), 0.05)


def test_transaction_with_2000_partitions_ends_in_every_partition(tx: Tx) -> None:
    tx.wire.cluster.topic("many").create(2000)
    topics = [{"name": "many", "partitions": list(range(2000))}]
    answer = tx.wire.ask("AddPartitionsToTxn", 3, {**tx.who, "topics": topics})
    assert set(flat(answer["topics"]).values()) == {Code.NONE}
    assert tx.end() == Code.NONE
    tx.wire.until(lambda: tx.wire.cluster._server.leadership.leader_of("many", 1999).log.log_end_offset == 1)
