"""Produce: accepted and refused batches and the offsets they receive."""

from typing import Any

import pytest

from kafkalet.protocol.errors import Code

from .client import T0, Client, at, batch, record

LATEST = -1


def end_of(broker: Client, topic: str) -> int:
    return broker.offset(topic, LATEST).offset


def test_response_contains_the_offset_of_the_first_record(broker: Client) -> None:
    """mockforge#187 returned 0."""
    topic = broker.topic()
    assert [broker.produce(topic, batch(10, 20))["base_offset"] for _ in range(3)] == [0, 2, 4]


def test_response_contains_the_append_time_with_log_append_time(broker: Client) -> None:
    """LogValidator; it is -1 with CreateTime."""
    topic, other = broker.topic(message_timestamp_type="LogAppendTime"), broker.topic()
    assert broker.produce(topic, batch(10))["log_append_time_ms"] > T0
    assert broker.produce(other, batch(10))["log_append_time_ms"] == -1


def test_log_append_time_replaces_the_timestamps_of_all_records(broker: Client) -> None:
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    when = broker.produce(topic, batch(10, 20))["log_append_time_ms"]
    [entry] = broker.fetched(at(topic))["records"]
    assert {r["ts"] for r in entry["records"]} == {when}
    assert (entry["ts_type"], entry["max_ts"]) == ("append", when)


def test_wrong_max_timestamp_of_a_batch_is_corrected(broker: Client) -> None:
    """LogValidator; redpanda#1702."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, set={"max_ts": -1}))
    [entry] = broker.fetched(at(topic))["records"]
    assert (entry["max_ts"], entry["crc_ok"]) == (T0 + 20, True)


def test_batch_is_stored_with_the_leader_epoch(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.fetched(at(topic))["records"][0]["leader_epoch"] == 0


@pytest.mark.parametrize("partition", [1, -1, 2147483647])
def test_missing_partition_is_unknown(broker: Client, partition: int) -> None:
    code = broker.produce(broker.topic(), batch(10), partition=partition)["error_code"]
    assert code == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("changed", [{"crc": 1}, {"length": 10}, {"truncate": 1}])
def test_corrupt_batch_is_refused_and_not_appended(broker: Client, changed: dict[str, int]) -> None:
    topic = broker.topic()
    code = broker.produce(topic, batch(10, set=changed))["error_code"]
    assert code in (Code.CORRUPT_MESSAGE, Code.INVALID_RECORD)
    assert end_of(broker, topic) == 0


def test_second_batch_for_a_partition_is_refused(broker: Client) -> None:
    """ProduceRequest.validateRecords."""
    topic = broker.topic()
    assert broker.produce(topic, batch(10), batch(20))["error_code"] == Code.INVALID_RECORD
    assert end_of(broker, topic) == 0


def test_compacted_topic_refuses_records_without_keys_by_index(broker: Client) -> None:
    """LogValidator; KIP-467."""
    topic = broker.topic(cleanup_policy="compact")
    said = broker.produce(topic, batch(record(1, "a", "k"), record(2, "b"), record(3, "c")))
    assert said["error_code"] == Code.INVALID_RECORD
    assert [error["batch_index"] for error in said["record_errors"]] == [1, 2]


def test_batch_above_max_message_bytes_is_too_large(broker: Client) -> None:
    topic = broker.topic(max_message_bytes=100)
    assert broker.produce(topic, batch(record(1, "x" * 32)))["error_code"] == 0
    assert broker.produce(topic, batch(record(1, "x" * 33)))["error_code"] == Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("acks", [1, -1])
def test_min_insync_replicas_is_capped_at_the_replication_factor(broker: Client, acks: int) -> None:
    """Partition.effectiveMinIsr."""
    topic = broker.topic(min_insync_replicas=2)
    assert broker.produce(topic, batch(10), acks=acks)["error_code"] == 0


@pytest.mark.parametrize("acks", [-2, 2])
def test_invalid_acks_are_refused(broker: Client, acks: int) -> None:
    assert broker.produce(broker.topic(), batch(10), acks=acks)["error_code"] == Code.INVALID_REQUIRED_ACKS


def test_acks_0_appends_without_a_response(broker: Client) -> None:
    topic = broker.topic()
    partition = {"index": 0, "records": [batch(10)]}
    body = {"acks": 0, "timeout_ms": 1000, "topics": [{"name": topic, "partitions": [partition]}]}
    connection = broker.connection()
    silent = connection.send("Produce", 9, body)
    found = broker.offset(topic, LATEST)
    assert found.offset == 1
    assert silent not in connection.answers


class Idempotent:
    """Builds batches of an idempotent producer."""

    def __init__(self, broker: Client) -> None:
        self.broker, self.topic, self.id = broker, broker.topic(), broker.producer_id()

    def send(self, sequence: int, count: int = 1, epoch: int = 0) -> dict[str, Any]:
        fields = {"producer_id": self.id, "producer_epoch": epoch, "base_sequence": sequence}
        return self.broker.produce(self.topic, batch(*range(count), **fields))


def test_duplicate_batch_returns_its_offset_and_is_stored_once(broker: Client) -> None:
    """KIP-98, ProducerStateEntry.findDuplicateBatch."""
    producer = Idempotent(broker)
    assert [producer.send(0, 3)["base_offset"] for _ in range(3)] == [0, 0, 0]
    assert end_of(broker, producer.topic) == 3


def test_sequence_gap_is_out_of_order(broker: Client) -> None:
    producer = Idempotent(broker)
    producer.send(0)
    assert producer.send(2)["error_code"] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_last_five_batches_are_recognized_as_duplicates(broker: Client) -> None:
    """ProducerStateEntry.NUM_BATCHES_TO_RETAIN. An earlier batch is out of order instead."""
    producer = Idempotent(broker)
    for sequence in range(6):
        producer.send(sequence)
    assert [producer.send(sequence)["base_offset"] for sequence in range(1, 6)] == [1, 2, 3, 4, 5]
    assert producer.send(0)["error_code"] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_new_epoch_begins_at_sequence_0(broker: Client) -> None:
    producer = Idempotent(broker)
    producer.send(0)
    assert producer.send(1, epoch=1)["error_code"] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(0, epoch=1)["error_code"] == 0


def test_old_epoch_is_fenced(broker: Client) -> None:
    producer = Idempotent(broker)
    producer.send(0, epoch=1)
    assert producer.send(0, epoch=0)["error_code"] == Code.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("kind", ["gzip", "snappy", "lz4", "zstd"])
def test_topic_with_another_codec_recompresses_batches(broker: Client, kind: str) -> None:
    topic = broker.topic(compression_type=kind)
    broker.produced(topic, batch(10, 20, value="a"))
    [entry] = broker.fetched(at(topic))["records"]
    assert (entry["codec"], [r["value"] for r in entry["records"]]) == (kind, ["a", "a"])


def test_uncompressed_topic_decompresses_batches(broker: Client) -> None:
    topic = broker.topic(compression_type="uncompressed")
    broker.produced(topic, batch(10, 20, codec="gzip"))
    assert broker.fetched(at(topic))["records"][0]["codec"] == "none"
