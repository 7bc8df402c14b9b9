"""Tests of the routes of records; real clients are the witnesses."""

import re
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer

from tests.wire.control.asking import Asking


def consumed(api: Asking, topic: str, count: int) -> list[Any]:
    """Return what a consumer gets from all partitions."""
    consumer = KafkaConsumer(topic, bootstrap_servers=api.cluster.bootstrap_servers, auto_offset_reset="earliest")
    try:
        got: list[Any] = []
        while len(got) < count:
            got += [record for batch in consumer.poll(10_000).values() for record in batch]
        return got
    finally:
        consumer.close()


# Send


def test_sent_record_reaches_a_consumer(api: Asking) -> None:
    body = {
        "key": "k",
        "value": "/w==",
        "value_encoding": "base64",
        "headers": [{"name": "h", "value": "x"}, {"name": "h"}],
        "timestamp": 5,
    }
    assert api.post("/v1/topics/t/records", body) == {"records": [{"partition": 0, "offset": 0}]}
    [record] = consumed(api, "t", 1)
    assert (record.key, record.value, record.timestamp) == (b"k", b"\xff", 5)
    assert list(record.headers) == [("h", b"x"), ("h", None)]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_several_records_are_one_batch(api: Asking, compression: str) -> None:
    rows = [{"value": "a"}, {"value": None, "key": "b"}, {"value": "c"}]
    sent = api.post("/v1/topics/t/records", {"records": rows, "compression": compression})
    assert [record["offset"] for record in sent["records"]] == [0, 1, 2]
    [batch] = api.get("/v1/topics/t/partitions/0/batches")["batches"]
    assert (batch["count"], batch["compression"]) == (3, compression)
    assert [record.value for record in consumed(api, "t", 3)] == [b"a", None, b"c"]


def test_key_determines_the_partition_as_in_producers(api: Asking) -> None:
    api.cluster.topic("t").create(8)
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "partitioner": "murmur2_random"})
    partitions = []
    for key in "abcdef":
        producer.produce("t", b"", key, on_delivery=lambda _, message: partitions.append(message.partition()))
        producer.flush()
    sent = api.post("/v1/topics/t/records", {"records": [{"key": key, "value": ""} for key in "abcdef"]})
    assert [record["partition"] for record in sent["records"]] == partitions


def test_records_without_a_key_go_to_the_next_partition_as_in_python(api: Asking) -> None:
    topic = api.cluster.topic("t", partitions=3)
    records = [{"value": "x"}, {"value": "y", "key": "a"}, {"value": "z"}, {"value": "w", "partition": 1}]
    places = []
    for _ in range(2):
        sent = api.post("/v1/topics/t/records", {"records": records})["records"]
        places.append([place["partition"] for place in sent])
        topic.send("v")  # takes its turn
    keyed = places[0][1]
    assert places == [[0, keyed, 0, 1], [2, keyed, 2, 1]]


def test_records_of_more_than_max_message_bytes_are_sent_in_several_batches(api: Asking) -> None:
    topic = api.cluster.topic("t", config={"max.message.bytes": 10_000})
    values = [f"{number:0200}" for number in range(1000)]
    sent = api.post("/v1/topics/t/records", {"records": [{"value": value} for value in values]})["records"]
    assert [place["offset"] for place in sent] == list(range(1000))
    assert topic.values() == [value.encode() for value in values]
    assert len(topic.log().batches) > 1


def test_record_that_is_too_large_names_the_limit_and_sends_nothing(api: Asking) -> None:
    topic = api.cluster.topic("t", partitions=2, config={"max.message.bytes": 1000})
    records = [{"value": "small", "partition": 0}, {"value": "x" * 1000, "partition": 1}]
    answer = api.ask("POST", "/v1/topics/t/records", {"records": records})
    assert (answer.status, answer.code) == (422, "MESSAGE_TOO_LARGE")
    assert re.fullmatch(r"t-1: the batch has 10\d\d bytes, but max\.message\.bytes is 1000", answer.message)
    assert topic.records() == []


