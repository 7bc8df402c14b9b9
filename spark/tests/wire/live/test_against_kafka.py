"""The live client against kafkalet as several releases and against Apache Kafka, compared with librdkafka."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import kafkalet
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet_spark.decoding.records import decode
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.lookups import EARLIEST, LATEST, MAX_TIMESTAMP, Found, Lookup
from kafkalet_spark.live.reading import LiveSplit, read_live
from kafkalet_spark.live.refusals import OffsetOutOfRange
from spark.tests.spark.history import seen
from tests.oracle.apache_kafka import ApacheKafka, missing

RELEASES = ("2.8", "3.9", "4.4")
ASKED = [pytest.param(("kafkalet", release), id=f"kafkalet-{release}") for release in RELEASES]
ASKED += [pytest.param(("kafka", release), id=f"kafka-{release}", marks=pytest.mark.oracle) for release in RELEASES]

T0 = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PLAIN_RECORDS = 2000
QUICK = {"retry.backoff.ms": "10", "default.api.timeout.ms": "300"}


@pytest.fixture(scope="module", params=ASKED)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker with topics `plain` (all codecs, three partitions), `txn` (aborted and open) and `cut` (records
    deleted)."""
    kind, release = request.param
    if kind == "kafka" and (reason := missing(release)):
        pytest.skip(reason)
    config = {"log.retention.ms": "-1"}
    made: Any = (
        kafkalet.Broker(version=release, config=config) if kind == "kafkalet" else ApacheKafka(release, config=config)
    )
    with made as running, contextlib.ExitStack() as producers:
        write(running.bootstrap_servers, producers)
        yield running.bootstrap_servers


def write(bootstrap: str, producers: contextlib.ExitStack) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("plain", 3), NewTopic("txn", 1), NewTopic("cut", 1), NewTopic("empty", 1)]
    for future in admin.create_topics(topics).values():
        future.result()
    for which, codec in enumerate(CODECS):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        for number in range(which, PLAIN_RECORDS, len(CODECS)):
            producer.produce("plain", b"value %d" % number, b"key", number % 3, timestamp=T0 + number)
            producer.produce("cut", b"%d" % number, partition=0)
            if number % 101 == 0:
                producer.flush()
        producer.flush()
    one, two, open_ = (Producer({"bootstrap.servers": bootstrap, "transactional.id": name}) for name in "abc")
    for producer in (one, two, open_):
        producer.init_transactions()
    for number in range(30):
        for producer in (one, two):
            producer.begin_transaction()
            for each in range(number % 4 + 1):
                producer.produce("txn", b"%d %d" % (number, each), partition=0, timestamp=T0 + number)
            producer.flush()
        (one.abort_transaction if number % 2 else one.commit_transaction)()
        (two.abort_transaction if number % 3 else two.commit_transaction)()
    open_.begin_transaction()
    for number in range(10):
        open_.produce("txn", b"open %d" % number, partition=0, timestamp=T0 + 1000 + number)
    open_.flush()
    producers.callback(open_.abort_transaction)
    for future in admin.delete_records([TopicPartition("cut", 0, 777)]).values():
        future.result()


class Read(NamedTuple):
    offset: int
    timestamp: int
    value: bytes


def read(bootstrap: str, split: LiveSplit, **properties: str) -> list[Read]:
    """Return the records of a split that a consumer would return."""
    returned = {name.replace("_", "."): text for name, text in properties.items()}
    found = []
    for part in read_live(split, bootstrap, returned):
        assert not part.problems
        batches = part.batches.take(~part.batches.is_control)
        if part.aborted is not None:
            by_offset = batches.base_offset[:, None]
            within = (part.aborted.first_offset <= by_offset) & (by_offset <= part.aborted.last_offset)
            hidden = (within & (part.aborted.producer_id == batches.producer_id[:, None])).any(1)
            batches = batches.take(~(hidden & batches.is_transactional))
        records = decode(part.buffer, batches)
        rows = zip(records.offset.tolist(), records.timestamp.tolist(), records.value.to_pylist(), strict=True)
        found += [Read(*row) for row in rows if split.start_offset <= row[0] < split.end_offset]
    return found


