"""Tests of the routes of transactions; confluent-kafka's transactional producer is the witness."""

import pytest
from confluent_kafka import KafkaException, Producer

from tests.wire.control.asking import Asking, asking


def open_transaction(api: Asking, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", b"x")
    producer.flush()
    return producer


def test_transactions_are_listed_with_their_state(api: Asking) -> None:
    second, first = open_transaction(api, "b"), open_transaction(api, "a/1")
    found = api.get("/v1/transactions")["transactions"]
    assert [(each["transactional_id"], each["state"]) for each in found] == [("a/1", "Ongoing"), ("b", "Ongoing")]
    assert found[0]["partitions"] == [{"topic": "t", "partition": 0}]
    first.commit_transaction(10)
    second.abort_transaction(10)
    assert api.get("/v1/transactions/a%2F1")["state"] == "CompleteCommit"
    assert api.get("/v1/transactions/b")["state"] == "CompleteAbort"


def test_unknown_transactional_id_is_not_found(api: Asking) -> None:
    answer = api.ask("GET", "/v1/transactions/missing")
    assert (answer.status, answer.code) == (404, "TRANSACTIONAL_ID_NOT_FOUND")


def values(api: Asking) -> list[str]:
    found = api.get("/v1/topics/t/records?isolation=read_committed")["records"]
    return [record["value"] for record in found]


def test_aborted_producer_is_fenced(api: Asking) -> None:
    producer = open_transaction(api, "tx")
    assert api.post("/v1/transactions/tx/abort")["state"] == "CompleteAbort"
    with pytest.raises(KafkaException):
        producer.commit_transaction(10)
    assert values(api) == []


def test_transaction_that_is_not_open_cannot_be_aborted(api: Asking) -> None:
    assert api.ask("POST", "/v1/transactions/tx/abort").status == 404
    open_transaction(api, "tx").commit_transaction(10)
    answer = api.ask("POST", "/v1/transactions/tx/abort")
    assert (answer.status, answer.code) == (409, "INVALID_TXN_STATE")


def test_wait_ends_when_the_transaction_is_in_the_state(api: Asking) -> None:
    api.post("/v1/transactions/tx/wait", {"state": "Dead"})
    producer = open_transaction(api, "tx")
    api.post("/v1/transactions/tx/wait", {"state": "Ongoing"})
    assert api.ask("POST", "/v1/transactions/tx/wait", {"state": "CompleteCommit", "timeout": 0}).status == 408
    producer.commit_transaction(10)
    api.post("/v1/transactions/tx/wait", {"state": "CompleteCommit"})


def test_transaction_without_a_client_is_committed(api: Asking) -> None:
    assert api.post("/v1/transactions/tx/begin")["state"] == "Empty"
    for value in "ab":
        state = api.post("/v1/transactions/tx/records", {"topic": "t", "value": value, "key": "k"})["state"]
        assert state == "Ongoing"
    offsets = [{"topic": "t", "partition": 0, "offset": 1}]
    api.post("/v1/transactions/tx/offsets", {"group_id": "g", "offsets": offsets})
    assert values(api) == []
    assert api.post("/v1/transactions/tx/commit")["state"] == "CompleteCommit"
    assert values(api) == ["a", "b"]
    assert api.get("/v1/groups/g")["offsets"][0]["committed"] == 1
    assert api.ask("POST", "/v1/transactions/tx/commit").status == 409


def test_transaction_without_a_client_is_aborted(api: Asking) -> None:
    api.post("/v1/transactions/tx/begin", {"timeout": 5})
    api.post("/v1/transactions/tx/records", {"topic": "t", "value": "x"})
    assert api.post("/v1/transactions/tx/abort")["state"] == "CompleteAbort"
    assert values(api) == []


def test_newer_producer_fences_a_transaction_without_a_client(api: Asking) -> None:
    api.post("/v1/transactions/tx/begin")
    api.post("/v1/transactions/tx/records", {"topic": "t", "value": "x"})
    producer = open_transaction(api, "tx")
    answer = api.ask("POST", "/v1/transactions/tx/records", {"topic": "t", "value": "y"})
    assert (answer.status, answer.code) in ((409, "PRODUCER_FENCED"), (409, "INVALID_PRODUCER_EPOCH"))
    producer.abort_transaction(10)


def test_reset_forgets_open_transactions(api: Asking) -> None:
    api.post("/v1/transactions/tx/begin")
    api.post("/v1/reset")
    assert api.ask("POST", "/v1/transactions/tx/records", {"topic": "t", "value": "x"}).status == 409


def test_coordinator_of_a_transaction_moves() -> None:
    with asking(brokers=2, config={"transaction.state.log.replication.factor": "2"}) as api:
        open_transaction(api, "tx").commit_transaction(10)
        before = api.get("/v1/transactions/tx")["coordinator"]
        moved = api.post("/v1/transactions/tx/move-coordinator")
        assert moved["node_id"] == api.get("/v1/transactions/tx")["coordinator"] != before
