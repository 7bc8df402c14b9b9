"""The rights that the APIs of transactions require, beyond those in the recorded transcripts."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain
from tests.wire.rights import Rights, without_rights

ID_REFUSED = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
GROUP_REFUSED = Code.GROUP_AUTHORIZATION_FAILED
TOPIC_REFUSED = Code.TOPIC_AUTHORIZATION_FAILED
CLUSTER_REFUSED = Code.CLUSTER_AUTHORIZATION_FAILED
PARTITION = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}


@pytest.fixture
def rights() -> Iterator[Rights]:
    with without_rights() as client:
        yield client


def start(rights: Rights, transactional_id: str = "x", *topics: str) -> Plain:
    """Start a transaction on these topics, and return the identity of its producer."""
    with rights.all():
        for key, key_type in ((transactional_id, 1), ("g", 0)):
            rights.ask("FindCoordinator", 3, key=key, key_type=key_type)
        answer = init(rights, transactional_id)
        assert answer["error_code"] == Code.NONE
        who = {
            "transactional_id": transactional_id,
            "producer_id": answer["producer_id"],
            "producer_epoch": answer["producer_epoch"],
        }
        if topics:
            assert set(added(rights, who, *topics).values()) == {Code.NONE}
    return who


def init(rights: Rights, transactional_id: str | None, **more: Any) -> Plain:
    return rights.ask("InitProducerId", 3, transactional_id=transactional_id, transaction_timeout_ms=60_000, **more)


def added(rights: Rights, who: Plain, *topics: str) -> dict[str, int]:
    asked = [{"name": topic, "partitions": [0]} for topic in topics]
    answer = rights.ask("AddPartitionsToTxn", 3, **who, topics=asked)
    return {topic["name"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}


# InitProducerId


def test_refused_producer_does_not_learn_that_its_request_is_invalid(rights: Rights) -> None:
    invalid = {"producer_id": 7, "producer_epoch": -1}
    assert init(rights, "x", **invalid)["error_code"] == ID_REFUSED
    assert init(rights, None, **invalid)["error_code"] == CLUSTER_REFUSED
    rights.grant("write transactional id x", "idempotent_write cluster")
    assert init(rights, "x", **invalid)["error_code"] == Code.INVALID_REQUEST
    assert init(rights, None, **invalid)["error_code"] == Code.INVALID_REQUEST


@pytest.mark.parametrize(("release", "code"), [("2.7", CLUSTER_REFUSED), ("2.8", Code.NONE)])
def test_writers_may_be_idempotent_since_2_8(release: str, code: Code) -> None:
    with without_rights(release) as rights:
        rights.grant("describe topic t")
        assert init(rights, None)["error_code"] == CLUSTER_REFUSED
        rights.grant("write topic t")
        assert init(rights, None)["error_code"] == code
        rights.grant("idempotent_write cluster")
        assert init(rights, None)["error_code"] == Code.NONE


# AddPartitionsToTxn


def test_one_refused_topic_keeps_all_partitions_from_being_added(rights: Rights) -> None:
    who = start(rights)
    rights.grant("write transactional id x", "write topic t", "read topic u")
    expected = {"t": Code.OPERATION_NOT_ATTEMPTED, "u": TOPIC_REFUSED, "nowhere": TOPIC_REFUSED}
    assert added(rights, who, "t", "u", "nowhere") == expected
    rights.grant("write topic nowhere", "write topic u")
    unattempted = Code.OPERATION_NOT_ATTEMPTED
    expected = {"t": unattempted, "u": unattempted, "nowhere": Code.UNKNOWN_TOPIC_OR_PARTITION}
    assert added(rights, who, "t", "u", "nowhere") == expected
    assert added(rights, who, "t", "u") == {"t": Code.NONE, "u": Code.NONE}


def test_clients_cannot_add_internal_topics(rights: Rights) -> None:
    who = start(rights)
    with rights.all():
        assert added(rights, who, "__consumer_offsets") == {"__consumer_offsets": TOPIC_REFUSED}


def test_brokers_need_cluster_action_only(rights: Rights) -> None:
    who = start(rights, "x", "t")
    wanted = who | {"verify_only": True, "topics": [{"name": "t", "partitions": [0]}]}
    refused = rights.ask("AddPartitionsToTxn", 4, transactions=[wanted])
    assert refused == {"throttle_time_ms": 0, "error_code": CLUSTER_REFUSED, "results_by_transaction": []}
    rights.grant("cluster_action cluster")
    answer = rights.ask("AddPartitionsToTxn", 4, transactions=[wanted])
    [result] = answer["results_by_transaction"]
    assert result["topic_results"][0]["partitions"][0]["error_code"] == Code.NONE


# offsets of transactions


@pytest.mark.parametrize("version", range(5))
def test_offsets_are_added_with_rights_on_transactional_id_and_group(rights: Rights, version: int) -> None:
    who = start(rights)
    rights.grant("describe transactional id x", "describe group g")
    assert rights.ask("AddOffsetsToTxn", version, **who, group_id="g")["error_code"] == ID_REFUSED
    rights.grant("write transactional id x")
    assert rights.ask("AddOffsetsToTxn", version, **who, group_id="g")["error_code"] == GROUP_REFUSED
    rights.grant("read group g")
    assert rights.ask("AddOffsetsToTxn", version, **who, group_id="g")["error_code"] == Code.NONE


@pytest.mark.parametrize("version", [0, 3, 5])
def test_offsets_are_committed_for_topics_that_may_be_read(rights: Rights, version: int) -> None:
    who = start(rights)
    rights.grant("write transactional id x", "read group g")
    assert rights.ask("AddOffsetsToTxn", 3, **who, group_id="g")["error_code"] == Code.NONE
    rights.revoke("read group g")

    def commit() -> dict[str, int]:
        topics = [{"name": topic, "partitions": [PARTITION]} for topic in ("t", "u")]
        answer = rights.ask("TxnOffsetCommit", version, **who, group_id="g", topics=topics)
        return {topic["name"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}

    assert commit() == {"t": GROUP_REFUSED, "u": GROUP_REFUSED}
    rights.grant("read group g", "read topic u")
    assert commit() == {"t": TOPIC_REFUSED, "u": Code.NONE}
    rights.revoke("write transactional id x")
    assert commit() == {"t": ID_REFUSED, "u": ID_REFUSED}


# the end of transactions


@pytest.mark.parametrize("version", range(6))
def test_transaction_is_ended_with_write(rights: Rights, version: int) -> None:
    who = start(rights, "x", "t")
    refused = rights.ask("EndTxn", version, **who, committed=True)
    assert refused["error_code"] == ID_REFUSED
    assert (refused.get("producer_id", -1), refused.get("producer_epoch", -1)) == (-1, -1)
    rights.grant("write transactional id x")
    assert rights.ask("EndTxn", version, **who, committed=True)["error_code"] == Code.NONE


@pytest.mark.parametrize(("release", "code"), [("3.7", CLUSTER_REFUSED), ("3.8", Code.NONE)])
def test_markers_are_written_with_alter_since_3_8(release: str, code: Code) -> None:
    with without_rights(release) as rights:
        who = start(rights, "x", "t")

        def write() -> int:
            marker = {"producer_id": who["producer_id"], "producer_epoch": who["producer_epoch"]}
            marker |= {"transaction_result": False, "coordinator_epoch": 0}
            topics = [{"name": "t", "partition_indexes": [0]}]
            [answer] = rights.ask("WriteTxnMarkers", 1, markers=[marker | {"topics": topics}])["markers"]
            found: int = answer["topics"][0]["partitions"][0]["error_code"]
            return found

        assert write() == CLUSTER_REFUSED
        rights.grant("alter cluster")
        assert write() == code
        rights.grant("cluster_action cluster")
        assert write() == Code.NONE


# descriptions of transactions


def test_only_topics_that_may_be_described_are_shown(rights: Rights) -> None:
    start(rights, "x", "t", "u")
    rights.grant("describe transactional id x", "describe topic u")
    [refused, shown] = rights.ask("DescribeTransactions", 0, transactional_ids=["", "x"])["transaction_states"]
    assert refused["error_code"] == ID_REFUSED
    assert (shown["error_code"], [topic["topic"] for topic in shown["topics"]]) == (Code.NONE, ["u"])


def test_only_transactions_that_may_be_described_are_listed(rights: Rights) -> None:
    start(rights, "x")
    start(rights, "y")
    rights.grant("write transactional id y")
    answer = rights.ask("ListTransactions", 0, state_filters=[], producer_id_filters=[])
    assert [each["transactional_id"] for each in answer["transaction_states"]] == ["y"]


def test_producers_are_described_with_read(rights: Rights) -> None:
    topics = [{"name": topic, "partition_indexes": [0]} for topic in ("t", "", "nowhere")]
    rights.grant("describe topic t", "read topic nowhere")
    answer = rights.ask("DescribeProducers", 0, topics=topics)
    codes = [topic["partitions"][0]["error_code"] for topic in answer["topics"]]
    assert codes == [TOPIC_REFUSED, Code.INVALID_TOPIC_EXCEPTION, Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_refused_producers_have_no_error_message_before_3_0() -> None:
    with without_rights("2.8") as rights:
        topics = [{"name": topic, "partition_indexes": [0]} for topic in ("t", "")]
        answer = rights.ask("DescribeProducers", 0, topics=topics)
        found = [(partition["error_code"], partition["error_message"]) for [partition] in partitions_of(answer)]
        assert found == [(TOPIC_REFUSED, None), (TOPIC_REFUSED, None)]


def partitions_of(answer: Plain) -> list[list[Plain]]:
    return [topic["partitions"] for topic in answer["topics"]]