def ends(bootstrap: str, isolation_level: str) -> dict[tuple[str, int], int]:
    wanted = {**{("plain", index): LATEST for index in range(3)}, ("txn", 0): LATEST, ("cut", 0): LATEST}
    with LiveBroker(bootstrap) as live:
        return {key: found.offset for key, found in live.list_offsets(wanted, isolation_level).items()}


def test_topics_are_found(bootstrap: str) -> None:
    with LiveBroker(bootstrap) as live:
        assert live.topics() == {"cut": 1, "empty": 1, "plain": 3, "txn": 1}
        assert live.topics(internal=True)["__transaction_state"] == 50
        assert live.topics(["plain", "__transaction_state"])["__transaction_state"] == 50


def test_unknown_topic_or_partition_is_named(bootstrap: str) -> None:
    with LiveBroker(bootstrap, QUICK) as live:
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: topic nothing"):
            live.list_offsets({("nothing", 0): LATEST})
        with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION: topic not/one"):
            live.topics(["not/one"])
        with pytest.raises(KafkaError, match="plain-3"):
            live.list_offsets({("plain", 3): LATEST})
        assert "nothing" not in live.topics()


@pytest.mark.parametrize("limit", ["1", "1000", "1000000"])
def test_records_match_those_of_librdkafka(bootstrap: str, limit: str) -> None:
    expected = seen(bootstrap, "plain", 3, "read_uncommitted")
    last = ends(bootstrap, "read_uncommitted")
    for partition in range(3):
        found = read(
            bootstrap, LiveSplit("plain", partition, 0, last["plain", partition]), max_partition_fetch_bytes=limit
        )
        assert found == [Read(r.offset, r.timestamp, r.value or b"") for r in expected if r.partition == partition]
    assert len(expected) == PLAIN_RECORDS


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("limit", ["1", "1000000"])
def test_transactions_are_read_as_by_librdkafka(bootstrap: str, isolation_level: str, limit: str) -> None:
    last = ends(bootstrap, isolation_level)["txn", 0]
    properties = {"isolation_level": isolation_level, "max_partition_fetch_bytes": limit}
    found = read(bootstrap, LiveSplit("txn", 0, 0, last), **properties)
    expected = seen(bootstrap, "txn", 1, isolation_level)
    assert found == [Read(r.offset, r.timestamp, r.value or b"") for r in expected]
    assert any(each.value.startswith(b"open") for each in found) == (isolation_level == "read_uncommitted")
    assert len(found) > 50


def test_splits_at_any_offset_have_the_same_records(bootstrap: str) -> None:
    last = ends(bootstrap, "read_committed")["txn", 0]
    whole = read(bootstrap, LiveSplit("txn", 0, 0, last), isolation_level="read_committed")
    cuts = [0, 1, 2, 3, 7, 50, 51, last - 1, last]
    parts = [
        each
        for start, end in itertools.pairwise(cuts)
        for each in read(bootstrap, LiveSplit("txn", 0, start, end), isolation_level="read_committed")
    ]
    assert parts == whole


def test_open_transaction_limits_read_committed(bootstrap: str) -> None:
    stable = ends(bootstrap, "read_committed")["txn", 0]
    assert stable < ends(bootstrap, "read_uncommitted")["txn", 0]
    with pytest.raises(OffsetOutOfRange) as refused:
        list(
            read_live(
                LiveSplit("txn", 0, stable, stable + 1), bootstrap, {**QUICK, "isolation.level": "read_committed"}
            )
        )
    assert refused.value.log_end_offset == stable


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_timestamp_lookups_match_librdkafka(bootstrap: str, isolation_level: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "isolation.level": isolation_level})
    times = [T0 - 1, T0, T0 + 7, T0 + 1500, T0 + 1005, T0 + 5000]
    with LiveBroker(bootstrap) as live:
        lookups = [Lookup(topic, 0, time) for time in times for topic in ("plain", "txn", "empty")]
        for lookup, found in zip(lookups, live.look_up(lookups, isolation_level), strict=True):
            [other] = consumer.offsets_for_times([TopicPartition(*lookup)], 10)
            assert isinstance(found, Found)
            assert found.offset == other.offset
    consumer.close()


