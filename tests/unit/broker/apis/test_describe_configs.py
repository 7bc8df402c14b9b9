"""`kafkalet.broker.apis.describe_configs`: cases that the recordings of Apache Kafka do not cover."""

from typing import Any

import pytest

from kafkalet.broker.config.catalog import catalog
from kafkalet.properties import NO_EFFECT
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code

from .asking import Asking, asking

TOPIC, BROKER, LOGGER = 2, 4, 8
PER_BROKER, CLUSTER_WIDE, STATIC, DEFAULT = 2, 3, 4, 5


def describe(
    ask: Asking, kind: int, name: str, *keys: str, node: int = 1, documentation: bool = False
) -> dict[str, dict[str, Any]]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}
    more = {"include_synonyms": True, "include_documentation": documentation}
    [result] = ask(Api.DESCRIBE_CONFIGS, 4, node=node, resources=[resource], **more)["results"]
    assert result["error_code"] == 0, result["error_message"]
    return {config["name"]: config for config in result["configs"]}


def synonyms(config: dict[str, Any]) -> list[tuple[str, str | None, int]]:
    return [(synonym["name"], synonym["value"], synonym["source"]) for synonym in config["synonyms"]]


def test_broker_returns_all_properties_of_its_release() -> None:
    with asking(version="3.9") as ask:
        assert describe(ask, BROKER, "1").keys() == catalog((3, 9)).keys()


def test_broker_returns_its_id_listener_and_log_directory() -> None:
    with asking(brokers=2) as ask:
        found = describe(ask, BROKER, "2", "node.id", "listeners", "log.dirs", node=2)
        assert (found["node.id"]["value"], found["node.id"]["config_source"]) == ("2", STATIC)
        assert found["log.dirs"]["value"] == ask.cluster._server.nodes[2].directories.paths[0]
        host, port = ask.cluster._server.metadata.endpoints[2][1:3]
        assert found["listeners"]["value"] == f"PLAINTEXT://{host}:{port}"


def test_each_broker_returns_its_own_id_if_the_first_id_is_set() -> None:
    with asking(brokers=2, config={"node.id": "0"}) as ask:
        for node in (0, 1):
            found = describe(ask, BROKER, str(node), "node.id", "broker.id", node=node)
            assert [config["value"] for config in found.values()] == [str(node), str(node)]


def test_static_value_precedes_the_default() -> None:
    with asking(config={"log.segment.bytes": " 2097152 "}) as ask:
        [config] = describe(ask, BROKER, "1", "log.segment.bytes").values()
        assert (config["value"], config["config_source"]) == ("2097152", STATIC)
        assert synonyms(config) == [
            ("log.segment.bytes", " 2097152 ", STATIC),
            ("log.segment.bytes", "1073741824", DEFAULT),
        ]


def test_topic_entry_contains_the_default_from_the_broker() -> None:
    with asking(config={"log.retention.ms": "5000", "log.retention.hours": "1"}) as ask:
        ask.cluster.topic("t").create()
        [config] = describe(ask, TOPIC, "t", "retention.ms").values()
        assert (config["value"], config["config_source"]) == ("5000", STATIC)
        assert synonyms(config) == [
            ("log.retention.ms", "5000", STATIC),
            ("log.retention.hours", "1", STATIC),
            ("log.retention.hours", "168", DEFAULT),
        ]


def test_retention_hours_take_effect_but_are_not_a_synonym_of_retention_ms() -> None:
    """ConfigHelper.configSynonyms starts with the first entry that has the name of the property."""
    with asking(config={"log.retention.hours": "1"}) as ask:
        ask.cluster.topic("t").create()
        [config] = describe(ask, TOPIC, "t", "retention.ms").values()
        assert (config["value"], config["config_source"], config["synonyms"]) == ("3600000", DEFAULT, [])


def test_value_of_an_unknown_property_is_hidden() -> None:
    with asking(config={"my.secret": "x"}) as ask:
        [config] = describe(ask, BROKER, "1", "my.secret").values()
        assert (config["value"], config["is_sensitive"], config["config_type"]) == (None, True, 0)
        assert synonyms(config) == [("my.secret", None, STATIC)]


