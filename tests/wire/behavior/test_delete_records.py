"""DeleteRecords: the log start offset advances and never decreases."""

import pytest

from kafkalet.protocol.errors import Code

from .client import EARLIEST, Client, batch, record


@pytest.fixture
def topic(broker: Client) -> str:
    name = broker.topic()
    broker.produced(name, batch(10, 20), batch(30, 40))
    return name


def test_response_contains_the_new_log_start_offset(broker: Client, topic: str) -> None:
    assert broker.delete_records(topic, 3)["low_watermark"] == 3
    assert broker.offset(topic, EARLIEST).offset == 3


def test_minus_one_deletes_up_to_the_high_watermark(broker: Client, topic: str) -> None:
    """Partition.deleteRecordsOnLeader."""
    assert broker.delete_records(topic, -1)["low_watermark"] == 4


def test_log_start_offset_never_decreases(broker: Client, topic: str) -> None:
    broker.delete_records(topic, 3)
    assert broker.delete_records(topic, 1) == {"partition_index": 0, "low_watermark": 3, "error_code": 0}


@pytest.mark.parametrize("offset", [5, 2**63 - 1, -2])
def test_offset_above_high_watermark_or_below_minus_one_is_out_of_range(
    broker: Client, topic: str, offset: int
) -> None:
    said = broker.delete_records(topic, offset)
    assert (said["error_code"], said["low_watermark"]) == (Code.OFFSET_OUT_OF_RANGE, -1)
    assert broker.offset(topic, EARLIEST).offset == 0


def test_compacted_topic_is_refused(broker: Client) -> None:
    topic = broker.topic(cleanup_policy="compact")
    broker.produced(topic, batch(record(10, "v", "k")))
    assert broker.delete_records(topic, 1)["error_code"] == Code.POLICY_VIOLATION


def test_offsets_continue_after_all_records_are_deleted(broker: Client, topic: str) -> None:
    broker.delete_records(topic, -1)
    assert broker.produce(topic, batch(50))["base_offset"] == 4