def test_record_goes_to_the_given_partition(api: Asking) -> None:
    api.cluster.topic("t").create(2)
    assert api.post("/v1/topics/t/records", {"value": "x", "partition": 1})["records"][0]["partition"] == 1
    answer = api.ask("POST", "/v1/topics/t/records", {"value": "x", "partition": 2})
    assert (answer.status, answer.message) == (422, "partition 2 does not exist; topic t has partitions 0 to 1")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"records": []}, 400),
        ({"records": [{"value": 1}]}, 400),
        ({"value": "%", "value_encoding": "base64"}, 400),
        ({"value": "x", "timestamp": "now"}, 400),
        ({"value": "x", "compression": "gzip"}, 400),
        ([], 400),
    ],
)
def test_malformed_records_are_refused(api: Asking, body: Any, status: int) -> None:
    assert api.ask("POST", "/v1/topics/t/records", body).status == status


# Read


def fill(api: Asking) -> None:
    topic = api.cluster.topic("t", partitions=2)
    for index in range(5):
        topic.send(f"a{index}", timestamp=1000 * index, partition=0)
    topic.send(b"\xff", timestamp=9000, partition=1)


def values(found: Any) -> list[Any]:
    return [record["value"] for record in found["records"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["a0", "a1", "a2", "a3", "a4", "/w=="]),
        ("?partition=0", ["a0", "a1", "a2", "a3", "a4"]),
        ("?partition=0&offset=3", ["a3", "a4"]),
        ("?partition=0&offset=9", []),
        ("?partition=0&limit=2", ["a0", "a1"]),
        ("?partition=0&last=2", ["a3", "a4"]),
        ("?last=1", ["a4", "/w=="]),
        ("?time_ms=2500", ["a3", "a4", "/w=="]),
        ("?time_ms=99999", []),
        ("?partition=1&encoding=base64", ["/w=="]),
        ("?partition=0&last=1&encoding=base64", ["YTQ="]),
    ],
)
def test_records_are_selected(api: Asking, query: str, expected: list[str]) -> None:
    fill(api)
    assert values(api.get(f"/v1/topics/t/records{query}")) == expected


def test_pages_of_records_continue_at_the_next_offsets(api: Asking) -> None:
    fill(api)
    first = api.get("/v1/topics/t/records?limit=2")
    assert (values(first), first["next_offsets"], first["has_more"]) == (["a0", "a1", "/w=="], {"0": 2, "1": 1}, True)
    last = api.get("/v1/topics/t/records?partition=0&offset=2&limit=3")
    assert (values(last), last["next_offsets"], last["has_more"]) == (["a2", "a3", "a4"], {"0": 5}, False)


def test_large_records_are_spread_over_pages(api: Asking) -> None:
    for _ in range(12):
        api.cluster.topic("t").send(b"x" * 1_000_000)
    page = api.get("/v1/topics/t/records")
    assert page["has_more"]
    assert len(page["records"]) == page["next_offsets"]["0"] < 12


def test_read_committed_leaves_open_and_aborted_transactions_out(api: Asking) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    for value, end in ((b"a", producer.abort_transaction), (b"c", producer.commit_transaction), (b"o", None)):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush()
        if end is not None:
            end(10)
    assert values(api.get("/v1/topics/t/records")) == ["a", "c", "o"]
    assert values(api.get("/v1/topics/t/records?isolation=read_committed")) == ["c"]
    producer.abort_transaction(10)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/topics/missing/records", 404),
        ("/v1/topics/t/records?partition=7", 404),
        ("/v1/topics/t/records?offset=1&last=1", 422),
        ("/v1/topics/t/records?offset=-1", 400),
        ("/v1/topics/t/records?limit=0", 400),
        ("/v1/topics/t/records?limit=1&limit=2", 400),
        ("/v1/topics/t/records?ofset=1", 400),
        ("/v1/topics/t/records?isolation=none", 400),
        ("/v1/topics/t/records?since=t::&offset=1", 422),
        ("/v1/topics/t/records?since=u::", 400),
    ],
)
def test_contradictory_read_is_refused(api: Asking, path: str, status: int) -> None:
    fill(api)
    assert api.ask("GET", path).status == status


