"""ListOffsets: the earliest and latest offsets, and lookups by timestamp."""

import pytest

from kafkalet.protocol.errors import Code

from .client import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    NOTHING,
    T0,
    Client,
    Found,
    batch,
)

EVERY_VERSION = range(1, 10)


def at_times(broker: Client, topic: str, *times: int) -> list[int]:
    return [broker.offset(topic, T0 + ts).offset for ts in times]


def test_timestamp_returns_the_first_record_at_or_after_it(broker: Client) -> None:
    """UnifiedLog.fetchOffsetByTimestamp; streamnative/kop#334 returned the last record before it."""
    topic = broker.topic()
    broker.produced(topic, batch(2), batch(4), batch(6), batch(8))
    assert at_times(broker, topic, 2, 3, 4, 5, 6, 7, 8) == [0, 1, 1, 2, 2, 3, 3]


def test_response_contains_the_timestamp_of_the_record(broker: Client) -> None:
    """KIP-79."""
    topic = broker.topic()
    broker.produced(topic, batch(2), batch(4))
    assert broker.offset(topic, T0 + 3) == Found(0, 1, T0 + 4, 0)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lookup_returns_the_record_inside_a_batch(broker: Client, codec: str) -> None:
    """FileRecords.searchForTimestamp; redpanda#6606, franz-go#706."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, 30, codec=codec), batch(40, 50, codec=codec))
    assert at_times(broker, topic, 15, 20, 21, 41) == [1, 1, 2, 4]


def test_lookup_with_unordered_timestamps_returns_the_lowest_offset(broker: Client) -> None:
    """The first batch whose max timestamp is not earlier, and its first such record; redpanda#4010, #25769."""
    topic = broker.topic()
    broker.produced(topic, batch(30, 10), batch(5, 40, 20), batch(35))
    assert at_times(broker, topic, 0, 11, 30, 31, 35, 40) == [0, 0, 0, 3, 3, 3]


def test_timestamp_after_all_records_returns_minus_one_without_error(broker: Client) -> None:
    """ReplicaManager.fetchOffset; redpanda#4308, KAFKA-16156."""
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.offset(topic, T0 + 11) == NOTHING


@pytest.mark.parametrize("timestamp", [0, T0, 2**63 - 1, MAX_TIMESTAMP])
def test_empty_log_returns_minus_one_for_any_timestamp(broker: Client, timestamp: int) -> None:
    assert broker.offset(broker.topic(), timestamp) == NOTHING


def test_latest_is_the_offset_after_the_last_record(broker: Client) -> None:
    """Partition.fetchOffsetForTimestamp; streamnative/kop#329 returned the last one."""
    topic = broker.topic()
    assert broker.offset(topic, LATEST) == Found(0, 0, -1, 0)
    broker.produced(topic, batch(10, 20, 30))
    assert broker.offset(topic, LATEST) == Found(0, 3, -1, 0)


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_isolation_levels_have_the_same_latest_offset_without_transactions(
    broker: Client, isolation_level: int
) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    assert broker.offset(topic, LATEST, isolation_level=isolation_level).offset == 2


