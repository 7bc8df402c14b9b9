"""`kafkalet.broker.apis.parts.config_changes`: changes at runtime and the order of the checks."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.apis.parts.config_changes import change
from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.apis.asking import Asking, NoClient, asking

TOPIC, BROKER = 2, 4


@pytest.fixture
def ask() -> Iterator[Asking]:
    with asking(version="3.9") as ask:
        ask.cluster.topic("t").create(config={"segment.ms": "5"})
        yield ask


def put(ask: Asking, kind: int, name: str, texts: dict[str, str], validate_only: bool = False) -> None:
    """Replace the configuration of a resource."""
    context = Context(ask.cluster._server.brokers[1], NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
    ask.cluster._server.call(lambda: change(context, kind, name, lambda _: texts, texts, validate_only))


def refused(ask: Asking, kind: int, name: str, texts: dict[str, str]) -> tuple[Code, str]:
    with pytest.raises(KafkaError) as error:
        put(ask, kind, name, texts)
    return error.value.code, error.value.message or ""


def test_topic_configuration_is_changed(ask: Asking) -> None:
    put(ask, TOPIC, "t", {"retention.ms": "7"})
    assert ask.cluster._server.metadata.topics["t"].config == {"retention.ms": "7"}
    assert ask.cluster._server.nodes[1].partitions["t", 0].log.config.retention_ms == 7


def test_validate_only_changes_nothing(ask: Asking) -> None:
    put(ask, TOPIC, "t", {"retention.ms": "7"}, validate_only=True)
    put(ask, BROKER, "1", {"max.connections": "7"}, validate_only=True)
    assert ask.cluster._server.metadata.topics["t"].config == {"segment.ms": "5"}
    assert ask.cluster._server.nodes[1].config.max_connections == 2**31 - 1


def test_values_are_validated_before_the_topic_is_looked_up(ask: Asking) -> None:
    assert refused(ask, TOPIC, "none", {"retention.ms": "soon"})[0] is Code.INVALID_CONFIG
    assert refused(ask, TOPIC, "none", {"retention.ms": "5"})[0] is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(ask, TOPIC, "a b", {"retention.ms": "soon"})[0] is Code.INVALID_TOPIC_EXCEPTION


def test_read_only_property_is_refused_by_name(ask: Asking) -> None:
    code, message = refused(ask, BROKER, "", {"num.partitions": "5", "max.connections": "5"})
    assert code is Code.INVALID_REQUEST
    assert message == "Cannot update these configs dynamically: Set(num.partitions)"


def test_per_broker_property_requires_a_broker_id(ask: Asking) -> None:
    texts = {"listener.name.plaintext.ssl.keystore.type": "PEM"}
    assert "broker id must be specified" in refused(ask, BROKER, "", texts)[1]
    put(ask, BROKER, "1", texts)
    assert "only per-listener" in refused(ask, BROKER, "1", {"ssl.keystore.type": "PEM"})[1]


def test_invalid_combination_of_valid_properties_is_refused(ask: Asking) -> None:
    texts = {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"}
    assert refused(ask, BROKER, "", texts)[0] is Code.INVALID_REQUEST
    assert ask.cluster._server.metadata.broker_config.get(None, {}) == {}


def test_unknown_broker_property_is_stored(ask: Asking) -> None:
    put(ask, BROKER, "1", {"my.own": "x"})
    assert ask.cluster._server.metadata.broker_config[1] == {"my.own": "x"}


@pytest.mark.parametrize("name", ["2", "-1", "one", "1.0", " 1"])
def test_broker_refuses_changes_of_other_brokers(ask: Asking, name: str) -> None:
    assert refused(ask, BROKER, name, {})[0] is Code.INVALID_REQUEST


def test_invalid_topic_value_with_zookeeper_returns_invalid_request() -> None:
    with asking(version="2.8") as ask:
        ask.cluster.topic("t").create()
        assert refused(ask, TOPIC, "t", {"retention.ms": "soon"}) == (
            Code.INVALID_REQUEST,
            "Invalid config value for resource ConfigResource(type=TOPIC, name='t'): "
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        )
        assert refused(ask, TOPIC, "t", {"retention.mss": "5"})[0] is Code.INVALID_CONFIG
