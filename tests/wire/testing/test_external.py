"""Tests of `--kafka-external`: features that clients can provide work, and tests of other features are skipped.

The external cluster is another broker of kafkalet, and with `-m oracle` also Apache Kafka.
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

import kafkalet
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.external import ExternalCluster
from kafkalet.testing.record import Record
from tests.oracle.apache_kafka import ApacheKafka, missing

pytest_plugins = ["pytester"]

RELEASE = "3.9"
SERVERS = ["kafkalet", pytest.param("kafka", marks=pytest.mark.oracle)]


@pytest.fixture(scope="module", params=SERVERS)
def bootstrap_servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kafkalet":
        with kafkalet.Broker() as broker:
            yield broker.bootstrap_servers
    elif reason := missing(RELEASE):
        pytest.skip(reason)
    else:
        with ApacheKafka(RELEASE) as kafka:
            yield kafka.bootstrap_servers


@pytest.fixture(scope="module")
def shared(bootstrap_servers: str) -> ExternalCluster:
    return ExternalCluster(bootstrap_servers)


@pytest.fixture
def external(shared: ExternalCluster) -> Iterator[ExternalCluster]:
    yield shared
    shared.delete_created()


def test_records_are_sent_and_read(external: ExternalCluster) -> None:
    topic = external.topic("sent", partitions=1)
    topic.send("x", key="k", headers={"a": b"1"}, timestamp=1_700_000_000_000)
    topic.send_json({"b": 2})
    topic.send_batch(["c", ("k", "d")], compression="gzip")
    first, *others = topic.records()
    assert (first.key, first.value, first.headers, first.timestamp) == (b"k", b"x", {"a": b"1"}, 1_700_000_000_000)
    assert [record.value for record in others] == [b'{"b": 2}', b"c", b"d"]


def test_mark_skips_earlier_records(external: ExternalCluster) -> None:
    topic = external.topic("marked", partitions=2)
    topic.send("a", partition=0)
    topic.send("b", partition=1)
    mark = topic.mark()
    topic.send("c", partition=1)
    assert topic.values(since=mark) == [b"c"]


def test_wait_returns_arriving_records(external: ExternalCluster) -> None:
    external.topic("awaited", partitions=2).send("a", partition=0)
    topic = external.topic("awaited", partitions=2)
    topic.send("b", partition=1)
    assert [record.value for record in topic.wait_for(1, value="b")] == [b"b"]
    assert len(topic.wait_until(lambda records: len(records) == 2)) == 2


def test_wait_notices_that_a_topic_was_created_again(external: ExternalCluster) -> None:
    topic = external.topic("again", partitions=1)
    topic.send("old")
    changes = [lambda: (topic.delete(), topic.create(1).send_batch(["a", "b"]))]

    def where(record: Record) -> bool:
        if changes:
            changes.pop()()
        return True

    assert [record.value for record in topic.wait_for(2, where=where)] == [b"a", b"b"]


def test_partition_without_a_leader_cannot_be_read() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1], [2]])
        topic = ExternalCluster(cluster.bootstrap_servers).topic("t")
        topic.send("a", partition=0)
        cluster.broker(2).stop()
        assert (topic.exists, topic.partition_count) == (True, 2)
        assert topic.values(partition=0) == [b"a"]
        with pytest.raises(KafkaError, match="1 of 2 partitions has no leader: 1") as caught:
            topic.records()
        assert caught.value.code is Code.LEADER_NOT_AVAILABLE


def test_wait_that_times_out_shows_arrived_records(external: ExternalCluster) -> None:
    topic = external.topic("silent", partitions=1)
    topic.send("a")
    with pytest.raises(
        AssertionError, match=r"waited 0\.2 s for 1 record with value b'b': the only record in the topic"
    ):
        topic.wait_for(1, value="b", timeout=0.2)


def test_topics_are_created_and_deleted(external: ExternalCluster) -> None:
    topic = external.topic("created", partitions=3, config={"retention.ms": 1000})
    assert (topic.exists, topic.partition_count) == (True, 3)
    with pytest.raises(ValueError, match="topic created exists with partitions=3, not 2"):
        external.topic("created", partitions=2)
    external.delete_created()
    assert (topic.exists, topic.partition_count, topic.records()) == (False, 0, [])


def test_topic_that_cannot_be_created_raises_the_error_of_the_broker(external: ExternalCluster) -> None:
    with pytest.raises(KafkaError) as caught:
        external.topic("refused", partitions=1, replication_factor=99)
    assert caught.value.code is Code.INVALID_REPLICATION_FACTOR


def test_group_has_offsets_and_lag(external: ExternalCluster, bootstrap_servers: str) -> None:
    topic = external.topic("read", partitions=1)
    topic.send_batch(["a", "b"])
    servers = {"bootstrap.servers": bootstrap_servers, "group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = Consumer(servers)
    consumer.subscribe([topic.name])
    group = external.group("billing")
    assert consumer.poll(30).value() == b"a"
    consumer.commit(asynchronous=False)
    assert (group.committed(), group.committed("read", 0)) == ({("read", 0): 1}, 1)
    assert (group.lags, group.lag) == ({("read", 0): 1}, 1)
    with pytest.raises(AssertionError, match=r"group billing: waited 0\.1 s for a lag of 0: the lag is"):
        group.wait_for_lag(0, timeout=0.1)
    assert consumer.poll(30).value() == b"b"
    consumer.commit(asynchronous=False)
    assert group.wait_for_lag(0).lag == 0
    consumer.close()


def test_group_without_offsets_has_none(external: ExternalCluster) -> None:
    group = external.group("absent")
    assert (group.committed(), group.committed("t", 0)) == ({}, None)


@pytest.mark.parametrize(
    ("use", "feature"),
    [
        ("external.clock", "clock"),
        ("external.broker(1)", "broker"),
        ("external.topic('t').layout('gap')", r"topic\.layout"),
        ("external.topic('t').log()", r"topic\.log"),
        ("external.group('g').evict('m')", r"group\.evict"),
    ],
)
def test_feature_of_kafkalet_skips_the_test(external: ExternalCluster, use: str, feature: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"needs kafkalet's {feature}"):
        eval(use, {"external": external})


def test_unknown_attribute_is_an_error(external: ExternalCluster) -> None:
    with pytest.raises(AttributeError, match="ExternalCluster has no attribute 'topik'"):
        _ = external.topik


def test_address_without_a_broker_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.testing.external.CONNECT_S", 0.2)
    with pytest.raises(RuntimeError, match=r"no broker responds at 127\.0\.0\.1:1: "):
        ExternalCluster("127.0.0.1:1")


def test_external_cluster_skips_tests_that_need_kafkalet(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        import pytest

        def test_records(kafka, kafka_session, kafka_topic, kafka_env):
            assert kafka is kafka_session is kafka_env
            assert os.environ["KAFKA_BOOTSTRAP_SERVERS"] == kafka.bootstrap_servers
            assert kafka_topic.send("one").offset == 0
            assert kafka_topic.wait_for(1)[0].value == b"one"

        @pytest.mark.kafka(topics={"orders": 6}, timeout=3)
        @pytest.mark.parametrize("number", [1, 2])
        def test_topics(kafka, number):
            assert kafka.topic("orders").partition_count == 6
            assert kafka.timeout == 3

        def test_clock(kafka):
            kafka.clock.advance(hours=1)

        @pytest.mark.kafka(needs=["faults"])
        def test_faults(kafka): assert False

        @pytest.mark.kafka(version="3.9", config={"num.partitions": 3})
        def test_options(kafka): assert False

        @pytest.mark.parametrize("kafka", ["3.9"], indirect=True)
        def test_parameter(kafka): assert False

        def test_cluster(kafka_cluster): assert False

        def test_factory(kafka_factory): kafka_factory()
        """
    )
    with kafkalet.Broker() as broker:
        result = pytester.runpytest_subprocess(
            *("-p", "no:cacheprovider", "-rs", "--kafka-external", broker.bootstrap_servers)
        )
        result.assert_outcomes(passed=3, skipped=6)
        assert [name for name in broker._server.metadata.topics if not name.startswith("__")] == []
    result.stdout.fnmatch_lines(
        [
            f"kafkalet: tests run against the Kafka cluster at {broker_address(result)}",
            "kafkalet: skipped with --kafka-external, by the feature they need: brokers (3, the external cluster has "
            "1): 1, clock: 1, config, version: 1, faults: 1, kafka_factory: 1, version: 1",
        ]
    )


def broker_address(result: pytest.RunResult) -> str:
    [line] = [line for line in result.outlines if line.startswith("kafkalet: tests run")]
    return line.split()[-1]


def test_topic_of_the_marker_that_exists_already_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kafka(topics=["orders"])
        def test_one(kafka): pass
        """
    )
    with kafkalet.Broker(topics=["orders"]) as broker:
        result = pytester.runpytest_subprocess(
            *("-p", "no:cacheprovider", "--kafka-external", broker.bootstrap_servers)
        )
        assert list(broker._server.metadata.topics) == ["orders"]
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_one: topic orders exists in the external cluster;*"])