def test_reading_a_partition_without_a_leader_fails(api: Asking) -> None:
    fill(api)
    api.cluster.topic("t").take_offline(0)
    answer = api.ask("GET", "/v1/topics/t/records")
    assert (answer.status, answer.code) == (409, "LEADER_NOT_AVAILABLE")
    assert "t-0 has no leader" in answer.message


# Wait


def test_wait_ends_with_the_append(api: Asking) -> None:
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(api.post("/v1/topics/t/wait", {"value": "late"})))
    waiting.start()
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers})
    producer.produce("t", b"early")
    producer.produce("t", b"late")
    producer.flush()
    waiting.join(10)
    assert values(found[0]) == ["late"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"n": 2}, ["a0", "a1"]),
        ({"value": "a3"}, ["a3"]),
        ({"value": "/w==", "value_encoding": "base64"}, ["/w=="]),
        ({"value_contains": "2"}, ["a2"]),
        ({"partition": 1}, ["/w=="]),
        ({"since_ms": 3500}, ["a4"]),
        ({"header": {"name": "id", "value": "7"}}, ["b"]),
        ({"key": "k", "encoding": "base64"}, ["Yg=="]),
    ],
)
def test_wait_returns_the_first_records_that_match(api: Asking, body: Any, expected: list[str]) -> None:
    fill(api)
    api.cluster.topic("t").send("b", key="k", headers={"id": "7"}, partition=0)
    assert values(api.post("/v1/topics/t/wait", body)) == expected


def test_wait_that_times_out_shows_arrived_records(api: Asking) -> None:
    fill(api)
    answer = api.ask("POST", "/v1/topics/t/wait", {"value": "a9", "timeout": 0})
    assert (answer.status, answer.code) == (408, "timeout")
    assert answer.message.startswith("topic t: waited 0 s for 1 record with value b'a9': 0 of the 6 records")


def test_wait_with_contradictory_starts_is_refused(api: Asking) -> None:
    assert api.ask("POST", "/v1/topics/t/wait", {"since_ms": 1, "since": "t::"}).status == 422


def test_wait_since_a_mark_in_another_topic_is_refused(api: Asking) -> None:
    assert api.ask("POST", "/v1/topics/t/wait", {"since": "u::"}).status == 400


def read_since(api: Asking, mark: str) -> list[Any]:
    """Return the values that a read finds after a mark; a wait finds the same."""
    found = values(api.get(f"/v1/topics/t/records?{urlencode({'since': mark})}"))
    assert values(api.post("/v1/topics/t/wait", {"since": mark, "n": len(found)})) == found
    return found


def test_records_since_a_mark_are_the_later_ones(api: Asking) -> None:
    before = api.get("/v1/topics/t/mark")["mark"]
    fill(api)
    mark = api.get("/v1/topics/t/mark")["mark"]
    api.cluster.topic("t").send("b", partition=1)
    api.cluster.topic("t").send("a5", partition=0)
    assert read_since(api, mark) == ["a5", "b"]
    assert read_since(api, before) == ["a0", "a1", "a2", "a3", "a4", "a5", "/w==", "b"]
    assert values(api.get(f"/v1/topics/t/records?{urlencode({'since': mark, 'partition': 1})}")) == ["b"]


def truncate(api: Asking) -> None:
    api.cluster.topic("t").truncate(1)
    api.cluster.topic("t").send("new")


def restore(api: Asking) -> None:
    api.cluster.topic("t").truncate(1)
    contents = api.cluster.snapshot()
    api.cluster.topic("t").send("x")
    api.cluster.restore(contents)
    api.cluster.topic("t").send("new")


def create_again(api: Asking) -> None:
    api.cluster.topic("t").delete()
    api.cluster.topic("t", partitions=1).send("new")


@pytest.mark.parametrize("change", [truncate, restore, create_again])
def test_records_since_a_mark_include_those_that_replaced_older_ones(
    api: Asking, change: Callable[[Asking], None]
) -> None:
    api.cluster.topic("t", partitions=1).send("a")
    api.cluster.topic("t", partitions=1).send("b")
    api.cluster.topic("t", partitions=1).send("c")
    mark = api.get("/v1/topics/t/mark")["mark"]
    change(api)
    assert read_since(api, mark) == ["new"]
