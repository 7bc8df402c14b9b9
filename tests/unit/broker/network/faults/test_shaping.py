"""Tests of the bytes of responses: corrupted and truncated."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.network.faults.shaping import corrupted_records, damage
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.build import build_batch, numbered

from .brokers import Asking, asking
from .test_engine import fetch, produce

BATCH = bytes(build_batch(numbered([(1000, None, b"value", ())])))


@pytest.fixture
def ask() -> Iterator[Asking]:
    with asking() as asked:
        asked.cluster.topic("t").create(2)
        yield asked


def test_damage_is_reproducible_and_keeps_earlier_bytes() -> None:
    one, other = bytearray(range(100)), bytearray(range(100))
    damage(one, 20, 5, seed=1)
    damage(other, 20, 5, seed=1)
    assert one == other
    assert one[:20] == bytes(range(20))
    assert sum(a != b for a, b in zip(one, range(100), strict=True)) == 5


def test_damage_larger_than_the_data_changes_all_bytes() -> None:
    data = bytearray(b"abc")
    damage(data, 1, 10, seed=0)
    assert data == bytes([ord("a"), ord("b") ^ 0xFF, ord("c") ^ 0xFF])


def test_corrupted_records_differ_in_the_last_bytes_of_the_first_batch() -> None:
    found = corrupted_records(BATCH + BATCH, 2)
    changed = [at for at, (a, b) in enumerate(zip(found, BATCH + BATCH, strict=True)) if a != b]
    assert changed == [len(BATCH) - 2, len(BATCH) - 1]


def test_corrupted_records_have_a_wrong_crc() -> None:
    with pytest.raises(KafkaError, match="crc"):
        Batch(corrupted_records(BATCH, 1)).check_crc()


def test_fetch_without_records_is_not_corrupted(ask: Asking) -> None:
    with ask.cluster.fault("Fetch", corrupt=True, strict=False) as fault:
        fetch(ask, 0, 1)
        assert fault.fired == 0


def test_only_the_records_of_the_given_partition_are_corrupted(ask: Asking) -> None:
    produce(ask, 0, 1)
    with ask.cluster.fault("Fetch", corrupt=True, topic="t", partition=1) as fault:
        answer = fetch(ask, 0, 1).answer
    records = {each["partition_index"]: each["records"] for each in answer["responses"][0]["partitions"]}
    Batch(records[0]).check_crc()
    with pytest.raises(KafkaError, match="crc"):
        Batch(records[1]).check_crc()
    assert fault.fired == 1


def test_corrupt_changes_the_body_but_not_the_header_of_a_response(ask: Asking) -> None:
    good = ask.send(Api.METADATA, 12, topics=None).data
    with ask.cluster.fault("Metadata", corrupt=3):
        bad = ask.send(Api.METADATA, 12, topics=None).data
    changed = [at for at, (a, b) in enumerate(zip(good, bad, strict=True)) if a != b]
    assert len(changed) == 3
    assert min(changed) >= 9


@pytest.mark.parametrize(("truncate", "length"), [(0, 0), (7, 7), (10_000, -1)])
def test_truncate_closes_the_connection_after_some_bytes(ask: Asking, truncate: int, length: int) -> None:
    good = ask.send(Api.METADATA, 12, topics=None).data
    with ask.cluster.fault("Metadata", truncate=truncate):
        sent = ask.send(Api.METADATA, 12, topics=None)
    assert sent.data == (good[:-1] if length < 0 else good[:length])
    assert f"after {len(sent.data)} bytes" in sent.client.closed


def test_response_that_has_waited_is_truncated(ask: Asking) -> None:
    with ask.cluster.fault("Fetch", truncate=5):
        sent = fetch(ask, 0, wait_ms=60_000)
        assert sent.is_waiting
        produce(ask, 0)
        assert len(sent.data) == 5
