"""`kafkalet.broker.config.broker_config`: effective values, defaults for topics, and unknown properties."""

import logging

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.properties import InvalidProperty

HOUR_MS = 3_600_000


def test_unset_property_has_the_default_of_kafka() -> None:
    config = BrokerConfig()
    assert config.auto_create_topics_enable is True
    assert config.num_partitions == 1
    assert config.fetch_max_bytes == 57_671_680
    assert config.replica_selector_class is None


def test_static_properties_take_effect() -> None:
    config = BrokerConfig({"num.partitions": "3", "auto.create.topics.enable": "false"})
    assert config.num_partitions == 3
    assert config.auto_create_topics_enable is False


def test_per_broker_value_precedes_cluster_wide_and_static_values() -> None:
    config = BrokerConfig({"max.connections": "10"})
    config.reconfigure({"max.connections": "20"}, {"max.connections": "30"})
    assert config.max_connections == 30
    config.reconfigure({"max.connections": "20"}, {})
    assert config.max_connections == 20
    config.reconfigure({}, {})
    assert config.max_connections == 10


def test_refused_change_has_no_effect() -> None:
    config = BrokerConfig()
    config.reconfigure({"max.connections": "20"}, {})
    with pytest.raises(InvalidProperty, match=r"^Invalid value -1 for configuration max\.connections"):
        config.reconfigure({"max.connections": "-1"}, {})
    assert config.max_connections == 20
    assert config.given() == {"max.connections": "20"}


def test_reconfigured_copy_does_not_affect_other_brokers() -> None:
    one = BrokerConfig({"num.partitions": "3"})
    other = one.for_broker()
    other.reconfigure({}, {"max.connections": "5"})
    assert (one.max_connections, other.max_connections) == (2147483647, 5)
    assert other.num_partitions == 3


@pytest.mark.parametrize(
    ("given", "topic"),
    [
        ({"log.segment.bytes": "1048576"}, {"segment.bytes": "1048576"}),
        ({"log.retention.hours": "2"}, {"retention.ms": str(2 * HOUR_MS)}),
        ({"log.retention.minutes": "3", "log.retention.hours": "2"}, {"retention.ms": "180000"}),
        (
            {"log.retention.ms": "5", "log.retention.minutes": "3", "log.retention.hours": "2"},
            {"retention.ms": "5"},
        ),
        ({"log.retention.hours": "-1"}, {"retention.ms": "-1"}),
        ({"log.roll.hours": "1"}, {"segment.ms": str(HOUR_MS)}),
        ({"log.roll.jitter.hours": "1"}, {"segment.jitter.ms": str(HOUR_MS)}),
        ({"log.flush.scheduler.interval.ms": "9"}, {"flush.ms": "9"}),
        ({"message.max.bytes": "100"}, {"max.message.bytes": "100"}),
        ({"log.cleanup.policy": "compact, delete"}, {"cleanup.policy": "compact,delete"}),
        ({"compression.type": "gzip"}, {"compression.type": "gzip"}),
        ({"log.preallocate": "TRUE"}, {"preallocate": "true"}),
        ({"num.partitions": "3"}, {}),
    ],
)
def test_broker_property_sets_the_topic_default(given: dict[str, str], topic: dict[str, str]) -> None:
    assert BrokerConfig(given).topic_defaults() == topic


def test_topic_property_precedes_the_default_of_the_broker() -> None:
    config = BrokerConfig({"log.retention.ms": "5", "log.segment.bytes": "2000000"})
    log = config.log_config({"retention.ms": "6"})
    assert (log.retention_ms, log.segment_bytes) == (6, 2000000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num.partitions": "0"}, "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        (
            {"log.segment.bytes": "100"},
            "Invalid value 100 for configuration log.segment.bytes: Value must be at least 1048576",
        ),
        (
            {"log.retention.ms": "0"},
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        (
            {"log.retention.hours": "x"},
            "Invalid value x for configuration log.retention.hours: Not a number of type INT",
        ),
        (
            {"num.partitions": "9" * 5000},
            f"Invalid value {'9' * 5000} for configuration num.partitions: Not a number of type INT",
        ),
        (
            {"num.io.threads": "many"},
            "Invalid value many for configuration num.io.threads: Not a number of type INT",
        ),
    ],
)
def test_invalid_value_is_refused_with_its_name_and_the_allowed_values(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidProperty) as refused:
        BrokerConfig(given)
    assert str(refused.value) == message


def test_bounds_depend_on_the_release() -> None:
    assert BrokerConfig({"log.segment.bytes": "100"}, Release.of("3.9")).log_config({}).segment_bytes == 100


def test_unknown_property_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    config = BrokerConfig({"num.partitionz": "3"})
    assert config.unknown == ["num.partitionz"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "num.partitionz" in caplog.text


def test_bounds_of_consumer_groups_are_not_reported_as_without_effect() -> None:
    names = [f"group.consumer.{bound}.session.timeout.ms" for bound in ("min", "max")]
    config = BrokerConfig(dict.fromkeys(names, "50000"))
    assert (config.without_effect, config.unknown) == ([], [])


def test_property_without_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    config = BrokerConfig({"num.io.threads": "3", "listener.name.inside.ssl.protocol": "TLSv1.3"})
    assert config.without_effect == ["num.io.threads", "listener.name.inside.ssl.protocol"]
    assert config.unknown == []
    assert "num.io.threads" in caplog.text


def test_properties_of_another_release_are_unknown() -> None:
    assert BrokerConfig({"zookeeper.connect": "x"}, Release.of("3.9")).unknown == []
    assert BrokerConfig({"zookeeper.connect": "x"}, Release.of("4.4")).unknown == ["zookeeper.connect"]
    assert BrokerConfig({"log.message.format.version": "0.9.0"}).unknown == ["log.message.format.version"]


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ({}, 1),
        ({"node.id": "0"}, 0),
        ({"broker.id": " 7 "}, 7),
        ({"node.id": "3", "broker.id": "3"}, 3),
        ({"node.id": "2147483647"}, 2147483647),
    ],
)
def test_first_node_id_comes_from_node_id_or_broker_id(given: dict[str, str], first: int) -> None:
    assert BrokerConfig(given).first_node_id() == first


def test_different_node_and_broker_ids_are_refused() -> None:
    with pytest.raises(InvalidProperty) as refused:
        BrokerConfig({"node.id": "1", "broker.id": "2"}).first_node_id()
    assert str(refused.value) == "You must set `node.id` to the same value as `broker.id`."


@pytest.mark.parametrize(("name", "brokers"), [("node.id", 1), ("broker.id", 1), ("node.id", 3)])
@pytest.mark.parametrize("text", ["-1", "2147483648"])
def test_node_id_out_of_bounds_is_refused(name: str, brokers: int, text: str) -> None:
    with pytest.raises(InvalidProperty, match=name):
        BrokerConfig({name: text}).first_node_id(brokers)


def test_last_broker_may_have_the_largest_id() -> None:
    assert BrokerConfig({"node.id": "2147483645"}).first_node_id(3) == 2147483645
    with pytest.raises(InvalidProperty, match="a cluster has 3 ids"):
        BrokerConfig({"node.id": "2147483646"}).first_node_id(3)
