"""Tests of the routes that change logs, leaders and replicas; real consumers read the result."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer

from kafkalet.protocol.records.build import build_batch, numbered
from tests.wire.control.asking import Asking, asking

PARTITION = "/v1/topics/t/partitions/0"


@pytest.fixture
def three() -> Iterator[Asking]:
    """Three brokers with a topic that each has a replica of."""
    with asking(brokers=3) as api:
        api.post("/v1/topics", {"name": "t", "assignments": [[1, 2, 3]]})
        yield api


@pytest.fixture
def one(api: Asking) -> Asking:
    """One broker with five records."""
    api.post("/v1/topics/t/records", {"records": [{"value": str(n)} for n in range(5)]})
    return api


def offsets(api: Asking) -> list[int]:
    """Return the offsets that a consumer receives."""
    consumer = KafkaConsumer(
        "t", bootstrap_servers=api.cluster.bootstrap_servers, auto_offset_reset="earliest", consumer_timeout_ms=500
    )
    found = [record.offset for record in consumer]
    consumer.close()
    return found


def test_layout_with_a_gap_has_no_offsets_in_it(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t"})
    partition = api.post(f"{PARTITION}/layout", {"kind": "gap", "first": 2, "size": 3, "after": 1})
    assert partition["log_end_offset"] == 6
    assert offsets(api) == [0, 1, 5]


def test_batches_are_appended_as_they_are(one: Asking) -> None:
    data = build_batch(numbered([(5, b"k", b"v", ())], 9), base_offset=9, leader_epoch=0)
    partition = one.post(f"{PARTITION}/append-batches", {"data": base64.b64encode(data).decode()})
    assert partition["log_end_offset"] == 10
    assert offsets(one) == [0, 1, 2, 3, 4, 9]


def test_records_before_an_offset_are_deleted(one: Asking) -> None:
    assert one.post(f"{PARTITION}/delete-records", {"before": 3})["log_start_offset"] == 3
    assert offsets(one) == [3, 4]


def test_log_is_truncated(one: Asking) -> None:
    one.post("/v1/topics/t/records", {"value": "later"})
    partition = one.post(f"{PARTITION}/truncate", {"to": 5})
    assert (partition["log_end_offset"], partition["leader_epoch"]) == (5, 1)


def test_high_watermark_is_held_and_released(one: Asking) -> None:
    one.post(f"{PARTITION}/hold-high-watermark")
    one.post("/v1/topics/t/records", {"value": "hidden"})
    assert one.get(PARTITION)["high_watermark"] == 5
    assert one.post(f"{PARTITION}/hold-high-watermark/release")["high_watermark"] == 6


def test_leader_epoch_begins(one: Asking) -> None:
    assert one.post(f"{PARTITION}/new-leader-epoch")["leader_epoch"] == 1


def test_leader_moves_in_a_new_epoch(three: Asking) -> None:
    partition = three.post(f"{PARTITION}/move-leader", {"to": 2})
    assert (partition["leader"], partition["leader_epoch"]) == (2, 1)
    assert three.ask("POST", f"{PARTITION}/move-leader", {"to": 9}).status == 422


def test_unclean_leader_loses_records(three: Asking) -> None:
    three.post("/v1/brokers/2/hold-replication", {"topic": "t"})
    three.post(f"{PARTITION}/shrink-isr", {"brokers": [2]})
    three.post("/v1/topics/t/records", {"value": "x"})
    answer = three.ask("POST", f"{PARTITION}/move-leader", {"to": 2})
    assert (answer.status, answer.code) == (409, "PREFERRED_LEADER_NOT_AVAILABLE")
    assert three.post(f"{PARTITION}/move-leader", {"to": 2, "unclean": True})["log_end_offset"] == 0


def test_in_sync_replicas_shrink_until_they_are_released(three: Asking) -> None:
    assert three.post(f"{PARTITION}/shrink-isr", {"brokers": [2, 3]})["isr"] == [1]
    assert sorted(three.post(f"{PARTITION}/shrink-isr/release")["isr"]) == [1, 2, 3]


def test_replicas_are_offline_until_they_are_released(three: Asking) -> None:
    partition = three.post(f"{PARTITION}/take-offline", {"broker": 1})
    assert (partition["leader"], partition["offline_replicas"]) == (2, [1])
    assert three.post(f"{PARTITION}/take-offline")["leader"] is None
    assert three.post(f"{PARTITION}/take-offline/release")["leader"] is not None


@pytest.mark.parametrize(
    ("operation", "body", "status"),
    [
        ("layout", {"kind": "gapp"}, 400),
        ("layout", {"kind": "only_markers", "first": 1}, 422),
        ("append-batches", {"data": "%"}, 400),
        ("append-batches", {"data": "YWJj"}, 422),
        ("delete-records", {"before": 99}, 422),
        ("truncate", {"to": 99}, 422),
        ("hold-high-watermark", {"at": 1}, 422),
        ("shrink-isr", {"brokers": []}, 400),
        ("shrink-isr", {"brokers": [1]}, 422),
        ("take-offline/release", {}, 422),
    ],
)
def test_impossible_change_is_refused(one: Asking, operation: str, body: Any, status: int) -> None:
    assert one.ask("POST", f"{PARTITION}/{operation}", body).status == status


@pytest.mark.parametrize("path", ["/v1/topics/missing/partitions/0", "/v1/topics/t/partitions/9"])
def test_partition_that_does_not_exist_is_not_created(one: Asking, path: str) -> None:
    for operation, body in (("layout", {"kind": "gap"}), ("new-leader-epoch", None)):
        assert one.ask("POST", f"{path}/{operation}", body).code == "UNKNOWN_TOPIC_OR_PARTITION"
    assert [topic["name"] for topic in one.get("/v1/topics")["topics"]] == ["t"]
