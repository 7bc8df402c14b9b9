"""Tests of the routes of groups and of settle; real consumers are the witnesses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.wire.control.asking import Asking, asking


@contextmanager
def consumer(api: Asking, protocol: str = "classic", **options: Any) -> Iterator[Consumer]:
    """A consumer of topic t in group g that has its assignment."""
    client = Consumer(
        {
            "bootstrap.servers": api.cluster.bootstrap_servers,
            "group.id": "g",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "client.id": "app",
            **options,
        }
    )
    client.subscribe(["t"])
    try:
        while not client.assignment():
            client.poll(0.05)
        yield client
    finally:
        client.close()


def fill(api: Asking, count: int = 3) -> None:
    api.post("/v1/topics/t/records", {"records": [{"value": str(n)} for n in range(count)]})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_group_shows_members_and_lag(api: Asking, protocol: str) -> None:
    fill(api)
    with consumer(api, protocol) as client:
        client.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
        group = api.post("/v1/groups/g/wait-until-stable", {"members": 1})
    assert (group["state"], group["protocol"], group["lag"]) == ("Stable", protocol, 2)
    [member] = group["members"]
    assert (member["client_id"], member["assignment"]) == ("app", [{"topic": "t", "partition": 0}])
    assert group["offsets"] == [{"topic": "t", "partition": 0, "committed": 1, "end": 3, "lag": 2}]


def test_groups_are_listed(api: Asking) -> None:
    fill(api)
    for name in ("b/b", "a"):
        api.post(f"/v1/groups/{name.replace('/', '%2F')}/seek", {"offset": "latest", "topic": "t"})
    assert [group["group_id"] for group in api.get("/v1/groups")["groups"]] == ["a", "b/b"]
    assert api.get("/v1/groups/b%2Fb")["lag"] == 0


def test_group_that_does_not_exist_is_not_found(api: Asking) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rebalance")):
        answer = api.ask(method, f"/v1/groups/g{path}")
        assert (answer.status, answer.code) == (404, "GROUP_ID_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "committed"),
    [({"offset": 2}, 2), ({"offset": "earliest"}, 0), ({"offset": "latest"}, 3), ({"timestamp": 0}, 0)],
)
def test_group_moves_to_an_offset_or_a_time(api: Asking, body: dict[str, Any], committed: int) -> None:
    fill(api)
    group = api.post("/v1/groups/g/seek", {**body, "topic": "t"})
    assert [each["committed"] for each in group["offsets"]] == [committed]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"offset": 1, "timestamp": 1}, 422),
        ({"offset": 1, "partition": 0}, 422),
        ({"offset": 1}, 422),
        ({"offset": "first", "topic": "t"}, 400),
        ({"offset": 1, "topic": "missing"}, 404),
        ({"offset": 1, "topic": "t", "partition": 9}, 422),
    ],
)
def test_contradictory_move_is_refused(api: Asking, body: object, status: int) -> None:
    fill(api)
    assert api.ask("POST", "/v1/groups/g/seek", body).status == status


def test_group_with_members_cannot_be_moved_or_deleted(api: Asking) -> None:
    fill(api)
    with consumer(api):
        answers = [api.ask("POST", "/v1/groups/g/seek", {"offset": 1}), api.ask("DELETE", "/v1/groups/g")]
        assert [(answer.status, answer.code) for answer in answers] == [(409, "NON_EMPTY_GROUP")] * 2
    assert api.ask("DELETE", "/v1/groups/g").status == 204
    assert api.get("/v1/groups")["groups"] == []


def test_evicted_member_joins_again_as_a_new_one(api: Asking) -> None:
    fill(api)
    with consumer(api, **{"heartbeat.interval.ms": 100}) as client:
        [old] = api.get("/v1/groups/g")["members"]
        api.post("/v1/groups/g/evict", {"member_id": old["member_id"]})
        while True:
            client.poll(0.05)
            members = api.get("/v1/groups/g")["members"]
            if members and members[0]["member_id"] != old["member_id"]:
                break
        assert api.ask("POST", "/v1/groups/g/evict", {"member_id": "nobody"}).status == 422


def test_rebalance_is_started(api: Asking) -> None:
    fill(api)
    with consumer(api):
        assert api.post("/v1/groups/g/rebalance")["state"] == "PreparingRebalance"


def test_wait_for_lag_ends_with_the_commit(api: Asking) -> None:
    fill(api)
    with consumer(api) as client:
        assert api.ask("POST", "/v1/groups/g/wait-for-lag", {"timeout": 0}).code == "timeout"
        client.commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
        assert api.post("/v1/groups/g/wait-for-lag")["lag"] == 0
        assert api.post("/v1/groups/g/wait-for-commit", {"topic": "t", "offset": 3})["group_id"] == "g"


def test_wait_that_times_out_describes_the_group(api: Asking) -> None:
    answer = api.ask("POST", "/v1/groups/g/wait-until-stable", {"members": 2, "timeout": 0})
    assert (answer.status, "group g does not exist; groups: none" in answer.message) == (408, True)


def test_settle_waits_for_open_transactions(api: Asking) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", b"x")
    producer.flush()
    answer = api.ask("POST", "/v1/settle", {"timeout": 0})
    assert (answer.status, "transaction tx: Ongoing" in answer.message) == (408, True)
    assert api.ask("POST", "/v1/settle", {"transactions": False}).status == 204
    producer.abort_transaction(10)
    assert api.ask("POST", "/v1/settle").status == 204


def test_settle_waits_for_named_groups(api: Asking) -> None:
    fill(api)
    api.post("/v1/groups/g/seek", {"offset": "earliest", "topic": "t"})
    assert api.ask("POST", "/v1/settle", {"groups": ["g"], "timeout": 0}).status == 408
    assert api.ask("POST", "/v1/settle", {"groups": False}).status == 204


def test_coordinator_of_a_group_moves() -> None:
    with asking(brokers=2, config={"offsets.topic.replication.factor": "2"}) as api:
        first = api.post("/v1/groups/g/move-coordinator")["node_id"]
        second = api.post("/v1/groups/g/move-coordinator")["node_id"]
        assert {first, second} == {1, 2}
        assert api.ask("POST", "/v1/groups/g/move-coordinator", {"to": second}).status == 422
