"""Tests of the routes of logs: segments and batches."""

from confluent_kafka import Producer

from tests.wire.control.asking import Asking, asking

BATCHES = "/v1/topics/t/partitions/0/batches"


def test_segments_are_listed(api: Asking) -> None:
    topic = api.cluster.topic("t", config={"segment.bytes": 1 << 20})
    for index in range(3):
        topic.send(b"x" * 600_000, timestamp=index)
    segments = api.get("/v1/topics/t/partitions/0/segments")["segments"]
    assert [(each["base_offset"], each["largest_timestamp"]) for each in segments] == [(0, 0), (1, 1), (2, 2)]


def test_pages_of_batches_span_segments(api: Asking) -> None:
    topic = api.cluster.topic("t", config={"segment.bytes": 1 << 20})
    for _ in range(5):
        topic.send_batch([b"x" * 350_000, b"y"])
    pages, offset = [], 0
    while offset is not None:
        page = api.get(f"{BATCHES}?offset={offset}&limit=2")
        pages.append([(batch["base_offset"], batch["last_offset"], batch["segment"]) for batch in page["batches"]])
        offset = page["next_offset"]
    assert pages == [[(0, 1, 0), (2, 3, 0)], [(4, 5, 4), (6, 7, 4)], [(8, 9, 8)]]


def test_first_batch_contains_the_offset(api: Asking) -> None:
    api.cluster.topic("t").send_batch(["a", "b", "c"])
    api.cluster.topic("t").send("d")
    assert [batch["base_offset"] for batch in api.get(f"{BATCHES}?offset=2")["batches"]] == [0, 3]
    assert api.get(f"{BATCHES}?offset=4") == {"batches": [], "next_offset": None}


def test_markers_of_transactions_are_named(api: Asking) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce("t", b"x")
        producer.flush()
        end(10)
    found = api.get(BATCHES)["batches"]
    assert [batch["control_type"] for batch in found] == [None, "COMMIT", None, "ABORT"]
    assert all(batch["is_transactional"] for batch in found)


def test_old_formats_are_listed() -> None:
    with asking(version="3.9") as api:
        api.cluster.topic("t").layout("old_magic")
        assert {batch["magic"] for batch in api.get(BATCHES)["batches"]} >= {0, 1}


def test_log_that_does_not_exist_is_not_found(api: Asking) -> None:
    assert api.ask("GET", BATCHES).code == "UNKNOWN_TOPIC_OR_PARTITION"