def test_earliest_is_the_log_start_offset(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    assert broker.offset(topic, EARLIEST) == Found(0, 0, -1, 0)


def test_earliest_of_an_empty_log_has_the_current_leader_epoch(broker: Client) -> None:
    """LeaderEpochFileCache.earliestEntry: the epoch of a leader starts with its election (KIP-320)."""
    assert broker.offset(broker.topic(), EARLIEST) == Found(0, 0, -1, 0)


def test_deleted_records_inside_a_batch_are_not_found(broker: Client) -> None:
    """KAFKA-6975, rskafka#97."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, 30))
    broker.delete_records(topic, 2)
    assert broker.offset(topic, EARLIEST).offset == 2
    assert at_times(broker, topic, 0, 10, 25, 31) == [2, 2, 2, -1]


def test_max_timestamp_need_not_be_the_last_record(broker: Client) -> None:
    """LogOffsetTest; KAFKA-16310."""
    topic = broker.topic()
    broker.produced(topic, *(batch(ts) for ts in (0, 1, 2, 3, 4, 6, 5)))
    assert broker.offset(topic, MAX_TIMESTAMP) == Found(0, 5, T0 + 6, 0)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_max_timestamp_returns_the_first_of_equal_records(broker: Client, codec: str) -> None:
    """RecordBatch.offsetOfMaxTimestamp; franz-go#1431."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 30, 30, codec=codec), batch(30, codec=codec))
    assert broker.offset(topic, MAX_TIMESTAMP).offset == 1


def test_max_timestamp_with_log_append_time_returns_the_first_record_of_the_batch(broker: Client) -> None:
    """ListOffsetsIntegrationTest."""
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    broker.produced(topic, batch(10, 20, 30))
    assert broker.offset(topic, MAX_TIMESTAMP).offset == 0


def test_earliest_local_is_the_log_start_without_tiered_storage(broker: Client) -> None:
    """KIP-405."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    broker.delete_records(topic, 1)
    assert broker.offset(topic, EARLIEST_LOCAL, 8) == broker.offset(topic, EARLIEST, 8)


def test_latest_tiered_is_minus_one_without_tiered_storage(broker: Client) -> None:
    """KIP-1005."""
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.offset(topic, LATEST_TIERED, 9) == NOTHING


def test_earliest_pending_upload_is_minus_one_without_tiered_storage(broker: Client) -> None:
    """KIP-1023."""
    if broker.highest("ListOffsets") < 11:
        assert broker.offset(broker.topic(), EARLIEST_PENDING_UPLOAD, 9).error_code == Code.UNSUPPORTED_VERSION
    else:
        assert broker.offset(broker.topic(), EARLIEST_PENDING_UPLOAD, 11) == NOTHING


@pytest.mark.parametrize(
    ("timestamp", "since"), [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (-7, 99), (-(2**63), 99)]
)
def test_special_timestamp_is_refused_before_its_first_version(broker: Client, timestamp: int, since: int) -> None:
    """Releases that refuse none of the early versions return an offset instead."""
    topic = broker.topic()
    refused = [broker.offset(topic, timestamp, v).error_code == Code.UNSUPPORTED_VERSION for v in EVERY_VERSION]
    assert refused == [version < since for version in EVERY_VERSION]


def test_unknown_special_timestamp_is_refused_for_a_missing_topic(broker: Client) -> None:
    """The version is checked before the topic."""
    assert broker.offset("there-is-no-such-topic", -99).error_code == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", EVERY_VERSION)
def test_duplicate_partition_returns_invalid_request(broker: Client, version: int) -> None:
    """ListOffsetsRequest.duplicatePartitions: it is returned once; other partitions are not affected."""
    topic = broker.topic(2)
    asked = [{"partition_index": p, "timestamp": LATEST} for p in (0, 0, 1)]
    answer = broker.ask("ListOffsets", version, {"replica_id": -1, "topics": [{"name": topic, "partitions": asked}]})
    said = {p["partition_index"]: p["error_code"] for t in answer["topics"] for p in t["partitions"]}
    assert said == {0: Code.INVALID_REQUEST, 1: 0}


@pytest.mark.parametrize(
    ("epoch", "code"), [(-1, 0), (0, 0), (1, Code.UNKNOWN_LEADER_EPOCH), (2147483647, Code.UNKNOWN_LEADER_EPOCH)]
)
def test_future_leader_epoch_is_unknown(broker: Client, epoch: int, code: int) -> None:
    """Partition.checkCurrentLeaderEpoch."""
    assert broker.offset(broker.topic(), LATEST, current_leader_epoch=epoch).error_code == code


def test_unknown_partition_does_not_affect_others(broker: Client) -> None:
    topic = broker.topic()
    asked = [{"partition_index": p, "timestamp": LATEST} for p in (0, 7)]
    topics = [{"name": topic, "partitions": asked}, {"name": "there-is-no-such-topic", "partitions": asked[:1]}]
    answer = broker.ask("ListOffsets", 5, {"replica_id": -1, "topics": topics})
    said = {(t["name"], p["partition_index"]): p["error_code"] for t in answer["topics"] for p in t["partitions"]}
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert said == {(topic, 0): 0, (topic, 7): unknown, ("there-is-no-such-topic", 0): unknown}


@pytest.mark.parametrize("replica_id", [0, 5])
def test_replica_sees_the_log_end_for_any_isolation_level(broker: Client, replica_id: int) -> None:
    """Only replica id -1 is a consumer."""
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.offset(topic, LATEST, replica_id=replica_id, isolation_level=1).offset == 1


def test_v0_returns_the_log_end_for_latest(broker: Client) -> None:
    old_only(broker)
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    assert broker.old_offsets(topic, LATEST, 1) == [2]


def test_v0_returns_the_log_start_for_earliest(broker: Client) -> None:
    old_only(broker)
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, 30))
    broker.delete_records(topic, 2)
    assert broker.old_offsets(topic, EARLIEST) == [2]


def test_v0_returns_segments_in_descending_order(broker: Client) -> None:
    """UnifiedLog.legacyFetchOffsetsBefore; redpanda#4473."""
    old_only(broker)
    topic = broker.topic(segment_bytes=200)
    broker.produced(topic, *(batch(ts, ts, value={"fill": "x", "size": 50}) for ts in range(4)))
    assert broker.old_offsets(topic, LATEST) == [8, 6, 4, 2, 0]
    assert broker.old_offsets(topic, LATEST, 2) == [8, 6]


def test_v0_returns_nothing_before_the_first_segment(broker: Client) -> None:
    """linkedin/kafka-tools#78."""
    old_only(broker)
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.old_offsets(topic, 0) == []


def old_only(broker: Client) -> None:
    if not broker.serves("ListOffsets", 0):
        pytest.skip("this release has no ListOffsets v0 (KIP-896)")
