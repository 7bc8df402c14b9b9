"""`kafkalet.broker.apis.incremental_alter_configs`: changes take effect immediately and are durable."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch, numbered
from tests.profile import examples

from .asking import Asking, asking

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
BATCH = build_batch(numbered([(1_600_000_000_000, None, b"x" * 100, ())]))


def alter(ask: Asking, kind: int, name: str, *changes: tuple[str, int, str | None], node: int = 1) -> dict[str, Any]:
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, node=node, resources=[resource], validate_only=False)
    [result] = answer["responses"]
    assert isinstance(result, dict)
    return result


def is_refused(ask: Asking, topic: str = "t") -> bool:
    try:
        ask.cluster.topic(topic).append(BATCH)
    except KafkaError:
        return True
    return False


def test_topic_change_takes_effect_on_its_logs_immediately() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        assert not is_refused(ask)
        assert alter(ask, TOPIC, "t", ("max.message.bytes", SET, "100"))["error_code"] == 0
        assert is_refused(ask)
        assert alter(ask, TOPIC, "t", ("max.message.bytes", DELETE, None))["error_code"] == 0
        assert not is_refused(ask)


def test_cluster_wide_change_takes_effect_on_topics_that_use_the_default() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        ask.cluster.topic("u").create(config={"max.message.bytes": "5000"})
        assert alter(ask, BROKER, "", ("message.max.bytes", SET, "100"))["error_code"] == 0
        assert (is_refused(ask, "t"), is_refused(ask, "u")) == (True, False)
        ask.cluster.topic("v").create()
        assert is_refused(ask, "v"), "the change also applies to new topics"


def test_change_of_one_broker_does_not_affect_others() -> None:
    with asking(brokers=2) as ask:
        assert alter(ask, BROKER, "2", ("max.connections", SET, "7"), node=2)["error_code"] == 0
        assert [node.config.max_connections for node in ask.cluster._server.nodes.values()] == [2**31 - 1, 7]
        assert [broker.listeners[0].limits.max_connections for broker in ask.cluster._server.brokers.values()] == [
            2**31 - 1,
            7,
        ]
        assert alter(ask, BROKER, "", ("max.connections", SET, "9"))["error_code"] == 0
        assert [node.config.max_connections for node in ask.cluster._server.nodes.values()] == [9, 7]


def test_refused_change_has_no_effect() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        refused = alter(ask, TOPIC, "t", ("max.message.bytes", SET, "100"), ("retention.ms", SET, "soon"))
        assert refused["error_code"] == 40
        assert ask.cluster._server.metadata.topics["t"].config == {}
        assert not is_refused(ask)
        refused = alter(ask, BROKER, "", ("message.max.bytes", SET, "100"), ("max.connections", SET, "many"))
        assert refused["error_code"] == 42
        assert not is_refused(ask)


def test_changes_survive_a_restart(tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        ask.cluster.topic("t").create()
        alter(ask, TOPIC, "t", ("retention.ms", SET, "1000"))
        alter(ask, BROKER, "", ("max.connections", SET, "9"))
        alter(ask, BROKER, "1", ("message.max.bytes", SET, "100"))
    with asking(data_dir=tmp_path) as ask:
        node = ask.cluster._server.nodes[1]
        assert node.partitions["t", 0].log.config.retention_ms == 1000
        assert node.config.max_connections == 9
        assert is_refused(ask)


WORD = st.sampled_from(["compact", "delete"])


@given(
    before=st.lists(WORD, max_size=2, unique=True),
    operation=st.sampled_from([APPEND, SUBTRACT]),
    words=st.lists(WORD, min_size=1, max_size=2, unique=True),
)
@settings(max_examples=examples(0.25))
def test_append_and_subtract_treat_lists_as_sets(before: list[str], operation: int, words: list[str]) -> None:
    with asking() as ask:
        ask.cluster.topic("t").create(config={"cleanup.policy": ",".join(before)})
        assert alter(ask, TOPIC, "t", ("cleanup.policy", operation, ",".join(words)))["error_code"] == 0
        after = ask.cluster._server.metadata.topics["t"].config["cleanup.policy"]
        wanted = set(before) | set(words) if operation == APPEND else set(before) - set(words)
        assert {word for word in after.split(",") if word} == wanted


@pytest.mark.parametrize(("release", "code"), [("2.8", 0), ("3.9", 40), ("4.4", 40)])
def test_list_does_not_grow_beyond_what_a_response_can_hold_without_zookeeper(release: str, code: int) -> None:
    name = "follower.replication.throttled.replicas"
    with asking(version=release) as ask:
        ask.cluster.topic("t").create(config={name: ",".join(f"{index}:1" for index in range(4000))})
        result = alter(ask, TOPIC, "t", (name, APPEND, ",".join(f"{index}:1" for index in range(4000, 5000))))
        assert result["error_code"] == code
        after = ask.cluster._server.metadata.topics["t"].config[name]
    assert (len(after) <= 32_767) is (code != 0)


def test_change_of_a_logger_is_refused() -> None:
    with asking() as ask:
        assert alter(ask, 8, "1", ("root", SET, "DEBUG"))["error_code"] == 42


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max.connections", "0"),
        ("max.connections.per.ip", "0"),
        ("num.io.threads", "-5"),
        ("log.cleaner.threads", "1000000"),
    ],
)
def test_change_that_a_broker_component_refuses_returns_invalid_request(name: str, value: str) -> None:
    with asking() as ask:
        for broker in ("", "1"):
            assert alter(ask, BROKER, broker, (name, SET, value))["error_code"] == Code.INVALID_REQUEST
        assert ask.cluster._server.metadata.broker_config.get(1) is None
        assert name not in ask.cluster._server.metadata.broker_config.get(None, {})


def test_invalid_value_with_zookeeper_names_the_resource() -> None:
    with asking(version="2.8") as ask:
        answer = alter(ask, BROKER, "1", ("num.io.threads", SET, "0"))
        prefix = "Invalid config value for resource ConfigResource(type=BROKER, name='1'): "
        bound = "Invalid value 0 for configuration num.io.threads: Value must be at least 1"
        assert (answer["error_code"], answer["error_message"]) == (Code.INVALID_REQUEST, prefix + bound)


@pytest.mark.parametrize(("kind", "name", "key"), [(TOPIC, "t", "retention.ms"), (BROKER, "", "num.io.threads")])
def test_append_to_other_than_a_list_with_zookeeper_returns_invalid_request(kind: int, name: str, key: str) -> None:
    with asking(version="2.8", topics=["t"]) as ask:
        answer = alter(ask, kind, name, (key, APPEND, "x"))
        message = f"Config value append is not allowed for config key: {key}"
        assert (answer["error_code"], answer["error_message"]) == (Code.INVALID_REQUEST, message)
        assert alter(ask, kind, name, ("no.such", APPEND, "x"))["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert alter(ask, kind, name, (key, 7, "x"))["error_code"] == Code.UNKNOWN_SERVER_ERROR


def test_missing_topic_is_checked_before_the_value_with_zookeeper() -> None:
    with asking(version="2.8") as ask:
        answer = alter(ask, TOPIC, "nope", ("retention.ms", SET, "x"))
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
