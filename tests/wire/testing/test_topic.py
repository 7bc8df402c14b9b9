"""Tests of the topics of the test kit: sent records, reads and waits."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]

from kafkalet import Broker, ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing import topic as topic_module
from kafkalet.testing.record import Record

NOW_MS = 1_700_000_000_000


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def producer(broker: Broker, **more: object) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap_servers, **more})


# Send


def test_client_receives_a_sent_record(broker: Broker) -> None:
    broker.topic("t").send("value", key="key", headers={"h": "x"}, timestamp=NOW_MS)
    consumer = KafkaConsumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
    record = next(consumer)
    consumer.close()
    assert (record.key, record.value, record.headers, record.timestamp) == (b"key", b"value", [("h", b"x")], NOW_MS)


def test_key_determines_the_partition_as_in_the_java_producer(broker: Broker) -> None:
    topic = broker.topic("t", partitions=5)
    client = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    sent = {key: client.send("t", b"v", key=key).get(10).partition for key in (b"a", b"b", b"c", b"long-key")}
    client.close()
    for key, partition in sent.items():
        topic.send("again", key=key)
        assert topic.wait_for(1, key=key, value="again")[0].partition == partition


def test_records_without_a_key_are_distributed(broker: Broker) -> None:
    topic = broker.topic("t", partitions=3)
    for _ in range(6):
        topic.send("v")
    assert [log.log_end_offset for log in topic.logs] == [2, 2, 2]


def test_records_without_a_key_are_distributed_by_name_of_the_topic(broker: Broker) -> None:
    broker.topic("t", partitions=3)
    for _ in range(6):
        broker.topic("t").send("v")
    assert [log.log_end_offset for log in broker.topic("t").logs] == [2, 2, 2]


def test_first_record_without_a_key_goes_to_the_first_partition_after_reset(broker: Broker) -> None:
    broker.topic("t", partitions=3).send("v")
    broker.reset()
    assert broker.topic("t", partitions=3).send("v").records()[0].partition == 0


def test_send_batch_writes_one_batch_per_partition(broker: Broker) -> None:
    topic = broker.topic("t", partitions=2).send_batch(["a", ("k", "b"), None, "c"], partition=1, compression="gzip")
    assert [batch.count for batch in topic.log(1).batches] == [4]
    assert topic.values() == [b"a", b"b", None, b"c"]


def test_send_creates_the_topic_with_the_defaults_of_the_broker() -> None:
    with Broker(config={"num.partitions": 4, "auto.create.topics.enable": False}) as broker:
        assert broker.topic("t").send("v").partitions == 4


def test_send_takes_the_time_from_the_clock() -> None:
    with Broker(clock=ManualClock(NOW_MS)) as broker:
        assert broker.topic("t").send("v").records()[0].timestamp == NOW_MS


def test_record_that_is_too_large_raises_the_code_of_kafka(broker: Broker) -> None:
    topic = broker.topic("t", config={"max.message.bytes": 100})
    with pytest.raises(KafkaError) as caught:
        topic.send("x" * 200)
    assert caught.value.code is Code.MESSAGE_TOO_LARGE


def test_send_to_a_missing_partition_names_the_number_of_partitions(broker: Broker) -> None:
    with pytest.raises(ValueError, match="partition 2 does not exist; topic t has 2"):
        broker.topic("t", partitions=2).send("v", partition=2)


def test_send_batch_of_a_str_raises_type_error(broker: Broker) -> None:
    with pytest.raises(TypeError, match=r"send\(\) takes one value"):
        broker.topic("t").send_batch("abc")


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_send_batch_of_more_than_max_message_bytes_writes_several_batches(broker: Broker, compression: str) -> None:
    topic = broker.topic("t", config={"max.message.bytes": 1000})
    values = [f"value {number} {number**20}" for number in range(500)]
    topic.send_batch(values, compression=compression)
    assert [record.text() for record in topic.records()] == values
    assert max(batch.size for batch in topic.log().batches) <= 1000


def test_record_of_a_batch_that_is_too_large_raises_the_code_of_kafka(broker: Broker) -> None:
    topic = broker.topic("t", config={"max.message.bytes": 1000})
    with pytest.raises(KafkaError) as caught:
        topic.send_batch(["small", "x" * 1000])
    assert caught.value.code is Code.MESSAGE_TOO_LARGE


def test_send_batch_of_a_dict_is_refused(broker: Broker) -> None:
    with pytest.raises(TypeError, match=r"pass the items\(\) of a dict"):
        broker.topic("t").send_batch({"key": "value"})


def test_unknown_compression_lists_the_known_ones(broker: Broker) -> None:
    with pytest.raises(ValueError, match="none, gzip, snappy, lz4, zstd"):
        broker.topic("t").send_batch(["a"], compression="brotli")


# The topic


def test_topic_that_exists_with_other_partitions_is_refused(broker: Broker) -> None:
    broker.topic("t", partitions=2)
    with pytest.raises(ValueError, match="exists with partitions=2, not 3"):
        broker.topic("t", partitions=3)


def test_topic_that_exists_with_other_config_is_refused(broker: Broker) -> None:
    broker.topic("t", config={"retention.ms": 1})
    with pytest.raises(ValueError, match=r"exists with retention\.ms=1, not 2"):
        broker.topic("t", config={"retention.ms": 2})


def test_topic_without_arguments_is_not_created(broker: Broker) -> None:
    topic = broker.topic("t")
    assert (topic.exists, topic.partitions, topic.records()) == (False, 0, [])


def test_topic_that_many_threads_create_is_created_once(broker: Broker) -> None:
    with ThreadPoolExecutor(16) as threads:
        topics = list(threads.map(lambda _: broker.topic("t").send("v"), range(64)))
    assert len(topics[0].records()) == 64


def test_deleted_topic_does_not_exist(broker: Broker) -> None:
    topic = broker.topic("t").send("v")
    topic.delete()
    assert not topic.exists


# Read


def test_records_of_an_open_transaction_are_uncommitted(broker: Broker) -> None:
    client = producer(broker, **{"transactional.id": "tx"})
    client.init_transactions()
    client.begin_transaction()
    client.produce("t", b"v")
    client.flush()
    topic = broker.topic("t")
    assert (topic.values(), topic.values(isolation="read_committed")) == ([b"v"], [])
    client.commit_transaction()
    assert topic.values(isolation="read_committed") == [b"v"]


def test_read_committed_skips_aborted_records_and_markers(broker: Broker) -> None:
    client = producer(broker, **{"transactional.id": "tx"})
    client.init_transactions()
    for value, ends in (
        (b"a", client.commit_transaction),
        (b"b", client.abort_transaction),
        (b"c", client.commit_transaction),
    ):
        client.begin_transaction()
        client.produce("t", value)
        client.flush()
        ends()
    topic = broker.topic("t")
    topic.wait_for(3)
    assert topic.values(isolation="read_committed") == [b"a", b"c"]
    assert topic.values() == [b"a", b"b", b"c"]


def test_records_agree_with_what_librdkafka_receives(broker: Broker) -> None:
    client = producer(broker, **{"compression.type": "lz4", "linger.ms": 50})
    for number in range(100):
        client.produce("t", b"%d" % number, key=b"k")
    client.flush()
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    received = [message.value() for message in consumer.consume(100, 10)]
    consumer.close()
    assert broker.topic("t").values() == received


def test_reading_starts_at_the_log_start_offset(broker: Broker) -> None:
    topic = broker.topic("t").send("a").send("b")
    client = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    assert client.end_offsets([TopicPartition("t", 0)])
    client.close()
    broker.server.call(lambda: broker.server.leadership.leader_of("t", 0).delete_records(1))
    assert topic.values() == [b"b"]


def test_since_a_mark_skips_what_came_before(broker: Broker) -> None:
    topic = broker.topic("t").send("old")
    mark = topic.mark()
    assert topic.send("new").values(since=mark) == [b"new"]


def test_since_a_mark_includes_all_records_of_a_topic_created_later(broker: Broker) -> None:
    topic = broker.topic("t").send("old").send("older")
    mark = topic.mark()
    topic.delete()
    assert topic.send("new").values(since=mark) == [b"new"]


def test_since_a_time_skips_older_timestamps(broker: Broker) -> None:
    topic = broker.topic("t").send("a", timestamp=NOW_MS).send("b", timestamp=NOW_MS + 1)
    assert topic.values(since=NOW_MS + 1) == [b"b"]


def test_mark_of_another_topic_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match="mark in topic a; this is topic b"):
        broker.topic("b").records(since=broker.topic("a").mark())


def test_unknown_isolation_suggests_the_closest(broker: Broker) -> None:
    with pytest.raises(ValueError, match="did you mean 'read_committed'"):
        broker.topic("t").records(isolation="read_commited")  # type: ignore[arg-type]


# Wait


def test_wait_returns_records_that_have_already_arrived(broker: Broker) -> None:
    assert [record.value for record in broker.topic("t").send("a").send("b").wait_for(2)] == [b"a", b"b"]


def test_wait_for_a_topic_that_a_client_creates_later(broker: Broker) -> None:
    def publish() -> None:
        client = producer(broker)
        client.produce("t", b"v", key=b"7")
        client.flush()

    publishing = threading.Thread(target=publish)
    publishing.start()
    [record] = broker.topic("t").wait_for(1, key="7")
    publishing.join()
    assert record.value == b"v"


def test_wait_returns_only_matching_records(broker: Broker) -> None:
    topic = broker.topic("t").send("a", key="1").send("b", key="2").send("c", key="1")
    assert [record.value for record in topic.wait_for(2, key="1")] == [b"a", b"c"]


def test_predicate_runs_in_the_thread_of_the_test(broker: Broker) -> None:
    threads = set()

    def where(record: Record) -> bool:
        threads.add(threading.get_ident())
        return record.value == b"v"

    broker.topic("t").send("v").wait_for(1, where=where)
    assert threads == {threading.get_ident()}


def test_exception_of_a_predicate_ends_the_wait(broker: Broker) -> None:
    topic = broker.topic("t").send("a").send("b", headers={"h": "x"})
    with pytest.raises(StopIteration):  # `extend(filter(...))` would take it for the end of the records
        topic.wait_for(1, where=lambda record: next(iter(record.headers.values())) == b"x", timeout=0)


def test_wait_for_a_topic_that_is_created_again_returns_its_new_records(broker: Broker) -> None:
    topic = broker.topic("t").send("old")

    def look(records: list[Record]) -> bool:
        if [record.value for record in records] == [b"old"]:
            topic.delete()
            topic.send("new")
        return [record.value for record in records] == [b"new"]

    assert [record.value for record in topic.wait_until(look)] == [b"new"]


def test_wait_reads_only_partitions_that_have_grown(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.topic("t", partitions=1000).send("v", partition=999)
    calls: list[object] = []
    call = broker.server.call
    monkeypatch.setattr(broker.server, "call", lambda function: (calls.append(function), call(function))[1])
    assert [record.partition for record in topic.wait_for(1)] == [999]
    assert len(calls) == 2


def test_wait_compares_few_of_many_records_with_the_wanted_one(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.topic("t").send("first", key="order-7")
    topic.send_batch([(f"{number}", "other") for number in range(5000)])
    compared: list[bytes] = []
    ratio = topic_module._ratio
    monkeypatch.setattr(topic_module, "_ratio", lambda wanted, found: compared.append(found) or ratio(wanted, found))
    with pytest.raises(AssertionError) as caught:
        topic.wait_for(1, key="order-7", value="paid", timeout=0)
    lines = str(caught.value).splitlines()
    assert (lines[1], lines[11]) == ("  <t-0@0 key=b'order-7' value=b'first'>", "  and 4991 more")
    assert len(compared) < 1000


def test_failure_of_a_wait_that_blocked_the_event_loop_says_so(broker: Broker) -> None:
    async def waiting() -> None:
        broker.topic("t").wait_for(1, timeout=0)

    with pytest.raises(AssertionError, match=r"blocked the event loop of its thread.*asyncio\.to_thread"):
        asyncio.run(waiting())


def test_wait_that_times_out_shows_the_closest_record_first(broker: Broker) -> None:
    topic = broker.topic("t").send("x", key="order-7").send("y", key="nothing")
    with pytest.raises(AssertionError) as caught:
        topic.wait_for(1, key="order-8", timeout=0)
    lines = str(caught.value).splitlines()
    assert lines[0] == "topic t: waited 0 s for 1 record with key b'order-8': 0 of the 2 records in the topic match"
    assert "order-7" in lines[1]


def test_wait_on_a_missing_topic_names_the_topics_that_exist(broker: Broker) -> None:
    broker.topic("orders").send("v")
    with pytest.raises(AssertionError, match="topic order does not exist; topics: orders"):
        broker.topic("order").wait_for(1, timeout=0)


def test_wait_for_zero_records_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match="n is 0; it must be at least 1"):
        broker.topic("t").wait_for(0)


def test_wait_until_returns_the_records_of_the_topic(broker: Broker) -> None:
    topic = broker.topic("t").send("a").send("b")
    assert [record.value for record in topic.wait_until(lambda records: len(records) == 2)] == [b"a", b"b"]


def test_wait_ends_with_an_error_when_the_broker_stops() -> None:
    with Broker() as broker:
        stopping = threading.Timer(0.05, lambda: broker.__exit__(None, None, None))
        stopping.start()
        with pytest.raises(RuntimeError, match="not running"):
            broker.topic("t").wait_for(1, timeout=30)
        stopping.join()