def test_special_timestamps_are_resolved(bootstrap: str) -> None:
    with LiveBroker(bootstrap) as live:
        assert live.list_offsets({("cut", 0): EARLIEST, ("empty", 0): LATEST, ("plain", 0): EARLIEST}) == {
            ("cut", 0): Found(777, -1, 0),
            ("empty", 0): Found(0, -1, 0),
            ("plain", 0): Found(0, -1, 0),
        }
        assert live.list_offsets({("cut", 0): LATEST})["cut", 0].offset == PLAIN_RECORDS


def test_max_timestamp_is_found_if_the_release_supports_it(bootstrap: str, request: pytest.FixtureRequest) -> None:
    with LiveBroker(bootstrap) as live:
        if "-2.8" not in request.node.callspec.id:
            assert live.list_offsets({("plain", 1): MAX_TIMESTAMP})["plain", 1].timestamp == T0 + PLAIN_RECORDS - 1
        else:
            with pytest.raises(KafkaError, match="ListOffsets version 7 or later is required") as refused:
                live.list_offsets({("plain", 1): MAX_TIMESTAMP})
            assert refused.value.code is Code.UNSUPPORTED_VERSION


def test_thousands_of_lookups_are_answered(bootstrap: str) -> None:
    times = [T0 + number * 7 % PLAIN_RECORDS for number in range(3000)]
    with LiveBroker(bootstrap) as live:
        answers = live.look_up([Lookup("plain", number % 3, time) for number, time in enumerate(times)])
        again = [live.list_offsets({("plain", number % 3): time}) for number, time in enumerate(times[:50])]
    assert [found for each in again for found in each.values()] == answers[:50]
    assert all(isinstance(found, Found) for found in answers)


def test_deleted_offsets_are_reported_with_remaining_range(bootstrap: str) -> None:
    with pytest.raises(OffsetOutOfRange) as refused:
        list(read_live(LiveSplit("cut", 0, 100, 900), bootstrap, QUICK))
    assert refused.value.args == ("cut", 0, 100, 777, PLAIN_RECORDS)
    assert [each.offset for each in read(bootstrap, LiveSplit("cut", 0, 777, 900))] == list(range(777, 900))


def test_future_offsets_are_reported_with_existing_range(bootstrap: str) -> None:
    with pytest.raises(OffsetOutOfRange) as refused:
        list(read_live(LiveSplit("cut", 0, 5000, 5001), bootstrap, QUICK))
    assert refused.value.args == ("cut", 0, 5000, 777, PLAIN_RECORDS)


OLDER = [pytest.param("kafkalet"), pytest.param("kafka", marks=pytest.mark.oracle)]


@pytest.mark.parametrize("kind", OLDER)
def test_old_formats_are_read_from_any_offset(kind: str) -> None:
    """Release 2.8 still writes them; the splits begin inside wrappers."""
    if kind == "kafka" and (reason := missing("2.8")):
        pytest.skip(reason)
    with kafkalet.Broker(version="2.8") if kind == "kafkalet" else ApacheKafka("2.8") as running:
        bootstrap = running.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": bootstrap})
        formats = {"v0": "0.9.0", "v1": "0.10.0"}
        made = [NewTopic(name, 1, 1, config={"message.format.version": text}) for name, text in formats.items()]
        for future in admin.create_topics(made).values():
            future.result()
        for codec in ("none", "gzip", "lz4"):
            producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 50})
            for number in range(100):
                for name in formats:
                    producer.produce(name, b"%d" % number, partition=0, timestamp=T0 + number)
            producer.flush()
        for name in formats:
            whole = read(bootstrap, LiveSplit(name, 0, 0, 300))
            assert [each.offset for each in whole] == list(range(300))
            assert [each.value for each in whole] == [b"%d" % number for number in range(100)] * 3
            assert {each.timestamp for each in whole} == ({-1} if name == "v0" else set(range(T0, T0 + 100)))
            for start, end in ((0, 1), (99, 101), (150, 151), (150, 250), (299, 300)):
                for limit in ("1", "1000000"):
                    found = read(bootstrap, LiveSplit(name, 0, start, end), max_partition_fetch_bytes=limit)
                    assert found == whole[start:end]