def test_every_property_has_documentation_if_requested() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        for kind, name in ((TOPIC, "t"), (BROKER, "1")):
            for config in describe(ask, kind, name, documentation=True).values():
                assert config["documentation"], config["name"]
        topic = describe(ask, TOPIC, "t", documentation=True)
        assert [name for name, config in topic.items() if config["documentation"] == NO_EFFECT] == []
        acted_on = describe(ask, BROKER, "1", "fetch.max.bytes", "log.roll.hours", documentation=True)
        assert [name for name, config in acted_on.items() if config["documentation"] == NO_EFFECT] == []
        assert all(config["documentation"] is None for config in describe(ask, TOPIC, "t").values())


def test_loggers_are_returned_with_their_levels() -> None:
    with asking() as ask:
        loggers = describe(ask, LOGGER, "1")
        assert {"root", "kafkalet.broker.config.broker_config"} <= loggers.keys()
        assert {logger["value"] for logger in loggers.values()} <= {"FATAL", "ERROR", "WARN", "INFO", "DEBUG", "NOTSET"}


@pytest.mark.parametrize("kind", [BROKER, LOGGER])
def test_broker_name_of_5000_digits_returns_invalid_request(kind: int) -> None:
    with asking() as ask:
        resource = {"resource_type": kind, "resource_name": "9" * 5000, "configuration_keys": None}
        [result] = ask(Api.DESCRIBE_CONFIGS, 4, resources=[resource])["results"]
        assert result["error_code"] == Code.INVALID_REQUEST
        assert result["error_message"] == f"Broker id must be an integer, but it is: {'9' * 5000}"


@pytest.mark.parametrize("name", ["+1", "0" * 5000 + "1", "\u0661"])
def test_broker_id_is_parsed_like_in_java(name: str) -> None:
    with asking() as ask:
        assert describe(ask, BROKER, name, "num.partitions")


@pytest.mark.parametrize(("release", "message"), [("2.6", None), ("2.7", "")])
def test_missing_message_is_null_in_old_releases(release: str, message: str | None) -> None:
    with asking(version=release) as ask:
        ask.cluster.topic("t").create()
        resources = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": []} for name in ("t", "no")]
        results = ask(Api.DESCRIBE_CONFIGS, 1, resources=resources)["results"]
        codes = [Code.NONE, Code.UNKNOWN_TOPIC_OR_PARTITION]
        assert [(one["error_code"], one["error_message"]) for one in results] == [(code, message) for code in codes]


@pytest.mark.parametrize(("release", "is_default"), [("2.6", True), ("2.7", False)])
def test_v0_marks_defaults_only_in_old_releases(release: str, is_default: bool) -> None:
    with asking(version=release) as ask:
        ask.cluster.topic("t").create(config={"retention.ms": "5"})
        keys = ["cleanup.policy", "retention.ms"]
        resource = {"resource_type": TOPIC, "resource_name": "t", "configuration_keys": keys}
        [result] = ask(Api.DESCRIBE_CONFIGS, 0, resources=[resource])["results"]
        found = {config["name"]: config["is_default"] for config in result["configs"]}
        assert found == {"cleanup.policy": is_default, "retention.ms": False}


def test_properties_of_tiered_storage_are_hidden_until_they_are_set_in_3_3() -> None:
    with asking(version="3.3") as ask:
        ask.cluster.topic("t").create()
        assert not [name for name in describe(ask, TOPIC, "t") if "local" in name or "remote" in name]
        texts = {"local.retention.ms": "100", "local.retention.bytes": "-2", "remote.storage.enable": "true"}
        configs = [{"name": name, "value": text} for name, text in texts.items()]
        resource = {"resource_type": TOPIC, "resource_name": "t", "configs": configs}
        [result] = ask(Api.ALTER_CONFIGS, 2, resources=[resource], validate_only=False)["responses"]
        assert (result["error_code"], result["error_message"]) == (Code.NONE, None)
        described = describe(ask, TOPIC, "t", *texts)
        assert {name: synonyms(config) for name, config in described.items()} == {
            name: [(name, text, 1)] for name, text in texts.items()
        }
