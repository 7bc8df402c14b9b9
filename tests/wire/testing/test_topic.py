"""Tests of the topics of the test kit: sent records, reads and waits."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]

from kafkalet import Broker, Cluster, NewRecord
from kafkalet.broker.cluster.partition import Partition
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.codecs import Codec
from kafkalet.testing import topic as topic_module
from kafkalet.testing.record import Record
from kafkalet.testing.topic import Outgoing, Topic

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
    broker.topic("t", partitions=3).send("v")
    assert broker.topic("t", partitions=3).records()[0].partition == 0


def test_send_batch_writes_one_batch_per_partition(broker: Broker) -> None:
    topic = broker.topic("t", partitions=2)
    topic.send_batch(["a", ("k", "b"), None, "c"], partition=1, compression="gzip")
    assert [batch.count for batch in topic.log(1).batches] == [4]
    assert topic.values() == [b"a", b"b", None, b"c"]


def test_send_creates_the_topic_with_the_defaults_of_the_broker() -> None:
    with Broker(config={"num.partitions": 4, "auto.create.topics.enable": False}) as broker:
        broker.topic("t").send("v")
        assert broker.topic("t").partition_count == 4


def test_send_takes_the_time_from_the_clock() -> None:
    with Broker(clock=ManualClock(NOW_MS)) as broker:
        broker.topic("t").send("v")
        assert broker.topic("t").records()[0].timestamp == NOW_MS


def test_record_that_is_too_large_raises_the_code_of_kafka(broker: Broker) -> None:
    topic = broker.topic("t", config={"max.message.bytes": 100})
    with pytest.raises(KafkaError) as caught:
        topic.send("x" * 200)
    assert caught.value.code is Code.MESSAGE_TOO_LARGE


def test_send_to_a_missing_partition_names_the_number_of_partitions(broker: Broker) -> None:
    with pytest.raises(ValueError, match="partition 2 does not exist; topic t has partitions 0 to 1"):
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
    with pytest.raises(KafkaError, match=r"MESSAGE_TOO_LARGE: t-0: .* max\.message\.bytes is 1000") as caught:
        topic.send_batch(["small", "x" * 1000])
    assert caught.value.code is Code.MESSAGE_TOO_LARGE
    assert topic.records() == []


def test_batches_are_no_larger_than_a_segment(broker: Broker) -> None:
    topic = broker.topic("t", config={"segment.bytes": 2_000_000, "max.message.bytes": 3_000_000})
    topic.send_batch(["x" * 100_000] * 25)
    assert topic.count() == 25


def test_records_that_one_partition_refuses_are_appended_to_none() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.topic("t").create(config={"min.insync.replicas": 2}, assignments=[[1, 2], [1, 2]])
        topic = cluster.topic("t")
        topic.shrink_isr(2, partition=1)
        with pytest.raises(KafkaError) as caught:
            topic._send([Outgoing(None, b"v", (), None, index) for index in (0, 1)], Codec.NONE)
        assert caught.value.code is Code.NOT_ENOUGH_REPLICAS
        assert [log.log_end_offset for log in topic.logs] == [0, 0]


def test_failed_append_names_the_partitions_that_were_written(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.topic("t", partitions=3)
    produce = Partition.produce_validated

    def failing(self: Partition, *arguments: Any) -> Any:
        if self.index == 2:
            raise KafkaError(Code.KAFKA_STORAGE_ERROR, "the disk is broken")
        return produce(self, *arguments)

    monkeypatch.setattr(Partition, "produce_validated", failing)
    with pytest.raises(KafkaError) as caught:
        topic._send([Outgoing(None, b"v", (), None, index) for index in range(3)], Codec.NONE)
    assert str(caught.value) == "KAFKA_STORAGE_ERROR: t-2: the disk is broken; records were appended to t-0, t-1"


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
    assert (topic.exists, topic.partition_count, topic.records()) == (False, 0, [])


def test_topic_that_many_threads_create_is_created_once(broker: Broker) -> None:
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda _: broker.topic("t").send("v"), range(64)))
    assert broker.topic("t").count() == 64


def test_deleted_topic_does_not_exist(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("v")
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
    broker.topic("t").send("a")
    topic = broker.topic("t")
    topic.send("b")
    client = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    assert client.end_offsets([TopicPartition("t", 0)])
    client.close()
    broker._server.call(lambda: broker._server.leadership.leader_of("t", 0).delete_records(1))
    assert topic.values() == [b"b"]


def test_since_a_mark_skips_what_came_before(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("old")
    mark = topic.mark()
    topic.send("new")
    assert topic.values(since=mark) == [b"new"]


def test_since_a_mark_includes_all_records_of_a_topic_created_later(broker: Broker) -> None:
    broker.topic("t").send("old")
    topic = broker.topic("t")
    topic.send("older")
    mark = topic.mark()
    topic.delete()
    topic.send("new")
    assert topic.values(since=mark) == [b"new"]


def test_since_a_mark_includes_records_that_replaced_older_ones(broker: Broker) -> None:
    broker.topic("t").send("a")
    broker.topic("t").send("b")
    topic = broker.topic("t")
    topic.send("c")
    mark = topic.mark()
    topic.truncate(1)
    assert topic.values(since=mark) == []
    topic.send("d")
    assert topic.values(since=mark) == [b"d"]


def test_since_a_mark_includes_records_sent_after_a_restore(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("a")
    old = broker.snapshot()
    topic.send("b")
    topic.send("c")
    mark = topic.mark()
    broker.restore(old)
    topic.send("d")
    assert topic.values(since=mark) == [b"d"]


def test_since_a_time_skips_older_timestamps(broker: Broker) -> None:
    broker.topic("t").send("a", timestamp=NOW_MS)
    topic = broker.topic("t")
    topic.send("b", timestamp=NOW_MS + 1)
    assert topic.values(since=NOW_MS + 1) == [b"b"]


def test_mark_of_another_topic_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match="mark in topic a; this is topic b"):
        broker.topic("b").records(since=broker.topic("a").mark())


def test_unknown_isolation_suggests_the_closest(broker: Broker) -> None:
    with pytest.raises(ValueError, match="did you mean 'read_committed'"):
        broker.topic("t").records(isolation="read_commited")  # type: ignore[arg-type]


# Wait


def test_wait_returns_records_that_have_already_arrived(broker: Broker) -> None:
    broker.topic("t").send_batch(["a", "b"])
    assert [record.value for record in broker.topic("t").wait_for(2)] == [b"a", b"b"]


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
    broker.topic("t").send("a", key="1")
    broker.topic("t").send("b", key="2")
    topic = broker.topic("t")
    topic.send("c", key="1")
    assert [record.value for record in topic.wait_for(2, key="1")] == [b"a", b"c"]


def test_predicate_runs_in_the_thread_of_the_test(broker: Broker) -> None:
    threads = set()

    def where(record: Record) -> bool:
        threads.add(threading.get_ident())
        return record.value == b"v"

    broker.topic("t").send("v")
    broker.topic("t").wait_for(1, where=where)
    assert threads == {threading.get_ident()}


def test_exception_of_a_predicate_ends_the_wait(broker: Broker) -> None:
    broker.topic("t").send("a")
    topic = broker.topic("t")
    topic.send("b", headers={"h": "x"})
    with pytest.raises(StopIteration):  # `extend(filter(...))` would treat it as the end of the records
        topic.wait_for(1, where=lambda record: next(iter(record.headers.values())) == b"x", timeout=0)


def test_wait_for_a_topic_that_is_created_again_returns_its_new_records(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("old")

    def look(records: list[Record]) -> bool:
        if [record.value for record in records] == [b"old"]:
            topic.delete()
            topic.send("new")
        return [record.value for record in records] == [b"new"]

    assert [record.value for record in topic.wait_until(look)] == [b"new"]


def test_wait_until_a_topic_is_deleted_sees_no_records(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("old")

    def is_empty(records: list[Record]) -> bool:
        if records:
            topic.delete()
        return not records

    assert topic.wait_until(is_empty) == []


def truncated(topic: Topic) -> None:
    topic.truncate(0)
    topic.send_batch(["c", "d", "e"])


def restored(topic: Topic) -> None:
    cluster = topic._cluster
    assert isinstance(cluster, Cluster)
    topic.truncate(1)
    old = cluster.snapshot()
    topic.send("x")
    cluster.restore(old)
    topic.send("c")
    topic.send("d")


def created_again(topic: Topic) -> None:
    topic.delete()
    topic.create(1, replication_factor=2).send_batch(["c", "d", "e"])


def in_a_new_epoch(topic: Topic) -> None:
    topic.new_leader_epoch().send("c")


def moved_uncleanly(topic: Topic) -> None:
    topic.move_leader(2, unclean=True)
    topic.send("c")
    topic.send("d")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (truncated, "cde"),
        (restored, "acd"),
        (created_again, "cde"),
        (in_a_new_epoch, "abc"),
        (moved_uncleanly, "acd"),
    ],
)
def test_running_wait_returns_what_the_topic_contains(change: Callable[[Topic], None], expected: str) -> None:
    """Its predicate changes the topic once two records have been read."""
    with Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        topic = cluster.topic("t")
        topic.send("a")
        topic.shrink_isr(2)
        topic.send("b")
        changes = [change]

        def where(record: Record) -> bool:
            if record.value == b"b" and changes:
                changes.pop()(topic)
            return True

        values = [value.encode() for value in expected]
        assert [record.value for record in topic.wait_for(3, where=where)] == values
        assert topic.values() == values


def test_records_are_read_again_if_the_topic_changes_meanwhile(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.topic("t", partitions=2).send("old", partition=0)
    topic = broker.topic("t", partitions=2)
    topic.send("other", partition=1)
    reader = Topic._reader
    changes = [lambda: topic.truncate(0, partition=0).send("new", partition=0)]

    def changing(self: Topic, partition: int, isolation: Any, offset: int) -> Any:
        if partition == 1 and changes:
            changes.pop()()
        return reader(self, partition, isolation, offset)

    monkeypatch.setattr(Topic, "_reader", changing)
    assert topic.values() == [b"new", b"other"]
    assert changes == []


@pytest.fixture
def leaderless() -> Iterator[Topic]:
    """A topic of two partitions, one of which has no leader."""
    with Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1], [2]])
        topic = cluster.topic("t")
        topic.send("a", partition=0)
        topic.send("b", partition=1)
        cluster.broker(2).stop()
        yield topic


NO_LEADER = "topic t: 1 of 2 partitions has no leader: 1"


def test_records_of_a_partition_without_a_leader_cannot_be_read(leaderless: Topic) -> None:
    for read in (leaderless.records, leaderless.values, lambda: leaderless.count()):
        with pytest.raises(KafkaError) as caught:
            read()
        assert str(caught.value) == f"LEADER_NOT_AVAILABLE: {NO_LEADER}"
    assert leaderless.values(partition=0) == [b"a"]
    assert repr(leaderless) == "<topic t: offsets 0..1, LEADER_NOT_AVAILABLE>"


def test_wait_reads_the_partitions_with_a_leader_and_names_the_others(leaderless: Topic) -> None:
    assert [record.value for record in leaderless.wait_for(1)] == [b"a"]
    with pytest.raises(AssertionError) as caught:
        leaderless.wait_for(2, timeout=0)
    first, record, leaders, *_ = str(caught.value).splitlines()
    assert first.endswith("the only record in the topic matches")
    assert (record, leaders) == ("  <t-0@0 value=b'a'>", "  1 of 2 partitions has no leader: 1")
    leaderless._cluster.broker(2).start()
    assert [record.value for record in leaderless.wait_for(2)] == [b"a", b"b"]


def test_exact_number_of_records_is_unknown_while_a_partition_has_no_leader(leaderless: Topic) -> None:
    for exactly, value in ((0, "c"), (1, "a")):
        with pytest.raises(AssertionError, match="1 of 2 partitions has no leader: 1"):
            leaderless.wait_for(exactly=exactly, value=value, timeout=0)
    with pytest.raises(
        AssertionError, match=r"for exactly 0 records with value b'a': the only record in the topic matches"
    ):
        leaderless.wait_for(exactly=0, value="a")
    assert leaderless.wait_for(exactly=0, value="c", partition=0) == []
    leaderless._cluster.broker(2).start()
    assert leaderless.wait_for(exactly=0, value="c") == []


def test_predicate_of_all_records_waits_for_the_leaders(leaderless: Topic) -> None:
    """Otherwise, `all` and `not any` would be true without a look at the partition."""
    seen: list[list[Record]] = []
    with pytest.raises(AssertionError, match="1 of 2 partitions has no leader: 1"):
        leaderless.wait_until(seen.append, timeout=0)
    assert seen == []
    assert leaderless.wait_until(lambda records: True, partition=0)[0].value == b"a"


def test_wait_reads_only_partitions_that_have_grown(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.topic("t", partitions=1000)
    topic.send("v", partition=999)
    calls: list[object] = []
    call = broker._server.call
    monkeypatch.setattr(broker._server, "call", lambda function: (calls.append(function), call(function))[1])
    assert [record.partition for record in topic.wait_for(1)] == [999]
    assert len(calls) == 3  # the ends, the records, and whether the records are still those of the topic


def test_wait_compares_few_of_many_records_with_the_wanted_one(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.topic("t")
    topic.send("first", key="order-7")
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
    broker.topic("t").send("x", key="order-7")
    topic = broker.topic("t")
    topic.send("y", key="nothing")
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


def test_wait_for_a_null_value_returns_the_tombstone(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send_batch([("k", "v"), ("k", None), (None, "w")])
    assert [record.offset for record in topic.wait_for(value=None)] == [1]
    assert [record.offset for record in topic.wait_for(key=None)] == [2]
    with pytest.raises(AssertionError, match="1 record with key b'x' and value None: 0 of the 3 records"):
        topic.wait_for(key="x", value=None, timeout=0)


def test_wait_compares_values_as_json(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send_batch(["no JSON", None, '{"id":  7, "paid": false}', '{"paid": true, "id": 7}'])
    assert [record.offset for record in topic.wait_for(json={"id": 7, "paid": True})] == [3]
    with pytest.raises(AssertionError, match=r"1 record with JSON {'id': 8}: 0 of the 4 records"):
        topic.wait_for(json={"id": 8}, timeout=0)


def test_wait_for_json_says_which_records_are_not_json(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send_batch(["not json", None, b"\xff", '{"id": 7}'])
    with pytest.raises(AssertionError) as caught:
        topic.wait_for(json={"id": 8}, timeout=0)
    assert sorted(str(caught.value).splitlines()[1:5]) == [
        "  <t-0@0 value=b'not json'> is not JSON",
        "  <t-0@1 value=None> is not JSON",
        "  <t-0@2 value=b'\\xff'> is not JSON",
        "  <t-0@3 value=b'{\"id\": 7}'>",
    ]


def test_exception_of_a_predicate_names_the_record(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send_batch(['{"id": 7}', '{"key": 7}'])
    with pytest.raises(KeyError) as caught:
        topic.wait_for(where=lambda record: record.json()["key"] == 7)
    assert caught.value.__notes__ == ["raised by where=<lambda> for <t-0@0 value=b'{\"id\": 7}'>"]


def test_exception_of_a_predicate_of_all_records_says_what_it_gets(broker: Broker) -> None:
    with pytest.raises(AttributeError) as caught:
        broker.topic("t").wait_until(lambda record: record.value == b"x")  # type: ignore[attr-defined]
    assert caught.value.__notes__ == ["raised by <lambda>, which wait_until calls with the list of all records"]


def test_wait_compares_the_wanted_headers_only(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send("a", headers={"id": "1", "null": None})
    topic.send("b", headers=[("id", "1"), ("id", "2")])
    assert [record.value for record in topic.wait_for(2, headers={"id": "1"})] == [b"a", b"b"]
    assert [record.value for record in topic.wait_for(headers={"id": b"2"})] == [b"b"]
    assert [record.value for record in topic.wait_for(headers={"null": None})] == [b"a"]
    with pytest.raises(AssertionError, match=r"1 record with headers {'id': b'3'}: 0 of the 2 records"):
        topic.wait_for(headers={"id": "3"}, timeout=0)


def test_wait_for_exactly_as_many_fails_if_more_match(broker: Broker) -> None:
    topic = broker.topic("t")
    topic.send_batch(["a", "b", "a"])
    assert [record.offset for record in topic.wait_for(exactly=2, value="a")] == [0, 2]
    assert topic.wait_for(exactly=0, value="c") == []
    with pytest.raises(AssertionError, match="exactly 1 record with value b'a': 2 of the 3 records in the topic match"):
        topic.wait_for(exactly=1, value="a")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"n": 2, "exactly": 2}, "n and exactly exclude each other"),
        ({"value": "1", "json": 1}, "value and json exclude each other"),
        ({"exactly": True}, "exactly must be an int"),
    ],
)
def test_contradictory_condition_is_refused(broker: Broker, condition: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        broker.topic("t").wait_for(**condition)


def test_wait_until_returns_the_records_of_the_topic(broker: Broker) -> None:
    broker.topic("t").send("a")
    topic = broker.topic("t")
    topic.send("b")
    assert [record.value for record in topic.wait_until(lambda records: len(records) == 2)] == [b"a", b"b"]


def test_wait_ends_with_an_error_when_the_broker_stops() -> None:
    with Broker() as broker:
        stopping = threading.Timer(0.05, lambda: broker.__exit__(None, None, None))
        stopping.start()
        with pytest.raises(RuntimeError, match="not running"):
            broker.topic("t").wait_for(1, timeout=30)
        stopping.join()


# Changes by one call that another one reads


def test_sent_record_has_its_place_and_time(broker: Broker) -> None:
    topic = broker.topic("t", partitions=2)
    topic.send("first", partition=1)
    record = topic.send("value", key="k", headers={"h": "x"}, timestamp=NOW_MS, partition=1)
    assert record == topic.records(partition=1)[1]
    assert (record.partition, record.offset, record.timestamp) == (1, 1, NOW_MS)


def test_sent_record_has_the_time_of_the_broker_with_log_append_time() -> None:
    clock = ManualClock(NOW_MS)
    with Broker(clock=clock) as broker:
        topic = broker.topic("t", config={"message.timestamp.type": "LogAppendTime"})
        assert topic.send("v", timestamp=NOW_MS - 5).timestamp == NOW_MS == topic.records()[0].timestamp


def test_records_of_a_batch_have_their_own_headers_partitions_and_times(broker: Broker) -> None:
    topic = broker.topic("t", partitions=3)
    new: list[Any] = [NewRecord("a", "k", {"h": "1"}, NOW_MS, 2), "b", NewRecord(None, partition=0), ("k", "d")]
    sent = topic.send_batch(new, headers={"h": "0"}, partition=1)
    assert [(record.value, record.partition, record.headers["h"]) for record in sent] == [
        (b"a", 2, b"1"),
        (b"b", 1, b"0"),
        (None, 0, b"0"),
        (b"d", 1, b"0"),
    ]
    assert sorted(sent) == topic.records()


def test_offsets_of_several_batches_of_a_partition_are_those_in_the_log(broker: Broker) -> None:
    topic = broker.topic("t", config={"max.message.bytes": 1000})
    assert topic.send_batch(["x" * 300] * 20) == topic.records()


def test_changed_properties_are_read_again(broker: Broker) -> None:
    topic = broker.topic("t", config={"retention.ms": 5, "flush.ms": 7})
    topic.configure({"retention.ms": None, "max.message.bytes": 100})
    assert topic.config == {"flush.ms": "7", "max.message.bytes": "100"}
    with pytest.raises(KafkaError) as refused:
        topic.send("x" * 200)
    assert refused.value.code is Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("config", [{"retention": 1}, {"retention.ms": "soon"}])
def test_invalid_property_changes_nothing(broker: Broker, config: dict[str, str | int]) -> None:
    topic = broker.topic("t", config={"flush.ms": 7})
    with pytest.raises(KafkaError) as refused:
        topic.configure({"max.message.bytes": 100, **config})
    assert (refused.value.code, topic.config) == (Code.INVALID_CONFIG, {"flush.ms": "7"})


def test_unknown_property_of_a_topic_is_refused_with_the_closest_name(broker: Broker) -> None:
    message = "INVALID_CONFIG: Unknown topic config name: retention.millis; did you mean retention.ms?"
    config = {"retention.millis": 5}
    wrong = Broker(topics={"t": {"config": config}})
    for call in (
        lambda: broker.topic("t", config=config),
        lambda: broker.topic("exists").create().configure(config),
        lambda: wrong.__enter__(),
    ):
        with pytest.raises(KafkaError) as refused:
            call()
        assert str(refused.value) == message
    with pytest.raises(KafkaError, match=r"^INVALID_CONFIG: Unknown topic config name: xyz$"):
        broker.topic("t", config={"xyz": 5})


def test_added_partitions_accept_records(broker: Broker) -> None:
    topic = broker.topic("t", partitions=2).add_partitions(3)
    assert (topic.partition_count, topic.send("v", partition=4).partition) == (5, 4)
    with pytest.raises(ValueError, match="count is 0; it must be at least 1"):
        topic.add_partitions(0)


def test_leader_replicas_and_epoch_are_those_of_the_last_change() -> None:
    with Cluster(brokers=3) as cluster:
        topic = cluster.topic("t").create(assignments=[[1, 2, 3]])
        topic.move_leader(3)
        assert (topic.leader(), topic.replicas(), topic.leader_epoch()) == (3, [1, 2, 3], 1)
        with topic.shrink_isr(2):
            assert topic.isr() == [1, 3]
        assert topic.isr() == [1, 2, 3]
        with topic.take_offline():
            assert (topic.leader(), topic.replicas()) == (None, [1, 2, 3])


def test_offsets_are_those_of_the_log(broker: Broker) -> None:
    topic = broker.topic("t").layout("open", first=2, size=1, after=0).delete_records(before=1)
    assert topic.offsets() == (1, 2, 3, 3)
    with pytest.raises(KafkaError) as refused:
        topic.offsets(5)
    assert refused.value.code is Code.UNKNOWN_TOPIC_OR_PARTITION
