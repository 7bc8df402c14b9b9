"""Fetch: the returned records, the limits of their size, and the time of the response."""

import pytest

from kafkalet.protocol.errors import Code

from .client import Client, at, batch, codes, filled, partitions, values

WAIT_MS = 200
TICK_MS = 2  # timers have a resolution of milliseconds (as SystemTimer in Kafka), so a wait may end one early
FOREVER_MS = 600_000  # longer than the timeout of the test client
BATCH = 90  # bytes of a batch of one record with a value of 22


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_fetch_returns_all_batches_from_the_fetch_offset(broker: Client, version: int) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10, value="a"), batch(20, value="b"), batch(30, value="c"))
    assert broker.values(at(topic, 1), version=version) == ["b", "c"]


def test_fetch_by_topic_id_since_v13(broker: Client) -> None:
    """KIP-516."""
    topic = broker.topic()
    broker.produced(topic, batch(10, value="a"))
    answer = broker.fetch({"topic_id": broker.topic_ids[topic], "partitions": at(topic)["partitions"]}, version=13)
    assert answer["responses"][0]["topic_id"] == broker.topic_ids[topic]
    assert values(answer["responses"][0]["partitions"][0]) == ["a"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_fetch_offset_inside_a_batch_returns_the_whole_batch(broker: Client, codec: str) -> None:
    """LogSegment.read; dekaf#2074, rskafka#99."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, 30, codec=codec))
    [entry] = broker.fetched(at(topic, 1), version=12)["records"]
    assert (entry["base_offset"], entry["count"], entry["codec"]) == (0, 3, codec)


def test_fetch_at_the_end_returns_no_records_and_no_error(broker: Client) -> None:
    """The records are empty, not null; KAFKA-18646."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    said = broker.fetched(at(topic, 2))
    assert (said["error_code"], said["records"], said["high_watermark"]) == (0, [], 2)


@pytest.mark.parametrize("offset", [-1, 0, 3])
def test_offset_outside_the_log_is_out_of_range_without_offsets(broker: Client, offset: int) -> None:
    """LocalLog.read; KAFKA-725."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    broker.delete_records(topic, 1)
    said = broker.fetched(at(topic, offset))
    offsets = (said["high_watermark"], said["last_stable_offset"], said["log_start_offset"])
    assert (said["error_code"], offsets) == (Code.OFFSET_OUT_OF_RANGE, (-1, -1, -1))
    assert (said["records"], said["aborted_transactions"]) == ([], None)


def test_fetch_returns_high_watermark_last_stable_and_log_start_offset(broker: Client) -> None:
    """redpanda#990, kop#1512."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20, 30))
    broker.delete_records(topic, 1)
    said = broker.fetched(at(topic, 1))
    assert (said["high_watermark"], said["last_stable_offset"], said["log_start_offset"]) == (3, 3, 1)


def test_read_uncommitted_returns_null_aborted_transactions(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.fetched(at(topic))["aborted_transactions"] is None


def test_read_committed_returns_an_empty_list_without_aborted_transactions(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10))
    assert broker.fetched(at(topic), isolation_level=1)["aborted_transactions"] == []


@pytest.mark.parametrize("limit", [0, 1, BATCH - 1, BATCH])
def test_first_batch_is_complete_even_above_the_limit(broker: Client, limit: int) -> None:
    """KIP-74; sarama#3538, redpanda#1532."""
    topic = broker.topic()
    broker.produced(topic, filled(1, 22), filled(2, 22))
    [entry] = broker.fetched(at(topic, 0, 0, limit), max_bytes=limit)["records"]
    assert entry["size"] == BATCH


def test_only_the_first_partition_with_records_may_exceed_the_limits(broker: Client) -> None:
    """ReplicaManager.readFromLog; apache/kafka#20088."""
    topic = broker.topic(3)
    for partition in (1, 2):
        broker.produced(topic, filled(1, 22), partition=partition)
    answer = broker.fetch(*(at(topic, 0, partition) for partition in range(3)), max_bytes=1)
    assert [len(p["records"]) for p in answer["responses"][0]["partitions"]] == [0, 1, 0]
    assert [p["high_watermark"] for p in answer["responses"][0]["partitions"]] == [0, 1, 1]


def test_records_after_the_first_batch_are_cut_at_the_limit(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, filled(1, 22), filled(2, 22))
    [_, tail] = broker.fetched(at(topic, 0, 0, BATCH + 40))["records"]
    assert tail["partial_bytes"] == 40


def test_partitions_are_returned_in_the_order_of_the_request(broker: Client) -> None:
    """FetchRequestTest."""
    one, two = broker.topic(2), broker.topic()
    wanted = [at(two), at(one, 0, 1), at(one)]
    assert partitions(broker.fetch(*wanted)) == [(two, 0), (one, 1), (one, 0)]


def test_fetch_with_max_wait_of_zero_returns_immediately(broker: Client) -> None:
    said = broker.fetched(at(broker.topic()), max_wait_ms=0, min_bytes=1)
    assert (said["error_code"], said["records"]) == (0, [])


def test_fetch_without_records_waits_for_max_wait_ms(broker: Client) -> None:
    elapsed_ms, answer = broker.timed(at(broker.topic()), max_wait_ms=WAIT_MS, min_bytes=1)
    assert codes(answer) == [0]
    assert elapsed_ms > WAIT_MS - TICK_MS


def test_fetch_with_min_bytes_of_zero_returns_immediately(broker: Client) -> None:
    said = broker.fetched(at(broker.topic()), max_wait_ms=FOREVER_MS, min_bytes=0)
    assert (said["error_code"], said["records"]) == (0, [])


def test_produce_completes_a_waiting_fetch(broker: Client) -> None:
    """DelayedFetch case G; emqx#16961."""
    topic = broker.topic()
    connection = broker.connection("waiting")
    sent = connection.send("Fetch", 12, broker.fetching(at(topic), max_wait_ms=FOREVER_MS, min_bytes=1))
    assert not connection.has_answer(sent, 0.1)
    broker.produced(topic, batch(10, value="now"))
    answer = connection.receive(sent)
    assert values(answer["responses"][0]["partitions"][0]) == ["now"]


def test_waiting_fetch_needs_min_bytes(broker: Client) -> None:
    """Bytes are counted over all partitions."""
    topic = broker.topic(2)
    connection = broker.connection("waiting")
    body = broker.fetching(at(topic), at(topic, 0, 1), max_wait_ms=FOREVER_MS, min_bytes=2 * BATCH)
    sent = connection.send("Fetch", 12, body)
    broker.produced(topic, filled(1, 22))
    assert not connection.has_answer(sent, 0.2)
    broker.produced(topic, filled(2, 22), partition=1)
    assert [len(p["records"]) for p in connection.receive(sent)["responses"][0]["partitions"]] == [1, 1]


@pytest.mark.parametrize("offset", [-1, 9])
def test_partition_error_completes_the_fetch(broker: Client, offset: int) -> None:
    """ReplicaManager.fetchMessages."""
    topic = broker.topic(2)
    answer = broker.fetch(at(topic, 0, 1), at(topic, offset), max_wait_ms=FOREVER_MS, min_bytes=1)
    assert codes(answer) == [0, Code.OFFSET_OUT_OF_RANGE]


def test_unknown_topic_does_not_complete_the_fetch_of_an_idle_partition(broker: Client) -> None:
    """KafkaApis.handleFetchRequest sets it aside before it reads anything."""
    wanted = [at("there-is-no-such-topic"), at(broker.topic())]
    elapsed_ms, answer = broker.timed(*wanted, max_wait_ms=WAIT_MS, min_bytes=1)
    assert elapsed_ms > WAIT_MS - TICK_MS
    assert sorted(codes(answer)) == [0, Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_fetch_of_only_unknown_topics_returns_immediately(broker: Client) -> None:
    answer = broker.fetch(at("there-is-no-such-topic"), max_wait_ms=FOREVER_MS, min_bytes=1)
    assert codes(answer) == [Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_fetch_of_only_an_unknown_partition_returns_immediately(broker: Client) -> None:
    answer = broker.fetch(at(broker.topic(), 0, 77), max_wait_ms=FOREVER_MS, min_bytes=1)
    assert codes(answer) == [Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_fetch_of_only_an_unknown_topic_id_returns_immediately(broker: Client) -> None:
    """KIP-516."""
    unknown = {"topic_id": "00000000-0000-0000-0000-0000000000ff", "partitions": at("")["partitions"]}
    answer = broker.fetch(unknown, version=13, max_wait_ms=FOREVER_MS, min_bytes=1)
    assert codes(answer) == [Code.UNKNOWN_TOPIC_ID]


def test_min_bytes_is_capped_at_max_bytes(broker: Client) -> None:
    """apache/kafka#7595."""
    topic = broker.topic()
    broker.produced(topic, filled(1, 22))
    said = broker.fetched(at(topic), max_wait_ms=FOREVER_MS, min_bytes=10_000, max_bytes=BATCH)
    assert len(said["records"]) == 1


def test_fetch_offset_in_an_older_segment_returns_immediately(broker: Client) -> None:
    """DelayedFetch case F."""
    topic = broker.topic(segment_bytes=1 << 20)
    broker.produced(topic, filled(1, 600_000), filled(2, 600_000))
    said = broker.fetched(at(topic, 0, 0, 5_000_000), max_wait_ms=FOREVER_MS, min_bytes=4_000_000)
    assert len(said["records"]) == 1


@pytest.mark.parametrize(("epoch", "code"), [(-1, 0), (0, 0), (1, Code.UNKNOWN_LEADER_EPOCH)])
def test_future_leader_epoch_is_unknown(broker: Client, epoch: int, code: int) -> None:
    """KIP-320."""
    assert broker.fetched(at(broker.topic(), current_leader_epoch=epoch))["error_code"] == code


def test_epoch_that_ended_before_the_fetch_offset_diverges(broker: Client) -> None:
    """Partition.readRecords: returned immediately and without records."""
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    said = broker.fetched(at(topic, 2, last_fetched_epoch=0))
    assert (said["error_code"], "diverging_epoch" in said) == (0, False)
    assert broker.fetched(at(topic, 2, last_fetched_epoch=1))["error_code"] == Code.OFFSET_OUT_OF_RANGE


def test_old_versions_receive_the_old_format_without_headers(broker: Client) -> None:
    """Down-conversion, LazyDownConversionRecords."""
    if not broker.serves("Fetch", 2):
        pytest.skip("this release has no Fetch v2 (KIP-896)")
    topic = broker.topic()
    broker.produced(topic, batch({"ts": 5, "key": "k", "value": "v", "headers": [["h", "x"]]}))
    [message] = broker.fetched(at(topic), version=2)["records"]
    assert (message["magic"], message["key"], message["value"], message["ts"]) == (1, "k", "v", 5)
    [message] = broker.fetched(at(topic), version=0)["records"]
    assert (message["magic"], "ts" in message) == (0, False)


def test_zstd_topic_is_refused_before_v10(broker: Client) -> None:
    """KafkaApis.maybeConvertFetchedData. Kafka 4 does not support such old clients any more (KIP-896)."""
    topic = broker.topic(compression_type="zstd")
    broker.produced(topic, batch(10))
    old = Code.UNSUPPORTED_COMPRESSION_TYPE if broker.serves("Fetch", 3) else 0
    assert broker.fetched(at(topic), version=9)["error_code"] == old
    assert broker.fetched(at(topic), version=10)["error_code"] == 0
